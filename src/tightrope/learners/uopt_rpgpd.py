"""UOpt-RPGPD: OptPrimalDual with entropy and a ridge on the prices, at every number of episodes.

Each episode evaluates the current policy under the estimated kernel, with costs lowered by an
any-time bonus; the cost with the entropy of the policy. Policy and prices then take steps that
shrink with the number k of episodes before, and both are drawn back by tau::

    eta_k = (k + 3)^-0.53,     tau_k = (k + 3)^-0.4

    Qc_h  = max(-tau ln A (H - h), c_h - b_h + p_hat_h Vc_{h+1}),  Vc_h = <pi_h, Qc_h + tau ln pi_h>
    Qd_h  = max(0, d_h - b_h + p_hat_h Vd_{h+1}),                  Vd_h = <pi_h, Qd_h>

    pi_{k+1}  ~ exp((1 - eta tau) ln pi_k - eta (Qc + sum_i lam_i Qd_i))
    lam_{k+1} = max(0, lam_k + eta (Vd - budget - tau lam_k))

The entropy and the ridge make policy and prices converge instead of oscillating, so that positive
parts are bounded, for the last policy and not only for an average. Nothing depends on the number of
episodes, and no bound on the prices is needed. The planned cost includes the entropy.

Kitamura et al. (2024), arXiv:2401.17780; step sizes and bonus are those of the authors' program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.belief.anytime import AnytimeBelief
from tightrope.belief.confidence import Confidence
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.rows import stage
from tightrope.kernels.scratch import copy, repeated
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.opt_primal_dual import lowered
from tightrope.model.task import Task
from tightrope.plan.evaluate import require_policy

FACTOR_HELP = "Factor on all bonuses; below 1 a heuristic."


class RegularState(NamedTuple):
    """Policy, multipliers, the number of steps taken, and scratch."""

    lam: Floats  # (I,)
    theta: Floats  # (H, S, A) logarithm of the policy
    pi: Floats  # (H, S, A) policy of the next episode
    n_steps: Ints  # (1,)
    V: Floats  # (2, I+1, S)
    mean: Floats  # (I+1,) of the values after the current stage
    Q: Floats  # (A,)
    total: Floats  # (I+1,)

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch."""
        return ("lam", "theta", "pi", "n_steps")


@inlined
def is_allowed(problem: Problem, h: int, s: int, a: int) -> bool:
    """Whether an action exists."""
    layers = problem.allowed.shape[0]
    return bool(layers == 0 or problem.allowed[min(h, layers - 1), s, a])


@inlined
def draw_back(
    problem: Problem, state: RegularState, h: int, s: int, eta: float, tau: float
) -> None:
    """Mirror step of one state, drawn back to the uniform policy."""
    A = state.Q.size
    low, top = np.inf, -np.inf
    for a in range(A):
        if is_allowed(problem, h, s, a):
            low = min(low, state.Q[a])
    for a in range(A):
        if is_allowed(problem, h, s, a):
            kept = (1.0 - eta * tau) * state.theta[h, s, a]
            state.theta[h, s, a] = kept - eta * (state.Q[a] - low)
            top = max(top, state.theta[h, s, a])
    total = 0.0
    for a in range(A):
        if is_allowed(problem, h, s, a):
            state.pi[h, s, a] = math.exp(state.theta[h, s, a] - top)
            total += state.pi[h, s, a]
    for a in range(A):
        if is_allowed(problem, h, s, a):
            state.theta[h, s, a] -= top + math.log(total)
            state.pi[h, s, a] /= total


@inlined
def evaluate_stage(
    problem: Problem,
    state: RegularState,
    pi: Floats,
    h: int,
    eta: float,
    tau: float,
    now: Floats,
    after: Floats,
) -> None:
    """Values of a stage with the entropy of its policy, and the step of its states."""
    H, S, A = pi.shape
    at = stage(problem.kernels, min(h, problem.kernels.indptr.shape[0] - 1))
    least = -tau * math.log(A) * (H - h)
    for s in range(S):
        state.total[:] = 0.0
        for a in range(A):
            if not is_allowed(problem, h, s, a):
                continue
            row = s * A + a
            state.Q[a] = 0.0
            for j in range(state.lam.size + 1):
                value = lowered(problem, j, h, s, a)
                if h < H - 1:
                    value += at.even[row] * state.mean[j]
                    for e in range(at.indptr[row], at.indptr[row + 1]):
                        k = np.uint64(e)
                        value += at.data[k] * after[j, at.indices[k]]
                value = max(value, least if j == 0 else 0.0)
                state.total[j] += pi[h, s, a] * value
                state.Q[a] += value if j == 0 else state.lam[j - 1] * value
            state.total[0] += tau * pi[h, s, a] * state.theta[h, s, a]
        for j in range(state.lam.size + 1):
            now[j, s] = state.total[j]
        draw_back(problem, state, h, s, eta, tau)


@compiled
def step(
    problem: Problem, state: RegularState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode: return the current policy, evaluate it, update policy and prices."""
    H, S, _ = state.pi.shape
    eta = (state.n_steps[0] + 3.0) ** -0.53
    tau = (state.n_steps[0] + 3.0) ** -0.4
    state.n_steps[0] += 1
    copy(state.pi, decision.pi)
    decision.note.sweeps = state.lam.size + 1
    decision.note.bound = -np.inf
    for h in range(H - 1, -1, -1):
        now, after = state.V[h % 2], state.V[(h + 1) % 2]
        if h < H - 1:
            for j in range(state.mean.size):
                total = 0.0
                for s in range(S):
                    total += after[j, s]
                state.mean[j] = total / S
        evaluate_stage(problem, state, decision.pi, h, eta, tau, now, after)
    for j in range(state.mean.size):
        decision.value[j] = 0.0
        for s in range(S):
            decision.value[j] += problem.initial[s] * state.V[0, j, s]
    for i in range(state.lam.size):
        decision.lam[i] = state.lam[i]
        excess = decision.value[1 + i] - problem.budget[i]
        state.lam[i] = max(0.0, state.lam[i] + eta * (excess - tau * state.lam[i]))


@dataclass(frozen=True)
class UOptRPGPD(Learner):
    """UOpt-RPGPD: regularized mirror descent on the policy and on the prices, any-time bonuses.

    Parameters
    ----------
    bonus_factor : float
        Factor on the whole bonus; the authors' runs use 0.001. Below 1 a heuristic.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.UOptRPGPD(bonus_factor=0.001), episodes=20).is_heuristic
    True
    """

    bonus_factor: float = option(1.0, FACTOR_HELP)

    name: ClassVar[str] = "UOpt-RPGPD"
    belief: ClassVar[Any] = AnytimeBelief
    # the theorem is for one constraint and known costs
    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")
    state: ClassVar[type] = RegularState
    step = staticmethod(step)

    def radii(self, confidence: Confidence) -> Confidence:
        """With the factor on the bonus."""
        return replace(confidence, scale_bonus=confidence.scale_bonus * self.bonus_factor)

    def init(self, task: Task, problem: Problem) -> RegularState:
        """State before the first episode: uniform over allowed actions, all multipliers zero."""
        H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
        allowed = task.allowed if task.allowed.shape[0] else np.ones((1, S, A), dtype=np.bool_)
        pi = repeated(allowed / allowed.sum(axis=2, keepdims=True), H)
        return RegularState(
            lam=np.zeros(I),
            theta=np.log(np.where(pi > 0, pi, 1.0)),
            pi=pi,
            n_steps=np.zeros(1, dtype=np.int64),
            V=np.zeros((2, I + 1, S)),
            mean=np.zeros(I + 1),
            Q=np.zeros(A),
            total=np.zeros(I + 1),
        )

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check that the policy can be played."""
        require_policy("pi", arrays["pi"], task)
