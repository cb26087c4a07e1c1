"""OptPess-LP: plan in the estimated model, optimistic about cost, pessimistic about constraints.

With beta = sqrt(L / n) for a pair with n visits, and a baseline that uses beta_i of each budget and
leaves at least d in all of them, before episode k::

    c_low    = c_hat - (1 + S H + 4 H (1 + S H) / d) beta
    d_high_i = d_hat_i + (1 + H S) beta
    pi_k = argmin over pi of  V(c_low; pi, p_hat)
           subject to         V(d_high_i; pi, p_hat) <= budget_i   for every i

The baseline is played while its own pessimistic value is at least halfway between beta_i and the
budget for some i, and where no policy is feasible.

Liu, Zhou, Kalathil, Kumar, Tian (2021), arXiv:2106.02684.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, new_record
from tightrope.belief.estimates import Estimates
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.compiled import compiled
from tightrope.kernels.scratch import Desk, desk
from tightrope.learners.base import Decision
from tightrope.learners.dope import FallbackLearner, plan_or_fall_back, play_baseline
from tightrope.learners.opt_cmdp import PlanState
from tightrope.model.task import Task

SETTINGS = (
    ("log_term", "f8"),  # L
    ("cost_bonus", "f8"),  # factors on sqrt(L / n)
    ("constraint_bonus", "f8"),
)


class OptPessState(NamedTuple):
    """The last plan, the costs to plan with, what the baseline uses, and scratch."""

    plan: PlanState
    use: Floats  # (I,) of the baseline, at most
    cost: Floats  # (G, S, A)
    constraint_cost: Floats  # (I, G, S, A)
    note: Any  # record of `dope.PROGRESS`
    settings: Any  # record of `SETTINGS`
    V: Floats  # (H+1, S)
    order: Ints  # (S,)
    work: Desk

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return ("note.episode", "note.has_plan", *(f"plan.{n}" for n in PlanState.stored()))


@compiled
def set_costs(problem: Estimates, state: OptPessState) -> None:
    """Optimistic cost and pessimistic constraint costs of every pair."""
    G, S, A = state.cost.shape
    settings = state.settings
    for h in range(G):
        g, gc = min(h, problem.visits.shape[0] - 1), min(h, problem.radius.shape[0] - 1)
        for row in range(S * A):
            beta = math.sqrt(settings.log_term / max(float(problem.visits[g, row]), 1.0))
            beta *= problem.rules.cost_factor
            low = problem.mean[0, gc, row] - settings.cost_bonus * beta
            state.cost[h, row // A, row % A] = low
            for i in range(state.use.size):
                high = problem.mean[1 + i, gc, row] + settings.constraint_bonus * beta
                state.constraint_cost[i, h, row // A, row % A] = high


@compiled
def is_baseline_unsure(problem: Estimates, state: OptPessState, baseline: Floats) -> bool:
    """Whether the baseline's pessimistic value is halfway or more to some budget."""
    is_unsure = False
    for i in range(state.use.size):
        costs = state.constraint_cost[i]
        evaluate(problem.kernels, costs, baseline, 1.0, state.V, state.order, state.work)
        value = 0.0
        for s in range(problem.initial.size):
            value += problem.initial[s] * state.V[0, s]
        is_unsure = is_unsure or value >= 0.5 * (problem.budget[i] + state.use[i])
    return is_unsure


@compiled
def step(
    problem: Estimates, state: OptPessState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode: the baseline while little is known of it, otherwise a plan."""
    state.note.episode += 1
    set_costs(problem, state)
    if is_baseline_unsure(problem, state, decision.baseline):
        play_baseline(state, decision)
        return
    plan_or_fall_back(problem, problem.kernels, state, rng, decision)


@dataclass(frozen=True)
class OptPessLP(FallbackLearner):
    """OptPess-LP: the estimated model, optimistic costs, pessimistic constraint costs.

    Parameters
    ----------
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    constants : {"paper", "code"}
        Whether constants are those of the paper or of the public code.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptPessLP(constants="code"), episodes=20).n_violations
    0
    """

    name: ClassVar[str] = "OptPess-LP"
    state: ClassVar[type] = OptPessState
    step = staticmethod(step)

    def kernels_of(self, problem: Estimates) -> Any:
        """What it plans over."""
        return problem.kernels

    def init(self, task: Task, problem: Any) -> OptPessState:
        """State before the first episode."""
        S, A, H, d = task.n_states, task.n_actions, task.horizon, self.margin(task)
        count = 16.0 * S**2 * A if self.constants == "paper" else 32.0 * S**2
        wide = 1.0 + S * H
        settings = {
            "log_term": math.log(count * H * task.n_episodes / task.delta),
            "cost_bonus": wide + 4.0 * H * wide / d,
            "constraint_bonus": wide,
        }
        return OptPessState(
            **self.arrays_of(task, problem),
            settings=new_record(SETTINGS, settings),
            V=np.zeros((H + 1, S)),
            order=np.zeros(S, dtype=np.uint32),
            work=desk(S),
        )
