"""An unknown start distribution as an extra first stage, so that it is learned like the rest.

The process begins one stage earlier, in an extra state, the last one, with a single action. Its
successor is the start state, and the step costs nothing::

    stage 0      state S, action 0      successor s with the probability of starting in s
    stage h+1    what was stage h

Expected sums stay the same. Confidence sets, bonuses and radii are those of S+1 states and H+1
stages. Other states cannot occur at stage 0 and have there what they had at stage 0 before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Transitions, check_choice
from tightrope.model.cmdp import CMDP
from tightrope.model.draft import at_stages
from tightrope.model.task import Task

KNOWN, LEARNED = "known", "learned"  # the learner's start distribution in simulations
START_NAME = "before the start"


def is_learned(initial: Any) -> bool:
    """Whether the start distribution is to be learned."""
    return isinstance(initial, str) and initial == LEARNED


def check_start(name: str, given: Any) -> str:
    """``"known"`` or ``"learned"``, or a `ConfigError`."""
    return check_choice(name, given, (KNOWN, LEARNED))


def extend_policy(policy: Floats) -> Floats:
    """Return a policy (H, S, A) with the extra stage and state."""
    pi: Floats = _extend(policy, 0.0, has_stages=True)
    pi[:, -1, 0] = 1.0
    return pi


def trim(array: Floats) -> Floats:
    """Return a policy or an occupancy, (H+1, S+1, A), without the extra stage and state."""
    return np.ascontiguousarray(array[1:, :-1])


def extend_steps(states: Any, actions: Any, cost: Floats, bounded: Floats, S: int) -> Any:
    """Return steps of one episode or of K, (..., H) and (..., I, H), with the one before them."""
    lead = np.shape(states)[:-1]
    return (
        np.concatenate((np.full((*lead, 1), S), states), axis=-1),
        np.concatenate((np.zeros((*lead, 1), dtype=np.int64), actions), axis=-1),
        np.concatenate((np.zeros((*lead, 1)), cost), axis=-1),
        np.concatenate((np.zeros((*np.shape(bounded)[:-1], 1)), bounded), axis=-1),
    )


def extend_task(task: Task) -> Task:
    """Return the task with the extra stage and state; its start distribution is not used."""
    S, A, I = task.n_states, task.n_actions, task.n_constraints
    known = task.known_cost.reshape(I + 1, -1, S, A)
    if known.shape[1]:
        known = _extend(known, 0.0, known.shape[1] > 1)
    else:
        known = np.zeros((I + 1, 0, S + 1, A))
    has_list = bool(task.pattern.indptr.any())
    every = np.arange(S) if has_list else np.zeros(0, dtype=np.int64)
    return replace(
        task,
        n_states=S + 1,
        horizon=task.horizon + 1,
        initial=np.eye(S + 1)[S],
        allowed=_extend_allowed(task.allowed),
        pattern=_extend_kernel(task.pattern, every, np.zeros(every.size), A),
        known_cost=known.reshape(I + 1, -1, (S + 1) * A),
    )


def trim_task(task: Task) -> Task:
    """Return a task without the extra stage and state, in which any state may be the first.

    The pattern stays as it is.
    """
    S, A, H, I = task.n_states - 1, task.n_actions, task.horizon - 1, task.n_constraints
    allowed, known = task.allowed, task.known_cost.reshape(I + 1, -1, S + 1, A)
    known = known[:, max(known.shape[1] - H, 0) :, :S]
    return replace(
        task,
        n_states=S,
        horizon=H,
        initial=np.full(S, 1.0 / S),
        allowed=np.ascontiguousarray(allowed[max(len(allowed) - H, 0) :, :S]),
        known_cost=np.ascontiguousarray(known).reshape(I + 1, -1, S * A),
    )


def extend_model(cmdp: CMDP) -> CMDP:
    """Return the model with the extra stage and state, in the same units."""
    model, names = cmdp._draft, cmdp.state_names
    name = START_NAME
    while name in names:
        name += "_"
    first = np.flatnonzero(model.initial)
    _, S, A = model.cost.shape
    bounded = model.constraint_cost
    extended = replace(
        model,
        transitions=_extend_kernel(model.transitions, first, model.initial[first], A),
        cost=_extend(model.cost, 0.0, len(model.cost) > 1),
        constraint_cost=_extend(bounded, 0.0, bounded.shape[1] > 1),
        horizon=model.horizon + 1,
        initial=np.eye(S + 1)[S],
        allowed=_extend_allowed(model.allowed),
        names={**model.names, "s": (*names, name)},
    )
    return CMDP.from_draft(extended, cmdp.cost_unit, cmdp.constraint_units)


def _extend(values: Any, fill: Any, has_stages: bool) -> Any:
    """Return values (..., G, S, A) with the extra state, and with the extra stage if asked."""
    if has_stages:
        values = np.concatenate((values[..., :1, :, :], values), axis=-3)
    width = [(0, 0)] * (values.ndim - 2) + [(0, 1), (0, 0)]
    return np.pad(values, width, constant_values=fill)


def _extend_allowed(allowed: Bools) -> Bools:
    given = allowed if len(allowed) else at_stages(allowed, 1)
    mask: Bools = _extend(given, False, len(given) > 1)
    mask[:, -1, 0] = True
    return mask


def _extend_kernel(p: Transitions, first: Any, shares: Floats, A: int) -> Transitions:
    """Return kernels with rows of the extra state: its first action leads to these states."""
    parts: list[Any] = [np.concatenate((each[:1], each)) if len(each) > 1 else each for each in p]
    indptr, indices, data = parts
    ends = indptr[:, -1:]
    longest = int(ends.max(initial=0)) + first.size
    wide = [np.zeros((len(indptr), max(longest, 1)), dtype=each.dtype) for each in (indices, data)]
    for g, end in enumerate(ends[:, 0].tolist()):
        for new, old, row in zip(wide, (indices, data), (first, shares), strict=True):
            new[g, :end], new[g, end : end + first.size] = old[g, :end], row
    more = np.repeat(ends + first.size, A, axis=1)
    return Transitions(np.concatenate((indptr, more), axis=1), *wide)
