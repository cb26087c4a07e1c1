"""Perishable stock: keep the shelf full enough, throw little away.

Units live ``lifetime`` days. The state counts the units with 1, 2, ..., lifetime - 1 days left, and
an order arrives fresh at once. Each of ``customers`` wants one unit with probability ``buys``;
the oldest units go first, and what is left of those with one day is thrown away::

    demand ~ Binomial(customers, buys)
    cost   = unit_cost * ordered + shortage_cost * E[customers sent away]
    waste  = E[units thrown away]                       sum <= budget in expectation
"""

from __future__ import annotations

from math import comb, log10

import numpy as np

from tightrope.arrays import Ints
from tightrope.envs.building import kernel, require_at_least, require_between
from tightrope.errors import ConfigError
from tightrope.model import CMDP

MOST_CUSTOMERS = 1000  # beyond, binomial coefficients overflow
MOST_STATES = 20_000


def perishable(
    lifetime: int = 3,
    max_order: int = 5,
    customers: int = 6,
    buys: float = 0.3,
    unit_cost: float = 1.0,
    shortage_cost: float = 6.0,
    horizon: int = 14,
    budget: float = 1.0,
) -> CMDP:
    """Perishable inventory with a budget on waste.

    Parameters
    ----------
    lifetime : int
        Days a unit can be sold, at least 2; there are ``(max_order + 1) ** (lifetime - 1)`` states.
    max_order : int
        Most units ordered per day; the first day starts with an empty shelf.
    customers : int
        Customers per day, at most 1000.
    buys : float
        Probability that a customer wants a unit.
    unit_cost : float
        Price of a unit.
    shortage_cost : float
        Loss for a customer sent away.
    horizon : int
        Number of days.
    budget : float
        Expected units thrown away.
    """
    require_at_least("lifetime", lifetime, 2)
    require_at_least("max_order", max_order, 1)
    require_at_least("unit_cost", unit_cost, 0.0)
    require_at_least("shortage_cost", shortage_cost, 0.0)
    require_between("customers", customers, 1, MOST_CUSTOMERS)
    require_between("buys", buys, 0.0, 1.0)
    stock, ordered = _states(lifetime, max_order), np.arange(max_order + 1)
    S, A = len(stock), len(ordered)
    shelf = np.empty((S, A, lifetime), dtype=np.int64)
    shelf[:, :, :-1] = stock[:, None, :]
    shelf[:, :, -1] = ordered

    place_value = (max_order + 1) ** np.arange(lifetime - 1)
    outcomes, missed, waste = [], np.zeros((S, A)), np.zeros((S, A))
    for demand in range(customers + 1):
        chance = comb(customers, demand) * buys**demand * (1.0 - buys) ** (customers - demand)
        left = _after_sales(shelf, demand)
        missed += chance * np.maximum(demand - shelf.sum(axis=2), 0)
        waste += chance * left[:, :, 0]
        outcomes.append((left[:, :, 1:] @ place_value, chance))
    return CMDP.from_costs(
        kernel(S, A, outcomes),
        unit_cost * ordered + shortage_cost * missed,
        [waste],
        [budget],
        horizon,
        cost_range=(0.0, unit_cost * max_order + shortage_cost * customers),
        constraint_range=[(0.0, float(max_order))],
        cost_name="money",
        state_names=["stock " + "/".join(map(str, ages)) for ages in stock],
        action_names=[f"order {units}" for units in ordered],
        constraint_names=["units wasted"],
    )


def _states(lifetime: int, max_order: int) -> Ints:
    """Units by days left, (S, lifetime - 1); the first column counts those with one day."""
    magnitude = (lifetime - 1) * log10(max_order + 1)
    if magnitude > log10(MOST_STATES):
        found = f"{lifetime} days with max_order={max_order} make some 10**{magnitude:.1f} states"
        raise ConfigError.about("lifetime", shown=found, expected=f"at most {MOST_STATES}")
    numbers = np.arange((max_order + 1) ** (lifetime - 1))[:, None]
    digits: Ints = numbers // (max_order + 1) ** np.arange(lifetime - 1) % (max_order + 1)
    return digits


def _after_sales(shelf: Ints, demand: int) -> Ints:
    """Return the units left of each age when the oldest are sold first."""
    older = np.cumsum(shelf, axis=2) - shelf
    left: Ints = shelf - np.clip(demand - older, 0, shelf)
    return left
