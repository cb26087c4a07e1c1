"""Limits: the set of kernels and the intervals of costs that bounds on a policy are taken over.

The set is the learner's own, made anew from its counts: a learner that refreshes rarely plans with
older beliefs, a bound uses all data. A belief without a set of kernels says which one stands for
it (``as_set``); the widths of a bonus are a box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, L1Ball
from tightrope.belief.beliefs import start_beliefs
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts
from tightrope.belief.radii import cost_bounds
from tightrope.belief.sets import SetBelief
from tightrope.kernels.compiled import compiled
from tightrope.model.task import Task


class Limits(NamedTuple):
    """What may still be true, pair by pair."""

    kernels: Box | L1Ball
    low: Floats  # (I+1, G, S, A) least mean cost, then least constraint costs
    high: Floats  # (I+1, G, S, A) the greatest


@compiled
def limit_costs(c: Counts, rules: Any, known: Floats, low: Floats, high: Floats) -> None:
    """Both ends of each cost's interval, inside [0, 1]; a pair without visits has all of it.

    Parameters
    ----------
    c : Counts
    rules : record of `COST_RULES`
    known : (I+1, G, S*A) array
        Cost and constraint costs where they are known, else with no stages.
    low, high : (I+1, G', S*A) arrays, written
        G' stages of the known costs, or of the counts.
    """
    for g in range(low.shape[1]):
        for row in range(low.shape[2]):
            if rules.known_costs:
                for i in range(low.shape[0]):
                    low[i, g, row] = high[i, g, row] = known[i, g, row]
                continue
            n = float(c.cost_visits[g, row])
            for i in range(low.shape[0]):
                total = c.cost_sum[g, row] if i == 0 else c.constraint_sum[i - 1, g, row]
                mean = total / max(n, 1.0)
                low[i, g, row], high[i, g, row] = 0.0, 1.0
                if n > 0.0:
                    least, most = cost_bounds(rules, mean, n)
                    low[i, g, row], high[i, g, row] = max(0.0, least), min(1.0, most)


def find_limits(task: Task, radii: Confidence, counts: Counts) -> Limits:
    """The set after these counts; ``radii`` come from ``as_set`` of a kind of belief."""
    beliefs = start_beliefs(SetBelief, task, radii, counts)
    kernels = beliefs.belief.problem(task, counts).kernels
    known = task.known_cost
    stages = known.shape[1] if radii.known_costs else counts.cost_visits.shape[0]
    low = np.empty((task.n_constraints + 1, stages, task.n_states * task.n_actions))
    high = np.empty_like(low)
    limit_costs(counts, beliefs.belief.rules, known, low, high)
    shape = (*low.shape[:2], task.n_states, task.n_actions)
    return Limits(kernels, low.reshape(shape), high.reshape(shape))
