"""Best responses and values of policies, whatever the criterion: episodes, discounted or average.

The record's class picks the recursion when a function is compiled, so that a model of one kind does
not compile the kernels of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from tightrope.arrays import (
    AnyKernels,
    Floats,
    Ints,
    Large,
    Problem,
    Stationary,
    StationaryBox,
    is_lasting,
)
from tightrope.kernels import bellman, large, occupancy, stationary
from tightrope.kernels.chain import Chain, chain
from tightrope.kernels.compiled import CALLEE
from tightrope.kernels.scratch import Desk, desk


def workspace(kernels: AnyKernels, S: int) -> Desk | Chain:
    """Scratch space for the functions below."""
    if not is_lasting(kernels):
        return desk(S)
    n, A = int(kernels.indptr[0, -1]), (kernels.indptr.shape[1] - 1) // S
    states = np.repeat(np.arange(S), np.diff(kernels.indptr[0, ::A]))
    far = np.abs(kernels.indices[0, :n].astype(np.int64) - states)
    return chain(S, kernels.indices.shape[1], int(far.max(initial=0)))


def induct(
    kernels: AnyKernels,
    loss: Floats,
    sign: float,
    V: Floats,
    choice: Ints,
    orders: Ints,
    work: Desk | Chain,
) -> None:
    """Find a best policy: `bellman.induct`, `large.respond` or `stationary.respond`."""
    INDUCT[_regime(type(kernels))](kernels, loss, sign, V, choice, orders, work)


def gather(
    problem: Problem, choice: Ints, orders: Ints, reach: Floats, point: Floats, work: Desk | Chain
) -> None:
    """Evaluate a deterministic policy: `occupancy.gather`, `large.tally` or `stationary.tally`."""
    GATHER[_regime(type(problem.kernels))](problem, choice, orders, reach, point, work)


def follow(
    kernels: Any,
    mu: Floats,
    choice: Ints,
    orders: Ints,
    weight: float,
    q: Floats,
    flow: Floats,
    reach: Floats,
    work: Any,
) -> None:
    """Add occupancy and flow of a policy: `occupancy.follow`, or `stationary.follow`."""
    if is_lasting(kernels):
        stationary.follow(kernels, mu, choice, orders, weight, q, flow, work)
    else:
        occupancy.follow(kernels, mu, choice, orders, weight, q, flow, reach, work)


def allow(work: Desk | Chain, room: float) -> None:
    """Let the next pricing stop where its bounds are that close, if it is iterative."""
    ALLOW[type(work)](work, room)


def is_rough(work: Desk | Chain) -> bool:
    """Whether the last pricing stopped because of that."""
    return bool(IS_ROUGH[type(work)](work))


def set_room(work: Chain, room: float) -> None:
    """`allow` for policy iteration."""
    work.room[0] = room


ALLOW: dict[type, Any] = {Desk: lambda work, room: None, Chain: set_room}
IS_ROUGH: dict[type, Any] = {Desk: lambda work: False, Chain: lambda work: work.room[1] > 0.0}
EPISODES, LARGE, LASTING = range(3)
INDUCT: tuple[Any, ...] = (
    lambda kernels, loss, sign, V, choice, orders, work: bellman.induct(
        kernels, loss, sign, V, choice, orders, work
    ),
    lambda kernels, loss, sign, V, choice, orders, work: large.respond(
        kernels, loss, sign, V, choice, orders, work
    ),
    lambda kernels, loss, sign, V, choice, orders, work: stationary.respond(
        kernels, loss, sign, V, choice, orders, work
    ),
)
GATHER: tuple[Any, ...] = (
    lambda problem, choice, orders, reach, point, work: occupancy.gather(
        problem, choice, orders, reach, point, work
    ),
    lambda problem, choice, orders, reach, point, work: large.tally(
        problem, choice, orders, reach, point, work
    ),
    lambda problem, choice, orders, reach, point, work: stationary.tally(
        problem, choice, orders, reach, point, work
    ),
)


def _regime(kind: type) -> int:
    if issubclass(kind, Large):
        return LARGE
    return LASTING if issubclass(kind, (Stationary, StationaryBox)) else EPISODES


overload(allow, jit_options=CALLEE, strict=False)(lambda work, room: ALLOW[work.instance_class])
overload(is_rough, jit_options=CALLEE, strict=False)(lambda work: IS_ROUGH[work.instance_class])
overload(induct, jit_options=CALLEE, strict=False)(
    lambda kernels, *rest: INDUCT[_regime(kernels.instance_class)]
)
overload(gather, jit_options=CALLEE, strict=False)(
    lambda problem, *rest: GATHER[_regime(problem.types[0].instance_class)]
)
