"""OptCMDP and OptCMDP-bonus as the paper plans them: one linear program per episode, by HiGHS.

For comparison; `opt_cmdp` gives the same plans by column generation, hundreds of times faster.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, sections 4 and 4.1, and the appendix on the
extended LP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Box, Empirical, Floats, Problem
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.sets import SetBelief
from tightrope.errors import ConfigError
from tightrope.kernels.occupancy import policy_of
from tightrope.learners.held import PreparingLearner
from tightrope.model.task import Task
from tightrope.plan.evaluate import require_policy
from tightrope.plan.generate import best_response, least_violation

if TYPE_CHECKING:
    from tightrope.learners.agent import Agent


class LPPlan(NamedTuple):
    """What a linear program decides for one episode."""

    policy: Floats  # (H, S, A)
    value: Floats  # (I+1,) planned cost, then planned constraint values
    multiplier: Floats  # (I,)
    is_relaxed: bool  # infeasible, so that violation was minimized


def plan_by_lp(problem: Problem, horizon: int) -> LPPlan:
    """Plan by the extended linear program; with the least violation where it is infeasible.

    An estimated kernel takes the ordinary program.
    """
    from tightrope.plan.lp import extended_lp, full_box, occupancy_lp, spread_evenly  # HiGHS

    S, kernels = problem.initial.size, problem.kernels
    if isinstance(kernels, Box):
        boxed = problem._replace(kernels=full_box(kernels, S))
    elif isinstance(kernels, Empirical):
        boxed = problem._replace(kernels=spread_evenly(kernels, S))
    else:
        boxed = problem
    program = occupancy_lp if isinstance(kernels, Empirical) else extended_lp
    answer = program(boxed, horizon)
    is_relaxed = answer is None
    if answer is None:
        least = least_violation(boxed, horizon, np.ones(boxed.budget.size), 1e-8).violation
        boxed = boxed._replace(budget=boxed.budget + least + 1e-8)
        answer = program(boxed, horizon)
    if answer is None:
        raise ConfigError(
            "method 'lp': HiGHS finds no policy even at the least violation",
            argument="method",
            found="lp",
        )
    _, state = best_response(boxed, horizon, answer.multiplier)
    policy = np.empty_like(answer.occupancy)
    q = answer.rounded
    policy_of(q, state.choice, policy)
    spent = [
        float((q * np.broadcast_to(cost, q.shape)).sum())
        for cost in (problem.cost, *problem.constraint_cost)
    ]
    return LPPlan(policy, np.array(spent), answer.multiplier, is_relaxed)


@dataclass(frozen=True)
class LPLearner(PreparingLearner):
    """A learner that solves a linear program in each episode whose beliefs have changed."""

    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")

    def is_due(self, is_fresh: bool) -> bool:
        """Whether beliefs have changed: the same ones give the same plan."""
        return is_fresh

    def prepare(self, agent: Agent) -> None:
        """Solve the linear program of the next episode."""
        plan = plan_by_lp(agent.problem, agent.task.horizon)
        note = agent.state.note
        agent.state.pi[:] = plan.policy
        note.is_new, note.is_relaxed = True, plan.is_relaxed
        note.bound = np.inf if plan.is_relaxed else plan.value[0]
        agent.decision.value[:], agent.decision.lam[:] = plan.value, plan.multiplier

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check that the policy, where one was planned, can be played."""
        if arrays["pi"].any():
            require_policy("pi", arrays["pi"], task)


@dataclass(frozen=True)
class OptCMDPLP(LPLearner):
    """OptCMDP by the extended linear program.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptCMDPLP(), episodes=3).audit.plans
    3
    """

    name: ClassVar[str] = "OptCMDP-lp"
    belief: ClassVar[Any] = SetBelief
    plans_as: ClassVar[str] = "OptCMDP"


@dataclass(frozen=True)
class OptCMDPBonusLP(LPLearner):
    """OptCMDP-bonus by the occupancy linear program.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptCMDPBonusLP(), episodes=3).audit.plans
    3
    """

    name: ClassVar[str] = "OptCMDP-bonus-lp"
    belief: ClassVar[Any] = BonusBelief
    plans_as: ClassVar[str] = "OptCMDP-bonus"
