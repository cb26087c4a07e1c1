"""How often a learner expects to be where, in the model that it planned in."""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.kernels.desk import desk
from tightrope.kernels.occupancy import occupancy
from tightrope.learners.fixed import FixedMemory
from tightrope.learners.move import Move
from tightrope.learners.opt_cmdp import PlanMemory
from tightrope.learners.opt_dual import DualMemory
from tightrope.learners.steps import Memory


def planned_occupancy(problem: Problem, memory: Memory, move: Move) -> Floats:
    """Occupancy (H, S, A) of the policy just planned, in the planner's own kernel.

    For learners over a set that is the kernel chosen with the policy, for the others the estimate.
    """
    if isinstance(memory, PlanMemory):
        return memory.q.copy()
    if isinstance(memory, DualMemory):
        return np.asarray(memory.reach[:, :, None] * np.eye(move.pi.shape[2])[move.choice])
    assert not isinstance(memory, FixedMemory), "references do not plan"
    q, S = np.empty_like(move.pi), problem.initial.size
    order, reach = np.zeros(S, dtype=np.uint32), np.empty((2, S))
    occupancy(problem.kernels, problem.initial, move.pi, q, reach, order, desk(S))
    return q
