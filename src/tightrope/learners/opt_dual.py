"""OptDual-CMDP: optimistic best response to prices that rise with the planned violation.

Each episode prices the constraints by ``lam`` and plans one unconstrained problem over the
confidence set; the prices then follow the planned violation::

    pi_k, p_k = argmin over pi and p in the set of  V(c_low + lam_k . d_low)
    lam_{k+1} = max(0, lam_k + (V(d_low; pi_k, p_k) - budget) / t_lam)

    t_lam = H sqrt(I K) / rho

The budget is subtracted once, not per step (SPEC E23). Policies are deterministic, ties go to the
first action. Only the sum over episodes is bounded: one episode may overspend what another saves.
For a bound that forbids such cancelling see `opt_cmdp`.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 5.1; SPEC A7.3 and its errata.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.kernels.bellman import induct, price
from tightrope.kernels.desk import Desk, desk
from tightrope.kernels.occupancy import gather
from tightrope.learners.move import BOUND, HAS_CHANGED, IS_DETERMINISTIC, SWEEPS, Move


class DualMemory(NamedTuple):
    """Prices, their step, and scratch."""

    lam: Floats  # (I,)
    rate: Floats  # (1,) 1 / t_lam
    loss: Floats  # (G, S, A)
    V: Floats  # (H+1, S)
    best: Ints  # (H, S)
    orders: Ints  # (H, S)
    reach: Floats  # (H, S)
    work: Desk


def new_dual_memory(problem: Problem, horizon: int, rate: float) -> DualMemory:
    """Memory before the first episode: all prices zero."""
    layers, S, A = problem.cost.shape
    layers = max(layers, problem.allowed.shape[0])
    return DualMemory(
        lam=np.zeros(problem.budget.size),
        rate=np.array([rate]),
        loss=np.zeros((layers, S, A)),
        V=np.zeros((horizon + 1, S)),
        best=np.full((horizon, S), -1, dtype=np.int16),
        orders=np.zeros((horizon, S), dtype=np.uint32),
        reach=np.zeros((horizon, S)),
        work=desk(S),
    )


def step(problem: Problem, memory: DualMemory, move: Move) -> None:
    """One episode's plan: best response to the prices, then the prices' own step."""
    I = memory.lam.size
    price(problem.cost, problem.constraint_cost, problem.allowed, 1.0, memory.lam, memory.loss)
    induct(problem.kernels, memory.loss, 1.0, memory.V, memory.best, memory.orders, memory.work)
    gather(problem, memory.best, memory.orders, memory.reach, move.value, memory.work)
    bound = 0.0
    for s in range(problem.initial.size):
        bound += problem.initial[s] * memory.V[0, s]
    for i in range(I):
        bound -= memory.lam[i] * problem.budget[i]
        move.lam[i] = memory.lam[i]
        excess = move.value[1 + i] - problem.budget[i]
        memory.lam[i] = max(0.0, memory.lam[i] + memory.rate[0] * excess)
    has_changed = False
    for k in range(memory.best.size):
        if move.choice.flat[k] != memory.best.flat[k]:
            move.choice.flat[k] = memory.best.flat[k]
            has_changed = True
    move.facts[BOUND] = bound
    move.facts[HAS_CHANGED] = 1.0 if has_changed else 0.0
    move.facts[IS_DETERMINISTIC] = 1.0
    move.facts[SWEEPS] = 1.0
