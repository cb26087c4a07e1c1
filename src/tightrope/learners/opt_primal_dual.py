"""OptPrimalDual-CMDP: policy and prices both take small steps, with bonuses instead of sets.

Each episode evaluates the current policy under the estimated kernel, with costs lowered by a bonus
and every action value cut off at zero, for the cost and for each constraint by itself; then policy
and prices move::

    Q_k       = Q(c - b) + sum_i lam_{k,i} Q(d_i - b)         truncated, under p_hat and pi_k
    pi_{k+1}  ~ pi_k exp(-t_K Q_k)
    lam_{k+1} = min(rho, max(0, lam_k + (V(d - b) - budget) / t_lam))

    t_lam = H sqrt(I K) / rho,     t_K = sqrt(2 ln A / K) / (H (1 + I rho))

The first policy is uniform, the dual step uses the truncated values, and pi_k is
played, not pi_{k+1}. Policies live as logits, because products underflow. Only the sum over
episodes is bounded.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 5.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Problem, new_record
from tightrope.belief.bonus import BonusBelief
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.rows import stage
from tightrope.kernels.scratch import copy, repeated
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.opt_dual import dual_rate, name_changes
from tightrope.learners.oracle import RHO_HELP, Oracle, check_rho, resolve_rho
from tightrope.model.task import Task
from tightrope.plan.evaluate import require_policy

SETTINGS = (
    ("dual_rate", "f8"),  # 1 / t_lam
    ("primal_rate", "f8"),  # t_K
    ("rho", "f8"),
)


class MirrorState(NamedTuple):
    """Logits and multipliers, their steps, and scratch."""

    lam: Floats  # (I,)
    theta: Floats  # (H, S, A) logits
    pi: Floats  # (H, S, A) policy of the next episode
    has_moved: Bools  # (1,) whether the next policy differs from the last
    settings: Any  # record of `SETTINGS`
    V: Floats  # (2, I+1, S)
    mean: Floats  # (I+1,) of the values after the current stage
    Q: Floats  # (A,)
    total: Floats  # (I+1,)

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        return ("lam", "theta", "pi", "has_moved")


@inlined
def lowered(problem: Problem, j: int, h: int, s: int, a: int) -> float:
    """Cost (j = 0) or constraint cost j - 1 of a pair, minus its bonus."""
    layer = min(h, problem.cost.shape[0] - 1)
    if j == 0:
        return float(problem.cost[layer, s, a])
    return float(problem.constraint_cost[j - 1, layer, s, a])


@inlined
def mirror(state: MirrorState, allowed: Bools, h: int, s: int) -> bool:
    """Mirror step of one state; False when all its actions look alike and nothing moves."""
    A = state.Q.size
    layer = min(h, allowed.shape[0] - 1)
    low, high, top = np.inf, -np.inf, -np.inf
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            low, high = min(low, state.Q[a]), max(high, state.Q[a])
    if not high > low:
        return False
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            state.theta[h, s, a] -= state.settings.primal_rate * (state.Q[a] - low)
            top = max(top, state.theta[h, s, a])
    total = 0.0
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            state.pi[h, s, a] = math.exp(state.theta[h, s, a] - top)
            total += state.pi[h, s, a]
    for a in range(A):
        state.pi[h, s, a] /= total
    return True


@inlined
def evaluate_stage(
    problem: Problem, state: MirrorState, pi: Floats, h: int, now: Floats, after: Floats
) -> bool:
    """Truncated values of a stage, and the mirror step of its states; whether any moved."""
    H, S, A = state.pi.shape
    at = stage(problem.kernels, min(h, problem.kernels.indptr.shape[0] - 1))
    is_last = h == H - 1
    has_moved = False
    for s in range(S):
        state.total[:] = 0.0
        for a in range(A):
            row = s * A + a
            state.Q[a] = 0.0
            for j in range(state.lam.size + 1):
                value = lowered(problem, j, h, s, a)
                if not is_last:
                    value += at.even[row] * state.mean[j]
                    for e in range(at.indptr[row], at.indptr[row + 1]):
                        k = np.uint64(e)
                        value += at.data[k] * after[j, at.indices[k]]
                value = max(value, 0.0)
                state.total[j] += pi[h, s, a] * value
                state.Q[a] += value if j == 0 else state.lam[j - 1] * value
        for j in range(state.lam.size + 1):
            now[j, s] = state.total[j]
        has_moved = mirror(state, problem.allowed, h, s) or has_moved
    return has_moved


@compiled
def step(
    problem: Problem, state: MirrorState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode: return the current policy, evaluate it truncated, update policy and prices."""
    H, S, _ = state.pi.shape
    copy(state.pi, decision.pi)
    decision.note.is_changed = state.has_moved[0]
    decision.note.sweeps = state.lam.size + 1
    has_moved = False
    for h in range(H - 1, -1, -1):
        now, after = state.V[h % 2], state.V[(h + 1) % 2]
        if h < H - 1:
            for j in range(state.mean.size):
                total = 0.0
                for s in range(S):
                    total += after[j, s]
                state.mean[j] = total / S
        has_moved = evaluate_stage(problem, state, decision.pi, h, now, after) or has_moved
    state.has_moved[0] = has_moved
    for j in range(state.mean.size):
        decision.value[j] = 0.0
        for s in range(S):
            decision.value[j] += problem.initial[s] * state.V[0, j, s]
    for i in range(state.lam.size):
        decision.lam[i] = state.lam[i]
        excess = decision.value[1 + i] - problem.budget[i]
        moved = max(0.0, state.lam[i] + state.settings.dual_rate * excess)
        state.lam[i] = min(state.settings.rho, moved)


def primal_rate(task: Task, rho: float, factor: float) -> float:
    """Step size t_K of the policy."""
    H, A, I, K = task.horizon, task.n_actions, task.n_constraints, float(task.n_episodes)
    return float(factor * np.sqrt(2.0 * np.log(A) / K) / (H * (1.0 + I * rho)))


@dataclass(frozen=True)
class OptPrimalDual(Learner):
    """OptPrimalDual-CMDP: mirror descent on the policy, projected dual steps, bonuses.

    Parameters
    ----------
    rho : float or str
        Bound on the multipliers, for costs scaled to [0, 1] per step: a number, or the rule
        ``"paper"``, ``"paper_x2"`` or ``"bound"`` applied to the true model (simulations only).
    dual_step, primal_step : float
        Factors on the paper's step sizes of the multipliers and of the policy.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", tr.learners.OptPrimalDual(rho=4.0, primal_step=2.0), episodes=20)
    >>> run.is_heuristic
    True
    """

    rho: float | str = option("paper_x2", RHO_HELP, check_rho)
    dual_step: float = option(1.0, "Factor on the paper's step size of the multipliers.")
    primal_step: float = option(1.0, "Factor on the paper's step size of the policy.")

    name: ClassVar[str] = "OptPrimalDual"
    belief: ClassVar[Any] = BonusBelief
    guarantees: ClassVar[tuple[str, ...]] = ("cost", "constraint")
    group: ClassVar[str] = "paper"
    state: ClassVar[type] = MirrorState
    step = staticmethod(step)

    @property
    def changed_steps(self) -> list[str]:
        """Step sizes that are not the paper's, in words."""
        return name_changes(dual_step=self.dual_step, primal_step=self.primal_step)

    def resolve(self, oracle: Oracle | None) -> OptPrimalDual:
        """The learner with a number for ``rho``."""
        return resolve_rho(self, oracle)

    def init(self, task: Task, problem: Problem) -> MirrorState:
        """State before the first episode: uniform over allowed actions, all multipliers zero."""
        assert not isinstance(self.rho, str), "resolve the learner first"
        H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
        allowed = task.allowed if task.allowed.shape[0] else np.ones((1, S, A), dtype=np.bool_)
        settings = {
            "dual_rate": dual_rate(task, self.rho, self.dual_step),
            "primal_rate": primal_rate(task, self.rho, self.primal_step),
            "rho": self.rho,
        }
        return MirrorState(
            lam=np.zeros(I),
            theta=np.zeros((H, S, A)),
            pi=repeated(allowed / allowed.sum(axis=2, keepdims=True), H),
            has_moved=np.ones(1, dtype=np.bool_),
            settings=new_record(SETTINGS, settings),
            V=np.zeros((2, I + 1, S)),
            mean=np.zeros(I + 1),
            Q=np.zeros(A),
            total=np.zeros(I + 1),
        )

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check that the policy can be played."""
        require_policy("pi", arrays["pi"], task)
