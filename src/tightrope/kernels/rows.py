"""One row of a kernel or of a set of kernels: what it expects, and where it sends mass.

The recursions are written once, over four kinds of rows: a known kernel (`Transitions`), an
estimated one with mass spread evenly (`Empirical`), a box (`Box`) and an L1 ball (`L1Ball`). Over a
set, the row is the member that is best for the given values, with one sort of the states per
stage for all pairs. The record's class picks the functions when a recursion is compiled.

``sign`` is +1 for the member that helps and -1 for the one that hurts; a fixed kernel ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import (
    AnyKernels,
    Box,
    Empirical,
    Floats,
    Ints,
    L1Ball,
    Large,
    Stationary,
    StationaryBox,
    Transitions,
)
from tightrope.kernels.compiled import INLINED
from tightrope.kernels.scratch import Desk
from tightrope.kernels.set_rows import (
    ball_arrange,
    ball_expect,
    ball_spread,
    box_arrange,
    box_expect,
    box_settle,
    box_spread,
    set_place,
)

Kernels = AnyKernels


def known_expect(at: Transitions, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` over the listed successors of a row."""
    expected = 0.0
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)  # a signed index costs a branch: it might count from the end
        expected += at.data[k] * V[at.indices[k]]
    return expected


def known_spread(
    at: Transitions, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times the listed part of a row to ``reach`` and ``flow``."""
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]
    if flow.size > 0:
        for e in range(at.indptr[row], at.indptr[row + 1]):
            flow[e] += mass * at.data[e]


def box_list(at: Box, row: int, order: Ints, work: Desk, reach: Floats, flow: Floats) -> None:
    """Write the masses of the entries of a row to ``flow``."""
    for e in range(at.indptr[row], at.indptr[row + 1]):
        flow[np.uint64(e)] = 0.0
    spread(at, row, order, work, 1.0, reach, flow)


def empirical_arrange(at: Empirical, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """The mean of the values, which evenly spread mass expects."""
    total = 0.0
    for s in range(V.size):
        total += V[s]
    work.prefix[0] = total / V.size


def empirical_expect(at: Empirical, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` after a row of an estimated kernel."""
    expected = float(at.even[row] * work.prefix[0])
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        expected += at.data[k] * V[at.indices[k]]
    return expected


def empirical_spread(
    at: Empirical, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach``; the even part waits for `empirical_settle`."""
    work.steps[0] += mass * at.even[row]
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]


def empirical_settle(at: Empirical, order: Ints, work: Desk, reach: Floats) -> None:
    """Add the evenly spread mass of a stage."""
    share = work.steps[0] / reach.size
    work.steps[0] = 0.0
    if share > 0.0:
        for s in range(reach.size):
            reach[s] += share


def stage(kernels: Kernels, g: int) -> Any:
    """Stage ``g`` of a kernel or of a set of kernels: the same record without the axis of stages.

    Stages are taken out of the loops over states.
    """
    return STAGE_OF[type(kernels)](kernels, g)


def arrange(at: Kernels, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Make a stage ready to expect ``V``; writes the order in which rows are filled."""
    FUNCTIONS[type(at)].arrange(at, V, sign, order, work)


def expect(at: Kernels, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected value of ``V`` after a row, on a stage made ready by `arrange`."""
    return FUNCTIONS[type(at)].expect(at, row, order, work, V)


def place(at: Kernels, order: Ints, work: Desk) -> None:
    """Make a stage ready to spread mass, from an order that `arrange` wrote."""
    FUNCTIONS[type(at)].place(at, order, work)


def spread(
    at: Kernels, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach`` (by state) and, unless empty, ``flow`` (by entry).

    Part of it may wait until `settle`. Only known kernels and boxes have a flow.
    """
    FUNCTIONS[type(at)].spread(at, row, order, work, mass, reach, flow)


def settle(at: Kernels, order: Ints, work: Desk, reach: Floats) -> None:
    """Finish the spreading of a stage."""
    FUNCTIONS[type(at)].settle(at, order, work, reach)


def lay_out(at: Kernels, row: int, order: Ints, work: Desk, reach: Floats, flow: Floats) -> None:
    """Find the masses of a row's entries, of a known kernel or a box, for `mass_of`.

    Arrays: reach (S,) and flow (E,) are scratch.
    """
    FUNCTIONS[type(at)].lay_out(at, row, order, work, reach, flow)


def mass_of(at: Kernels, entry: Any, flow: Floats) -> float:
    """Mass of an entry of a row that was laid out."""
    return float(FUNCTIONS[type(at)].mass_of(at, entry, flow))


# nothing to do; with the parameters of the function, as compiled code asks
_NO_ARRANGE: Callable[..., None] = lambda at, V, sign, order, work: None  # noqa: E731
_NO_PLACE: Callable[..., None] = lambda at, order, work: None  # noqa: E731
_NO_SETTLE: Callable[..., None] = lambda at, order, work, reach: None  # noqa: E731


class Functions(NamedTuple):
    """What the recursions call, for one kind of rows."""

    arrange: Callable[..., None]
    expect: Callable[..., float]
    place: Callable[..., None]
    spread: Callable[..., None]
    settle: Callable[..., None]
    lay_out: Callable[..., None] = lambda at, row, order, work, reach, flow: None
    mass_of: Callable[..., float] = lambda at, entry, flow: at.data[entry]


FUNCTIONS = {
    Transitions: Functions(_NO_ARRANGE, known_expect, _NO_PLACE, known_spread, _NO_SETTLE),
    Empirical: Functions(
        empirical_arrange, empirical_expect, _NO_PLACE, empirical_spread, empirical_settle
    ),
    Box: Functions(
        *(box_arrange, box_expect, set_place, box_spread, box_settle, box_list),
        lambda at, entry, flow: flow[entry],
    ),
    L1Ball: Functions(ball_arrange, ball_expect, set_place, ball_spread, _NO_SETTLE),
}
STAGE_OF: dict[type, Callable[..., Any]] = {
    Transitions: lambda p, g: Transitions(p.indptr[g], p.indices[g], p.data[g]),
    Large: lambda p, g: Transitions(p.indptr[g], p.indices[g], p.data[g]),
    Empirical: lambda p, g: Empirical(p.indptr[g], p.indices[g], p.data[g], p.even[g]),
    Stationary: lambda p, g: Transitions(p.indptr[g], p.indices[g], p.data[g]),
    StationaryBox: lambda p, g: Box(p.indptr[g], p.indices[g], p.lower[g], p.upper[g], p.rest[g]),
    Box: lambda p, g: Box(p.indptr[g], p.indices[g], p.lower[g], p.upper[g], p.rest[g]),
    L1Ball: lambda p, g: L1Ball(
        p.indptr[g], p.indices[g], p.center[g], p.radius[g], p.lower[g], p.upper[g], p.rest[g]
    ),
}


def _in_compiled_code(function: Callable[..., Any], choose: Callable[..., Any]) -> None:
    """Let compiled code call a function; the record's class picks the body when compiling."""
    overload(function, jit_options=INLINED, strict=False)(choose)


_in_compiled_code(stage, lambda p, g: STAGE_OF[p.instance_class])
IN_ORDER: tuple[Callable[..., Any], ...] = (
    *(arrange, expect, place, spread, settle, lay_out, mass_of),
)
for k, function in enumerate(IN_ORDER):
    _in_compiled_code(function, lambda at, *rest, k=k: FUNCTIONS[at.instance_class][k])
