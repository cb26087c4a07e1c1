"""OptDual-CMDP: optimistic best response to prices that rise with the planned violation.

Each episode prices the constraints by ``lam`` and plans one unconstrained problem over the
confidence set; the prices then follow the planned violation::

    pi_k, p_k = argmin over pi and p in the set of  V(c_low + lam_k . d_low)
    lam_{k+1} = max(0, lam_k + (V(d_low; pi_k, p_k) - budget) / t_lam)

    t_lam = H sqrt(I K) / rho

The budget is subtracted once, not per step. Policies are deterministic, ties go to the
first action. Only the signed sums over episodes are bounded: savings of one episode offset the
excess of another. `opt_cmdp` has bounds on positive parts.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, new_record
from tightrope.belief.sets import SetBelief
from tightrope.kernels.bellman import induct, price
from tightrope.kernels.compiled import compiled, expanded
from tightrope.kernels.occupancy import gather
from tightrope.kernels.scratch import Desk, desk
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.oracle import RHO_HELP, Oracle, check_rho, resolve_rho
from tightrope.model.task import Task


class DualState(NamedTuple):
    """Multipliers, their step, and scratch."""

    lam: Floats  # (I,)
    settings: Any  # record: rate = 1 / t_lam
    loss: Floats  # (G, S, A)
    V: Floats  # (H+1, S)
    best: Ints  # (H, S)
    orders: Ints  # (H, S)
    reach: Floats  # (H, S)
    work: Desk

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return ("lam",)


@expanded
def start_value(problem: Problem, state: Any) -> float:
    """Priced cost to go from the start."""
    value = 0.0
    for s in range(problem.initial.size):
        value += problem.initial[s] * state.V[0, s]
    return value


@expanded
def finish_step(problem: Problem, state: Any, decision: Decision, least: float) -> None:
    """Take the dual step for the planned values in the decision, and hand the policy out.

    ``least`` is the least priced cost; without the priced budgets it bounds the optimum.
    """
    bound = least
    for i in range(state.lam.size):
        bound -= state.lam[i] * problem.budget[i]
        decision.lam[i] = state.lam[i]
        excess = decision.value[1 + i] - problem.budget[i]
        state.lam[i] = max(0.0, state.lam[i] + state.settings.rate * excess)
    has_changed = False
    for k in range(state.best.size):
        if decision.choice.flat[k] != state.best.flat[k]:
            decision.choice.flat[k] = state.best.flat[k]
            has_changed = True
    decision.note.bound = bound
    decision.note.is_changed = has_changed
    decision.note.is_deterministic = True
    decision.note.sweeps = 1


@compiled
def step(problem: Problem, state: DualState, rng: np.random.Generator, decision: Decision) -> None:
    """One episode's plan: best response to the prices, then the prices' own step."""
    price(problem.cost, problem.constraint_cost, problem.allowed, 1.0, state.lam, state.loss)
    induct(problem.kernels, state.loss, 1.0, state.V, state.best, state.orders, state.work)
    gather(problem, state.best, state.orders, state.reach, decision.value, state.work)
    finish_step(problem, state, decision, start_value(problem, state))


def dual_rate(task: Task, rho: float, factor: float) -> float:
    """Step size 1 / t_lam of the multipliers; 0 without constraints."""
    I, K = task.n_constraints, float(task.n_episodes)
    return float(factor * rho / (task.horizon * np.sqrt(I * K))) if I else 0.0


def name_changes(**factors: float) -> list[str]:
    """Factors on the paper's step sizes in words; none where they are 1."""
    return [
        f"{name.replace('_', ' ')} times {factor:g} (heuristic)"
        for name, factor in factors.items()
        if factor != 1
    ]


@dataclass(frozen=True)
class OptDual(Learner):
    """OptDual-CMDP: optimistic planning for priced costs, with a dual step after each episode.

    Parameters
    ----------
    rho : float or str
        Bound on the multipliers, for costs scaled to [0, 1] per step: a number, or the rule
        ``"paper"``, ``"paper_x2"`` or ``"bound"`` applied to the true model (simulations only).
    dual_step : float
        Factor on the paper's step size of the multipliers.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptDual(rho=4.0), episodes=20).rho
    4.0
    """

    rho: float | str = option("paper_x2", RHO_HELP, check_rho)
    dual_step: float = option(1.0, "Factor on the paper's step size of the multipliers.")

    name: ClassVar[str] = "OptDual"
    belief: ClassVar[Any] = SetBelief
    guarantees: ClassVar[tuple[str, ...]] = ("cost", "constraint")
    group: ClassVar[str] = "paper"
    state: ClassVar[type] = DualState
    step = staticmethod(step)

    @property
    def changed_steps(self) -> list[str]:
        """Step sizes that are not the paper's, in words."""
        return name_changes(dual_step=self.dual_step)

    def resolve(self, oracle: Oracle | None) -> OptDual:
        """The learner with a number for ``rho``."""
        return resolve_rho(self, oracle)

    def init(self, task: Task, problem: Problem) -> DualState:
        """State before the first episode: all multipliers zero."""
        assert not isinstance(self.rho, str), "resolve the learner first"
        H, S, A = task.horizon, task.n_states, task.n_actions
        layers = max(problem.cost.shape[0], problem.allowed.shape[0])
        rate = dual_rate(task, self.rho, self.dual_step)
        return DualState(
            lam=np.zeros(task.n_constraints),
            settings=new_record((("rate", "f8"),), {"rate": rate}),
            loss=np.zeros((layers, S, A)),
            V=np.zeros((H + 1, S)),
            best=np.full((H, S), -1, dtype=np.int16),
            orders=np.zeros((H, S), dtype=np.uint32),
            reach=np.zeros((H, S)),
            work=desk(S),
        )

    def planned_occupancy(self, problem: Problem, state: Any, decision: Decision) -> Floats:
        """Occupancy of the plan, under the kernel chosen with it."""
        return np.asarray(state.reach[:, :, None] * decision.planned)
