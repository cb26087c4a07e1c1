"""Three states in a ring: moving has a reward and a cost, staying has neither.

::

    stay  s -> s               reward 0               cost 0
    move  s -> s + 1 mod 3     reward scale * (s+1)   cost 1

``ring`` starts in state 0 and has scale 1/3; ``ring-uniform`` starts in a uniformly random state
and has scale 1.

Zheng and Ratliff (2020), Constrained Upper Confidence Reinforcement Learning, arXiv:2001.09377;
as in Bura et al. (2022), arXiv:2112.00885 (``ring``), and Simao, Jansen, Spaan (2021), AlwaysSafe:
Reinforcement Learning without Safety Constraint Violations during Training (``ring-uniform``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightrope.envs.building import kernel
from tightrope.model import CMDP


def ring(horizon: int = 6, budget: float = 3.0) -> CMDP:
    """Ring of three states, entered at state 0, rewards up to 1.

    Parameters
    ----------
    horizon : int
        Number of steps.
    budget : float
        Expected number of moves.
    """
    return _ring(horizon, budget, 1.0 / 3.0, initial=0)


def ring_uniform(horizon: int = 6, budget: float = 3.0) -> CMDP:
    """Ring of three states, entered anywhere, rewards up to 3.

    Parameters
    ----------
    horizon : int
        Number of steps.
    budget : float
        Expected number of moves.
    """
    return _ring(horizon, budget, 1.0, initial=np.full(3, 1.0 / 3.0))


def _ring(horizon: int, budget: float, scale: float, initial: ArrayLike) -> CMDP:
    state = np.arange(3)[:, None]
    moves = np.array([[0, 1]])
    return CMDP.from_rewards(
        kernel(3, 2, [((state + moves) % 3, 1.0)]),
        scale * (state + 1) * moves,
        horizon=horizon,
        constraint_cost=np.broadcast_to(moves, (1, 3, 2)),
        budget=[budget],
        reward_range=(0.0, scale * 3),
        initial=initial,
        action_names=["stay", "move"],
        constraint_names=["moves"],
    )
