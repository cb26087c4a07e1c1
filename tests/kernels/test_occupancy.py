"""Forward recursions: mass is kept, values agree with backward ones, flows give kernels back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from draws import MANY, SOME, boxes, models, policies
from tightrope.arrays import Transitions
from tightrope.kernels.bellman import evaluate, induct
from tightrope.kernels.occupancy import follow, gather, kernel_of, occupancy, policy_of
from tightrope.kernels.scratch import desk
from tightrope.model import CMDP
from tightrope.model.base import writable_problem
from tightrope.model.csr import unstack_dense
from tightrope.plan.optimistic import box_between


def occupied(p, initial, pi):
    S = pi.shape[1]
    q, work = np.full(pi.shape, np.nan), desk(S)
    occupancy(p, initial, pi, q, np.empty((2, S)), np.zeros(S, dtype=work.rank.dtype), work)
    return q


def policy_from(q, choice=None):
    choice = np.zeros(q.shape[:2], dtype=np.int16) if choice is None else choice
    pi = np.full(q.shape, np.nan)
    policy_of(q, choice, pi)
    return pi


def response(kernels, loss, H):
    """Best policy for a loss and the orders that stand for its kernel."""
    S = loss.shape[1]
    V, choice, work = np.empty((H + 1, S)), np.empty((H, S), dtype=np.int16), desk(S)
    orders = np.zeros((H, S), dtype=work.rank.dtype)
    induct(kernels, loss, 1.0, V, choice, orders, work)
    return V, choice, orders


def followed(kernels, initial, choice, orders, A, weight=1.0):
    """Occupancy and flow of a deterministic policy and its kernel."""
    H, S = choice.shape
    q, flow = np.zeros((H, S, A)), np.zeros((H, kernels.indices.shape[1]))
    follow(kernels, initial, choice, orders, weight, q, flow, np.empty((2, S)), desk(S))
    return q, flow


def kernel(box, q, flow, orders):
    """Dense kernel (H, S, A, S) of a flow, with the box's bounds in the same form."""
    H, S, A = q.shape
    data = np.full((H, box.indices.shape[1]), np.nan)
    kernel_of(box, q, flow, orders, data, np.zeros(S), desk(S))
    pattern = [np.repeat(box.indptr, H, 0)[:H], np.repeat(box.indices, H, 0)[:H]]
    if box.indptr.shape[0] > 1:
        pattern = [box.indptr, box.indices]
    bounds = [np.array(np.broadcast_to(bound, data.shape)) for bound in (box.lower, box.upper)]
    return [
        unstack_dense(Transitions(*pattern, values), S).reshape(H, S, A, S)
        for values in (data, *bounds)
    ]


@MANY
@given(st.data())
def test_mass_is_one_at_every_stage_and_flows_on(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))
    p = brute.by_stages(cmdp.transition, cmdp.horizon, 4)

    q = occupied(writable_problem(cmdp).kernels, cmdp.initial, pi)

    assert (q >= 0).all()
    np.testing.assert_allclose(q.sum(axis=(1, 2)), 1.0, atol=1e-12)
    np.testing.assert_allclose(q[0].sum(axis=1), cmdp.initial, atol=1e-15)
    for h in range(cmdp.horizon - 1):
        arriving = np.einsum("sa,sat->t", q[h], p[h])
        np.testing.assert_allclose(q[h + 1].sum(axis=1), arriving, atol=1e-13)
    np.testing.assert_allclose(q, brute.forward(p, cmdp.initial, pi), atol=1e-13)


@MANY
@given(st.data())
def test_the_policy_of_an_occupancy_is_the_one_that_made_it(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))
    q = occupied(writable_problem(cmdp).kernels, cmdp.initial, pi)
    choice = np.full(q.shape[:2], cmdp.n_actions - 1, dtype=np.int16)

    again = policy_from(q, choice)

    reached = q.sum(axis=2) > 0
    np.testing.assert_allclose(again[reached], pi[reached], atol=1e-12)
    assert (again[~reached] == np.eye(cmdp.n_actions)[-1]).all()
    np.testing.assert_allclose(again.sum(axis=2), 1.0, atol=1e-14)


@MANY
@given(st.data(), st.integers(2, 4))
def test_the_policy_of_an_average_occupancy_has_the_averaged_values(data, n):
    cmdp = data.draw(models(1, 3))
    mixed = [data.draw(policies(cmdp)) for _ in range(n)]
    weights = np.random.default_rng(n).dirichlet(np.ones(n))
    q = sum(
        w * occupied(writable_problem(cmdp).kernels, cmdp.initial, pi)
        for w, pi in zip(weights, mixed, strict=True)
    )

    one = policy_from(q)

    averaged = weights @ np.array([brute.values(cmdp, pi) for pi in mixed])
    np.testing.assert_allclose(brute.values(cmdp, one), averaged, atol=1e-12)


@MANY
@given(models(0, 3), st.integers(0, 99))
def test_a_forward_pass_gathers_cost_and_constraint_values(cmdp, seed):
    H, S, A = cmdp.cost.shape
    rng, problem = np.random.default_rng(seed), writable_problem(cmdp)
    choice = rng.random((H, S, A)) * cmdp.allowed
    choice = choice.argmax(axis=2).astype(np.int16)
    point = np.full(cmdp.n_constraints + 1, np.nan)
    orders = np.zeros((1, 1), dtype=desk(1).rank.dtype)

    gather(problem, choice, orders, np.empty((max(H, 2), S)), point, desk(S))

    expected = brute.values(cmdp, np.eye(A)[choice])
    np.testing.assert_allclose(point, expected, atol=1e-12)
    q, flow = np.zeros((H, S, A)), np.zeros((H, 0))
    for weight in (0.25, 0.75):
        follow(
            problem.kernels,
            problem.initial,
            choice,
            orders,
            weight,
            q,
            flow,
            np.empty((2, S)),
            desk(S),
        )
    np.testing.assert_allclose((q * cmdp.cost).sum(), expected[0], atol=1e-12)


@SOME
@given(boxes(0, 2))
def test_over_a_box_forward_passes_reproduce_the_value(boxed):
    """Policy and kernel of extended value iteration, by occupancy."""
    cmdp, loss = boxed.cmdp, np.ascontiguousarray(boxed.cost)
    H, S, A = loss.shape
    box = box_between(cmdp, boxed.lower, boxed.upper)
    V, choice, orders = response(box, loss, H)
    point, reach = np.empty(cmdp.n_constraints + 1), np.empty((max(H, 2), S))

    gather(
        writable_problem(cmdp)._replace(kernels=box, cost=loss),
        choice,
        orders,
        reach,
        point,
        desk(S),
    )
    q, flow = followed(box, cmdp.initial, choice, orders, A)
    p, lower, upper = kernel(box, q, flow, orders)

    value = cmdp.initial @ V[0]
    assert point[0] == pytest.approx(value, abs=1e-12)
    assert (q * loss).sum() == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(
        (q * cmdp.constraint_cost).sum(axis=(1, 2, 3)), point[1:], atol=1e-12
    )
    forward = brute.forward(p, cmdp.initial, np.eye(A)[choice])
    np.testing.assert_allclose(forward, q, atol=1e-12)
    assert ((p >= lower - 1e-15) & (p <= upper + 1e-15)).all()


@MANY
@given(boxes(0, 0), st.sampled_from([0.0, 1e-12, 1e-6, 0.3]), st.integers(0, 2**32 - 1))
def test_kernels_of_noisy_flows_stay_inside_the_box(boxed, noise, seed):
    cmdp, loss = boxed.cmdp, np.ascontiguousarray(boxed.cost)
    H, S, A = loss.shape
    rng = np.random.default_rng(seed)
    box = box_between(cmdp, boxed.lower, boxed.upper)
    q, flow = np.zeros((H, S, A)), np.zeros((H, box.indices.shape[1]))
    for weight in (0.3, 0.7):
        _, choice, orders = response(box, rng.random(loss.shape), H)
        part = followed(box, cmdp.initial, choice, orders, A, weight)
        q, flow = q + part[0], flow + part[1]
    flow += noise * rng.normal(size=flow.shape)
    q = np.maximum(q + noise * rng.normal(size=q.shape), 0)

    p, lower, upper = kernel(box, q, flow, orders)

    assert ((p >= lower - 1e-15) & (p <= upper + 1e-15)).all()
    np.testing.assert_allclose(p.sum(axis=3), 1.0, atol=1e-13)


def test_unreached_pairs_get_the_row_of_the_orders():
    """By hand: the box is the simplex, the order 2, 0, 1, so that every row sends all mass to 2."""
    one = np.ones((3, 2, 3))
    cmdp = CMDP(one / 3, np.zeros((3, 2)), horizon=2)
    box = box_between(cmdp, 0 * one, one)
    q, flow = np.zeros((2, 3, 2)), np.zeros((2, 18))
    q[0, 0, 0], flow[0, :3] = 1.0, [0.5, 0.5, 0.0]
    orders = np.tile(np.array([2, 0, 1], dtype=desk(3).rank.dtype), (2, 1))

    p, _, _ = kernel(box, q, flow, orders)

    assert p[0, 0, 0].tolist() == [0.5, 0.5, 0.0]
    rest = p.reshape(-1, 3)[1:]
    assert rest.tolist() == [[0.0, 0.0, 1.0]] * 11


@SOME
@given(st.data())
def test_occupancy_agrees_with_backward_values_of_the_same_kernel(data):
    cmdp = data.draw(models(0, 0))
    pi = data.draw(policies(cmdp))
    S = cmdp.n_states
    V, work = np.empty((cmdp.horizon + 1, S)), desk(S)
    order = np.zeros(S, dtype=work.rank.dtype)

    evaluate(writable_problem(cmdp).kernels, writable_problem(cmdp).cost, pi, 1.0, V, order, work)
    q = occupied(writable_problem(cmdp).kernels, cmdp.initial, pi)

    for h in range(cmdp.horizon):
        # what is still to be paid from stage h on, by states reached and by occupancy
        to_come = (q[h:] * cmdp.cost[h:]).sum()
        assert q[h].sum(axis=1) @ V[h] == pytest.approx(to_come, abs=1e-12)
