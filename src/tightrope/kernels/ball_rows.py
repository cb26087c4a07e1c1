"""Rows of L1 balls, inside bounds where there are any: mass moves from the dearest to the cheapest.

A member differs from the centre by moving at most half the radius. The best one moves it from the
successors with the largest values, down to their lower bounds, to those with the least, up to their
upper bounds, until the two meet: exact, because any other move is a worse pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import inlined
from tightrope.kernels.desk import FEW, Desk
from tightrope.kernels.sorting import place_states, sort_row, sort_states


class BallStage(NamedTuple):
    """One stage of an `L1Ball`."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    centre: Floats  # (E,)
    radius: Floats  # (S*A,)
    lower: Floats  # (E,) or (0,)
    upper: Floats  # (E,) or (0,)
    rest: Floats  # (S*A,) or (0,)


def ball_arrange(at: BallStage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Sort the states by value."""
    sort_states(V, sign, order, work.rank, work.buffer)


def ball_place(at: BallStage, order: Ints, work: Desk) -> None:
    """Make a stage ready to spread mass by an earlier order."""
    place_states(order, work.rank)


@inlined
def ball_row(
    at: BallStage,
    row: int,
    order: Ints,
    work: Desk,
    V: Floats,
    mass: float,
    reach: Floats,
    wants_value: bool,
) -> float:
    """The best row of a ball: its expected ``V``, or ``mass`` times it added to ``reach``."""
    S = order.size
    first, last = at.indptr[row], at.indptr[row + 1]
    total = 0.0
    listed = 0.0
    for e in range(first, last):
        j = np.uint64(e)
        listed += at.centre[j]
        if wants_value:
            total += at.centre[j] * V[at.indices[j]]
        else:
            reach[at.indices[j]] += mass * at.centre[j]
        work.spot[at.indices[j]] = e + 1
    n_listed = last - first
    is_short = n_listed <= FEW
    if is_short:
        sort_row(at.indices, first, last, work.rank, work.few)
    if not listed > 0.0:
        if wants_value:
            total += V[order[0]]
        else:
            reach[order[0]] += mass
    movable = 0.5 * at.radius[row] if listed > 0.0 else 0.0
    low = 0  # place of the receiver at hand
    room = -1.0  # what it can still take; negative: not looked at yet
    high = (n_listed if is_short else S) - 1  # the giver at hand, counted among its candidates
    spare = -1.0
    while movable > 0.0 and high >= 0:
        giver = work.few[high] if is_short else work.spot[order[high]] - 1
        if giver < 0:
            high -= 1
            continue
        source = at.indices[giver]
        if low >= work.rank[source]:
            break
        if spare < 0.0:
            spare = at.centre[giver] - (at.lower[giver] if at.lower.size > 0 else 0.0)
        target = order[low]
        if room < 0.0:
            e = work.spot[target] - 1
            if e >= 0:
                room = (at.upper[e] if at.upper.size > 0 else 1.0) - at.centre[e]
            else:
                room = at.rest[row] if at.rest.size > 0 else 1.0
        moved = max(0.0, min(movable, min(spare, room)))
        movable -= moved
        spare -= moved
        room -= moved
        if wants_value:
            total += moved * (V[target] - V[source])
        else:
            reach[target] += mass * moved
            reach[source] -= mass * moved
        if not spare > 0.0:
            high -= 1
            spare = -1.0
        if not room > 0.0:
            low += 1
            room = -1.0
    for e in range(first, last):
        work.spot[at.indices[e]] = 0
    return total


def ball_expect(at: BallStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` under the best kernel of an L1 ball."""
    return ball_row(at, row, order, work, V, 0.0, V, True)


def ball_spread(
    at: BallStage,
    row: int,
    order: Ints,
    work: Desk,
    mass: float,
    reach: Floats,
    flow: Floats,
) -> None:
    """Add ``mass`` times the best row of an L1 ball to ``reach``."""
    ball_row(at, row, order, work, reach, mass, reach, False)
