"""One row of a kernel or of a set of kernels: what it expects, and where it sends mass.

The recursions are written once, over four kinds of rows: a known kernel (`Transitions`), an
estimated one (`Empirical`), a box (`Box`) and an L1 ball (`L1Ball`). Over a set, the row is the
member that is best for the values at hand (SPEC A6), with one sort of the states per stage for all
pairs. The record's class picks the functions when a recursion is compiled.

``sign`` is +1 for the member that helps and -1 for the one that hurts; a fixed kernel ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from tightrope.arrays import Box, Empirical, Floats, Ints, L1Ball, Transitions
from tightrope.kernels.ball_rows import (
    BallStage,
    ball_arrange,
    ball_expect,
    ball_place,
    ball_spread,
)
from tightrope.kernels.box_rows import (
    BoxStage,
    box_arrange,
    box_expect,
    box_place,
    box_settle,
    box_spread,
)
from tightrope.kernels.compiled import INLINED
from tightrope.kernels.desk import Desk
from tightrope.kernels.known_rows import (
    EmpiricalStage,
    KnownStage,
    empirical_arrange,
    empirical_expect,
    empirical_settle,
    empirical_spread,
    known_expect,
    known_spread,
)

Kernels = Transitions | Empirical | Box | L1Ball
Stage = KnownStage | EmpiricalStage | BoxStage | BallStage


def stage(kernels: Kernels, g: int) -> Any:
    """Stage ``g`` of a kernel or of a set of kernels."""
    return STAGES[type(kernels)](*(field[g] for field in kernels))


def arrange(at: Stage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """Make a stage ready to expect ``V``; writes the order in which rows are filled."""
    ARRANGE[type(at)](at, V, sign, order, work)


def expect(at: Stage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected value of ``V`` after a row, on a stage made ready by `arrange`."""
    return float(EXPECT[type(at)](at, row, order, work, V))


def place(at: Stage, order: Ints, work: Desk) -> None:
    """Make a stage ready to spread mass, from an order that `arrange` wrote."""
    PLACE[type(at)](at, order, work)


def spread(
    at: Stage, row: int, order: Ints, work: Desk, mass: float, reach: Floats, flow: Floats
) -> None:
    """Add ``mass`` times a row to ``reach`` (by state) and, unless empty, ``flow`` (by entry).

    Part of it may wait until `settle`. Only known kernels and boxes have a flow.
    """
    SPREAD[type(at)](at, row, order, work, mass, reach, flow)


def settle(at: Stage, order: Ints, work: Desk, reach: Floats) -> None:
    """Finish the spreading of a stage."""
    SETTLE[type(at)](at, order, work, reach)


def _nothing_to_arrange(at: Stage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    pass


def _nothing_to_place(at: Stage, order: Ints, work: Desk) -> None:
    pass


def _nothing_to_settle(at: Stage, order: Ints, work: Desk, reach: Floats) -> None:
    pass


Table = dict[type, Callable[..., Any]]
STAGES: Table = {
    Transitions: KnownStage,
    Empirical: EmpiricalStage,
    Box: BoxStage,
    L1Ball: BallStage,
}
ARRANGE: Table = {
    KnownStage: _nothing_to_arrange,
    EmpiricalStage: empirical_arrange,
    BoxStage: box_arrange,
    BallStage: ball_arrange,
}
EXPECT: Table = {
    KnownStage: known_expect,
    EmpiricalStage: empirical_expect,
    BoxStage: box_expect,
    BallStage: ball_expect,
}
PLACE: Table = {
    KnownStage: _nothing_to_place,
    EmpiricalStage: _nothing_to_place,
    BoxStage: box_place,
    BallStage: ball_place,
}
SPREAD: Table = {
    KnownStage: known_spread,
    EmpiricalStage: empirical_spread,
    BoxStage: box_spread,
    BallStage: ball_spread,
}
SETTLE: Table = {
    KnownStage: _nothing_to_settle,
    EmpiricalStage: empirical_settle,
    BoxStage: box_settle,
    BallStage: _nothing_to_settle,
}
STAGE_OF: Table = {
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
_in_compiled_code(arrange, lambda at, V, sign, order, work: ARRANGE[at.instance_class])
_in_compiled_code(expect, lambda at, row, order, work, V: EXPECT[at.instance_class])
_in_compiled_code(place, lambda at, order, work: PLACE[at.instance_class])
_in_compiled_code(spread, lambda at, row, order, work, mass, reach, flow: SPREAD[at.instance_class])
_in_compiled_code(settle, lambda at, order, work, reach: SETTLE[at.instance_class])
