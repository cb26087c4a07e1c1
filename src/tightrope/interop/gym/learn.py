"""Run a learner, or a given policy, in a Gymnasium environment known only through its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tightrope.arrays import Floats, as_floats, share, whole
from tightrope.belief.confidence import Confidence
from tightrope.errors import ModelError
from tightrope.interop.gym.process import REWARD_RANGE, Played, Process, open_process
from tightrope.interop.gym.realised import TAKEN, Realised
from tightrope.model import Plan
from tightrope.model.units import Range, required_range
from tightrope.text import guess

if TYPE_CHECKING:
    from tightrope.learners.base import Learner

if TYPE_CHECKING:
    from tightrope.learners.base import Learner

ROUNDING = 1e-9


def learn_gymnasium(
    env: Any,
    algorithm: str | Learner = "OptCMDP",
    *,
    horizon: int,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    reward_range: Range = REWARD_RANGE,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Realised:
    """Run a learner in a Gymnasium environment that is known only through ``step``.

    Observations and actions are Discrete, MultiDiscrete or a Tuple of Discretes. Every
    observation, reward and cost is checked against its range; an episode that terminates early
    rests, at no reward and no cost, until the horizon.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    algorithm : str or Learner
        A learner, or its name.
    horizon : int
        Steps of an episode.
    budget : float, sequence or mapping, optional
        Largest allowed expected sum of each cost over an episode: a number for the only one, one
        each, or by name. None means no constraints.
    costs : callable, array, str, or mapping of these, optional
        What a step costs; ``info["cost"]`` when not given. As for `from_gymnasium`.
    episodes : int
        Number of episodes K.
    seed : int
        Seed of the randomness, the environment's included.
    delta : float
        Probability with which the learner's guarantees may fail, and the bands.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options.
    reward_range : (float, float)
        Least and greatest reward of a step.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) when not given.
    total_range : mapping of str to (float, float), optional
        Least and greatest sum over an episode of ``"reward"`` or a constraint, where that is less
        than the horizon times the range of a step; it makes the bands narrower, and is checked.
    initial : int or (n,) array, optional
        Number of the first observation, or the distribution over them; learned when not given.
    allowed : (n, A) or (H, n, A) booleans, optional
        Actions that exist where something is observed; all of them when not given, except in
        environments made from a model, which says it.
    stationary : bool
        Whether the environment is the same at every step, so that counts may be pooled (with
        ``pool`` in the confidence).
    progress : callable, optional
        Called after each episode with the number done.
    **options
        Options of the learner by name: OptDual and OptPrimalDual need ``rho``.

    Returns
    -------
    Realised
        Realised sums of rewards and costs by episode, with confidence bands.
    """
    from tightrope.learners.interactive import learner

    seed, K = whole("seed", seed, 0), whole("episodes", episodes)
    process = open_process(env, horizon, budget, costs, reward_range, cost_range, initial, allowed)
    student = learner(
        algorithm,
        n_states=process.n_states,
        n_actions=process.n_actions,
        horizon=process.horizon,
        budget=process.budget,
        episodes=K,
        delta=delta,
        confidence=confidence,
        initial=process.initial,
        allowed=process.allowed,
        stationary=stationary,
        seed=seed,
        **options,
    )
    recorder = Recorder(process, K, total_range)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for k in range(K):
        plan = student.plan()
        played = process.play(plan.policy, rng)
        student.observe(played.episode)
        recorder.write(k, played, plan)
        if progress is not None:
            progress(k + 1)
    return recorder.finish(student.algorithm, seed, plan.policy, delta, student.confidence.words)


def rehearse(
    env: Any,
    policy: Any,
    *,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    reward_range: Range = REWARD_RANGE,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Realised:
    """Run a given policy in a Gymnasium environment, to compare its sums with expectations.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    policy : Plan or (H, S, A) array
        Probability of each action, by step and observation; H is the horizon.
    budget : float, sequence or mapping, optional
        As for `learn_gymnasium`.
    costs : callable, array, str, or mapping of these, optional
        As for `learn_gymnasium`.
    episodes : int
        Number of episodes.
    seed : int
        Seed of the randomness, the environment's included.
    delta : float
        Probability with which the bands may miss.
    reward_range : (float, float)
        Least and greatest reward of a step.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) when not given.
    total_range : mapping of str to (float, float), optional
        As for `learn_gymnasium`.
    progress : callable, optional
        Called after each episode with the number done.
    """
    seed, K, delta = whole("seed", seed, 0), whole("episodes", episodes), share("delta", delta)
    pi = as_floats("policy", policy.policy if isinstance(policy, Plan) else policy)
    if pi.ndim != 3:
        raise ModelError(f"policy: shape {pi.shape}, expected (H, S, A)")
    process = open_process(env, len(pi), budget, costs, reward_range, cost_range, None, None)
    known = (len(pi), process.over, process.n_actions)
    if pi.shape[1] < process.over or pi.shape[2] != process.n_actions:
        raise ModelError(f"policy: shape {pi.shape}, expected {known}, further states ignored")
    if not ((pi >= 0).all() and np.allclose(pi.sum(axis=2), 1.0)):
        raise ModelError("policy: rows over the actions must be probabilities that add up to 1")
    recorder = Recorder(process, K, total_range)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    shifted = np.concatenate((pi[:1], pi))
    for k in range(K):
        played = process.play(shifted, rng)
        recorder.write(k, played, None)
        if progress is not None:
            progress(k + 1)
    return recorder.finish("given policy", seed, shifted, delta, "none")


@final
class Recorder:
    """Collects the sums of K episodes in a process and checks them against their ranges."""

    def __init__(self, process: Process, K: int, total_range: Mapping[str, Range] | None) -> None:
        self._process, n = process, len(process.quantities)
        self._names = tuple(name for name, _, _ in process.quantities)
        for name in self._names[1:]:
            if name in TAKEN:
                raise ModelError(f"costs: {name!r} is a column of the record; call it otherwise")
        ends = [(low, high) for _, low, high in process.quantities]
        self._ranges = process.n_steps * np.array(ends, dtype=np.float64)
        for name, given in (total_range or {}).items():
            if name not in self._names:
                raise ModelError(
                    f"total_range: {name!r} is unknown{guess(name, self._names)}; "
                    f"there are {', '.join(self._names)}"
                )
            self._ranges[self._names.index(name)] = required_range(f"total_range[{name!r}]", given)
        self._totals, self._planned = np.zeros((K, n)), np.full((K, n), np.nan)
        self._steps, self._is_feasible = np.zeros(K, dtype=np.int64), np.ones(K, dtype=np.bool_)

    def write(self, k: int, played: Played, plan: Plan | None) -> None:
        """Record episode k, and what the learner's plan expected of it."""
        self._totals[k] = np.append(played.reward, played.costs)
        self._steps[k] = played.steps
        for name, total, (low, high) in zip(
            self._names, self._totals[k], self._ranges, strict=True
        ):
            slack = ROUNDING * (1.0 + abs(low) + abs(high))
            if not low - slack <= total <= high + slack:
                raise ModelError(
                    f"episode {k + 1}: {name} adds up to {total:g}, "
                    f"expected a number in total_range=({low:g}, {high:g})"
                )
        if plan is not None:
            expected = (plan.value, *plan.constraint_value)
            self._planned[k] = [
                unit.show(total) for unit, total in zip(self._process.units, expected, strict=True)
            ]
            self._is_feasible[k] = plan.is_feasible

    def finish(
        self, algorithm: str, seed: int, policy: Floats, delta: float, confidence: str
    ) -> Realised:
        """The record of all episodes; ``policy`` is the last one, over the process."""
        process, H = self._process, self._process.n_steps
        return Realised(
            algorithm=algorithm,
            seed=seed,
            names=self._names,
            totals=self._totals,
            ranges=self._ranges,
            budget=np.array([rule.budget for rule in process.rules], dtype=np.float64),
            steps=self._steps,
            planned=self._planned,
            is_feasible=self._is_feasible,
            policy=policy[len(policy) - H :, : process.over],
            delta=delta,
            confidence=confidence,
        )
