"""Episodes from outside, checked before anything is counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import (
    Floats,
    Ints,
    as_floats,
    require_entries,
    require_finite,
    require_range,
)
from tightrope.errors import ModelError
from tightrope.estimate.episode import Episode, Episodes
from tightrope.model.task import Task

__all__ = ["checked_episode", "checked_episodes"]


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


def checked_episodes(task: Task, episodes: Episodes) -> Episodes:
    """The episodes as arrays, or a `ModelError` that names the first bad entry."""
    if not isinstance(episodes, Episodes):
        raise ModelError(f"episodes: {type(episodes).__name__}, expected Episodes")
    H, I, K = task.horizon, task.n_constraints, len(episodes)
    states = _whole("states", episodes.states, (K, H + 1), task.n_states)
    actions = _whole("actions", episodes.actions, (K, H), task.n_actions)
    cost = _unit_costs("cost", episodes.cost, (K, H), "kh")
    bounded = _unit_costs("constraint_cost", episodes.constraint_cost, (K, I, H), "kih")
    starts = task.initial[states[:, 0]] > 0
    if not starts.all():
        k = int(starts.argmin())
        raise ModelError(
            f"episodes.states[k={k}, h=0] is {states[k, 0]}, which is not a start state"
        )
    if task.allowed.shape[0]:
        layers = np.minimum(np.arange(H), task.allowed.shape[0] - 1)
        allowed = task.allowed[layers, states[:, :-1], actions]
        if not allowed.all():
            k, h = divmod(int(allowed.argmin()), H)
            raise ModelError(
                f"episodes.actions[k={k}, h={h}] is {actions[k, h]}, "
                f"not allowed in state {states[k, h]}"
            )
    return Episodes(states, actions, cost, bounded)


def _whole(name: str, given: Any, shape: tuple[int, ...], below: int) -> Ints:
    values = np.asarray(given)
    if values.dtype.kind not in "iu" or values.shape != shape:
        raise ModelError(
            f"episodes.{name}: {values.dtype} of shape {values.shape}, "
            f"expected whole numbers of shape {shape}"
        )
    bad = (values < 0) | (values >= below)
    require_entries(f"episodes.{name}", values, bad, "kh", f"a number in [0, {below - 1}]")
    return values.astype(np.int64)


def _unit_costs(name: str, given: Any, shape: tuple[int, ...], axes: str) -> Floats:
    values = as_floats(f"episodes.{name}", given)
    if values.shape != shape:
        raise ModelError(f"episodes.{name}: shape {values.shape}, expected {shape}")
    require_range(f"episodes.{name}", values, 0.0, 1.0, axes)
    return values


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
