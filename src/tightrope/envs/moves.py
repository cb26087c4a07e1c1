"""Up, right, down and left on a map: the states, where each move leads, and the drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Ints
from tightrope.model import Layout

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
MOVE_NAMES = ("up", "right", "down", "left")
WALL = "#"


def cells_of(rows: Sequence[str]) -> Ints:
    """Row and column of each cell that is no wall, (S, 2), in reading order."""
    letters = np.array([list(row) for row in rows])
    return np.argwhere(letters != WALL)


def destinations(rows: Sequence[str], cells: Ints) -> Ints:
    """State that each move leads to, (S, 4); a move into a wall or off the map stays."""
    number = np.full((len(rows), len(rows[0])), -1)
    number[cells[:, 0], cells[:, 1]] = np.arange(len(cells))
    targets = cells[:, None, :] + np.array(MOVES)
    on_map = np.all((targets >= 0) & (targets < number.shape), axis=2)
    inside = np.where(on_map[:, :, None], targets, cells[:, None, :])
    reached = number[inside[:, :, 0], inside[:, :, 1]]
    return np.where(reached >= 0, reached, np.arange(len(cells))[:, None])


def name_cells(cells: Ints) -> list[str]:
    """Names of states by row and column, counted from zero: ``r2c5``."""
    return [f"r{row}c{column}" for row, column in cells]


def layout_of(rows: Sequence[str], cells: Ints) -> Layout:
    """The map for drawing."""
    return Layout(tuple(rows), cells, MOVES)
