"""Grid world: reach the goal soon, with few steps on hazardous ground.

Any map drawn in letters is a model. A move goes in the chosen direction with probability
``1 - slip`` and to each side with probability ``slip / 2``; moves into walls and off the map have
no effect::

    cost(s, a)         = 1  until the goal, which is absorbing
    hazard_k(s, a)     = 1  on ground of kind k
    sum of hazard_k   <= budget_k in expectation

The default map has three ways: straight through the hazards, past them where a slip may lead
into them, and the long way round.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.envs.building import MOVE_NAMES, kernel, read_map, require_between
from tightrope.errors import ConfigError
from tightrope.model import CMDP, Unit
from tightrope.text import counted

DEFAULT_MAP = """
..........
.#######..
.#......#.
.#.HHHH.#.
S..HHHH..G
.#.HHHH.#.
.#......#.
.########.
..........
"""
FREE, START, GOAL, WALL = ". ", "S", "G", "#"
HAZARDS = "HX123456789"


def grid(
    rows: str | Sequence[str] = DEFAULT_MAP,
    slip: float = 0.1,
    horizon: int = 36,
    budget: float | Sequence[float] = 0.1,
) -> CMDP:
    """Grid world with hazards and slip, from a map.

    Parameters
    ----------
    rows : str or sequence of str
        The map: ``S`` start, ``G`` goal, ``#`` wall, ``H`` or ``X`` hazard, ``.`` or a space free.
        The digits ``1`` to ``9`` are further kinds of hazard, each with a budget of its own. Rows
        of a text are lines, or parts between slashes; common indentation is not part of the map.
        Several starts are equally likely.
    slip : float
        Probability that a move goes to one of its two sides.
    horizon : int
        Number of steps.
    budget : float or sequence of float
        Expected steps on hazardous ground: one number for every kind of hazard, or one each, in
        the order ``H`` (which ``X`` joins), ``1``, ``2`` and so on.
    """
    require_between("slip", slip, 0.0, 1.0)
    drawn = _read(rows)
    letters, targets, cells = read_map(drawn)
    is_goal = letters == GOAL

    ahead = np.where(is_goal[:, None], np.arange(len(letters))[:, None], targets)
    sides = [(np.roll(ahead, turn, axis=1), slip / 2) for turn in (1, -1)]
    kinds = sorted(set(letters.tolist()) & set(HAZARDS.replace("X", "")), key=HAZARDS.index)
    names = ["hazard" if kind == "H" else f"hazard {kind}" for kind in kinds]
    return CMDP(
        kernel(len(letters), 4, [(ahead, 1 - slip), *sides]),
        _over_moves(~is_goal),
        np.array([_over_moves(letters == kind) for kind in kinds]),
        _budgets(budget, len(kinds)),
        horizon=horizon,
        initial=(letters == START) / np.count_nonzero(letters == START),
        constraint_names=names,
        cost_unit=Unit("steps"),
        constraint_units=[Unit(f"steps on {name}") for name in names],
        **cells,
    )


def _over_moves(is_so: Bools) -> Floats:
    return np.repeat(is_so.astype(np.float64)[:, None], len(MOVE_NAMES), axis=1)


def _budgets(budget: float | Sequence[float], n_kinds: int) -> Floats:
    budgets = np.full(n_kinds, budget) if np.ndim(budget) == 0 else np.asarray(budget, np.float64)
    if budgets.shape != (n_kinds,):
        raise ConfigError.about(
            "budget",
            shown=counted(budgets.size, "number"),
            expected=f"{n_kinds}, one a kind of hazard",
        )
    return budgets


def _read(rows: str | Sequence[str]) -> list[str]:
    """Return the rows of a map in canonical letters, checked."""
    if isinstance(rows, str):
        text = rows if "\n" in rows else rows.replace("/", "\n")
        rows = textwrap.dedent(text).strip("\n").split("\n")
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            if letter not in FREE + START + GOAL + WALL + HAZARDS:
                raise ConfigError.about(
                    "rows",
                    shown=f"letter {letter!r} at row {r}, column {c}",
                    expected="one of S, G, #, H, X, a digit from 1 to 9, or . for a free cell",
                )
        if len(row) != len(rows[0]):
            raise ConfigError.about(
                "rows",
                shown=f"row {r} has {len(row)} columns",
                expected=f"{len(rows[0])} as in row 0 (write free cells at the edge as .)",
            )
    for letter, what in ((START, "start"), (GOAL, "goal")):
        if not any(letter in row for row in rows):
            size = f"{len(rows)} rows of {len(rows[0])} columns" if len(rows) else "an empty map"
            raise ConfigError.about(
                "rows", shown=f"no {what} in {size}", expected=f"a letter {letter}"
            )
    return [row.replace(" ", ".").replace("X", "H") for row in rows]
