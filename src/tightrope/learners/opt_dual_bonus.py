"""OptDual-bonus: the prices of OptDual, with bonuses in an estimated model instead of a set.

Each episode prices the constraints by ``lam`` and plans one unconstrained problem under the
estimated kernel, with costs lowered by a bonus and values cut off at zero. The policy is then
evaluated for each constraint by itself, cut off in the same way, and the prices follow::

    l         = c - b + lam_k . (d - b)
    V_h(s)    = max(0, min_a  l_h(s,a) + sum_t p_hat_h(t|s,a) V_{h+1}(t))
    pi_k      = the action that attains the minimum
    lam_{k+1} = max(0, lam_k + (V(d - b; pi_k) - budget) / t_lam)          V truncated

    t_lam = H sqrt(I K) / rho

The cut-off comes after the minimum, so that among actions whose value is below zero the one with
the largest bonus is played. No theorem is known for this algorithm; while the beliefs hold, every
truncated value is at most the true one.

After a remark of Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 5, that bonuses may
replace sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, new_record
from tightrope.belief.bonus import BonusBelief
from tightrope.kernels.bellman import price
from tightrope.kernels.compiled import compiled
from tightrope.kernels.rows import arrange, expect, stage
from tightrope.kernels.scratch import Desk, desk
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.opt_dual import dual_rate, name_changes
from tightrope.learners.oracle import RHO_HELP, Oracle, check_rho, resolve_rho
from tightrope.model.task import Task


class DualBonusState(NamedTuple):
    """Multipliers, their step, and scratch."""

    lam: Floats  # (I,)
    settings: Any  # record: rate = 1 / t_lam
    loss: Floats  # (G, S, A)
    V: Floats  # (H+1, S)
    best: Ints  # (H, S)
    order: Ints  # (1,)
    work: Desk

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return ("lam",)


@compiled
def induct_truncated(problem: Problem, state: DualBonusState) -> None:
    """Least priced cost to go, cut off at zero, and the actions that attain it."""
    H, S = state.best.shape
    A = state.loss.shape[2]
    state.V[H] = 0.0
    for h in range(H - 1, -1, -1):
        at = stage(problem.kernels, min(h, problem.kernels.indptr.shape[0] - 1))
        loss = state.loss[min(h, state.loss.shape[0] - 1)]
        after = state.V[h + 1]
        arrange(at, after, 1.0, state.order, state.work)
        for s in range(S):
            best = np.inf
            first = 0
            for a in range(A):
                value = loss[s, a]
                if h < H - 1 and value < np.inf:
                    value += expect(at, s * A + a, state.order, state.work, after)
                if value < best:
                    best = value
                    first = a
            state.V[h, s] = max(0.0, best)
            state.best[h, s] = first


@compiled
def evaluate_truncated(problem: Problem, cost: Floats, state: DualBonusState) -> float:
    """Expected sum of a cost under the policy in ``state.best``, cut off at zero stage by stage."""
    H, S = state.best.shape
    A = state.loss.shape[2]
    state.V[H] = 0.0
    for h in range(H - 1, -1, -1):
        at = stage(problem.kernels, min(h, problem.kernels.indptr.shape[0] - 1))
        lowered = cost[min(h, cost.shape[0] - 1)]
        after = state.V[h + 1]
        arrange(at, after, 1.0, state.order, state.work)
        for s in range(S):
            a = state.best[h, s]
            value = lowered[s, a]
            if h < H - 1:
                value += expect(at, s * A + a, state.order, state.work, after)
            state.V[h, s] = max(0.0, value)
    total = 0.0
    for s in range(S):
        total += problem.initial[s] * state.V[0, s]
    return total


@compiled
def step(
    problem: Problem, state: DualBonusState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode's plan: best response to the prices, then the prices' own step."""
    I = state.lam.size
    price(problem.cost, problem.constraint_cost, problem.allowed, 1.0, state.lam, state.loss)
    induct_truncated(problem, state)
    bound = 0.0
    for s in range(problem.initial.size):
        bound += problem.initial[s] * state.V[0, s]
    decision.value[0] = evaluate_truncated(problem, problem.cost, state)
    for i in range(I):
        decision.value[1 + i] = evaluate_truncated(problem, problem.constraint_cost[i], state)
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


@dataclass(frozen=True)
class OptDualBonus(Learner):
    """OptDual with bonuses in place of sets; no theorem is known for it.

    Parameters
    ----------
    rho : float or str
        Bound on the multipliers: a number, or the rule ``"paper"``, ``"paper_x2"`` or ``"bound"``
        applied to the true model (simulations only).
    dual_step : float
        Factor on the paper's step size of the multipliers.
    """

    rho: float | str = option("paper_x2", RHO_HELP, check_rho)
    dual_step: float = option(1.0, "Factor on the paper's step size of the multipliers.")

    name: ClassVar[str] = "OptDual-bonus"
    belief: ClassVar[Any] = BonusBelief
    state: ClassVar[type] = DualBonusState
    step = staticmethod(step)

    @property
    def changed_steps(self) -> list[str]:
        """Step sizes that are not the paper's, in words."""
        return name_changes(dual_step=self.dual_step)

    def resolve(self, oracle: Oracle | None) -> OptDualBonus:
        """The learner with a number for ``rho``."""
        return resolve_rho(self, oracle)

    def init(self, task: Task, problem: Problem) -> DualBonusState:
        """State before the first episode: all multipliers zero."""
        assert not isinstance(self.rho, str), "resolve the learner first"
        H, S, A = task.horizon, task.n_states, task.n_actions
        layers = max(problem.cost.shape[0], problem.allowed.shape[0])
        rate = dual_rate(task, self.rho, self.dual_step)
        return DualBonusState(
            lam=np.zeros(task.n_constraints),
            settings=new_record((("rate", "f8"),), {"rate": rate}),
            loss=np.zeros((layers, S, A)),
            V=np.zeros((H + 1, S)),
            best=np.zeros((H, S), dtype=np.int16),
            order=np.zeros(1, dtype=np.uint32),
            work=desk(S),
        )
