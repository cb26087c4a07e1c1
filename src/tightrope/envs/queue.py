"""A queue with admission and service control: short lines, few refusals, little energy.

In each slot at most one job arrives (probability ``arrival``) and, if any waits, at most one is
finished (probability ``slow`` or ``fast``, by the setting of the server). With n jobs in the
system::

    after  = n - [a job is finished]
    next n = after + [a job arrives, was to be admitted, and after < capacity]

    cost     n, the jobs in the system
    refused  1 if a job arrives and is rejected              sum <= refusals in expectation
    energy   power of the setting while a job is served      sum <= energy in expectation

After the queues of Altman (1999), Constrained Markov Decision Processes.
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, require_at_least, require_between, require_chances
from tightrope.model import CMDP

ACTIONS = ("admit, slow", "admit, fast", "refuse, slow", "refuse, fast")


def queue(
    capacity: int = 10,
    arrival: float = 0.5,
    slow: float = 0.3,
    fast: float = 0.7,
    slow_power: float = 0.2,
    horizon: int = 40,
    refusals: float = 2.0,
    energy: float = 14.0,
) -> CMDP:
    """Queue with admission and service control under two budgets.

    Parameters
    ----------
    capacity : int
        Most jobs in the system; it starts empty.
    arrival : float
        Probability that a job arrives in a slot.
    slow, fast : float
        Probability that the job in service is finished, by setting of the server.
    slow_power : float
        Energy per slot of slow service; fast service takes 1.
    horizon : int
        Number of slots.
    refusals : float
        Expected number of jobs that may be refused.
    energy : float
        Expected energy that may be spent.
    """
    require_at_least("capacity", capacity, 1)
    require_chances(arrival=arrival, slow=slow, fast=fast)
    require_between("slow_power", slow_power, 0.0, 1.0)
    S, A = capacity + 1, len(ACTIONS)
    jobs = np.arange(S)[:, None]
    admits = np.array([[True, True, False, False]])
    speed = np.array([[slow, fast, slow, fast]])
    power = np.array([[slow_power, 1.0, slow_power, 1.0]])
    finish = np.where(jobs > 0, speed, 0.0)

    outcomes = []
    refused = np.zeros((S, A))
    for done, chance_done in ((0, 1.0 - finish), (1, finish)):
        after = np.maximum(jobs - done, 0)
        enters = admits & (after < capacity)
        refused += arrival * chance_done * ~enters
        outcomes.append((after + enters, arrival * chance_done))
        outcomes.append((after, (1.0 - arrival) * chance_done))
    return CMDP.from_costs(
        kernel(S, A, outcomes),
        np.repeat(jobs, A, axis=1),
        [refused, np.where(jobs > 0, power, 0.0)],
        [refusals, energy],
        horizon,
        cost_range=(0.0, float(capacity)),
        cost_name="job-slots of waiting",
        state_names=[f"{n} jobs" for n in range(S)],
        action_names=ACTIONS,
        constraint_names=["refused jobs", "energy"],
    )
