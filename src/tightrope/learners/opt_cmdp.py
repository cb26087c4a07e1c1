"""OptCMDP: the best policy over all models that may still be true, budgets kept in that model.

Each episode solves one constrained problem over the confidence set, with optimistic costs::

    pi_k, p_k = argmin over pi and p in the set of  V(c_low; pi, p)
                subject to                          V(d_low_i; pi, p) <= budget_i   for every i

The paper pays for this with a linear programme over S^2 A H variables; here it is solved exactly by
column generation (SPEC A5.4), warm from the last episode's policies and prices. Cost and violation
of every single episode are bounded in sum, without cancelling.

Off the good event, or with radii made smaller, the problem may be infeasible. Then the violation is
made least, and cost least at that violation (SPEC A5.5), and the episode is counted. States that
the plan does not reach play the best response to its prices (SPEC A5.3).

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 4; SPEC A7.1 and its errata.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.kernels.columns import LOWER, N_SWEEPS, UPPER, Columns, begin, columns
from tightrope.kernels.compiled import compiled
from tightrope.kernels.copying import copy
from tightrope.kernels.generation import AT_EDGE, INFEASIBLE, OPTIMAL, RUNNING, advance
from tightrope.kernels.occupancy import follow, policy_of
from tightrope.kernels.pivot import violation
from tightrope.learners.move import (
    BOUND,
    GAP,
    HAS_CHANGED,
    IS_DETERMINISTIC,
    IS_RELAXED,
    SWEEPS,
    Move,
)

SLACK = 1e-9  # violation that counts as none, relative to the least budget
LEAST_BUDGET = 1e-5  # of the horizon: what smaller budgets are measured by
MOST_SWEEPS = 10_000


class PlanMemory(NamedTuple):
    """The last episode's policies and prices, from which the next plan starts, and scratch."""

    columns: Columns
    budget: Floats  # (I,) as given, or relaxed while infeasible
    q: Floats  # (H, S, A)
    flow: Floats  # (H, 0)
    reach: Floats  # (2, S)
    tolerance: Floats  # (1,)


def new_plan_memory(problem: Problem, horizon: int, tolerance: float) -> PlanMemory:
    """Memory before the first episode."""
    _, S, A = problem.cost.shape
    return PlanMemory(
        columns=columns(problem, horizon, 16 + 8 * problem.budget.size),
        budget=problem.budget.copy(),
        q=np.zeros((horizon, S, A)),
        flow=np.zeros((horizon, 0)),
        reach=np.zeros((2, S)),
        tolerance=np.array([tolerance]),
    )


@compiled
def recover(problem: Problem, memory: PlanMemory, move: Move) -> None:
    """Markov policy and planned values of the mixture that the master ended with."""
    c = memory.columns
    memory.q[:] = 0.0
    move.value[:] = 0.0
    for r in range(c.master.basis.size):
        j, weight = c.master.basis[r], c.master.weights[r]
        if j < c.master.points.shape[0] and weight > 0.0:
            follow(
                problem.kernels,
                problem.initial,
                c.actions[j],
                c.orders[j],
                weight,
                memory.q,
                memory.flow,
                memory.reach,
                c.work,
            )
            for k in range(move.value.size):
                move.value[k] += weight * c.master.points[j, k]
    policy_of(memory.q, c.choice, move.pi)


def step(problem: Problem, memory: PlanMemory, move: Move) -> None:
    """One episode's plan; where it is infeasible, again with the least violation allowed."""
    c = memory.columns
    more = 0.0
    sweeps = 0
    status = INFEASIBLE
    is_relaxed = False
    tries = 0
    while status in (INFEASIBLE, AT_EDGE) and tries < 5:
        slack = SLACK
        for i in range(problem.budget.size):
            memory.budget[i] = problem.budget[i] + more
            least = LEAST_BUDGET * memory.q.shape[0]
            slack = min(slack, SLACK * max(abs(problem.budget[i]), least))
        eased = Problem(
            problem.kernels,
            problem.initial,
            problem.cost,
            problem.constraint_cost,
            memory.budget,
            problem.allowed,
        )
        begin(eased, c)
        status = RUNNING
        while status == RUNNING and c.tally[N_SWEEPS] < MOST_SWEEPS:
            status = advance(eased, c, memory.tolerance[0], slack, MOST_SWEEPS)
        sweeps += c.tally[N_SWEEPS]
        is_relaxed = is_relaxed or status == INFEASIBLE
        # the least violation, and a hair more so that rounding does not refuse it again
        more += violation(c.master) + 10.0**tries * slack
        tries += 1
    recover(problem, memory, move)
    copy(c.lam, move.lam)
    move.facts[GAP] = c.level[UPPER] - c.level[LOWER] if status == OPTIMAL else np.inf
    move.facts[BOUND] = np.inf if is_relaxed else c.level[LOWER]
    move.facts[IS_RELAXED] = 1.0 if is_relaxed else 0.0
    move.facts[HAS_CHANGED] = 1.0
    move.facts[IS_DETERMINISTIC] = 0.0
    move.facts[SWEEPS] = float(sweeps)
