"""Confidence sets of kernels: a box, an L1 ball, or the intersection of both.

For each visited pair, with p the observed shares of its successors::

    box    lower(t) <= p'(t) <= upper(t)       Bernstein or Bernoulli-KL bounds on every share
    ball   sum_t |p'(t) - p(t)| <= radius

Costs are the least ones within their radii; `PessimisticSet` keeps upper bounds on constraint costs
too. A pair without visits has the set of all
distributions (or of those on the known support).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, L1Ball, PessimisticProblem, Problem, new_record
from tightrope.belief.audit import EVENTS
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import (
    COST_RULES,
    ROUNDING,
    ball_radius,
    box_bounds,
    cost_rules,
    count_pairs,
    pooled_layers,
    refresh_costs,
    refresh_upper_costs,
)
from tightrope.kernels.compiled import inlined
from tightrope.model.task import Task

# own fields first: Numba takes a record that only adds fields at the end for the shorter one
BOX_RULES = [
    ("transition_term", "f8"),  # inside the logarithm of a box, without K
    ("transition_factor", "f8"),
    ("has_kl", "?"),
    ("known_support", "?"),
    *COST_RULES,
]
BALL_RULES = [
    ("ball_term", "f8"),  # inside the logarithm of an L1 radius, without K
    ("transition_factor", "f8"),
    ("known_support", "?"),
    *COST_RULES,
]
BOTH_RULES = [("ball_term", "f8"), *BOX_RULES]


@inlined
def refresh_box(c: Counts, b: Any, g: int, row: int) -> None:
    """Bounds of one row."""
    n = float(c.visits[g, row])
    b.rest[g, row] = 1.0
    if n > 0.0:
        b.rest[g, row] = box_bounds(b.rules, 0.0, n)[1]
    if b.rules.known_support:
        b.rest[g, row] = 0.0
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        b.lower[g, e], b.upper[g, e] = 0.0, 1.0
        if n > 0.0:
            b.lower[g, e], b.upper[g, e] = box_bounds(b.rules, c.successors[g, e] / n, n)


@inlined
def refresh_ball(c: Counts, b: Any, g: int, row: int, S: int) -> None:
    """Center and radius of one row; without visits the center is uniform on a known support."""
    n = float(c.visits[g, row])
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    b.radius[g, row] = ball_radius(b.rules, S, n)
    for e in range(first, last):
        p = c.successors[g, e] / n if n > 0.0 else 0.0
        if b.rules.known_support and not n > 0.0:
            p = 1.0 / (last - first)
        b.center[g, e] = p


@inlined
def refresh_set_costs(c: Counts, b: Any, h: int, s: int, a: int) -> None:
    """Optimistic costs of one pair, at all stages where counts are pooled."""
    layers = pooled_layers(c, b)
    for k in range(max(layers, 1)):
        layer = k if layers > 0 else h
        refresh_costs(c, b, 0.0, layer, s, a)
        refresh_upper_costs(c, b, 0.0, layer, s, a)


@inlined
def is_outside_box(p: Any, c: Counts, b: Any, gt: int, g: int, row: int) -> bool:
    """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the box of a visited row."""
    is_out = False
    if c.visits[g, row] > 0:
        for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
            true = p.data[gt, e]
            is_out = is_out or true < b.lower[g, e] - ROUNDING or true > b.upper[g, e] + ROUNDING
    return is_out


@inlined
def is_outside_ball(p: Any, c: Counts, b: Any, gt: int, g: int, row: int) -> bool:
    """Whether the row of kernel ``p`` at its stage ``gt`` is outside the ball of a visited row."""
    n = float(c.visits[g, row])
    if n == 0.0:
        return False
    distance = 0.0
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        distance += abs(p.data[gt, e] - c.successors[g, e] / n)
    return bool(distance > b.radius[g, row])


class BoxBelief(NamedTuple):
    """Bounds on every transition probability, and optimistic costs."""

    lower: Floats  # (G, E)
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A) bound of each unlisted successor
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    constraint_high: Floats  # (I, G'', S, A), or (I, 0, S, A) where no upper bounds are kept
    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any  # record of `BOX_RULES`

    @staticmethod
    def refresh(c: Counts, b: BoxBelief, h: int, s: int, a: int) -> None:
        """Box and costs of one pair."""
        g = min(h, c.visits.shape[0] - 1)
        refresh_box(c, b, g, s * b.cost_low.shape[2] + a)
        refresh_set_costs(c, b, h, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BoxBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the box."""
        return is_outside_box(p, c, b, gt, g, row)

    def widen(self, wider: Wider) -> BoxBelief:
        """The same belief on a larger pattern."""
        return self._replace(**widen_box(self, wider))

    def problem(self, task: Task, counts: Counts) -> Problem | PessimisticProblem:
        """The optimistic problem; it shares the arrays of the belief."""
        box = Box(counts.indptr, counts.indices, self.lower, self.upper, self.rest)
        return _problem(task, box, self)


class BallBelief(NamedTuple):
    """An L1 ball around the estimate, and optimistic costs."""

    center: Floats  # (G, E)
    radius: Floats  # (G, S*A)
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    constraint_high: Floats  # (I, G'', S, A), or (I, 0, S, A) where no upper bounds are kept
    known_cost: Floats  # (I+1, G', S*A)
    rules: Any  # record of `BALL_RULES`

    @staticmethod
    def refresh(c: Counts, b: BallBelief, h: int, s: int, a: int) -> None:
        """Ball and costs of one pair."""
        _, S, A = b.cost_low.shape
        refresh_ball(c, b, min(h, c.visits.shape[0] - 1), s * A + a, S)
        refresh_set_costs(c, b, h, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BallBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the ball."""
        return is_outside_ball(p, c, b, gt, g, row)

    def widen(self, wider: Wider) -> BallBelief:
        """The same belief on a larger pattern."""
        return self._replace(center=wider.spread(self.center))

    def problem(self, task: Task, counts: Counts) -> Problem | PessimisticProblem:
        """The optimistic problem; it shares the arrays of the belief."""
        unbounded = np.zeros((len(self.radius), 0))
        rest = np.zeros_like(self.radius) if self.rules.known_support else unbounded
        pattern, bounds = (counts.indptr, counts.indices), (unbounded, unbounded, rest)
        return _problem(task, L1Ball(*pattern, self.center, self.radius, *bounds), self)


class BallInBoxBelief(NamedTuple):
    """The intersection of an L1 ball and a box, and optimistic costs."""

    center: Floats  # (G, E)
    radius: Floats  # (G, S*A)
    lower: Floats  # (G, E)
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A) bound of each unlisted successor
    cost_low: Floats  # (G'', S, A)
    constraint_low: Floats  # (I, G'', S, A)
    constraint_high: Floats  # (I, G'', S, A), or (I, 0, S, A) where no upper bounds are kept
    known_cost: Floats  # (I+1, G', S*A)
    rules: Any  # record of `BOTH_RULES`

    @staticmethod
    def refresh(c: Counts, b: BallInBoxBelief, h: int, s: int, a: int) -> None:
        """Box, ball and costs of one pair."""
        _, S, A = b.cost_low.shape
        g, row = min(h, c.visits.shape[0] - 1), s * A + a
        refresh_box(c, b, g, row)
        refresh_ball(c, b, g, row, S)
        refresh_set_costs(c, b, h, s, a)

    @staticmethod
    def excludes(p: Any, c: Counts, b: BallInBoxBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Whether the row of kernel ``p`` at its stage ``gt`` lies outside the ball or the box."""
        return is_outside_box(p, c, b, gt, g, row) or is_outside_ball(p, c, b, gt, g, row)

    def widen(self, wider: Wider) -> BallInBoxBelief:
        """The same belief on a larger pattern."""
        return self._replace(center=wider.spread(self.center), **widen_box(self, wider))

    def problem(self, task: Task, counts: Counts) -> Problem | PessimisticProblem:
        """The optimistic problem; it shares the arrays of the belief."""
        pattern, bounds = (counts.indptr, counts.indices), (self.lower, self.upper, self.rest)
        return _problem(task, L1Ball(*pattern, self.center, self.radius, *bounds), self)


KINDS: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "bernstein": (BoxBelief, BOX_RULES),
    "kl": (BoxBelief, BOX_RULES),
    "l1": (BallBelief, BALL_RULES),
    "bernstein+l1": (BallInBoxBelief, BOTH_RULES),
    "kl+l1": (BallInBoxBelief, BOTH_RULES),
}  # by the option ``transition``


class SetBelief:
    """A set of kernels, the one that the option ``transition`` of the confidence names."""

    has_high: ClassVar[bool] = False  # whether upper bounds on constraint costs are kept

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model."""
        return EVENTS

    @classmethod
    def start(
        cls, task: Task, confidence: Confidence, counts: Counts
    ) -> BoxBelief | BallBelief | BallInBoxBelief:
        """A belief without data; every pair is still to be refreshed."""
        kind, names = KINDS[confidence.transition]
        bounds = confidence.transition.split("+")
        has_kl, n_events = "kl" in bounds, len(bounds)  # a box and a ball share delta
        S, A, I = task.n_states, task.n_actions, task.n_constraints
        pairs = count_pairs(task, confidence, len(counts.visits)) * n_events
        # a Bernstein width has room for all successors at once; KL bounds need a share for each
        successors = S if has_kl else 1
        rules = {
            **cost_rules(task, confidence, counts),
            "transition_term": 6.0 * successors * pairs,
            "ball_term": 3.0 * pairs,
            "transition_factor": float(confidence.transition_factor),
            "has_kl": has_kl,
            "known_support": confidence.known_support,
        }
        entries, rows = counts.indices.shape, counts.visits.shape
        layers = counts.cost_visits.shape[0]
        if confidence.known_costs:
            layers = task.known_cost.shape[1]
        arrays = {
            "center": np.zeros(entries),
            "radius": np.full(rows, 2.0),
            "lower": np.zeros(entries),
            "upper": np.ones(entries),
            "rest": np.ones(rows),
            "cost_low": np.zeros((layers, S, A)),
            "constraint_low": np.zeros((I, layers, S, A)),
            "constraint_high": np.zeros((I, layers if cls.has_high else 0, S, A)),
            "known_cost": task.known_cost,
            "rules": new_record(names, {name: rules[name] for name, _ in names}),
        }
        found: BoxBelief | BallBelief | BallInBoxBelief
        found = kind(**{name: arrays[name] for name in kind._fields})
        return found

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the set that bounds on a policy use: this one."""
        return replace(confidence, scale_bonus=1.0)


class PessimisticSet(SetBelief):
    """The same set, with upper bounds on constraint costs."""

    has_high: ClassVar[bool] = True


def widen_box(b: Any, wider: Wider) -> dict[str, Floats]:
    """Bounds on a larger pattern.

    An unlisted successor could have any share up to the rest; a listed unseen one still can.
    """
    return {"lower": wider.spread(b.lower), "upper": wider.spread(b.upper, b.rest)}


def _problem(
    task: Task, kernels: Box | L1Ball, b: BoxBelief | BallBelief | BallInBoxBelief
) -> Problem | PessimisticProblem:
    costs = b.cost_low, b.constraint_low
    found = Problem(kernels, task.initial, *costs, task.budget, task.allowed)
    return PessimisticProblem(found, b.constraint_high) if b.constraint_high.shape[1] else found
