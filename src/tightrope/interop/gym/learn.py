"""Run a learner, or a given policy, in a Gymnasium environment known only through its steps.

Regret needs the true model. Without it, the record has the realized sums of rewards and of each
cost by episode, with confidence bands on their means.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.arrays import as_floats, as_seed, check_callback, share, whole
from tightrope.belief.confidence import Confidence
from tightrope.errors import ModelError
from tightrope.interop.gym.interaction import Interaction, find_ranges
from tightrope.interop.gym.process import open_process
from tightrope.interop.gym.realized import Realized
from tightrope.model import Plan
from tightrope.model.units import Range
from tightrope.progress import working_for

if TYPE_CHECKING:
    from tightrope.experiments.rows import OnRecord
    from tightrope.learners.base import Learner

LOG = logging.getLogger(__name__)


def learn_gymnasium(
    env: Any,
    algorithm: str | Learner = "OptCMDP",
    *,
    horizon: int,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int | np.random.SeedSequence | None = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    reward_range: Range | None = None,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    progress: bool | Callable[[int], None] | None = None,
    on_record: OnRecord | None = None,
    **options: Any,
) -> Realized:
    """Run a learner in a Gymnasium environment that is known only through ``step``.

    Observations and actions are Discrete, MultiDiscrete or a Tuple of Discretes. Every
    observation, reward and cost is checked against its range; an episode that terminates early
    continues without reward and cost until the horizon.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    algorithm : str or Learner
        A learner, or its name.
    horizon : int
        Steps per episode.
    budget : float, sequence or mapping, optional
        Largest allowed expected sum of each cost over an episode: a number for the only one, one
        each, or by name. None means no constraints.
    costs : callable, array, str, or mapping of these, optional
        Cost of a step, as for `from_gymnasium`; ``info["cost"]`` by default.
    episodes : int
        Number of episodes K.
    seed : int, SeedSequence or None
        Seed of all randomness, including the environment's; None for a fresh one. ``record.seed``
        is a number that repeats the run.
    delta : float
        Probability with which the learner's guarantees, and the bands, may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options.
    reward_range : (float, float), optional
        Least and greatest reward of a step; by default those of the model for environments made
        from one, else (0, 1).
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; the default is as for rewards.
    total_range : mapping of str to (float, float), optional
        Least and greatest sum over an episode of ``"reward"`` or a constraint, if narrower than the
        horizon times the range of a step; it makes the bands narrower, and is checked.
    initial : int or (n,) array, optional
        Number of the first observation, or a distribution; learned by default.
    allowed : (n, A) or (H, n, A) booleans, optional
        Actions that exist; by default all, or those of the model for environments made from one.
    stationary : bool
        Whether the environment is the same at every step, so that counts may be pooled (with
        ``pool`` in the confidence).
    progress : bool or callable, optional
        Whether to show a bar if it takes longer than a second; by default only in notebooks. Or a
        function called after each episode with the number done.
    on_record : callable, optional
        Called after each episode with a dict: ``episode``, ``steps``, ``is_feasible``, ``reward``
        and the sum of each cost by its name.
    **options
        Options of the learner by name: OptDual and OptPrimalDual need ``rho``.

    Returns
    -------
    Realized
        Realized sums of rewards and costs by episode, with confidence bands.

    Examples
    --------
    >>> import tightrope as tr
    >>> record = tr.learn_gymnasium(
    ...     tr.to_gymnasium("ring"), "OptCMDP", horizon=6, budget=[3.0], episodes=20
    ... )
    >>> record.names, record.totals.shape
    (('reward', 'cost'), (20, 2))
    """
    interaction = begin_interaction(
        env,
        algorithm,
        horizon=horizon,
        budget=budget,
        costs=costs,
        episodes=episodes,
        seed=seed,
        delta=delta,
        confidence=confidence,
        reward_range=reward_range,
        cost_range=cost_range,
        total_range=total_range,
        initial=initial,
        allowed=allowed,
        stationary=stationary,
        **options,
    )
    return _finish(interaction, progress, on_record)


def begin_interaction(
    env: Any,
    algorithm: str | Learner,
    *,
    horizon: int,
    episodes: int,
    budget: Any = None,
    costs: Any = None,
    seed: int | np.random.SeedSequence | None = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    reward_range: Range | None = None,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Interaction:
    """Return a learner in an environment before its first episode, see `learn_gymnasium`.

    Parameters
    ----------
    env, algorithm, horizon, episodes, budget, costs, seed, delta, confidence
        As for `learn_gymnasium`, and so are those that follow.
    reward_range, cost_range, total_range, initial, allowed, stationary
        The same.
    parameters : mapping, optional
        Of the environment, where it is given by its id or by the function that makes it.
    **options
        Options of the learner by name.

    Returns
    -------
    Interaction
        The run, which `Interaction.advance` continues.
    """
    from tightrope.learners.files import Labels
    from tightrope.learners.interactive import learner

    seed, K = as_seed("seed", seed), whole("episodes", episodes)
    process = open_process(
        env,
        horizon,
        budget,
        costs,
        reward_range,
        cost_range,
        initial,
        allowed,
        parameters,
    )
    ranges = find_ranges(process, total_range)
    student = learner(
        algorithm,
        n_states=process.n_states,
        n_actions=process.n_actions,
        horizon=process.n_steps,
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
    student.labels = Labels((), (), process.units)
    words = student.algorithm, seed, delta, student.confidence.words
    return Interaction(process, student, K, ranges, *words)


def rehearse(
    env: Any,
    policy: Any,
    *,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int | np.random.SeedSequence | None = 0,
    delta: float = 0.1,
    reward_range: Range | None = None,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    progress: bool | Callable[[int], None] | None = None,
    on_record: OnRecord | None = None,
) -> Realized:
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
    seed : int, SeedSequence or None
        Seed of all randomness, including the environment's; None for a fresh one. ``record.seed``
        is a number that repeats the run.
    delta : float
        Probability with which the bands may fail.
    reward_range : (float, float), optional
        Least and greatest reward of a step; by default those of the model for environments made
        from one, else (0, 1).
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; the default is as for rewards.
    total_range : mapping of str to (float, float), optional
        As for `learn_gymnasium`.
    progress : bool or callable, optional
        Whether to show a bar if it takes longer than a second; by default only in notebooks. Or a
        function called after each episode with the number done.
    on_record : callable, optional
        Called after each episode with a dict: ``episode``, ``steps``, ``is_feasible``, ``reward``
        and the sum of each cost by its name.

    Returns
    -------
    Realized
        Realized sums of rewards and costs by episode, with confidence bands.

    Examples
    --------
    >>> import tightrope as tr
    >>> ring = tr.envs.build("ring")
    >>> plan = tr.solve(ring)
    >>> record = tr.rehearse(tr.to_gymnasium(ring), plan, budget=[3.0], episodes=50)
    >>> record.n_episodes, record.policy.shape
    (50, (6, 3, 2))
    """
    seed, K, delta = as_seed("seed", seed), whole("episodes", episodes), share("delta", delta)
    pi = as_floats("policy", policy.policy if isinstance(policy, Plan) else policy)
    if pi.ndim != 3:
        raise ModelError.about("policy", shape=pi.shape, expected="(H, S, A)")
    process = open_process(env, len(pi), budget, costs, reward_range, cost_range, None, None)
    known = (len(pi), process.over, process.n_actions)
    if pi.shape[1] < process.over or pi.shape[2] != process.n_actions:
        raise ModelError.about(
            "policy", shape=pi.shape, expected=f"{known}, further states ignored"
        )
    if not ((pi >= 0).all() and np.allclose(pi.sum(axis=2), 1.0)):
        raise ModelError.about(
            "policy", more="rows over the actions must be probabilities that add up to 1"
        )
    ranges = find_ranges(process, total_range)
    words = "given policy", seed, delta, "none"
    return _finish(Interaction(process, pi, K, ranges, *words), progress, on_record)


def _finish(
    interaction: Interaction,
    progress: bool | Callable[[int], None] | None,
    on_record: OnRecord | None,
) -> Realized:
    """Run all episodes, with progress."""
    if not isinstance(progress, bool):
        check_callback("progress", progress)
    check_callback("on_record", on_record)
    name, seed, K = interaction.algorithm, interaction.seed, interaction.n_episodes
    LOG.info("learn_gymnasium: %s, %d episodes, seed %d: started", name, K, seed)
    with working_for(progress, f"{name} in an environment", "episodes") as work:
        for k in range(K):
            interaction.advance(1)
            if on_record is not None:
                for row in interaction.rows(k):
                    on_record(row)
            if work is not None:
                work.report(k + 1, (k + 1) / K)
            elif callable(progress):
                progress(k + 1)
    LOG.info("learn_gymnasium: %s, seed %d: finished", name, seed)
    return interaction.realized()
