"""The small simplex against scipy, degenerate masters above all, and its factors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from brute import TIGHT
from draws import MANY, SOME
from tightrope.kernels.inverse import back_solve, back_solve_transposed, factorize
from tightrope.kernels.pivot import (
    first_basis,
    master,
    optimize,
    take_point,
    violation,
)


def solved(points, budget, weight, price):
    """The master after its simplex, which gives up on a singular basis and when it goes on."""
    m = master(len(points), budget, np.ones(budget.size), np.ones(budget.size))
    m.points[:] = points
    first_basis(m)
    assert optimize(m, len(points), weight, price)
    return m


def objective(m, weight, price):
    costs = np.concatenate((weight * m.points[:, 0], np.zeros(m.points.shape[1] - 1), [price]))
    return costs[m.basis] @ m.weights


def program(points, budget, weight, price):
    """Optimum of the master by scipy."""
    n, I = len(points), len(budget)
    answer = linprog(
        np.append(weight * points[:, 0], price),
        A_ub=np.hstack((points[:, 1:].T, -np.ones((I, 1)))) if I else None,
        b_ub=budget if I else None,
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        options=TIGHT,
    )
    assert answer.status == 0
    return answer.fun


def random_points(rng, N, I, kind):
    points = rng.random((N, I + 1))
    if kind == "tied":
        points = np.rint(2 * points) / 2
    elif kind == "doubled":
        points = np.concatenate((points, points[rng.permutation(N)[: N // 2]]))
    elif kind == "equal costs":
        points[:, 0] = 0.3
    elif kind == "collinear":
        points[:, 0] = 1 - points[:, 1:].sum(axis=1)
    elif kind == "large":
        points = 1e4 * (points - 0.5)
    return points


KINDS = ["generic", "tied", "doubled", "equal costs", "collinear", "large"]


@MANY
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(0, 9),
    st.sampled_from(KINDS),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([1.0, 1e3]),
    st.sampled_from([-0.5, 0.0, 0.3, 0.8]),
)
def test_the_simplex_finds_the_optimum_of_any_master(seed, N, I, kind, weight, price, level):
    rng = np.random.default_rng(seed)
    points = random_points(rng, N, I, kind)
    # budgets between the least and the greatest value of each row, at or beyond the least
    low, high = points[:, 1:].min(axis=0), points[:, 1:].max(axis=0)
    budget = low + level * (high - low)

    m = solved(points, budget, weight, price)

    size = max(1.0, np.abs(points).max())
    value = objective(m, weight, price)
    assert value == pytest.approx(program(points, budget, weight, price), abs=1e-9 * size * price)
    assert (m.weights >= -1e-9).all()
    # the prices prove it: no column, slack or violation improves, and duality has no gap
    lam, convexity = -m.duals[:-1] / m.scale, m.duals[-1]
    assert (lam >= -1e-9 * price).all()
    assert lam.sum() <= price * (1 + 1e-9)
    reduced = weight * points[:, 0] + points[:, 1:] @ lam - convexity
    assert (reduced >= -1e-9 * size * price).all()
    assert convexity - lam @ budget == pytest.approx(value, abs=1e-9 * size * price)


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(4, 12), st.sampled_from(KINDS))
def test_columns_added_one_by_one_give_the_optimum_each_time(seed, I, kind):
    """The basis and its inverse go on from the last optimum."""
    rng = np.random.default_rng(seed)
    points = random_points(rng, 40, I, kind)
    N = len(points)
    low, high = points[:, 1:].min(axis=0), points[:, 1:].max(axis=0)
    budget = low + 0.4 * (high - low)
    size = max(1.0, np.abs(points).max())
    m = master(N, budget, np.ones(I), np.ones(I))
    m.points[0] = points[0]
    first_basis(m)
    for n in range(1, N + 1):
        m.points[n - 1] = points[n - 1]
        take_point(m, n - 1)
        assert optimize(m, n, 1.0, 10.0)
        if n % 13 == 0:
            expected = program(points[:n], budget, 1.0, 10.0)
            assert objective(m, 1.0, 10.0) == pytest.approx(expected, abs=1e-8 * size)
    assert objective(m, 1.0, 10.0) == pytest.approx(
        program(points, budget, 1.0, 10.0), abs=1e-8 * size
    )
    assert m.updates[0] >= 0


def test_the_weights_of_two_policies_equal_those_computed_by_hand():
    """Costs 1 and 0, spendings 0 and 1, budget 0.25: a quarter of the second, price 1."""
    m = solved(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.25]), 1.0, 1e3)

    weights = dict(zip(m.basis.tolist(), m.weights.tolist(), strict=True))
    assert weights[0] == pytest.approx(0.75, abs=1e-15)
    assert weights[1] == pytest.approx(0.25, abs=1e-15)
    assert -m.duals[0] / m.scale[0] == pytest.approx(1.0, abs=1e-14)
    assert violation(m) == 0.0


def test_by_hand_violation_is_bought_where_nothing_else_helps():
    """Both policies spend at least 0.5 and the budget is 0.2: t = 0.3, whatever that costs."""
    m = solved(np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([0.2]), 1.0, 1e3)

    assert violation(m) == pytest.approx(0.3, abs=1e-15)
    assert objective(m, 1.0, 1e3) == pytest.approx(1.0 + 300.0, abs=1e-11)


def test_equal_columns_do_not_make_rounding_errors_cycle():
    """Policies of one cost: every basis is optimal, and a price of 1e-16 is no reason to move."""
    points = np.array(
        [
            [0.9620306726458793, 1.5, 0.9620306726458793],
            [0.9620306726458793, 0.5379693273541208, 1.9240613452917585],
        ]
    )
    budget = np.array([1.3311086826247043, 1.7274098797946185])

    m = solved(points, budget, 1.0, 1e3)

    assert objective(m, 1.0, 1e3) == pytest.approx(points[0, 0], abs=1e-12)


@pytest.mark.parametrize("seed", [40, 44, 73, 74, 75])
def test_the_simplex_ends_when_all_policies_cost_the_same(seed):
    rng = np.random.default_rng(seed)
    I = int(rng.integers(2, 4))
    points = rng.random((int(rng.integers(2, 5)), I + 1))
    points[:, 0] = points[0, 0]
    budget = rng.dirichlet(np.ones(len(points))) @ points[:, 1:] + 0.1 * rng.random()

    m = solved(points, budget, 1.0, 1e3)

    assert objective(m, 1.0, 1e3) == pytest.approx(points[0, 0], abs=1e-12)


def test_the_first_basis_breaks_no_budget_it_does_not_have_to():
    m = master(3, np.array([1.0, 2.0, 0.5]), np.ones(3), np.ones(3))
    m.points[0] = [9.0, 1.5, 1.0, 2.0]

    first_basis(m)

    # slacks of the first two rows, t in the row that is broken most, the policy itself
    assert m.basis.tolist() == [3, 4, 6, 0]


@MANY
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_triangular_factors_solve_both_ways(seed, n):
    rng = np.random.default_rng(seed)
    matrix, right = rng.normal(size=(n, n)), rng.normal(size=n)
    factor, swaps = np.empty((n, n)), np.empty(n, dtype=np.int64)

    assert factorize(matrix, factor, swaps)

    for solve, original in ((back_solve, matrix), (back_solve_transposed, matrix.T)):
        x = right.copy()
        solve(factor, swaps, x)
        np.testing.assert_allclose(original @ x, right, atol=1e-8)


def test_a_singular_basis_is_noticed():
    matrix = np.array([[1.0, 2.0], [2.0, 4.0]])

    assert not factorize(matrix, np.empty((2, 2)), np.empty(2, dtype=np.int64))
