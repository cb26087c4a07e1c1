"""Layout: the map of a grid world, for drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Ints, as_floats, check_names
from tightrope.errors import ModelError


@dataclass(frozen=True)
class Layout:
    """A map as text and the cell of each state.

    Parameters
    ----------
    rows : tuple of str
        The map, one character per cell; ``#`` is a wall, other letters are the environment's own.
    cells : (S, 2) array
        Row and column of each state; (-1, -1) for a state that is not on the map.
    moves : tuple of (int, int)
        Rows and columns that each action moves; (0, 0) for one that stays.

    Examples
    --------
    >>> import numpy as np
    >>> import tightrope as tr
    >>> layout = tr.Layout(
    ...     rows=(".#", ".."), cells=np.array([[0, 0], [1, 0], [1, 1]]), moves=((1, 0), (0, 1))
    ... )
    >>> layout.rows[0]
    '.#'
    >>> tr.envs.build("grid").layout.rows[0]
    '..........'
    """

    rows: tuple[str, ...]
    cells: Ints  # (S, 2)
    moves: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        moves = tuple((int(down), int(right)) for down, right in _pairs("moves", self.moves))
        object.__setattr__(self, "rows", check_names("layout.rows", self.rows, ModelError))
        object.__setattr__(self, "cells", _pairs("cells", self.cells))
        object.__setattr__(self, "moves", moves)

    def require_fit(self, n_states: int, n_actions: int) -> None:
        """Raise a `ModelError` unless there is a map, a cell for every state and every move.

        Parameters
        ----------
        n_states : int
            Number of states S.
        n_actions : int
            Number of actions A.

        Examples
        --------
        >>> import tightrope as tr
        >>> layout = tr.Layout(["S.G"], [[0, 0], [0, 1], [0, 2]], [[0, -1], [0, 1]])
        >>> layout.require_fit(n_states=3, n_actions=2)
        """
        if not any(self.rows):
            raise ModelError.about(
                "layout.rows", shown=repr(self.rows), expected="a map of at least one cell"
            )
        if len(self.cells) != n_states:
            raise ModelError.about(
                "layout.cells", shown=f"{len(self.cells)} cells", expected=n_states
            )
        if len(self.moves) != n_actions:
            raise ModelError.about(
                "layout.moves", shown=f"{len(self.moves)} moves", expected=n_actions
            )
        for state, (row, column) in enumerate(self.cells):
            off_map = row == -1 and column == -1
            if not off_map and not (
                0 <= row < len(self.rows) and 0 <= column < len(self.rows[row])
            ):
                raise ModelError.about(
                    f"layout.cells[s={state}]",
                    verb="is",
                    shown=f"({row}, {column})",
                    expected="a cell of the map, or (-1, -1) for none",
                )

    def as_lists(self) -> dict[str, list[Any]]:
        """Return the layout as plain lists, for files.

        Examples
        --------
        >>> import tightrope as tr
        >>> layout = tr.Layout(["S.G"], [[0, 0], [0, 1], [0, 2]], [[0, -1], [0, 1]])
        >>> layout.as_lists()["rows"]
        ['S.G']
        """
        return {
            "rows": list(self.rows),
            "cells": self.cells.tolist(),
            "moves": [list(move) for move in self.moves],
        }


def _pairs(key: str, given: Any) -> Ints:
    """Return pairs of integers as an array."""
    values = as_floats(f"layout.{key}", given)
    is_whole = (np.abs(values) < 2**31).all() and (values == np.rint(values)).all()
    if values.ndim != 2 or values.shape[1] != 2 or not is_whole:
        raise ModelError.about(f"layout.{key}", expected="pairs of whole numbers, [row, column]")
    return values.astype(np.int64)


def layout_from(table: Any) -> Layout:
    """Return the layout of plain lists, or raise a `ModelError` that names the key."""
    known = {"rows", "cells", "moves"}
    if not isinstance(table, dict) or set(table) != known:
        raise ModelError.about("layout", expected="the keys rows, cells and moves, and no others")
    return Layout(table["rows"], table["cells"], table["moves"])
