"""The one door to the learners' steps: a memory's class says whose step it is.

The steps are compiled into whoever takes them: the simulation loop, or `take_step_now` for the
interactive learner. Compiled code may call `take_step` only directly, because every function in
between would have the whole planner compiled into it once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from tightrope.arrays import Problem
from tightrope.kernels.compiled import WITHOUT_ALLOCATION, compiled
from tightrope.learners import fixed, opt_cmdp, opt_dual, opt_primal_dual
from tightrope.learners.move import Move

Memory = (
    opt_cmdp.PlanMemory | opt_dual.DualMemory | opt_primal_dual.MirrorMemory | fixed.FixedMemory
)

STEPS: dict[type, Callable[..., None]] = {
    opt_cmdp.PlanMemory: opt_cmdp.step,
    opt_dual.DualMemory: opt_dual.step,
    opt_primal_dual.MirrorMemory: opt_primal_dual.step,
    fixed.FixedMemory: fixed.step,
}


def take_step(problem: Problem, memory: Memory, move: Move) -> None:
    """One planning step of whichever learner the memory belongs to."""
    STEPS[type(memory)](problem, memory, move)


def _choose(problem: Any, memory: Any, move: Any) -> Callable[..., None]:
    return STEPS[memory.instance_class]


overload(take_step, jit_options=WITHOUT_ALLOCATION, strict=False)(_choose)


@compiled
def take_step_now(problem: Problem, memory: Memory, move: Move) -> None:
    """`take_step` for callers that are not compiled."""
    take_step(problem, memory, move)
