"""DOPE: optimistic about model and cost, pessimistic about constraints, after a baseline phase.

With d = min_i (budget_i - beta_i) for a baseline that uses beta_i of each budget, the first
K_0 = S^2 A H^4 / d^2 episodes play the baseline. Later ones solve one problem over the confidence
box B, with radii r of mean costs and sums w of the widths of transitions::

    c_low    = c_hat - (3 H / d) r - (H^2 / d) w
    d_high_i = d_hat_i + r + H w
    pi_k, p_k = argmin over pi and p in B of  V(c_low; pi, p)
                subject to                    V(d_high_i; pi, p) <= budget_i   for every i

Where no policy is feasible, the baseline is played.

Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland (2022), arXiv:2112.00885.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Problem, check_choice, new_record
from tightrope.belief.estimates import EstimateBelief, Estimates
from tightrope.kernels.compiled import compiled, expanded
from tightrope.kernels.scratch import copy
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.baseline import BaselineLearner
from tightrope.learners.opt_cmdp import OptCMDP, PlanState
from tightrope.learners.opt_cmdp import step as plan
from tightrope.model.task import Task

CONSTANTS = ("paper", "code")
PROGRESS = (
    ("episode", "i8"),  # episodes decided on so far
    ("has_plan", "?"),  # whether there was a plan to play yet
)
SETTINGS = (
    ("n_first", "i8"),  # episodes of the baseline at the start
    ("cost_bonus", "f8"),  # factor on the radius of mean costs
    ("transition_bonus", "f8"),  # factor on the sum of widths
)


def check_constants(name: str, value: Any) -> str:
    """``"paper"`` or ``"code"``, or a `ConfigError`."""
    return check_choice(name, value, CONSTANTS)


class DopeState(NamedTuple):
    """The last plan, the costs to plan with, and what the baseline uses."""

    plan: PlanState
    use: Floats  # (I,) of the baseline, at most
    cost: Floats  # (G, S, A)
    constraint_cost: Floats  # (I, G, S, A)
    note: Any  # record of `PROGRESS`
    settings: Any  # record of `SETTINGS`

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return ("note.episode", "note.has_plan", *(f"plan.{n}" for n in PlanState.stored()))


@compiled
def set_costs(problem: Estimates, state: DopeState) -> None:
    """Optimistic cost and pessimistic constraint costs of every pair."""
    G, S, A = state.cost.shape
    settings = state.settings
    for h in range(G):
        g, gc = min(h, problem.width.shape[0] - 1), min(h, problem.radius.shape[0] - 1)
        for row in range(S * A):
            r, w = problem.radius[gc, row], problem.width[g, row]
            lost = settings.cost_bonus * r + settings.transition_bonus * w
            state.cost[h, row // A, row % A] = problem.mean[0, gc, row] - lost
            for i in range(state.use.size):
                high = problem.mean[1 + i, gc, row] + r + float(state.plan.q.shape[0]) * w
                state.constraint_cost[i, h, row // A, row % A] = high


@compiled
def play_baseline(state: Any, decision: Decision) -> None:
    """Make the baseline the decision; the current plan is unchanged."""
    note = decision.note
    note.is_changed = note.is_rebased = state.note.episode == 1
    if not state.note.has_plan:  # the decision needs some policy
        copy(decision.baseline, decision.pi)
        copy(state.use, decision.upper)
    note.baseline = 1.0
    note.is_relaxed = False
    note.bound, note.gap = -np.inf, 0.0
    decision.lam[:] = 0.0
    decision.value[0] = 0.0
    for i in range(state.use.size):
        decision.value[1 + i] = state.use[i]


@compiled
def use_plan(state: Any, decision: Decision) -> None:
    """Play the plan just made; its constraint values are upper bounds."""
    for i in range(state.use.size):
        decision.upper[i] = decision.value[1 + i]
    decision.note.bound = -np.inf
    decision.note.is_rebased = state.note.episode == 1
    state.note.has_plan = True


@expanded
def plan_or_fall_back(
    problem: Estimates, kernels: Any, state: Any, rng: np.random.Generator, decision: Decision
) -> None:
    """Play the plan for the costs in the state, or the baseline where it is infeasible."""
    costs = Problem(
        kernels,
        problem.initial,
        state.cost,
        state.constraint_cost,
        problem.budget,
        problem.allowed,
    )
    plan(costs, state.plan, rng, decision)
    if decision.note.is_relaxed:
        state.note.has_plan = False
        play_baseline(state, decision)
        decision.note.is_changed = True  # the infeasible plan was overwritten
    else:
        use_plan(state, decision)


@compiled
def step(
    problem: Estimates, state: DopeState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode: the baseline at first and where nothing else is feasible, otherwise a plan."""
    state.note.episode += 1
    if state.note.episode <= state.settings.n_first:
        play_baseline(state, decision)
        return
    set_costs(problem, state)
    plan_or_fall_back(problem, problem.box, state, rng, decision)


@dataclass(frozen=True)
class FallbackLearner(BaselineLearner):
    """A learner that plays its baseline where its pessimistic problem has no solution.

    Parameters
    ----------
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    constants : {"paper", "code"}
        Whether constants are those of the paper or of the authors' code.
    """

    constants: str = option(
        "paper", "Constants of the paper, or of the public code.", check_constants
    )

    belief: ClassVar[Any] = EstimateBelief
    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")

    def margin(self, task: Task) -> float:
        """Least room that the baseline leaves in a budget; H without constraints."""
        room = task.budget - self.baseline_use(task)
        return float(room.min(initial=float(task.horizon)))

    def arrays_of(self, task: Task, problem: Estimates) -> dict[str, Any]:
        """Fields that the states of these learners share."""
        I, S, A = task.n_constraints, task.n_states, task.n_actions
        stages = max(problem.width.shape[0], problem.radius.shape[0])
        cost, constraint_cost = np.zeros((stages, S, A)), np.zeros((I, stages, S, A))
        kernels = self.kernels_of(problem)
        start = problem.initial, cost, constraint_cost, problem.budget, problem.allowed
        return {
            "plan": OptCMDP().init(task, Problem(kernels, *start)),
            "use": self.baseline_use(task),
            "cost": cost,
            "constraint_cost": constraint_cost,
            "note": new_record(PROGRESS),
        }

    def kernels_of(self, problem: Estimates) -> Any:
        """What it plans over."""
        return problem.box

    def planned_occupancy(self, problem: Any, state: Any, decision: Decision) -> Floats:
        """Occupancy of the plan, or of the baseline in the estimated model."""
        if decision.note.baseline == 0.0:
            return np.array(state.plan.q)
        shown = decision._replace(pi=decision.baseline)
        return Learner.planned_occupancy(self, problem, state, shown)

    def clean_state(self, state: Any, arrays: dict[str, Any]) -> dict[str, Any]:
        """Only the columns of the last mixture, the only ones that a later plan reads."""
        own = {n.removeprefix("plan."): a for n, a in arrays.items() if n.startswith("plan.")}
        cleaned = OptCMDP().clean_state(state.plan, own)
        return {**arrays, **{f"plan.{name}": array for name, array in cleaned.items()}}

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check the columns of the last plan."""
        own = {n.removeprefix("plan."): a for n, a in arrays.items() if n.startswith("plan.")}
        OptCMDP().check_state(own, task)
        arrays |= {f"plan.{name}": array for name, array in own.items()}


@dataclass(frozen=True)
class DOPE(FallbackLearner):
    """DOPE: optimistic about model and cost, pessimistic about constraints.

    Parameters
    ----------
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    constants : {"paper", "code"}
        Whether constants are those of the paper or of the authors' code.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", tr.learners.DOPE(baseline="least-use"), episodes=20)
    >>> run.n_violations
    0
    """

    name: ClassVar[str] = "DOPE"
    state: ClassVar[type] = DopeState
    step = staticmethod(step)

    @property
    def changed_steps(self) -> list[str]:
        """Constants other than the paper's, in words."""
        return [] if self.constants == "paper" else ["no cost bonus, shorter phase (heuristic)"]

    def n_first(self, task: Task) -> int:
        """Episodes K_0 that play the baseline at the start.

        Parameters
        ----------
        task : Task
            Sizes, budgets and horizon.

        Returns
        -------
        int
            The number of episodes.

        Examples
        --------
        >>> import numpy as np
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "DOPE", n_states=2, n_actions=2, horizon=2, budget=[1.5], episodes=100,
        ...     baseline=np.full((2, 2, 2), 0.5), bound=0.5,
        ... )
        >>> learner.learner.n_first(learner.task) > 0
        True
        """
        S, A, H = task.n_states, task.n_actions, task.horizon
        power = 4 if self.constants == "paper" else 3
        return int(min(S**2 * A * H**power / self.margin(task) ** 2, 2.0**53))

    def baseline_reason(self, task: Task, episode: int) -> str:
        """Why an episode plays the baseline with probability 1, in words.

        Parameters
        ----------
        task : Task
        episode : int
            From 1.
        """
        n_first = self.n_first(task)
        if episode <= n_first:
            return f"{self.name} plays it in its first {n_first} episodes"
        return super().baseline_reason(task, episode)

    def init(self, task: Task, problem: Any) -> DopeState:
        """State before the first episode."""
        H, d = task.horizon, self.margin(task)
        settings = {
            "n_first": self.n_first(task),
            "cost_bonus": 3.0 * H / d if self.constants == "paper" else 0.0,
            "transition_bonus": H**2 / d,
        }
        return DopeState(**self.arrays_of(task, problem), settings=new_record(SETTINGS, settings))
