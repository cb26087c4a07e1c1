"""An inventory with a service level: little money, most of the demand served, forever.

At most ``capacity`` units are in stock. Each day an order arrives at once, then a demand of 0 to
``most`` units, all equally likely, is served from the stock as far as possible::

    cost     ``order_cost`` per order, 1 per unit ordered, ``holding`` per unit left overnight
    served   units of demand served                      average >= level times the mean demand
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, require_at_least, require_between
from tightrope.model import AverageCMDP


def service_level(
    capacity: int = 12,
    most: int = 4,
    order_cost: float = 3.0,
    holding: float = 0.2,
    level: float = 0.95,
) -> AverageCMDP:
    """Inventory whose average service has a floor.

    Parameters
    ----------
    capacity : int
        Most units in stock; it starts empty.
    most : int
        Largest demand of a day.
    order_cost : float
        Fixed cost of an order.
    holding : float
        Cost per unit and night.
    level : float
        Least share of the demand that is served on average.
    """
    require_at_least("capacity", capacity, 1)
    require_at_least("most", most, 1)
    require_at_least("order_cost", order_cost, 0.0)
    require_at_least("holding", holding, 0.0)
    require_between("level", level, 0.0, 1.0)
    S = A = capacity + 1
    stock, order = np.arange(S)[:, None], np.arange(A)[None]
    allowed = stock + order <= capacity
    held = np.minimum(stock + order, capacity)
    chance = 1.0 / (most + 1)
    demands = range(most + 1)
    left = [np.maximum(held - demand, 0) for demand in demands]
    served = chance * sum(held - rest for rest in left)
    kept = chance * sum(left)
    cost = order_cost * (order > 0) + order + holding * kept
    return AverageCMDP.from_rewards(
        kernel(S, A, [(rest, chance) for rest in left]),
        -cost,
        served[None],
        [level * most / 2],
        reward_range=(-(order_cost + capacity * (1.0 + holding)), 0.0),
        utility_range=[(0.0, float(most))],
        reward_name="profit without sales",
        allowed=allowed,
        state_names=[f"{n} in stock" for n in range(S)],
        action_names=[f"order {n}" for n in range(A)],
        constraint_names=["units served"],
    )
