"""One episode into counts, and the beliefs that it changes renewed.

The simulation loop does the same in compiled code (`run.simulate`), and audits on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Ints
from tightrope.estimate.beliefs import Beliefs
from tightrope.estimate.episode import Episode
from tightrope.kernels.believe import believe
from tightrope.kernels.counts import Counts, count_episode
from tightrope.model.task import Task


class Planned(NamedTuple):
    """The visits that beliefs were last renewed with, where that waits for some to double (T5)."""

    visits: Ints  # (G, S*A)
    cost_visits: Ints  # (G', S*A)


def planned_with(counts: Counts) -> Planned:
    """Room for visits, before there are any."""
    return Planned(np.zeros_like(counts.visits), np.zeros_like(counts.cost_visits))


def renewed(beliefs: Beliefs, task: Task, steps: Episode, planned: Planned, waits: bool) -> bool:
    """Count an episode and renew what it changes; whether anything was renewed.

    Parameters
    ----------
    beliefs : Beliefs
        Written; its pattern lists every successor of the episode.
    task : Task
        What the learner is told.
    steps : Episode
        Checked, constraint costs by step.
    planned : Planned
        Written where beliefs wait.
    waits : bool
        Whether beliefs are renewed only when some visits have doubled.
    """
    counts, A = beliefs.counts, task.n_actions
    is_doubled = count_episode(
        counts, A, steps.states, steps.actions, steps.cost, steps.constraint_cost, *planned
    )
    if not waits:
        pairs = zip(steps.states, steps.actions, strict=False)
        changed = [(h, int(s), int(a)) for h, (s, a) in enumerate(pairs)]
    elif is_doubled:
        changed = _visited_since(counts, planned, A)
        planned.visits[:], planned.cost_visits[:] = counts.visits, counts.cost_visits
    else:
        return False
    for h, s, a in changed:
        believe(counts, beliefs.rules, beliefs.believed, task.known_cost, h, s, a)
    return True


def _visited_since(counts: Counts, planned: Planned, A: int) -> list[tuple[int, int, int]]:
    """Stage, state and action of what was visited since; either kind of counts may be pooled."""
    is_new = counts.visits > planned.visits
    stages = np.arange(max(len(is_new), len(counts.cost_visits)))
    moved = np.argwhere(is_new[np.minimum(stages, len(is_new) - 1)])
    return [(int(h), int(row) // A, int(row) % A) for h, row in moved]
