"""Discounted and average cost: solve, evaluate and all that builds on them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

import tightrope as tr
from tightrope.kernels.columns import columns, sweep
from tightrope.model.base import writable_problem
from tightrope.plan.generate import best_response

DISCOUNT = 0.9
KINDS = ("discounted", "average")


def random_parts(seed, S=6, A=3, I=2):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.3), (S, A)) * 0.95 + 0.05 / S
    return P, rng.random((S, A)), rng.random((I, S, A))


def build(kind, P, cost, constraint_cost=None, budget=None, **options):
    """A model whose budgets are given per step."""
    if kind == "average":
        return tr.AverageCMDP(P, cost, constraint_cost, budget, **options)
    total = None if budget is None else np.asarray(budget) / (1 - DISCOUNT)
    return tr.DiscountedCMDP(P, cost, constraint_cost, total, DISCOUNT, **options)


def random_model(kind, seed, share=0.4, **sizes):
    """Budgets a share of the way from the least values to those of the cheapest policy."""
    P, cost, constraint_cost = random_parts(seed, **sizes)
    loose = build(kind, P, cost, constraint_cost, np.ones(len(constraint_cost)))
    low = tr.slater(loose).constraint_value
    high = np.maximum(tr.solve(loose).constraint_value, low)
    return loose.with_budget(low + share * (high - low) + 1e-3)


def exact_values(kind, P, pi, losses, start):
    """Totals of a policy in rational arithmetic, by Gauss-Jordan elimination."""
    S = len(P)
    discount = Fraction(1) if kind == "average" else Fraction(9, 10)
    rows = []
    for t in range(S):
        row = [
            Fraction(int(s == t))
            - discount * sum(Fraction(pi[s][a]) * Fraction(P[s][a][t]) for a in range(len(pi[s])))
            for s in range(S)
        ]
        right = Fraction(start[t]) if kind == "discounted" else Fraction(0)
        rows.append([*row, right])
    if kind == "average":
        rows[0] = [Fraction(1)] * S + [Fraction(1)]
    for k in range(S):
        p = next(r for r in range(k, S) if rows[r][k] != 0)
        rows[k], rows[p] = rows[p], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(S):
            if r != k and rows[r][k] != 0:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    visits = [row[-1] for row in rows]
    return [
        sum(
            visits[s] * Fraction(pi[s][a]) * Fraction(loss[s][a])
            for s in range(S)
            for a in range(len(pi[s]))
        )
        for loss in losses
    ]


def by_linprog(cmdp, kind):
    """The occupancy linear program, dense, by scipy."""
    S, A = cmdp.n_states, cmdp.n_actions
    P = cmdp.transition.reshape(S * A, S)
    discount = 1.0 if kind == "average" else DISCOUNT
    flow = np.repeat(np.eye(S), A, axis=0).T - discount * P.T
    right = np.zeros(S) if kind == "average" else cmdp.initial
    if kind == "average":
        flow, right = np.vstack((flow, np.ones(S * A))), np.append(right, 1.0)
    found = linprog(
        cmdp.cost.reshape(-1),
        cmdp.constraint_cost.reshape(cmdp.n_constraints, -1),
        cmdp.budget,
        flow,
        right,
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_columns_highs_and_scipy_agree_and_the_gap_is_certified(kind, seed):
    cmdp = random_model(kind, seed)
    plan, other = tr.solve(cmdp), tr.solve(cmdp, method="lp")
    assert plan.method == "columns"
    assert other.method == "lp"
    assert plan.policy.shape == plan.occupancy.shape == (6, 3)
    best = by_linprog(cmdp, kind)
    assert plan.value == pytest.approx(best, rel=1e-8)
    assert other.value == pytest.approx(best, rel=1e-7)
    assert -1e-12 <= plan.gap <= 1e-7 * plan.value
    assert (plan.constraint_value <= cmdp.budget * (1 + 1e-9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_of_a_policy_are_exact(kind):
    rng = np.random.default_rng(5)
    P = np.array(
        [[[0.25, 0.75, 0], [0.5, 0, 0.5]], [[0, 0.5, 0.5], [1, 0, 0]], [[0.5, 0.5, 0]] * 2]
    )
    cost, other = rng.integers(0, 9, (2, 3, 2)) / 8
    pi = np.array([[0.5, 0.5], [0.25, 0.75], [1, 0]])
    start = np.array([0.5, 0.25, 0.25])
    cmdp = build(kind, P, cost, other[None], [1.0], initial=start)
    if kind == "discounted":  # 0.9 is no binary fraction: compare with its nearest float
        assert cmdp.discount == DISCOUNT
    exact = [float(x) for x in exact_values(kind, P, pi, (cost, other), start)]
    found = tr.evaluate(cmdp, pi)
    assert found.value == pytest.approx(exact[0], rel=1e-13)
    assert found.constraint_value[0] == pytest.approx(exact[1], rel=1e-13)
    visits = tr.occupancy(cmdp, pi)
    assert (visits * cost).sum() == pytest.approx(exact[0], rel=1e-13)
    assert visits.sum() == pytest.approx(1.0 if kind == "average" else 10.0, rel=1e-13)


def chain_of(shape, rng):
    """A chain that mixes fast, slowly along a line or on a grid, or not at all."""
    if shape == "random":
        return rng.dirichlet(np.ones(60), 60)
    if shape == "cycle":
        return np.roll(np.eye(60), 1, axis=1)
    place = np.arange(400) if shape == "line" else rng.permutation(400)
    side = 1 if shape == "line" else 20
    P = np.zeros((400, 400))
    for s in range(400):
        x, y = divmod(s, side)
        steps = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)][: 2 if side == 1 else 4]
        for share, (u, v) in zip((0.3, 0.2, 0.3, 0.2), steps, strict=False):
            inside = 0 <= u < 400 // side and 0 <= v < side
            P[place[s], place[u * side + v] if inside else place[s]] += share
        P[place[s], place[s]] += 1.0 - P[place[s]].sum()
    return P


@pytest.mark.parametrize("discount", [0.9, 0.9999, None])
@pytest.mark.parametrize("shape", ["random", "line", "grid", "cycle"])
def test_chains_of_every_kind_are_evaluated_to_rounding(shape, discount):
    rng = np.random.default_rng(3)
    P = chain_of(shape, rng)
    S = len(P)
    loss = rng.random((S, 1))
    start = np.zeros(S)
    start[0] = 1.0
    if discount is None:
        model = tr.AverageCMDP(P[:, None], loss, loss[None], [1.0])
        system = np.vstack((np.eye(S) - P.T, np.ones(S)))
        expected = np.linalg.lstsq(system, np.append(np.zeros(S), 1.0), rcond=None)[0] @ loss[:, 0]
    else:
        model = tr.DiscountedCMDP(P[:, None], loss, loss[None], [1 / (1 - discount)], discount)
        expected = np.linalg.solve(np.eye(S) - discount * P, loss[:, 0]) @ start
    found = tr.evaluate(model, np.ones((S, 1)))
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.constraint_value[0] == pytest.approx(expected, rel=1e-9)
    assert tr.solve(model).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiny_optimum_mixes_the_exact_points_of_all_policies(kind):
    cmdp = random_model(kind, 11, S=3, A=2, I=1)
    points = []
    for actions in product(range(2), repeat=3):
        e = tr.evaluate(cmdp, np.eye(2)[list(actions)])
        points.append((e.value, e.constraint_value[0]))
    f, g = np.array(points).T
    found = linprog(f, g[None], cmdp.budget, np.ones((1, 8)), [1.0])
    assert tr.solve(cmdp).value == pytest.approx(found.fun, rel=1e-9)


def test_discounted_cost_is_the_limit_of_long_horizons():
    P, cost, other = random_parts(2)
    lasting = random_model("discounted", 2)
    H = int(np.ceil(np.log(1e-7) / np.log(DISCOUNT)))
    weights = DISCOUNT ** np.arange(H)[:, None, None]
    finite = tr.CMDP(P, weights * cost, weights * other[:, None], lasting.budget, H)
    assert tr.solve(finite).value == pytest.approx(tr.solve(lasting).value, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 50), st.floats(1e-9, 1.0), st.floats(0.0, 3.0))
def test_a_sweep_that_stops_early_proves_a_bound_that_its_policy_is_close_to(kind, seed, room, lam):
    P, cost, constraint_cost = random_parts(seed, S=12, I=1)
    model = build(kind, P, cost, constraint_cost, [1.0])
    problem = writable_problem(model)
    exact, _ = best_response(problem, 1, np.array([lam]))
    state = columns(problem, 1, 1)
    state.lam[:] = lam
    bound = sweep(problem, state, 1.0, room)
    found = tr.evaluate(model, np.eye(3)[state.choice[0]])
    attained = found.value + lam * found.constraint_value[0]
    slop = 1e-12 * (1.0 + abs(exact))
    assert bound - slop <= exact <= attained + slop
    assert attained <= bound + room + slop


@pytest.mark.parametrize("kind", KINDS)
def test_without_constraints_the_optimum_is_that_of_value_iteration(kind):
    P, cost, _ = random_parts(3)
    V = np.zeros(6)
    discount = 1.0 if kind == "average" else DISCOUNT
    for _ in range(3000):
        new = (cost + discount * P @ V).min(axis=1)
        change, V = new - V, new
    best = change.mean() if kind == "average" else V[0]
    assert tr.solve(build(kind, P, cost)).value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.lists(st.floats(0, 3), min_size=2, max_size=2))
def test_no_multipliers_give_a_bound_above_the_optimum(kind, seed, lam):
    P, cost, other = random_parts(seed, S=4, A=2)
    cmdp = random_model(kind, seed, S=4, A=2)
    priced = cost + np.einsum("i,isa->sa", lam, other)
    size = float(priced.max())
    relaxed = build(kind, P, priced / size)
    bound = size * tr.solve(relaxed).value - np.dot(lam, cmdp.budget)
    assert bound <= tr.solve(cmdp).value + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 50), st.permutations(range(6)))
def test_the_order_of_states_and_constraints_and_the_unit_do_not_matter(kind, seed, order):
    P, cost, other = random_parts(seed)
    cmdp = random_model(kind, seed)
    value = tr.solve(cmdp).value
    order = np.array(order)
    budget = cmdp.budget * (1.0 if kind == "average" else 1 - DISCOUNT)
    same = build(
        kind,
        P[order][:, :, order],
        cost[order],
        other[::-1][:, order],
        budget[::-1],
        initial=int(np.flatnonzero(order == 0)[0]),
    )
    assert tr.solve(same).value == pytest.approx(value, rel=1e-8)
    scaled = build(kind, P, cost / 1000, other, budget)
    assert tr.solve(scaled).value == pytest.approx(value / 1000, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_frontier_slack_and_feasibility_agree_with_solve(kind):
    cmdp = random_model(kind, 7)
    curve = tr.frontier(cmdp, 0)
    for share in (0.2, 0.7):
        budget = curve.budget[0] + share * (curve.budget[-1] - curve.budget[0])
        assert curve.at(budget) == pytest.approx(
            tr.solve(cmdp.with_budget({"0": budget})).value, rel=1e-7
        )
    found = tr.slater(cmdp)
    assert found.slack > 0
    assert found.policy.shape == (6, 3)
    assert found.spare.min() == pytest.approx(found.slack)
    limits = tr.feasibility(cmdp)
    assert limits.is_feasible
    alone = cmdp.with_budget({"0": limits.alone[0] * (1 + 1e-9)})
    assert tr.frontier(alone, 1).budget.size >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_infeasible_budgets_are_named_with_a_sufficient_relaxation(kind):
    cmdp = random_model(kind, 8)
    tight = cmdp.with_budget(0.5 * tr.feasibility(cmdp).alone)
    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(tight)
    assert caught.value.clash == (0, 1)
    relaxed = tight.with_budget(tight.budget + np.array(caught.value.relaxation) * (1 + 1e-9))
    tr.solve(relaxed)


@pytest.mark.parametrize("kind", KINDS)
def test_forbidden_actions_are_never_taken_and_sparse_input_is_the_same(kind):
    P, cost, other = random_parts(9)
    allowed = np.ones((6, 3), dtype=bool)
    allowed[[0, 2, 4], [0, 1, 2]] = False
    budget = [0.6, 0.6]
    dense = build(kind, P, cost, other, budget, allowed=allowed)
    plan = tr.solve(dense)
    assert not plan.policy[~allowed].any()
    sparse = build(kind, csr_array(P.reshape(18, 6)), cost, other, budget, allowed=allowed)
    assert tr.solve(sparse).value == plan.value


def test_a_periodic_chain_has_averages():
    """Two states that alternate; in the first, cost 1 or a budgeted way out of it."""
    P = np.array([[[0.0, 1.0]] * 2, [[1.0, 0.0]] * 2])
    cmdp = tr.AverageCMDP(P, [[1, 0], [0, 0]], [[[0, 1], [0, 0]]], [0.2])
    plan = tr.solve(cmdp)
    assert plan.value == pytest.approx(0.3, abs=1e-12)
    assert plan.policy[0] == pytest.approx([0.6, 0.4], abs=1e-12)
    assert plan.multiplier == pytest.approx([1.0])


def test_several_recurrent_classes_are_refused_by_name():
    P = np.zeros((3, 1, 3))
    P[0, 0] = [0, 0.5, 0.5]
    P[1, 0, 1] = P[2, 0, 2] = 1
    names = ["start", "left", "right"]
    cmdp = tr.AverageCMDP(P, [[0], [1], [0]], state_names=names)
    for ask in (tr.solve, tr.feasibility, lambda m: tr.evaluate(m, [0, 0, 0])):
        with pytest.raises(tr.ModelError) as caught:
            ask(cmdp)
        assert caught.value.argument in ("transition", "policy")
        assert "'left'" in str(caught.value)
        assert "'right'" in str(caught.value)
    assert tr.solve(tr.DiscountedCMDP(P, [[0], [1], [0]], None, None, 0.5)).value == pytest.approx(
        0.5
    )


def test_classes_that_are_not_reached_do_not_matter():
    """The third state absorbs, but nothing leads to it."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1
    cmdp = tr.AverageCMDP(P, [[1, 0], [1, 0], [1, 1]], [np.eye(3, 2)[::1]], [0.5])
    assert tr.solve(cmdp).value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("width", [0.0, 0.1])
def test_optimistic_plans_are_those_of_the_linear_program_and_keep_to_the_box(width):
    P, cost, other = random_parts(4, S=4, A=2)
    cmdp = random_model("discounted", 4, S=4, A=2)
    lower, upper = np.clip(P - width, 0, 1), np.clip(P + width, 0, 1)
    plan = tr.solve_optimistic(cmdp, lower, upper)
    other_plan = tr.solve_optimistic(cmdp, lower, upper, method="lp")
    assert plan.method == "columns"
    assert plan.value == pytest.approx(other_plan.value, rel=1e-7)
    kernel = plan.transition
    assert kernel.shape == (4, 2, 4)
    assert (kernel >= lower - 1e-12).all()
    assert (kernel <= upper + 1e-12).all()
    chosen = tr.DiscountedCMDP(kernel, cost, other, cmdp.budget, DISCOUNT)
    assert tr.evaluate(chosen, plan).value == pytest.approx(plan.value, rel=1e-9)
    if width == 0.0:
        assert plan.value == pytest.approx(tr.solve(cmdp).value, rel=1e-8)


def test_optimistic_averages_and_learners_are_refused():
    cmdp = random_model("average", 1)
    P = cmdp.transition
    with pytest.raises(tr.ModelError) as caught:
        tr.solve_optimistic(cmdp, P, P)
    assert caught.value.argument == "cmdp"
    with pytest.raises(tr.ModelError) as caught:
        tr.learn(cmdp, "OptDual", episodes=3)
    assert caught.value.argument == "cmdp"


@pytest.mark.parametrize("discount", [0.0, 1.0, -1, np.nan, "much", None, True])
def test_a_bad_discount_is_refused(discount):
    with pytest.raises(tr.ModelError) as caught:
        tr.DiscountedCMDP(np.ones((1, 1, 1)), [[0.5]], None, None, discount)
    assert caught.value.argument == "discount"


def test_a_process_without_an_end_has_no_stages():
    with pytest.raises(tr.ModelError) as caught:
        tr.AverageCMDP(np.ones((2, 1, 1, 1)), [[0.5]])
    assert caught.value.argument == "transition"
    with pytest.raises(tr.ModelError) as caught:
        tr.AverageCMDP(np.ones((1, 1, 1)), np.zeros((2, 1, 1)))
    assert caught.value.argument == "cost"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["npz", "toml"])
def test_a_model_read_back_is_the_same(kind, suffix, tmp_path):
    cmdp = random_model(kind, 6)
    cmdp.save(tmp_path / f"model.{suffix}")
    again = type(cmdp).load(tmp_path / f"model.{suffix}")
    assert repr(again) == repr(cmdp)
    np.testing.assert_array_equal(again.transition, cmdp.transition)
    assert tr.solve(again).value == tr.solve(cmdp).value
    with pytest.raises(tr.ModelError) as caught:
        tr.CMDP.load(tmp_path / f"model.{suffix}")
    assert caught.value.argument == "model"


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_plans_are_saved_and_shown(suffix, tmp_path):
    plan = tr.solve(random_model("discounted", 6))
    plan.save(tmp_path / f"plan.{suffix}")
    if suffix == "npz":
        np.testing.assert_array_equal(tr.Plan.load(tmp_path / "plan.npz").policy, plan.policy)
    assert "Plan(6 states" in repr(plan)
    assert "DiscountedCMDP" in plan.model._repr_html_()
    assert "<img" in plan._repr_html_() or "svg" in plan._repr_html_()


def test_rewards_and_floors_keep_their_units():
    """Discounted: working earns 4 per step and tires; floors and values are totals."""
    P = np.ones((1, 2, 1))
    cmdp = tr.DiscountedCMDP.from_rewards(
        P, [[0.0, 4.0]], [[[2.0, 0.0]]], [5.0], 0.9, reward_range=(0, 4), utility_range=[(0, 2)]
    )
    plan = tr.solve(cmdp)
    assert plan.value == pytest.approx(30.0)
    assert plan.constraint_value == pytest.approx([5.0])
    assert plan.multiplier == pytest.approx([2.0])
    mean = tr.AverageCMDP.from_costs(
        P, [[9.0, 1.0]], [[[0.0, 5.0]]], [1.0], cost_range=(1, 9), constraint_range=[(0, 5)]
    )
    assert tr.solve(mean).value == pytest.approx(7.4)
    assert tr.frontier(mean).budget == pytest.approx([0.0, 5.0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_linter_compares_budgets_with_what_is_attainable(kind):
    cmdp = random_model(kind, 12)
    assert not [found for found in cmdp.check() if found.level == "error"]
    loose = cmdp.with_budget(np.array([1.0, 1.0]) * cmdp.n_steps)
    assert [found.subject for found in loose.check()] == ["budget", "budget"]
    tight = cmdp.with_budget(0.9 * tr.feasibility(cmdp).alone)
    assert [found.level for found in tight.check()].count("error") == 2
