"""Where a plan randomizes and why: by hand on tiny models."""

from __future__ import annotations

import numpy as np
import pytest

from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.model import CMDP, Plan
from tightrope.plan.evaluate import evaluate, occupancy
from tightrope.plan.explain import find_randomized
from tightrope.plan.solve import solve


def planned(cmdp, policy, multiplier):
    """A plan made by hand: any policy with any prices."""
    policy = np.asarray(policy, dtype=np.float64)
    values = evaluate(cmdp, policy)
    return Plan(
        policy=policy,
        value=values.value,
        constraint_value=values.constraint_value,
        multiplier=np.asarray(multiplier, dtype=np.float64),
        gap=0.0,
        occupancy=occupancy(cmdp, policy),
        method="hand",
        sweeps=0,
    )


def one_choice(*constraint_costs):
    """One step in one state: a dear safe action and a cheap one that uses the budgets."""
    d = np.array(constraint_costs).reshape(-1, 1, 2)
    return CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], d, np.full(len(d), 0.25), horizon=1)


def test_the_budget_that_binds_is_the_one_that_forces_the_mixture():
    cmdp = one_choice([0.0, 1.0])
    plan = solve(cmdp, tolerance=1e-12)
    (place,) = find_randomized(cmdp, plan)
    assert (place.stage, place.state, place.actions) == (0, 0, (0, 1))
    assert place.reached == pytest.approx(1.0)
    np.testing.assert_allclose(place.shares, (0.75, 0.25), atol=1e-12)
    assert place.constraint == 0


@pytest.mark.parametrize(
    ("multiplier", "forced_by"),
    [
        ([1.0, 10.0], 0),  # 1 * 1 against 10 * 0.05
        ([1.0, 30.0], 1),  # 1 * 1 against 30 * 0.05
        ([0.0, 1.0], 1),  # the first is free
    ],
)
def test_of_several_constraints_the_largest_priced_difference_counts(multiplier, forced_by):
    cmdp = one_choice([0.0, 1.0], [0.05, 0.0])
    (place,) = find_randomized(cmdp, planned(cmdp, [[[0.5, 0.5]]], multiplier))
    assert place.constraint == forced_by


@pytest.mark.parametrize(("budget", "forced_by"), [([0.5, 1.0], 0), ([0.9, 0.9], None)])
def test_without_prices_a_used_up_budget_counts_and_one_with_room_does_not(budget, forced_by):
    cmdp = one_choice([0.0, 1.0], [0.05, 0.0]).with_budget(budget)
    (place,) = find_randomized(cmdp, planned(cmdp, [[[0.5, 0.5]]], [0.0, 0.0]))
    assert place.constraint == forced_by


def test_no_constraint_explains_mixing_of_actions_with_equal_use():
    cmdp = one_choice([0.5, 0.5])
    (place,) = find_randomized(cmdp, planned(cmdp, [[[0.5, 0.5]]], [3.0]))
    assert place.constraint is None


def test_use_that_comes_later_counts():
    # from state 0 to state 1 or 2; only being in state 2 uses the budget, a step later
    transition = np.zeros((3, 2, 3))
    transition[0, 0, 1] = transition[0, 1, 2] = 1.0
    transition[1:, :, 0] = 1.0
    use = np.zeros((1, 3, 2))
    use[0, 2] = 1.0
    cmdp = CMDP(transition, np.zeros((3, 2)), use, [0.5], horizon=2)
    policy = np.full((2, 3, 2), (1.0, 0.0))
    policy[0, 0] = 0.5, 0.5
    (place,) = find_randomized(cmdp, planned(cmdp, policy, [1.0]))
    assert (place.stage, place.state, place.constraint) == (0, 0, 0)


def test_states_that_are_never_reached_are_not_listed():
    transition = np.zeros((2, 2, 2))
    transition[:, :, 0] = 1.0
    cmdp = CMDP(transition, np.zeros((2, 2)), np.zeros((1, 2, 2)), [1.0], horizon=3)
    policy = np.full((3, 2, 2), 0.5)
    places = find_randomized(cmdp, planned(cmdp, policy, [0.0]))
    assert [(place.stage, place.state) for place in places] == [(0, 0), (1, 0), (2, 0)]


def test_a_deterministic_plan_randomizes_nowhere():
    cmdp = CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], horizon=4)
    assert find_randomized(cmdp, solve(cmdp)) == ()


def test_every_mixture_the_plan_counts_is_listed_with_shares_that_sum_to_one():
    rng = np.random.default_rng(3)
    S, A, H, I = 5, 3, 6, 3
    cmdp = CMDP(
        rng.dirichlet(np.ones(S), size=(S, A)),
        rng.random((S, A)),
        rng.random((I, S, A)),
        np.full(I, 0.45 * H),
        horizon=H,
    )
    plan = solve(cmdp, tolerance=1e-12)
    places = find_randomized(cmdp, plan)
    assert len(places) == plan.n_randomized > 0
    for place in places:
        assert sum(place.shares) == pytest.approx(1.0)
        assert place.reached == pytest.approx(plan.occupancy[place.stage, place.state].sum())
        assert place.constraint is not None
        assert plan.multiplier[place.constraint] > 0


def test_a_plan_for_another_model_is_refused():
    small, large = one_choice([0.0, 1.0]), CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], horizon=2)
    with refuses(
        ConfigError, argument="plan", found="a policy of shape (2, 1, 2)", expected="(1, 1, 2)"
    ):
        find_randomized(small, solve(large))


def test_a_used_up_budget_without_a_price_forces_a_mixture_all_the_same():
    """Either action alone costs the same and breaks one of the budgets."""
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.5, 0.5]], [[[1, 0]], [[0, 1]]], [0.5, 0.5], 1)
    plan = solve(cmdp)
    np.testing.assert_allclose(plan.policy, [[[0.5, 0.5]]], atol=1e-9)
    (place,) = find_randomized(cmdp, plan)
    assert place.constraint in (0, 1)
