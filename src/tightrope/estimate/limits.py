"""Limits: kernels and costs that may still be true, for bounds on what a policy is worth.

The set is the learner's own, made anew from its counts: a learner that plans rarely (T5) believes
what it last planned with, a bound has all that was seen. A bonus-based learner has no set of
kernels; its widths as a box are one (the good event of SPEC A4 says no more and no less).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, L1Ball
from tightrope.estimate.beliefs import beliefs_from
from tightrope.estimate.confidence import Confidence
from tightrope.kernels.counts import Counts
from tightrope.kernels.limits import limit_costs
from tightrope.model.task import Task


class Limits(NamedTuple):
    """What may still be true, pair by pair."""

    kernels: Box | L1Ball
    low: Floats  # (I+1, G, S, A) least mean cost, then least constraint costs
    high: Floats  # (I+1, G, S, A) the greatest


def set_radii(confidence: Confidence, is_bonus: bool) -> Confidence:
    """The radii of a learner's set; a bonus's own factor counts for both of its parts.

    Parameters
    ----------
    confidence : Confidence
        As the learner was given it.
    is_bonus : bool
        Whether the learner lowers costs by a bonus.
    """
    if not is_bonus:
        return replace(confidence, scale_bonus=1.0)
    return replace(
        confidence,
        transition="bernstein",
        scale_cost=confidence.cost_factor * confidence.scale_bonus,
        scale_transition=confidence.transition_factor * confidence.scale_bonus,
        scale_bonus=1.0,
    )


def limits_of(task: Task, radii: Confidence, counts: Counts) -> Limits:
    """The set after these counts.

    Parameters
    ----------
    task : Task
        What the learner was told.
    radii : Confidence
        From `set_radii`.
    counts : Counts
        What it has seen.
    """
    beliefs = beliefs_from(task, radii, False, counts)
    kernels = beliefs.problem.kernels
    assert isinstance(kernels, (Box, L1Ball))
    known = task.known_cost
    stages = known.shape[1] if radii.known_costs else counts.cost_visits.shape[0]
    low = np.empty((task.n_constraints + 1, stages, task.n_states * task.n_actions))
    high = np.empty_like(low)
    limit_costs(counts, beliefs.rules, known, low, high)
    shape = (*low.shape[:2], task.n_states, task.n_actions)
    return Limits(kernels, low.reshape(shape), high.reshape(shape))
