"""Cliff walking with costs: the short way runs along the edge.

From the bottom left to the bottom right of a grid, moving up, right, down or left; moves off the
map have no effect. Every step has reward -1 until the goal, which ends both reward and cost. Moving
onto the cliff (the bottom row between start and goal) has reward -100 and leads back to the start.
Moving onto an interior cell costs its row number, counted from 0 at the top: the closer to the
cliff, the more expensive::

    ......
    .1111.
    .2222.
    SXXXXG

Simao, Jansen, Spaan (2021), AlwaysSafe: Reinforcement Learning without Safety Constraint
Violations during Training, after Sutton and Barto, example 6.6.
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, read_map, require_between
from tightrope.model import CMDP

FALL = -100.0


def cliff(n_rows: int = 4, n_columns: int = 6, horizon: int = 15, budget: float = 2.0) -> CMDP:
    """Cliff walking with a budget on closeness to the edge.

    Parameters
    ----------
    n_rows : int
        Rows of the grid, from 3 to 11.
    n_columns : int
        Columns of the grid, from 3 to 100,000.
    horizon : int
        Number of steps.
    budget : float
        Expected sum of the row numbers of the interior cells moved onto.
    """
    require_between("n_rows", n_rows, 3, 11)
    require_between("n_columns", n_columns, 3, 100_000)
    rows = _draw(n_rows, n_columns)
    letters, target, names = read_map(rows)
    start, goal = np.flatnonzero(letters == "S")[0], np.flatnonzero(letters == "G")[0]

    falls = letters[target] == "X"
    row_number = np.array([int(letter) if letter.isdigit() else 0 for letter in letters])
    reward, cost = np.where(falls, FALL, -1.0), row_number[target].astype(np.float64)
    target = np.where(falls, start, target)
    target[goal], reward[goal], cost[goal] = goal, 0.0, 0.0
    return CMDP.from_rewards(
        kernel(len(letters), 4, [(target, 1.0)]),
        reward,
        horizon=horizon,
        constraint_cost=[cost],
        budget=[budget],
        reward_range=(FALL, 0.0),
        constraint_range=[(0.0, n_rows - 2.0)],
        initial=int(start),
        constraint_names=["closeness to the edge"],
        **names,
    )


def _draw(n_rows: int, n_columns: int) -> list[str]:
    between = n_columns - 2
    interior = ["." + str(row) * between + "." for row in range(1, n_rows - 1)]
    return ["." * n_columns, *interior, "S" + "X" * between + "G"]
