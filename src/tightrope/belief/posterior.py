"""A posterior over models, and the model drawn from it.

The prior of a row of transitions has mass 1, the same for every state; that of a mean cost is
uniform on [0, 1]. After n visits, of which n(t) led to state t, with costs that sum to x::

    p(.)  ~  Dirichlet(n(t) for every state t seen, 1 for all states together)
             the last part spread evenly over all states
    c     ~  Beta(1 + x, 1 + n - x)                     a cost in (0, 1) as that share of a success

Means are those of the prior Dirichlet(1/S, ..., 1/S). Its own draws would put the mass of states
never seen on a few of them, which a sparse row cannot hold. Where the support is known, rows are
drawn from Dirichlet(1/N + n(t)) over the N listed successors.

The counts are the posterior; nothing is refreshed. A step draws the model into the arrays of its
problem (`draw_model`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Empirical, Floats, new_record
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts, Wider
from tightrope.belief.radii import COST_RULES
from tightrope.belief.sets import SetBelief
from tightrope.kernels.compiled import compiled, inlined
from tightrope.model.task import Task

PRIOR_RULES = [
    ("draws_costs", "?"),  # costs are unknown
    ("known_support", "?"),
    *COST_RULES,  # ``known_costs`` is set: no cost is audited
]


class Sampled(NamedTuple):
    """The problem of a model drawn from a posterior: a `Problem` with what it is drawn from."""

    kernels: Empirical  # written by `draw_model`
    initial: Floats  # (S,)
    cost: Floats  # (G', S, A), written
    constraint_cost: Floats  # (I, G', S, A), written
    budget: Floats  # (I,)
    allowed: Bools  # (0 or 1 or H, S, A)
    counts: Counts
    known_cost: Floats  # (I+1, G', S*A)
    rules: Any  # record of `PRIOR_RULES`


@inlined
def draw_row(problem: Sampled, g: int, row: int, rng: np.random.Generator) -> None:
    """Draw one row of the kernel."""
    c, p = problem.counts, problem.kernels
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    is_known = problem.rules.known_support
    even = 0.0 if is_known else rng.standard_gamma(1.0)
    total = even
    for e in range(first, last):
        shape = float(c.successors[g, e]) + (1.0 / (last - first) if is_known else 0.0)
        p.data[g, e] = rng.standard_gamma(shape) if shape > 0.0 else 0.0
        total += p.data[g, e]
    for e in range(first, last):
        p.data[g, e] = p.data[g, e] / total if total > 0.0 else 1.0 / (last - first)
    p.even[g, row] = even / total if total > 0.0 else 0.0


@compiled
def draw_model(problem: Sampled, rng: np.random.Generator) -> None:
    """Draw a kernel and costs from the posterior into the problem's arrays.

    Rows in order, and in a row the even part first; then the cost and each constraint cost.
    """
    c = problem.counts
    A = problem.cost.shape[2]
    for g in range(c.visits.shape[0]):
        for row in range(c.visits.shape[1]):
            draw_row(problem, g, row, rng)
    if not problem.rules.draws_costs:
        return
    for i in range(c.constraint_sum.shape[0] + 1):
        for g in range(c.cost_visits.shape[0]):
            for row in range(c.cost_visits.shape[1]):
                total = c.cost_sum[g, row] if i == 0 else c.constraint_sum[i - 1, g, row]
                rest = max(0.0, c.cost_visits[g, row] - total)
                mean = rng.beta(1.0 + total, 1.0 + rest)
                if i == 0:
                    problem.cost[g, row // A, row % A] = mean
                else:
                    problem.constraint_cost[i - 1, g, row // A, row % A] = mean


class PosteriorBelief(NamedTuple):
    """Dirichlet posteriors of the transitions, beta posteriors of the costs, both by the counts."""

    known_cost: Floats  # (I+1, G', S*A) costs where they are known
    rules: Any  # record of `PRIOR_RULES`

    @staticmethod
    def events() -> tuple[str, ...]:
        """What the audit compares with the true model: nothing, a posterior excludes no model."""
        return ()

    @staticmethod
    def refresh(c: Counts, b: PosteriorBelief, h: int, s: int, a: int) -> None:
        """Leave the belief as it is: the counts say it all."""

    @staticmethod
    def excludes(p: Any, c: Counts, b: PosteriorBelief, gt: int, g: int, row: int, S: int) -> bool:
        """Hold every kernel for possible."""
        return False

    @staticmethod
    def as_set(confidence: Confidence) -> Confidence:
        """The confidence of the set that bounds on a policy use."""
        return SetBelief.as_set(confidence)

    @classmethod
    def start(cls, task: Task, confidence: Confidence, counts: Counts) -> PosteriorBelief:
        """The prior, or the posterior after these counts."""
        rules = {
            "draws_costs": not confidence.known_costs,
            "known_support": confidence.known_support,
            "known_costs": True,
        }
        return cls(task.known_cost, new_record(PRIOR_RULES, rules))

    def widen(self, wider: Wider) -> PosteriorBelief:
        """Itself."""
        return self

    def problem(self, task: Task, counts: Counts) -> Sampled:
        """Room for a model; before the first draw its kernel is uniform."""
        stages, rows = counts.visits.shape
        layers = counts.cost_visits.shape[0]
        shape = (layers, task.n_states, task.n_actions)
        cost, bounded = np.zeros(shape), np.zeros((task.n_constraints, *shape))
        if not self.rules.draws_costs:
            known = self.known_cost.reshape(task.n_constraints + 1, -1, *shape[1:])
            cost, bounded = known[0].copy(), known[1:].copy()
        kernel = Empirical(
            counts.indptr, counts.indices, np.zeros(counts.indices.shape), np.ones((stages, rows))
        )
        return Sampled(
            kernel,
            task.initial,
            cost,
            bounded,
            task.budget,
            task.allowed,
            counts,
            self.known_cost,
            self.rules,
        )
