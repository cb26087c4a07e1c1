"""Rows of sets of kernels: boxes, and L1 balls inside bounds where there are any.

The best row of a box starts from the lower bounds and fills successors up to their upper bounds, in
order of value, until the mass is gone; exact, because mass moved to an earlier successor never
costs. Between two listed successors lies a run of unlisted ones that share one bound. Runs are not
walked: running sums of the values give what a run expects, and mass sent along a run waits as two
marks until the stage is settled. A row costs as much as it has entries, however many states there
are.

A member of an L1 ball differs from the center by moving at most half the radius. The best one moves
it from the successors with the largest values, down to their lower bounds, to those with the least,
up to their upper bounds, until the two meet; exact, because any other move is a worse pair.

Here ``at`` is one stage of a set (`rows.stage`).
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Box, Floats, Ints, L1Ball
from tightrope.kernels.compiled import inlined
from tightrope.kernels.scratch import FEW, Desk, place_states, sort_row, sort_states


def box_arrange(at: Box, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Sort the states by value and sum the values in that order."""
    sort_states(V, sign, order, work.rank, work.buffer)
    total = 0.0
    for k in range(V.size):
        work.prefix[k] = total
        total += V[order[k]]
    work.prefix[V.size] = total


def set_place(at: Box | L1Ball, order: Ints, work: Desk) -> None:
    """Make a stage ready to spread mass by an earlier order."""
    place_states(order, work.rank)


def box_settle(at: Box, order: Ints, work: Desk, reach: Floats) -> None:
    """Add the mass that waits along runs."""
    if at.rest.size == 0:
        return
    mass = 0.0
    open_runs = 0
    for k in range(reach.size):
        mass += work.steps[k]
        open_runs += work.runs[k]
        work.steps[k] = 0.0
        work.runs[k] = 0
        if open_runs == 0:
            mass = 0.0  # exactly, whatever rounding left
        else:
            reach[order[k]] += mass
    work.steps[reach.size] = 0.0
    work.runs[reach.size] = 0


@inlined
def n_full(count: int, rest: float, free: float) -> int:
    """Number of states of a run that the free mass fills, at most all of them.

    Compared before the conversion: the quotient of a small ``rest`` exceeds every integer.
    """
    quotient = free / rest
    return count if quotient >= count else int(quotient)


@inlined
def run_value(
    order: Ints, work: Desk, V: Floats, place: int, count: int, rest: float, free: float
) -> float:
    """What the free mass expects along a run of that many states, each taking up to ``rest``."""
    full = n_full(count, rest, free)
    value = rest * float(work.prefix[place + full] - work.prefix[place])
    if full < count:
        value += (free - full * rest) * V[order[place + full]]
    return value


@inlined
def run_mass(
    order: Ints,
    work: Desk,
    reach: Floats,
    place: int,
    count: int,
    rest: float,
    free: float,
    mass: float,
) -> None:
    """Send the free mass along a run; the full part waits for `box_settle`."""
    full = n_full(count, rest, free)
    if full > 0:
        work.steps[place] += mass * rest
        work.steps[place + full] -= mass * rest
        work.runs[place] += 1
        work.runs[place + full] -= 1
    if full < count:
        reach[order[place + full]] += mass * (free - full * rest)


@inlined
def box_row(
    at: Box,
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
    """Fill one row of a box.

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
    place = 0
    for k in range(n_listed + 1 if is_short else S):
        if not free > 0.0:
            break
        e = -1
        t = 0
        if is_short:
            # a run of unlisted states, then the next listed one
            until = S
            if k < n_listed:
                e = work.few[np.uint64(k)]
                t = at.indices[np.uint64(e)]
                until = work.rank[t]
            count = until - place
            if rest > 0.0 and count > 0:
                if wants_value:
                    total += run_value(order, work, V, place, count, rest, free)
                else:
                    run_mass(order, work, reach, place, count, rest, free, mass)
                free -= min(free, count * rest)
            place = until + 1
        else:
            t = order[np.uint64(k)]
            e = first + t if is_full else work.spot[t] - 1
        give = 0.0 if is_short else rest
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


def box_expect(at: Box, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` under the best kernel of a box."""
    return box_row(at, row, order, work, V, 0.0, V, V, True, False)


def box_spread(
    at: Box, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times the best row of a box to ``reach`` and ``flow``."""
    if flow.size > 0:
        box_row(at, row, order, work, reach, mass, reach, flow, False, True)
    else:
        box_row(at, row, order, work, reach, mass, reach, flow, False, False)


def ball_arrange(at: L1Ball, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Sort the states by value."""
    sort_states(V, sign, order, work.rank, work.buffer)


@inlined
def ball_row(
    at: L1Ball,
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
        listed += at.center[j]
        if wants_value:
            total += at.center[j] * V[at.indices[j]]
        else:
            reach[at.indices[j]] += mass * at.center[j]
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
    low = 0  # place of the current receiver
    room = -1.0  # what it can still take; negative: not looked at yet
    high = (n_listed if is_short else S) - 1  # the current giver, counted among its candidates
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
            spare = at.center[giver] - (at.lower[giver] if at.lower.size > 0 else 0.0)
        target = order[low]
        if room < 0.0:
            e = work.spot[target] - 1
            if e >= 0:
                room = (at.upper[e] if at.upper.size > 0 else 1.0) - at.center[e]
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


def ball_expect(at: L1Ball, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` under the best kernel of an L1 ball."""
    return ball_row(at, row, order, work, V, 0.0, V, True)


def ball_spread(
    at: L1Ball, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times the best row of an L1 ball to ``reach``."""
    ball_row(at, row, order, work, reach, mass, reach, False)
