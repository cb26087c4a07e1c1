"""Counts: what was seen, pair by pair (SPEC A2), and how an episode is added to it."""

from __future__ import annotations

from typing import NamedTuple

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import inlined


class Counts(NamedTuple):
    """What was seen. G stages, or one when stages are pooled, for transitions and for costs."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    visits: Ints  # (G, S*A)
    successors: Ints  # (G, E)
    cost_visits: Ints  # (G', S*A)
    cost_sum: Floats  # (G', S*A)
    constraint_sum: Floats  # (I, G', S*A)


@inlined
def count(c: Counts, h: int, row: int, t: int, cost: float, constraint_cost: Floats) -> bool:
    """Count one step; False, and nothing counted, when the pattern does not list the successor."""
    g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        if c.indices[g, e] == t:
            c.visits[g, row] += 1
            c.successors[g, e] += 1
            c.cost_visits[gc, row] += 1
            c.cost_sum[gc, row] += cost
            for i in range(constraint_cost.size):
                c.constraint_sum[i, gc, row] += constraint_cost[i]
            return True
    return False


@inlined
def count_episode(
    c: Counts,
    A: int,
    states: Ints,
    actions: Ints,
    cost: Floats,
    constraint_cost: Floats,
    planned_visits: Ints,
    planned_cost_visits: Ints,
) -> bool:
    """Count an episode; whether some count has doubled since the last plan, or was zero (T5).

    Parameters
    ----------
    c : Counts
        Written.
    A : int
    states : (H+1,) array
    actions : (H,) array
    cost : (H,) array
    constraint_cost : (H, I) array
    planned_visits, planned_cost_visits : (G, S*A) and (G', S*A) arrays
        The counts of the last plan.
    """
    is_doubled = False
    for h in range(actions.size):
        row = states[h] * A + actions[h]
        count(c, h, row, states[h + 1], cost[h], constraint_cost[h])
        g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
        old, old_cost = planned_visits[g, row], planned_cost_visits[gc, row]
        is_doubled = is_doubled or old == 0 or c.visits[g, row] >= 2 * old
        is_doubled = is_doubled or old_cost == 0 or c.cost_visits[gc, row] >= 2 * old_cost
    return is_doubled
