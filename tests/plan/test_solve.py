"""Planning a known model: certificates, prices, masks, shapes of answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
import tightrope as tr
import zoo
from draws import FEW, MANY, SOME, cases, models, policies
from refusals import refuses
from tightrope.envs import build
from tightrope.model.base import writable_problem
from tightrope.plan.generate import best_response

METHODS = ("columns", "lp")
both = pytest.mark.parametrize("method", METHODS)


@MANY
@given(cases(), st.sampled_from([1e-2, 1e-4, 1e-8, 1e-12]))
def test_the_gap_is_certified_at_any_tolerance(case, tolerance):
    plan = tr.solve(case.cmdp, tolerance=tolerance)

    optimum = brute.best_mixture(case.points, case.cmdp.budget)
    assert plan.value - plan.gap <= optimum + 1e-12
    assert optimum <= plan.value + 1e-9
    assert plan.gap <= 10 * tolerance * abs(plan.value) + 1e-10


@MANY
@given(cases())
def test_prices_turn_the_constrained_problem_into_a_free_one(case):
    """Strong duality, and weak duality at any other prices."""
    plan = tr.solve(case.cmdp, tolerance=1e-12)
    points, budget = case.points, case.cmdp.budget

    def dual(lam):
        return (points[:, 0] + points[:, 1:] @ lam).min() - lam @ budget

    assert dual(plan.multiplier) == pytest.approx(plan.value, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        lam = rng.exponential(size=budget.size) * rng.choice([0.1, 1, 10])
        assert dual(lam) <= plan.value + 1e-9


@SOME
@given(cases(most=2), st.integers(0, 99))
def test_the_price_is_the_slope_of_the_value_in_the_budget(case, seed):
    """The value is convex and falls no faster than the price anywhere."""
    cmdp, rng = case.cmdp, np.random.default_rng(seed)
    plan = tr.solve(cmdp, tolerance=1e-12)
    for _ in range(4):
        step = rng.normal(size=cmdp.n_constraints) * 0.1
        budget = np.clip(cmdp.budget + step, 0, cmdp.horizon)
        value = brute.best_mixture(case.points, budget)
        if value is not None:
            tangent = plan.value - plan.multiplier @ (budget - cmdp.budget)
            assert value >= tangent - 1e-9


@SOME
@given(models(1, 2), st.integers(0, 99))
def test_the_value_is_convex_and_does_not_rise_with_the_budget(cmdp, seed):
    rng, points = np.random.default_rng(seed), brute.points(cmdp)
    ends = [rng.dirichlet(np.full(len(points), 0.3)) @ points[:, 1:] for _ in range(2)]
    middle, more = (ends[0] + ends[1]) / 2, np.maximum(*ends)

    low, high, between, loose = (
        tr.solve(cmdp.with_budget(np.clip(b, 0, cmdp.horizon)), tolerance=1e-12).value
        for b in (*ends, middle, more)
    )

    assert between <= (low + high) / 2 + 1e-9
    assert loose <= min(low, high) + 1e-9


@MANY
@given(st.data())
def test_no_policy_that_keeps_the_budgets_costs_less(data):
    """No feasible policy has a lower cost; an optimal one has no excess."""
    cmdp = data.draw(models(1, 3))
    policy = data.draw(policies(cmdp))
    spent = brute.values(cmdp, policy)
    cmdp = cmdp.with_budget(np.clip(spent[1:], 0, cmdp.horizon))

    plan = tr.solve(cmdp, tolerance=1e-12)

    assert spent[0] >= plan.value - 1e-9
    again = tr.evaluate(cmdp, plan.policy)
    assert again.value == pytest.approx(plan.value, abs=1e-12)
    assert (again.constraint_value <= cmdp.budget + 1e-9).all()


@pytest.mark.parametrize("I", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_as_many_actions_are_shared_as_budgets_bind(seed, I):
    """On generic models each binding budget adds one action to the mixtures."""
    rng = np.random.default_rng(100 * I + seed)
    H, S, A = 4, 5, 3
    d = rng.random((I, H, S, A))
    # what is cheap spends much, so that budgets bind
    cost = 1 - 0.8 * d.mean(axis=0) - 0.2 * rng.random((H, S, A))
    p = rng.dirichlet(np.ones(S), size=(H, S, A))
    uniform = brute.values(tr.CMDP(p, cost, d, np.full(I, H)), np.full((H, S, A), 1 / A))
    cmdp = tr.CMDP(p, cost, d, uniform[1:] - 0.1)

    plan = tr.solve(cmdp, tolerance=1e-13)

    binding = np.isclose(plan.constraint_value, cmdp.budget, atol=1e-9)
    np.testing.assert_array_equal(binding, plan.multiplier > 1e-9)
    assert binding.sum() >= 1
    extra = (plan.policy > 0).sum(axis=2) - 1
    assert extra[plan.occupancy.sum(axis=2) > 0].sum() == binding.sum()
    assert 1 <= plan.n_randomized <= binding.sum()
    if I == 1:
        assert plan.n_randomized == 1


@both
def test_a_free_plan_is_deterministic(method):
    cmdp = zoo.random_cmdp(np.random.default_rng(3), 4, 3, 4, 2)

    plan = tr.solve(cmdp, method)

    assert plan.n_randomized == 0
    assert set(np.unique(plan.policy)) == {0.0, 1.0}


@both
def test_costs_and_rows_of_forbidden_actions_are_not_read(method):
    """By hand: the free second action does not exist in state 0, so that one pays 1 there."""
    p = np.zeros((2, 2, 2))
    p[0, 0, 1] = p[1, :, 1] = 1.0
    p[0, 1] = np.nan
    cost = np.array([[1.0, np.nan], [0.25, 0.5]])
    allowed = np.array([[True, False], [True, True]])
    cmdp = tr.CMDP(p, cost, [[[0, np.nan], [1, 0]]], [0.5], 2, 0, allowed)

    plan = tr.solve(cmdp, method)

    # state 1 at stage 1 may spend 0.5: half 0.25, half 0.5
    assert plan.value == pytest.approx(1 + 0.375, abs=1e-9)
    np.testing.assert_allclose(plan.policy[:, 0], [[1, 0], [1, 0]])
    np.testing.assert_allclose(plan.policy[1, 1], [0.5, 0.5], atol=1e-9)


@both
def test_an_action_may_be_forbidden_at_some_stages_only(method):
    """The free action exists at stage 1 only: value 1 + 0 over two stages, 2 without it."""
    allowed = np.array([[[True, False]], [[True, True]]])
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[1, 0]], horizon=2, allowed=allowed)

    plan = tr.solve(cmdp, method)

    assert plan.value == pytest.approx(1.0, abs=1e-12)
    assert plan.policy[:, 0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def edge(seed, S=8, A=4, H=36):
    """A random model whose budget is exactly the least that can be met."""
    rng = np.random.default_rng(seed)
    p, cost = rng.dirichlet(np.ones(S), (H, S, A)), rng.random((S, A))
    spent = rng.random((1, H, S, A)) * (rng.random((1, H, S, A)) < 0.15)
    cmdp = tr.CMDP(p, cost, spent, [H], H)
    return cmdp.with_budget(np.maximum(tr.feasibility(cmdp).alone, 0))


@pytest.mark.parametrize("seed", [33, 50, 56, 87, 93, 112, 137, 149, 179, 284, 285, 292, 338])
def test_a_budget_at_the_least_attainable_is_planned_with_a_certificate(seed):
    # prices grow without end there; a budget higher by a hair, which counts as none, has them
    cmdp = edge(seed)
    plan = tr.solve(cmdp)
    assert plan.method == "columns"
    assert plan.gap <= 1e-5 * plan.value  # the rounding of priced budgets
    assert (plan.constraint_value <= cmdp.budget * (1 + 1e-9)).all()
    assert plan.multiplier.max() <= 1e13
    front = tr.frontier(cmdp)
    # both keep the budget to nine digits, which at these prices is worth something
    assert front.value[0] >= plan.value - 1e-9 * (plan.multiplier * cmdp.budget).sum()
    assert tr.slater(cmdp).slack == pytest.approx(0, abs=1e-8)


def test_the_price_at_a_kink_is_that_of_one_more_unit():
    # 0.8 to the right of budget 5, 1.2 to its left
    cmdp = tr.CMDP(np.ones((1, 3, 1)), [[1, 0.4, 0]], [[[0, 0.5, 1]]], [5.0], 10)
    assert tr.solve(cmdp).multiplier == pytest.approx([0.8])
    assert tr.solve(cmdp.with_budget([5 - 1e-3])).multiplier == pytest.approx([1.2])
    assert tr.solve(cmdp.with_budget([10.0])).multiplier == pytest.approx([0.0])


@pytest.mark.parametrize("seed", range(25))
def test_the_price_at_what_a_deterministic_policy_spends_is_that_of_more(seed):
    rng = np.random.default_rng(seed)
    p, cost = rng.dirichlet(np.full(5, 0.5), (5, 3)), rng.random((5, 3))
    cmdp = tr.CMDP(p, cost, rng.random((1, 5, 3)).round(1), [8], 8)
    front = tr.frontier(cmdp)
    for k in range(1, len(front.budget) - 1, 3):
        plan = tr.solve(cmdp.with_budget(front.budget[k : k + 1]))
        assert plan.multiplier[0] == pytest.approx(front.multiplier[k], rel=1e-5, abs=1e-7)


def test_progress_reports_sweeps_and_bounds():
    calls = []

    plan = tr.solve(zoo.stairs(1.0), progress=lambda *what: calls.append(what))

    sweeps, lower, upper = calls[-1]
    assert sweeps == plan.sweeps > 1
    assert lower == pytest.approx(upper) == pytest.approx(1.5)


@pytest.mark.parametrize("method", ["simplex", "", None, "LP"])
def test_an_unknown_method_is_refused(method):
    with refuses(tr.ConfigError, argument="method", expected="one of 'columns', 'lp'"):
        tr.solve(zoo.coin(), method=method)


@pytest.mark.parametrize("tolerance", [0.0, -1e-8, 1.0, np.nan, np.inf])
def test_a_tolerance_outside_zero_and_one_is_refused(tolerance):
    with refuses(tr.ConfigError, argument="tolerance", expected="a number in (0, 1)"):
        tr.solve(zoo.coin(), tolerance=tolerance)


@both
def test_a_plan_shows_its_method(method):
    plan = tr.solve(zoo.detour(), method)

    assert plan.method == method
    assert plan.sweeps > 0
    assert plan.transition is None


@FEW
@given(cases())
def test_solving_twice_gives_the_same_bits(case):
    one, other = tr.solve(case.cmdp), tr.solve(case.cmdp)

    assert (one.value, one.gap, one.sweeps) == (other.value, other.gap, other.sweeps)
    np.testing.assert_array_equal(one.policy, other.policy)
    np.testing.assert_array_equal(one.multiplier, other.multiplier)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_small_costs_are_planned_as_exactly_as_large_ones(scale):
    rng = np.random.default_rng(11)
    cmdp = zoo.random_cmdp(rng, 3, 2, 3, 1)
    points = brute.points(cmdp)
    budget = [(points[:, 1].min() + points[points[:, 0].argmin(), 1]) / 2]
    small = tr.CMDP(
        cmdp.transition, scale * cmdp.cost, cmdp.constraint_cost, budget, initial=cmdp.initial
    )

    plan = tr.solve(small, tolerance=1e-10)

    optimum = brute.best_mixture(points, np.array(budget))
    assert plan.value / scale == pytest.approx(optimum, abs=1e-9)
    assert plan.gap <= 1e-8 * plan.value


@pytest.mark.parametrize("name", ["grid", "inventory", "media"])
def test_prices_are_proven_at_every_breakpoint_and_local_at_the_edge(name):
    """The dual value of the returned prices is the optimum, also where two prices meet."""
    cmdp = build(name)
    frontier = tr.frontier(cmdp)

    for budget in frontier.budget:
        tight = cmdp.with_budget([budget])
        plan = tr.solve(tight, tolerance=1e-10)
        problem, units = writable_problem(tight), tight.units
        multiplier = plan.multiplier * units.sizes / units.cost.size
        least, _ = best_response(problem, tight.horizon, multiplier)
        bound = least - multiplier @ problem.budget
        assert units.cost.show(bound) == pytest.approx(plan.value, rel=1e-8, abs=1e-8)

    edge = tr.solve(cmdp.with_budget([frontier.budget[0]]))
    assert edge.multiplier[0] == pytest.approx(frontier.multiplier[0], rel=1e-5)


@pytest.mark.parametrize("progress", ["yes", 3, np.zeros(2)])
def test_a_progress_that_cannot_be_called_is_refused(progress):
    with refuses(tr.ConfigError, argument="progress"):
        tr.solve("ring", progress=progress)
