"""The interactive learner: for environments that only exist outside.

`plan` gives the policy of the next episode, `observe` takes in what happened. The step is the one
that the simulation loop takes, so the same data give the same policies.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

import numpy as np

from tightrope.arrays import whole
from tightrope.errors import ModelError, StoreError
from tightrope.estimate.absorb import absorbed
from tightrope.estimate.beliefs import Beliefs, beliefs_from
from tightrope.estimate.confidence import Confidence
from tightrope.estimate.episode import End, Episode, Episodes
from tightrope.estimate.growth import grown, unlisted
from tightrope.estimate.renewal import planned_with, renewed
from tightrope.files import as_path, packed, put, reason, unpacked
from tightrope.learners.algorithms import LEARNERS, Options, new_memory
from tightrope.learners.episodes import checked_episode, checked_episodes
from tightrope.learners.keeping import Kept, as_table, beliefs_like, kept_from
from tightrope.learners.labels import Labels
from tightrope.learners.move import GAP, IS_RELAXED, SWEEPS, new_move, policy_of
from tightrope.learners.occupancy import planned_occupancy
from tightrope.learners.settle import averaged_plan
from tightrope.learners.steps import take_step_now
from tightrope.learners.stored import STEP_SIZES, arrays_to_store, put_stored, same_arrays
from tightrope.model import Plan
from tightrope.plan.bound import Bounds, bounds_of


@final
class InteractiveLearner:
    """A learner that is told what happens.

    Parameters
    ----------
    algorithm : str
        Its name.
    task : Task
        What it was told before the first episode.
    confidence : Confidence
        Which radii it uses.
    beliefs : Beliefs
        What it has seen and holds possible.
    memory : a learner's memory
        Its prices, logits or columns.
    grows : bool
        Whether counts find room for successors as they appear.
    """

    def __init__(
        self,
        algorithm: str,
        task: Any,
        confidence: Confidence,
        beliefs: Beliefs,
        memory: Any,
        grows: bool,
    ) -> None:
        self.algorithm, self.task, self.confidence = algorithm, task, confidence
        self._beliefs, self._memory, self._grows = beliefs, memory, grows
        self._move = new_move(task.horizon, task.n_states, task.n_actions, task.n_constraints)
        self._occupancy = np.zeros_like(self._move.pi)
        self._planned = planned_with(beliefs.counts)
        self._is_planned, self._is_fresh = False, True
        self._n_observed = self._n_infeasible = 0
        self.labels: Labels | None = None

    @property
    def n_observed(self) -> int:
        """Episodes observed so far."""
        return self._n_observed

    @property
    def n_infeasible(self) -> int:
        """Plans so far whose optimistic problem was infeasible (SPEC A5.5)."""
        return self._n_infeasible

    def plan(self) -> Plan:
        """The policy of the next episode; the same one until an episode is observed."""
        if not self._is_planned:
            if self._n_observed >= self.task.n_episodes:
                raise ModelError(
                    f"plan: all {self.task.n_episodes} episodes were observed; "
                    "radii and step sizes were made for that many"
                )
            plans_anew = LEARNERS[self.algorithm].plans
            if self._is_fresh or not plans_anew:
                take_step_now(self._beliefs.problem, self._memory, self._move)
                self._occupancy = planned_occupancy(self._beliefs.problem, self._memory, self._move)
                self._is_fresh = False
                self._n_infeasible += int(self._move.facts[IS_RELAXED] > 0)
            self._is_planned = True
        return self._as_plan()

    @property
    def last_plan(self) -> Plan:
        """The plan that was made last, also when all episodes were observed."""
        if not self._occupancy.any():
            raise ModelError("last_plan: nothing was planned yet; call plan() first")
        return self._as_plan()

    def observe(self, episode: Episode) -> None:
        """Take in what happened in the planned episode.

        Parameters
        ----------
        episode : Episode
            H steps; nothing changes when it cannot be right.
        """
        if not self._is_planned:
            raise ModelError("observe: no policy was planned for this episode; call plan() first")
        steps = checked_episode(self.task, episode)
        if self._grows:
            self._beliefs = grown(self._beliefs, self.task, steps.states, steps.actions)
        elif bad := unlisted(self._beliefs.counts, self.task, steps.states, steps.actions):
            s, a, t = steps.states[bad[0]], steps.actions[bad[0]], steps.states[bad[0] + 1]
            raise ModelError(
                f"episode.states[h={bad[0] + 1}] is {t}, a successor that the given successors "
                f"rule out after state {s} and action {a}"
            )
        waits = self.confidence.replan == "doubling"
        if renewed(self._beliefs, self.task, steps, self._planned, waits):
            self._is_fresh = True
        self._is_planned = False
        self._n_observed += 1

    def absorb(self, episodes: Episodes, end: End | None = None) -> None:
        """Take in episodes that somebody else played; none of them needs a plan before it.

        Parameters
        ----------
        episodes : Episodes
            Any number of them; nothing changes when one cannot be right.
        end : End, optional
            The state, not of the process, in which episodes that are over wait for the horizon.
        """
        steps = checked_episodes(self.task, episodes)
        together = self._n_observed + len(steps)
        if together > self.task.n_episodes:
            raise ModelError(
                f"absorb: {together} episodes with these, expected at most "
                f"{self.task.n_episodes}; radii were made for that many"
            )
        counts = absorbed(self._beliefs.counts, self.task, steps, self._grows, end)
        is_bonus = LEARNERS[self.algorithm].is_bonus
        self._beliefs = beliefs_from(self.task, self.confidence, is_bonus, counts)
        self._planned.visits[:] = counts.visits
        self._planned.cost_visits[:] = counts.cost_visits
        self._n_observed = together
        self._is_planned, self._is_fresh = False, True

    def settle(self, steps: int = 1000) -> Plan:
        """The policy that the learner's rule comes to on the episodes so far.

        A plan that was made for the next episode stays; later ones start from the prices that the
        rule has come to.

        Parameters
        ----------
        steps : int
            Steps of a dual learner, whose plans are averaged; the others plan once.
        """
        if LEARNERS[self.algorithm].plans:
            return self.plan()
        problem, H, count = self._beliefs.problem, self.task.horizon, whole("steps", steps)
        return averaged_plan(problem, self._memory, H, count, self.algorithm)

    def bound(self, policy: Any) -> Bounds:
        """What a policy costs at least and at most, by all that was observed (SPEC A3).

        Parameters
        ----------
        policy : (H, S, A) or (S, A) array, or (H, S) integers
            Any policy, chosen in whatever way; the bounds hold for all of them at once.
        """
        is_bonus = LEARNERS[self.algorithm].is_bonus
        found = bounds_of(self.task, self.confidence, is_bonus, self._beliefs.counts, policy)
        return found if self.labels is None else found.for_any_start(self.labels.start_doubt)

    def to_bytes(self) -> bytes:
        """All of the learner, as `save` writes it."""
        kept = Kept(
            algorithm=self.algorithm,
            grows=self._grows,
            is_planned=self._is_planned,
            is_fresh=self._is_fresh,
            n_observed=self._n_observed,
            n_infeasible=self._n_infeasible,
        )
        about, arrays = as_table(kept, self.task, self.confidence)
        about["labels"] = None if self.labels is None else self.labels.as_table()
        return packed(about, {**arrays, **arrays_to_store(self._parts())})

    @classmethod
    def from_bytes(cls, content: bytes) -> InteractiveLearner:
        """A learner that goes on, bit for bit, as the one that `to_bytes` was asked of.

        Parameters
        ----------
        content : bytes
            From `to_bytes`.

        Raises
        ------
        StoreError
            When it is damaged or something else.
        """
        about, arrays = unpacked(content)
        kept, task, confidence = kept_from(about, arrays)
        chosen = LEARNERS[kept.algorithm]
        beliefs = beliefs_like(task, confidence, chosen.is_bonus, arrays)
        # the options of the memory's steps are among its arrays
        memory = new_memory(chosen, task, beliefs.problem, Options())
        learner = cls(kept.algorithm, task, confidence, beliefs, memory, kept.grows)
        has_policy = kept.is_planned or not kept.is_fresh
        parts, n_observed = learner._parts(), kept.n_observed
        put_stored(parts, arrays, "learner", task, n_observed, has_policy)
        learner._is_planned, learner._is_fresh = kept.is_planned, kept.is_fresh
        learner._n_observed, learner._n_infeasible = kept.n_observed, kept.n_infeasible
        if about.get("labels") is not None:
            learner.labels = Labels.from_table(about["labels"], task)
        return learner

    def has_seen(self, episodes: Iterable[Episodes], start: InteractiveLearner) -> bool:
        """Whether this is ``start`` after these episodes, by task, options and counts.

        Bounds follow from these alone. Beliefs are compared too, unless they wait for visits to
        double; prices, logits and the last plan are not, because only a replay could tell.

        Parameters
        ----------
        episodes : iterable of Episodes
            In their order, in any number of parts.
        start : InteractiveLearner
            Before the first episode.
        """
        if not _has_same_setting(self, start):
            return False
        counts, n_seen = start._beliefs.counts, start._n_observed
        for part in episodes:
            counts = absorbed(counts, self.task, checked_episodes(self.task, part), self._grows)
            n_seen += len(part)
        if n_seen != self._n_observed or not same_arrays(counts, self._beliefs.counts):
            return False
        if self.confidence.replan == "doubling":
            return True
        is_bonus = LEARNERS[self.algorithm].is_bonus
        expected = beliefs_from(self.task, self.confidence, is_bonus, counts).believed
        is_entry = np.arange(counts.indices.shape[1]) < counts.indptr[:, -1:]  # else padding
        by_entry = ("lower", "upper", "centre")
        found = (
            each._replace(**{name: getattr(each, name)[is_entry] for name in by_entry})
            for each in (expected, self._beliefs.believed)
        )
        return same_arrays(*found)

    def save(self, path: str | Path) -> None:
        """Write all of the learner to a file, in one step that survives a crash.

        Parameters
        ----------
        path : str or Path
            An .npz of plain arrays.
        """
        put(as_path("path", path), self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> InteractiveLearner:
        """A learner that goes on, bit for bit, as the one that was saved.

        Parameters
        ----------
        path : str or Path
            From `save`.
        """
        file = as_path("path", path)
        try:
            return cls.from_bytes(file.read_bytes())
        except (OSError, StoreError) as error:
            raise StoreError(f"{path}: no learner can be read: {reason(error)}") from error

    def _parts(self) -> dict[str, Any]:
        """Everything that later episodes read and write, by name."""
        return {
            "counts": self._beliefs.counts,
            "believed": self._beliefs.believed,
            "memory": self._memory,
            "move": self._move,
            "occupancy": self._occupancy,
            "planned_visits": self._planned.visits,
            "planned_cost_visits": self._planned.cost_visits,
        }

    def _as_plan(self) -> Plan:
        move = self._move
        return Plan(
            policy=policy_of(move),
            value=float(move.value[0]),
            constraint_value=move.value[1:].copy(),
            multiplier=move.lam.copy(),
            gap=float(move.facts[GAP]),
            occupancy=self._occupancy.copy(),
            method=self.algorithm,
            sweeps=int(move.facts[SWEEPS]),
            is_feasible=not move.facts[IS_RELAXED] > 0,
        )


def _has_same_setting(one: InteractiveLearner, other: InteractiveLearner) -> bool:
    """Whether two learners were made with the same arguments."""
    plain = ("algorithm", "_grows", "confidence")
    if any(getattr(one, name) != getattr(other, name) for name in plain):
        return False
    tasks = vars(one.task), vars(other.task)
    if not all(same_arrays(tasks[0][name], tasks[1][name]) for name in tasks[0]):
        return False
    stored = (arrays_to_store(each._parts()) for each in (one, other))
    steps = [{name: each[name] for name in STEP_SIZES if name in each} for each in stored]
    return all(np.array_equal(steps[0][name], steps[1][name]) for name in steps[0])
