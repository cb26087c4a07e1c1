"""The small simplex of the columns planner: weights of policies, prices of budgets.

::

    min   sum_j w_j f_j + price * t
    s.t.  sum_j w_j g_ji - unit_i t <= budget_i    for every i      (divided by the row's scale)
          sum_j w_j = 1,   w, t >= 0

Violation t is measured in a unit of each row, so that rows of very different sizes count alike.

It has I+1 rows and is solved by hand in compiled code because calling an LP solver for it costs
more than the dynamic programming it steers. The basis is factorized anew at every pivot and
solutions are refined once. Variables are numbered: column j, then slack i, then t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compact, expanded
from tightrope.kernels.scratch import copy

ROUNDING = 1e-14  # a reduced cost this small next to its terms is noise
LEAST_SCALE = 1e-3  # of a row, relative to its size, however small its budget
PATIENCE = 30  # degenerate pivots before the first-index rule that cannot cycle
MOST_PIVOTS = 10_000  # for each row; no loop of compiled code is without an end


class Master(NamedTuple):
    """State and scratch of the small simplex; N is the room for columns."""

    points: Floats  # (N, I+1) cost and constraint values of each column
    basis: Ints  # (I+1,) basic variables
    weights: Floats  # (I+1,) their values
    duals: Floats  # (I+1,) of the scaled rows, convexity last
    scale: Floats  # (I,) of the rows
    size: Floats  # (I,) largest constraint cost of each row
    unit: Floats  # (I,) of violation in each row
    rhs: Floats  # (I+1,)
    matrix: Floats  # (I+1, I+1) basis
    factor: Floats  # (I+1, I+1) its triangular factors
    swaps: Ints  # (I+1,)
    column: Floats  # (I+1,) the entering column
    direction: Floats  # (I+1,)
    residual: Floats  # (I+1,)


def master(n_columns: int, budget: Floats, size: Floats, unit: Floats) -> Master:
    """Room for a simplex over that many columns.

    ``size`` is the largest constraint cost of each row, ``unit`` its unit of violation, both
    positive.
    """
    m = budget.size + 1
    made = Master(
        points=np.zeros((n_columns, m)),
        basis=np.zeros(m, dtype=np.int64),
        weights=np.zeros(m),
        duals=np.zeros(m),
        scale=np.ones(m - 1),
        size=size.copy(),
        unit=unit.copy(),
        rhs=np.ones(m),
        matrix=np.zeros((m, m)),
        factor=np.zeros((m, m)),
        swaps=np.zeros(m, dtype=np.int64),
        column=np.zeros(m),
        direction=np.zeros(m),
        residual=np.zeros(m),
    )
    set_budget(made, budget)
    return made


@compact
def factorize(matrix: Floats, factor: Floats, swaps: Ints) -> bool:
    """Triangular factors with partial pivoting; False when the matrix is singular."""
    m = matrix.shape[0]
    copy(matrix, factor)
    for k in range(m):
        pivot = k
        for r in range(k + 1, m):
            if abs(factor[r, k]) > abs(factor[pivot, k]):
                pivot = r
        swaps[k] = pivot
        if pivot != k:
            for c in range(m):
                factor[k, c], factor[pivot, c] = factor[pivot, c], factor[k, c]
        if factor[k, k] == 0.0:
            return False
        for r in range(k + 1, m):
            factor[r, k] /= factor[k, k]
            for c in range(k + 1, m):
                factor[r, c] -= factor[r, k] * factor[k, c]
    return True


@compact
def back_solve(factor: Floats, swaps: Ints, x: Floats) -> None:
    """Solve ``B x = x`` in place."""
    m = x.size
    for k in range(m):
        x[k], x[swaps[k]] = x[swaps[k]], x[k]
    for k in range(m):
        for r in range(k + 1, m):
            x[r] -= factor[r, k] * x[k]
    for k in range(m - 1, -1, -1):
        x[k] /= factor[k, k]
        for r in range(k):
            x[r] -= factor[r, k] * x[k]


@compact
def back_solve_transposed(factor: Floats, swaps: Ints, x: Floats) -> None:
    """Solve ``B' x = x`` in place."""
    m = x.size
    for k in range(m):
        for r in range(k):
            x[k] -= factor[r, k] * x[r]
        x[k] /= factor[k, k]
    for k in range(m - 1, -1, -1):
        for r in range(k + 1, m):
            x[k] -= factor[r, k] * x[r]
    for k in range(m - 1, -1, -1):
        x[k], x[swaps[k]] = x[swaps[k]], x[k]


@compact
def set_budget(m: Master, budget: Floats) -> None:
    """Right sides of the rows, each divided by the size of its budget."""
    for i in range(budget.size):
        m.scale[i] = max(abs(budget[i]), LEAST_SCALE * m.size[i])
        m.rhs[i] = budget[i] / m.scale[i]


@compact
def solve_refined(m: Master, transposed: bool, right: Floats, x: Floats) -> None:
    """Solve with the basis (or its transpose) and correct once by the residual."""
    size = x.size
    copy(right, x)
    if transposed:
        back_solve_transposed(m.factor, m.swaps, x)
    else:
        back_solve(m.factor, m.swaps, x)
    for r in range(size):
        total = right[r]
        for c in range(size):
            total -= (m.matrix[c, r] if transposed else m.matrix[r, c]) * x[c]
        m.residual[r] = total
    if transposed:
        back_solve_transposed(m.factor, m.swaps, m.residual)
    else:
        back_solve(m.factor, m.swaps, m.residual)
    for r in range(size):
        x[r] += m.residual[r]


@expanded
def fill_column(m: Master, variable: int, out: Floats) -> None:
    """Coefficients of a variable in the scaled rows."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    out[:] = 0.0
    if variable < N:
        for i in range(I):
            out[i] = m.points[variable, 1 + i] / m.scale[i]
        out[I] = 1.0
    elif variable < N + I:
        out[variable - N] = 1.0
    else:
        for i in range(I):
            out[i] = -m.unit[i] / m.scale[i]


@expanded
def coefficient(m: Master, variable: int, weight: float, price: float) -> float:
    """Objective coefficient of a variable; the cost of a policy counts ``weight`` times."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    if variable < N:
        return weight * float(m.points[variable, 0])
    return price if variable == N + I else 0.0


@compact
def violation(m: Master) -> float:
    """Value of t in the basic solution."""
    t = m.points.shape[0] + m.points.shape[1] - 1
    for r in range(m.basis.size):
        if m.basis[r] == t:
            return float(m.weights[r])
    return 0.0


@compact
def first_basis(m: Master) -> None:
    """Start from column 0 alone: slacks where it keeps a budget, t where it breaks one most."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    worst = -1
    most = 0.0
    for i in range(I):
        m.basis[i] = N + i
        excess = (m.points[0, 1 + i] - m.rhs[i] * m.scale[i]) / m.unit[i]
        if excess > most:
            most = excess
            worst = i
    if worst >= 0:
        m.basis[worst] = N + I
    m.basis[I] = 0


@expanded
def is_basic(m: Master, variable: int) -> bool:
    """Whether a variable is in the basis."""
    found = False
    for r in range(m.basis.size):
        found = found or m.basis[r] == variable
    return found


@expanded
def entering(m: Master, n_columns: int, weight: float, price: float, by_index: bool) -> int:
    """Variable with the most negative reduced cost (or the first with any), -1 when optimal."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    chosen = -1
    best = 0.0
    basic = 0.0  # duals are made of these costs, so their rounding has this size
    for r in range(I + 1):
        basic = max(basic, abs(coefficient(m, m.basis[r], weight, price)))
    for k in range(n_columns + I + 1):
        variable = k if k < n_columns else N + k - n_columns
        if is_basic(m, variable):
            continue
        fill_column(m, variable, m.column)
        reduced = coefficient(m, variable, weight, price)
        size = abs(reduced) + basic
        for r in range(I + 1):
            reduced -= m.duals[r] * m.column[r]
            size += abs(m.duals[r] * m.column[r])
        if reduced < best and reduced < -ROUNDING * size:
            chosen = variable
            best = reduced
            if by_index:
                break
    return chosen


@expanded
def leaving(m: Master, by_index: bool) -> int:
    """Row whose basic variable blocks first; ties by the larger pivot, or the lower index."""
    size = m.basis.size
    largest = 0.0
    for r in range(size):
        largest = max(largest, abs(m.direction[r]))
    least = np.inf
    for r in range(size):
        if m.direction[r] > 1e-11 * largest:
            least = min(least, max(m.weights[r], 0.0) / m.direction[r])
    chosen = -1
    for r in range(size):
        if m.direction[r] > 1e-11 * largest:
            ratio = max(m.weights[r], 0.0) / m.direction[r]
            if ratio <= least + 1e-15 * (1.0 + least) and (
                chosen < 0
                or (by_index and m.basis[r] < m.basis[chosen])
                or (not by_index and m.direction[r] > m.direction[chosen])
            ):
                chosen = r
    return chosen


@expanded
def objective(m: Master, weight: float, price: float) -> float:
    """What the basis costs, from its weights: large prices do not cancel in it."""
    total = 0.0
    for r in range(m.basis.size):
        total += coefficient(m, m.basis[r], weight, price) * m.weights[r]
    return total


@expanded
def gain(m: Master, variable: int, row: int, weight: float, price: float) -> float:
    """What a pivot improves; zero when it is no more than rounding of the objective."""
    reduced = coefficient(m, variable, weight, price)
    for r in range(m.basis.size):
        reduced -= m.duals[r] * m.column[r]
    improved = -reduced * max(m.weights[row], 0.0) / m.direction[row]
    return improved if improved > ROUNDING * abs(objective(m, weight, price)) else 0.0


@compact
def optimize(m: Master, n_columns: int, weight: float, price: float) -> bool:
    """Pivot until no stored column improves; False when a basis failed: singular, or no end.

    It starts from the basis of the master and writes basis, weights and duals. ``weight`` is that
    of the policies' costs (0 leaves the least violation alone), ``price`` that of violation t.
    """
    degenerate = 0
    for _ in range(MOST_PIVOTS * m.basis.size):
        for r in range(m.basis.size):
            fill_column(m, m.basis[r], m.column)
            for k in range(m.basis.size):
                m.matrix[k, r] = m.column[k]
        if not factorize(m.matrix, m.factor, m.swaps):
            return False
        solve_refined(m, False, m.rhs, m.weights)
        for r in range(m.basis.size):
            m.column[r] = coefficient(m, m.basis[r], weight, price)
        solve_refined(m, True, m.column, m.duals)
        by_index = degenerate > PATIENCE
        variable = entering(m, n_columns, weight, price, by_index)
        if variable < 0 or degenerate > 100 * PATIENCE:
            return True
        fill_column(m, variable, m.column)
        solve_refined(m, False, m.column, m.direction)
        row = leaving(m, by_index)
        if row < 0:
            return True
        if gain(m, variable, row, weight, price) > 0.0:
            degenerate = 0
        else:
            degenerate += 1
        m.basis[row] = variable
    return False
