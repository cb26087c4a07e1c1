"""The audit: did the truth stay inside what was believed, and did optimism hold (SPEC A4).

Kept incrementally: an episode changes the beliefs of H pairs, and only those are compared again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, Problem
from tightrope.kernels.believe import Believed, Counts, Rules, ball_radius, cost_radius, log_term
from tightrope.kernels.compiled import inlined
from tightrope.kernels.widths import bernstein

__all__ = [
    "CONSTRAINT",
    "COST",
    "NOT_OPTIMISTIC",
    "PLANS",
    "RELAXED",
    "SWEEPS",
    "TRANSITION",
    "VISITS",
    "Audit",
    "audit",
    "check_pair",
    "check_visits",
    "close_episode",
]

# event families, in Audit.bad, Audit.bad_episodes and Audit.first_bad
TRANSITION, COST, CONSTRAINT, VISITS = 0, 1, 2, 3
# places in Audit.plans
PLANS, RELAXED, NOT_OPTIMISTIC, SWEEPS = 0, 1, 2, 3


class Audit(NamedTuple):
    """Which beliefs exclude the truth now, how often that was so, and what plans were worth."""

    is_bad: Bools  # (3, G, S*A) by family: pairs whose beliefs exclude the truth
    bad: Ints  # (4,) how many pairs, by family
    bad_episodes: Ints  # (4,)
    first_bad: Ints  # (4,) first bad episode, 0 when none
    plans: Ints  # (4,) see the places above
    gap: Floats  # (1,) largest
    lam_range: Floats  # (2, I) least and greatest multipliers
    expected_visits: Floats  # (H, S*A) sum of occupancies, or (0, 0) when visits are not audited
    visit_term: Floats  # (1,) H ln(S A H / delta')


def audit(stages: int, S: int, A: int, I: int, H: int, visit_term: float) -> Audit:
    """An empty audit; visits are audited when their term is positive."""
    return Audit(
        is_bad=np.zeros((3, stages, S * A), dtype=np.bool_),
        bad=np.zeros(4, dtype=np.int64),
        bad_episodes=np.zeros(4, dtype=np.int64),
        first_bad=np.zeros(4, dtype=np.int64),
        plans=np.zeros(4, dtype=np.int64),
        gap=np.zeros(1),
        lam_range=np.stack((np.full(I, np.inf), np.full(I, -np.inf))),
        expected_visits=np.zeros((H, S * A) if visit_term > 0 else (0, 0)),
        visit_term=np.array([visit_term]),
    )


@inlined
def mark(a: Audit, family: int, g: int, row: int, is_bad: bool) -> None:
    """Note whether a pair's beliefs exclude the truth."""
    if a.is_bad[family, g, row] != is_bad:
        a.is_bad[family, g, row] = is_bad
        a.bad[family] += 1 if is_bad else -1


@inlined
def excludes_row(
    truth: Problem, c: Counts, rules: Rules, b: Believed, h: int, g: int, row: int
) -> bool:
    """Whether the true row lies outside the set, or further off the estimate than bonuses allow."""
    n = float(c.visits[g, row])
    if n == 0.0:
        return False
    p: Any = truth.kernels
    gt = min(h, p.indptr.shape[0] - 1)
    distance = 0.0
    is_out = False
    term = log_term(rules.transition_term, rules.n_episodes, n)
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        true = p.data[gt, e]
        share = c.successors[g, e] / n
        distance += abs(true - share)
        if rules.is_bonus:
            width = rules.transition_factor * bernstein(share, term, n)
            is_out = is_out or abs(true - share) > width
        elif rules.has_box:
            is_out = is_out or true < b.lower[g, e] - 1e-15 or true > b.upper[g, e] + 1e-15
    if rules.has_ball:
        is_out = is_out or distance > b.radius[g, row]
    if rules.is_bonus and rules.tight_bonus:
        is_out = is_out or distance > ball_radius(rules, truth.initial.size, n)
    return is_out


@inlined
def check_pair(
    truth: Problem, c: Counts, rules: Rules, b: Believed, a: Audit, h: int, row: int
) -> None:
    """Compare the beliefs about one pair with the truth again."""
    H = rules.horizon
    A = truth.cost.shape[2]
    g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
    if h < H - 1 or g < h:  # the last kernel is never used
        mark(a, TRANSITION, g, row, excludes_row(truth, c, rules, b, h, g, row))
    n = float(c.cost_visits[gc, row])
    if n == 0.0 or rules.known_costs:
        return
    radius = cost_radius(rules, n)
    s, action = row // A, row % A
    true = truth.cost[min(h, truth.cost.shape[0] - 1), s, action]
    mark(a, COST, gc, row, abs(c.cost_sum[gc, row] / n - true) > radius)
    is_bad = False
    for i in range(truth.budget.size):
        true = truth.constraint_cost[i, min(h, truth.constraint_cost.shape[1] - 1), s, action]
        is_bad = is_bad or abs(c.constraint_sum[i, gc, row] / n - true) > radius
    mark(a, CONSTRAINT, gc, row, is_bad)


@inlined
def check_visits(a: Audit, c: Counts) -> None:
    """Count the pairs that were visited too seldom for the occupancies played (A4, FN)."""
    a.bad[VISITS] = 0
    for h in range(a.expected_visits.shape[0]):
        for row in range(a.expected_visits.shape[1]):
            if c.visits[h, row] <= 0.5 * a.expected_visits[h, row] - a.visit_term[0]:
                a.bad[VISITS] += 1


@inlined
def close_episode(a: Audit, episode: int) -> None:
    """Count an episode for each family that is bad in it."""
    for family in range(4):
        if a.bad[family] > 0:
            a.bad_episodes[family] += 1
            if a.first_bad[family] == 0:
                a.first_bad[family] = episode
