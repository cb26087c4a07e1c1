"""Averages of processes that may end in several recurrent classes, and optima of zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import tightrope as tr

STYLES = ("stay or go", "deterministic", "sparse", "mixing")
SEEDS = range(30)


def random_rows(rng, style, S, A):
    if style == "mixing":
        return 0.9 * rng.dirichlet(np.full(S, 0.2), (S, A)) + 0.1 / S
    P = np.eye(S)[rng.integers(0, S, (S, A))]
    if style == "stay or go":
        P[:, 0] = np.eye(S)
        P[:, 1] = np.roll(np.eye(S), 1, axis=1)
    if style == "sparse":
        for s, a in np.ndindex(S, A):
            n = rng.integers(1, min(3, S) + 1)
            P[s, a] = 0
            P[s, a, rng.choice(S, n, replace=False)] = rng.dirichlet(np.ones(n))
    return P


def random_model(seed, style, discount=None):
    """States that nothing leads to, several classes, costs of 0 and 1, budgets that may bind."""
    rng = np.random.default_rng(seed)
    S, A, I = (int(rng.integers(*ends)) for ends in ((2, 7), (2, 4), (0, 3)))
    P = random_rows(rng, style, S, A)
    losses = rng.integers(0, 2, (I + 1, S, A)) * 1.0 if seed % 2 else rng.random((I + 1, S, A))
    allowed = rng.random((S, A)) < 0.8
    allowed[:, 0] = True
    start = int(rng.integers(S)) if seed % 3 else rng.dirichlet(np.ones(S))
    steps = 1.0 if discount is None else 1 / (1 - discount)
    budget = steps * 0.7 * rng.random(I) * (seed % 7 > 0)
    parts = P, losses[0], losses[1:] if I else None, budget if I else None
    if discount is None:
        return tr.AverageCMDP(*parts, initial=start, allowed=allowed)
    return tr.DiscountedCMDP(*parts, discount, initial=start, allowed=allowed)


def by_linprog(cmdp, discount=1.0):
    """The least cost over all policies, whatever they depend on; None if infeasible.

    For averages with variables for what happens before a class is entered (Hordijk, Kallenberg).
    """
    S, A, I = cmdp.n_states, cmdp.n_actions, cmdp.n_constraints
    leave = np.repeat(np.eye(S), A, axis=0).T
    flow = leave - discount * cmdp.transition.reshape(S * A, S).T
    cost, other = cmdp.cost.reshape(-1), cmdp.constraint_cost.reshape(I, S * A)
    bounds = [(0, None if a else 0) for a in cmdp.allowed.reshape(-1)]
    steps = cmdp.n_steps  # variables are shares of (discounted) time
    right = cmdp.initial / steps
    if discount == 1.0:
        flow = np.block([[flow, np.zeros_like(flow)], [leave, flow]])
        right, bounds = np.append(np.zeros(S), right), 2 * bounds
        cost, other = np.append(cost, 0 * cost), np.hstack((other, 0 * other))
    rows = (other, cmdp.budget / steps) if I else (None, None)
    found = linprog(cost, *rows, flow, right, bounds)
    assert found.status in (0, 2)
    return steps * found.fun if found.status == 0 else None


def require_right(plan, cmdp, best):
    steps = cmdp.n_steps
    assert best is not None
    assert plan.value == pytest.approx(best, rel=1e-6, abs=1e-7 * steps)
    assert -1e-12 * steps <= plan.gap <= 1e-6 * steps
    excess = plan.constraint_value - cmdp.budget
    assert (excess <= 1e-9 * np.maximum(cmdp.budget, 1e-5 * steps)).all()
    again = tr.evaluate(cmdp, plan)
    assert again.value == pytest.approx(plan.value, rel=1e-9, abs=1e-12 * steps)


@pytest.mark.parametrize("style", STYLES)
def test_averages_are_those_of_the_linear_program_or_refused_with_their_classes(style):
    solved, refusals = 0, []
    for seed in SEEDS:
        cmdp = random_model(seed, style)
        best = by_linprog(cmdp)
        try:
            plan = tr.solve(cmdp)
        except tr.InfeasibleError:
            assert best is None
        except tr.ModelError as error:
            refusals.append(str(error))
        else:
            require_right(plan, cmdp, best)
            solved += 1
    assert solved >= len(SEEDS) // 3
    assert all("recurrent classes: {" in refusal for refusal in refusals)
    assert bool(refusals) == (style != "mixing")


@pytest.mark.parametrize("discount", [0.9, 0.999])
@pytest.mark.parametrize("style", STYLES)
def test_discounted_cost_has_plans_frontiers_and_limits_for_all_models(style, discount):
    for seed in SEEDS:
        cmdp = random_model(seed, style, discount)
        best = by_linprog(cmdp, discount)
        if best is None:
            with pytest.raises(tr.InfeasibleError):
                tr.solve(cmdp)
            continue
        require_right(tr.solve(cmdp), cmdp, best)
        assert tr.feasibility(cmdp).is_feasible
        for i in range(cmdp.n_constraints):
            found = tr.frontier(cmdp, i).at(cmdp.budget[i])
            assert found == pytest.approx(best, rel=1e-6, abs=1e-6 * cmdp.n_steps)


@pytest.mark.parametrize("style", STYLES)
def test_discounts_close_to_one_have_plans_and_frontiers_that_agree(style):
    """Beyond what the solver of linear programs can do."""
    for seed in SEEDS:
        cmdp = random_model(seed, style, 0.999999)
        if not tr.feasibility(cmdp).is_feasible:
            continue
        plan = tr.solve(cmdp)
        require_right(plan, cmdp, plan.value)
        for i in range(cmdp.n_constraints):
            found = tr.frontier(cmdp, i).at(cmdp.budget[i])
            assert found == pytest.approx(plan.value, rel=1e-6, abs=1e-6 * cmdp.n_steps)


@pytest.fixture
def stay_or_go():
    """Staying in the first state costs nothing and uses 0.5; in the second 0.5, and nothing."""
    P = np.zeros((2, 2, 2))
    P[:, 0, 0] = P[:, 1, 1] = 1
    return tr.AverageCMDP(
        P, [[0, 0.5], [0, 0.5]], [[[0.5, 1], [1, 0]]], [0.05], state_names=["left", "right"]
    )


@pytest.mark.parametrize("budget", [0.01, 0.05, 0.1, 0.3, 0.49])
@pytest.mark.parametrize("method", ["columns", "lp"])
def test_a_mixture_of_two_classes_is_refused_by_name(stay_or_go, budget, method):
    with pytest.raises(tr.ModelError) as caught:
        tr.solve(stay_or_go.with_budget([budget]), method=method)
    assert caught.value.argument == "policy"
    assert "{'left'} and {'right'}" in str(caught.value)


@pytest.mark.parametrize(("budget", "value"), [(0.0, 0.5), (0.5, 0.0), (0.7, 0.0)])
@pytest.mark.parametrize("method", ["columns", "lp"])
def test_a_plan_leads_to_the_one_class_that_it_uses(stay_or_go, budget, value, method):
    plan = tr.solve(stay_or_go.with_budget([budget]), method=method)
    assert plan.value == pytest.approx(value, abs=1e-9)
    assert plan.constraint_value[0] <= budget + 1e-13
    assert plan.policy[:, 0] == pytest.approx([1 - 2 * value] * 2, abs=1e-9)


def test_the_frontier_of_two_classes_has_the_values_of_a_draw_at_the_start(stay_or_go):
    curve = tr.frontier(stay_or_go)
    assert curve.budget == pytest.approx([0.0, 0.5])
    assert curve.value == pytest.approx([0.5, 0.0])
    assert tr.feasibility(stay_or_go).alone == pytest.approx([0.0], abs=1e-12)


def absorbing(first, second=None, cost=((0.0, 0.0), (1.0, 1.0), (0.5, 0.5))):
    """The start leads to absorbing states 1 and 2, by the rows of its two actions."""
    P = np.zeros((3, 2, 3))
    P[0] = first, first if second is None else second
    P[1, :, 1] = P[2, :, 2] = 1
    return tr.AverageCMDP(P, cost, state_names=["start", "left", "right"])


def test_a_choice_of_the_class_is_no_reason_to_refuse():
    plan = tr.solve(absorbing([0, 1, 0], [0, 0, 1]))
    assert plan.value == pytest.approx(0.5, abs=1e-12)
    assert plan.policy[0] == pytest.approx([0, 1])


@pytest.mark.parametrize("ask", [tr.solve, tr.feasibility, tr.slater])
def test_classes_that_no_policy_avoids_are_refused(ask):
    with pytest.raises(tr.ModelError) as caught:
        ask(absorbing([0, 0.5, 0.5], [0, 0.1, 0.9]))
    assert caught.value.argument == "transition"
    assert "{'left'} and {'right'}" in str(caught.value)


def test_a_cheap_class_that_is_reached_by_chance_only_is_refused():
    """The cheaper state 2 is entered with probability one half, or not at all."""
    cmdp = absorbing([0, 0.5, 0.5], [0, 1, 0])
    with pytest.raises(tr.ModelError) as caught:
        tr.solve(cmdp)
    assert "{'left'} and {'right'}" in str(caught.value)


@pytest.mark.parametrize("gamma", [0.9, 0.9999])
def test_a_cost_of_zero_everywhere_is_solved(gamma):
    P = np.eye(3)[[[1, 2], [2, 0], [0, 1]]]
    plan = tr.solve(tr.DiscountedCMDP(P, np.zeros((3, 2)), None, None, gamma))
    assert plan.method == "columns"
    assert plan.value == 0.0
    assert plan.gap == 0.0
