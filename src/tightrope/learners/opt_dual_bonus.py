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

from tightrope.arrays import Floats, Ints, Problem
from tightrope.belief.bonus import BonusBelief
from tightrope.kernels.bellman import price
from tightrope.kernels.compiled import compiled
from tightrope.kernels.rows import arrange, expect, stage
from tightrope.kernels.scratch import Desk
from tightrope.learners.base import Decision, Learner
from tightrope.learners.opt_dual import OptDual, finish_step, start_value
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
    bound = start_value(problem, state)  # before evaluation writes over the values
    decision.value[0] = evaluate_truncated(problem, problem.cost, state)
    for i in range(I):
        decision.value[1 + i] = evaluate_truncated(problem, problem.constraint_cost[i], state)
    finish_step(problem, state, decision, bound)


@dataclass(frozen=True)
class OptDualBonus(OptDual):
    """OptDual with bonuses in place of sets; no theorem is known for it.

    Parameters
    ----------
    rho, dual_step : float or str, float
        Options of `OptDual`.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptDualBonus(rho=4.0), episodes=20).rho
    4.0
    """

    name: ClassVar[str] = "OptDual-bonus"
    belief: ClassVar[Any] = BonusBelief
    guarantees: ClassVar[tuple[str, ...]] = ()
    group: ClassVar[str] = "other"
    state: ClassVar[type] = DualBonusState
    step = staticmethod(step)  # type: ignore[assignment]  # of another state

    def init(self, task: Task, problem: Problem) -> Any:
        """State before the first episode: all multipliers zero."""
        begun = super().init(task, problem)
        return DualBonusState(
            lam=begun.lam,
            settings=begun.settings,
            loss=begun.loss,
            V=begun.V,
            best=np.zeros_like(begun.best),
            order=np.zeros(1, dtype=np.uint32),
            work=begun.work,
        )

    def planned_occupancy(self, problem: Problem, state: Any, decision: Decision) -> Floats:
        """Occupancy of the policy in the estimated model."""
        return Learner.planned_occupancy(self, problem, state, decision)
