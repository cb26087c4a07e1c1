"""Beliefs: counts, what they say about the model, and the problem that a learner plans in.

A kind of belief is a class with ``events`` (what the audit compares with the true model),
``start``, ``as_set``, ``widen``, ``problem`` and the compiled functions ``refresh`` and
``excludes``: `SetBelief` (a box, an L1 ball or their intersection), `BonusBelief`, `AnytimeBelief`,
`PosteriorBelief` and `NoBelief`.
Compiled callers pick the functions by the class of the record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Ints, Problem
from tightrope.belief.audit import Watch, audit_pair
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import (
    Counts,
    count_step,
    find_unlisted,
    make_room,
    new_counts,
    step_keys,
    widen_counts,
)
from tightrope.kernels.calls import Block, unpack
from tightrope.kernels.compiled import INLINED, compiled, inlined
from tightrope.kernels.scratch import copy
from tightrope.model.task import Task


class Beliefs(NamedTuple):
    """Counts, the belief made from them, and what decides when it is refreshed."""

    counts: Counts
    belief: Any  # BoxBelief, BallBelief, BallInBoxBelief, BonusBelief, ...
    planned_visits: Ints  # (G, S*A) at the last refresh, where that waits for visits to double
    planned_cost_visits: Ints  # (G', S*A) the same for costs
    waits: bool  # refresh only when some visits have doubled


def refresh(c: Counts, b: Any, h: int, s: int, a: int) -> None:
    """Refresh what a belief says about one pair."""
    type(b).refresh(c, b, h, s, a)


overload(refresh, jit_options=INLINED, strict=False)(lambda c, b, h, s, a: b.instance_class.refresh)


@compiled
def refresh_everything(block: Any) -> int:
    """Refresh every pair, as at the start. The block holds counts, belief and sizes H, S, A."""
    c, b, H, S, A = unpack(block)
    for h in range(H):
        for s in range(S):
            for a in range(A):
                refresh(c, b, h, s, a)
    return 0


@inlined
def refresh_and_audit(
    beliefs: Beliefs, watch: Watch | None, h: int, s: int, a: int, A: int
) -> None:
    """Refresh one pair and compare it with the true model where one is watched."""
    refresh(beliefs.counts, beliefs.belief, h, s, a)
    if watch is not None:
        audit_pair(watch, beliefs.counts, beliefs.belief, h, s * A + a)


@compiled
def observe(block: Any) -> int:
    """Count an episode and refresh the beliefs that it changes; whether any was refreshed.

    Where beliefs wait, they are refreshed when the count of some pair has doubled, or was zero.

    Parameters
    ----------
    block : Block
        `Beliefs`, whose pattern lists every successor of the episode; number of actions; `Steps`;
        `Watch`, the true model and the audit in simulations, else None.
    """
    beliefs, A, steps, watch = unpack(block)
    c = beliefs.counts
    is_doubled = False
    for h in range(steps.actions.size):
        row = steps.states[h] * A + steps.actions[h]
        count_step(c, h, row, steps.states[h + 1], steps.cost[h], steps.constraint_cost[h])
        if beliefs.waits:
            g, gc = min(h, c.visits.shape[0] - 1), min(h, c.cost_visits.shape[0] - 1)
            old, old_cost = beliefs.planned_visits[g, row], beliefs.planned_cost_visits[gc, row]
            is_doubled = is_doubled or old == 0 or c.visits[g, row] >= 2 * old
            is_doubled = is_doubled or old_cost == 0 or c.cost_visits[gc, row] >= 2 * old_cost
    if not beliefs.waits:
        for h in range(steps.actions.size):
            refresh_and_audit(beliefs, watch, h, steps.states[h], steps.actions[h], A)
        return 1
    if not is_doubled:
        return 0
    stages = c.visits.shape[0]
    for h in range(max(stages, c.cost_visits.shape[0])):  # either may be pooled
        g = min(h, stages - 1)
        for row in range(c.visits.shape[1]):
            if c.visits[g, row] > beliefs.planned_visits[g, row]:
                refresh_and_audit(beliefs, watch, h, row // A, row % A, A)
    copy(c.visits, beliefs.planned_visits)
    copy(c.cost_visits, beliefs.planned_cost_visits)
    return 1


def start_beliefs(
    kind: Any, task: Task, confidence: Confidence, counts: Counts | None = None
) -> Beliefs:
    """Beliefs before the first episode, or after the given counts.

    Parameters
    ----------
    kind : class
        `SetBelief`, `BonusBelief`, `AnytimeBelief`, `PosteriorBelief` or `NoBelief`.
    task : Task
    confidence : Confidence
    counts : Counts, optional
        Shared, not copied.
    """
    counts = new_counts(task, confidence) if counts is None else counts
    belief = kind.start(task, confidence, counts)
    layers = belief.cost_low.shape[0] if hasattr(belief, "cost_low") else 0
    stages = max(layers, counts.visits.shape[0], counts.cost_visits.shape[0])
    refresh_everything(Block(counts, belief, stages, task.n_states, task.n_actions))
    planned = np.zeros_like(counts.visits), np.zeros_like(counts.cost_visits)
    return Beliefs(counts, belief, *planned, confidence.replan == "doubling")


def problem_of(task: Task, beliefs: Beliefs) -> Problem:
    """The problem that a learner with these beliefs plans in."""
    found: Problem = beliefs.belief.problem(task, beliefs.counts)
    return found


def widen_beliefs(beliefs: Beliefs, task: Task, states: Ints, actions: Ints) -> Beliefs:
    """Beliefs with room for every successor of an episode; the same object when there is room.

    New successors get the bounds that unlisted successors had, so the belief itself is unchanged
    until it is refreshed.
    """
    counts, episode = beliefs.counts, (states[None], actions[None])
    is_unlisted = find_unlisted(counts, task, *episode)
    if not is_unlisted.any():
        return beliefs
    keys = step_keys(counts, task, *episode)[is_unlisted]
    wider = make_room(counts, task.n_states, keys)
    return beliefs._replace(counts=widen_counts(counts, wider), belief=beliefs.belief.widen(wider))
