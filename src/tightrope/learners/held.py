"""Policies made outside compiled code: the state that holds one, and the step that hands it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem, new_record
from tightrope.kernels.compiled import compiled
from tightrope.kernels.scratch import copy
from tightrope.learners.base import Decision, Learner
from tightrope.model.task import Task

HELD = (
    ("is_new", "?"),  # the policy was not handed out yet
    ("bound", "f8"),  # at most the optimum; minus infinity where nothing is known
    ("is_relaxed", "?"),  # violation had to be minimized
)


class HeldPolicy(NamedTuple):
    """A policy made outside compiled code, and what its planner knows about it."""

    pi: Floats  # (H, S, A)
    note: Any  # record of `HELD`


def hold(pi: Any) -> HeldPolicy:
    """The state of a learner that plays this policy."""
    return HeldPolicy(
        np.array(pi, dtype=np.float64), new_record(HELD, {"is_new": True, "bound": -np.inf})
    )


@compiled
def step(problem: Any, state: HeldPolicy, rng: np.random.Generator, decision: Decision) -> None:
    """Hand out the policy."""
    if state.note.is_new:
        copy(state.pi, decision.pi)
    decision.note.is_changed = state.note.is_new
    decision.note.is_relaxed = state.note.is_relaxed
    decision.note.bound = state.note.bound
    state.note.is_new = False


@dataclass(frozen=True, init=False)
class PreparingLearner(Learner):
    """A learner that plans outside compiled code, in `prepare`, before each episode."""

    state: ClassVar[type] = HeldPolicy
    step = staticmethod(step)

    def init(self, task: Task, problem: Problem) -> HeldPolicy:
        """No policy yet.

        Parameters
        ----------
        task : Task
            Sizes, budgets, start and allowed actions.
        problem : Problem
            What it may plan in.
        """
        return hold(np.zeros((task.horizon, task.n_states, task.n_actions)))

    def episodes_per_call(self, n_episodes: int) -> int:
        """One: it plans again between any two episodes.

        Parameters
        ----------
        n_episodes : int
        """
        return 1
