"""Exact excess of what was played, summed over episodes as it comes (SPEC A9)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.kernels.compiled import inlined
from tightrope.kernels.copying import copy
from tightrope.kernels.desk import Desk, desk
from tightrope.kernels.occupancy import gather, occupancy

# an excess over a budget up to this, relative to the budget and in all, is no violation
TOLERANCE, ROUNDING = 2e-9, 1e-13
# places in Ledger.state
EPISODE, CURSOR, VIOLATIONS, LAST_VIOLATION = 0, 1, 2, 3


class Ledger(NamedTuple):
    """Signed and positive sums of excess, and their curves at P recorded episodes."""

    state: Ints  # (4,) see the places above
    point: Floats  # (I+1,) exact cost and constraint values of the policy at hand
    signed: Floats  # (I+1,)
    positive: Floats  # (I+1,)
    worst: Floats  # (I,)
    recorded: Ints  # (P,) episodes to record
    signed_curve: Floats  # (P, I+1)
    positive_curve: Floats  # (P, I+1)
    excess_curve: Floats  # (P, I+1) of the single episode
    multiplier_curve: Floats  # (P, I)
    violation_curve: Ints  # (P,) episodes in violation so far
    q: Floats  # (H, S, A) occupancy of the policy at hand
    reach: Floats  # (H or 2, S)
    order: Ints  # (1, S)
    work: Desk


def ledger(recorded: Ints, H: int, S: int, A: int, I: int) -> Ledger:
    """An empty book for these recorded episodes."""
    P = recorded.size
    return Ledger(
        state=np.zeros(4, dtype=np.int64),
        point=np.zeros(I + 1),
        signed=np.zeros(I + 1),
        positive=np.zeros(I + 1),
        worst=np.full(I, -np.inf),
        recorded=recorded,
        signed_curve=np.zeros((P, I + 1)),
        positive_curve=np.zeros((P, I + 1)),
        excess_curve=np.zeros((P, I + 1)),
        multiplier_curve=np.zeros((P, I)),
        violation_curve=np.zeros(P, dtype=np.int64),
        q=np.zeros((H, S, A)),
        reach=np.zeros((max(H, 2), S)),
        order=np.zeros((1, S), dtype=np.uint32),
        work=desk(S),
    )


@inlined
def exact_values(
    truth: Problem, pi: Floats, choice: Ints, is_deterministic: bool, book: Ledger
) -> None:
    """Cost and constraint values of a policy under the truth, by one forward pass."""
    if is_deterministic:
        gather(truth, choice, book.order, book.reach, book.point, book.work)
        return
    occupancy(truth.kernels, truth.initial, pi, book.q, book.reach, book.order[0], book.work)
    book.point[0] = total(truth.cost, book.q)
    for i in range(truth.budget.size):
        book.point[1 + i] = total(truth.constraint_cost[i], book.q)


@inlined
def total(cost: Floats, q: Floats) -> float:
    """Expected sum of a cost under an occupancy measure."""
    H, S, A = q.shape
    value = 0.0
    for h in range(H):
        c, now = cost[min(h, cost.shape[0] - 1)], q[h]
        for s in range(S):
            for a in range(A):
                value += now[s, a] * c[s, a]
    return value


@inlined
def enter(book: Ledger, optimum: float, budget: Floats, lam: Floats) -> None:
    """Enter one episode: excess over the optimum and over each budget."""
    book.state[EPISODE] += 1
    is_violation = False
    for j in range(book.point.size):
        excess = book.point[j] - (optimum if j == 0 else budget[j - 1])
        book.signed[j] += excess
        book.positive[j] += max(excess, 0.0)
        if j > 0:
            book.worst[j - 1] = max(book.worst[j - 1], excess)
            allowed = TOLERANCE * abs(budget[j - 1]) + ROUNDING
            is_violation = is_violation or excess > allowed
    if is_violation:
        book.state[VIOLATIONS] += 1
        book.state[LAST_VIOLATION] = book.state[EPISODE]
    r = book.state[CURSOR]
    if r < book.recorded.size and book.recorded[r] == book.state[EPISODE]:
        copy(book.signed, book.signed_curve[r])
        copy(book.positive, book.positive_curve[r])
        copy(lam, book.multiplier_curve[r])
        book.violation_curve[r] = book.state[VIOLATIONS]
        for j in range(book.point.size):
            book.excess_curve[r, j] = book.point[j] - (optimum if j == 0 else budget[j - 1])
        book.state[CURSOR] += 1
