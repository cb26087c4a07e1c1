"""The interactive learner: for processes that are known only through their episodes.

`plan` gives the policy of the next episode, `observe` takes what happened in it. It drives the same
agent as the simulation loop, so the same data give the same policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np

from tightrope.arrays import Bools, Box, Floats, L1Ball, as_seed, flag, new_record, whole
from tightrope.belief.beliefs import start_beliefs
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.belief.counts import Steps, add_episodes, find_unlisted
from tightrope.belief.episode import End, Episode, Episodes, check_episode, check_episodes
from tightrope.errors import ConfigError, DataError, StoreError
from tightrope.files import as_path, put, reason
from tightrope.learners import as_learner
from tightrope.learners.agent import STATUS, Agent, decide
from tightrope.learners.base import Learner, new_decision
from tightrope.learners.files import Labels, Progress, read_learner, write_learner
from tightrope.learners.mixture import Mixture, PolicyCounts
from tightrope.learners.storage import same_arrays
from tightrope.model import Plan
from tightrope.model.draft import at_stages
from tightrope.model.plan import plan_in_units
from tightrope.model.start import (
    extend_policy,
    extend_steps,
    extend_task,
    is_learned,
    trim,
    trim_task,
)
from tightrope.model.task import Task, make_task, scale_task, units_of_ranges
from tightrope.model.units import Range, Units
from tightrope.plan.bound import Bounds, bound_policy, optimistic_values
from tightrope.plan.evaluate import check_policy
from tightrope.text import counted


@final
class InteractiveLearner:
    """A learner for a real process; made by `learner`.

    Parameters
    ----------
    agent : Agent
        The learner with its beliefs and state.
    confidence : Confidence
        Which radii it uses.
    grows : bool
        Whether successor states are added as they are observed.
    is_start_learned : bool
        Whether the agent's task has an extra stage and state before the start, which neither
        episodes nor policies have here.

    Examples
    --------
    One state and two actions; the first is observed to be expensive.

    >>> import tightrope as tr
    >>> learner = tr.learner(
    ...     "OptCMDP", n_states=1, n_actions=2, horizon=1, budget=[], episodes=10,
    ...     confidence={"scale": 0.1},
    ... )
    >>> plan = learner.plan()
    >>> learner.observe(tr.Episode([0, 0], [0], cost=[0.9], constraint_cost=[]))
    >>> learner.plan().policy
    array([[[0., 1.]]])
    >>> learner.n_observed
    1
    """

    def __init__(
        self, agent: Agent, confidence: Confidence, grows: bool, is_start_learned: bool = False
    ) -> None:
        self._agent, self.confidence, self._grows = agent, confidence, grows
        self.is_start_learned = is_start_learned
        self._task = trim_task(agent.task) if is_start_learned else agent.task
        self._occupancy = np.zeros_like(agent.decision.pi)
        self._is_planned = False
        self._n_infeasible = 0
        self.labels: Labels | None = None
        self._played: PolicyCounts | None = None

    @property
    def learner(self) -> Learner:
        """The algorithm with its options."""
        return self._agent.learner

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.learner.name

    @property
    def task(self) -> Task:
        """Sizes, budgets and start, as known before the first episode.

        Its budgets and known costs are scaled to [0, 1] per step; those of plans and bounds are in
        the learner's units. Where the start distribution is learned, any state may be the first.
        """
        return self._task

    @property
    def n_observed(self) -> int:
        """Episodes observed so far."""
        return self._agent.n_observed

    @property
    def is_undecided(self) -> Bools:
        """Stages and states without a preferred action yet, (H, S).

        Several actions exist there, and none was tried, or nothing observed so far rules out that
        each of them leads to no costs.
        """
        own = self._agent.task  # with the stage before the start, where that is learned
        H, S, A = own.horizon, own.n_states, own.n_actions
        visits = self._agent.beliefs.counts.visits.reshape(-1, S, A)
        exists = own.allowed if len(own.allowed) else np.ones((1, S, A), dtype=np.bool_)
        ties = np.broadcast_to(visits.sum(axis=2) == 0, (H, S))
        problem: Any = self._agent.problem
        if isinstance(getattr(problem, "kernels", None), (Box, L1Ball)):
            uniform = np.broadcast_to(exists / exists.sum(axis=2, keepdims=True), (H, S, A))
            least = optimistic_values(problem, np.ascontiguousarray(uniform))
            ties = ties | (least == 0.0)
        whole = ties & (exists.sum(axis=2) > 1)
        return np.array(whole[1:, :-1] if self.is_start_learned else whole)

    def __repr__(self) -> str:
        task = self.task
        sizes = (
            counted(task.n_states, "state"),
            counted(task.n_actions, "action"),
            f"horizon {task.horizon}",
            counted(task.n_constraints, "constraint"),
        )
        done = f"{self.n_observed:,} of {counted(task.n_episodes, 'episode')} observed"
        return f"InteractiveLearner({self.algorithm}, {', '.join(sizes)}, {done})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import learner_card

        return learner_card(self)

    @property
    def n_infeasible(self) -> int:
        """Plans so far whose optimistic problem was infeasible."""
        return self._n_infeasible

    @property
    def units(self) -> Units:
        """Units of costs, budgets, plans and bounds."""
        if self.labels is None:
            return Units.plain(self.task.n_constraints)
        cost, *constraints = self.labels.units
        return Units(cost, tuple(constraints))

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the constraints, where they have any."""
        return () if self.labels is None else tuple(unit.name for unit in self.labels.units[1:])

    @property
    def baseline_probability(self) -> float:
        """Probability with which the planned episode plays the baseline; 0 without one."""
        return float(self._agent.decision.note.baseline)

    @property
    def plays_baseline(self) -> bool:
        """Whether the baseline was drawn for the planned episode."""
        return bool(self._agent.decision.note.plays_baseline)

    @property
    def baseline_use(self) -> Floats | None:
        """What the baseline uses of each budget at most, (I,), in the learner's units."""
        agent = self._agent
        return self.units.show_totals(agent.state.use) if len(agent.decision.baseline) else None

    @property
    def upper_use(self) -> Floats | None:
        """Upper bounds, (I,), on the planned policy's use of each budget, in the learner's units.

        Those by which the baseline's probability was chosen; None for learners without a baseline,
        and where it is played with probability 1.
        """
        decision = self._agent.decision
        has_plan = len(decision.baseline) > 0 and decision.note.baseline < 1.0
        most = np.minimum(decision.upper, self.task.horizon)
        return self.units.show_totals(most) if has_plan else None

    @property
    def has_found_baseline(self) -> bool:
        """Whether the baseline is one that the learner has found in place of the given one."""
        own = self._agent.decision.baseline
        return len(own) > 0 and not same_arrays(own, self.learner.baseline_policy(self._agent.task))

    def play_baseline(self) -> None:
        """Play the baseline in the episode that was planned last, whatever was drawn.

        It uses less than every budget, so the expected use of the episode stays within them.

        Examples
        --------
        >>> import numpy as np
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "Safe-OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.5], episodes=100,
        ...     baseline=np.full((2, 2, 2), 0.5), bound=0.5,
        ... )
        >>> plan = learner.plan()
        >>> learner.play_baseline()
        >>> learner.plays_baseline, learner.plan().policy[0, 0]
        (True, array([0.5, 0.5]))
        """
        if not len(self._agent.decision.baseline):
            raise ConfigError.about("play_baseline", more=f"{self.algorithm} has no baseline")
        self._agent.decision.note.plays_baseline = True

    def plan(self) -> Plan:
        """Return the policy of the next episode; the same one until an episode is observed.

        Where the baseline was drawn (`plays_baseline`), the policy is the baseline; values,
        multipliers and occupancy are those of the plan that it replaces.

        Returns
        -------
        Plan
            The policy, with the values that the learner expects.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
        ... )
        >>> plan = learner.plan()
        >>> plan.policy.shape, bool((learner.plan().policy == plan.policy).all())
        ((2, 2, 2), True)
        """
        if not self._is_planned:
            if self.n_observed >= self.task.n_episodes:
                raise ConfigError(
                    f"plan: all {self.task.n_episodes} episodes were observed; "
                    "radii and step sizes were made for that many",
                    argument="episodes",
                    found=self.n_observed,
                    expected=f"less than {self.task.n_episodes}",
                )
            if self._agent.decide():
                self._occupancy = self._agent.planned_occupancy()
                self._n_infeasible += int(self._agent.decision.note.is_relaxed)
            self._is_planned = True
        return self._as_plan()

    @property
    def last_plan(self) -> Plan:
        """The plan that was made last, also when all episodes were observed."""
        decision = self._agent.decision
        if not (decision.note.is_deterministic or decision.pi.any()):
            raise ConfigError.about(
                "last_plan", shown="nothing was planned yet", more="; call plan() first"
            )
        return self._as_plan()

    def observe(self, episode: Episode) -> None:
        """Observe the planned episode.

        Parameters
        ----------
        episode : Episode
            H steps, in the learner's units; an invalid one raises an error and changes nothing.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
        ... )
        >>> plan = learner.plan()
        >>> learner.observe(tr.Episode([0, 1, 1], [0, 1], cost=[0.2, 0], constraint_cost=[[0, 1]]))
        >>> learner.n_observed
        1
        """
        self._observe(episode, self.units)

    def _observe(self, episode: Episode, units: Units | None) -> None:
        if not self._is_planned:
            raise DataError.about(
                "observe",
                shown="no policy was planned for this episode",
                more="; call plan() first",
            )
        checked = check_episode(self.task, episode, units)
        # constraint costs are (H, I) here
        states, actions, cost, bounded = self._extend(
            checked.states, checked.actions, checked.cost, checked.constraint_cost.T
        )
        steps = Steps(states, actions, cost, np.ascontiguousarray(bounded.T))
        if not self._grows:
            self._require_listed(steps)
        self._agent.observe(steps, self._grows)
        if self._played is not None:
            self._played.add(self._agent.decision)
        self._is_planned = False

    def _extend(self, states: Any, actions: Any, cost: Any, bounded: Any) -> Any:
        """Return steps with the one before the start, where that is learned."""
        steps = states, actions, cost, bounded
        if not self.is_start_learned:
            return steps
        return extend_steps(*steps, self.task.n_states)

    def _extend_all(self, steps: Episodes) -> Episodes:
        parts = self._extend(steps.states, steps.actions, steps.cost, steps.constraint_cost)
        return Episodes(*parts)

    def _require_listed(self, steps: Steps) -> None:
        counts, episode = self._agent.beliefs.counts, (steps.states[None], steps.actions[None])
        bad = find_unlisted(counts, self._agent.task, *episode)[0]
        if bad.any():
            h = int(bad.argmax())
            s, a, t = steps.states[h], steps.actions[h], int(steps.states[h + 1])
            more = (
                f", a successor that the given successors rule out after state {s} and action {a}"
            )
            where = f"episode.states[h={h + 1 - self.is_start_learned}]"
            raise DataError.about(where, verb="is", found=t, more=more)

    def absorb(self, episodes: Episodes, end: End | None = None) -> None:
        """Observe episodes of other policies; none of them needs a plan before it.

        Parameters
        ----------
        episodes : Episodes
            Any number, in the learner's units; an invalid one raises an error and changes nothing.
        end : End, optional
            The state, not of the process, in which episodes that are over wait for the horizon,
            with the costs of a step in it.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
        ... )
        >>> log = tr.Episodes(
        ...     states=[[0, 1, 1], [0, 0, 1]], actions=[[0, 1], [1, 0]],
        ...     cost=[[0.2, 0.0], [1.0, 0.5]], constraint_cost=[[[0, 1]], [[1, 0]]],
        ... )
        >>> learner.absorb(log)
        >>> learner.n_observed
        2
        """
        units = self.units
        if end is not None:
            paid = zip((units.cost, *units.constraints), end.cost, strict=True)
            scaled = [unit.read_step(np.asarray(c), self.task.horizon) for unit, c in paid]
            end = End(end.state, np.array(scaled))
        self._absorb(check_episodes(self.task, episodes, units), end)

    def _absorb(self, steps: Episodes, end: End | None) -> None:
        if self.learner.read_steps is not None:
            raise ConfigError(
                f"absorb: {self.algorithm} learns only from episodes of its own policies",
                argument="algorithm",
                found=self.algorithm,
            )
        together = self.n_observed + len(steps)
        if together > self.task.n_episodes:
            raise DataError.about(
                "absorb",
                shown=f"{together} episodes with these",
                expected=f"at most {self.task.n_episodes}",
                more="; radii were made for that many",
            )
        counts = self._agent.beliefs.counts
        task, steps = self._agent.task, self._extend_all(steps)
        self._agent.set_counts(add_episodes(counts, task, steps, self._grows, end))
        self._agent.n_observed = together
        self._is_planned = False

    def settle(self, steps: int = 1000) -> Plan:
        """Return the policy to which the learner's updates converge on the episodes so far.

        A learner whose plan follows from its beliefs plans once. The dual learners change their
        multipliers after every plan, and their guarantee is about the average of the plans: on data
        that stay as they are, the average over many steps approaches the solution of the same
        problem. It is one Markov policy, that of the average occupancy. Nothing certifies how far
        it is from the optimum. A plan that was made for the next episode stays; later ones start
        from the last multipliers.

        Parameters
        ----------
        steps : int
            Steps of a dual learner, whose plans are averaged; the others plan once.

        Returns
        -------
        Plan
            The policy, with its planned values.

        Raises
        ------
        ConfigError
            For learners with a baseline, of which no single policy is the result.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptDual", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100, rho=4.0
        ... )
        >>> learner.settle(steps=50).sweeps
        50
        """
        agent, count = self._agent, whole("steps", steps)
        if len(agent.decision.baseline):
            more = f"{self.algorithm} chooses between its plan and a baseline episode by episode"
            raise ConfigError.about("settle", more=more)
        if not (self.learner.has_model and self.learner.is_due(is_fresh=False)):
            return self.plan()
        decision = new_decision(agent.task)
        status = new_record(STATUS, {"is_always_due": True})
        occupancy, value = np.zeros_like(decision.pi), np.zeros_like(decision.value)
        multiplier = np.zeros_like(decision.lam)
        block = agent.block(decision, status)
        for _ in range(count):
            decide(block)
            occupancy += self.learner.planned_occupancy(agent.problem, agent.state, decision)
            value += decision.value
            multiplier += decision.lam
        reached = occupancy.sum(axis=2, keepdims=True)
        policy = np.divide(occupancy, reached, out=decision.planned, where=reached > 0)
        average = Plan(
            policy=self._trim(policy),
            value=float(value[0] / count),
            constraint_value=value[1:] / count,
            multiplier=multiplier / count,
            gap=float("inf"),
            occupancy=self._trim(occupancy) / count,
            method=self.algorithm,
            sweeps=count,
            constraint_names=self._names,
        )
        return plan_in_units(average, self.units)

    def average(self) -> Mixture:
        """The policies of the episodes observed so far, with their shares of the episodes.

        Drawing one and following it has the average values of these episodes, which the theorems
        of the dual learners bound. Where a baseline could be drawn, plan and baseline count by
        their probabilities; episodes of `absorb` count for nothing.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=1, n_actions=2, horizon=1, budget=[], episodes=9, average=True
        ... )
        >>> for _ in range(3):
        ...     plan = learner.plan()
        ...     learner.observe(tr.Episode([0, 0], [0], cost=[0.9], constraint_cost=[]))
        >>> float(learner.average().weights.sum())
        1.0
        """
        if self._played is None:
            raise ConfigError.about(
                "average", shown="not recorded", more="; make the learner with average=True"
            )
        found = self._played.mixture()
        if not self.is_start_learned:
            return found
        return replace(found, policies=np.ascontiguousarray(found.policies[:, 1:, :-1]))

    def bound(self, policy: Any) -> Bounds:
        """Return confidence bounds on the values of a policy, from all observed episodes.

        Parameters
        ----------
        policy : (H, S, A) or (S, A) array, or (H, S) integers
            Any policy, however it was chosen; the bounds hold for all policies at once.

        Returns
        -------
        Bounds
            Lower and upper bounds on the expected cost and constraint costs.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=3, budget=[2.0], episodes=100
        ... )
        >>> learner.bound([[1.0, 0.0], [0.5, 0.5]]).cost
        array([0., 3.])
        """
        counts, kind = self._agent.beliefs.counts, self.learner.belief
        radius = 0.0 if self.labels is None else self.labels.start_radius
        task = self._agent.task
        if self.is_start_learned:
            own = self.task
            policy = extend_policy(check_policy(policy, at_stages(own.allowed, own.horizon)))
        given = self.confidence, kind, counts, policy, self.units, radius, self._names
        found = bound_policy(task, *given)
        return found.within(self.units, self.task.horizon) if self.is_start_learned else found

    def to_bytes(self) -> bytes:
        """Return the learner as bytes, as `save` writes it.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
        ... )
        >>> tr.InteractiveLearner.from_bytes(learner.to_bytes()).n_observed
        0
        """
        progress = Progress(
            self._grows,
            self._is_planned,
            bool(self._agent.status.is_fresh),
            self._n_infeasible,
            self.is_start_learned,
        )
        parts = self._occupancy, progress, self.labels, self._played
        return write_learner(self._agent, self.confidence, *parts)

    @classmethod
    def from_bytes(cls, content: bytes) -> InteractiveLearner:
        """Return the learner that `to_bytes` stored; it continues bit for bit.

        Parameters
        ----------
        content : bytes
            From `to_bytes`.

        Returns
        -------
        InteractiveLearner
            The learner.

        Raises
        ------
        StoreError
            When it is corrupt or something else.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1], episodes=9
        ... )
        >>> tr.InteractiveLearner.from_bytes(learner.to_bytes()).n_observed
        0
        """
        agent, confidence, occupancy, progress, labels, played = read_learner(content)
        made = cls(agent, confidence, progress.grows, progress.is_start_learned)
        made._occupancy, made._is_planned = occupancy, progress.is_planned
        made._n_infeasible, made.labels, made._played = progress.n_infeasible, labels, played
        return made

    def save(self, path: str | Path) -> None:
        """Write the learner to a file atomically.

        Parameters
        ----------
        path : str or Path
            An .npz of plain arrays.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1], episodes=9
        ... )
        >>> with TemporaryDirectory() as folder:
        ...     learner.save(f"{folder}/learner.npz")
        ...     again = tr.InteractiveLearner.load(f"{folder}/learner.npz")
        >>> bool((again.plan().policy == learner.plan().policy).all())
        True
        """
        put(as_path("path", path), self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> InteractiveLearner:
        """Read a learner that `save` wrote; it continues bit for bit.

        Parameters
        ----------
        path : str or Path
            From `save`.

        Returns
        -------
        InteractiveLearner
            The learner.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1], episodes=9
        ... )
        >>> with TemporaryDirectory() as folder:
        ...     learner.save(f"{folder}/learner.npz")
        ...     tr.InteractiveLearner.load(f"{folder}/learner.npz").algorithm
        'OptCMDP'
        """
        file = as_path("path", path)
        try:
            return cls.from_bytes(file.read_bytes())
        except (OSError, StoreError) as error:
            raise StoreError(
                f"{path}: cannot be read as a learner: {reason(error)}", argument=str(path)
            ).with_fields_of(error) from error

    def _trim(self, array: Floats) -> Floats:
        return trim(array) if self.is_start_learned else array

    def _as_plan(self) -> Plan:
        decision = self._agent.decision
        known = 1.0 if self.learner.has_model else np.nan
        value = known * decision.value
        plan = Plan(
            policy=self._trim(decision.policy),
            value=float(value[0]),
            constraint_value=value[1:],
            multiplier=decision.lam.copy(),
            gap=float(known * decision.note.gap),
            occupancy=self._trim(self._occupancy).copy(),
            method=self.algorithm,
            sweeps=int(decision.note.sweeps),
            is_feasible=not decision.note.is_relaxed,
            constraint_names=self._names,
        )
        return plan_in_units(plan, self.units)


def observe_scaled(learner: InteractiveLearner, episode: Episode) -> None:
    """Observe the planned episode, with costs that were scaled to [0, 1] per step before."""
    learner._observe(episode, None)


def absorb_scaled(learner: InteractiveLearner, episodes: Episodes, end: End | None = None) -> None:
    """Observe episodes of other policies, with costs that were scaled to [0, 1] before."""
    learner._absorb(check_episodes(learner.task, episodes), end)


def has_seen(
    learner: InteractiveLearner, episodes: Iterable[Episodes], start: InteractiveLearner
) -> bool:
    """Whether a learner is ``start`` after these episodes, by task, options and counts.

    Costs of the episodes, in any number of parts, are in [0, 1] per step. Bounds follow from
    these alone. Beliefs are compared too, unless they wait for visits to double; multipliers,
    logits and the last plan are not, because only a replay could tell.
    """
    own, first = learner._agent, start._agent
    if (learner.confidence, learner._grows) != (start.confidence, start._grows):
        return False
    tasks = vars(own.task), vars(first.task)
    if not all(same_arrays(tasks[0][name], tasks[1][name]) for name in tasks[0]):
        return False
    if own.settings != first.settings:
        return False
    counts, n_seen = first.beliefs.counts, first.n_observed
    for part in episodes:
        steps = learner._extend_all(check_episodes(learner.task, part))
        counts = add_episodes(counts, own.task, steps, learner._grows)
        n_seen += len(part)
    if n_seen != learner.n_observed or not same_arrays(counts, own.beliefs.counts):
        return False
    if learner.confidence.replan == "doubling":
        return True
    expected = start_beliefs(learner.learner.belief, own.task, own.radii, counts).belief
    is_entry = np.arange(counts.indices.shape[1]) < counts.indptr[:, -1:]  # else padding
    return all(
        np.array_equal(one[is_entry], other[is_entry])
        if isinstance(one, np.ndarray) and one.shape == is_entry.shape
        else same_arrays(one, other)
        for one, other in zip(expected, own.beliefs.belief, strict=True)
    )


def learner(
    algorithm: str | Learner,
    n_states: int,
    n_actions: int,
    horizon: int,
    budget: Any,
    episodes: int,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    initial: Any = 0,
    allowed: Any = None,
    cost: Any = None,
    constraint_cost: Any = None,
    stationary: bool = False,
    successors: Any = None,
    seed: int | np.random.SeedSequence | None = 0,
    cost_range: Range | None = None,
    constraint_range: Sequence[Range] | None = None,
    average: bool = False,
    **options: Any,
) -> InteractiveLearner:
    """Return a learner for a process that is known only through its episodes.

    Parameters
    ----------
    algorithm : str or Learner
        A learner such as ``tr.learners.OptDual(rho=4.0)``, or its name.
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums over the H steps, in [0, H] or in the units of the ranges.
    episodes : int
        Number of episodes K; radii and step sizes are made for it.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    initial : int, (S,) array or "learned"
        Start state, or distribution over start states. With ``"learned"`` it is not known, and
        learned in an extra stage before the first; policies and episodes do not have that stage.
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
    seed : int, SeedSequence or None
        Of the random choices of learners that make any.
    cost_range : (float, float), optional
        Least and greatest cost of one step; (0, 1) when not given. With a range, known and observed
        costs, plans and bounds are in its units.
    constraint_range : sequence of (float, float), optional
        The same for each constraint.
    average : bool
        Whether the policies played are recorded, for `InteractiveLearner.average`. A policy that
        randomizes takes memory of its own for each episode.
    **options
        Options of the learner, where it is given by name: OptDual and OptPrimalDual need ``rho``.

    Returns
    -------
    InteractiveLearner
        The learner before its first episode.

    Examples
    --------
    >>> import tightrope as tr
    >>> learner = tr.learner(
    ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
    ... )
    >>> plan = learner.plan()
    >>> plan.policy.shape
    (2, 2, 2)
    >>> learner.observe(
    ...     tr.Episode(states=[0, 1, 1], actions=[0, 1], cost=[0.2, 0], constraint_cost=[[0, 1]])
    ... )
    >>> learner.n_observed
    1
    """
    chosen = as_learner(algorithm, options)
    if not chosen.can_learn:
        raise ConfigError.about(
            "algorithm",
            found=chosen.name,
            shown=f"{chosen.name!r} is a reference for simulations, not a learner",
        )
    chosen = chosen.resolve(None)
    labels = None
    if cost_range is not None or constraint_range is not None:
        units = units_of_ranges(budget, horizon, cost_range, constraint_range)
        budget, cost, constraint_cost = scale_task(units, horizon, budget, cost, constraint_cost)
        chosen = chosen.rescale(units.constraints, horizon)
        labels = Labels((), (), (units.cost, *units.constraints))
    is_unknown = is_learned(initial)
    first = np.full(whole("n_states", n_states), 1.0 / n_states) if is_unknown else initial
    given = (first, allowed, cost, constraint_cost, stationary, successors)
    task = make_task(n_states, n_actions, horizon, budget, episodes, delta, *given)
    if is_unknown:
        chosen, task = chosen.begin_earlier(task), extend_task(task)
    radii = as_confidence(confidence)
    if radii.known_support and successors is None:
        raise ConfigError.about(
            "confidence", more="known_support is set, but no successors were given"
        )
    if cost is not None and not radii.known_costs:
        raise ConfigError.about("cost", more="given, but the confidence does not say known_costs")
    rng = np.random.default_rng(np.random.SeedSequence(as_seed("seed", seed))).spawn(1)[0]
    agent = Agent(chosen, task, radii, rng)
    made = InteractiveLearner(agent, radii, successors is None, is_unknown)
    made.labels = labels
    if flag("average", average):
        made._played = PolicyCounts(task)
    return made
