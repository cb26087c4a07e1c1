"""OptCMDP as the paper plans it: one extended linear programme an episode, through HiGHS.

For comparison only; `learners.opt_cmdp` gives the same plans by column generation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, Problem
from tightrope.errors import ModelError
from tightrope.kernels.occupancy import policy_of
from tightrope.plan.generate import best_response, least_violation


class ProgrammePlan(NamedTuple):
    """What a linear programme decides for one episode."""

    policy: Floats  # (H, S, A)
    value: Floats  # (I+1,) planned cost, then planned constraint values
    multiplier: Floats  # (I,)
    is_relaxed: bool  # infeasible, so that violation was made least


def plan_by_lp(problem: Problem, horizon: int) -> ProgrammePlan:
    """Plan of the extended linear programme; of the least violation where it is infeasible."""
    from tightrope.plan.extended_lp import extended_lp, full_box  # HiGHS loads on use

    if not isinstance(problem.kernels, Box):
        raise ModelError("method 'lp' plans over boxes; this confidence has another set of kernels")
    boxed = problem._replace(kernels=full_box(problem.kernels, problem.initial.size))
    answer = extended_lp(boxed, horizon)
    is_relaxed = answer is None
    if answer is None:
        least = least_violation(boxed, horizon, np.ones(boxed.budget.size), 1e-8).violation
        boxed = boxed._replace(budget=boxed.budget + least + 1e-8)
        answer = extended_lp(boxed, horizon)
    if answer is None:
        raise ModelError("method 'lp': HiGHS finds no policy even at the least violation")
    _, state = best_response(boxed, horizon, answer.multiplier)
    policy = np.empty_like(answer.occupancy)
    q = answer.rounded
    policy_of(q, state.choice, policy)
    spent = [
        float((q * np.broadcast_to(cost, q.shape)).sum())
        for cost in (problem.cost, *problem.constraint_cost)
    ]
    return ProgrammePlan(policy, np.array(spent), answer.multiplier, is_relaxed)
