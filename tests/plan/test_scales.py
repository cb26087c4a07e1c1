"""Plans do not depend on the units of costs and constraint costs."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tightrope as tr


def one_state(cost, constraint_cost, budget, horizon):
    """One state, one action per entry of ``cost``: the plan is a mixture of actions."""
    n_actions = len(cost)
    rows = [[row] for row in constraint_cost]
    return tr.CMDP(np.ones((1, n_actions, 1)), [cost], rows, budget, horizon=horizon)


def rescaled(cmdp, cost_factor, factors):
    """The model with its costs and each constraint multiplied by a factor."""
    factors = np.asarray(factors, dtype=float)
    return tr.CMDP(
        cmdp.transition,
        cmdp.cost * cost_factor,
        cmdp.constraint_cost * factors[:, None, None, None],
        cmdp.budget * factors,
        horizon=cmdp.horizon,
        initial=cmdp.initial,
    )


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_a_budget_of_1e_9_is_kept_beside_one_of_6(method):
    cmdp = one_state([0.0, 1.0], [[3e-10, 1e-11], [0.5, 0.5]], [1e-9, 6.0], horizon=10)
    plan = tr.solve(cmdp, method=method)
    # share x of action 0: 10 (3e-10 x + 1e-11 (1 - x)) = 1e-9
    share = (1e-10 - 1e-11) / (3e-10 - 1e-11)
    assert plan.value == pytest.approx(10 * (1 - share), rel=1e-8)
    assert plan.constraint_value[0] <= 1e-9 * (1 + 1e-9)
    assert 0 <= plan.gap <= 1e-6 * plan.value


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_small_budgets_that_no_policy_keeps_are_refused(method):
    cmdp = one_state([0.0, 1.0], [[2e-9, 1.4e-9], [0.5, 0.5]], [1e-6, 600.0], horizon=1000)
    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(cmdp, method=method)
    assert caught.value.clash == (0,)
    assert caught.value.excess == pytest.approx((4e-7, 0.0))


def test_constraint_costs_of_1e_8_per_step_are_kept_to_nine_digits():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        cmdp = tr.CMDP(
            rng.dirichlet(np.ones(3), (3, 2)),
            rng.random((3, 2)),
            1e-8 * rng.random((1, 3, 2)),
            [4.5e-8],
            horizon=10,
        )
        cmdp = cmdp.with_budget(np.maximum(cmdp.budget, tr.feasibility(cmdp).alone))
        plan = tr.solve(cmdp)
        assert plan.constraint_value[0] <= cmdp.budget[0] * (1 + 1e-9)


def test_a_failure_probability_of_1e_9_is_kept():
    # state 1 has failed; action 0 fails once in 10^9 steps, action 1 once in 10^11 and costs more
    transition = np.zeros((2, 2, 2))
    transition[0, :, 1] = 1e-9, 1e-11
    transition[0, :, 0] = 1 - transition[0, :, 1]
    transition[1, :, 1] = 1
    failed = np.array([[0.0, 0.0], [1.0, 1.0]])
    for budget in (1e-9, 3e-9, 1e-8):
        cmdp = tr.CMDP(transition, [[0.0, 1.0], [0.0, 0.0]], [failed], [budget], horizon=10)
        plan = tr.solve(cmdp)
        assert plan.constraint_value[0] <= budget * (1 + 1e-9)
        assert plan.constraint_value[0] == pytest.approx(budget, rel=1e-6)
        assert 0 <= plan.gap <= 2e-8 * plan.value


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_constraints=st.integers(1, 3),
    exponents=st.lists(st.integers(-12, 6), min_size=3, max_size=3),
    cost_exponent=st.integers(-6, 0),
)
def test_the_policy_does_not_depend_on_the_units(seed, n_constraints, exponents, cost_exponent):
    cmdp = generic(seed, n_constraints)
    factors = 10.0 ** np.array(exponents[:n_constraints])
    # constraint costs lie in [0, 1], so a factor above 1 needs smaller ones to begin with
    small = rescaled(cmdp, 1.0, np.full(n_constraints, 1e-6))
    other = rescaled(small, 10.0**cost_exponent, factors)
    plan, scaled = tr.solve(small, tolerance=1e-10), tr.solve(other, tolerance=1e-10)
    assert scaled.value == pytest.approx(plan.value * 10.0**cost_exponent, rel=1e-8)
    assert scaled.constraint_value == pytest.approx(plan.constraint_value * factors, rel=1e-8)
    assert np.all(scaled.constraint_value <= other.budget * (1 + 1e-9))
    reached = plan.occupancy.sum(axis=2) > 1e-9
    assert scaled.policy[reached] == pytest.approx(plan.policy[reached], abs=1e-6)


def generic(seed, n_constraints):
    """A random model whose budgets lie halfway between the least values and those of no limits."""
    rng = np.random.default_rng(seed)
    S, A, H = 4, 3, 5
    transition = rng.dirichlet(np.ones(S), (S, A))
    cost, constraint_cost = rng.random((S, A)), rng.random((n_constraints, S, A))
    free = tr.CMDP(transition, cost, constraint_cost, np.full(n_constraints, float(H)), horizon=H)
    kept = tr.slater(free.with_budget(tr.solve(free).constraint_value))
    budget = (tr.solve(free).constraint_value + kept.constraint_value) / 2
    return free.with_budget(budget)


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    exponents=st.lists(st.integers(-12, 6), min_size=2, max_size=2),
)
def test_infeasible_stays_infeasible_in_other_units(seed, exponents):
    cmdp = rescaled(generic(seed, 2), 1.0, [1e-6, 1e-6])
    least = tr.feasibility(cmdp).alone
    factors = 10.0 ** np.array(exponents)
    short = rescaled(
        cmdp.with_budget(np.array([least[0] * (1 - 1e-6), cmdp.budget[1]])), 1, factors
    )
    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(short)
    raised = np.array(short.budget + caught.value.relaxation)
    tr.solve(short.with_budget(raised))


@pytest.mark.parametrize("exponent", [-12, -9, -6, -3, 0])
def test_a_budget_at_the_least_value_is_feasible_in_any_unit(exponent):
    for seed in range(20):
        cmdp = rescaled(generic(seed, 1), 1.0, [10.0**exponent])
        least = tr.feasibility(cmdp).alone
        plan = tr.solve(cmdp.with_budget(least))
        assert plan.constraint_value[0] <= least[0] * (1 + 1e-9)


ADVICE = re.compile(r"(raising|lowering) '([^']+)' by ([-+.0-9e]+)")


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    exponents=st.lists(st.integers(-9, 6), min_size=2, max_size=2),
    short=st.sampled_from([1e-8, 1e-6, 1e-3, 0.3]),
    shift=st.sampled_from([0.0, -1.0, 1.0, 1e3, -1e6]),
)
def test_the_remedy_of_an_infeasible_error_works(seed, exponents, short, shift):
    model = generic(seed, 2)
    least = tr.feasibility(model).alone
    ranges = [(shift * 10.0**k, (shift + 1) * 10.0**k) for k in exponents]
    low = np.array([low for low, _ in ranges])
    width = np.array([high - low for low, high in ranges])
    H = model.horizon

    def with_budgets(shown):
        return tr.CMDP.from_costs(
            model.transition,
            model.cost,
            low[:, None, None, None] + width[:, None, None, None] * model.constraint_cost,
            shown,
            horizon=H,
            constraint_range=ranges,
            constraint_names=["fuel", "wear"],
        )

    shown = {"fuel": H * low[0] + width[0] * least[0] * (1 - short)}
    shown["wear"] = H * low[1] + width[1] * model.budget[1]
    try:
        tr.solve(with_budgets(list(shown.values())))
    except tr.InfeasibleError as error:
        text = str(error)
    else:
        assume(False)  # a large shift leaves few digits: what is short may round to nothing
    advice = ADVICE.findall(text)
    assert advice
    for _, name, change in advice:
        assert float(change) > 0
        shown[name] += float(change)
    tr.solve(with_budgets(list(shown.values())))


def test_a_frontier_does_not_depend_on_the_units():
    for seed in range(20):
        cmdp = generic(seed, 2)
        other = rescaled(cmdp, 1e-6, [1e-6, 1e-9])
        front, small = tr.frontier(cmdp), tr.frontier(other)
        assert small.budget == pytest.approx(front.budget * 1e-6, rel=1e-9)
        assert small.value == pytest.approx(front.value * 1e-6, rel=1e-9)
        assert small.multiplier == pytest.approx(front.multiplier, rel=1e-5)


def draw_any_budget(rng):
    """A random model with constraints of any size, and budgets at, above or below their edges."""
    S, A, H, I = rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 8), rng.integers(1, 4)
    transition = rng.dirichlet(np.full(S, 0.5), (S, A))
    constraint_cost = rng.random((I, S, A)).round(rng.choice([1, 9]))
    constraint_cost *= 10.0 ** rng.integers(-12, 1, (I, 1, 1))
    cost = rng.random((S, A)).round(rng.choice([1, 9]))
    cmdp = tr.CMDP(transition, cost, constraint_cost, np.full(I, float(H)), horizon=int(H))
    kind = rng.integers(3)
    least = tr.feasibility(cmdp).alone
    if kind == 0:
        return cmdp.with_budget(least)
    if kind == 1:
        policy = np.eye(A)[rng.integers(A, size=(H, S))]
        return cmdp.with_budget(tr.evaluate(cmdp, policy).constraint_value)
    return cmdp.with_budget(least + (tr.solve(cmdp).constraint_value - least) * rng.random(I))


@pytest.mark.parametrize("width", [None, 1e-9, 1e-8, 1e-6, 1e-1])
def test_excess_and_gap_keep_what_they_promise(width):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        cmdp = draw_any_budget(rng)
        p = cmdp.transition
        reach = 0.0 if width is None else width * rng.random(p.shape)
        try:
            plan = (
                tr.solve(cmdp)
                if width is None
                else tr.solve_optimistic(cmdp, np.clip(p - reach, 0, 1), np.clip(p + reach, 0, 1))
            )
        except tr.InfeasibleError:
            continue
        size = cmdp.horizon * cmdp.constraint_cost.max(axis=(1, 2, 3))
        unit = np.maximum(cmdp.budget, 1e-5 * size)
        rounding = 1e-15 * plan.multiplier @ (cmdp.budget + plan.constraint_value)
        assert np.all(plan.constraint_value <= cmdp.budget + 1e-9 * unit)
        assert -1e-9 * plan.value <= plan.gap <= 2e-8 * plan.value + 4 * rounding + 1e-14
        assert plan.method == "columns"


def test_the_gap_of_a_long_episode_includes_its_rounding():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cost, spent = rng.random((2, 3)).round(3)
        horizon = int(rng.integers(500, 2000))
        low, high = Fraction(min(spent)), Fraction(max(spent))
        budget = float(horizon * (low + (high - low) * Fraction(int(rng.integers(1, 9)), 10)))
        cmdp = one_state(list(cost), [list(spent)], [budget], horizon)
        plan = tr.solve(cmdp)
        # the best pair of actions, in exact arithmetic
        share = Fraction(budget) / horizon
        costs, uses = [*map(Fraction, cost)], [*map(Fraction, spent)]
        best = min(
            costs[a] + (share - uses[a]) * (costs[b] - costs[a]) / ((uses[b] - uses[a]) or 1)
            for a in range(3)
            for b in range(3)
            if uses[a] <= share and (uses[b] >= share or a == b)
        )
        assert plan.value - plan.gap <= best * horizon
