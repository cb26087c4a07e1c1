"""Backward recursions against dense NumPy, enumeration and programs over sets of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
import problems
import zoo
from draws import FEW, MANY, SOME, boxes, models, policies
from tightrope.arrays import Box
from tightrope.kernels.bellman import action_values, evaluate, induct, price
from tightrope.kernels.occupancy import occupancy
from tightrope.kernels.scratch import desk
from tightrope.model.base import writable_problem
from tightrope.model.csr import stack_dense
from tightrope.plan.optimistic import box_between

SIGNS = st.sampled_from([1.0, -1.0])


def values_of(kernels, cost, pi, sign=1.0):
    H, S, _ = pi.shape
    V, work = np.full((H + 1, S), np.nan), desk(S)
    evaluate(kernels, cost, pi, sign, V, np.zeros(S, dtype=work.rank.dtype), work)
    return V


def induction(kernels, loss, H, sign=1.0):
    """Values and choices of the best policy."""
    S = loss.shape[1]
    V, choice, work = np.full((H + 1, S), np.nan), np.empty((H, S), dtype=np.int16), desk(S)
    induct(kernels, loss, sign, V, choice, np.zeros((H, S), dtype=work.rank.dtype), work)
    return V, choice


def occupied(cmdp, pi):
    S = cmdp.n_states
    q, work = np.empty(pi.shape), desk(S)
    order = np.zeros(S, dtype=work.rank.dtype)
    occupancy(
        writable_problem(cmdp).kernels,
        writable_problem(cmdp).initial,
        pi,
        q,
        np.empty((2, S)),
        order,
        work,
    )
    return q


def actions_of(cmdp, V, cost=None):
    """Q_h = c_h + p_h V_{h+1} by the kernel."""
    cost = writable_problem(cmdp).cost if cost is None else cost
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    Q, work = np.empty((H, S, A)), desk(S)
    order = np.zeros(S, dtype=work.rank.dtype)
    action_values(writable_problem(cmdp).kernels, cost, V, Q, order, work)
    return Q


def infinite_where_forbidden(cmdp):
    return np.where(cmdp.allowed, cmdp.cost, np.inf)


def dense_values(p, cost, pi):
    """The recursion in NumPy."""
    V = np.zeros((len(pi) + 1, pi.shape[1]))
    for h in range(len(pi) - 1, -1, -1):
        V[h] = (pi[h] * (cost[h] + p[h] @ V[h + 1])).sum(axis=1)
    return V


def repeated(transitions, H):
    """One stage told H times."""
    return type(transitions)(*(np.repeat(field, H, axis=0) for field in transitions))


@MANY
@given(st.data())
def test_values_are_those_of_the_dense_recursion(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))
    p = brute.by_stages(cmdp.transition, cmdp.horizon, 4)

    V = values_of(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, pi)

    np.testing.assert_allclose(V, dense_values(p, cmdp.cost, pi), atol=1e-13)


@MANY
@given(st.data())
def test_backward_and_forward_recursions_agree(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))

    V, q = (
        values_of(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, pi),
        occupied(cmdp, pi),
    )

    assert cmdp.initial @ V[0] == pytest.approx((q * cmdp.cost).sum(), abs=1e-12)


@MANY
@given(models(0, 0))
def test_induction_finds_the_best_of_all_deterministic_policies(cmdp):
    V, choice = induction(
        writable_problem(cmdp).kernels, infinite_where_forbidden(cmdp), cmdp.horizon
    )

    assert cmdp.initial @ V[0] == pytest.approx(brute.points(cmdp)[:, 0].min(), abs=1e-12)
    assert np.take_along_axis(cmdp.allowed, choice[:, :, None].astype(int), axis=2).all()
    pi = np.eye(cmdp.n_actions)[choice]
    np.testing.assert_array_equal(
        values_of(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, pi), V
    )


def test_ties_go_to_the_first_allowed_action():
    loss = np.full((1, 2, 3), 0.5)
    loss[0, 1, 0] = np.inf
    p, _, _ = stack_dense(np.eye(2)[np.arange(6).reshape(2, 3) % 2])

    _, choice = induction(p, loss, 4)

    assert choice.tolist() == [[0, 1]] * 4


@SOME
@given(st.data(), SIGNS)
def test_one_stage_serves_all_as_if_it_had_been_repeated(data, sign):
    boxed = data.draw(boxes(0, 0).filter(lambda boxed: boxed.cmdp.is_stationary))
    cmdp = boxed.cmdp
    H, pi = cmdp.horizon, data.draw(policies(cmdp))
    cost = writable_problem(cmdp).cost
    box = box_between(cmdp, boxed.lower, boxed.upper)
    for kernels in (writable_problem(cmdp).kernels, box):
        told = repeated(kernels, H), np.repeat(cost, H, axis=0)
        np.testing.assert_array_equal(
            values_of(kernels, cost, pi, sign), values_of(*told, pi, sign)
        )
        for once, often in zip(
            induction(kernels, cost, H, sign), induction(*told, H, sign), strict=True
        ):
            np.testing.assert_array_equal(once, often)


@SOME
@given(st.data(), SIGNS)
def test_recursions_over_a_box_are_programs_row_by_row(data, sign):
    boxed = data.draw(boxes(0, 0))
    cmdp, cost = boxed.cmdp, np.ascontiguousarray(boxed.cost)
    H, S, A = cost.shape
    lower, upper = (brute.by_stages(bound, H, 4) for bound in (boxed.lower, boxed.upper))
    pi = data.draw(policies(cmdp))
    best, own = np.zeros((H + 1, S)), np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        for s in range(S):
            rows = [(lower[h, s, a], upper[h, s, a]) for a in range(A)]
            best[h, s] = min(
                cost[h, s, a] + brute.best_row(best[h + 1], *rows[a], sign) for a in range(A)
            )
            own[h, s] = sum(
                pi[h, s, a] * (cost[h, s, a] + brute.best_row(own[h + 1], *rows[a], sign))
                for a in range(A)
            )

    box = box_between(cmdp, boxed.lower, boxed.upper)

    np.testing.assert_allclose(induction(box, cost, H, sign)[0], best, atol=1e-11)
    np.testing.assert_allclose(values_of(box, cost, pi, sign), own, atol=1e-11)


@FEW
@given(st.data(), st.sampled_from([0.0, 0.3, 2.0]), SIGNS)
def test_recursions_over_a_ball_are_programs_row_by_row(data, radius, sign):
    cmdp = data.draw(models(0, 0, [(1, 2, 2), (3, 2, 2), (4, 1, 3), (2, 3, 3)], can_mask=False))
    H, S, A = cmdp.cost.shape
    p, cost = writable_problem(cmdp).kernels, np.ascontiguousarray(cmdp.cost - 0.5)
    G = p.indptr.shape[0]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    radii = radius * rng.random((G, S * A))
    center, wide = brute.by_stages(cmdp.transition, H, 4), brute.by_stages(radii, H, 2)
    pi = data.draw(policies(cmdp))
    best, own = np.zeros((H + 1, S)), np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        for s in range(S):

            def after(a, V, h=h, s=s):
                reached = brute.best_in_ball(V[h + 1], center[h, s, a], wide[h, s * A + a], sign)
                return cost[h, s, a] + reached

            best[h, s] = min(after(a, best) for a in range(A))
            own[h, s] = sum(pi[h, s, a] * after(a, own) for a in range(A))

    ball = problems.ball(*p, radii)

    np.testing.assert_allclose(induction(ball, cost, H, sign)[0], best, atol=1e-11)
    np.testing.assert_allclose(values_of(ball, cost, pi, sign), own, atol=1e-11)


@SOME
@given(st.data())
def test_a_set_that_holds_the_kernel_brackets_its_values(data):
    boxed = data.draw(boxes(0, 0))
    cmdp, pi = boxed.cmdp, data.draw(policies(boxed.cmdp))
    p, cost = writable_problem(cmdp).kernels, writable_problem(cmdp).cost
    radius = np.full((p.indptr.shape[0], p.indptr.shape[1] - 1), 0.3)

    V = values_of(p, cost, pi)

    for kernels in (box_between(cmdp, boxed.lower, boxed.upper), problems.ball(*p, radius)):
        assert (values_of(kernels, cost, pi, 1.0) <= V + 1e-13).all()
        assert (values_of(kernels, cost, pi, -1.0) >= V - 1e-13).all()


@MANY
@given(models(0, 3), st.integers(0, 99), st.sampled_from([0.0, 1.0, 2.5]))
def test_the_priced_loss_adds_what_constraints_cost(cmdp, seed, weight):
    problem, I = writable_problem(cmdp), cmdp.n_constraints
    lam = np.random.default_rng(seed).integers(0, 3, I).astype(float)
    loss = np.empty(cmdp.cost.shape)

    price(problem.cost, problem.constraint_cost, problem.allowed, weight, lam, loss)

    priced = weight * cmdp.cost + np.einsum("i,ihsa->hsa", lam, cmdp.constraint_cost)
    np.testing.assert_allclose(loss, np.where(cmdp.allowed, priced, np.inf), rtol=1e-14)


@MANY
@given(st.data())
def test_action_values_average_to_values(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))
    V = values_of(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, pi)

    Q = actions_of(cmdp, V)

    np.testing.assert_allclose((pi * Q).sum(axis=2), V[:-1], atol=1e-13)


def pair_of_models(data):
    """Two models of one shape, and a policy for both."""
    size = data.draw(st.sampled_from([(1, 1, 1), (3, 2, 3), (2, 3, 4), (4, 2, 2)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    one, other = (zoo.random_cmdp(rng, *size, 0, is_sparse=True) for _ in range(2))
    return one, other, data.draw(policies(one)), data.draw(policies(one))


@MANY
@given(st.data())
def test_value_difference_with_costs_and_kernels_of_either_model(data):
    """V(c,p) - V(c',p') = E_p'[sum (c - c') + (p - p') V(c,p)] = E_p[... V(c',p')] (E39)."""
    one, other, pi, _ = pair_of_models(data)
    V, W = (
        values_of(writable_problem(m).kernels, writable_problem(m).cost, pi) for m in (one, other)
    )
    start = one.initial
    q = occupied(one, pi)
    q_other = brute.forward(brute.by_stages(other.transition, other.horizon, 4), start, pi)
    difference = start @ (V[0] - W[0])
    for weights, after in ((q_other, V), (q, W)):
        # c + p V minus c' + p' V, with V that of the other side
        moved = actions_of(one, after) - actions_of(other, after)
        assert (weights * moved).sum() == pytest.approx(difference, abs=1e-12)


@MANY
@given(st.data())
def test_the_value_difference_lemma_holds_for_any_table_of_values(data):
    """The extended lemma, with <Q, pi - pi'> (E40), for arbitrary tables Q."""
    cmdp, _, pi, other = pair_of_models(data)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    Q = rng.normal(size=pi.shape)
    V = np.concatenate(((pi * Q).sum(axis=2), np.zeros((1, cmdp.n_states))))
    true = values_of(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, other)
    q = occupied(cmdp, other)

    by_policy = (q.sum(axis=2)[:, :, None] * Q * (pi - other)).sum()
    by_residual = (q * (Q - actions_of(cmdp, V))).sum()

    assert cmdp.initial @ (V[0] - true[0]) == pytest.approx(by_policy + by_residual, abs=1e-11)


def test_a_box_over_the_last_stage_is_not_asked():
    """Values at the last stage are the losses alone, even where the box there has no row at all."""
    empty = Box(*(np.zeros((1, n), dtype) for n, dtype in ((3, np.int64), (1, np.uint32))),
                *(np.zeros((1, 1)) for _ in range(2)), np.zeros((1, 0)))  # fmt: skip

    V, choice = induction(empty, np.array([[[3.0, 1.0]]]), 1)

    assert (V.ravel().tolist(), choice.ravel().tolist()) == ([1.0, 0.0], [1])
