"""Learning in a Gymnasium environment, of which nothing is known but what its steps show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tightrope.arrays import whole
from tightrope.estimate.confidence import Confidence
from tightrope.interop.book import Book
from tightrope.interop.outside import A_REWARD, opened
from tightrope.interop.realised import Realised
from tightrope.model.units import Range


def learn_gymnasium(
    env: Any,
    algorithm: str = "OptCMDP",
    *,
    horizon: int,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    rho: float | None = None,
    reward_range: Range = A_REWARD,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    dual_step: float = 1.0,
    primal_step: float = 1.0,
    tolerance: float = 1e-8,
    progress: Callable[[int], None] | None = None,
) -> Realised:
    """Let a learner run in a Gymnasium environment that is known only through ``step``.

    Observations and actions are Discrete, MultiDiscrete or a Tuple of Discretes. Every
    observation, reward and cost is checked against its range; an episode that terminates early
    rests, at no reward and no cost, until the horizon.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    algorithm : str
        ``"OptCMDP"``, ``"OptCMDP-bonus"``, ``"OptDual"`` or ``"OptPrimalDual"``.
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
        Where randomness starts, the environment's included.
    delta : float
        Probability with which the learner's guarantees may fail, and the bands.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options.
    rho : float, optional
        Bound on the multipliers; OptDual and OptPrimalDual need it.
    reward_range : (float, float)
        Least and greatest reward of a step.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) when not given.
    total_range : mapping of str to (float, float), optional
        What the sum over an episode can be, of ``"reward"`` or a constraint, where that is less
        than the horizon times the range of a step; it makes the bands narrower, and is checked.
    initial : int or (n,) array, optional
        Number of the first observation, or the distribution over them; learned when not given.
    allowed : (n, A) or (H, n, A) booleans, optional
        Actions that exist where something is observed; all of them when not given, except in
        environments made from a model, which says it.
    stationary : bool
        Whether the environment is the same at every step, so that counts may be pooled (with
        ``pool`` in the confidence).
    dual_step, primal_step : float
        Factors on the paper's step sizes.
    tolerance : float
        Relative gap of each plan.
    progress : callable, optional
        Called after each episode with the number done.

    Returns
    -------
    Realised
        Realised sums of rewards and costs by episode, with confidence bands.
    """
    from tightrope.learners.begin import learner

    seed, K = whole("seed", seed, 0), whole("episodes", episodes)
    outside = opened(env, horizon, budget, costs, reward_range, cost_range, initial, allowed)
    student = learner(
        algorithm,
        n_states=outside.n_states,
        n_actions=outside.n_actions,
        horizon=outside.horizon,
        budget=outside.budget,
        episodes=K,
        delta=delta,
        confidence=confidence,
        rho=rho,
        initial=outside.initial,
        allowed=outside.allowed,
        stationary=stationary,
        dual_step=dual_step,
        primal_step=primal_step,
        tolerance=tolerance,
    )
    book = Book(outside, K, total_range)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for k in range(K):
        plan = student.plan()
        played = outside.play(plan.policy, rng)
        student.observe(played.episode)
        book.write(k, played, plan)
        if progress is not None:
            progress(k + 1)
    return book.closed(algorithm, seed, plan.policy, delta, student.confidence.words)
