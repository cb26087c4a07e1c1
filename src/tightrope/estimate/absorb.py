"""Many episodes at once into counts: what a learner believes after a whole log.

Counting is the same as episode by episode, sums in the same order, so that the beliefs are those of
a learner that was told the episodes one after the other. Confidence sets hold for data that were
collected by any policy, as long as the policy of an episode did not depend on its outcome.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Bools, Ints
from tightrope.errors import ModelError
from tightrope.estimate.episode import End, Episodes
from tightrope.kernels.counts import Counts
from tightrope.model.task import Task

CERTAIN = 2**40  # visits of what is known without looking: radii vanish, sums stay exact


def absorbed(
    old: Counts, task: Task, episodes: Episodes, grows: bool, end: End | None = None
) -> Counts:
    """Counts after more episodes.

    Parameters
    ----------
    old : Counts
        Before them; left as they are.
    task : Task
        What the learner is told.
    episodes : Episodes
        Checked.
    grows : bool
        Whether counts find room for successors that the pattern does not list.
    end : End, optional
        Where episodes that are over stay.
    """
    A = task.n_actions
    stages, cost_stages = old.visits.shape[0], old.cost_visits.shape[0]
    rows = episodes.states[:, :-1] * A + episodes.actions
    successors, times = episodes.states[:, 1:], np.ones(rows.size, dtype=np.int64)
    cells = _cells(rows, stages, task)
    keys = (cells * task.n_states + successors).reshape(-1)
    if end is not None:
        ends = np.arange(stages) * task.n_states * A + end.state * A
        keys = np.append(keys, ends * task.n_states + end.state)
        times = np.append(times, np.full(stages, CERTAIN))
    listed = _listed(old, task.n_states)
    if not grows:
        _require_listed(np.isin(keys, listed), episodes)
    counts = _with_successors(old, task.n_states, listed, keys, times)
    np.add.at(counts.visits.reshape(-1), keys // task.n_states, times)
    _count_costs(counts, _cells(rows, cost_stages, task).reshape(-1), episodes)
    if end is not None:
        row = end.state * A
        counts.cost_visits[:, row] += CERTAIN
        counts.cost_sum[:, row] += CERTAIN * end.cost[0]
        counts.constraint_sum[:, :, row] += CERTAIN * end.cost[1:, None]
    return counts


def _require_listed(is_listed: Bools, episodes: Episodes) -> None:
    """Raise for the first step, or the end after all of them, whose successor is not listed."""
    if is_listed.all():
        return
    k, h = divmod(int(is_listed.argmin()), episodes.actions.shape[1])
    if k == len(episodes):
        raise ModelError("end.state: the given successors rule out that it stays")
    s, a, t = episodes.states[k, h], episodes.actions[k, h], episodes.states[k, h + 1]
    raise ModelError(
        f"episodes.states[k={k}, h={h + 1}] is {t}, a successor that the given successors "
        f"rule out after state {s} and action {a}"
    )


def _cells(rows: Ints, stages: int, task: Task) -> Ints:
    """Number of each (stage, state, action) among all of them."""
    stage = np.minimum(np.arange(task.horizon), stages - 1)
    return np.asarray(stage * task.n_states * task.n_actions + rows)


def _listed(counts: Counts, S: int) -> Ints:
    """The keys of the entries that the pattern has, in its order."""
    rows = counts.visits.shape[1]
    keys = [
        (g * rows + np.repeat(np.arange(rows), np.diff(indptr))) * S
        + counts.indices[g, : indptr[-1]]
        for g, indptr in enumerate(counts.indptr)
    ]
    return np.concatenate(keys).astype(np.int64)


def _with_successors(old: Counts, S: int, listed: Ints, keys: Ints, times: Ints) -> Counts:
    """A copy of the counts with every successor listed and counted."""
    stages, rows = old.visits.shape
    entries, where = np.unique(np.concatenate((listed, keys)), return_inverse=True)
    seen = np.concatenate(
        [row[: indptr[-1]] for row, indptr in zip(old.successors, old.indptr, strict=True)]
    )
    numbers = np.zeros(entries.size, dtype=np.int64)
    np.add.at(numbers, where, np.concatenate((seen, times)))
    cell = entries // S
    ends = np.searchsorted(cell, np.arange(stages * rows + 1))
    indptr = np.stack([ends[g * rows : (g + 1) * rows + 1] - ends[g * rows] for g in range(stages)])
    longest = max(1, int(indptr[:, -1].max()))
    indices = np.zeros((stages, longest), dtype=np.uint32)
    successors = np.zeros((stages, longest), dtype=np.int64)
    for g in range(stages):
        first, last = ends[g * rows], ends[(g + 1) * rows]
        indices[g, : last - first] = entries[first:last] % S
        successors[g, : last - first] = numbers[first:last]
    return Counts(
        indptr=indptr,
        indices=indices,
        visits=old.visits.copy(),
        successors=successors,
        cost_visits=old.cost_visits.copy(),
        cost_sum=old.cost_sum.copy(),
        constraint_sum=old.constraint_sum.copy(),
    )


def _count_costs(counts: Counts, cells: Ints, episodes: Episodes) -> None:
    np.add.at(counts.cost_visits.reshape(-1), cells, 1)
    np.add.at(counts.cost_sum.reshape(-1), cells, episodes.cost.reshape(-1))
    for i, total in enumerate(counts.constraint_sum):
        np.add.at(total.reshape(-1), cells, episodes.constraint_cost[:, i].reshape(-1))
