"""OptCMDP with the rule of the DOPE repository at states that a plan does not reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.kernels.columns import Columns
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Decision
from tightrope.learners.opt_cmdp import OptCMDP, PlanState
from tightrope.learners.opt_cmdp import step as plan
from tightrope.model.task import Task


class UniformState(NamedTuple):
    """The fields of `PlanState`; the class of the state picks the step."""

    columns: Columns
    budget: Floats
    q: Floats
    flow: Floats
    reach: Floats
    settings: Any

    stored = staticmethod(PlanState.stored)


@compiled
def step(
    problem: Problem, state: UniformState, rng: np.random.Generator, decision: Decision
) -> None:
    """Plan as OptCMDP; play all allowed actions alike where the plan has no occupancy."""
    plan(problem, state, rng, decision)
    H, S, A = state.q.shape
    for h in range(H):
        for s in range(S):
            reached, n_allowed = 0.0, 0.0
            for a in range(A):
                reached += state.q[h, s, a]
                n_allowed += is_allowed(problem, h, s, a)
            if reached == 0.0:
                for a in range(A):
                    decision.pi[h, s, a] = is_allowed(problem, h, s, a) / n_allowed


@compiled
def is_allowed(problem: Problem, h: int, s: int, a: int) -> float:
    """1 if an action is allowed, else 0."""
    layers = problem.allowed.shape[0]
    if layers == 0:
        return 1.0
    return 1.0 if problem.allowed[min(h, layers - 1), s, a] else 0.0


@dataclass(frozen=True)
class UniformOptCMDP(OptCMDP):
    """OptCMDP that plays uniformly at unreached states, as the DOPE repository does.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.
    """

    name: ClassVar[str] = "OptCMDP-uniform"
    group: ClassVar[str] = "other"
    state: ClassVar[type] = UniformState
    step = staticmethod(step)

    def init(self, task: Task, problem: Problem) -> UniformState:
        """State before the first episode."""
        return UniformState(*super().init(task, problem))
