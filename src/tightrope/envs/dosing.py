"""Dosing a drug: shrink the tumor without weeks of severe side effects.

The state is the tumor's size b = 0 .. sizes - 1 and the toxicity x = 0 .. 3, the last severe.
A dose shrinks the tumor by a step with probability ``kill`` and raises toxicity with probability
``harm``; otherwise the tumor grows with probability ``growth`` (``relapse`` once it is gone) and
toxicity recedes with probability ``recovery``. The two are independent::

    dose    none   low   high
    kill    0.00  0.30   0.60
    harm    0.00  0.25   0.60

    cost      b / (sizes - 1), the tumor burden
    severe    1 in a week with severe toxicity           sum <= budget in expectation
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.envs.building import kernel, require_at_least, require_chances
from tightrope.model import CMDP, Unit

DOSES = ("no dose", "low dose", "high dose")
KILL = np.array([[0.0, 0.3, 0.6]])
HARM = np.array([[0.0, 0.25, 0.6]])
SEVERE = 3


def dosing(
    sizes: int = 6,
    growth: float = 0.3,
    relapse: float = 0.05,
    recovery: float = 0.4,
    horizon: int = 24,
    budget: float = 1.5,
) -> CMDP:
    """Drug dosing with a toxicity budget.

    Parameters
    ----------
    sizes : int
        Sizes of the tumor from none to full, at least 2; treatment starts at the size
        ``sizes // 2``, without toxicity.
    growth : float
        Probability that a tumor the dose did not shrink grows in a week.
    relapse : float
        Probability that a tumor that is gone comes back in a week.
    recovery : float
        Probability that toxicity the dose did not raise recedes in a week.
    horizon : int
        Number of weeks.
    budget : float
        Expected weeks with severe toxicity.
    """
    require_at_least("sizes", sizes, 2)
    require_chances(growth=growth, relapse=relapse, recovery=recovery)
    S, A = sizes * (SEVERE + 1), len(DOSES)
    size, toxicity = np.divmod(np.arange(S)[:, None], SEVERE + 1)
    shrinks = np.where(size > 0, KILL, 0.0)
    grows = np.where(size > 0, (1.0 - KILL) * growth, relapse)
    outcomes = [
        (next_size * (SEVERE + 1) + next_toxicity, chance * also)
        for next_size, chance in _steps(size, shrinks, grows, sizes - 1)
        for next_toxicity, also in _steps(toxicity, (1.0 - HARM) * recovery, HARM, SEVERE)
    ]
    burden = size / (sizes - 1)
    return CMDP(
        kernel(S, A, outcomes),
        np.repeat(burden, A, axis=1),
        [np.repeat(toxicity == SEVERE, A, axis=1)],
        [budget],
        horizon=horizon,
        initial=(sizes // 2) * (SEVERE + 1),
        state_names=[f"size {b}, toxicity {x}" for b in range(sizes) for x in range(SEVERE + 1)],
        action_names=DOSES,
        constraint_names=["severe toxicity"],
        cost_unit=Unit("weeks of full tumor burden"),
        constraint_units=[Unit("weeks of severe toxicity")],
    )


def _steps(level: Ints, down: Floats, up: Floats, top: int) -> list[tuple[Ints, Floats]]:
    """Return one step down, up or none, clipped to 0 .. top, with their probabilities."""
    return [
        (np.maximum(level - 1, 0), down),
        (np.minimum(level + 1, top), up),
        (level, 1.0 - down - up),
    ]
