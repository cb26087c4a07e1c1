"""One row of a set of kernels: the greedy member against a linear program over the set.

A recursion over two stages whose second one pays ``v`` of its state returns, at the first stage,
the expectation of ``v`` after every row: one action, so that state s has row s.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
import problems
from draws import MANY
from tightrope.arrays import Box, Transitions
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.occupancy import follow, gather
from tightrope.kernels.rows import expect, place, spread, stage
from tightrope.kernels.scratch import FEW, desk

SIGNS = st.sampled_from([1.0, -1.0])


def csr(listed):
    """Pointers and indices of one stage with a pattern (S, S)."""
    indptr = np.concatenate(([0], np.cumsum(listed.sum(axis=1))))[None]
    return indptr.astype(np.int64), np.nonzero(listed)[1].astype(np.uint32)[None]


def box_of(listed, lower, upper, rest=None):
    indptr, indices = csr(listed)
    cap = np.zeros((1, 0)) if rest is None else rest[None]
    return Box(indptr, indices, lower[listed][None], upper[listed][None], cap)


def paid_at_the_end(v):
    """Costs of two stages, (2, S, 1): nothing, then ``v``."""
    return np.stack((np.zeros(v.size), v))[:, :, None]


def expectations(kernels, v, sign):
    """Best expectation of ``v`` after each row, by one backward pass."""
    S, work = v.size, desk(v.size)
    V, order = np.empty((3, S)), np.zeros(S, dtype=work.rank.dtype)
    evaluate(kernels, paid_at_the_end(v), np.ones((2, S, 1)), sign, V, order, work)
    return V[0]


def forward(kernels, v, sign):
    """The same by forward passes, one for each row."""
    S, work = v.size, desk(v.size)
    orders = np.tile(np.argsort(sign * v, kind="stable").astype(work.rank.dtype), (2, 1))
    choice, totals = np.zeros((2, S), dtype=np.int16), np.empty(S)
    point, none = np.empty(1), np.empty((0, 1, S, 1))
    for s in range(S):
        started = problems.problem(kernels, paid_at_the_end(v), none, np.empty(0), np.eye(S)[s])
        gather(started, choice, orders, np.empty((2, S)), point, work)
        totals[s] = point[0]
    return totals


def random_box(rng, S, n_listed, kind):
    """A pattern with that many successors a row, and dense bounds that hold a distribution."""
    listed = np.zeros((S, S), dtype=np.bool_)
    for row in listed:
        row[rng.permutation(S)[: max(1, n_listed)]] = True
    p = rng.random((S, S)) * listed
    p /= p.sum(axis=1, keepdims=True)
    radius = rng.random((2, S, S)) * {"wide": 0.5, "narrow": 0.02, "point": 0.0, "free": 9.0}[kind]
    radius *= rng.random(radius.shape) < 0.8 if kind != "free" else 1.0
    return listed, np.clip(p - radius[0], 0, 1) * listed, np.clip(p + radius[1], 0, 1) * listed


def values_for(rng, S, is_tied):
    return rng.integers(-1, 2, S).astype(float) if is_tied else rng.normal(size=S)


def check(kernels, lower, upper, v, sign):
    rows = zip(lower, upper, strict=True)
    expected = [brute.best_row(v, lo, up, sign) for lo, up in rows]
    np.testing.assert_allclose(expectations(kernels, v, sign), expected, atol=1e-11)
    np.testing.assert_allclose(forward(kernels, v, sign), expected, atol=1e-11)


@MANY
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from(["wide", "narrow", "point", "free"]),
    st.booleans(),
    SIGNS,
    st.data(),
)
def test_filling_a_row_is_a_linear_program_over_its_box(seed, S, kind, is_tied, sign, data):
    rng = np.random.default_rng(seed)
    n_listed = data.draw(st.integers(1, S))
    listed, lower, upper = random_box(rng, S, n_listed, kind)

    check(box_of(listed, lower, upper), lower, upper, values_for(rng, S, is_tied), sign)


@MANY
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.booleans(), SIGNS, st.data())
def test_unlisted_successors_get_up_to_the_rest(seed, S, is_tied, sign, data):
    rng = np.random.default_rng(seed)
    listed, lower, upper = random_box(rng, S, data.draw(st.integers(1, S)), "wide")
    rest = rng.random(S) * (rng.random(S) < 0.8) * 0.5
    upper = np.where(listed, upper, rest[:, None])

    box = box_of(listed, lower, upper, rest)

    check(box, lower, upper, values_for(rng, S, is_tied), sign)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("has_rest", [False, True], ids=["listed", "rest"])
@pytest.mark.parametrize("n_listed", [1, FEW - 1, FEW, FEW + 1, FEW + 6, FEW + 8])
def test_short_long_and_full_rows_agree_with_the_program(n_listed, has_rest, sign):
    S = FEW + 8
    rng = np.random.default_rng(n_listed)
    listed, lower, upper = random_box(rng, S, n_listed, "wide" if n_listed < 9 else "narrow")
    rest = np.full(S, 0.01) if has_rest else None
    if has_rest:
        upper = np.where(listed, upper, 0.01)
    v = values_for(rng, S, is_tied=True)
    box = box_of(listed, lower, upper, rest)

    found = expectations(box, v, sign)

    some = rng.permutation(S)[:8]
    expected = [brute.best_row(v, lower[s], upper[s], sign) for s in some]
    np.testing.assert_allclose(found[some], expected, atol=1e-11)
    np.testing.assert_allclose(forward(box, v, sign), found, atol=1e-12)


def test_by_hand_the_mass_goes_where_the_value_is_least():
    listed = np.ones((3, 3), dtype=np.bool_)
    lower, upper = np.tile([0.1, 0.2, 0.0], (3, 1)), np.tile([0.5, 0.6, 1.0], (3, 1))
    v = np.array([1.0, 2.0, 3.0])

    best = expectations(box_of(listed, lower, upper), v, 1.0)
    worst = expectations(box_of(listed, lower, upper), v, -1.0)

    # 0.1 and 0.2 are bound; of the other 0.7 the first state takes 0.4 and the second 0.3
    np.testing.assert_allclose(best, 0.5 * 1 + 0.5 * 2, rtol=1e-15)
    np.testing.assert_allclose(worst, 0.1 * 1 + 0.2 * 2 + 0.7 * 3, rtol=1e-15)


@pytest.mark.parametrize(
    "n_listed", [3, FEW, FEW + 1, FEW + 8], ids=["short", "few", "long", "full"]
)
def test_the_row_lies_in_its_box_and_carries_all_the_mass(n_listed):
    S = n_listed if n_listed == 3 else FEW + 8
    rng = np.random.default_rng(S)
    listed, lower, upper = random_box(rng, S, n_listed, "wide" if S == 3 else "narrow")
    box, work = box_of(listed, lower, upper), desk(S)
    order = np.argsort(rng.random(S)).astype(work.rank.dtype)
    choice, orders = np.zeros((2, S), dtype=np.int16), np.stack((order, order))
    for s in range(S):
        q, flow = np.zeros((2, S, 1)), np.zeros((2, listed.sum()))

        follow(box, np.eye(S)[s], choice, orders, 1.0, q, flow, np.empty((2, S)), work)

        own = slice(box.indptr[0, s], box.indptr[0, s + 1])
        row = flow[0, own]
        assert (row >= box.lower[0, own] - 1e-15).all()
        assert (row <= box.upper[0, own] + 1e-15).all()
        assert row.sum() == pytest.approx(1.0, abs=1e-13)
        assert np.delete(flow[0], np.arange(own.start, own.stop)).sum() == 0
        np.testing.assert_allclose(q[1, box.indices[0, own], 0], row, atol=1e-15)


@MANY
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.1, 0.7, 2.0, 3.0]),
    st.booleans(),
    SIGNS,
    st.data(),
)
def test_an_l1_ball_is_a_linear_program_too(seed, S, radius, is_tied, sign, data):
    rng = np.random.default_rng(seed)
    listed, center, _ = random_box(rng, S, data.draw(st.integers(1, S)), "point")
    v, radii = values_for(rng, S, is_tied), radius * rng.random(S)

    found = expectations(problems.ball(*csr(listed), center[listed][None], radii[None]), v, sign)

    rows = zip(center, radii, strict=True)
    expected = [brute.best_in_ball(v, row, r, sign) for row, r in rows]
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n_listed", [1, FEW, FEW + 1, FEW + 8])
def test_short_and_long_rows_of_a_ball_agree_with_the_program(n_listed, sign):
    S = FEW + 8
    rng = np.random.default_rng(n_listed)
    listed, center, _ = random_box(rng, S, n_listed, "point")
    v, radii = values_for(rng, S, is_tied=False), rng.random(S)

    found = expectations(problems.ball(*csr(listed), center[listed][None], radii[None]), v, sign)

    for s in rng.permutation(S)[:6]:
        expected = brute.best_in_ball(v, center[s], radii[s], sign)
        assert found[s] == pytest.approx(expected, abs=1e-11)


def test_by_hand_a_ball_moves_half_its_radius():
    center = np.array([[0.2, 0.5, 0.3]])
    ball = problems.ball(*csr(np.ones((3, 3), bool)), np.tile(center, 3), np.full((1, 3), 0.4))

    best = expectations(ball, np.array([1.0, 2.0, 4.0]), 1.0)
    worst = expectations(ball, np.array([1.0, 2.0, 4.0]), -1.0)

    np.testing.assert_allclose(best, 0.4 * 1 + 0.5 * 2 + 0.1 * 4, rtol=1e-15)
    np.testing.assert_allclose(worst, 0.5 * 2 + 0.5 * 4, rtol=1e-15)


def test_a_known_row_ignores_the_sign():
    rng = np.random.default_rng(3)
    p, v = rng.dirichlet(np.ones(5), size=5), rng.normal(size=5)
    known = Transitions(*csr(p > 0), p[p > 0][None])

    for sign in (1.0, -1.0):
        np.testing.assert_allclose(expectations(known, v, sign), p @ v, rtol=1e-14)


def test_rows_can_be_asked_without_compiled_callers():
    rng = np.random.default_rng(4)
    listed, lower, upper = random_box(rng, 5, 3, "wide")
    v, work = rng.normal(size=5), desk(5)
    at = stage(box_of(listed, lower, upper), 0)
    order = np.argsort(v).astype(work.rank.dtype)
    place(at, order, work)
    reach, flow = np.zeros(5), np.zeros(listed.sum())

    value = expect(at, 2, order, work, v)
    spread(at, 2, order, work, 0.5, reach, flow)

    assert value == pytest.approx(brute.best_row(v, lower[2], upper[2]), abs=1e-11)
    assert reach @ v == pytest.approx(0.5 * value, abs=1e-14)
    assert flow.sum() == pytest.approx(0.5)
