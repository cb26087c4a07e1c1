"""OptCMDP: the best policy over all models that may still be true, budgets kept in that model.

Each episode solves one constrained problem over the confidence set, with optimistic costs::

    pi_k, p_k = argmin over pi and p in the set of  V(c_low; pi, p)
                subject to                          V(d_low_i; pi, p) <= budget_i   for every i

The paper solves a linear program with S^2 A H variables; here the problem is solved to a certified
gap by column generation, which starts from the last episode's policies and prices. The sums of the
positive parts of excess cost and of violation are bounded: episodes do not offset each other.

Off the good event, or with radii made smaller, the problem may be infeasible. Then the violation is
made least, and cost least at that violation, and the episode is counted. States that
the plan does not reach play the best response to its prices.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, new_record, require_integers
from tightrope.belief.sets import SetBelief
from tightrope.errors import ModelError
from tightrope.kernels.columns import (
    AT_EDGE,
    INFEASIBLE,
    OPTIMAL,
    RUNNING,
    Columns,
    advance,
    begin,
    columns,
)
from tightrope.kernels.compiled import compiled
from tightrope.kernels.occupancy import follow, policy_of
from tightrope.kernels.pivot import violation
from tightrope.kernels.scratch import copy
from tightrope.learners.base import Decision, Learner, option
from tightrope.model.task import Task

SLACK = 1e-9  # violation that counts as none, relative to the least budget
LEAST_BUDGET = 1e-5  # of the horizon: what smaller budgets are measured by
MOST_SWEEPS = 10_000


class PlanState(NamedTuple):
    """The last episode's policies and prices, from which the next plan starts, and scratch."""

    columns: Columns
    budget: Floats  # (I,) as given, or relaxed while infeasible
    q: Floats  # (H, S, A)
    flow: Floats  # (H, 0)
    reach: Floats  # (2, S)
    settings: Any  # record: tolerance

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return (
            "columns.actions",
            "columns.orders",
            "columns.lam",
            "columns.master.basis",
            "columns.progress.n_columns",
        )


@compiled
def recover(problem: Problem, state: PlanState, decision: Decision) -> None:
    """Markov policy and planned values of the mixture that the master ended with."""
    c = state.columns
    state.q[:] = 0.0
    decision.value[:] = 0.0
    for r in range(c.master.basis.size):
        j, weight = c.master.basis[r], c.master.weights[r]
        if j < c.master.points.shape[0] and weight > 0.0:
            follow(
                problem.kernels,
                problem.initial,
                c.actions[j],
                c.orders[j],
                weight,
                state.q,
                state.flow,
                state.reach,
                c.work,
            )
            for k in range(decision.value.size):
                decision.value[k] += weight * c.master.points[j, k]
    policy_of(state.q, c.choice, decision.pi)


@compiled
def step(problem: Problem, state: PlanState, rng: np.random.Generator, decision: Decision) -> None:
    """One episode's plan; where it is infeasible, again with the least violation allowed."""
    c, note = state.columns, decision.note
    more = 0.0
    sweeps = 0
    status = INFEASIBLE
    is_relaxed = False
    tries = 0
    while status in (INFEASIBLE, AT_EDGE) and tries < 5:
        slack = SLACK
        for i in range(problem.budget.size):
            state.budget[i] = problem.budget[i] + more
            least = LEAST_BUDGET * state.q.shape[0]
            slack = min(slack, SLACK * max(abs(problem.budget[i]), least))
        eased = Problem(
            problem.kernels,
            problem.initial,
            problem.cost,
            problem.constraint_cost,
            state.budget,
            problem.allowed,
        )
        begin(eased, c)
        status = RUNNING
        while status == RUNNING and c.progress.n_sweeps < MOST_SWEEPS:
            status = advance(eased, c, state.settings.tolerance, slack, MOST_SWEEPS)
        sweeps += c.progress.n_sweeps
        is_relaxed = is_relaxed or status == INFEASIBLE
        # the least violation, and a hair more so that rounding does not refuse it again
        more += violation(c.master) + 10.0**tries * slack
        tries += 1
    recover(problem, state, decision)
    copy(c.lam, decision.lam)
    note.gap = c.progress.upper - c.progress.lower if status == OPTIMAL else np.inf
    note.bound = np.inf if is_relaxed else c.progress.lower
    note.is_relaxed = is_relaxed
    note.sweeps = sweeps


@dataclass(frozen=True)
class OptCMDP(Learner):
    """OptCMDP, by column generation over the confidence set.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", tr.learners.OptCMDP(tolerance=1e-6), episodes=20)
    >>> run.audit.plans, run.audit.not_optimistic
    (20, 0)
    """

    tolerance: float = option(1e-8, "Relative gap of a plan.")

    name: ClassVar[str] = "OptCMDP"
    belief: ClassVar[Any] = SetBelief
    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")
    group: ClassVar[str] = "paper"
    state: ClassVar[type] = PlanState
    step = staticmethod(step)

    def is_due(self, is_fresh: bool) -> bool:
        """Whether beliefs have changed: the same ones give the same plan."""
        return is_fresh

    def init(self, task: Task, problem: Problem) -> PlanState:
        """State before the first episode."""
        H, S, A = task.horizon, task.n_states, task.n_actions
        return PlanState(
            columns=columns(problem, H, 16 + 8 * problem.budget.size),
            budget=problem.budget.copy(),
            q=np.zeros((H, S, A)),
            flow=np.zeros((H, 0)),
            reach=np.zeros((2, S)),
            settings=new_record((("tolerance", "f8"),), {"tolerance": self.tolerance}),
        )

    def planned_occupancy(self, problem: Problem, state: Any, decision: Decision) -> Floats:
        """Occupancy of the plan, under the kernel chosen with it."""
        return np.array(state.q)

    def clean_state(self, state: Any, arrays: dict[str, Any]) -> dict[str, Any]:
        """Only the columns of the last mixture, the only ones that a later plan reads."""
        master, progress = state.columns.master, state.columns.progress
        used = _used_columns(master.basis, progress.n_columns, len(state.columns.actions))
        kept = {name: _only(arrays[name], used) for name in BY_COLUMN}
        return {**arrays, **kept}

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check basis, policies and orders; clear the columns that nothing reads."""
        basis, n = arrays["columns.master.basis"], arrays["columns.progress.n_columns"]
        actions, orders = (arrays[name] for name in BY_COLUMN)
        room, S = len(actions), task.n_states
        require_integers("columns.progress.n_columns", n, 0, room)
        require_integers("columns.master.basis", basis, 0, room + task.n_constraints)
        n_columns = int(n[0])
        if n_columns and ((basis >= n_columns) & (basis < room)).any():
            raise ModelError.about(
                "columns.master.basis", more=f"a column beyond the {n_columns} in use"
            )
        used = _used_columns(basis, n_columns, room)
        for name in BY_COLUMN:
            arrays[name] = _only(arrays[name], used)
        require_integers(BY_COLUMN[0], actions[used], 0, task.n_actions - 1)
        require_integers(BY_COLUMN[1], orders[used], 0, S - 1)
        if orders.shape[-1] == S > 1 and (np.sort(orders[used], axis=-1) != np.arange(S)).any():
            raise ModelError.about("columns.orders", expected="every state once in each order")


BY_COLUMN = ("columns.actions", "columns.orders")


def _used_columns(basis: Ints, n_columns: int, room: int) -> Ints:
    return basis[(basis >= 0) & (basis < min(room, int(n_columns)))]


def _only(array: Any, used: Ints) -> Any:
    """A copy with zeros in every column but the used ones."""
    copied = np.zeros_like(array)
    copied[used] = array[used]
    return copied
