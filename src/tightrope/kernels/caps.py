"""Constraint costs that are zero except in a range of stages, such as one budget for each stage.

The record's class picks the functions when a kernel is compiled: without such ranges, costs are an
array, and all of it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Caps, Floats
from tightrope.kernels.compiled import INLINED

EVER = 2**31  # after every stage


class Cap(NamedTuple):
    """Costs of one constraint, and the stages outside of which there are none."""

    cost: Floats  # (G, S, A)
    first: int
    last: int  # the stage after them


def cap(costs: Floats | Caps, i: int) -> Cap:
    """Return the costs of a constraint."""
    found: Cap = FUNCTIONS[type(costs)][0](costs, i)
    return found


def count_together(costs: Floats | Caps) -> int:
    """Return the largest number of constraints that have costs at one stage."""
    return int(FUNCTIONS[type(costs)][1](costs))


FUNCTIONS: dict[type, tuple[Callable[..., Any], ...]] = {
    np.ndarray: (
        lambda costs, i: Cap(costs[i], 0, EVER),
        lambda costs: costs.shape[0],
    ),
    Caps: (
        lambda costs, i: Cap(costs.cost[i], costs.first[i], costs.last[i]),
        lambda costs: costs.together,
    ),
}
IN_ORDER: tuple[Callable[..., Any], ...] = (cap, count_together)
for k, function in enumerate(IN_ORDER):
    overload(function, jit_options=INLINED, strict=False)(
        lambda costs, *rest, k=k: FUNCTIONS[getattr(costs, "instance_class", np.ndarray)][k]
    )
