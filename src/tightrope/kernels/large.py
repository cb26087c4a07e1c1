"""Stages of a large model by blocks of states, which threads share, and the calls for them.

Each state of a stage is computed by itself, so results do not depend on how states are shared. A
policy is evaluated backward, all losses together: a forward pass adds to states in no order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Large, Problem, Transitions
from tightrope.kernels.bellman import choose
from tightrope.kernels.calls import invoke
from tightrope.kernels.compiled import compiled
from tightrope.kernels.scratch import Desk


@compiled
def choose_block(
    at: Transitions,
    loss: Floats,
    is_last: bool,
    after: Floats,
    order: Ints,
    work: Desk,
    start: int,
    stop: int,
    now: Floats,
    choice: Ints,
) -> None:
    """Least cost to go from states ``start`` to ``stop`` of one stage, as `bellman.choose`."""
    choose(at, loss, is_last, after, order, work, start, stop, now, choice)


@compiled
def evaluate_block(
    at: Transitions,
    cost: Floats,
    constraint_cost: Floats,
    is_last: bool,
    after: Floats,
    choice: Ints,
    start: int,
    stop: int,
    now: Floats,
) -> None:
    """Cost and constraint values to go from states ``start`` to ``stop`` of one stage.

    ::

        W_h(s,k) = c_{k,h}(s,a) + sum_t p_h(t|s,a) W_{h+1}(t,k),      a = choice_h(s)

    Values of a state lie side by side, so that a successor costs one access to memory.

    Arrays: cost (S, A), constraint_cost (I, S, A), choice (S,); after (S, I+1) is read, now (S,
    I+1) is written.
    """
    A = np.uint64(cost.shape[1])
    K = after.shape[1]
    for state in range(start, stop):
        s = np.uint64(state)
        a = np.uint64(np.uint16(choice[s]))
        row = s * A + a
        first = at.indptr[row]
        end = first if is_last else at.indptr[row + np.uint64(1)]
        for j in range(0, K, 2):  # two at a time, in registers
            k = np.uint64(j)
            other = np.uint64(min(j + 1, K - 1))
            expected = 0.0
            expected_other = 0.0
            for e in range(first, end):
                t = at.indices[np.uint64(e)]
                p = at.data[np.uint64(e)]
                expected += p * after[t, k]
                expected_other += p * after[t, other]
            if other != k:
                now[s, other] = constraint_cost[k, s, a] + expected_other
            c = cost[s, a] if j == 0 else constraint_cost[k - np.uint64(1), s, a]
            now[s, k] = c + expected


@compiled
def respond(
    kernels: Large,
    loss: Floats,
    sign: float,
    V: Floats,
    choice: Ints,
    orders: Ints,
    work: Desk,
) -> None:
    """Best response by the threads of the model; only the first row of ``V`` is written."""
    kernels.mail[0] = loss.ctypes.data
    kernels.mail[1] = loss.shape[0]
    kernels.mail[2] = V.ctypes.data
    kernels.mail[3] = choice.ctypes.data
    invoke(kernels.sweep)


@compiled
def tally(
    problem: Problem, choice: Ints, orders: Ints, reach: Floats, point: Floats, work: Desk
) -> None:
    """Cost and constraint values of a deterministic policy, by the threads of the model."""
    kernels: Any = problem.kernels
    kernels.mail[0] = choice.ctypes.data
    kernels.mail[1] = point.ctypes.data
    invoke(kernels.evaluate)
