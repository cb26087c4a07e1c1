"""An estimated kernel, and costs lowered by a bonus that does not depend on the number of episodes.

For a pair with n visits and observed shares p of its successors::

    z^2   = (2 ln ln max(2n, e) + 2 ln(48 S^2 A H / delta)) / max(n, 1)
    bonus = z sum_t sqrt(p(t)) + 5 z^2

A pair without visits is estimated by the uniform distribution. Where costs are not known, they are
lowered by the any-time radius of `radii` too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Empirical, Floats, Problem, new_record
from tightrope.belief.audit import EVENTS
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import COST_RULES, ROUNDING, cost_rules, pooled_layers, refresh_costs
from tightrope.kernels.compiled import inlined
from tightrope.model.task import Task

ANYTIME_RULES = [
    ("transition_term", "f8"),  # inside the logarithm
    ("transition_factor", "f8"),
    ("known_support", "?"),
    *COST_RULES,
]


@inlined
def squared_deviation(term: float, n: float) -> float:
    """The square of z after n visits."""
    n = max(n, 1.0)
    return (2.0 * math.log(math.log(max(2.0 * n, math.e))) + 2.0 * math.log(term)) / n


@inlined
def refresh_anytime(c: Counts, b: AnytimeBelief, g: int, row: int, S: int) -> None:
    """Estimated kernel of one row, and its bonus."""
    n = float(c.visits[g, row])
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    possible = last - first if b.rules.known_support else S
    roots = math.sqrt(possible) if not n > 0.0 else 0.0  # of the uniform distribution
    for e in range(first, last):
        p = c.successors[g, e] / n if n > 0.0 else 0.0
        if p > 0.0:
            roots += math.sqrt(p)
        elif b.rules.known_support and not n > 0.0:
            p = 1.0 / possible
        b.center[g, e] = p
    b.even[g, row] = 0.0 if n > 0.0 or b.rules.known_support else 1.0
    square = squared_deviation(b.rules.transition_term, n)
    b.bonus[g, row] = b.rules.transition_factor * (math.sqrt(square) * roots + 5.0 * square)


class AnytimeBelief(NamedTuple):
    """An estimated kernel and costs minus any-time bonuses."""

    center: Floats  # (G, E) estimate
    even: Floats  # (G, S*A) mass that the estimate spreads evenly
    bonus: Floats  # (G, S*A)
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any  # record of `ANYTIME_RULES`

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model."""
        return EVENTS

    @staticmethod
    def refresh(c: Counts, b: AnytimeBelief, h: int, s: int, a: int) -> None:
        """Estimate and lowered costs of one pair."""
        _, S, A = b.cost_low.shape
        row = s * A + a
        refresh_anytime(c, b, min(h, c.visits.shape[0] - 1), row, S)
        layers = pooled_layers(c, b)
        for k in range(max(layers, 1)):
            layer = k if layers > 0 else h
            refresh_costs(c, b, b.bonus[min(layer, c.visits.shape[0] - 1), row], layer, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: AnytimeBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the L1 distance of the row of kernel ``p`` at stage ``gt`` exceeds the bonus."""
        n = float(c.visits[g, row])
        first, last = c.indptr[g, row], c.indptr[g, row + 1]
        possible = last - first if b.rules.known_support else S
        even = 0.0 if n > 0.0 else 1.0 / possible
        distance = (possible - (last - first)) * even
        for e in range(first, last):
            share = c.successors[g, e] / n if n > 0.0 else even
            distance += abs(p.data[gt, e] - share)
        return bool(distance > b.bonus[g, row] + ROUNDING)

    @classmethod
    def start(cls, task: Task, confidence: Confidence, counts: Counts) -> AnytimeBelief:
        """A belief without data; every pair is still to be refreshed."""
        S, A, H = task.n_states, task.n_actions, task.horizon
        factor = confidence.scale_bonus
        rules = {
            **cost_rules(task, replace(confidence, any_time=True), counts),
            "cost_factor": float(confidence.cost_factor * factor),
            "transition_term": 48.0 * S * S * A * H / task.delta,
            "transition_factor": float(confidence.transition_factor * factor),
            "known_support": confidence.known_support,
        }
        stages, entries = counts.indices.shape
        known = confidence.known_costs
        layers = task.known_cost.shape[1] if known else counts.cost_visits.shape[0]
        layers = max(layers, stages)
        return cls(
            np.zeros((stages, entries)),
            np.ones((stages, S * A)),
            np.zeros((stages, S * A)),
            np.zeros((layers, S, A)),
            np.zeros((task.n_constraints, layers, S, A)),
            task.known_cost,
            new_record(ANYTIME_RULES, rules),
        )

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the set that bounds on a policy use."""
        return BonusBelief.as_set(confidence)

    def widen(self, wider: Wider) -> AnytimeBelief:
        """The same belief on a larger pattern; successors not seen yet have no mass."""
        return self._replace(center=wider.spread(self.center))

    def problem(self, task: Task, counts: Counts) -> Problem:
        """The optimistic problem; it shares the arrays of the belief."""
        kernel = Empirical(counts.indptr, counts.indices, self.center, self.even)
        costs = self.cost_low, self.constraint_low
        return Problem(kernel, task.initial, *costs, task.budget, task.allowed)
