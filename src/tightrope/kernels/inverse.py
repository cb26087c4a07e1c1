"""The kept inverse of the basis of the small simplex (`kernels/pivot`), and its factors.

With many rows the inverse is kept from one call to the next, and each pivot updates it, weights
and duals by one rank::

    B'^-1 = B^-1 - (d - e_r) (row r of B^-1) / d_r,      d = B^-1 (entering column)

Weights and duals are computed from the inverse and corrected by their residuals before a basis is
called optimal. The inverse is computed anew after a number of pivots, or if residuals are large.
The columns that enter come from a list of those that would improve when all were last looked at;
all are looked at again when the list has no more of them.
"""

from __future__ import annotations

from typing import NamedTuple

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compact, compiled
from tightrope.kernels.scratch import copy, inner

ROUNDING = 1e-14  # a reduced cost this small next to its terms is noise
INACCURATE = 1e-9  # a residual this large means that the inverse has to be computed anew


class Updated(NamedTuple):
    """Many rows: the inverse of the basis is updated at every pivot."""

    factor: Floats  # (I+1, I+1) scratch
    inverse: Floats  # (I+1, I+1) transposed inverse of the basis
    scaled: Floats  # (I+2, N) points, divided by the scale of the rows, and reduced costs
    listed: Ints  # (N,) columns to look at first
    n_listed: Ints  # (1,)


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
def invert(matrix: Floats, factor: Floats, swaps: Ints, inverse: Floats) -> bool:
    """Transposed inverse of a matrix; False when it is singular."""
    if not factorize(matrix, factor, swaps):
        return False
    for k in range(len(matrix)):
        inverse[k] = 0.0
        inverse[k, k] = 1.0
        back_solve(factor, swaps, inverse[k])
    return True


@compiled
def multiply(inverse: Floats, right: Floats, out: Floats) -> None:
    """Add ``B^-1 right``."""
    for k in range(right.size):
        if right[k] != 0.0:
            for r in range(out.size):
                out[r] += right[k] * inverse[k, r]


@compiled
def solve_by_inverse(
    matrix: Floats,
    inverse: Floats,
    rhs: Floats,
    costs: Floats,
    weights: Floats,
    duals: Floats,
    residual: Floats,
) -> bool:
    """Weights and duals, each corrected by its residual; False when those were large."""
    size = rhs.size
    most = 0.0
    weights[:] = 0.0
    multiply(inverse, rhs, weights)
    for r in range(size):
        residual[r] = rhs[r] - inner(matrix[r], weights)
        most = max(most, abs(residual[r]))
    multiply(inverse, residual, weights)
    largest = 0.0
    for r in range(size):
        residual[r] = costs[r]
        largest = max(largest, abs(costs[r]))
        duals[r] = inner(inverse[r], costs)
    for r in range(size):
        for c in range(size):
            residual[c] -= matrix[r, c] * duals[r]
    for r in range(size):
        most = max(most, abs(residual[r]) / largest if largest > 0.0 else 0.0)
    for k in range(size):
        duals[k] += inner(inverse[k], residual)
    return most <= INACCURATE


@compiled
def reduce_costs(scaled: Floats, duals: Floats, weight: float, n_columns: int, out: Floats) -> None:
    """Reduced costs of the columns, all at once."""
    I = duals.size - 1
    for j in range(n_columns):
        out[j] = weight * scaled[0, j] - duals[I]
    together = I - I % 4
    for i in range(0, together, 4):  # four rows at once write the sums once
        w, x, y, z = duals[i], duals[i + 1], duals[i + 2], duals[i + 3]
        for j in range(n_columns):
            out[j] -= (w * scaled[1 + i, j] + x * scaled[2 + i, j]) + (
                y * scaled[3 + i, j] + z * scaled[4 + i, j]
            )
    for i in range(together, I):
        for j in range(n_columns):
            out[j] -= duals[i] * scaled[1 + i, j]


@compiled
def update(
    inverse: Floats, weights: Floats, duals: Floats, direction: Floats, row: int, reduced: float
) -> None:
    """Inverse, weights and duals after a variable of that reduced cost enters in a row."""
    step = weights[row] / direction[row]
    for r in range(weights.size):
        weights[r] -= step * direction[r]
    weights[row] = step
    for k in range(weights.size):
        share = inverse[k, row] / direction[row]
        if share != 0.0:
            duals[k] += reduced * share
            for r in range(weights.size):
                inverse[k, r] -= share * direction[r]
        inverse[k, row] = share


@compiled
def entering_column(
    solver: Updated,
    duals: Floats,
    basis: Ints,
    basic: float,
    weight: float,
    n_columns: int,
    by_index: bool,
) -> int:
    """Column with the most negative reduced cost beyond rounding, or the first; -1 if none.

    The others with a negative one are listed.
    """
    I = duals.size - 1
    scaled, listed = solver.scaled, solver.listed
    reduced = scaled[I + 1]
    reduce_costs(scaled, duals, weight, n_columns, reduced)
    for r in range(I + 1):
        if basis[r] < reduced.size:
            reduced[basis[r]] = 0.0  # not rounding
    while True:
        chosen = -1
        best = 0.0
        n = 0
        for j in range(n_columns):
            if reduced[j] < 0.0:
                listed[n] = j
                n += 1
                if reduced[j] < best:
                    chosen = j
                    best = reduced[j]
                    if by_index:
                        break
        solver.n_listed[0] = n
        if chosen < 0 or is_negative(scaled, duals, chosen, best, basic, weight):
            return chosen
        reduced[chosen] = 0.0


@compiled
def is_negative(
    scaled: Floats, duals: Floats, j: int, reduced: float, basic: float, weight: float
) -> bool:
    """Whether a reduced cost of a column is negative beyond rounding."""
    I = duals.size - 1
    size = abs(reduced) + abs(weight * scaled[0, j]) + basic + abs(duals[I])
    for i in range(I):
        size += abs(duals[i] * scaled[1 + i, j])
    return bool(reduced < -ROUNDING * size)


@compiled
def entering_listed(
    solver: Updated,
    points: Floats,
    scale: Floats,
    duals: Floats,
    basis: Ints,
    basic: float,
    weight: float,
    priced: Floats,
) -> int:
    """Listed column with the most negative reduced cost; -1 if none is beyond rounding.

    Columns that do not improve leave the list. ``priced`` (I+1,) is scratch.
    """
    I = duals.size - 1
    scaled, listed = solver.scaled, solver.listed
    for i in range(I):
        priced[i] = duals[i] / scale[i]
    chosen = -1
    best = 0.0
    n = 0
    for k in range(solver.n_listed[0]):
        j = listed[k]
        reduced = weight * points[j, 0] - duals[I] - inner(priced[:I], points[j, 1:])
        for r in range(I + 1 if reduced < 0.0 else 0):
            if basis[r] == j:
                reduced = 0.0
        if reduced < 0.0:
            listed[n] = j
            n += 1
            if reduced < best:
                chosen = j
                best = reduced
    solver.n_listed[0] = n
    if chosen >= 0 and not is_negative(scaled, duals, chosen, best, basic, weight):
        return -1
    scaled[I + 1, max(chosen, 0)] = best
    return chosen
