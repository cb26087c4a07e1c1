"""The audit: did the truth stay inside what was believed, and did optimism hold (SPEC A4).

Kept incrementally: an episode changes the beliefs of H pairs, and only those are compared again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, Problem
from tightrope.kernels.believe import Believed, Rules, ball_radius, cost_radius, log_term
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.counts import Counts
from tightrope.kernels.widths import bernstein

ROUNDING = 1e-15  # of a probability
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
    if rules.is_bonus:
        return is_far(truth, c, rules, h, g, row)
    if n == 0.0:
        return False
    p: Any = truth.kernels
    gt = min(h, p.indptr.shape[0] - 1)
    distance = 0.0
    is_out = False
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        true = p.data[gt, e]
        distance += abs(true - c.successors[g, e] / n)
        if rules.has_box:
            is_out = is_out or true < b.lower[g, e] - ROUNDING or true > b.upper[g, e] + ROUNDING
    return is_out or (rules.has_ball and distance > b.radius[g, row])


@inlined
def is_far(truth: Problem, c: Counts, rules: Rules, h: int, g: int, row: int) -> bool:
    """Whether the true row is further off the estimate than a bonus pays for.

    Successors one by one against their widths, and where the bonus is made of it (T4) the L1
    distance against its radius. Pairs without visits count, their estimate is even;
    a tight bonus pays for any row of theirs.
    """
    S = truth.initial.size
    n = float(c.visits[g, row])
    if rules.tight_bonus and n == 0.0:
        return False
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    possible = last - first if rules.known_support else S
    even = 0.0 if n > 0.0 else 1.0 / possible
    p: Any = truth.kernels
    gt = min(h, p.indptr.shape[0] - 1)
    term = log_term(rules.transition_term, rules.n_episodes, n)
    factor = rules.transition_factor
    distance = (possible - (last - first)) * even
    is_out = possible > last - first and even > factor * bernstein(even, term, n)
    for e in range(first, last):
        share = c.successors[g, e] / n if n > 0.0 else even
        off = abs(p.data[gt, e] - share)
        distance += off
        is_out = is_out or off > factor * bernstein(share, term, n) + ROUNDING
    if rules.tight_bonus:
        is_out = is_out or distance > ball_radius(rules, S, n) + ROUNDING
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


@compiled
def check_everything(truth: Problem, c: Counts, rules: Rules, b: Believed, a: Audit) -> None:
    """Compare the beliefs about every allowed pair with the truth, as at the start."""
    S, A = truth.cost.shape[1:]
    layers = truth.allowed.shape[0]
    for h in range(max(c.visits.shape[0], c.cost_visits.shape[0])):
        for row in range(S * A):
            if layers == 0 or truth.allowed[min(h, layers - 1), row // A, row % A]:
                check_pair(truth, c, rules, b, a, h, row)


@inlined
def check_visits(a: Audit, c: Counts) -> None:
    """Count the pairs that were visited too seldom for the occupancies played (A4, FN)."""
    a.bad[VISITS] = 0
    for g in range(c.visits.shape[0]):
        for row in range(a.expected_visits.shape[1]):
            expected = a.expected_visits[g, row]
            if c.visits.shape[0] == 1:  # pooled, or a single stage
                expected = 0.0
                for h in range(a.expected_visits.shape[0]):
                    expected += a.expected_visits[h, row]
            if c.visits[g, row] <= 0.5 * expected - a.visit_term[0]:
                a.bad[VISITS] += 1


@inlined
def close_episode(a: Audit, episode: int) -> None:
    """Count an episode for each family that is bad in it."""
    for family in range(4):
        if a.bad[family] > 0:
            a.bad_episodes[family] += 1
            if a.first_bad[family] == 0:
                a.first_bad[family] = episode
