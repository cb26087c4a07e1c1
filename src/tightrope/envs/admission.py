"""A queue that never closes: cheap service, short delays, few jobs lost.

In each slot at most one job arrives (probability ``arrival``) and, if any waits, at most one is
finished (probability ``slow`` or ``fast``). Long-run averages per slot::

    cost     power of the server's setting while a job is served
    jobs     jobs in the system; by Little's law the mean delay times the rate of admitted jobs
    lost     jobs that arrive and are refused, or find the system full

After the queues of Altman (1999), Constrained Markov Decision Processes.
"""

from __future__ import annotations

import numpy as np

from tightrope.envs.building import kernel, require_at_least, require_between, require_chances
from tightrope.model import AverageCMDP

ACTIONS = ("admit, slow", "admit, fast", "refuse, slow", "refuse, fast")


def admission(
    capacity: int = 20,
    arrival: float = 0.5,
    slow: float = 0.4,
    fast: float = 0.8,
    slow_power: float = 0.2,
    jobs: float = 2.0,
    lost: float = 0.05,
) -> AverageCMDP:
    """Queue with admission and service control, with budgets on its averages.

    Parameters
    ----------
    capacity : int
        Most jobs in the system; it starts empty.
    arrival : float
        Probability that a job arrives in a slot.
    slow, fast : float
        Probability that the job in service is finished, by setting of the server.
    slow_power : float
        Cost per slot of slow service; fast service costs 1.
    jobs : float
        Largest average number of jobs in the system.
    lost : float
        Largest average number of jobs lost per slot.
    """
    require_at_least("capacity", capacity, 1)
    require_chances(arrival=arrival, slow=slow, fast=fast)
    require_between("slow_power", slow_power, 0.0, 1.0)
    S, A = capacity + 1, len(ACTIONS)
    present = np.arange(S)[:, None]
    admits = np.array([[True, True, False, False]])
    speed = np.array([[slow, fast, slow, fast]])
    power = np.array([[slow_power, 1.0, slow_power, 1.0]])
    finish = np.where(present > 0, speed, 0.0)
    outcomes = []
    refused = np.zeros((S, A))
    for done, chance_done in ((0, 1.0 - finish), (1, finish)):
        after = np.maximum(present - done, 0)
        enters = admits & (after < capacity)
        refused += arrival * chance_done * ~enters
        outcomes.append((after + enters, arrival * chance_done))
        outcomes.append((after, (1.0 - arrival) * chance_done))
    return AverageCMDP.from_costs(
        kernel(S, A, outcomes),
        np.where(present > 0, power, 0.0),
        np.array([np.repeat(present, A, axis=1), refused]),
        [jobs, lost],
        constraint_range=[(0.0, float(capacity)), (0.0, 1.0)],
        cost_name="cost of service",
        state_names=[f"{n} jobs" for n in range(S)],
        action_names=ACTIONS,
        constraint_names=["jobs", "lost jobs"],
    )
