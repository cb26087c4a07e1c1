"""An estimated kernel, and costs lowered by a bonus for what is unknown.

For a pair with n visits, observed shares p of its S possible successors and widths beta(t)::

    bonus = H sum_t beta(t)                                    the paper's
    bonus = (H - 1 - h) min(1, distance / 2)                   tight
            distance = min(sum_t beta(t), L1 radius), or 2 without a visit

A pair without visits is estimated by the uniform distribution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Empirical, Floats, PessimisticProblem, Problem, new_record
from tightrope.belief.audit import EVENTS
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import (
    COST_RULES,
    ROUNDING,
    ball_radius,
    cost_rules,
    count_pairs,
    log_term,
    pooled_layers,
    refresh_costs,
    refresh_upper_costs,
)
from tightrope.kernels.compiled import inlined
from tightrope.kernels.widths import bernstein
from tightrope.model.task import Task

BONUS_RULES = [
    ("transition_term", "f8"),  # inside the logarithm of a width, without K
    ("ball_term", "f8"),  # the same for an L1 radius
    ("transition_factor", "f8"),
    ("horizon", "i8"),
    ("tight_bonus", "?"),
    ("known_support", "?"),
    *COST_RULES,
]


@inlined
def refresh_estimate(c: Counts, b: Any, g: int, row: int, S: int) -> None:
    """Estimated kernel of one row and the sum of its widths over all successors."""
    n = float(c.visits[g, row])
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    term = log_term(b.rules.transition_term, b.rules.n_episodes, n)
    possible = last - first if b.rules.known_support else S
    width = 0.0
    seen = 0
    for e in range(first, last):
        p = c.successors[g, e] / n if n > 0.0 else 0.0
        if p > 0.0:
            width += bernstein(p, term, n)
            seen += 1
        elif b.rules.known_support and not n > 0.0:
            p = 1.0 / possible
        b.center[g, e] = p
    b.even[g, row] = 0.0 if n > 0.0 or b.rules.known_support else 1.0
    if n > 0.0:
        # by number, listed or not: patterns that grew and patterns that were lent agree in all bits
        width += (possible - seen) * bernstein(0.0, term, n)
    elif possible > 0:  # else a forbidden pair, whose row is empty
        width = possible * bernstein(1.0 / possible, term, n)
    b.width[g, row] = b.rules.transition_factor * width


@inlined
def transition_bonus(c: Counts, b: BonusBelief, g: int, row: int, h: int, S: int) -> float:
    """What unknown transitions of a pair may be worth.

    Without a visit nothing is known of a row, and the tight bonus is the largest possible
    whatever the factors are.
    """
    if not b.rules.tight_bonus:
        return float(b.rules.horizon * b.width[g, row])
    n = float(c.visits[g, row])
    distance = min(b.width[g, row], ball_radius(b.rules, S, n)) if n > 0.0 else 2.0
    return float((b.rules.horizon - 1 - h) * min(1.0, 0.5 * distance))


class BonusBelief(NamedTuple):
    """An estimated kernel and costs minus bonuses."""

    center: Floats  # (G, E) estimate
    even: Floats  # (G, S*A) mass that the estimate spreads evenly
    width: Floats  # (G, S*A) sum of the widths of a row
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    constraint_high: Floats  # (I, G'', S, A), or (I, 0, S, A) where no upper bounds are kept
    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model."""
        return EVENTS

    @staticmethod
    def refresh(c: Counts, b: BonusBelief, h: int, s: int, a: int) -> None:
        """Estimate and lowered costs of one pair."""
        _, S, A = b.cost_low.shape
        row = s * A + a
        refresh_estimate(c, b, min(h, c.visits.shape[0] - 1), row, S)
        layers = pooled_layers(c, b)
        for k in range(max(layers, 1)):
            layer = k if layers > 0 else h
            g = min(layer, c.visits.shape[0] - 1)
            lost = transition_bonus(c, b, g, row, layer, S)
            # nothing is known after a pair without visits, whatever the factors are
            gained = lost if c.visits[g, row] > 0 else float(b.rules.horizon)
            refresh_costs(c, b, lost, layer, s, a)
            refresh_upper_costs(c, b, gained, layer, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BonusBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` is further off than the bonus covers.

        Successors one by one against their widths, and with a tight bonus the L1 distance against
        its radius. Pairs without visits count, their estimate is uniform; a tight bonus covers any
        row of theirs.
        """
        rules = b.rules
        n = float(c.visits[g, row])
        if rules.tight_bonus and n == 0.0:
            return False
        first, last = c.indptr[g, row], c.indptr[g, row + 1]
        possible = last - first if rules.known_support else S
        even = 0.0 if n > 0.0 else 1.0 / possible
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
        return bool(is_out)

    @classmethod
    def start(cls, task: Task, confidence: Confidence, counts: Counts) -> BonusBelief:
        """A belief without data; every pair is still to be refreshed."""
        S, A, H = task.n_states, task.n_actions, task.horizon
        pairs = count_pairs(task, confidence, len(counts.visits))
        is_tight, factor = confidence.tight_bonus, confidence.scale_bonus
        events = 2.0 if is_tight else 1.0  # the two L1 bounds of a tight bonus share delta
        rules = {
            **cost_rules(task, confidence, counts),
            "cost_factor": float(confidence.cost_factor * factor),
            "transition_term": 6.0 * pairs * events,
            "ball_term": 3.0 * pairs * events,
            "transition_factor": float(confidence.transition_factor * factor),
            "horizon": H,
            "tight_bonus": is_tight,
            "known_support": confidence.known_support,
        }
        stages, entries = counts.indices.shape
        layers = counts.cost_visits.shape[0]
        if confidence.known_costs:
            layers = task.known_cost.shape[1]
        layers = H if is_tight else max(layers, stages)
        return cls(
            np.zeros((stages, entries)),
            np.ones((stages, S * A)),
            np.zeros((stages, S * A)),
            np.zeros((layers, S, A)),
            np.zeros((task.n_constraints, layers, S, A)),
            np.zeros((task.n_constraints, 0, S, A)),
            task.known_cost,
            new_record(BONUS_RULES, rules),
        )

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the box that the widths are; its factors include the bonus's own."""
        return replace(
            confidence,
            transition="bernstein",
            scale_cost=confidence.cost_factor * confidence.scale_bonus,
            scale_transition=confidence.transition_factor * confidence.scale_bonus,
            scale_bonus=1.0,
        )

    def widen(self, wider: Wider) -> BonusBelief:
        """The same belief on a larger pattern; successors not seen yet have no mass."""
        return self._replace(center=wider.spread(self.center))

    def problem(self, task: Task, counts: Counts) -> Problem | PessimisticProblem:
        """The optimistic problem; it shares the arrays of the belief."""
        kernel = Empirical(counts.indptr, counts.indices, self.center, self.even)
        costs = self.cost_low, self.constraint_low
        found = Problem(kernel, task.initial, *costs, task.budget, task.allowed)
        high = self.constraint_high
        return PessimisticProblem(found, high) if high.shape[1] else found


class PessimisticBonus:
    """The same belief, with constraint costs plus bonuses as upper bounds."""

    events, as_set = BonusBelief.events, BonusBelief.as_set

    @staticmethod
    def start(task: Task, confidence: Confidence, counts: Counts) -> BonusBelief:
        """A belief without data; every pair is still to be refreshed."""
        belief = BonusBelief.start(task, confidence, counts)
        return belief._replace(constraint_high=np.zeros_like(belief.constraint_low))
