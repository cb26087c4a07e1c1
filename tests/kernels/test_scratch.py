"""Orders of states against NumPy's stable sort, and copies with the layout kernels need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draws import MANY
from tightrope.kernels.scratch import copy, desk, place_states, repeated, sort_row, sort_states

values = st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=90)


@MANY
@given(values, st.sampled_from([1.0, -1.0]))
def test_states_are_sorted_as_numpy_sorts_them_stably(values, sign):
    V, work = np.array(values), desk(len(values))
    order = np.zeros(V.size, dtype=work.rank.dtype)

    sort_states(V, sign, order, work.rank, work.buffer)

    np.testing.assert_array_equal(order, np.argsort(sign * V, kind="stable"))
    np.testing.assert_array_equal(work.rank[order], np.arange(V.size))


@pytest.mark.parametrize("S", [1, 7, 8, 9, 16, 17, 63, 64, 65, 257])
def test_distinct_values_of_any_number_are_sorted(S):
    rng = np.random.default_rng(S)
    V, work = rng.random(S), desk(S)
    order = np.zeros(S, dtype=work.rank.dtype)

    sort_states(V, 1.0, order, work.rank, work.buffer)

    np.testing.assert_array_equal(V[order], np.sort(V))


def test_places_are_the_inverse_of_an_order():
    rng = np.random.default_rng(0)
    work = desk(12)
    order = rng.permutation(12).astype(work.rank.dtype)

    place_states(order, work.rank)

    np.testing.assert_array_equal(work.rank[order], np.arange(12))


def test_entries_of_a_row_follow_the_places_of_their_states():
    work = desk(6)
    place_states(np.array([5, 3, 0, 1, 4, 2], dtype=work.rank.dtype), work.rank)
    indices = np.array([9, 9, 0, 2, 3, 5], dtype=np.uint32)  # the row is entries 2 to 5

    sort_row(indices, 2, 6, work.rank, work.few)

    assert work.few[:4].tolist() == [5, 4, 2, 3]


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
