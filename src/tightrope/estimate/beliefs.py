"""Beliefs: counts, radii and the optimistic problem of a learner, sharing their arrays.

The compiled kernels (`kernels.believe`) write into these arrays row by row; the problem that the
learner plans in reads them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Box, Empirical, Ints, L1Ball, Problem
from tightrope.errors import ModelError
from tightrope.estimate.confidence import Confidence
from tightrope.kernels.believe import Believed, Rules, believe_everything
from tightrope.kernels.copying import repeated
from tightrope.kernels.counts import Counts
from tightrope.model.task import Task

__all__ = ["Beliefs", "begin_beliefs", "beliefs_from", "grown", "rules_of"]


class Beliefs(NamedTuple):
    """Counts, beliefs and the problem made of them."""

    rules: Rules
    counts: Counts
    believed: Believed
    problem: Problem


def begin_beliefs(task: Task, confidence: Confidence, is_bonus: bool) -> Beliefs:
    """What is believed before the first episode.

    Parameters
    ----------
    task : Task
        What the learner is told.
    confidence : Confidence
        Which radii.
    is_bonus : bool
        Whether the learner lowers costs by a bonus (else it plans over a set of kernels).
    """
    return beliefs_from(task, confidence, is_bonus, _counts(task, confidence))


def beliefs_from(task: Task, confidence: Confidence, is_bonus: bool, counts: Counts) -> Beliefs:
    """What is believed after these counts, every pair made up to date.

    Parameters
    ----------
    task : Task
        What the learner is told.
    confidence : Confidence
        Which radii.
    is_bonus : bool
        As for `begin_beliefs`.
    counts : Counts
        Shared, not copied.
    """
    rules = rules_of(task, confidence, is_bonus)
    believed = _room(task, rules, counts)
    believe_everything(counts, rules, believed, task.known_cost)
    return Beliefs(rules, counts, believed, _problem(task, rules, counts, believed))


def rules_of(task: Task, confidence: Confidence, is_bonus: bool) -> Rules:
    """The radii's constants for a task (SPEC A3, A12)."""
    S, A, H, I = task.n_states, task.n_actions, task.horizon, task.n_constraints
    has_ball = "l1" in confidence.transition and not is_bonus
    has_box = confidence.transition != "l1"
    has_kl = "kl" in confidence.transition and not is_bonus
    # the box bound is for all successors at once only in Bernstein's slack (A3), not in KL's
    successors = S if has_kl else 1
    events = 2.0 if has_ball and has_box else 1.0
    pairs = S * A * H / task.delta
    return Rules(
        horizon=H,
        transition_term=6.0 * successors * pairs * events,
        cost_term=6.0 * pairs * (I + 1),
        ball_term=3.0 * pairs * events,
        n_episodes=0.0 if confidence.any_time else float(task.n_episodes),
        has_box=has_box,
        has_kl=has_kl,
        has_ball=has_ball,
        is_bonus=is_bonus,
        tight_costs=confidence.tight_costs,
        clip=confidence.clip,
        tight_bonus=confidence.tight_bonus,
        known_costs=confidence.known_costs,
        known_support=confidence.known_support,
        cost_factor=float(confidence.cost_factor),
        transition_factor=float(confidence.transition_factor),
        bonus_factor=float(confidence.scale_bonus),
    )


def _counts(task: Task, confidence: Confidence) -> Counts:
    if confidence.pool and not (task.is_stationary_kernel or task.is_stationary_cost):
        raise ModelError("confidence: pool is set, but neither kernel nor costs are stationary")
    if confidence.known_costs and task.known_cost.shape[1] == 0:
        raise ModelError("confidence: known_costs is set, but no costs were given")
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


def _room(task: Task, rules: Rules, counts: Counts) -> Believed:
    S, A, I = task.n_states, task.n_actions, task.n_constraints
    stages, entries = counts.indices.shape
    layers = counts.cost_visits.shape[0]
    if rules.known_costs:
        layers = task.known_cost.shape[1]
    if rules.is_bonus:
        layers = task.horizon if rules.tight_bonus else max(layers, stages)
    return Believed(
        lower=np.zeros((stages, entries)),
        upper=np.ones((stages, entries)),
        rest=np.ones((stages, S * A)),
        centre=np.zeros((stages, entries)),
        radius=np.full((stages, S * A), 2.0),
        even=np.ones((stages, S * A)),
        width=np.zeros((stages, S * A)),
        cost_low=np.zeros((layers, S, A)),
        constraint_low=np.zeros((I, layers, S, A)),
    )


def _problem(task: Task, rules: Rules, counts: Counts, b: Believed) -> Problem:
    kernels: Box | L1Ball | Empirical
    if rules.is_bonus:
        kernels = Empirical(counts.indptr, counts.indices, b.centre, b.even)
    elif rules.has_ball:
        kernels = L1Ball(
            counts.indptr, counts.indices, b.centre, b.radius, b.lower, b.upper, b.rest
        )
    else:
        kernels = Box(counts.indptr, counts.indices, b.lower, b.upper, b.rest)
    return Problem(kernels, task.initial, b.cost_low, b.constraint_low, task.budget, task.allowed)


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
    counts, A = beliefs.counts, task.n_actions
    stages = counts.indptr.shape[0]
    new: list[set[tuple[int, int]]] = [set() for _ in range(stages)]
    for h, (s, a, t) in enumerate(zip(states, actions, states[1:], strict=False)):
        g, row = min(h, stages - 1), int(s) * A + int(a)
        if t not in counts.indices[g, counts.indptr[g, row] : counts.indptr[g, row + 1]]:
            new[g].add((row, int(t)))
    if not any(new):
        return beliefs
    orders = [_with_entries(counts, g, sorted(new[g])) for g in range(stages)]
    longest = max(len(indices) for _, indices, _ in orders)

    def spread(values: Any, more: Any) -> Any:
        """An array over entries in the new layout; new entries hold what their row says."""
        rows = [
            np.append(
                values[g, : counts.indptr[g, -1]], [more[g, row] for row, _ in sorted(new[g])]
            )
            for g in range(stages)
        ]
        wide = np.zeros((stages, longest), dtype=values.dtype)
        for g, (_, _, order) in enumerate(orders):
            wide[g, : order.size] = rows[g][order]
        return wide

    old = beliefs.believed
    nothing = np.zeros_like(old.rest)
    indices = np.zeros((stages, longest), dtype=np.uint32)
    for g, (_, listed, _) in enumerate(orders):
        indices[g, : listed.size] = listed
    wide = counts._replace(
        indptr=np.stack([indptr for indptr, _, _ in orders]),
        indices=indices,
        successors=spread(counts.successors, nothing),
    )
    # an unlisted successor may have had any share up to the rest: a listed unseen one still may
    believed = old._replace(
        lower=spread(old.lower, nothing),
        upper=spread(old.upper, old.rest),
        centre=spread(old.centre, nothing),
    )
    return Beliefs(beliefs.rules, wide, believed, _problem(task, beliefs.rules, wide, believed))


def _with_entries(counts: Counts, g: int, new: list[tuple[int, int]]) -> tuple[Ints, Ints, Ints]:
    """Pointers and successors of a stage with more entries, and the order that sorts them."""
    indptr, used = counts.indptr[g], int(counts.indptr[g, -1])
    old_rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    rows = np.concatenate((old_rows, [row for row, _ in new])).astype(np.int64)
    indices = np.concatenate((counts.indices[g, :used], [t for _, t in new])).astype(np.uint32)
    order = np.lexsort((indices, rows))
    sizes = np.bincount(rows, minlength=indptr.size - 1)
    return np.concatenate(([0], np.cumsum(sizes))), indices[order], order
