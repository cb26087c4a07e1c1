"""Mars rover: reach the goal on ground with pits.

A move goes as chosen with probability 0.9, else in one of the four directions at random; moves off
the map have no effect. Goal and pits are absorbing::

    entering G    reward 1                  sitting in G    reward 1/H
    entering X    reward 1, cost 1          sitting in X    reward 1/H, cost 1/H

Brantley, Dudik, Lykouris, Miryoosefi, Simchowitz, Slivkins, Sun (2020), Constrained Episodic
Reinforcement Learning in Concave-Convex and Knapsack Settings, arXiv:2006.05051.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.envs.building import kernel, read_map, require_at_least, require_between
from tightrope.model import CMDP

ROWS = (
    "S.......",
    "........",
    "...X..X.",
    "........",
    "........",
    ".XX.....",
    ".X..X.X.",
    "...X...G",
)


def marsrover(chosen: float = 0.9, horizon: int = 30, budget: float = 0.3) -> CMDP:
    """Mars rover with a budget on falling into pits.

    Parameters
    ----------
    chosen : float
        Probability that the chosen move is made; otherwise one of the four, at random.
    horizon : int
        Number of steps.
    budget : float
        Expected cost of the pits.
    """
    require_between("chosen", chosen, 0.0, 1.0)
    require_at_least("horizon", horizon, 1)
    letters, target, names = read_map(ROWS)
    S, A = target.shape
    is_end = ((letters == "G") | (letters == "X"))[:, None]
    target = np.where(is_end, np.arange(S)[:, None], target)
    at_random = [(target[:, [a]], (1.0 - chosen) / A) for a in range(A)]
    transition = kernel(S, A, [(target, chosen), *at_random])

    def on_entering(is_such: Bools) -> Floats:
        entering = (transition @ is_such.astype(np.float64)).reshape(S, A)
        return np.where(is_end, is_such[:, None] / horizon, entering)

    return CMDP.from_rewards(
        transition,
        on_entering(is_end[:, 0]),
        horizon=horizon,
        constraint_cost=[on_entering(letters == "X")],
        budget=[budget],
        initial=int(np.flatnonzero(letters == "S")[0]),
        constraint_names=["pits"],
        **names,
    )
