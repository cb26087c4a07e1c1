"""What one more unit of a budget saves, also where several prices are optimal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr

both = pytest.mark.parametrize("method", ["columns", "lp"])


def measured(cmdp, i, step):
    """Cost saved per unit by a little more of one budget, by solving again."""
    budget = cmdp.budget
    budget[i] += step
    before, after = (tr.solve(m, tolerance=1e-13).value for m in (cmdp, cmdp.with_budget(budget)))
    return (before - after) / step


@both
def test_of_two_equal_constraints_more_of_one_alone_saves_nothing(method):
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[1, 0]], [[1, 0]]], [0.4, 0.4], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.multiplier.sum() == pytest.approx(1.0)
    assert plan.saving == pytest.approx([0.0, 0.0], abs=1e-9)


@both
def test_constraints_that_bind_together_save_what_each_alone_would(method):
    # share x of action 0 costs 1 - x; x <= 0.4 from the first, 2 x <= 0.8 from the second, and
    # the third does not bind
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0.5, 0]], [[1, 0]], [[1, 1]]], [0.2, 0.4, 1], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.saving == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert 0.5 * plan.multiplier[0] + plan.multiplier[1] == pytest.approx(1.0)


@both
def test_the_saving_of_a_budget_that_binds_alone_is_its_multiplier(method):
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[1, 0]], [[1, 0]]], [0.4, 0.5], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.saving == pytest.approx([1.0, 0.0], abs=1e-9)
    assert plan.multiplier == pytest.approx([1.0, 0.0], abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), is_repeated=st.booleans())
def test_savings_are_derivatives_at_the_values_of_a_deterministic_policy(seed, is_repeated):
    rng = np.random.default_rng(seed)
    S, A, H = 3, 2, 3
    constraint_cost = rng.random((2, S, A))
    if is_repeated:
        constraint_cost = np.concatenate((constraint_cost, constraint_cost[:1]))
    cmdp = tr.CMDP(
        rng.dirichlet(np.ones(S), (S, A)),
        rng.random((S, A)),
        constraint_cost,
        np.full(len(constraint_cost), float(H)),
        horizon=H,
    )
    policy = np.eye(A)[rng.integers(A, size=(H, S))]
    cmdp = cmdp.with_budget(tr.evaluate(cmdp, policy).constraint_value)
    plan = tr.solve(cmdp)
    for i in range(cmdp.n_constraints):
        assert plan.saving[i] <= plan.multiplier[i]
        assert plan.saving[i] == pytest.approx(measured(cmdp, i, 1e-7), abs=1e-4)


@both
@pytest.mark.parametrize(
    ("cost", "constraint_cost", "budget", "horizon"),
    [
        ([1.0, 0.3], [[0.8, 1.0], [0.9, 0.2], [0.4, 0.6]], [2.8, 1.3, 1.6], 3),
        ([0.4, 0.2], [[0.8, 0.0], [0.3, 0.4], [0.6, 0.9]], [0.8, 0.7, 1.5], 2),
    ],
)
def test_a_budget_beside_others_at_their_least_values_saves_nothing(
    method, cost, constraint_cost, budget, horizon
):
    rows = [[row] for row in constraint_cost]
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [cost], rows, budget, horizon=horizon)
    for i in range(3):
        assert measured(cmdp, i, 0.01) == pytest.approx(0, abs=1e-6)
    assert tr.solve(cmdp, method=method).saving == pytest.approx([0, 0, 0], abs=1e-6)
