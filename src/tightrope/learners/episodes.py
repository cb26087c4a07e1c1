"""Episodes from outside, checked before anything is counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Ints,
    as_floats,
    entry,
    require_entries,
    require_finite,
    require_range,
)
from tightrope.errors import ModelError
from tightrope.estimate.episode import Episode, Episodes
from tightrope.model.task import Task


def checked_episode(task: Task, episode: Episode) -> Episode:
    """The episode as arrays, steps first, or a `ModelError` that names the first bad entry."""
    if not isinstance(episode, Episode):
        raise ModelError(f"episode: {type(episode).__name__}, expected an Episode")
    states, actions, cost, bounded = _checked("episode", task, episode, ())
    return Episode(states, actions, cost, np.ascontiguousarray(bounded.T))


def checked_episodes(task: Task, episodes: Episodes) -> Episodes:
    """The episodes as arrays, or a `ModelError` that names the first bad entry."""
    if not isinstance(episodes, Episodes):
        raise ModelError(f"episodes: {type(episodes).__name__}, expected Episodes")
    try:
        lead = (len(episodes),)
    except TypeError as error:
        raise ModelError(f"episodes.states: {error}, expected one row an episode") from error
    return Episodes(*_checked("episodes", task, episodes, lead))


def _checked(
    name: str, task: Task, given: Episode | Episodes, lead: tuple[int, ...]
) -> tuple[Ints, Ints, Floats, Floats]:
    """States, actions, cost and constraint costs of one episode, or of ``lead`` many."""
    H, I, k = task.horizon, task.n_constraints, "k" * len(lead)
    states = _whole(f"{name}.states", given.states, (*lead, H + 1), task.n_states, f"{k}h")
    actions = _whole(f"{name}.actions", given.actions, (*lead, H), task.n_actions, f"{k}h")
    cost = _unit_costs(f"{name}.cost", given.cost, (*lead, H), f"{k}h")
    bounded = _unit_costs(f"{name}.constraint_cost", given.constraint_cost, (*lead, I, H), f"{k}ih")
    is_start = task.initial[states[..., :1]] > 0
    if not is_start.all():
        where, state = _first_bad(f"{name}.states", states[..., :1], is_start, f"{k}h")
        raise ModelError(f"{where} is {state}, which is not a start state")
    if task.allowed.shape[0]:
        layers = np.minimum(np.arange(H), task.allowed.shape[0] - 1)
        is_allowed = task.allowed[layers, states[..., :-1], actions]
        if not is_allowed.all():
            where, action = _first_bad(f"{name}.actions", actions, is_allowed, f"{k}h")
            _, state = _first_bad(f"{name}.states", states[..., :-1], is_allowed, f"{k}h")
            raise ModelError(f"{where} is {action}, not allowed in state {state}")
    return states, actions, cost, bounded


def _first_bad(name: str, values: Ints, is_good: Bools, axes: str) -> tuple[str, int]:
    """The first entry that is not good, in words, and its value."""
    where = np.unravel_index(int(is_good.argmin()), is_good.shape)
    return entry(name, [int(place) for place in where], axes), int(values[where])


def _whole(name: str, given: Any, shape: tuple[int, ...], below: int, axes: str) -> Ints:
    expected = f"whole numbers of shape {shape}" if shape[1:] else f"{shape[0]} whole numbers"
    try:
        values = np.asarray(given)
    except ValueError:
        raise ModelError(f"{name}: ragged, expected {expected}") from None
    if values.dtype.kind not in "iu" or values.shape != shape:
        raise ModelError(f"{name}: {values.dtype} of shape {values.shape}, expected {expected}")
    bad = (values < 0) | (values >= below)
    require_entries(name, values, bad, axes, f"a number in [0, {below - 1}]")
    return values.astype(np.int64)


def _unit_costs(name: str, given: Any, shape: tuple[int, ...], axes: str) -> Floats:
    values = as_floats(name, given)
    if values.size == 0 and 0 in shape:
        return np.zeros(shape)
    if values.shape != shape:
        raise ModelError(f"{name}: shape {values.shape}, expected {shape}")
    require_finite(name, values, axes)
    require_range(name, values, 0.0, 1.0, axes)
    return values
