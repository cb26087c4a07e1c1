"""Triangular factors against NumPy's products, and matrices that have none."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from draws import MANY
from tightrope.kernels.pivot import back_solve, back_solve_transposed, factorize


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
