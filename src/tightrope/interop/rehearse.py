"""A given policy played in a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tightrope.arrays import as_floats, share, whole
from tightrope.errors import ModelError
from tightrope.interop.book import Book
from tightrope.interop.outside import A_REWARD, opened
from tightrope.interop.realised import Realised
from tightrope.model import Plan
from tightrope.model.units import Range


def rehearse(
    env: Any,
    policy: Any,
    *,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    reward_range: Range = A_REWARD,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Realised:
    """Play a given policy in a Gymnasium environment: how do expectation and practice compare?

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
        Where randomness starts, the environment's included.
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
    outside = opened(env, len(pi), budget, costs, reward_range, cost_range, None, None)
    known = (len(pi), outside.over, outside.n_actions)
    if pi.shape[1] < outside.over or pi.shape[2] != outside.n_actions:
        raise ModelError(f"policy: shape {pi.shape}, expected {known}, further states ignored")
    if not ((pi >= 0).all() and np.allclose(pi.sum(axis=2), 1.0)):
        raise ModelError("policy: rows over the actions must be probabilities that add up to 1")
    book = Book(outside, K, total_range)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    shifted = np.concatenate((pi[:1], pi))
    for k in range(K):
        played = outside.play(shifted, rng)
        book.write(k, played, None)
        if progress is not None:
            progress(k + 1)
    return book.closed("given policy", seed, shifted, delta, "none")
