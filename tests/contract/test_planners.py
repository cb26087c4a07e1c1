"""One battery for every planner: columns and programs, known models and boxes of no width."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import brute
import tightrope as tr
import zoo
from draws import FEW, SOME, cases, models

PLANNERS = {
    "columns": lambda cmdp: tr.solve(cmdp, tolerance=1e-12),
    "lp": lambda cmdp: tr.solve(cmdp, method="lp"),
    "optimistic columns": lambda cmdp: tr.solve_optimistic(
        cmdp, cmdp.transition, cmdp.transition, tolerance=1e-12
    ),
    "optimistic lp": lambda cmdp: tr.solve_optimistic(
        cmdp, cmdp.transition, cmdp.transition, method="lp"
    ),
}
every_planner = pytest.mark.parametrize("name", PLANNERS)


def close(name):
    """Tolerance on a planner's value."""
    return 1e-7 if name.endswith("lp") else 1e-9


def require_sound(cmdp, plan, tolerance):
    """Everything a plan promises that can be checked without knowing the optimum."""
    policy, budget = plan.policy, cmdp.budget
    assert policy.shape == (cmdp.horizon, cmdp.n_states, cmdp.n_actions)
    assert (policy >= 0).all()
    np.testing.assert_allclose(policy.sum(axis=2), 1.0, atol=1e-12)
    assert not policy[~cmdp.allowed].any()
    p = cmdp.transition if plan.transition is None else plan.transition
    q = brute.forward(brute.by_stages(p, cmdp.horizon, 4), cmdp.initial, policy)
    np.testing.assert_allclose(plan.occupancy, q, atol=1e-12)
    assert plan.value == pytest.approx((q * cmdp.cost).sum(), abs=1e-12)
    spent = (q * cmdp.constraint_cost).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(plan.constraint_value, spent, atol=1e-12)
    assert (plan.constraint_value <= budget + tolerance).all()
    assert (plan.multiplier >= 0).all()
    size = 1 + plan.multiplier.sum()
    assert abs(plan.gap) <= tolerance * size
    slackness = plan.multiplier * (budget - plan.constraint_value)
    np.testing.assert_allclose(slackness, 0, atol=tolerance * size)


@every_planner
@pytest.mark.parametrize(("budget", "value", "price"), [(0.25, 0.75, 1), (0.5, 0.5, 1), (1, 0, 0)])
def test_a_coin_is_called_as_often_as_the_budget_allows(name, budget, value, price):
    plan = PLANNERS[name](zoo.coin(budget))

    assert plan.value == pytest.approx(value, abs=close(name))
    if budget < 1:
        assert plan.multiplier[0] == pytest.approx(price, abs=1e-6)
        np.testing.assert_allclose(plan.policy[0, 0], [1 - budget, budget], atol=1e-7)


@every_planner
@pytest.mark.parametrize(
    ("budget", "value", "price"), [(0.0, 3, 3), (0.1, 2.7, 3), (1.0, 1.5, 1), (2.7, 0.1, 1 / 3)]
)
def test_stairs_are_walked_at_the_price_of_their_edge(name, budget, value, price):
    plan = PLANNERS[name](zoo.stairs(budget))

    assert plan.value == pytest.approx(value, abs=close(name))
    if budget > 0:  # at the end any price above 3 proves the optimum as well
        assert plan.multiplier[0] == pytest.approx(price, abs=1e-6)


@every_planner
@pytest.mark.parametrize(("budget", "value"), [(0.0, 1), (0.1, 0.7), (0.5, 0.2), (0.8, 0), (3, 0)])
def test_the_detour_is_taken_as_far_as_shame_allows(name, budget, value):
    plan = PLANNERS[name](zoo.detour(budget))

    assert plan.value == pytest.approx(value, abs=close(name))
    require_sound(zoo.detour(budget), plan, close(name))


@every_planner
def test_the_second_budget_of_a_seesaw_does_not_bind(name):
    plan = PLANNERS[name](zoo.seesaw(0.7, 0.6))

    assert plan.value == pytest.approx(0.3, abs=close(name))
    np.testing.assert_allclose(plan.multiplier, [1, 0], atol=1e-6)
    np.testing.assert_allclose(plan.policy[0, 0], [0.7, 0.3, 0], atol=1e-7)


@every_planner
@SOME
@given(cases())
def test_the_value_is_that_of_the_best_mixture_of_all_policies(name, case):
    plan = PLANNERS[name](case.cmdp)

    require_sound(case.cmdp, plan, close(name))
    optimum = brute.best_mixture(case.points, case.cmdp.budget)
    assert plan.value == pytest.approx(optimum, abs=close(name))
    assert plan.value - plan.gap <= optimum + 1e-9


@every_planner
@FEW
@given(models(0, 2))
def test_budgets_that_do_not_bind_leave_backward_induction(name, cmdp):
    """With budgets of H the value is the unconstrained one and prices are zero."""
    plan = PLANNERS[name](cmdp)

    assert plan.value == pytest.approx(brute.points(cmdp)[:, 0].min(), abs=close(name))
    np.testing.assert_allclose(plan.multiplier, 0, atol=1e-9)


@every_planner
@pytest.mark.parametrize("margin", [0.0, 1e-9, 1e-4], ids=["at", "1e-9 above", "1e-4 above"])
@FEW
@given(st.data())
def test_budgets_at_the_boundary_are_kept_and_certified(name, margin, data):
    case = data.draw(cases(margin=margin))

    plan = PLANNERS[name](case.cmdp)

    # at a boundary the optimum moves by prices times the rounding of budgets
    size = 1 + plan.multiplier.sum()
    require_sound(case.cmdp, plan, close(name) * size)
    if case.slack > -1e-10:
        optimum = brute.best_mixture(case.points, case.cmdp.budget + 1e-10)
        assert plan.value == pytest.approx(optimum, abs=close(name) * size)


@every_planner
@FEW
@given(cases(margin=-1e-3))
def test_budgets_out_of_reach_are_refused_with_a_proof(name, case):
    if case.slack > -1e-4:  # a budget below zero was raised to zero, where there may be room
        PLANNERS[name](case.cmdp)
        return

    with pytest.raises(tr.InfeasibleError) as caught:
        PLANNERS[name](case.cmdp)

    error, budget = caught.value, case.cmdp.budget
    assert error.alone == pytest.approx(case.points[:, 1:].min(axis=0), abs=1e-9)
    clash = list(error.clash)
    assert clash
    only = case.points[:, [0, *(1 + i for i in clash)]]
    assert brute.best_mixture(only, budget[clash]) is None
    for i in clash:
        assert repr(case.cmdp.constraint_names[i]) in str(error)
    H = case.cmdp.horizon
    enough = np.minimum(budget + error.relaxation, H)
    PLANNERS[name](case.cmdp.with_budget(enough))
    less = np.minimum(budget + 0.99 * np.array(error.relaxation), H)
    if brute.least_excess(case.points, less) > 1e-6:
        with pytest.raises(tr.InfeasibleError):
            PLANNERS[name](case.cmdp.with_budget(less))


@every_planner
@FEW
@given(cases(), st.integers(0, 9))
def test_names_of_states_and_actions_do_not_matter(name, case, seed):
    """Permuted states and actions give permuted plans of the same value."""
    cmdp, rng = case.cmdp, np.random.default_rng(seed)
    H, S, A = cmdp.cost.shape
    s, a = rng.permutation(S), rng.permutation(A)
    p = brute.by_stages(cmdp.transition, H, 4)[:, s][:, :, a][:, :, :, s]
    other = tr.CMDP(
        p,
        cmdp.cost[:, s][:, :, a],
        cmdp.constraint_cost[:, :, s][:, :, :, a],
        cmdp.budget,
        initial=cmdp.initial[s],
        allowed=cmdp.allowed[:, s][:, :, a],
    )

    assert PLANNERS[name](other).value == pytest.approx(
        PLANNERS[name](cmdp).value, abs=2 * close(name)
    )


@every_planner
@FEW
@given(cases(), st.integers(0, 9))
def test_a_constant_at_one_stage_shifts_the_value_by_itself(name, case, seed):
    cmdp, h = case.cmdp, seed % case.cmdp.horizon
    cost = cmdp.cost / 2
    p = brute.by_stages(cmdp.transition, cmdp.horizon, 4)

    def planned(cost):
        return PLANNERS[name](
            tr.CMDP(
                p,
                cost,
                cmdp.constraint_cost,
                cmdp.budget,
                initial=cmdp.initial,
                allowed=cmdp.allowed,
            )
        ).value

    shifted = cost.copy()
    shifted[h] += 0.375

    assert planned(shifted) == pytest.approx(planned(cost) + 0.375, abs=2 * close(name))


@every_planner
@FEW
@given(cases(most=2), st.booleans())
def test_saying_a_constraint_twice_changes_nothing(name, case, is_looser):
    cmdp = case.cmdp
    again = tr.CMDP(
        brute.by_stages(cmdp.transition, cmdp.horizon, 4),
        cmdp.cost,
        np.concatenate((cmdp.constraint_cost, cmdp.constraint_cost)),
        np.append(cmdp.budget, np.minimum(cmdp.budget + 0.25 * is_looser, cmdp.horizon)),
        initial=cmdp.initial,
        allowed=cmdp.allowed,
    )

    plan = PLANNERS[name](again)

    require_sound(again, plan, close(name))
    assert plan.value == pytest.approx(PLANNERS[name](cmdp).value, abs=2 * close(name))


@every_planner
@FEW
@given(cases())
def test_constraints_that_cost_nothing_and_budgets_of_zero_do_no_harm(name, case):
    cmdp = case.cmdp
    nothing = np.zeros((1, *cmdp.cost.shape))
    more = tr.CMDP(
        brute.by_stages(cmdp.transition, cmdp.horizon, 4),
        cmdp.cost,
        np.concatenate((nothing, cmdp.constraint_cost)),
        np.append([0.0], cmdp.budget),
        initial=cmdp.initial,
        allowed=cmdp.allowed,
    )

    plan = PLANNERS[name](more)

    require_sound(more, plan, close(name))
    assert plan.value == pytest.approx(
        brute.best_mixture(case.points, cmdp.budget), abs=2 * close(name)
    )


@every_planner
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_when_all_costs_are_equal_every_feasible_policy_is_optimal(name, value):
    rng = np.random.default_rng(7)
    p, d = rng.dirichlet(np.ones(3), size=(3, 2)), np.rint(2 * rng.random((2, 3, 2))) / 2
    cmdp = tr.CMDP(p, np.full((3, 2), value), d, [1.5, 1.5], 3)

    plan = PLANNERS[name](cmdp)

    require_sound(cmdp, plan, close(name))
    assert plan.value == pytest.approx(3 * value, abs=close(name))


@every_planner
@pytest.mark.parametrize("sizes", [(1, 1, 1, 0), (1, 1, 1, 1), (1, 3, 1, 2), (3, 1, 2, 1)])
def test_models_of_one_state_action_or_step_are_planned(name, sizes):
    S, A, H, I = sizes
    cmdp = zoo.random_cmdp(np.random.default_rng(1), S, A, H, I)

    plan = PLANNERS[name](cmdp)

    require_sound(cmdp, plan, close(name))
    assert plan.value == pytest.approx(brute.points(cmdp)[:, 0].min(), abs=close(name))


@every_planner
def test_a_price_far_above_all_costs_is_found(name):
    """By hand: 1e-4 of spending saves 1, so that half of it saves a half at a price of 1e4."""
    cmdp = tr.CMDP(np.ones((1, 3, 1)), [[1, 0, 0]], [[[1e-4, 2e-4, 1]]], [1.5e-4], 1)

    plan = PLANNERS[name](cmdp)

    # the solver of the programs works to 1e-10 a row, which the price makes 1e-6
    assert plan.value == pytest.approx(0.5, abs=1e-5 if name.endswith("lp") else 1e-9)
    assert plan.multiplier[0] == pytest.approx(1e4, rel=1e-6)
    with pytest.raises(tr.InfeasibleError, match="by 5e-05 is the least"):
        PLANNERS[name](cmdp.with_budget([0.5e-4]))


@every_planner
def test_states_that_are_never_reached_still_have_a_policy(name):
    plan = PLANNERS[name](zoo.detour(0.5))

    moon = plan.policy[:, 4]
    assert plan.occupancy[:, 4].sum() == 0
    np.testing.assert_allclose(moon.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize("stages", [1, 3])
def test_dense_and_sparse_transitions_give_the_same_plan(method, stages):
    rng = np.random.default_rng(5)
    cmdp = zoo.random_cmdp(rng, 4, 2, 3, 1, is_sparse=True, is_stationary=stages == 1)
    points = brute.points(cmdp)
    budget = (points[:, 1].min() + points[points[:, 0].argmin(), 1]) / 2
    cmdp = cmdp.with_budget([budget])
    p, d = cmdp.transition, cmdp.constraint_cost
    matrices = [csr_array(m) for m in p.reshape(stages, 8, 4)]
    sparse = matrices[0] if stages == 1 else matrices

    one = tr.solve(tr.CMDP(p, cmdp.cost, d, cmdp.budget, 3, cmdp.initial), method)
    other = tr.solve(tr.CMDP(sparse, cmdp.cost, d, cmdp.budget, 3, cmdp.initial), method)

    assert one.multiplier[0] > 0
    assert one.value == other.value
    np.testing.assert_array_equal(one.policy, other.policy)
