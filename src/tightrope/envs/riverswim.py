"""RiverSwim with a budget on strokes to the right.

Drifting left with the current always succeeds. A stroke to the right (against it) moves right,
stays or moves left::

                   right   stay   left
    left bank       0.60   0.40    -
    in between      0.35   0.60   0.05
    right bank       -     0.60   0.40

Drifting on the left bank has a small reward, a stroke on the right bank a large one; every stroke
counts one against the budget.

Strehl and Littman (2008), doi:10.1016/j.jcss.2007.08.009; probabilities of Osband, Russo and
Van Roy (2013), arXiv:1306.0940. The budget is this library's.
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, require_at_least
from tightrope.model import CMDP

DRIFT, SWIM = 0, 1


def riverswim(n_states: int = 6, horizon: int = 20, budget: float = 12.0) -> CMDP:
    """Constrained RiverSwim.

    Parameters
    ----------
    n_states : int
        Places from the left bank to the right one, at least 2; episodes start at the left bank.
    horizon : int
        Number of steps.
    budget : float
        Expected number of strokes to the right.
    """
    require_at_least("n_states", n_states, 2)
    place = np.arange(n_states)[:, None]
    left, right = np.maximum(place - 1, 0), np.minimum(place + 1, n_states - 1)
    ahead = np.full((n_states, 1), 0.35)
    back = np.full((n_states, 1), 0.05)
    ahead[0], back[0] = 0.6, 0.0
    ahead[-1], back[-1] = 0.0, 0.4
    swims = np.array([[False, True]])
    transition = kernel(
        n_states,
        2,
        [
            (left, np.where(swims, back, 1.0)),
            (place, np.where(swims, 1.0 - ahead - back, 0.0)),
            (right, np.where(swims, ahead, 0.0)),
        ],
    )
    reward = np.zeros((n_states, 2))
    reward[0, DRIFT], reward[-1, SWIM] = 0.005, 1.0
    return CMDP.from_rewards(
        transition,
        reward,
        horizon=horizon,
        constraint_cost=np.broadcast_to(swims, (1, n_states, 2)).astype(np.float64),
        budget=[budget],
        state_names=[f"place {n}" for n in range(n_states)],
        action_names=["drift", "swim"],
        constraint_names=["strokes"],
    )
