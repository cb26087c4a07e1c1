"""Triangular factors of a small dense matrix, and solves with them (PLANNING 3)."""

from __future__ import annotations

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled
from tightrope.kernels.copying import copy


@compiled
def factorise(matrix: Floats, factor: Floats, swaps: Ints) -> bool:
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


@compiled
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


@compiled
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
