"""Rounds on a slippery map: often at the posts, seldom on hazardous ground, forever.

The guard walks in one of four directions and slips to each of the other three with probability
``slip`` / 3. Into a wall or off the map it stays. Long-run averages per step::

    cost     1 away from a post (``P``)
    hazards  1 on hazardous ground (``h``)                         average <= rate
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import MOVES, kernel, read_map, require_between
from tightrope.model import AverageCMDP

MAP = (
    "....hhh.",
    ".##.h.P.",
    ".##.hhh.",
    "........",
    ".hhh.##.",
    ".h.hP##.",
    ".hhh....",
)


def patrol(slip: float = 0.2, rate: float = 0.05) -> AverageCMDP:
    """Guard that walks between posts past hazards.

    Parameters
    ----------
    slip : float
        Probability of walking in another direction than chosen.
    rate : float
        Largest average share of time on hazardous ground.
    """
    require_between("slip", slip, 0.01, 0.75)
    cells = read_map(MAP)
    S, A = len(cells.letters), len(MOVES)
    outcomes = [
        (cells.targets[:, [move]], np.where(np.arange(A) == move, 1.0 - slip, slip / (A - 1))[None])
        for move in range(A)
    ]
    away = np.repeat((cells.letters != "P")[:, None], A, axis=1)
    hazardous = np.repeat((cells.letters == "h")[:, None], A, axis=1)
    return AverageCMDP.from_costs(
        kernel(S, A, outcomes),
        away.astype(float),
        hazardous[None].astype(float),
        [rate],
        cost_name="time away",
        constraint_names=["hazards"],
        **cells.names,
    )
