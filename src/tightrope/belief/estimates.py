"""Estimates and their radii side by side, for learners that combine them in their own way.

For each pair: the observed shares of its successors, the box of their Bernstein widths, the sum of
these widths (each at most 1), mean costs and their radius.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Box, Empirical, Floats, Ints, new_record
from tightrope.belief.audit import EVENTS
from tightrope.belief.bonus import refresh_estimate
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import cost_bounds, cost_radius, log_term
from tightrope.belief.sets import BOX_RULES, SetBelief, is_outside_box, refresh_box, widen_box
from tightrope.kernels.compiled import inlined
from tightrope.kernels.widths import bernstein
from tightrope.model.task import Task

ESTIMATE_RULES = [("n_states", "i8"), *BOX_RULES]


class Estimates(NamedTuple):
    """What a learner with an `EstimateBelief` plans with."""

    box: Box
    kernels: Empirical
    initial: Floats  # (S,)
    mean: Floats  # (I+1, G', S*A) cost, then constraint costs
    radius: Floats  # (G', S*A) of these means
    width: Floats  # (G, S*A) sum of the widths of a row
    visits: Ints  # (G, S*A)
    budget: Floats  # (I,)
    allowed: Bools  # (0 or 1 or H, S, A)
    rules: Any  # of the belief


@inlined
def cap_width(c: Counts, b: Any, g: int, row: int, S: int) -> None:
    """Sum of the widths of a row over all possible successors, each at most 1."""
    n, factor = float(c.visits[g, row]), b.rules.transition_factor
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    possible = last - first if b.rules.known_support else S
    term = log_term(b.rules.transition_term, b.rules.n_episodes, n)
    width = float(possible)
    if n > 0.0:
        width, seen = 0.0, 0
        for e in range(first, last):
            if c.successors[g, e] > 0:
                width += min(1.0, factor * bernstein(c.successors[g, e] / n, term, n))
                seen += 1
        width += (possible - seen) * min(1.0, factor * bernstein(0.0, term, n))
    b.width[g, row] = width


class EstimateBelief(NamedTuple):
    """Estimated kernel and costs, and how far they may be off."""

    center: Floats  # (G, E)
    even: Floats  # (G, S*A) mass that the estimate spreads evenly
    lower: Floats  # (G, E)
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A) bound of each unlisted successor
    width: Floats  # (G, S*A)
    mean: Floats  # (I+1, G', S*A)
    radius: Floats  # (G', S*A)
    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any  # record of `ESTIMATE_RULES`

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model."""
        return EVENTS

    @staticmethod
    def refresh(c: Counts, b: EstimateBelief, h: int, s: int, a: int) -> None:
        """Estimates and radii of one pair."""
        S, A = b.rules.n_states, c.visits.shape[1] // b.rules.n_states
        g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
        row = s * A + a
        refresh_box(c, b, g, row)
        refresh_estimate(c, b, g, row, S)
        cap_width(c, b, g, row, S)
        if not b.rules.known_costs:
            n = float(c.cost_visits[gc, row])
            b.radius[gc, row] = 0.0 if b.rules.kl_costs else cost_radius(b.rules, n)
            for i in range(c.constraint_sum.shape[0] + 1):
                total = c.cost_sum[gc, row] if i == 0 else c.constraint_sum[i - 1, gc, row]
                mean = total / max(n, 1.0)
                b.mean[i, gc, row] = mean
                if b.rules.kl_costs:
                    low, high = cost_bounds(b.rules, mean, n)
                    b.radius[gc, row] = max(b.radius[gc, row], mean - low, high - mean)

    @staticmethod
    def excludes(p: Any, c: Counts, b: EstimateBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the box."""
        return is_outside_box(p, c, b, gt, g, row)

    @classmethod
    def start(cls, task: Task, confidence: Confidence, counts: Counts) -> EstimateBelief:
        """A belief without data; every pair is still to be refreshed."""
        box: Any = SetBelief.start(task, cls.as_set(confidence), counts)
        rules = {name: box.rules[name] for name, _ in BOX_RULES}
        mean = task.known_cost
        if not confidence.known_costs:
            mean = np.zeros((task.n_constraints + 1, *counts.cost_visits.shape))
        return cls(
            center=np.zeros_like(box.lower),
            even=np.ones_like(box.rest),
            lower=box.lower,
            upper=box.upper,
            rest=box.rest,
            width=np.zeros_like(box.rest),
            mean=mean,
            radius=np.zeros(mean.shape[1:]),
            known_cost=task.known_cost,
            rules=new_record(ESTIMATE_RULES, {"n_states": task.n_states, **rules}),
        )

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the box, which is Bernstein's."""
        return replace(confidence, transition="bernstein", scale_bonus=1.0)

    def widen(self, wider: Wider) -> EstimateBelief:
        """The same belief on a larger pattern; successors not seen yet have no mass."""
        return self._replace(center=wider.spread(self.center), **widen_box(self, wider))

    def problem(self, task: Task, counts: Counts) -> Estimates:
        """Estimates and radii; they share the arrays of the belief."""
        pattern = counts.indptr, counts.indices
        return Estimates(
            box=Box(*pattern, self.lower, self.upper, self.rest),
            kernels=Empirical(*pattern, self.center, self.even),
            initial=task.initial,
            mean=self.mean,
            radius=self.radius,
            width=self.width,
            visits=counts.visits,
            budget=task.budget,
            allowed=task.allowed,
            rules=self.rules,
        )
