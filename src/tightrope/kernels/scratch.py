"""Scratch space, copies, inner products and orders of states, made without allocation.

The library's sorts allocate, and assigning a slice may make a temporary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled, inlined

FEW = 48  # rows up to this length are sorted by insertion, longer ones through a table of states


class Desk(NamedTuple):
    """What filling rows needs, made once."""

    rank: Ints  # (S,) place of each state in the order
    spot: Ints  # (S,) entry + 1 of a state in the current row, else 0
    few: Ints  # (FEW,) entries of a short row in order
    buffer: Ints  # (S,) for the sort
    prefix: Floats  # (S+1,) running sums of the values in order; of an estimate, first their mean
    steps: Floats  # (S+1,) differences of mass still to be added in order; or first all even mass
    runs: Ints  # (S+1,) differences of the number of runs, to know where that mass is exactly zero


def desk(S: int) -> Desk:
    """Scratch space for S states."""
    return Desk(
        rank=np.zeros(S, dtype=np.uint32),
        spot=np.zeros(S, dtype=np.int64),
        few=np.zeros(FEW, dtype=np.int64),
        buffer=np.zeros(S, dtype=np.uint32),
        prefix=np.zeros(S + 1),
        steps=np.zeros(S + 1),
        runs=np.zeros(S + 1, dtype=np.int64),
    )


@compiled
def copy(source: Floats | Ints, out: Floats | Ints) -> None:
    """Copy an array into another of the same shape; assigning a slice might make a temporary."""
    for k in range(source.size):
        out.flat[k] = source.flat[k]


@inlined
def inner(x: Floats, y: Floats) -> float:
    """Inner product, as four sums side by side: one sum waits for itself."""
    a = b = c = d = 0.0
    n = x.size - x.size % 4
    for k in range(0, n, 4):
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        d += x[k + 3] * y[k + 3]
    for k in range(n, x.size):
        a += x[k] * y[k]
    return (a + b) + (c + d)


def repeated(array: Floats | Ints, stages: int) -> Floats | Ints:
    """A copy with that many stages of an array that has as many, or one for all.

    Stage after stage in memory, which copies of broadcast arrays are not unless told: they keep the
    stages of an entry side by side, so that kernels stride through every row, and are compiled for
    that layout beside the usual one.
    """
    return np.repeat(array, stages // len(array), axis=0)


@compiled
def sort_states(V: Floats, sign: float, order: Ints, rank: Ints, buffer: Ints) -> None:
    """Order of the states by ``sign * V``, ties by number, and the place of each state.

    Merge sort from runs of eight; stable, so that equal values always give the same kernel.
    """
    S = V.size
    for s in range(S):
        order[s] = s
    for start in range(0, S, 8):
        for j in range(start + 1, min(start + 8, S)):
            t = order[j]
            key = sign * V[t]
            k = j
            while k > start and sign * V[order[k - 1]] > key:
                order[k] = order[k - 1]
                k -= 1
            order[k] = t
    width = 8
    while width < S:
        for start in range(0, S - width, 2 * width):
            merge_runs(V, sign, order, buffer, start, start + width, min(start + 2 * width, S))
        width *= 2
    place_states(order, rank)


@compiled
def merge_runs(
    V: Floats, sign: float, order: Ints, buffer: Ints, start: int, middle: int, end: int
) -> None:
    """Merge two neighboring sorted runs of ``order`` in place."""
    if sign * V[order[middle - 1]] <= sign * V[order[middle]]:
        return
    for j in range(start, middle):
        buffer[j] = order[j]
    left, right, k = start, middle, start
    while left < middle and right < end:
        if sign * V[buffer[left]] <= sign * V[order[right]]:
            order[k] = buffer[left]
            left += 1
        else:
            order[k] = order[right]
            right += 1
        k += 1
    while left < middle:
        order[k] = buffer[left]
        left += 1
        k += 1


@compiled
def place_states(order: Ints, rank: Ints) -> None:
    """Place of each state in an order."""
    for k in range(order.size):
        rank[order[k]] = k


@compiled
def sort_row(indices: Ints, first: int, last: int, rank: Ints, few: Ints) -> None:
    """Entries of a short row in the order of their states."""
    for e in range(first, last):
        rank_e = rank[indices[e]]
        k = e - first
        while k > 0 and rank[indices[few[k - 1]]] > rank_e:
            few[k] = few[k - 1]
            k -= 1
        few[k] = e
