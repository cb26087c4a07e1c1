"""Inventory: order enough to sell, within a budget for ordering and holding.

Stock 0 .. 5; an order a is at most 5 - s and arrives at once::

    demand     0    1    2    3    4    5
    chance   0.3  0.2  0.2  0.2 0.05 0.05

    next s = max(0, s + a - demand)
    reward = E[min(demand, s + a)] / 1.65
    cost   = ([4 + 2a if a > 0] + s + a) / 19

Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland (2022), arXiv:2112.00885.
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel
from tightrope.model import CMDP

MOST = 5
DEMAND = np.array([0.3, 0.2, 0.2, 0.2, 0.05, 0.05])
MEAN_DEMAND = 1.65
HIGHEST_COST = 19.0


def inventory(horizon: int = 7, budget: float = 3.5) -> CMDP:
    """Inventory control with a budget on ordering and holding costs.

    Parameters
    ----------
    horizon : int
        Number of days; the first begins without stock.
    budget : float
        Expected ordering and holding cost, in units of the most expensive day.
    """
    stock, order = np.arange(MOST + 1)[:, None], np.arange(MOST + 1)[None, :]
    offered = stock + order
    demands = np.arange(MOST + 1)
    outcomes = [
        (np.clip(offered - demand, 0, MOST), chance)
        for demand, chance in zip(demands, DEMAND, strict=True)
    ]
    sold = np.minimum(offered[:, :, None], demands) @ DEMAND
    spent = np.where(order > 0, 4 + 2 * order, 0) + offered
    is_room = offered <= MOST
    return CMDP.from_rewards(
        kernel(MOST + 1, MOST + 1, outcomes),
        np.minimum(sold / MEAN_DEMAND, 1.0),
        horizon=horizon,
        constraint_cost=[np.where(is_room, spent / HIGHEST_COST, 0.0)],
        budget=[budget],
        allowed=is_room,
        state_names=[f"stock {s}" for s in range(MOST + 1)],
        action_names=[f"order {a}" for a in range(MOST + 1)],
        constraint_names=["ordering and holding"],
        reward_name="sales in days of mean demand",
    )
