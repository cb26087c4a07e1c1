"""Counts: what was observed, pair by pair, and the pattern of successors they have room for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.belief.confidence import Confidence
from tightrope.belief.episode import End, Episodes
from tightrope.errors import ConfigError, DataError
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.scratch import repeated
from tightrope.model.task import Task

CERTAIN = 2**40  # visits of what is known without data: radii vanish, sums stay exact


class Counts(NamedTuple):
    """What was observed. G stages, or one when stages are pooled, for transitions and for costs."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    visits: Ints  # (G, S*A)
    successors: Ints  # (G, E)
    cost_visits: Ints  # (G', S*A)
    cost_sum: Floats  # (G', S*A)
    constraint_sum: Floats  # (I, G', S*A)


class Steps(NamedTuple):
    """One episode as the kernels read it."""

    states: Ints  # (H+1,)
    actions: Ints  # (H,)
    cost: Floats  # (H,)
    constraint_cost: Floats  # (H, I)


def new_counts(task: Task, confidence: Confidence) -> Counts:
    """Counts before the first episode."""
    if confidence.pool and not (task.is_stationary_kernel or task.is_stationary_cost):
        raise ConfigError.about(
            "confidence",
            found="pool",
            shown="pool is set",
            more=", but neither kernel nor costs are stationary",
        )
    if confidence.known_costs and task.known_cost.shape[1] == 0:
        raise ConfigError.about(
            "confidence",
            found="known_costs",
            shown="known_costs is set",
            more=", but no costs were given",
        )
    H, rows = task.horizon, task.n_states * task.n_actions
    stages = 1 if confidence.pool and task.is_stationary_kernel else H
    cost_stages = 1 if confidence.pool and task.is_stationary_cost else H
    p = task.pattern
    return Counts(
        indptr=repeated(p.indptr[:stages], stages),
        indices=repeated(p.indices[:stages], stages),
        visits=np.zeros((stages, rows), dtype=np.int64),
        successors=np.zeros((stages, p.indices.shape[1]), dtype=np.int64),
        cost_visits=np.zeros((cost_stages, rows), dtype=np.int64),
        cost_sum=np.zeros((cost_stages, rows)),
        constraint_sum=np.zeros((task.n_constraints, cost_stages, rows)),
    )


@inlined
def find_entry(c: Counts, g: int, row: int, t: int) -> int:
    """Place of a successor in a row of the pattern; -1 when the pattern does not list it."""
    for e in range(c.indptr[g, row], c.indptr[g, row + 1]):
        if c.indices[g, e] == t:
            return int(e)
    return -1


@inlined
def count_step(c: Counts, h: int, row: int, t: int, cost: float, constraint_cost: Floats) -> bool:
    """Count one step; False, and nothing counted, when the pattern does not list the successor."""
    g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
    e = find_entry(c, g, row, t)
    if e < 0:
        return False
    c.visits[g, row] += 1
    c.successors[g, e] += 1
    c.cost_visits[gc, row] += 1
    c.cost_sum[gc, row] += cost
    for i in range(constraint_cost.size):
        c.constraint_sum[i, gc, row] += constraint_cost[i]
    return True


@compiled
def mark_unlisted(c: Counts, A: int, states: Ints, actions: Ints, is_unlisted: Bools) -> bool:
    """Mark the steps of K episodes whose successors the pattern does not list; whether any is."""
    found = False
    for k in range(actions.shape[0]):
        for h in range(actions.shape[1]):
            g = min(h, c.visits.shape[0] - 1)
            row = states[k, h] * A + actions[k, h]
            is_unlisted[k, h] = find_entry(c, g, row, states[k, h + 1]) < 0
            found = found or is_unlisted[k, h]
    return found


@compiled
def count_episodes(
    c: Counts, A: int, states: Ints, actions: Ints, cost: Floats, constraint_cost: Floats
) -> None:
    """Count K episodes; constraint costs are (K, H, I)."""
    for k in range(actions.shape[0]):
        for h in range(actions.shape[1]):
            row = states[k, h] * A + actions[k, h]
            count_step(c, h, row, states[k, h + 1], cost[k, h], constraint_cost[k, h])


class Wider(NamedTuple):
    """A pattern with more entries, and how arrays over the old entries are spread over it."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    old: Ints  # places of the old entries among all entries, stage after stage
    new: Ints  # the same for the new ones
    rows: Ints  # stage and row of each new entry, as one number

    def spread(self, values: Any, fill: Floats | None = None) -> Any:
        """An array over entries on the new pattern; new entries are zero or what their row says."""
        used = self.indptr[:, -1]
        flat = np.zeros(int(used.sum()), dtype=values.dtype)
        ends = np.cumsum(used) - used
        n_old = np.diff(np.searchsorted(self.old, np.append(ends, flat.size)))
        flat[self.old] = np.concatenate([row[:n] for row, n in zip(values, n_old, strict=True)])
        if fill is not None:
            flat[self.new] = fill.reshape(-1)[self.rows]
        wide = np.zeros(self.indices.shape, dtype=values.dtype)
        for g, (first, n) in enumerate(zip(ends, used, strict=True)):
            wide[g, :n] = flat[first : first + n]
        return wide


def find_unlisted(counts: Counts, task: Task, states: Ints, actions: Ints) -> Bools:
    """Which steps (K, H) of episodes have successors that the pattern does not list."""
    is_unlisted = np.zeros(actions.shape, dtype=np.bool_)
    mark_unlisted(counts, task.n_actions, states, actions, is_unlisted)
    return is_unlisted


def step_keys(counts: Counts, task: Task, states: Ints, actions: Ints) -> Ints:
    """One number (K, H) for stage, state, action and successor of each step."""
    stage = np.minimum(np.arange(task.horizon), counts.visits.shape[0] - 1)
    rows = states[:, :-1] * task.n_actions + actions
    cells = stage * task.n_states * task.n_actions + rows
    return np.asarray(cells * task.n_states + states[:, 1:])


def make_room(counts: Counts, S: int, keys: Ints) -> Wider:
    """A pattern that lists these successors too.

    Parameters
    ----------
    counts : Counts
    S : int
    keys : array
        Of `step_keys`, none of them listed; repetitions count once.
    """
    stages, rows = counts.visits.shape
    listed = np.concatenate(
        [
            (g * rows + np.repeat(np.arange(rows), np.diff(indptr))) * S
            + counts.indices[g, : indptr[-1]]
            for g, indptr in enumerate(counts.indptr)
        ]
    ).astype(np.int64)
    new = np.unique(keys)
    together = np.union1d(listed, new)
    ends = np.searchsorted(together // S, np.arange(stages * rows + 1))
    indptr = np.stack([ends[g * rows : (g + 1) * rows + 1] - ends[g * rows] for g in range(stages)])
    indices = np.zeros((stages, max(1, int(indptr[:, -1].max()))), dtype=np.uint32)
    for g in range(stages):
        first, last = ends[g * rows], ends[(g + 1) * rows]
        indices[g, : last - first] = together[first:last] % S
    places = np.searchsorted(together, listed), np.searchsorted(together, new)
    return Wider(indptr, indices, *places, new // S)


def widen_counts(counts: Counts, wider: Wider) -> Counts:
    """The same counts on a larger pattern."""
    return counts._replace(
        indptr=wider.indptr, indices=wider.indices, successors=wider.spread(counts.successors)
    )


def add_episodes(
    old: Counts, task: Task, episodes: Episodes, grows: bool, end: End | None = None
) -> Counts:
    """Counts after more episodes, the old ones left as they are.

    Sums are taken in the order of the episodes, so that the result equals that of a learner that
    observed them one by one.

    Parameters
    ----------
    old : Counts
    task : Task
    episodes : Episodes
        Checked.
    grows : bool
        Whether the pattern may get successors that it does not list.
    end : End, optional
        Where episodes that are over stay.
    """
    is_unlisted = find_unlisted(old, task, episodes.states, episodes.actions)
    keys = step_keys(old, task, episodes.states, episodes.actions)[is_unlisted]
    stages, rows = old.visits.shape
    ends: list[tuple[int, int]] = []
    if end is not None:
        row = end.state * task.n_actions
        ends = [(g, row) for g in range(stages)]
        missing = [
            (g * rows + row) * task.n_states + end.state
            for g in range(stages)
            if end.state not in old.indices[g, old.indptr[g, row] : old.indptr[g, row + 1]]
        ]
        keys = np.append(keys, missing).astype(np.int64)
    if keys.size and not grows:
        _refuse_successor(is_unlisted, episodes)
    copied = Counts(*(array.copy() for array in old))
    counts = widen_counts(copied, make_room(old, task.n_states, keys)) if keys.size else copied
    bounded = np.ascontiguousarray(np.moveaxis(episodes.constraint_cost, 1, 2))
    count_episodes(
        counts, task.n_actions, episodes.states, episodes.actions, episodes.cost, bounded
    )
    if end is not None:
        for g, row in ends:
            first, last = counts.indptr[g, row : row + 2]
            at = first + np.searchsorted(counts.indices[g, first:last], end.state)
            counts.successors[g, at] += CERTAIN
            counts.visits[g, row] += CERTAIN
        counts.cost_visits[:, row] += CERTAIN
        counts.cost_sum[:, row] += CERTAIN * end.cost[0]
        counts.constraint_sum[:, :, row] += CERTAIN * end.cost[1:, None]
    return counts


def _refuse_successor(is_unlisted: Bools, episodes: Episodes) -> None:
    """Raise for the first step, or the end after all of them, whose successor is not listed."""
    if not is_unlisted.any():
        raise DataError.about("end.state", more="the given successors rule out that it stays")
    k, h = divmod(int(is_unlisted.argmax()), episodes.actions.shape[1])
    s, a, t = episodes.states[k, h], episodes.actions[k, h], episodes.states[k, h + 1]
    where = f"episodes.states[k={k}, h={h + 1}]"
    more = f", a successor that the given successors rule out after state {s} and action {a}"
    raise DataError.about(where, verb="is", found=int(t), more=more)
