"""What a learner's rule comes to when no more episodes will follow.

OptCMDP and OptCMDP-bonus solve their problem once. The dual learners take a step of prices after
every plan, and their promise is about the average of the plans: on data that stay as they are, the
average over many steps approaches the solutions of the same two problems. It is one Markov policy,
the one of the average occupancy, because kernels of a set can be averaged by occupancy as policies
can. Nothing certifies how far it is from the optimum.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Problem
from tightrope.learners.move import new_move, policy_of
from tightrope.learners.occupancy import planned_occupancy
from tightrope.learners.steps import Memory, take_step_now
from tightrope.model import Plan


def averaged_plan(
    problem: Problem, memory: Memory, horizon: int, steps: int, algorithm: str
) -> Plan:
    """The average of that many steps of a dual learner.

    Parameters
    ----------
    problem : Problem
        What is believed; it stays as it is.
    memory : a learner's memory
        Written: prices, or prices and logits.
    horizon : int
    steps : int
        How many.
    algorithm : str
        Whose steps they are.
    """
    _, S, A = problem.cost.shape
    move = new_move(horizon, S, A, problem.budget.size)
    occupancy, value = np.zeros_like(move.pi), np.zeros_like(move.value)
    multiplier = np.zeros_like(move.lam)
    for _ in range(steps):
        take_step_now(problem, memory, move)
        occupancy += planned_occupancy(problem, memory, move)
        value += move.value
        multiplier += move.lam
    reached = occupancy.sum(axis=2, keepdims=True)
    policy = np.divide(occupancy, reached, out=policy_of(move), where=reached > 0)
    return Plan(
        policy=policy,
        value=float(value[0] / steps),
        constraint_value=value[1:] / steps,
        multiplier=multiplier / steps,
        gap=float("inf"),
        occupancy=occupancy / steps,
        method=algorithm,
        sweeps=steps,
    )
