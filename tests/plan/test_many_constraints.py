"""Planning with more constraints than policies are usually mixed for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tightrope.envs import build


def random_model(I, seed=0, S=8, A=3, H=6):
    return build(
        "random",
        n_states=S,
        n_actions=A,
        horizon=H,
        n_constraints=I,
        branching=min(4, S),
        seed=seed,
    )


def with_stage_caps(H=12, S=6, A=3, seed=0):
    """One budget per stage: the probability of a risky pair at that stage."""
    base = random_model(1, seed, S, A, H)
    rng = np.random.default_rng(seed)
    risk = rng.random((S, A))
    caps = np.zeros((H, H, S, A))
    caps[np.arange(H), np.arange(H)] = risk
    free = tr.CMDP(base.transition, base.cost, caps, np.full(H, 1.0), horizon=H)
    used = tr.solve(free).constraint_value
    least = tr.CMDP(base.transition, np.broadcast_to(risk, (H, S, A)), horizon=H)
    safest = tr.evaluate(free, tr.solve(least).policy).constraint_value
    return tr.CMDP(base.transition, base.cost, caps, (used + safest) / 2, horizon=H)


@pytest.mark.parametrize("I", [4, 7, 10, 20])
def test_columns_agree_with_the_linear_program(I):
    cmdp = random_model(I, seed=I)

    plan, other = tr.solve(cmdp), tr.solve(cmdp, "lp")

    assert plan.method == "columns"
    assert plan.value == pytest.approx(other.value, abs=1e-7)
    assert plan.gap <= 2e-8 * plan.value
    assert (plan.constraint_value <= cmdp.budget * (1 + 1e-9)).all()
    assert (plan.multiplier > 0).sum() >= min(I, 4)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_budget_for_each_stage_gives_the_plan_of_the_linear_program(seed):
    cmdp = with_stage_caps(seed=seed)

    plan, other = tr.solve(cmdp), tr.solve(cmdp, "lp")

    assert plan.method == "columns"
    assert plan.value == pytest.approx(other.value, abs=1e-7)
    assert plan.gap <= 2e-8 * abs(plan.value) + 1e-12


def test_fifty_two_weekly_caps_are_kept_with_a_certificate():
    cmdp = with_stage_caps(H=52)

    plan = tr.solve(cmdp)

    assert plan.method == "columns"
    assert plan.gap <= 2e-8 * plan.value
    assert (plan.constraint_value <= cmdp.budget * (1 + 1e-9)).all()
    assert (plan.multiplier > 0).sum() >= 10


@pytest.mark.parametrize(("H", "S", "A"), [(52, 6, 3), (52, 50, 4)])
def test_stage_caps_take_at_most_eight_sweeps_each(H, S, A):
    plan = tr.solve(with_stage_caps(H, S, A))

    assert (plan.multiplier > 0).sum() > H // 2
    assert plan.gap <= 2e-8 * plan.value
    assert plan.sweeps <= 8 * H


def test_budgets_of_several_stages_each_agree_with_the_linear_program():
    """Quarters that overlap, and one constraint without costs."""
    base, H = random_model(1, H=12), 12
    risk = np.random.default_rng(0).random(base.cost.shape[1:])
    caps = np.zeros((9, H, *risk.shape))
    for i in range(8):
        caps[i, i : i + 4] = risk
    free = tr.CMDP(base.transition, base.cost, caps, np.full(9, 4.0), horizon=H)
    used = tr.solve(free).constraint_value
    least = tr.CMDP(base.transition, np.broadcast_to(risk, (H, *risk.shape)), horizon=H)
    safest = tr.evaluate(free, tr.solve(least).policy).constraint_value
    cmdp = free.with_budget((used + safest) / 2)

    plan, other = tr.solve(cmdp), tr.solve(cmdp, "lp")

    assert plan.method == "columns"
    assert plan.value == pytest.approx(other.value, abs=1e-7)
    assert plan.gap <= 2e-8 * plan.value
    assert (plan.multiplier > 0).sum() >= 3


@pytest.mark.parametrize("I", [10, 20, 50])
def test_sweeps_grow_by_at_most_eight_per_constraint(I):
    """Sweeps are counted, not timed; the instances are those of the benchmark."""
    cmdp = build(
        "random", n_states=50, n_actions=4, horizon=20, n_constraints=I, branching=5, seed=0
    )

    plan = tr.solve(cmdp)

    assert (plan.multiplier > 0).sum() > I // 2
    assert plan.gap <= 2e-8 * plan.value
    assert plan.sweeps <= 8 * I


@pytest.mark.parametrize("I", [4, 12])
def test_many_budgets_over_a_box_agree_with_the_extended_linear_program(I):
    cmdp = random_model(I, seed=I, S=4, A=2, H=4)
    lower = (cmdp.transition - 0.05).clip(0.0, 1.0)
    upper = (cmdp.transition + 0.05).clip(0.0, 1.0)

    plan = tr.solve_optimistic(cmdp, lower, upper)
    other = tr.solve_optimistic(cmdp, lower, upper, method="lp")

    assert plan.method == "columns"
    assert plan.value == pytest.approx(other.value, abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 20), st.lists(st.floats(0, 3), min_size=5, max_size=5))
def test_no_multipliers_of_a_horizon_give_a_bound_above_the_optimum(seed, lam):
    cmdp = random_model(5, seed, S=5, A=2, H=4)
    priced = cmdp.cost + np.tensordot(lam, cmdp.constraint_cost, 1)
    size = float(priced.max())
    relaxed = tr.CMDP(cmdp.transition, priced / size, horizon=4)

    bound = size * tr.solve(relaxed).value - np.dot(lam, cmdp.budget)

    assert bound <= tr.solve(cmdp).value + 1e-9


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 20), st.floats(1e-3, 1), st.lists(st.floats(1e-3, 1), min_size=5, max_size=5))
def test_scaling_costs_and_budgets_scales_the_value_and_the_prices(seed, unit, units):
    cmdp = random_model(5, seed, S=5, A=2, H=4)
    units = np.array(units)
    scaled = tr.CMDP(
        cmdp.transition,
        unit * cmdp.cost,
        units[:, None, None, None] * cmdp.constraint_cost,
        units * cmdp.budget,
        horizon=4,
    )

    plan, other = tr.solve(cmdp), tr.solve(scaled)

    assert other.value == pytest.approx(unit * plan.value, rel=5e-8)
    assert other.gap <= 2e-8 * other.value


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_constraints_does_not_change_the_value(seed):
    cmdp = random_model(6, seed)
    order = np.random.default_rng(seed).permutation(6)
    other = tr.CMDP(
        cmdp.transition,
        cmdp.cost,
        cmdp.constraint_cost[order],
        cmdp.budget[order],
        horizon=cmdp.horizon,
    )

    plan, permuted = tr.solve(cmdp, tolerance=1e-11), tr.solve(other, tolerance=1e-11)

    assert permuted.value == pytest.approx(plan.value, rel=1e-9)
    np.testing.assert_allclose(permuted.saving, plan.saving[order], rtol=1e-4, atol=1e-6)


def test_budgets_that_conflict_are_infeasible_with_the_least_relaxation():
    cmdp = random_model(6)
    low = tr.CMDP(
        cmdp.transition,
        cmdp.cost,
        cmdp.constraint_cost,
        0.5 * cmdp.budget,
        horizon=cmdp.horizon,
    )

    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(low)

    relaxed = tr.CMDP(
        low.transition,
        low.cost,
        low.constraint_cost,
        low.budget + (1 + 1e-6) * np.array(caught.value.relaxation),
        horizon=low.horizon,
    )
    assert tr.solve(relaxed).value > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_gap_bounds_the_exact_loss_in_rational_arithmetic(seed):
    """The dual function at the plan's prices, and the plan's value, without rounding."""
    cmdp = random_model(5, seed, S=3, A=2, H=3)
    plan = tr.solve(cmdp)
    S, A, H = 3, 2, 3
    p = [[[Fraction(x) for x in row] for row in rows] for rows in cmdp.transition.tolist()]
    cost = [[Fraction(x) for x in row] for row in cmdp.cost[0].tolist()]
    uses = [[[Fraction(x) for x in r] for r in d] for d in cmdp.constraint_cost[:, 0].tolist()]
    lam = [Fraction(x) for x in plan.multiplier.tolist()]
    pi = [[[Fraction(x) for x in row] for row in rows] for rows in plan.policy.tolist()]

    bound, value = [Fraction(0)] * S, [Fraction(0)] * S
    for h in reversed(range(H)):
        priced = [
            [
                cost[s][a]
                + sum(lam[i] * uses[i][s][a] for i in range(5))
                + sum(p[s][a][t] * bound[t] for t in range(S))
                for a in range(A)
            ]
            for s in range(S)
        ]
        value = [
            sum(
                pi[h][s][a] * (cost[s][a] + sum(p[s][a][t] * value[t] for t in range(S)))
                for a in range(A)
            )
            for s in range(S)
        ]
        bound = [min(row) for row in priced]
    lower = bound[0] - sum(x * Fraction(b) for x, b in zip(lam, cmdp.budget.tolist(), strict=True))

    # the plan may exceed each budget by a relative 1e-9, which its prices value
    room = sum(x * Fraction(b) for x, b in zip(lam, cmdp.budget.tolist(), strict=True)) / 10**9
    assert lower <= value[0] + room
    assert value[0] - lower <= Fraction(plan.gap) + Fraction(1, 10**13)
    assert plan.gap <= 2e-8 * plan.value
