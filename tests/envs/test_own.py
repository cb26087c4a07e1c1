"""The library's own stories: rows and costs worked out by hand from each builder's docstring."""

from __future__ import annotations

import numpy as np

from refusals import refuses
from tightrope.envs.dosing import dosing
from tightrope.envs.maintenance import maintenance
from tightrope.envs.perishable import perishable
from tightrope.envs.queue import queue
from tightrope.envs.riverswim import riverswim
from tightrope.errors import ConfigError


def test_riverswim_moves_as_in_its_table():
    cmdp = riverswim(n_states=4, horizon=5, budget=2.0)
    drift, swim = 0, 1
    p = cmdp.transition
    np.testing.assert_allclose(p[0, drift], [1, 0, 0, 0])
    np.testing.assert_allclose(p[2, drift], [0, 1, 0, 0])
    np.testing.assert_allclose(p[0, swim], [0.4, 0.6, 0, 0])
    np.testing.assert_allclose(p[2, swim], [0, 0.05, 0.6, 0.35])
    np.testing.assert_allclose(p[3, swim], [0, 0, 0.4, 0.6])
    np.testing.assert_allclose(cmdp.cost[0], [[0.005, 0], [0, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(cmdp.constraint_cost[0, 0], [[0, 1]] * 4)


def test_queue_admits_serves_and_counts_refusals():
    cmdp = queue(2, 0.5, 0.2, 0.6, slow_power=0.1, horizon=5, energy=3.0)
    admit_slow, admit_fast, refuse_slow, refuse_fast = range(4)
    p, (refused, energy) = cmdp.transition, cmdp.constraint_cost[:, 0]
    np.testing.assert_allclose(p[0, admit_fast], [0.5, 0.5, 0])
    np.testing.assert_allclose(p[0, refuse_fast], [1, 0, 0])
    np.testing.assert_allclose(p[1, admit_slow], [0.5 * 0.2, 0.5 * 0.2 + 0.5 * 0.8, 0.5 * 0.8])
    np.testing.assert_allclose(p[2, admit_slow], [0, 0.2 * 0.5, 0.8 + 0.2 * 0.5])
    np.testing.assert_allclose(p[2, refuse_fast], [0, 0.6, 0.4])
    np.testing.assert_allclose(refused[:, refuse_slow], 0.5)
    np.testing.assert_allclose(refused[:, admit_slow], [0, 0, 0.5 * 0.8])  # only when full
    np.testing.assert_allclose(energy, [[0] * 4, [0.1, 1, 0.1, 1], [0.1, 1, 0.1, 1]])
    np.testing.assert_allclose(cmdp.cost[0, :, 0], [0, 1, 2])


def test_perishable_sells_the_oldest_first_and_throws_the_rest_away():
    cmdp = perishable(
        lifetime=3, max_order=1, customers=1, buys=0.25, unit_cost=1, shortage_cost=8, horizon=4
    )
    assert cmdp.state_names == ("stock 0/0", "stock 1/0", "stock 0/1", "stock 1/1")
    p, waste = cmdp.transition, cmdp.constraint_cost[0, 0]
    empty, dying, aging, both = range(4)
    np.testing.assert_allclose(p[empty, 0], np.eye(4)[empty])
    np.testing.assert_allclose(p[empty, 1], 0.25 * np.eye(4)[empty] + 0.75 * np.eye(4)[aging])
    np.testing.assert_allclose(p[aging, 0], 0.25 * np.eye(4)[empty] + 0.75 * np.eye(4)[dying])
    np.testing.assert_allclose(p[both, 1], np.eye(4)[both])  # whoever buys takes the dying unit
    np.testing.assert_allclose(waste, [[0, 0], [0.75, 0.75], [0, 0], [0.75, 0.75]])
    money = cmdp.cost[0]
    np.testing.assert_allclose(money[empty], [8 * 0.25, 1.0])
    np.testing.assert_allclose(money[dying], [0.0, 1.0])


def test_perishable_conserves_units():
    """Stock, order, sales, waste and next stock balance in expectation."""
    cmdp = perishable(lifetime=3, max_order=3, customers=4, buys=0.5, shortage_cost=1.0)
    S, A = cmdp.n_states, cmdp.n_actions
    stock = np.array([sum(map(int, name[6:].split("/"))) for name in cmdp.state_names])
    ordered = np.arange(A)
    missed = cmdp.cost[0] - ordered
    waste = cmdp.constraint_cost[0, 0]
    sold = 4 * 0.5 - missed
    kept = (cmdp.transition.reshape(S * A, S) @ stock).reshape(S, A)
    np.testing.assert_allclose(stock[:, None] + ordered, sold + waste + kept, atol=1e-12)


def test_maintenance_wears_breaks_and_mends():
    cmdp = maintenance(levels=3, wear=0.4, fragility=0.2, repair=0.3, scrap=2.0, horizon=6)
    run, service, repair, replace = range(4)
    p, money = cmdp.transition, cmdp.cost[0]
    np.testing.assert_allclose(p[0, run], [0.6, 0.4, 0, 0])
    np.testing.assert_allclose(p[1, run], [0, 0.5, 0.4, 0.1])
    np.testing.assert_allclose(p[2, run], [0, 0, 0.8, 0.2])
    np.testing.assert_allclose(p[2, service], [1, 0, 0, 0])
    np.testing.assert_allclose(p[3, repair], [0, 0.3, 0, 0.7])
    np.testing.assert_allclose(p[3, replace], [1, 0, 0, 0])
    np.testing.assert_array_equal(cmdp.allowed[0], [[1, 1, 0, 0]] * 3 + [[0, 0, 1, 1]])
    np.testing.assert_allclose(money[:3, run], [0, 1, 2])
    np.testing.assert_allclose([money[0, service], money[3, repair], money[3, replace]], [2, 1, 10])
    np.testing.assert_allclose(cmdp.constraint_cost[0, 0, 1, :2], [0, 0.5])
    np.testing.assert_allclose(cmdp.constraint_cost[0, 0, 3, 2:], [1, 1])


def test_maintenance_refuses_more_than_certainty():
    with refuses(
        ConfigError, argument="wear + fragility", found=1.2, expected="a number in [0, 1]"
    ):
        maintenance(wear=0.6, fragility=0.6)


def test_dosing_moves_size_and_toxicity_independently():
    cmdp = dosing(sizes=3, growth=0.5, relapse=0.1, recovery=0.4, horizon=4, budget=1.0)
    p = cmdp.transition.reshape(12, 3, 3, 4)  # next size by next toxicity
    none, low, high = range(3)
    np.testing.assert_allclose(p[1 * 4 + 0, none].sum(axis=1), [0, 0.5, 0.5])
    np.testing.assert_allclose(p[1 * 4 + 0, low].sum(axis=1), [0.3, 0.35, 0.35])
    np.testing.assert_allclose(p[2 * 4 + 0, high].sum(axis=1), [0, 0.6, 0.4])  # cannot outgrow
    np.testing.assert_allclose(p[0 * 4 + 0, high].sum(axis=1), [0.9, 0.1, 0])
    np.testing.assert_allclose(p[1 * 4 + 1, low].sum(axis=0), [0.75 * 0.4, 0.75 * 0.6, 0.25, 0])
    np.testing.assert_allclose(p[1 * 4 + 3, high].sum(axis=0), [0, 0, 0.16, 0.84])
    np.testing.assert_allclose(p[1 * 4 + 1, high, 0, 2], 0.6 * 0.6)
    np.testing.assert_allclose(cmdp.cost[0, :, 0], np.repeat([0, 0.5, 1], 4))
    np.testing.assert_array_equal(cmdp.constraint_cost[0, 0, :, 0], [0, 0, 0, 1] * 3)
    assert cmdp.state_names[int(np.argmax(cmdp.initial))] == "size 1, toxicity 0"
