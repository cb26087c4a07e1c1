"""Simulated logs: exact means, round trips, reproducibility, plans and bounds from them."""

from __future__ import annotations

import numpy as np
import pytest
from test_fit import budgets

import tightrope as tr
from driven import instance
from tightrope.offline.log import scaled_episodes


@pytest.mark.parametrize("name", ["media", "ring", "streaming"])
def test_means_of_many_episodes_are_the_exact_values(name):
    cmdp = tr.envs.build(name)
    plan = tr.solve(cmdp)
    log = tr.simulate(cmdp, plan, episodes=4000, seed=1)
    exact = np.array([plan.value, *plan.constraint_value])
    error = 5 * log.totals.std(axis=0) / np.sqrt(4000) + 1e-9
    assert (np.abs(log.totals.mean(axis=0) - exact) <= error).all()
    np.testing.assert_allclose(log.mean_totals, log.totals.mean(axis=0))
    np.testing.assert_allclose(log.episodes.cost.sum(axis=1), log.totals[:, 0], atol=1e-9)


def test_shares_of_steps_are_the_occupancy():
    cmdp = instance(2, I=1)
    policy = np.random.default_rng(0).dirichlet([1, 1], size=(3, 3))
    log = tr.simulate(cmdp, policy, episodes=20_000, seed=3)
    q = tr.occupancy(cmdp, policy)
    error = 5 * np.sqrt(q * (1 - q) / 20_000) + 1e-12
    assert (np.abs(log.visits / 20_000 - q) <= error).all()


def test_one_seed_gives_one_log_and_generators_advance():
    cmdp = instance(1, I=1)
    policy = np.full((3, 3, 2), 0.5)
    one, same, other = (tr.simulate(cmdp, policy, 50, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.episodes.states, same.episodes.states)
    assert (one.episodes.states != other.episodes.states).any()
    sequence = tr.simulate(cmdp, policy, 50, np.random.SeedSequence(4))
    np.testing.assert_array_equal(one.episodes.states, sequence.episodes.states)
    rng = np.random.default_rng(4)
    first, second = (tr.simulate(cmdp, policy, 25, rng) for _ in range(2))
    both = np.vstack((first.episodes.states, second.episodes.states))
    np.testing.assert_array_equal(both, one.episodes.states)
    assert tr.simulate(cmdp, policy, 5).n_episodes == 5


def test_a_table_of_the_steps_is_read_back_as_the_same_log():
    cmdp = instance(3, I=2)
    log = tr.simulate(cmdp, np.full((3, 3, 2), 0.5), 30, seed=0)
    again = tr.read_log(
        log.to_pandas(),
        constraints=log.constraint_names,
        states=log.state_names,
        actions=log.action_names,
    )
    for name in ("states", "actions", "cost", "constraint_cost"):
        np.testing.assert_array_equal(
            getattr(scaled_episodes(again), name), getattr(scaled_episodes(log), name)
        )


def test_plans_from_simulated_logs_come_to_the_optimum():
    cmdp = instance(2, I=1, is_stationary=True, noise="none")
    log = tr.simulate(cmdp, np.full((3, 3, 2), 0.5), 5000, seed=1)
    found = tr.fit(log, dict(zip(log.constraint_names, cmdp.budget, strict=True)), stationary=True)
    assert found.plan.value == pytest.approx(tr.solve(cmdp).value, abs=0.1)


def test_floors_are_kept_when_the_total_is_surely_large_enough():
    cmdp = tr.envs.build("streaming")
    plan = tr.solve(cmdp)
    log = tr.simulate(cmdp, plan, 4000, seed=2)
    (name,) = log.constraint_names
    value = float(plan.constraint_value[0])
    for floor, verdict in ((value - 0.5, "kept"), (value, "undecided"), (value + 0.5, "exceeded")):
        assert log.bound_average({name: floor}).verdicts == (verdict,)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"episodes": 0}, "episodes"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"policy": np.ones((3, 3, 2))}, "policy"),
    ],
)
def test_bad_arguments_are_named(options, argument):
    cmdp = instance(1, I=1)
    assert budgets(cmdp)
    with pytest.raises(tr.ModelError) as caught:
        tr.simulate(cmdp, **{"policy": np.full((3, 3, 2), 0.5), **options})
    assert caught.value.argument == argument
