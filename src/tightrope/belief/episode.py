"""Episode and Episodes: observed data, and the checks made on them before they are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

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
from tightrope.errors import DataError
from tightrope.model.task import Task
from tightrope.model.units import Unit, Units


@final
@dataclass(frozen=True)
class Episode:
    """One episode of H steps.

    Parameters
    ----------
    states : (H+1,) whole numbers
        The states visited, the one after the last step included.
    actions : (H,) whole numbers
        The actions taken.
    cost : (H,) array
        Observed costs, in [0, 1] or in the range given to the learner.
    constraint_cost : (I, H) array
        Observed constraint costs, likewise.

    Examples
    --------
    Two steps with one constraint:

    >>> import tightrope as tr
    >>> episode = tr.Episode(
    ...     states=[0, 1, 1], actions=[0, 1], cost=[0.2, 0.0], constraint_cost=[[0.0, 1.0]]
    ... )
    >>> sum(episode.cost)
    0.2
    """

    states: Any  # (H+1,)
    actions: Any  # (H,)
    cost: Any  # (H,)
    constraint_cost: Any  # (I, H)


@final
@dataclass(frozen=True)
class Episodes:
    """K episodes of H steps each, in the order in which they happened.

    Parameters
    ----------
    states : (K, H+1) whole numbers
        The states visited, the one after the last step included.
    actions : (K, H) whole numbers
        The actions taken.
    cost : (K, H) array
        Observed costs, in [0, 1] or in the range given to the learner.
    constraint_cost : (K, I, H) array
        Observed constraint costs, likewise.

    Examples
    --------
    >>> import numpy as np
    >>> import tightrope as tr
    >>> learner = tr.learner("OptCMDP", n_states=2, n_actions=2, horizon=1, budget=[1], episodes=9)
    >>> episodes = tr.Episodes(
    ...     states=np.array([[0, 1], [0, 0]]),
    ...     actions=np.array([[0], [1]]),
    ...     cost=np.array([[0.2], [0.4]]),
    ...     constraint_cost=np.array([[[0.0]], [[1.0]]]),
    ... )
    >>> learner.absorb(episodes)
    >>> learner.n_observed
    2
    """

    states: Any  # (K, H+1)
    actions: Any  # (K, H)
    cost: Any  # (K, H)
    constraint_cost: Any  # (K, I, H)

    def __len__(self) -> int:
        return len(self.states)

    def __iter__(self) -> Iterator[Episode]:
        for episode in zip(self.states, self.actions, self.cost, self.constraint_cost, strict=True):
            yield Episode(*episode)


class End(NamedTuple):
    """The state that an episode which is over stays in, by its first action: known, not learned."""

    state: int
    cost: Floats  # (I+1,) cost and constraint costs of a step in it, in [0, 1]


def check_episode(task: Task, episode: Episode, units: Units | None = None) -> Episode:
    """The episode as arrays, steps first, or a `DataError` that names the first bad entry.

    Costs are in these units, in [0, 1] by default, and become costs on the internal scale.
    """
    if not isinstance(episode, Episode):
        raise DataError.about("episode", shown=type(episode).__name__, expected="an Episode")
    states, actions, cost, bounded = _check_steps("episode", task, episode, (), units)
    return Episode(states, actions, cost, np.ascontiguousarray(bounded.T))


def check_episodes(task: Task, episodes: Episodes, units: Units | None = None) -> Episodes:
    """The episodes as arrays, or a `DataError` that names the first bad entry.

    Units are as for `check_episode`.
    """
    if not isinstance(episodes, Episodes):
        raise DataError.about("episodes", shown=type(episodes).__name__, expected="Episodes")
    try:
        lead = (len(episodes),)
    except TypeError as error:
        raise DataError.about(
            "episodes.states", shown=str(error), expected="one row an episode"
        ) from error
    return Episodes(*_check_steps("episodes", task, episodes, lead, units))


def _check_steps(
    name: str,
    task: Task,
    given: Episode | Episodes,
    lead: tuple[int, ...],
    units: Units | None,
) -> tuple[Ints, Ints, Floats, Floats]:
    """States, actions, cost and constraint costs of one episode, or of ``lead`` many."""
    H, I, k = task.horizon, task.n_constraints, "k" * len(lead)
    states = _check_indices(f"{name}.states", given.states, (*lead, H + 1), task.n_states, f"{k}h")
    actions = _check_indices(f"{name}.actions", given.actions, (*lead, H), task.n_actions, f"{k}h")
    units = units or Units.plain(I)
    cost = _check_costs(f"{name}.cost", given.cost, (*lead, H), f"{k}h", [units.cost])
    bounded = _check_costs(
        f"{name}.constraint_cost",
        given.constraint_cost,
        (*lead, I, H),
        f"{k}ih",
        units.constraints,
    )
    is_start = task.initial[states[..., :1]] > 0
    if not is_start.all():
        where, state = _first_bad(f"{name}.states", states[..., :1], is_start, f"{k}h")
        raise DataError.about(where, verb="is", found=state, more=", which is not a start state")
    if task.allowed.shape[0]:
        layers = np.minimum(np.arange(H), task.allowed.shape[0] - 1)
        is_allowed = task.allowed[layers, states[..., :-1], actions]
        if not is_allowed.all():
            where, action = _first_bad(f"{name}.actions", actions, is_allowed, f"{k}h")
            _, state = _first_bad(f"{name}.states", states[..., :-1], is_allowed, f"{k}h")
            more = f", not allowed in state {state}"
            raise DataError.about(where, verb="is", found=action, more=more)
    return states, actions, cost, bounded


def _first_bad(name: str, values: Ints, is_good: Bools, axes: str) -> tuple[str, int]:
    """The first entry that is not good, in words, and its value."""
    where = np.unravel_index(int(is_good.argmin()), is_good.shape)
    return entry(name, [int(place) for place in where], axes), int(values[where])


def _check_indices(name: str, given: Any, shape: tuple[int, ...], below: int, axes: str) -> Ints:
    expected = f"whole numbers of shape {shape}" if shape[1:] else f"{shape[0]} whole numbers"
    try:
        values = np.asarray(given)
    except ValueError:
        raise DataError.about(name, shown="ragged", expected=expected) from None
    if values.dtype.kind not in "iu" or values.shape != shape:
        raise DataError.about(
            name, shown=f"{values.dtype} of shape {values.shape}", expected=expected
        )
    bad = (values < 0) | (values >= below)
    require_entries(name, values, bad, axes, f"a number in [0, {below - 1}]", error=DataError)
    return values.astype(np.int64)


def _check_costs(
    name: str, given: Any, shape: tuple[int, ...], axes: str, units: Sequence[Unit]
) -> Floats:
    values = as_floats(name, given, DataError)
    if values.size == 0 and 0 in shape:
        return np.zeros(shape)
    if values.shape != shape:
        raise DataError.about(name, shape=values.shape, expected=shape)
    require_finite(name, values, axes, error=DataError)
    if all(unit.is_plain for unit in units):
        require_range(name, values, 0.0, 1.0, axes, error=DataError)
        return values
    H = shape[-1]
    rows = values.reshape(-1, len(units), H)
    read = [unit.read_step(rows[:, i], H) for i, unit in enumerate(units)]
    scaled: Floats = np.stack(read, axis=1).reshape(shape)
    outside = (scaled < 0) | (scaled > 1)
    first = units[int(outside.argmax()) // H % len(units)]
    low, high = sorted(first.show_step(np.array([0.0, 1.0]), H).tolist())
    expected = f"a number in [{low:g}, {high:g}]"
    require_entries(name, values, outside, axes, expected, error=DataError)
    return scaled
