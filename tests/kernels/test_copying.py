"""Copies: into another array, and to every stage with the layout that kernels are compiled for."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope.kernels.scratch import copy, repeated


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 1, 3)])
def test_a_copy_holds_the_same_values_whatever_the_layouts(shape):
    source = np.asfortranarray(np.arange(float(np.prod(shape))).reshape(shape))
    out = np.zeros(shape)

    copy(source, out)

    np.testing.assert_array_equal(out, source)


@pytest.mark.parametrize("given", [1, 3])
def test_repeated_stages_lie_one_after_the_other(given):
    array = np.arange(given * 4.0).reshape(given, 2, 2)

    wide = repeated(array, 3)

    np.testing.assert_array_equal(wide, np.broadcast_to(array, (3, 2, 2)))
    assert wide.flags.c_contiguous
    assert not np.shares_memory(wide, array)
