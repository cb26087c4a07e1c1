"""Planning over boxes: programs over flows, no and full width, doors and monotonicity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import brute
import tightrope as tr
import zoo
from draws import FEW, MANY, SOME, Boxed, boxes, cases
from refusals import refuses
from tightrope.envs import build
from tightrope.plan.optimistic import box_between

METHODS = {"columns": 1e-8, "lp": 1e-6}
both = pytest.mark.parametrize("method", METHODS)


def planned(boxed, method="columns", **other):
    return tr.solve_optimistic(*boxed, method=method, tolerance=1e-11, **other)


def expected(boxed):
    """Value by a program over flows, None when infeasible."""
    H, I = boxed.cmdp.horizon, boxed.cmdp.n_constraints
    bounds = (brute.by_stages(bound, H, 4) for bound in (boxed.lower, boxed.upper))
    d = boxed.constraint_cost if I else np.empty((0, *boxed.cost.shape))
    return brute.optimistic(boxed.cmdp.initial, *bounds, boxed.cost, d, boxed.cmdp.budget)


def require_inside(boxed, p):
    """The kernel sums to one and lies in the box at every pair, reached or not."""
    H = boxed.cmdp.horizon
    lower, upper = (brute.by_stages(bound, H, 4) for bound in (boxed.lower, boxed.upper))
    assert p.shape == upper.shape
    np.testing.assert_allclose(p.sum(axis=3), 1.0, atol=1e-12)
    assert (p >= lower - 1e-15).all()
    assert (p <= upper + 1e-15).all()


@both
@MANY
@given(boxes())
def test_the_value_is_that_of_a_program_over_flows(method, boxed):
    value = expected(boxed)
    if value is None:
        with pytest.raises(tr.InfeasibleError):
            planned(boxed, method)
        return

    plan = planned(boxed, method)

    assert plan.value == pytest.approx(value, abs=METHODS[method])
    require_inside(boxed, plan.transition)
    q = brute.forward(plan.transition, boxed.cmdp.initial, plan.policy)
    np.testing.assert_allclose(plan.occupancy, q, atol=1e-12)
    assert plan.value == pytest.approx((q * boxed.cost).sum(), abs=1e-12)
    if boxed.cmdp.n_constraints:
        spent = (q * boxed.constraint_cost).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(plan.constraint_value, spent, atol=1e-12)
        assert (spent <= boxed.cmdp.budget + METHODS[method]).all()
    assert plan.method == method


@both
@SOME
@given(cases(most=2))
def test_a_box_of_no_width_is_the_model_itself(method, case):
    cmdp = case.cmdp

    plan = tr.solve_optimistic(cmdp, cmdp.transition, cmdp.transition, method=method)

    assert plan.value == pytest.approx(tr.solve(cmdp).value, abs=METHODS[method])
    exists = brute.by_stages(cmdp.transition, cmdp.horizon, 4).sum(axis=3) > 0
    p = brute.by_stages(cmdp.transition, cmdp.horizon, 4)
    np.testing.assert_allclose(plan.transition[exists], p[exists], atol=1e-12)


@both
@SOME
@given(boxes(0, 0))
def test_a_full_box_is_a_shortest_path(method, boxed):
    """The kernel goes to the cheapest states."""
    cmdp, H = boxed.cmdp, boxed.cmdp.horizon
    anything = np.ones((cmdp.n_states, cmdp.n_actions, cmdp.n_states))
    V = np.zeros(cmdp.n_states)
    for h in range(H - 1, -1, -1):
        V = boxed.cost[h].min(axis=1) + (V.min() if h < H - 1 else 0.0)

    plan = tr.solve_optimistic(cmdp, 0 * anything, anything, boxed.cost, method=method)

    assert plan.value == pytest.approx(cmdp.initial @ V, abs=METHODS[method])


@SOME
@given(boxes(1, 2), st.integers(0, 99))
def test_more_freedom_never_costs_more(boxed, seed):
    """Wider boxes, lower costs and larger budgets do not raise the value."""
    rng = np.random.default_rng(seed)
    if expected(boxed) is None:
        loose = np.full(boxed.cmdp.n_constraints, boxed.cmdp.horizon)
        boxed = boxed._replace(cmdp=boxed.cmdp.with_budget(loose))
    value = planned(boxed).value
    some = rng.random(boxed.lower.shape) < 0.5
    wider = boxed._replace(
        lower=np.where(some, boxed.lower * rng.random(), boxed.lower),
        upper=np.where(some, 1 - (1 - boxed.upper) * rng.random(), boxed.upper),
    )
    H = boxed.cmdp.horizon
    for freer in (
        wider,
        boxed._replace(cost=boxed.cost - 0.3 * rng.random(boxed.cost.shape)),
        boxed._replace(
            constraint_cost=boxed.constraint_cost - 0.3 * rng.random(boxed.constraint_cost.shape)
        ),
        boxed._replace(cmdp=boxed.cmdp.with_budget(np.minimum(boxed.cmdp.budget + 0.1, H))),
    ):
        assert planned(freer).value <= value + 1e-9


@both
def test_by_hand_a_kernel_is_chosen_to_keep_the_budget(method):
    """Erratum E32: with P(y) at least 0.45 the budget of 0.5 is kept at a cost of 0.5."""
    p = np.zeros((3, 2, 3))
    p[0, 0], p[0, 1, 1], p[1, :, 1], p[2, :, 2] = [0, 0.1, 0.9], 1, 1, 1
    cost, d = np.zeros((2, 3, 2)), np.zeros((1, 2, 3, 2))
    cost[1, 1] = d[0, 1, 2] = 1.0
    cmdp = tr.CMDP(np.stack((p, p)), cost, d, [0.5])
    lower, upper = p.copy(), p.copy()
    lower[0, 0], upper[0, 0] = [0, 0, 0.45], [0, 0.55, 1]

    plan = tr.solve_optimistic(cmdp, lower, upper, method=method)

    assert plan.value == pytest.approx(0.5, abs=1e-7)
    assert plan.constraint_value[0] == pytest.approx(0.5, abs=1e-7)
    assert plan.multiplier[0] == pytest.approx(1.0, abs=1e-6)


@both
@pytest.mark.parametrize("seed", range(3))
def test_dense_and_sparse_bounds_give_the_same_plan(method, seed):
    rng = np.random.default_rng(seed)
    cmdp = zoo.random_cmdp(rng, 4, 2, 3, 1, is_sparse=True)
    cmdp = cmdp.with_budget([brute.points(cmdp)[:, 1].min()])
    p = cmdp.transition
    lower, upper = np.maximum(p - 0.2, 0), np.minimum(p + 0.2, 1) * (p > 0)
    sparse = [[csr_array(m.reshape(8, 4)) for m in bound] for bound in (lower, upper)]

    dense_plan = tr.solve_optimistic(cmdp, lower, upper, method=method)
    sparse_plan = tr.solve_optimistic(cmdp, *sparse, method=method)
    mixed_plan = tr.solve_optimistic(cmdp, sparse[0], upper, method=method)

    assert dense_plan.value == sparse_plan.value == mixed_plan.value
    assert all(isinstance(m, csr_array) and m.shape == (8, 4) for m in sparse_plan.transition)
    rows = np.stack([m.toarray().reshape(4, 2, 4) for m in sparse_plan.transition])
    np.testing.assert_array_equal(rows, dense_plan.transition)
    require_inside(Boxed(cmdp, lower, upper, cmdp.cost, None), rows)


@both
def test_one_stage_of_a_bound_serves_all_stages_of_the_other(method):
    rng = np.random.default_rng(2)
    cmdp = zoo.random_cmdp(rng, 3, 2, 3, 1).with_budget([1.2])
    lower = np.broadcast_to(cmdp.transition.min(axis=0), cmdp.transition.shape)
    upper = np.broadcast_to(cmdp.transition.max(axis=0), cmdp.transition.shape)

    pairs = [(lower[0], cmdp.transition + 0.0), (lower, upper), (lower[0], upper[0])]
    values = [tr.solve_optimistic(cmdp, lo, up, method=method).value for lo, up in pairs]

    assert values[1] == pytest.approx(values[2], abs=1e-9)
    expected = tr.solve_optimistic(cmdp, lower, cmdp.transition, method=method).value
    assert values[0] == pytest.approx(expected, abs=1e-12)


@both
def test_costs_of_any_size_and_sign_are_planned(method):
    """By hand: a bonus of 1e4 is collected once its budget of -2e3 is met by two steps of -1e3."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 0]], [[[0, 0]]], [0.0], 2)

    plan = tr.solve_optimistic(
        cmdp, np.ones((1, 2, 1)), np.ones((1, 2, 1)), [[-1e4, 0]], [[[1e3, -1e3]]], method=method
    )

    assert plan.value == pytest.approx(-1e4, rel=1e-9)
    assert plan.constraint_value[0] == pytest.approx(0, abs=1e-5)
    assert plan.multiplier[0] == pytest.approx(5.0, rel=1e-6)


@both
def test_bounds_and_costs_of_forbidden_actions_are_not_read(method):
    allowed = np.array([[[True, False], [True, True]], [[True, True], [True, True]]])
    nan = np.where(allowed, 1.0, np.nan)
    p = np.full((2, 2, 2, 2), 0.5)
    cmdp = tr.CMDP(p, np.zeros((2, 2)), np.zeros((1, 2, 2)), [1.0], allowed=allowed)
    cost = np.array([[[0.5, 0.0], [0.5, 0.5]], [[1.0, 0.25], [1.0, 1.0]]])

    plan = tr.solve_optimistic(
        cmdp,
        0 * p * nan[..., None],
        p * 2 * nan[..., None],
        cost * nan,
        (0 * cost * nan)[None],
        method=method,
    )

    # 0.5 at first, for lack of the free action, and then 0.25 in the better state
    assert plan.value == pytest.approx(0.75, abs=1e-9)
    assert plan.policy[0, 0].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(plan.transition.sum(axis=3)[allowed], 1.0)


def test_one_lower_bound_serves_stages_with_different_masks():
    """The lower bound stays where the pair exists and is ignored where it does not."""
    allowed = np.array([[[True, False]], [[True, True]]])
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[1, 0]], horizon=2, allowed=allowed)

    plan = tr.solve_optimistic(cmdp, np.ones((1, 2, 1)), np.ones((2, 1, 2, 1)))

    assert plan.value == pytest.approx(1.0)


HALF = np.full((2, 1, 2), 0.5)


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (
            HALF,
            HALF[:1],
            ("upper", (1, 1, 2), "(2, 1, 2) over (S, A, S) or (3, 2, 1, 2) over (H, S, A, S)"),
        ),
        (
            np.zeros((2, 2)),
            HALF,
            ("lower", (2, 2), "(2, 1, 2) over (S, A, S) or (3, 2, 1, 2) over (H, S, A, S)"),
        ),
        (
            np.zeros((5, 2, 1, 2)),
            HALF,
            ("lower", (5, 2, 1, 2), "(2, 1, 2) over (S, A, S) or (3, 2, 1, 2) over (H, S, A, S)"),
        ),
        ("low", HALF, "lower: expected an array of real numbers"),
        (HALF, 3 * HALF, ("upper[s=0, a=0, t=0]", 1.5, "a probability in [0, 1]")),
        (-HALF, HALF, ("lower[s=0, a=0, t=0]", -0.5, "a probability in [0, 1]")),
        (HALF * np.nan, HALF, r"lower\[s=0, a=0, t=0\] is nan, expected a probability"),
        (HALF, 0.5 * HALF, r"lower\[.*\] is 0\.5, expected at most upper = 0\.25; 4 such entries"),
        (0 * HALF, 0.5 * HALF, r"lower and upper\[s=0, a=0\] sum to 0 and 0\.5, .*; 2 such rows"),
        (1.2 * HALF, 2 * HALF, r"lower and upper\[s=0, a=0\] sum to 1\.2 and 2, expected at most"),
        (
            HALF,
            np.stack((HALF, 0.4 * HALF + 0.1, 0.5 * HALF)),
            r"lower\[s=0, a=0, t=0\] is 0\.5, expected at most upper = 0\.3; 8 such entries",
        ),
        (
            np.stack((HALF, HALF, HALF * 1.2)),
            np.stack((HALF, HALF, HALF)) * 2,
            r"lower and upper\[h=2, s=0, a=0\] sum to 1\.2 and 2, .*; 2 such rows",
        ),
        (HALF, [csr_array(np.eye(2))] * 2, ("upper", "2 stages", "1 or 3")),
        (HALF, csr_array(np.eye(3)), ("upper", "shape (3, 3)", "a sparse matrix of shape (2, 2)")),
        ([csr_array(np.eye(2)), 5], HALF, ("lower[1]", "int", "a sparse matrix of shape (2, 2)")),
        (
            np.eye(2)[:, None],
            csr_array(np.ones((2, 2)) - np.eye(2)),
            ("lower[s=0, a=0, t=0]", 1.0, "at most upper = 0"),
        ),
    ],
)
def test_bad_bounds_are_refused_by_entry(lower, upper, said):
    cmdp = tr.CMDP(HALF, np.zeros((2, 1)), horizon=3)

    with refuses(tr.ModelError, said):
        tr.solve_optimistic(cmdp, lower, upper)


def test_bad_bounds_are_refused_by_name():
    cmdp = tr.CMDP(HALF, np.zeros((2, 1)), horizon=3, state_names=["a", "b"], action_names=["go"])

    with refuses(
        tr.ModelError,
        argument="lower",
        entry="s='a', a='go', t='a'",
        found=0.5,
        expected="at most upper = 0.25",
    ):
        tr.solve_optimistic(cmdp, HALF, 0.5 * HALF)


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ({"cost": np.zeros((3, 1))}, r"cost: shape \(3, 1\), expected \(2, 1\) or \(3, 2, 1\)"),
        ({"cost": [[np.nan], [0]]}, r"cost\[h=0, s=0, a=0\] is nan, expected a finite number"),
        ({"cost": [[np.inf], [0]]}, "expected a finite number"),
        ({"constraint_cost": np.zeros((2, 2, 1))}, r"constraint_cost: shape \(2, 2, 1\), expected"),
        ({"method": "best"}, "method: 'best'"),
        ({"tolerance": 0}, "tolerance: 0"),
    ],
)
def test_bad_losses_are_refused(losses, message):
    cmdp = tr.CMDP(HALF, np.zeros((2, 1)), np.zeros((1, 2, 1)), [1.0], 3)

    with pytest.raises(tr.ModelError, match=message):
        tr.solve_optimistic(cmdp, HALF, HALF, **losses)


def test_rows_that_miss_one_by_rounding_are_put_right():
    cmdp = tr.CMDP(HALF, [[0.0], [1.0]], horizon=3)
    short = HALF * (1 - 1e-12)

    plan = tr.solve_optimistic(cmdp, HALF * (1 + 1e-12), np.maximum(short, HALF * (1 + 1e-12)))
    other = tr.solve_optimistic(cmdp, 0 * HALF, short)

    for made in (plan, other):
        assert made.value == pytest.approx(1.0, abs=1e-10)
        np.testing.assert_allclose(made.transition.sum(axis=3), 1.0, atol=1e-12)


@FEW
@given(boxes(1, 2, is_signed=False))
def test_infeasible_boxes_name_what_no_kernel_can_keep(boxed):
    """Budgets of zero are kept only by kernels and policies that spend nothing at all."""
    boxed = boxed._replace(cmdp=boxed.cmdp.with_budget(np.zeros(boxed.cmdp.n_constraints)))
    if expected(boxed) is not None:
        assert planned(boxed).constraint_value == pytest.approx(0, abs=1e-8)
        return

    with pytest.raises(tr.InfeasibleError) as caught:
        planned(boxed)

    error = caught.value
    assert max(error.relaxation) > 0
    assert all(f"constraint {i}" in str(error) for i in error.clash)
    relaxed = boxed.cmdp.with_budget(np.minimum(error.relaxation, boxed.cmdp.horizon))
    planned(boxed._replace(cmdp=relaxed))


@pytest.mark.parametrize("stages", [(), (1,), (4,)])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_a_box_of_dense_bounds_is_the_box_of_the_same_sparse_bounds(stages, zeros):
    rng = np.random.default_rng(len(stages))
    cmdp = build("random", n_states=5, n_actions=3, horizon=4, branching=3)
    base = rng.dirichlet(np.ones(5), size=(*stages, 5, 3))
    upper = np.clip(base + 0.05, 0, 1)
    upper[rng.random(upper.shape) < zeros] = 0.0
    upper[..., 0] = 1.0
    lower = upper * rng.uniform(0, 0.15, size=upper.shape)
    upper[..., 0, 0, :] = base[..., 0, 0, :] * (1 - 1e-10)  # sums to a little less than 1
    lower[..., 0, 0, :] = upper[..., 0, 0, :] / 2

    def sparse(bound):
        return [csr_array(matrix) for matrix in bound.reshape(-1, 15, 5)]

    box, other = box_between(cmdp, lower, upper), box_between(cmdp, sparse(lower), sparse(upper))

    for part, expected in zip(box, other, strict=True):
        np.testing.assert_array_equal(part, expected)
        assert part.dtype == expected.dtype
        assert part.flags.c_contiguous
    assert not np.shares_memory(box.upper, upper)
    assert not np.shares_memory(box.lower, lower)
