"""Reference learners that do not learn: one policy, played in every episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.kernels.copying import copy
from tightrope.learners.move import BOUND, HAS_CHANGED, IS_DETERMINISTIC, Move

__all__ = ["FixedMemory", "new_fixed_memory", "step"]


class FixedMemory(NamedTuple):
    """The policy, and whether it was handed out yet."""

    pi: Floats  # (H, S, A)
    is_new: Floats  # (1,)


def new_fixed_memory(pi: Floats) -> FixedMemory:
    """Memory of a learner that plays this policy."""
    return FixedMemory(np.array(pi), np.ones(1))


def step(problem: Problem, memory: FixedMemory, move: Move) -> None:
    """Hand out the policy."""
    if memory.is_new[0] > 0.0:
        copy(memory.pi, move.pi)
    move.facts[HAS_CHANGED] = memory.is_new[0]
    move.facts[IS_DETERMINISTIC] = 0.0
    move.facts[BOUND] = -np.inf
    memory.is_new[0] = 0.0
