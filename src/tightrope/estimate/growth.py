"""Room for successors as they appear: a pattern that nobody lent grows with the episodes.

Beliefs about the new successors are what they were before these had a place of their own, so that a
learner that renews its beliefs rarely (T5) goes on believing what it planned with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Ints
from tightrope.estimate.beliefs import Beliefs, problem_of
from tightrope.kernels.counts import Counts
from tightrope.model.task import Task

Successors = list[tuple[int, int]]
"""Pairs of a row ``s*A + a`` and a successor, sorted."""


def unlisted(counts: Counts, task: Task, states: Ints, actions: Ints) -> list[int]:
    """Steps of an episode whose successors the pattern does not list.

    Parameters
    ----------
    counts : Counts
    task : Task
        What the learner is told.
    states : (H+1,) array
    actions : (H,) array
    """
    found = []
    for h, (s, a, t) in enumerate(zip(states, actions, states[1:], strict=False)):
        g, row = min(h, counts.indptr.shape[0] - 1), s * task.n_actions + a
        if t not in counts.indices[g, counts.indptr[g, row] : counts.indptr[g, row + 1]]:
            found.append(h)
    return found


def grown(beliefs: Beliefs, task: Task, states: Ints, actions: Ints) -> Beliefs:
    """Beliefs with room for every successor of an episode; the same object when there is room.

    Parameters
    ----------
    beliefs : Beliefs
        Counts stay as they are.
    task : Task
        What the learner is told.
    states : (H+1,) array
    actions : (H,) array
    """
    counts, old = beliefs.counts, beliefs.believed
    steps = unlisted(counts, task, states, actions)
    if not steps:
        return beliefs
    new: list[set[tuple[int, int]]] = [set() for _ in counts.indptr]
    for h in steps:
        row = int(states[h]) * task.n_actions + int(actions[h])
        new[min(h, len(new) - 1)].add((row, int(states[h + 1])))
    wider = _wider(counts, [sorted(entries) for entries in new])
    nothing = np.zeros_like(old.rest)
    counts = counts._replace(
        indptr=wider.indptr,
        indices=wider.indices,
        successors=wider.spread(counts.successors, nothing),
    )
    # an unlisted successor may have had any share up to the rest: a listed unseen one still may
    believed = old._replace(
        lower=wider.spread(old.lower, nothing),
        upper=wider.spread(old.upper, old.rest),
        centre=wider.spread(old.centre, nothing),
    )
    problem = problem_of(task, beliefs.rules, counts, believed)
    return Beliefs(beliefs.rules, counts, believed, problem)


class _Wider(NamedTuple):
    """A pattern with more entries, and how arrays over the old entries are spread over it."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    orders: list[Ints]  # by stage: where each entry comes from, old ones counted before new ones
    new: list[Successors]

    def spread(self, values: Any, more: Any) -> Any:
        """An array over entries in the new layout; new entries hold what their row says."""
        wide = np.zeros(self.indices.shape, dtype=values.dtype)
        for g, (order, new) in enumerate(zip(self.orders, self.new, strict=True)):
            old = values[g, : order.size - len(new)]
            wide[g, : order.size] = np.append(old, [more[g, row] for row, _ in new])[order]
        return wide


def _wider(counts: Counts, new: list[Successors]) -> _Wider:
    stages = [_with_entries(counts, g, entries) for g, entries in enumerate(new)]
    longest = max(listed.size for _, listed, _ in stages)
    indices = np.zeros((len(stages), longest), dtype=np.uint32)
    for g, (_, listed, _) in enumerate(stages):
        indices[g, : listed.size] = listed
    indptr = np.stack([indptr for indptr, _, _ in stages])
    return _Wider(indptr, indices, [order for _, _, order in stages], new)


def _with_entries(counts: Counts, g: int, new: Successors) -> tuple[Ints, Ints, Ints]:
    """Pointers and successors of a stage with more entries, and the order that sorts them."""
    indptr, used = counts.indptr[g], int(counts.indptr[g, -1])
    old_rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    rows = np.concatenate((old_rows, [row for row, _ in new])).astype(np.int64)
    indices = np.concatenate((counts.indices[g, :used], [t for _, t in new])).astype(np.uint32)
    order = np.lexsort((indices, rows))
    sizes = np.bincount(rows, minlength=indptr.size - 1)
    return np.concatenate(([0], np.cumsum(sizes))), indices[order], order
