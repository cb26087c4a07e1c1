"""The one door to the learners' steps: a memory's class says whose step it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from tightrope.arrays import Problem
from tightrope.kernels.compiled import INLINED
from tightrope.learn import fixed, opt_cmdp, opt_dual, opt_primal_dual
from tightrope.learn.move import Move

__all__ = ["Memory", "take_step"]

Memory = (
    opt_cmdp.PlanMemory | opt_dual.DualMemory | opt_primal_dual.MirrorMemory | fixed.FixedMemory
)

STEPS: dict[type, Callable[..., None]] = {
    opt_cmdp.PlanMemory: opt_cmdp.step,
    opt_dual.DualMemory: opt_dual.step,
    opt_primal_dual.MirrorMemory: opt_primal_dual.step,
    fixed.FixedMemory: fixed.step,
}
_plan, _dual, _mirror, _fixed = STEPS.values()


def take_step(problem: Problem, memory: Memory, move: Move) -> None:
    """One planning step of whichever learner the memory belongs to."""
    STEPS[type(memory)](problem, memory, move)


COMPILED: dict[type, Callable[..., None]] = {
    opt_cmdp.PlanMemory: lambda problem, memory, move: _plan(problem, memory, move),
    opt_dual.DualMemory: lambda problem, memory, move: _dual(problem, memory, move),
    opt_primal_dual.MirrorMemory: lambda problem, memory, move: _mirror(problem, memory, move),
    fixed.FixedMemory: lambda problem, memory, move: _fixed(problem, memory, move),
}


def _choose(problem: Any, memory: Any, move: Any) -> Callable[..., None]:
    return COMPILED[memory.instance_class]


overload(take_step, jit_options=INLINED, strict=False)(_choose)
