"""Beliefs: counts, radii and the optimistic problem of a learner, sharing their arrays.

The compiled kernels (`kernels.believe`) write into these arrays row by row; the problem that the
learner plans in reads them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Box, Empirical, L1Ball, Problem
from tightrope.errors import ModelError
from tightrope.estimate.confidence import Confidence
from tightrope.kernels.believe import Believed, Rules, believe_everything
from tightrope.kernels.copying import repeated
from tightrope.kernels.counts import Counts
from tightrope.model.task import Task


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
    return Beliefs(rules, counts, believed, problem_of(task, rules, counts, believed))


def rules_of(task: Task, confidence: Confidence, is_bonus: bool) -> Rules:
    """The radii's constants for a task (SPEC A3, A12)."""
    S, A, H, I = task.n_states, task.n_actions, task.horizon, task.n_constraints
    has_ball = "l1" in confidence.transition and not is_bonus
    has_box = confidence.transition != "l1"
    has_kl = "kl" in confidence.transition and not is_bonus
    # the box bound is for all successors at once only in Bernstein's slack (A3), not in KL's
    successors = S if has_kl else 1
    # a box and a ball, or the two L1 bounds of a tight bonus, have half of the share of delta each
    is_double = (has_ball and has_box) or (is_bonus and confidence.tight_bonus)
    events = 2.0 if is_double else 1.0
    bonus_factor = confidence.scale_bonus if is_bonus else 1.0
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
        cost_factor=float(confidence.cost_factor * bonus_factor),
        transition_factor=float(confidence.transition_factor * bonus_factor),
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


def problem_of(task: Task, rules: Rules, counts: Counts, b: Believed) -> Problem:
    """The optimistic problem of a learner: the arrays of its beliefs as a planner reads them."""
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
