"""Episodes from outside, checked before anything is counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Ints, as_floats, require_finite, require_range
from tightrope.errors import ModelError
from tightrope.estimate.episode import Episode
from tightrope.model.task import Task

__all__ = ["checked_episode"]


def checked_episode(task: Task, episode: Episode) -> Episode:
    """The episode as arrays, steps first, or a `ModelError` that names the first bad entry."""
    if not isinstance(episode, Episode):
        raise ModelError(f"episode: {type(episode).__name__}, expected an Episode")
    H, I = task.horizon, task.n_constraints
    states = _numbers("states", episode.states, H + 1, task.n_states)
    actions = _numbers("actions", episode.actions, H, task.n_actions)
    cost = as_floats("episode.cost", episode.cost)
    bounded = as_floats("episode.constraint_cost", episode.constraint_cost)
    if I == 0 and bounded.size == 0:
        bounded = bounded.reshape(0, H)
    if cost.shape != (H,):
        raise ModelError(f"episode.cost: shape {cost.shape}, expected {(H,)}")
    if bounded.shape != (I, H):
        raise ModelError(f"episode.constraint_cost: shape {bounded.shape}, expected {(I, H)}")
    for name, values, axes in (("cost", cost, "h"), ("constraint_cost", bounded, "ih")):
        require_finite(f"episode.{name}", values, axes)
        require_range(f"episode.{name}", values, 0.0, 1.0, axes)
    if not task.initial[states[0]] > 0:
        raise ModelError(f"episode.states[h=0] is {states[0]}, which is not a start state")
    for h in range(H):
        layer = min(h, task.allowed.shape[0] - 1)
        if layer >= 0 and not task.allowed[layer, states[h], actions[h]]:
            raise ModelError(
                f"episode.actions[h={h}] is {actions[h]}, not allowed in state {states[h]}"
            )
    return Episode(states, actions, cost, np.ascontiguousarray(bounded.T))


def _numbers(name: str, given: Any, length: int, below: int) -> Ints:
    try:
        values = np.asarray(given)
    except ValueError:
        raise ModelError(f"episode.{name}: ragged, expected {length} whole numbers") from None
    if values.dtype.kind not in "iu" or values.shape != (length,):
        raise ModelError(
            f"episode.{name}: {values.dtype} of shape {values.shape}, "
            f"expected {length} whole numbers"
        )
    require_range(f"episode.{name}", values.astype(np.float64), 0, below - 1, "h")
    return values.astype(np.int64)
