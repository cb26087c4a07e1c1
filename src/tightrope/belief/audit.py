"""The audit: whether beliefs hold the true model, episode by episode, and what plans were worth.

Kept incrementally: an episode changes the beliefs about H pairs, and only those are compared again.
The events are those of the paper's good event (its appendix on failure events).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Bools, Floats, Problem, new_record
from tightrope.belief.counts import Counts
from tightrope.belief.radii import is_outside
from tightrope.kernels.calls import unpack
from tightrope.kernels.compiled import INLINED, compiled, expanded, inlined

EVENTS = ("transition", "cost", "constraint", "visits")  # order of `Audit.events`
TRANSITION, COST, CONSTRAINT, VISITS = range(4)
EVENT = np.dtype(
    [
        ("bad", "i8"),  # pairs now outside
        ("bad_episodes", "i8"),
        ("first_bad", "i8"),  # first bad episode, 0 when none
    ],
    align=True,
)
PLANS = (
    ("plans", "i8"),
    ("relaxed", "i8"),
    ("not_optimistic", "i8"),
    ("bound_failures", "i8"),  # episodes in which an upper bound on the plan was below its value
    ("sweeps", "i8"),
    ("largest_gap", "f8"),
    ("visit_term", "f8"),  # H ln(S A H / delta'), or 0 when visits are not audited
)


class Audit(NamedTuple):
    """Which beliefs exclude the true model now, how often that was so, and totals over plans."""

    is_bad: Bools  # (3, G, S*A) by event: pairs whose beliefs exclude the true model
    events: Any  # (4,) records of `EVENT`
    plans: Any  # record of `PLANS`
    multiplier_range: Floats  # (2, I) least and greatest
    expected_visits: Floats  # (H, S*A) sum of occupancies, or (0, 0) when visits are not audited


class Watch(NamedTuple):
    """The true model and the audit of what is believed about it."""

    true_model: Problem
    audit: Audit


def new_audit(S: int, A: int, I: int, H: int, visit_term: float) -> Audit:
    """An empty audit; visits are audited when their term is positive."""
    return Audit(
        is_bad=np.zeros((3, H, S * A), dtype=np.bool_),
        events=np.zeros(len(EVENTS), EVENT).view(np.recarray),
        plans=new_record(PLANS, {"visit_term": visit_term}),
        multiplier_range=np.stack((np.full(I, np.inf), np.full(I, -np.inf))),
        expected_visits=np.zeros((H, S * A) if visit_term > 0 else (0, 0)),
    )


def excludes(p: Any, c: Counts, b: Any, gt: int, g: int, row: int, S: int) -> bool:
    """Whether a belief excludes the row of kernel ``p`` at its stage ``gt``."""
    return bool(type(b).excludes(p, c, b, gt, g, row, S))


overload(excludes, jit_options=INLINED, strict=False)(
    lambda p, c, b, gt, g, row, S: b.instance_class.excludes
)


@inlined
def mark(a: Audit, event: int, g: int, row: int, is_bad: bool) -> None:
    """Note whether a pair's beliefs exclude the true model."""
    if a.is_bad[event, g, row] != is_bad:
        a.is_bad[event, g, row] = is_bad
        a.events[event].bad += 1 if is_bad else -1


@inlined
def audit_pair(watch: Watch, c: Counts, b: Any, h: int, row: int) -> None:
    """Compare the beliefs about one pair with the true model again."""
    true_model, a = watch.true_model, watch.audit
    H = a.is_bad.shape[1]
    S, A = true_model.cost.shape[1:]
    g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
    if h < H - 1 or g < h:  # the last kernel is never used
        p: Any = true_model.kernels
        gt = min(h, p.indptr.shape[0] - 1)
        mark(a, TRANSITION, g, row, excludes(p, c, b, gt, g, row, S))
    n = float(c.cost_visits[gc, row])
    if n == 0.0 or b.rules.known_costs:
        return
    s, action = row // A, row % A
    true = true_model.cost[min(h, true_model.cost.shape[0] - 1), s, action]
    mark(a, COST, gc, row, is_outside(b.rules, c.cost_sum[gc, row] / n, n, true))
    is_bad = False
    for i in range(true_model.budget.size):
        true = true_model.constraint_cost[
            i, min(h, true_model.constraint_cost.shape[1] - 1), s, action
        ]
        is_bad = is_bad or is_outside(b.rules, c.constraint_sum[i, gc, row] / n, n, true)
    mark(a, CONSTRAINT, gc, row, is_bad)


@compiled
def audit_everything(block: Any) -> int:
    """Compare the beliefs about every allowed pair with the true model, as at the start.

    The block holds `Watch`, `Counts` and the belief.
    """
    watch, c, b = unpack(block)
    S, A = watch.true_model.cost.shape[1:]
    layers = watch.true_model.allowed.shape[0]
    for h in range(max(c.visits.shape[0], c.cost_visits.shape[0])):
        for row in range(S * A):
            if layers == 0 or watch.true_model.allowed[min(h, layers - 1), row // A, row % A]:
                audit_pair(watch, c, b, h, row)
    return 0


@expanded
def audit_visits(a: Audit, c: Counts) -> None:
    """Count the pairs that were visited too seldom for the occupancies played."""
    bad = 0
    for g in range(c.visits.shape[0]):
        for row in range(a.expected_visits.shape[1]):
            expected = a.expected_visits[g, row]
            if c.visits.shape[0] == 1:  # pooled, or a single stage
                expected = 0.0
                for h in range(a.expected_visits.shape[0]):
                    expected += a.expected_visits[h, row]
            if c.visits[g, row] <= 0.5 * expected - a.plans.visit_term:
                bad += 1
    a.events[VISITS].bad = bad


@expanded
def close_episode(a: Audit, episode: int) -> bool:
    """Count an episode for each event that is bad in it; whether the beliefs hold."""
    for event in range(4):
        if a.events[event].bad > 0:
            a.events[event].bad_episodes += 1
            if a.events[event].first_bad == 0:
                a.events[event].first_bad = episode
    return bool(
        a.events[TRANSITION].bad == 0 and a.events[COST].bad == 0 and a.events[CONSTRAINT].bad == 0
    )
