"""The occupancy program: answers by hand, by induction, by duality and by column generation."""

from __future__ import annotations

import numpy as np
import pytest

import problems
from refusals import refuses
from tightrope.arrays import Transitions
from tightrope.errors import ModelError
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.occupancy import policy_of
from tightrope.kernels.scratch import desk
from tightrope.plan.lp import occupancy_lp

SEEDS = range(40)
CLOSE = 1e-8


def value_of(problem, loss, policy):
    """Cost of a policy by backward recursion."""
    H, S, _ = policy.shape
    V = np.empty((H + 1, S))
    evaluate(problem.kernels, loss, policy, 1.0, V, np.zeros(S, dtype=np.uint32), desk(S))
    return problem.initial @ V[0]


@pytest.mark.parametrize("solver", ["simplex", "ipm", "interior"])
@pytest.mark.parametrize(("budget", "value", "price"), [(0.25, 2.5, 2), (0.5, 2, 2), (3, 1, 0)])
def test_fork_mixes_as_far_as_its_budget_allows(solver, budget, value, price):
    found = occupancy_lp(problems.fork(budget), 1, solver)

    assert found.objective == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(found.occupancy, [[[1 - min(budget, 1), min(budget, 1)]]], atol=1e-7)
    np.testing.assert_allclose(found.multiplier, [price], atol=1e-7)
    assert found.flow.shape == (1, 0)


def test_ransom_is_paid_a_quarter_of_the_time():
    found = occupancy_lp(problems.ransom(), 2)

    assert found.objective == pytest.approx(0.875, abs=1e-12)
    np.testing.assert_allclose(found.occupancy[0, 0], [0.75, 0.25], atol=1e-12)
    np.testing.assert_allclose(found.multiplier, [0.0, 0.5], atol=1e-12)


@pytest.mark.parametrize("H", [1, 2, 5])
def test_the_kernel_of_the_last_stage_is_not_used(H):
    assert occupancy_lp(problems.shifting(H), H).objective == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("solver", ["simplex", "ipm", "interior"])
def test_a_budget_below_every_policy_has_no_answer(solver):
    assert occupancy_lp(problems.fork(-1e-3), 1, solver) is None


def test_a_budget_at_the_least_attainable_value_has_an_answer():
    assert occupancy_lp(problems.fork(0.0), 1).objective == pytest.approx(3.0, abs=1e-9)


def test_budgets_are_kept_up_to_tightness_one_and_not_beyond():
    # one constraint: the policy that spends least makes the budget impossible beyond it
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        made = [
            problems.random_problem(np.random.default_rng(seed), 4, 3, 3, 1, tightness=tightness)
            for tightness in (rng.random(), 1.0, 1.01)
        ]
        assert [occupancy_lp(problem, 3) is not None for problem in made] == [True, True, False]


def test_without_binding_budgets_the_value_is_that_of_backward_induction():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed)
        free = problem._replace(budget=np.full(problem.budget.size, float(H)))
        found = occupancy_lp(free, H)

        zero = np.zeros(free.budget.size)
        assert found.objective == pytest.approx(problems.least(free, H, zero), abs=CLOSE)
        np.testing.assert_allclose(found.multiplier, zero, atol=CLOSE)


def test_the_recovered_policy_has_the_value_of_the_program_and_keeps_the_budgets():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        found = occupancy_lp(problem, H, "ipm" if seed % 2 else "simplex")
        policy = np.empty_like(found.occupancy)
        policy_of(found.occupancy, np.zeros(policy.shape[:2], dtype=np.int16), policy)
        values = np.array([value_of(problem, d, policy) for d in problem.constraint_cost])

        np.testing.assert_allclose(found.occupancy.sum(axis=(1, 2)), 1.0, atol=CLOSE)
        assert value_of(problem, problem.cost, policy) == pytest.approx(found.objective, abs=CLOSE)
        assert np.all(values <= problem.budget + CLOSE)
        np.testing.assert_allclose(found.multiplier * (problem.budget - values), 0.0, atol=1e-7)


def test_prices_close_the_gap_and_no_other_prices_exceed_the_optimum():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        found = occupancy_lp(problem, H, "ipm" if seed % 2 else "simplex")

        assert problems.least(problem, H, found.multiplier) == pytest.approx(
            found.objective, abs=1e-7
        )
        rng = np.random.default_rng(seed)
        for _ in range(10):
            lam = found.multiplier + rng.exponential(0.5, problem.budget.size)
            assert problems.least(problem, H, lam) <= found.objective + CLOSE


def test_forbidden_actions_get_no_mass():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        problem = problems.random_problem(rng, 4, 3, 3, 1, is_masked=True)
        q = occupancy_lp(problem, 3).occupancy

        assert np.all(q[~np.broadcast_to(problem.allowed, q.shape)] == 0.0)


def test_units_of_cost_and_budget_scale_value_and_prices():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        d, budget = 1e4 * problem.constraint_cost, 1e4 * problem.budget
        scaled = problem._replace(cost=1e-3 * problem.cost, constraint_cost=d, budget=budget)
        found, other = occupancy_lp(problem, H), occupancy_lp(scaled, H)

        assert 1e3 * other.objective == pytest.approx(found.objective, abs=CLOSE)
        bound = problems.least(scaled, H, other.multiplier)
        assert 1e3 * bound == pytest.approx(found.objective, abs=1e-7)


def test_a_constraint_given_twice_changes_no_value():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        doubled = problem._replace(
            constraint_cost=np.concatenate([problem.constraint_cost] * 2),
            budget=np.concatenate([problem.budget] * 2),
        )
        found, other = occupancy_lp(problem, H), occupancy_lp(doubled, H)

        assert other.objective == pytest.approx(found.objective, abs=CLOSE)


def test_a_constant_added_at_one_stage_is_paid_once():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        cost = np.repeat(problem.cost, H // problem.cost.shape[0], axis=0)
        cost[seed % H] += 0.7
        found, other = occupancy_lp(problem, H), occupancy_lp(problem._replace(cost=cost), H)

        assert other.objective == pytest.approx(found.objective + 0.7, abs=CLOSE)


def test_the_value_falls_convexly_with_the_budget_at_the_rate_of_its_price():
    # the optimum is convex in the budget, so that its tangent lies below it
    for seed in SEEDS:
        made = np.random.default_rng(seed)
        problem = problems.random_problem(made, 4, 3, 3, 1)
        found = occupancy_lp(problem, 3)
        for more in (-0.01, 0.01, 0.1, 1.0):
            other = occupancy_lp(problem._replace(budget=problem.budget + more), 3)
            if other is not None:
                tangent = found.objective - found.multiplier[0] * more
                assert other.objective >= tangent - CLOSE
                assert more < 0 or other.objective <= found.objective + CLOSE


def test_one_stage_repeated_is_the_same_problem():
    for seed in SEEDS:
        problem, H = problems.any_problem(seed, tightness=0.6)
        p = problem.kernels
        repeated = problem._replace(
            kernels=Transitions(*(np.repeat(x, H // x.shape[0], axis=0) for x in p)),
            cost=np.repeat(problem.cost, H // problem.cost.shape[0], axis=0),
            allowed=np.repeat(problem.allowed, H // max(1, problem.allowed.shape[0]), axis=0),
        )

        assert occupancy_lp(repeated, H).objective == occupancy_lp(problem, H).objective


def test_costs_that_are_all_zero_are_no_division_by_zero():
    fork = problems.fork()
    nothing = fork._replace(cost=0 * fork.cost, constraint_cost=0 * fork.constraint_cost)

    assert occupancy_lp(nothing, 1).objective == 0.0
    assert occupancy_lp(nothing._replace(budget=np.array([-0.1])), 1) is None


def test_a_box_is_sent_to_the_extended_program():
    with refuses(ModelError, argument="kernels", found="found Box", expected="Transitions"):
        occupancy_lp(problems.tempting_box(), 2)
