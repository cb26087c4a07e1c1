"""Confidence sets of kernels: a box, or an L1 ball within a box.

For each visited pair, with p the observed shares of its successors::

    box    lower(t) <= p'(t) <= upper(t)       Bernstein or Bernoulli-KL bounds on every share
    ball   sum_t |p'(t) - p(t)| <= radius      within the box, where the option asks for both

Costs are the least ones within their radii. A pair without visits has the set of all
distributions (or of those on the known support).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, L1Ball, Problem, new_record
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import (
    COST_RULES,
    ball_radius,
    box_bounds,
    cost_rules,
    pooled_layers,
    refresh_costs,
)
from tightrope.kernels.compiled import inlined
from tightrope.model.task import Task

ROUNDING = 1e-15  # of a probability
# own fields first: Numba takes a record that only adds fields at the end for the shorter one
BOX_RULES = [
    ("transition_term", "f8"),  # inside the logarithm of a box, without K
    ("transition_factor", "f8"),
    ("has_kl", "?"),
    ("known_support", "?"),
    *COST_RULES,
]
BALL_RULES = [("ball_term", "f8"), ("has_box", "?"), *BOX_RULES]


@inlined
def refresh_bounds(c: Counts, b: Any, g: int, row: int, has_box: bool) -> None:
    """Bounds of one row; without a box only what the support says."""
    n = float(c.visits[g, row])
    b.rest[g, row] = 1.0
    is_bounded = has_box and n > 0.0
    if is_bounded:
        b.rest[g, row] = box_bounds(b.rules, 0.0, n)[1]
    if b.rules.known_support:
        b.rest[g, row] = 0.0
    if has_box:
        for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
            b.lower[g, e], b.upper[g, e] = 0.0, 1.0
            if is_bounded:
                b.lower[g, e], b.upper[g, e] = box_bounds(b.rules, c.successors[g, e] / n, n)


@inlined
def refresh_set_costs(c: Counts, b: Any, h: int, s: int, a: int) -> None:
    """Optimistic costs of one pair, at all stages where counts are pooled."""
    layers = pooled_layers(c, b)
    for k in range(max(layers, 1)):
        refresh_costs(c, b, 0.0, k if layers > 0 else h, s, a)


class BoxBelief(NamedTuple):
    """Bounds on every transition probability, and optimistic costs."""

    lower: Floats  # (G, E)
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A) bound of each unlisted successor
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any

    @staticmethod
    def refresh(c: Counts, b: BoxBelief, h: int, s: int, a: int) -> None:
        """Box and costs of one pair."""
        g = min(h, c.visits.shape[0] - 1)
        refresh_bounds(c, b, g, s * b.cost_low.shape[2] + a, True)
        refresh_set_costs(c, b, h, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BoxBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the box."""
        is_out = False
        if c.visits[g, row] > 0:
            for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
                true = p.data[gt, e]
                is_out = (
                    is_out or true < b.lower[g, e] - ROUNDING or true > b.upper[g, e] + ROUNDING
                )
        return is_out

    def widen(self, wider: Wider) -> BoxBelief:
        """The same belief on a larger pattern.

        An unlisted successor could have any share up to the rest; a listed unseen one still can.
        """
        lower, upper = wider.spread(self.lower), wider.spread(self.upper, self.rest)
        return self._replace(lower=lower, upper=upper)

    def problem(self, task: Task, counts: Counts) -> Problem:
        """The optimistic problem; it shares the arrays of the belief."""
        box = Box(counts.indptr, counts.indices, self.lower, self.upper, self.rest)
        return _problem(task, box, self)


class BallBelief(NamedTuple):
    """An L1 ball around the estimate, within bounds where there are any, and optimistic costs."""

    centre: Floats  # (G, E)
    radius: Floats  # (G, S*A)
    lower: Floats  # (G, E), or (G, 0) without a box
    upper: Floats  # (G, E), or (G, 0) without a box
    rest: Floats  # (G, S*A)
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    known_cost: Floats  # (I+1, G', S*A)
    rules: Any

    @staticmethod
    def refresh(c: Counts, b: BallBelief, h: int, s: int, a: int) -> None:
        """Ball, its box where there is one, and costs of one pair."""
        _, S, A = b.cost_low.shape
        g, row = min(h, c.visits.shape[0] - 1), s * A + a
        refresh_bounds(c, b, g, row, b.rules.has_box)
        n = float(c.visits[g, row])
        first, last = c.indptr[g, row], c.indptr[g, row + 1]
        b.radius[g, row] = ball_radius(b.rules, S, n)
        for e in range(first, last):
            p = c.successors[g, e] / n if n > 0.0 else 0.0
            if b.rules.known_support and not n > 0.0:
                p = 1.0 / (last - first)
            b.centre[g, e] = p
        refresh_set_costs(c, b, h, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BallBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the ball or its box."""
        n = float(c.visits[g, row])
        if n == 0.0:
            return False
        distance = 0.0
        is_out = False
        for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
            true = p.data[gt, e]
            distance += abs(true - c.successors[g, e] / n)
            if b.rules.has_box:
                is_out = (
                    is_out or true < b.lower[g, e] - ROUNDING or true > b.upper[g, e] + ROUNDING
                )
        return bool(is_out or distance > b.radius[g, row])

    def widen(self, wider: Wider) -> BallBelief:
        """The same belief on a larger pattern, see `BoxBelief.widen`."""
        wide = self._replace(centre=wider.spread(self.centre))
        if not self.rules.has_box:
            return wide
        lower, upper = wider.spread(self.lower), wider.spread(self.upper, self.rest)
        return wide._replace(lower=lower, upper=upper)

    def problem(self, task: Task, counts: Counts) -> Problem:
        """The optimistic problem; it shares the arrays of the belief."""
        bounds = self.lower, self.upper, self.rest
        ball = L1Ball(counts.indptr, counts.indices, self.centre, self.radius, *bounds)
        return _problem(task, ball, self)


class SetBelief:
    """A set of kernels, the one that the option ``transition`` of the confidence names."""

    @staticmethod
    def start(task: Task, confidence: Confidence, counts: Counts) -> BoxBelief | BallBelief:
        """A belief without data; every pair is still to be refreshed."""
        has_ball, has_box = "l1" in confidence.transition, confidence.transition != "l1"
        has_kl = "kl" in confidence.transition
        S, I = task.n_states, task.n_constraints
        pairs = S * task.n_actions * task.horizon / task.delta
        # a Bernstein width has room for all successors at once; KL bounds need a share for each
        successors = S if has_kl else 1
        events = 2.0 if has_ball and has_box else 1.0  # a box and a ball share delta
        rules = {
            **cost_rules(task, confidence),
            "transition_term": 6.0 * successors * pairs * events,
            "transition_factor": float(confidence.transition_factor),
            "has_kl": has_kl,
            "known_support": confidence.known_support,
        }
        stages, entries = counts.indices.shape
        layers = counts.cost_visits.shape[0]
        if confidence.known_costs:
            layers = task.known_cost.shape[1]
        rest = np.ones((stages, S * task.n_actions))
        costs = np.zeros((layers, S, task.n_actions)), np.zeros((I, layers, S, task.n_actions))
        bounded = (stages, entries if has_box else 0)
        lower, upper = np.zeros(bounded), np.ones(bounded)
        if not has_ball:
            box = new_record(BOX_RULES, rules)
            return BoxBelief(lower, upper, rest, *costs, task.known_cost, box)
        ball = new_record(
            BALL_RULES, {**rules, "ball_term": 3.0 * pairs * events, "has_box": has_box}
        )
        centre, radius = np.zeros((stages, entries)), np.full(rest.shape, 2.0)
        return BallBelief(centre, radius, lower, upper, rest, *costs, task.known_cost, ball)

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the set that bounds on a policy use: this one."""
        return replace(confidence, scale_bonus=1.0)


def _problem(task: Task, kernels: Box | L1Ball, b: BoxBelief | BallBelief) -> Problem:
    return Problem(kernels, task.initial, b.cost_low, b.constraint_low, task.budget, task.allowed)
