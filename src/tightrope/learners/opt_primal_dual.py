"""OptPrimalDual-CMDP: policy and prices both take small steps, with bonuses instead of sets.

Each episode evaluates the policy at hand under the estimated kernel, with costs lowered by a bonus
and every action value cut off at zero, for the cost and for each constraint by itself; then policy
and prices move::

    Q_k       = Q(c - b) + sum_i lam_{k,i} Q(d_i - b)         truncated, under p_hat and pi_k
    pi_{k+1}  ~ pi_k exp(-t_K Q_k)
    lam_{k+1} = min(rho, max(0, lam_k + (V(d - b) - budget) / t_lam))

    t_lam = H sqrt(I K) / rho,     t_K = sqrt(2 ln A / K) / (H (1 + I rho))

The first policy is uniform (SPEC E29), the dual step uses the truncated values (E26), and pi_k is
played, not pi_{k+1}. Policies live as logits, because products underflow. Only the sum over
episodes is bounded.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 5.2; SPEC A7.4 and its errata.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Problem
from tightrope.kernels.compiled import inlined
from tightrope.kernels.copying import copy, repeated
from tightrope.kernels.rows import stage
from tightrope.learners.move import BOUND, HAS_CHANGED, IS_DETERMINISTIC, SWEEPS, Move


class MirrorMemory(NamedTuple):
    """Logits and prices, their steps, and scratch."""

    lam: Floats  # (I,)
    theta: Floats  # (H, S, A) logits
    pi: Floats  # (H, S, A) policy of the next episode
    settings: Floats  # (3,) 1 / t_lam, t_K, rho
    has_moved: Floats  # (1,) whether the next policy differs from the last
    V: Floats  # (2, I+1, S)
    mean: Floats  # (I+1,) of the values after the stage at hand
    Q: Floats  # (A,)
    total: Floats  # (I+1,)


def new_mirror_memory(
    problem: Problem, horizon: int, rate: float, step_size: float, rho: float
) -> MirrorMemory:
    """Memory before the first episode: uniform over the allowed actions, all prices zero."""
    _, S, A = problem.cost.shape
    I = problem.budget.size
    allowed = problem.allowed if problem.allowed.shape[0] else np.ones((1, S, A), dtype=np.bool_)
    return MirrorMemory(
        lam=np.zeros(I),
        theta=np.zeros((horizon, S, A)),
        pi=repeated(allowed / allowed.sum(axis=2, keepdims=True), horizon),
        settings=np.array([rate, step_size, rho]),
        has_moved=np.ones(1),
        V=np.zeros((2, I + 1, S)),
        mean=np.zeros(I + 1),
        Q=np.zeros(A),
        total=np.zeros(I + 1),
    )


@inlined
def lowered(problem: Problem, j: int, h: int, s: int, a: int) -> float:
    """Cost (j = 0) or constraint cost j - 1 of a pair, minus its bonus."""
    layer = min(h, problem.cost.shape[0] - 1)
    if j == 0:
        return float(problem.cost[layer, s, a])
    return float(problem.constraint_cost[j - 1, layer, s, a])


@inlined
def mirror(memory: MirrorMemory, allowed: Bools, h: int, s: int) -> bool:
    """Mirror step of one state; False when all its actions look alike and nothing moves."""
    A = memory.Q.size
    layer = min(h, allowed.shape[0] - 1)
    low, high, top = np.inf, -np.inf, -np.inf
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            low, high = min(low, memory.Q[a]), max(high, memory.Q[a])
    if not high > low:
        return False
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            memory.theta[h, s, a] -= memory.settings[1] * (memory.Q[a] - low)
            top = max(top, memory.theta[h, s, a])
    total = 0.0
    for a in range(A):
        if layer < 0 or allowed[layer, s, a]:
            memory.pi[h, s, a] = math.exp(memory.theta[h, s, a] - top)
            total += memory.pi[h, s, a]
    for a in range(A):
        memory.pi[h, s, a] /= total
    return True


@inlined
def evaluate_stage(
    problem: Problem, memory: MirrorMemory, pi: Floats, h: int, now: Floats, after: Floats
) -> bool:
    """Truncated values of a stage, and the mirror step of its states; whether any moved."""
    H, S, A = memory.pi.shape
    at = stage(problem.kernels, min(h, problem.kernels.indptr.shape[0] - 1))
    is_last = h == H - 1
    has_moved = False
    for s in range(S):
        memory.total[:] = 0.0
        for a in range(A):
            row = s * A + a
            memory.Q[a] = 0.0
            for j in range(memory.lam.size + 1):
                value = lowered(problem, j, h, s, a)
                if not is_last:
                    value += at.even[row] * memory.mean[j]
                    for e in range(at.indptr[row], at.indptr[row + 1]):
                        k = np.uint64(e)
                        value += at.data[k] * after[j, at.indices[k]]
                value = max(value, 0.0)
                memory.total[j] += pi[h, s, a] * value
                memory.Q[a] += value if j == 0 else memory.lam[j - 1] * value
        for j in range(memory.lam.size + 1):
            now[j, s] = memory.total[j]
        has_moved = mirror(memory, problem.allowed, h, s) or has_moved
    return has_moved


def step(problem: Problem, memory: MirrorMemory, move: Move) -> None:
    """One episode: hand out the policy at hand, evaluate it truncated, move policy and prices."""
    H, S, _ = memory.pi.shape
    copy(memory.pi, move.pi)
    move.facts[HAS_CHANGED] = memory.has_moved[0]
    move.facts[IS_DETERMINISTIC] = 0.0
    move.facts[BOUND] = np.inf
    move.facts[SWEEPS] = memory.lam.size + 1.0
    has_moved = False
    for h in range(H - 1, -1, -1):
        now, after = memory.V[h % 2], memory.V[(h + 1) % 2]
        if h < H - 1:
            for j in range(memory.mean.size):
                total = 0.0
                for s in range(S):
                    total += after[j, s]
                memory.mean[j] = total / S
        has_moved = evaluate_stage(problem, memory, move.pi, h, now, after) or has_moved
    memory.has_moved[0] = 1.0 if has_moved else 0.0
    for j in range(memory.mean.size):
        move.value[j] = 0.0
        for s in range(S):
            move.value[j] += problem.initial[s] * memory.V[0, j, s]
    for i in range(memory.lam.size):
        move.lam[i] = memory.lam[i]
        excess = move.value[1 + i] - problem.budget[i]
        moved = max(0.0, memory.lam[i] + memory.settings[0] * excess)
        memory.lam[i] = min(memory.settings[2], moved)
