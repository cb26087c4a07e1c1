"""Agent: a learner at work, with its beliefs, state and last decision.

The simulation loop and the interactive learner drive the same agent with the same compiled
functions: `decide` for the policy of an episode, `belief.beliefs.observe` for what happened in it.
They take blocks (`kernels.calls`), so that the loop is compiled once for all learners.
"""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Problem, new_record
from tightrope.belief.beliefs import Beliefs, observe, problem_of, start_beliefs, widen_beliefs
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Steps
from tightrope.errors import ModelError
from tightrope.kernels.calls import Block, unpack
from tightrope.kernels.compiled import compiled
from tightrope.kernels.draws import uniform
from tightrope.learners.base import (
    Decision,
    Learner,
    has_reader,
    new_decision,
    read_episode,
    take_step,
)
from tightrope.model.task import Task

STATUS = (
    ("is_fresh", "?"),  # beliefs have changed since the last plan
    ("is_always_due", "?"),  # every episode needs a step, whether they have changed or not
)


@compiled
def decide(block: Any) -> int:
    """Take a step, unless the same beliefs would give the same plan again; whether it was taken.

    The block holds problem, state and generator of the learner, `Decision`, a record of `STATUS`.
    """
    problem, state, rng, decision, status = unpack(block)
    note = decision.note
    if status.is_fresh or status.is_always_due:
        note.gap, note.bound, note.sweeps = 0.0, np.inf, 0
        note.is_relaxed, note.is_changed, note.is_deterministic = False, True, False
        note.baseline, note.is_rebased = 0.0, False
        take_step(problem, state, rng, decision)
        status.is_fresh = False
        return 1
    note.is_changed = note.is_rebased = False
    return 0


@compiled
def draw_policy(note: Any, rng: np.random.Generator) -> None:
    """Draw whether this episode plays the baseline, once per episode; only if it may."""
    note.plays_baseline = note.baseline > 0.0 and uniform(rng) < note.baseline


@compiled
def read_steps(block: Any) -> int:
    """Let a learner read an episode. The block holds its state and `Steps`."""
    state, steps = unpack(block)
    read_episode(state, steps)
    return 0


class Agent:
    """A learner at work.

    Parameters
    ----------
    learner : Learner
        With its options resolved to numbers.
    task : Task
    confidence : Confidence
        As given; the learner may use it in its own way.
    rng : Generator
        For the learner's own random choices; the environment has another one.
    beliefs : Beliefs, optional
        Those before the first episode by default.
    """

    def __init__(
        self,
        learner: Learner,
        task: Task,
        confidence: Confidence,
        rng: np.random.Generator,
        beliefs: Beliefs | None = None,
    ) -> None:
        if learner.n_constraints not in (None, task.n_constraints):
            raise ModelError(
                f"{learner.name}: {task.n_constraints} constraints, "
                f"expected exactly {learner.n_constraints}",
                argument="algorithm",
                found=task.n_constraints,
                expected=str(learner.n_constraints),
            )
        self.learner, self.task, self.rng = learner, task, rng
        self.radii = learner.radii(confidence)
        if beliefs is None:
            beliefs = start_beliefs(learner.belief, task, self.radii)
        self._set_beliefs(beliefs)
        self.state = learner.init(task, self.problem)
        self.decision = new_decision(task, learner.baseline_policy(task))
        is_always_due = learner.is_due(is_fresh=False)
        self.status = new_record(STATUS, {"is_fresh": True, "is_always_due": is_always_due})
        self.memory: dict[str, Any] = {}  # arrays of a learner written in Python
        self.n_observed = 0
        self._block: Block | None = None  # of the last decision

    def _set_beliefs(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs
        self.problem: Problem = problem_of(self.task, beliefs)

    def set_counts(self, counts: Any) -> None:
        """Believe what these counts say, all of it refreshed."""
        beliefs = start_beliefs(self.learner.belief, self.task, self.radii, counts)
        beliefs.planned_visits[:] = counts.visits
        beliefs.planned_cost_visits[:] = counts.cost_visits
        self._set_beliefs(beliefs)
        self.status.is_fresh = True

    def prepare(self) -> None:
        """Let a learner that plans outside compiled code plan, where a step is due."""
        if self.learner.is_due(bool(self.status.is_fresh)):
            self.learner.prepare(self)

    def block(self, decision: Decision | None = None, status: Any = None) -> Block:
        """The block for `decide`; by default with the agent's own decision and status."""
        decision, status = decision or self.decision, self.status if status is None else status
        values = self.problem, self.state, self.rng, decision, status
        if self._block is None or not all(map(is_, values, self._block.values)):
            self._block = Block(*values)
        return self._block

    def decide(self) -> bool:
        """Decide on the policy of the next episode; whether a new plan was made."""
        self.prepare()
        is_new = decide(self.block())
        draw_policy(self.decision.note, self.rng)
        return bool(is_new)

    def observe(self, steps: Steps, grows: bool) -> None:
        """Count a checked episode and refresh what it changes."""
        if grows:
            wide = widen_beliefs(self.beliefs, self.task, steps.states, steps.actions)
            if wide is not self.beliefs:
                self._set_beliefs(wide)
        if observe(Block(self.beliefs, self.task.n_actions, steps, None)):
            self.status.is_fresh = True
        if has_reader(self.state):
            read_steps(Block(self.state, steps))
        self.n_observed += 1

    def planned_occupancy(self) -> Floats:
        """Occupancy (H, S, A) of the last plan in the model that it was made in.

        Zero for learners without a model of their own.
        """
        if not self.learner.has_model:
            return np.zeros_like(self.decision.pi)
        return self.learner.planned_occupancy(self.problem, self.state, self.decision)

    @property
    def settings(self) -> list[Any]:
        """Name of the algorithm and its step sizes."""
        return [self.learner.name, *getattr(self.state, "settings", ())]

    def parts(self) -> dict[str, Any]:
        """Everything that later episodes read and write, by name."""
        return {
            "counts": self.beliefs.counts,
            "belief": self.beliefs.belief,
            "state": self.state,
            "decision": self.decision,
            "planned_visits": self.beliefs.planned_visits,
            "planned_cost_visits": self.beliefs.planned_cost_visits,
        }
