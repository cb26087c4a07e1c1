"""OptCMDP with the rule of the DOPE repository at states that a plan does not reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tightrope.arrays import Problem
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Decision
from tightrope.learners.opt_cmdp import OptCMDP, PlanState
from tightrope.learners.opt_cmdp import step as plan


@compiled
def step(problem: Problem, state: PlanState, rng: np.random.Generator, decision: Decision) -> None:
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
    return float(problem.allowed[min(h, layers - 1), s, a])


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
    step = staticmethod(step)
