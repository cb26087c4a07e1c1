"""Replacement of an aging machine, with discounted costs and few failures.

The machine has an age 0..``oldest``. Each period it is kept or replaced by a new one. A machine
kept at age n fails with probability ``hazard`` times (n + 1) / (oldest + 1) and is then replaced at
the higher cost of a failure; otherwise it ages, up to the oldest age::

    cost      replacement 1, failure ``failure_cost``, upkeep that grows with age
    failures  1 if it fails                       discounted sum <= failures in expectation
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, require_at_least, require_between, require_chances
from tightrope.model import DiscountedCMDP


def replacement(
    oldest: int = 19,
    hazard: float = 0.5,
    upkeep: float = 0.2,
    failure_cost: float = 1.5,
    discount: float = 0.95,
    failures: float = 1.0,
) -> DiscountedCMDP:
    """Machine to be replaced before it fails too often.

    Parameters
    ----------
    oldest : int
        Largest age; the machine starts new.
    hazard : float
        Probability of a failure at the largest age.
    upkeep : float
        Cost per period of keeping a machine of the largest age.
    failure_cost : float
        Cost of a failure; a planned replacement costs 1.
    discount : float
        Weight of the next period relative to this one.
    failures : float
        Largest expected discounted number of failures.
    """
    require_at_least("oldest", oldest, 1)
    require_chances(hazard=hazard)
    require_between("upkeep", upkeep, 0.0, 1.0)
    require_at_least("failure_cost", failure_cost, 1.0)
    S = oldest + 1
    age = np.arange(S)[:, None]
    wear = (age + 1) / S
    keeps = np.array([[True, False]])
    fails = np.where(keeps, hazard * wear, 0.0)
    older = np.where(keeps, np.minimum(age + 1, oldest), 0)
    cost = np.where(keeps, upkeep * wear + failure_cost * fails, 1.0)
    return DiscountedCMDP.from_costs(
        kernel(S, 2, [(older, 1.0 - fails), (0, fails)]),
        cost,
        fails[None],
        [failures],
        discount,
        cost_range=(0.0, max(1.0, upkeep + failure_cost)),
        cost_name="money",
        state_names=[f"age {n}" for n in range(S)],
        action_names=["keep", "replace"],
        constraint_names=["failures"],
    )
