"""Exact regret: excess of every policy over the optimum and the budgets, summed over episodes.

Signed sums and sums of positive parts are kept side by side, because the latter cannot be derived
from the former. The regret in constraints is the largest over the constraints, taken after summing.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, new_record
from tightrope.kernels.compiled import expanded, inlined
from tightrope.kernels.occupancy import gather, occupancy
from tightrope.kernels.scratch import Desk, copy, desk

# an excess over a budget up to this, relative to the budget and in all, is no violation
TOLERANCE, ROUNDING = 2e-9, 1e-13
STATE = (
    ("episode", "i8"),  # episodes recorded so far
    ("cursor", "i8"),  # next place in the curves
    ("violations", "i8"),  # episodes in violation
    ("last_violation", "i8"),  # the last of them, 0 when none
)


class Regrets(TypedDict):
    """Cumulative regrets at the recorded episodes."""

    cost: Floats  # (P,) sum of excess cost, may be negative
    cost_plus: Floats  # (P,) sum of its positive parts
    constraint: Floats  # (P, I) sums of excess over each budget
    constraint_plus: Floats  # (P, I)


def recorded_episodes(n_episodes: int, most: int = 2_000) -> Ints:
    """Episodes to record: all of them at first, then evenly on a logarithmic scale.

    Parameters
    ----------
    n_episodes : int
        Number of episodes K; 1 and K are always recorded.
    most : int
        About how many to record.
    """
    if n_episodes <= most:
        return np.arange(1, n_episodes + 1)
    # rounding merges the first points of a logarithmic scale: take as many more as it costs
    spaced = np.geomspace(1, n_episodes, num=2 * most)
    recorded = np.unique(np.round(spaced).astype(np.int64))
    if recorded.size > most:
        recorded = np.unique(np.round(np.geomspace(1, n_episodes, num=most)).astype(np.int64))
    return recorded


class Record(NamedTuple):
    """Sums of excess, and their curves at P recorded episodes."""

    state: Any  # record of `STATE`
    point: Floats  # (I+1,) exact cost and constraint values of the current policy
    baseline_point: Floats  # (I+1,) the same for the baseline; of no size without one
    mixed_point: Floats  # (I+1,) the same for an episode that draws one of the two
    signed: Floats  # (I+1,)
    positive: Floats  # (I+1,)
    worst: Floats  # (I,)
    recorded: Ints  # (P,) episodes to record
    signed_curve: Floats  # (P, I+1)
    positive_curve: Floats  # (P, I+1)
    excess_curve: Floats  # (P, I+1) of the single episode
    multiplier_curve: Floats  # (P, I)
    violation_curve: Ints  # (P,) episodes in violation so far
    baseline_curve: Floats  # (P,) probability of the baseline; of no size without one
    q: Floats  # (H, S, A) occupancy of the current policy
    baseline_q: Floats  # (H, S, A) occupancy of the baseline, or (0, S, A)
    reach: Floats  # (H or 2, S)
    order: Ints  # (1, S)
    work: Desk

    @property
    def regrets(self) -> Regrets:
        """The four regrets at the episodes recorded so far."""
        n = self.n_recorded
        return {
            "cost": self.signed_curve[:n, 0].copy(),
            "cost_plus": self.positive_curve[:n, 0].copy(),
            "constraint": self.signed_curve[:n, 1:].copy(),
            "constraint_plus": self.positive_curve[:n, 1:].copy(),
        }

    @property
    def n_recorded(self) -> int:
        """Places of the curves that are filled."""
        return int(np.searchsorted(self.recorded, self.state.episode, side="right"))


def new_regret_record(
    recorded: Ints, H: int, S: int, A: int, I: int, has_baseline: bool = False
) -> Record:
    """An empty record for these recorded episodes."""
    P, mixes = recorded.size, int(has_baseline)
    return Record(
        state=new_record(STATE),
        point=np.zeros(I + 1),
        baseline_point=np.zeros(mixes * (I + 1)),
        mixed_point=np.zeros(mixes * (I + 1)),
        signed=np.zeros(I + 1),
        positive=np.zeros(I + 1),
        worst=np.full(I, -np.inf),
        recorded=recorded,
        signed_curve=np.zeros((P, I + 1)),
        positive_curve=np.zeros((P, I + 1)),
        excess_curve=np.zeros((P, I + 1)),
        multiplier_curve=np.zeros((P, I)),
        violation_curve=np.zeros(P, dtype=np.int64),
        baseline_curve=np.zeros(mixes * P),
        q=np.zeros((H, S, A)),
        baseline_q=np.zeros((mixes * H, S, A)),
        reach=np.zeros((max(H, 2), S)),
        order=np.zeros((1, S), dtype=np.uint32),
        work=desk(S),
    )


@expanded
def exact_values(
    true_model: Problem, pi: Floats, choice: Ints, is_deterministic: bool, record: Record
) -> None:
    """Cost and constraint values of a policy in the true model, by one forward pass."""
    if is_deterministic:
        gather(true_model, choice, record.order, record.reach, record.point, record.work)
        return
    occupancy(
        true_model.kernels,
        true_model.initial,
        pi,
        record.q,
        record.reach,
        record.order[0],
        record.work,
    )
    record.point[0] = total(true_model.cost, record.q)
    for i in range(true_model.budget.size):
        record.point[1 + i] = total(true_model.constraint_cost[i], record.q)


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


@expanded
def evaluate_baseline(true_model: Problem, baseline: Floats, choice: Ints, record: Record) -> None:
    """Exact values and occupancy of the baseline; those of the current policy are lost."""
    exact_values(true_model, baseline, choice, False, record)
    copy(record.point, record.baseline_point)
    copy(record.q, record.baseline_q)


@expanded
def mix_values(record: Record, share: float) -> Floats:
    """Exact values of an episode that plays the baseline with this probability."""
    if share == 0.0:
        return record.point
    for j in range(record.point.size):
        own, other = record.point[j], record.baseline_point[j]
        record.mixed_point[j] = (1.0 - share) * own + share * other
    return record.mixed_point


@expanded
def record_episode(
    record: Record, point: Floats, optimum: float, budget: Floats, lam: Floats, share: float
) -> None:
    """Record one episode: excess over the optimum and over each budget.

    Parameters
    ----------
    record : Record
        Written.
    point : (I+1,) array
        Exact cost and constraint values of the episode.
    optimum : float
    budget, lam : (I,) arrays
    share : float
        Probability of the baseline.
    """
    record.state.episode += 1
    is_violation = False
    for j in range(point.size):
        excess = point[j] - (optimum if j == 0 else budget[j - 1])
        record.signed[j] += excess
        record.positive[j] += max(excess, 0.0)
        if j > 0:
            record.worst[j - 1] = max(record.worst[j - 1], excess)
            allowed = TOLERANCE * abs(budget[j - 1]) + ROUNDING
            is_violation = is_violation or excess > allowed
    if is_violation:
        record.state.violations += 1
        record.state.last_violation = record.state.episode
    r = record.state.cursor
    if r < record.recorded.size and record.recorded[r] == record.state.episode:
        copy(record.signed, record.signed_curve[r])
        copy(record.positive, record.positive_curve[r])
        copy(lam, record.multiplier_curve[r])
        record.violation_curve[r] = record.state.violations
        if record.baseline_curve.size > 0:
            record.baseline_curve[r] = share
        for j in range(point.size):
            record.excess_curve[r, j] = point[j] - (optimum if j == 0 else budget[j - 1])
        record.state.cursor += 1
