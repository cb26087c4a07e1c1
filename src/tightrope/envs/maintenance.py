"""A machine that wears out: service it, or run it and repair it, within a cap on downtime.

A working machine has wear w = 0 .. levels - 1. A shift of running wears it one level further with
probability ``wear`` and breaks it with probability ``fragility * w / (levels - 1)``; a worn machine
also spoils some of what it makes. A service makes it as new and takes half a shift. A broken
machine stands still: a repair succeeds within the shift with probability ``repair`` and leaves the
machine half worn; a replacement always makes it new, at a higher cost::

    cost      run: scrap * w / (levels - 1)    service: 2    repair: 1    replace: 10
    downtime  run: 0                         service: 1/2    repair: 1    replace: 1
    sum of downtime <= budget in expectation
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import Floats
from tightrope.envs.building import kernel, require_at_least, require_between, require_chances
from tightrope.model import CMDP

ACTIONS = ("run", "service", "repair", "replace")
RUN, SERVICE, REPAIR, REPLACE = range(4)
PRICE = {SERVICE: 2.0, REPAIR: 1.0, REPLACE: 10.0}
DOWNTIME = (0.0, 0.5, 1.0, 1.0)


def maintenance(
    levels: int = 6,
    wear: float = 0.4,
    fragility: float = 0.3,
    repair: float = 0.4,
    scrap: float = 1.0,
    horizon: int = 40,
    budget: float = 4.0,
) -> CMDP:
    """Machine maintenance with a downtime cap.

    Parameters
    ----------
    levels : int
        Levels of wear of a working machine, at least 2; the machine starts new.
    wear : float
        Probability that a shift wears the machine by one level.
    fragility : float
        Probability that a fully worn machine breaks in a shift; ``wear + fragility`` is at most 1.
    repair : float
        Probability that a repair succeeds within a shift.
    scrap : float
        Cost of what a fully worn machine spoils in a shift, at most 10.
    horizon : int
        Number of shifts.
    budget : float
        Expected shifts of downtime.
    """
    require_at_least("levels", levels, 2)
    require_chances(wear=wear, fragility=fragility, repair=repair)
    require_between("wear + fragility", wear + fragility, 0.0, 1.0)
    require_between("scrap", scrap, 0.0, PRICE[REPLACE])
    S, A = levels + 1, len(ACTIONS)
    worn = np.arange(levels) / (levels - 1)
    cost = np.zeros((S, A))
    cost[:-1, RUN] = scrap * worn
    for action, price in PRICE.items():
        cost[:, action] = price
    is_working = np.arange(S)[:, None] < levels
    return CMDP.from_costs(
        kernel(S, A, _fates(levels, wear, fragility * worn, repair)),
        cost,
        [np.broadcast_to(DOWNTIME, (S, A))],
        [budget],
        horizon,
        cost_range=(0.0, PRICE[REPLACE]),
        cost_name="money",
        allowed=np.where(is_working, [[True, True, False, False]], [[False, False, True, True]]),
        state_names=[*(f"wear {w}" for w in range(levels)), "broken"],
        action_names=ACTIONS,
        constraint_names=["shifts of downtime"],
    )


def _fates(
    levels: int, wear: float, breaking: Floats, repair: float
) -> list[tuple[ArrayLike, Floats]]:
    """Return the outcomes of a shift: wear, break, success of the action, or no change."""
    state = np.arange(levels + 1)[:, None]
    wears, breaks, succeeds = np.zeros((3, levels + 1, len(ACTIONS)))
    wears[: levels - 1, RUN] = wear
    breaks[:levels, RUN] = breaking
    succeeds[:] = [0.0, 1.0, repair, 1.0]
    return [
        (np.minimum(state + 1, levels), wears),
        (levels, breaks),
        ([[0, 0, levels // 2, 0]], succeeds),
        (state, 1.0 - wears - breaks - succeeds),
    ]
