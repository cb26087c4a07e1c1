"""One row of a kernel or of a set of kernels: what it expects, and where it sends mass.

The recursions are written once, over four kinds of rows: a known kernel (`Transitions`), an
estimated one with mass spread evenly (`Empirical`), a box (`Box`) and an L1 ball (`L1Ball`). Over a
set, the row is the member that is best for the values at hand, with one sort of the states per
stage for all pairs. The record's class picks the functions when a recursion is compiled.

``sign`` is +1 for the member that helps and -1 for the one that hurts; a fixed kernel ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Box, Empirical, Floats, Ints, L1Ball, Transitions
from tightrope.kernels.compiled import INLINED
from tightrope.kernels.scratch import Desk
from tightrope.kernels.set_rows import (
    BallStage,
    BoxStage,
    ball_arrange,
    ball_expect,
    ball_spread,
    box_arrange,
    box_expect,
    box_settle,
    box_spread,
    set_place,
)


class KnownStage(NamedTuple):
    """One stage of `Transitions`; stages are taken out of the loops over states."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    data: Floats  # (E,)


class EmpiricalStage(NamedTuple):
    """One stage of `Empirical`."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    data: Floats  # (E,)
    even: Floats  # (S*A,)


def known_expect(at: KnownStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` over the listed successors of a row."""
    expected = 0.0
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)  # a signed index costs a branch: it might count from the end
        expected += at.data[k] * V[at.indices[k]]
    return expected


def known_spread(
    at: KnownStage, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times the listed part of a row to ``reach`` and ``flow``."""
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]
    if flow.size > 0:
        for e in range(at.indptr[row], at.indptr[row + 1]):
            flow[e] += mass * at.data[e]


def empirical_arrange(at: EmpiricalStage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """The mean of the values, which evenly spread mass expects."""
    total = 0.0
    for s in range(V.size):
        total += V[s]
    work.prefix[0] = total / V.size


def empirical_expect(at: EmpiricalStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` after a row of an estimated kernel."""
    expected = float(at.even[row] * work.prefix[0])
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        expected += at.data[k] * V[at.indices[k]]
    return expected


def empirical_spread(
    at: EmpiricalStage, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach``; the even part waits for `empirical_settle`."""
    work.steps[0] += mass * at.even[row]
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]


def empirical_settle(at: EmpiricalStage, order: Ints, work: Desk, reach: Floats) -> None:
    """Add the evenly spread mass of a stage."""
    share = work.steps[0] / reach.size
    work.steps[0] = 0.0
    if share > 0.0:
        for s in range(reach.size):
            reach[s] += share


Kernels = Transitions | Empirical | Box | L1Ball
Stage = KnownStage | EmpiricalStage | BoxStage | BallStage


def stage(kernels: Kernels, g: int) -> Any:
    """Stage ``g`` of a kernel or of a set of kernels."""
    return STAGE_OF[type(kernels)](kernels, g)


def arrange(at: Stage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Make a stage ready to expect ``V``; writes the order in which rows are filled."""
    FUNCTIONS[type(at)].arrange(at, V, sign, order, work)


def expect(at: Stage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected value of ``V`` after a row, on a stage made ready by `arrange`."""
    return FUNCTIONS[type(at)].expect(at, row, order, work, V)


def place(at: Stage, order: Ints, work: Desk) -> None:
    """Make a stage ready to spread mass, from an order that `arrange` wrote."""
    FUNCTIONS[type(at)].place(at, order, work)


def spread(
    at: Stage, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach`` (by state) and, unless empty, ``flow`` (by entry).

    Part of it may wait until `settle`. Only known kernels and boxes have a flow.
    """
    FUNCTIONS[type(at)].spread(at, row, order, work, mass, reach, flow)


def settle(at: Stage, order: Ints, work: Desk, reach: Floats) -> None:
    """Finish the spreading of a stage."""
    FUNCTIONS[type(at)].settle(at, order, work, reach)


def _nothing_to_arrange(at: Stage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    pass


def _nothing_to_place(at: Stage, order: Ints, work: Desk) -> None:
    pass


def _nothing_to_settle(at: Stage, order: Ints, work: Desk, reach: Floats) -> None:
    pass


class Functions(NamedTuple):
    """What the recursions call, for one kind of rows."""

    arrange: Callable[..., None]
    expect: Callable[..., float]
    place: Callable[..., None]
    spread: Callable[..., None]
    settle: Callable[..., None]


FUNCTIONS = {
    KnownStage: Functions(
        _nothing_to_arrange, known_expect, _nothing_to_place, known_spread, _nothing_to_settle
    ),
    EmpiricalStage: Functions(
        empirical_arrange, empirical_expect, _nothing_to_place, empirical_spread, empirical_settle
    ),
    BoxStage: Functions(box_arrange, box_expect, set_place, box_spread, box_settle),
    BallStage: Functions(ball_arrange, ball_expect, set_place, ball_spread, _nothing_to_settle),
}
STAGE_OF: dict[type, Callable[..., Any]] = {
    Transitions: lambda kernels, g: KnownStage(
        kernels.indptr[g], kernels.indices[g], kernels.data[g]
    ),
    Empirical: lambda kernels, g: EmpiricalStage(
        kernels.indptr[g], kernels.indices[g], kernels.data[g], kernels.even[g]
    ),
    Box: lambda kernels, g: BoxStage(
        kernels.indptr[g], kernels.indices[g], kernels.lower[g], kernels.upper[g], kernels.rest[g]
    ),
    L1Ball: lambda kernels, g: BallStage(
        kernels.indptr[g],
        kernels.indices[g],
        kernels.centre[g],
        kernels.radius[g],
        kernels.lower[g],
        kernels.upper[g],
        kernels.rest[g],
    ),
}


def _in_compiled_code(function: Callable[..., Any], choose: Callable[..., Any]) -> None:
    """Let compiled code call a function; the record's class picks the body when compiling."""
    overload(function, jit_options=INLINED, strict=False)(choose)


_in_compiled_code(stage, lambda kernels, g: STAGE_OF[kernels.instance_class])
_in_compiled_code(arrange, lambda at, V, sign, order, work: FUNCTIONS[at.instance_class].arrange)
_in_compiled_code(expect, lambda at, row, order, work, V: FUNCTIONS[at.instance_class].expect)
_in_compiled_code(place, lambda at, order, work: FUNCTIONS[at.instance_class].place)
_in_compiled_code(
    spread, lambda at, row, order, work, mass, reach, flow: FUNCTIONS[at.instance_class].spread
)
_in_compiled_code(settle, lambda at, order, work, reach: FUNCTIONS[at.instance_class].settle)
