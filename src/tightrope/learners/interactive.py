"""The interactive learner: for environments that only exist outside.

`plan` gives the policy of the next episode, `observe` takes in what happened. The step is the one
that the simulation loop takes, so the same data give the same policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from tightrope.errors import ModelError
from tightrope.estimate.beliefs import Beliefs, begin_beliefs, grown
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.estimate.episode import Episode
from tightrope.kernels.believe import believe, count_episode
from tightrope.learners.algorithms import LEARNERS, Options, learner_named, new_memory
from tightrope.learners.episodes import checked_episode
from tightrope.learners.move import GAP, IS_DETERMINISTIC, IS_RELAXED, SWEEPS, new_move
from tightrope.learners.occupancy import planned_occupancy
from tightrope.learners.steps import take_step_now
from tightrope.learners.tasks import task_from
from tightrope.model import Plan

__all__ = ["InteractiveLearner", "learner"]


def learner(
    algorithm: str,
    n_states: int,
    n_actions: int,
    horizon: int,
    budget: Any,
    episodes: int,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    rho: float | None = None,
    initial: Any = 0,
    allowed: Any = None,
    cost: Any = None,
    constraint_cost: Any = None,
    stationary: bool = False,
    successors: Any = None,
    dual_step: float = 1.0,
    primal_step: float = 1.0,
    tolerance: float = 1e-8,
) -> InteractiveLearner:
    """A learner for a process that is known only through its episodes.

    Parameters
    ----------
    algorithm : str
        ``"OptCMDP"``, ``"OptCMDP-bonus"``, ``"OptDual"`` or ``"OptPrimalDual"``.
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums over the H steps, in [0, H].
    episodes : int
        Number of episodes K; radii and step sizes are made for it.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    rho : float, optional
        Bound on the multipliers; OptDual and OptPrimalDual need it.
    initial : int or (S,) array
        Start state, or distribution over start states.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state.
    cost : (S, A) or (H, S, A) array, optional
        Mean costs where they are known (with ``known_costs`` in the confidence).
    constraint_cost : (I, S, A) or (I, H, S, A) array, optional
        The same for the constraints.
    stationary : bool
        Whether the process is the same at every stage, so that counts may be pooled (with ``pool``
        in the confidence).
    successors : (S, A, S) booleans, optional
        Which successors are possible, where that is known (with ``known_support`` in the
        confidence); otherwise only room for counts.
    dual_step, primal_step : float
        Factors on the paper's step sizes.
    tolerance : float
        Relative gap of each plan.
    """
    chosen = learner_named(algorithm)
    if chosen.name not in LEARNERS:
        raise ModelError(f"algorithm: {algorithm!r} is a reference for simulations, not a learner")
    if chosen.needs_rho and rho is None:
        raise ModelError(
            f"rho: missing; {chosen.name} needs a bound on the multipliers, at least twice the "
            "cost that the safest policy gives up divided by the room it leaves in the tightest "
            "budget (2 * horizon / room is always enough)"
        )
    task = task_from(
        n_states,
        n_actions,
        horizon,
        budget,
        episodes,
        delta,
        initial,
        allowed,
        cost,
        constraint_cost,
        stationary,
        successors,
    )
    options = Options(1.0 if rho is None else rho, dual_step, primal_step, tolerance)
    radii = as_confidence(confidence)
    if radii.known_support and successors is None:
        raise ModelError("confidence: known_support is set, but no successors were given")
    if cost is not None and not radii.known_costs:
        raise ModelError("cost: given, but the confidence does not say known_costs")
    beliefs = begin_beliefs(task, radii, chosen.is_bonus)
    return InteractiveLearner(
        chosen.name,
        task,
        radii,
        beliefs,
        new_memory(chosen, task, beliefs.problem, options),
        grows=successors is None,
    )


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
        self._planned_visits = np.zeros_like(beliefs.counts.visits)
        self._planned_cost_visits = np.zeros_like(beliefs.counts.cost_visits)
        self._is_planned, self._is_fresh = False, True
        self._n_observed = self._n_infeasible = 0

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
        elif not self._lists_all(steps.states, steps.actions):
            raise ModelError("episode.states: a successor that the given successors rule out")
        self._learn_from(steps)
        self._is_planned = False
        self._n_observed += 1

    def _lists_all(self, states: Any, actions: Any) -> bool:
        counts = self._beliefs.counts
        for h, (s, a, t) in enumerate(zip(states, actions, states[1:], strict=False)):
            g = min(h, counts.indptr.shape[0] - 1)
            row = s * self.task.n_actions + a
            if t not in counts.indices[g, counts.indptr[g, row] : counts.indptr[g, row + 1]]:
                return False
        return True

    def _learn_from(self, steps: Episode) -> None:
        b, A = self._beliefs, self.task.n_actions
        is_doubled = count_episode(
            b.counts,
            A,
            steps.states,
            steps.actions,
            steps.cost,
            steps.constraint_cost,
            self._planned_visits,
            self._planned_cost_visits,
        )
        waits = self.confidence.replan == "doubling"
        if waits and not is_doubled:
            return
        self._is_fresh = True
        if waits:
            moved = np.argwhere(b.counts.visits > self._planned_visits)
            changed = [(int(g), int(row) // A, int(row) % A) for g, row in moved]
            self._planned_visits[:] = b.counts.visits
            self._planned_cost_visits[:] = b.counts.cost_visits
        else:
            pairs = zip(steps.states, steps.actions, strict=False)
            changed = [(h, int(s), int(a)) for h, (s, a) in enumerate(pairs)]
        for h, s, a in changed:
            believe(b.counts, b.rules, b.believed, self.task.known_cost, h, s, a)

    def _as_plan(self) -> Plan:
        move = self._move
        policy = move.pi.copy()
        if move.facts[IS_DETERMINISTIC] > 0:
            policy = np.eye(policy.shape[2])[move.choice]
        return Plan(
            policy=policy,
            value=float(move.value[0]),
            constraint_value=move.value[1:].copy(),
            multiplier=move.lam.copy(),
            gap=float(move.facts[GAP]),
            occupancy=self._occupancy.copy(),
            method=self.algorithm,
            sweeps=int(move.facts[SWEEPS]),
            is_feasible=not move.facts[IS_RELAXED] > 0,
        )
