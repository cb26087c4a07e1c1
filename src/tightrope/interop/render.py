"""Where an environment is, as text and as a picture; no drawing library is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import check_choice
from tightrope.errors import ModelError
from tightrope.model import CMDP, Layout

PIXELS = 24  # a side of a cell
WHO = "@"
FREE = ". "
# colours of Okabe and Ito, paler for ground
GROUND = {"#": (89, 89, 89), "S": (246, 221, 168), "G": (158, 219, 199)}
PLAIN, HAZARD, LINE, AGENT = (255, 255, 255), (238, 178, 146), (217, 217, 217), (0, 114, 178)


def render_modes(cmdp: CMDP, wanted: str | None) -> list[str]:
    """What `render` can give of a model, or a `ModelError` when what is wanted is not among it.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    wanted : str or None
        A mode, or None for no rendering.
    """
    modes = ["ansi"] if cmdp.layout is None else ["ansi", "rgb_array"]
    if wanted is not None:
        check_choice("render_mode", wanted, modes)
    return modes


def written_map(cmdp: CMDP, state: int, stage: int, action: int) -> str:
    """A line about the step and, for a grid world, the map with ``@`` where the walker is.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    state, stage : int
        Where it is.
    action : int
        The one taken last; negative before the first.
    """
    last = f" after {cmdp.action_names[action]!r}" if action >= 0 else ""
    said = f"step {stage} of {cmdp.horizon}: {cmdp.state_names[state]}{last}"
    if cmdp.layout is None:
        return f"{said}\n"
    rows = [list(row) for row in cmdp.layout.rows]
    row, column = _cell(cmdp.layout, state)
    if row >= 0:
        rows[row][column] = WHO
    return "\n".join([said, *map("".join, rows)]) + "\n"


def drawn_map(cmdp: CMDP, state: int) -> NDArray[np.uint8]:
    """The map of a grid world, (height, width, 3), with a disc where the walker is.

    Parameters
    ----------
    cmdp : CMDP
        A model with a layout.
    state : int
        Where it is.
    """
    if cmdp.layout is None:
        raise ModelError("layout: the model has no map to draw")
    rows = cmdp.layout.rows
    picture = np.empty((len(rows) * PIXELS, max(map(len, rows)) * PIXELS, 3), dtype=np.uint8)
    picture[:] = GROUND["#"]
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            colour = GROUND.get(letter, PLAIN if letter in FREE else HAZARD)
            cell = _part(picture, r, c)
            cell[:] = LINE
            cell[:-1, :-1] = colour
    place = _cell(cmdp.layout, state)
    if place[0] >= 0:
        _part(picture, *place)[_disc()] = AGENT
    return picture


def _cell(layout: Layout, state: int) -> tuple[int, int]:
    row, column = np.asarray(layout.cells)[state]
    return int(row), int(column)


def _part(picture: NDArray[np.uint8], row: int, column: int) -> NDArray[np.uint8]:
    return picture[row * PIXELS : (row + 1) * PIXELS, column * PIXELS : (column + 1) * PIXELS]


def _disc() -> Any:
    offset = np.arange(PIXELS) - (PIXELS - 2) / 2
    return np.hypot(*np.meshgrid(offset, offset)) < 0.33 * PIXELS
