"""Reference learners that do not learn: one policy, played in every episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.kernels.copying import copy
from tightrope.learners.move import BOUND, HAS_CHANGED, IS_DETERMINISTIC, IS_RELAXED, Move


class FixedMemory(NamedTuple):
    """The policy, whether it was handed out yet, and what whoever made it knows of it."""

    pi: Floats  # (H, S, A)
    is_new: Floats  # (1,)
    bound: Floats  # (1,) at most the optimum; minus infinity where nothing is known
    is_relaxed: Floats  # (1,) whether violation had to be made least


def new_fixed_memory(pi: Floats) -> FixedMemory:
    """Memory of a learner that plays this policy."""
    return FixedMemory(np.array(pi), np.ones(1), np.full(1, -np.inf), np.zeros(1))


def step(problem: Problem, memory: FixedMemory, move: Move) -> None:
    """Hand out the policy."""
    if memory.is_new[0] > 0.0:
        copy(memory.pi, move.pi)
    move.facts[HAS_CHANGED] = memory.is_new[0]
    move.facts[IS_DETERMINISTIC] = 0.0
    move.facts[IS_RELAXED] = memory.is_relaxed[0]
    move.facts[BOUND] = memory.bound[0]
    memory.is_new[0] = 0.0
