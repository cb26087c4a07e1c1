"""Compiled functions called by address find the values of a block, whatever their types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tightrope.arrays import new_record
from tightrope.kernels.calls import NO_CALL, Block, Call, invoke, unpack
from tightrope.kernels.compiled import compiled


class Inner(NamedTuple):
    matrix: Any
    note: Any


class Outer(NamedTuple):
    inner: Inner
    share: float
    is_on: bool
    column: Any


@compiled
def mix(block: Any) -> int:
    """Add the matrix, its transpose and a column to sums; count in a record."""
    outer, transposed, sums, shift, rng, nothing = unpack(block)
    n = 0
    for r in range(outer.inner.matrix.shape[0]):
        for c in range(outer.inner.matrix.shape[1]):
            sums[r] += outer.inner.matrix[r, c] + 10 * transposed[c, r]
            n += 1
        sums[r] += outer.share * outer.column[r]
    if outer.is_on and nothing is None:
        outer.inner.note.count += n
        outer.inner.note.drawn = rng.random()
    return n + int(shift)


@compiled
def grow(block: Any) -> int:
    total, step = unpack(block)
    total[0] += step
    return int(total[0])


@compiled
def repeat(call: Call, n: int) -> int:
    """Call so often, and return the sum of what the calls return."""
    total = 0
    for _ in range(n):
        total += invoke(call)
    return total


def new_outer(is_on: bool) -> Outer:
    matrix = np.arange(6, dtype=np.int16).reshape(2, 3)
    note = new_record((("count", "i8"), ("drawn", "f8")))
    # a column of a larger array, from its end: not contiguous, negative stride
    column = np.arange(12.0).reshape(4, 3)[::-2, 1]
    return Outer(Inner(matrix, note), 0.5, is_on, column)


@pytest.mark.parametrize("is_on", [True, False])
def test_a_block_holds_arrays_records_generators_numbers_and_tuples_of_them(is_on: bool) -> None:
    outer, sums = new_outer(is_on), np.zeros(2)
    block = Block(
        outer, outer.inner.matrix.astype(float).T, sums, -7, np.random.default_rng(5), None
    )
    assert mix(block) == 6 - 7
    matrix = outer.inner.matrix
    assert sums.tolist() == (11.0 * matrix.sum(axis=1) + 0.5 * outer.column).tolist()
    assert outer.inner.note.count == (6 if is_on else 0)
    assert outer.inner.note.drawn == (np.random.default_rng(5).random() if is_on else 0.0)


def test_one_compiled_caller_calls_functions_of_other_types_by_address() -> None:
    whole, real = np.zeros(1, dtype=np.int64), np.zeros(1)
    blocks = Block(whole, 3), Block(real, 0.5)
    calls = [block.call(grow) for block in blocks]
    assert calls[0][0] != calls[1][0]
    assert [repeat(call, 4) for call in calls] == [3 + 6 + 9 + 12, 0 + 1 + 1 + 2]
    assert (whole[0], real[0]) == (12, 2.0)
    assert len(repeat.overloads) == 1


def test_a_call_from_python_and_one_by_address_do_the_same() -> None:
    total = np.zeros(1)
    block = Block(total, 1.25)
    assert grow(block) == 1
    assert repeat(block.call(grow), 1) == 2
    assert total[0] == 2.5


def test_no_call_differs_from_a_call() -> None:
    assert NO_CALL[0] == 0
    assert Block(np.zeros(1), 1.0).call(grow)[0] != 0


def test_a_value_that_compiled_code_cannot_find_is_refused() -> None:
    with pytest.raises(TypeError, match="unicode"):
        Block(np.zeros(1), "words")
