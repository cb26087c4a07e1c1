"""One row of a kernel or of a set of kernels: what it expects, and where it sends mass.

The recursions are written once, over three kinds of rows: a known kernel (`Transitions`), a box
(`Box`) and an L1 ball (`L1Ball`). Over a set, the row is the member that is best for the values at
hand: it gives as much mass as it may to the successors with the least value (SPEC A6). One sort of
the states per stage serves every pair, and the filling of a row stops when its mass is gone.

``sign`` is +1 for the member that helps and -1 for the one that hurts; a known kernel ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Box, Floats, Ints, L1Ball, Transitions
from tightrope.kernels.compiled import inlined
from tightrope.kernels.sorting import place_states, sort_row, sort_states

__all__ = [
    "BallStage",
    "BoxStage",
    "Desk",
    "Kernels",
    "KnownStage",
    "Stage",
    "arrange",
    "desk",
    "expect",
    "place",
    "spread",
    "stage",
]

FEW = 48  # rows up to this length are sorted by insertion, longer ones through a table of states

Kernels = Transitions | Box | L1Ball


class Desk(NamedTuple):
    """Scratch space for filling rows."""

    rank: Ints  # (S,) place of each state in the order
    spot: Ints  # (S,) entry + 1 of a state in the row at hand, else 0
    few: Ints  # (FEW,) entries of a short row in order
    buffer: Ints  # (S,) for the sort


def desk(S: int) -> Desk:
    """Scratch space for S states."""
    return Desk(
        np.zeros(S, dtype=np.uint32),
        np.zeros(S, dtype=np.int64),
        np.zeros(FEW, dtype=np.int64),
        np.zeros(S, dtype=np.uint32),
    )


class KnownStage(NamedTuple):
    """One stage of `Transitions`; stages are taken out of the loops over states."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    data: Floats  # (E,)


class BoxStage(NamedTuple):
    """One stage of a `Box`."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    lower: Floats  # (E,)
    upper: Floats  # (E,)
    rest: Floats  # (S*A,) or (0,)


class BallStage(NamedTuple):
    """One stage of an `L1Ball`."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    centre: Floats  # (E,)
    radius: Floats  # (S*A,)


Stage = KnownStage | BoxStage | BallStage


def stage(kernels: Kernels, g: int) -> Any:
    """Stage ``g`` of a kernel or of a set of kernels."""
    return STAGES[type(kernels)](*(field[g] for field in kernels))


def arrange(at: Stage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Make a stage ready: sort the states by value where rows are to be filled."""
    if not isinstance(at, KnownStage):
        sort_states(V, sign, order, work.rank, work.buffer)


def place(at: Stage, order: Ints, work: Desk) -> None:
    """Make a stage ready from an order that `arrange` made earlier."""
    if not isinstance(at, KnownStage):
        place_states(order, work.rank)


def expect(at: Stage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected value of ``V`` after a row, on a stage made ready by `arrange`."""
    return EXPECT[type(at)](at, row, order, work, V)


def spread(
    at: Stage, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach`` (by state) and, unless empty, ``flow`` (by entry)."""
    SPREAD[type(at)](at, row, order, work, mass, reach, flow)


def known_expect(at: KnownStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` after a row of a known kernel."""
    expected = 0.0
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)  # a signed index costs a branch: it might count from the end
        expected += at.data[k] * V[at.indices[k]]
    return expected


def known_spread(
    at: KnownStage,
    row: int,
    order: Ints,
    work: Desk,
    mass: float,
    reach: Floats,
    flow: Floats,
) -> None:
    """Add ``mass`` times a row of a known kernel to ``reach`` and ``flow``."""
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]
    if flow.size > 0:
        for e in range(at.indptr[row], at.indptr[row + 1]):
            flow[e] += mass * at.data[e]


@inlined
def box_row(
    at: BoxStage,
    row: int,
    order: Ints,
    work: Desk,
    V: Floats,
    mass: float,
    reach: Floats,
    flow: Floats,
    wants_value: bool,
    wants_flow: bool,
) -> float:
    """Fill one row of a box from its lower bounds, in order, until its mass is gone.

    Returns the expected ``V`` if that is wanted; otherwise adds ``mass`` times the row to ``reach``
    (by state) and, if wanted, ``flow`` (by entry). The wishes are constants where this is inlined,
    so that one text serves both directions and neither pays for the other.
    """
    S = order.size
    first, last = at.indptr[row], at.indptr[row + 1]
    rest = at.rest[row] if at.rest.size > 0 else 0.0
    free = 1.0
    total = 0.0
    for e in range(first, last):
        j = np.uint64(e)  # a signed index costs a branch: it might count from the end
        give = at.lower[j]
        free -= give
        if wants_value:
            total += give * V[at.indices[j]]
        else:
            reach[at.indices[j]] += mass * give
        if wants_flow:
            flow[j] += mass * give
    n_listed = last - first
    is_full = n_listed == S
    is_short = not is_full and n_listed <= FEW
    if is_short:
        sort_row(at.indices, first, last, work.rank, work.few)
    elif not is_full:
        for e in range(first, last):
            work.spot[at.indices[e]] = e + 1
    only_listed = is_short and not rest > 0.0
    listed = 0
    for k in range(n_listed if only_listed else S):
        if not free > 0.0:
            break
        e = -1
        t = order[np.uint64(k)]
        if is_full:
            e = first + t
        elif only_listed:
            e = work.few[k]
            t = at.indices[e]
        elif not is_short:
            e = work.spot[t] - 1
        elif listed < n_listed and at.indices[work.few[listed]] == t:
            e = work.few[listed]
            listed += 1
        give = rest
        if e >= 0:
            give = at.upper[np.uint64(e)] - at.lower[np.uint64(e)]
        give = min(free, give)
        free -= give
        if wants_value:
            total += give * V[t]
        else:
            reach[t] += mass * give
        if wants_flow and e >= 0:
            flow[e] += mass * give
    if not is_full and not is_short:
        for e in range(first, last):
            work.spot[at.indices[e]] = 0
    return total


def ball_expect(at: BallStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` under the best kernel of an L1 ball: mass moves from the last to the first.

    ::

        p(first) = min(1, centre(first) + radius/2);   the same mass leaves the last successors
    """
    first, last = at.indptr[row], at.indptr[row + 1]
    indices, centre = at.indices, at.centre
    target = order[0]
    own = 0.0
    total = 0.0
    for e in range(first, last):
        total += centre[e] * V[indices[e]]
        if indices[e] == target:
            own = centre[e]
    moved = min(0.5 * at.radius[row], 1.0 - own)
    total += moved * V[target]
    is_short = last - first <= FEW
    if is_short:
        sort_row(indices, first, last, work.rank, work.few)
    else:
        for e in range(first, last):
            work.spot[indices[e]] = e + 1
    for back in range(last - first if is_short else order.size):
        if not moved > 0.0:
            break
        e = (
            work.few[last - first - 1 - back]
            if is_short
            else work.spot[order[order.size - 1 - back]] - 1
        )
        if e >= 0:
            take = min(moved, centre[e])
            total -= take * V[indices[e]]
            moved -= take
    if not is_short:
        for e in range(first, last):
            work.spot[indices[e]] = 0
    return float(total)


def box_expect(at: BoxStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` under the best kernel of a box."""
    return box_row(at, row, order, work, V, 0.0, V, V, True, False)


def box_spread(
    at: BoxStage,
    row: int,
    order: Ints,
    work: Desk,
    mass: float,
    reach: Floats,
    flow: Floats,
) -> None:
    """Add ``mass`` times the best row of a box to ``reach`` and ``flow``."""
    if flow.size > 0:
        box_row(at, row, order, work, reach, mass, reach, flow, False, True)
    else:
        box_row(at, row, order, work, reach, mass, reach, flow, False, False)


STAGES: dict[type, type] = {Transitions: KnownStage, Box: BoxStage, L1Ball: BallStage}
EXPECT: dict[type, Callable[..., float]] = {
    KnownStage: known_expect,
    BoxStage: box_expect,
    BallStage: ball_expect,
}
SPREAD: dict[type, Callable[..., None]] = {KnownStage: known_spread, BoxStage: box_spread}


def _in_compiled_code(function: Callable[..., Any], by_record: Callable[..., Any]) -> None:
    """Let compiled code call a function; the record's class picks the body when compiling."""
    overload(function, inline="always", strict=False)(by_record)


def _stage(kernels: Any, g: Any) -> Any:
    if kernels.instance_class is Transitions:
        return lambda kernels, g: KnownStage(kernels.indptr[g], kernels.indices[g], kernels.data[g])
    if kernels.instance_class is Box:
        return lambda kernels, g: BoxStage(
            kernels.indptr[g],
            kernels.indices[g],
            kernels.lower[g],
            kernels.upper[g],
            kernels.rest[g],
        )
    return lambda kernels, g: BallStage(
        kernels.indptr[g], kernels.indices[g], kernels.centre[g], kernels.radius[g]
    )


def _arrange(at: Any, V: Any, sign: Any, order: Any, work: Any) -> Any:
    if at.instance_class is KnownStage:
        return lambda at, V, sign, order, work: None
    return lambda at, V, sign, order, work: sort_states(V, sign, order, work.rank, work.buffer)


def _place(at: Any, order: Any, work: Any) -> Any:
    if at.instance_class is KnownStage:
        return lambda at, order, work: None
    return lambda at, order, work: place_states(order, work.rank)


_in_compiled_code(stage, _stage)
_in_compiled_code(arrange, _arrange)
_in_compiled_code(place, _place)
_in_compiled_code(expect, lambda at, row, order, work, V: EXPECT[at.instance_class])
_in_compiled_code(spread, lambda at, row, order, work, mass, reach, flow: SPREAD[at.instance_class])
