"""Common parts of builders: kernels from outcomes, moves on a map, checks of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.arrays import Ints
from tightrope.errors import ConfigError
from tightrope.model import Layout

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
MOVE_NAMES = ("up", "right", "down", "left")
WALL = "#"


def require_between(name: str, value: float, low: float, high: float) -> None:
    """Raise unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise ConfigError.about(
            name,
            verb="is",
            found=value,
            shown=f"{value:g}",
            expected=f"a number in [{low:g}, {high:g}]",
        )


def require_chances(**chances: float) -> None:
    """Raise unless all are probabilities."""
    for name, chance in chances.items():
        require_between(name, chance, 0.0, 1.0)


def require_at_least(name: str, value: float, least: float) -> None:
    """Raise unless ``value >= least``."""
    if not value >= least:
        raise ConfigError.about(
            name, verb="is", found=value, shown=f"{value:g}", expected=f"at least {least:g}"
        )


def kernel(n_states: int, n_actions: int, outcomes: Iterable[tuple[ArrayLike, ArrayLike]]) -> Any:
    """Return a sparse kernel (S*A, S) from next states with their probabilities.

    Each member of an outcome broadcasts to (S, A). The probabilities of a pair add up to one over
    the outcomes; outcomes that lead to the same state are added.
    """
    from scipy.sparse import csr_array

    shape = (n_states, n_actions)
    targets, chances = zip(*outcomes, strict=True)
    columns = np.concatenate([np.broadcast_to(target, shape).ravel() for target in targets])
    data = np.concatenate(
        [np.broadcast_to(np.asarray(chance, dtype=np.float64), shape).ravel() for chance in chances]
    )
    rows = np.tile(np.arange(n_states * n_actions), len(targets))
    return csr_array((data, (rows, columns)), shape=(n_states * n_actions, n_states))


class Map(NamedTuple):
    """The cells of a map that are not walls, in reading order, as states."""

    letters: NDArray[np.str_]  # (S,)
    targets: Ints  # (S, 4), where each move leads; into a wall or off the map it stays
    names: dict[str, Any]  # arguments of a model: names of states and moves, and the layout


def read_map(rows: Sequence[str]) -> Map:
    """Return the states of a map, named by row and column (``r2c5``), and where moves lead."""
    letters = np.array([list(row) for row in rows])
    cells = np.argwhere(letters != WALL)
    states = np.arange(len(cells))
    number = np.full(letters.shape, -1)
    number[tuple(cells.T)] = states
    targets = cells[:, None, :] + np.array(MOVES)
    on_map = np.all((targets >= 0) & (targets < letters.shape), axis=2)
    inside = np.where(on_map[:, :, None], targets, cells[:, None, :])
    reached = number[inside[:, :, 0], inside[:, :, 1]]
    names = {
        "state_names": [f"r{row}c{column}" for row, column in cells],
        "action_names": MOVE_NAMES,
        "layout": Layout(tuple(rows), cells, MOVES),
    }
    return Map(letters[tuple(cells.T)], np.where(reached >= 0, reached, states[:, None]), names)
