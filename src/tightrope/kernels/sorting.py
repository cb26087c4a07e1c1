"""Orders of states by value, made without allocation (the library's sorts would allocate)."""

from __future__ import annotations

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled


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
    """Merge two neighbouring sorted runs of ``order`` in place."""
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
