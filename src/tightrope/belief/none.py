"""No belief: counts only, for learners with estimates of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Problem, Transitions, new_record
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import COST_RULES
from tightrope.belief.sets import SetBelief
from tightrope.model.task import Task


class NoBelief(NamedTuple):
    """A belief that says nothing; ``rules.known_costs`` is set, so that no cost is audited."""

    rules: Any

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model: nothing."""
        return ()

    @staticmethod
    def refresh(c: Counts, b: NoBelief, h: int, s: int, a: int) -> None:
        """Leave the belief as it is."""

    @staticmethod
    def excludes(p: Any, c: Counts, b: NoBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Hold every kernel for possible."""
        return False

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the set that bounds on a policy use."""
        return SetBelief.as_set(confidence)

    @classmethod
    def start(cls, task: Task, confidence: Confidence, counts: Counts) -> NoBelief:
        """The belief before and after any data."""
        return cls(new_record(COST_RULES, {"known_costs": True}))

    def widen(self, wider: Wider) -> NoBelief:
        """Itself."""
        return self

    def problem(self, task: Task, counts: Counts) -> Problem:
        """Start, budgets and allowed actions; kernels and costs are zero."""
        shape = (1, task.n_states, task.n_actions)
        nothing = Transitions(counts.indptr, counts.indices, np.zeros(counts.indices.shape))
        costs = np.zeros(shape), np.zeros((task.n_constraints, *shape))
        return Problem(nothing, task.initial, *costs, task.budget, task.allowed)
