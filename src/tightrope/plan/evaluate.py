"""Exact values and occupancy of a given policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Names,
    Problem,
    Stationary,
    as_floats,
    entry,
    require_finite,
    require_range,
)
from tightrope.errors import ModelError
from tightrope.kernels.bellman import evaluate_all
from tightrope.kernels.occupancy import occupancy as occupy
from tightrope.kernels.rows import Kernels
from tightrope.kernels.scratch import Desk, desk
from tightrope.model import CMDP, Model, Plan
from tightrope.model.base import as_model, writable_problem
from tightrope.model.task import Task
from tightrope.plan.lasting import visit
from tightrope.plan.threads import evaluate_large, is_large
from tightrope.text import digits, vector

ROW_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Evaluation:
    """Exact values of a policy, in the units of the model.

    Parameters
    ----------
    value : float
        Expected cost, or expected reward where the model has rewards.
    constraint_value : (I,) array
        Expected sum of each constraint cost.
    constraint_names : tuple of str
        Names of the constraints.

    Examples
    --------
    >>> import tightrope as tr
    >>> evaluation = tr.evaluate("ring", tr.solve("ring"))
    >>> round(evaluation.value, 6), evaluation.constraint_value.round(6)
    (2.0, array([3.]))
    """

    value: float
    constraint_value: Floats  # (I,)
    constraint_names: tuple[str, ...]

    def __repr__(self) -> str:
        used = vector(self.constraint_value)
        return f"Evaluation(value {digits(self.value)}, constraint_value {used})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        rows = list(zip(self.constraint_names, self.constraint_value, strict=True))
        return listing("Evaluation", [f"value {digits(self.value)}"], ["", "expected sum"], rows)


def evaluate(cmdp: Model | str, policy: Any) -> Evaluation:
    """Compute the expected cost and constraint values of a policy exactly.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog.
    policy : Plan, (H, S, A) or (S, A) array, or (H, S) integers
        Action probabilities, the same for every stage, or the action of each state; of a plan, its
        policy. For an infinite horizon (S, A), or (S,) integers.

    Returns
    -------
    Evaluation
        The values, in the units of the model.

    Examples
    --------
    >>> import tightrope as tr
    >>> ring = tr.envs.build("ring")
    >>> half = tr.evaluate(ring, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    >>> round(half.value, 6), half.constraint_value.round(6)
    (1.78125, array([3.]))
    """
    cmdp = as_model(cmdp)
    problem, units = writable_problem(cmdp), cmdp.units
    if is_large(problem) and _fits(cmdp, problem, policy):
        value, *others = evaluate_large(problem, policy.choices)
        totals = np.array(others)
    else:
        pi = as_policy(cmdp, policy)
        if isinstance(problem.kernels, Stationary):
            value, *others = visit(problem.kernels, problem, pi, cmdp.names).totals
            totals = np.array(others)
        else:
            value, totals = values_of(problem.kernels, problem, pi)
    shown = float(units.cost.show(value)), units.show_totals(totals)
    return Evaluation(*shown, tuple(cmdp.constraint_names))


def _fits(cmdp: Model, problem: Problem, policy: Any) -> bool:
    """Whether this is a plan in short that is a policy of the model."""
    if not isinstance(policy, Plan) or not policy.is_in_short:
        return False
    return policy.shape == cmdp.allowed.shape and policy.choices.takes_only(problem.allowed)


def occupancy(cmdp: Model | str, policy: Any) -> Floats:
    """Compute the probability of each (stage, state, action) under a policy, (H, S, A).

    For an infinite horizon it is the expected discounted number of visits, or the long-run share of
    time, of each (state, action), (S, A).

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        As for `evaluate`.
    policy : Plan, (H, S, A) or (S, A) array, or (H, S) integers
        As for `evaluate`.

    Returns
    -------
    (H, S, A) array
        Probabilities; those of each stage sum to one.

    Examples
    --------
    >>> import tightrope as tr
    >>> reached = tr.occupancy("ring", tr.solve("ring"))
    >>> reached.shape
    (6, 3, 2)
    >>> reached.sum(axis=(1, 2)).round(6)
    array([1., 1., 1., 1., 1., 1.])
    """
    cmdp = as_model(cmdp)
    pi, problem = as_policy(cmdp, policy), writable_problem(cmdp)
    if isinstance(problem.kernels, Stationary):
        return np.asarray(visit(problem.kernels, problem, pi, cmdp.names).occupancy[0])
    q, S = np.empty_like(pi), cmdp.n_states
    order, work = np.zeros(S, dtype=np.uint32), desk(S)
    occupy(problem.kernels, problem.initial, pi, q, np.empty((2, S)), order, work)
    return q


def values_of(
    transitions: Kernels, problem: Problem, policy: Floats, work: Desk | None = None
) -> tuple[float, Floats]:
    """Return exact cost and constraint values of a policy, by backward sweeps.

    For an infinite horizon, by linear equations.
    """
    if isinstance(transitions, Stationary):
        found = visit(transitions, problem, policy).totals
        return float(found[0]), found[1:]
    H, S, _ = policy.shape
    V, totals = np.empty((H + 1, S)), np.empty(problem.budget.size + 1)
    order = np.zeros(S, dtype=np.uint32)
    evaluate_all(transitions, problem, policy, V, order, work or desk(S), totals)
    return float(totals[0]), totals[1:]


def rounding_of(values: Any, horizon: float) -> Any:
    """Return a bound on the rounding error of sums over that many steps."""
    return (horizon + 8) * 2.0**-52 * np.abs(values)


def as_policy(cmdp: Model, policy: Any) -> Floats:
    """Return a plan or a policy in any accepted form as an (H, S, A) array, checked.

    H is 1 for an infinite horizon; actions may then be given over (S,) too.
    """
    policy = policy.policy if isinstance(policy, Plan) else policy
    if not isinstance(cmdp, CMDP) and np.ndim(policy) == 1:
        policy = np.asarray(policy)[None]
    return check_policy(policy, cmdp.allowed, cmdp.names)


def check_policy(policy: Any, allowed: Bools, names: Names | None = None) -> Floats:
    """Return a policy as an (H, S, A) array, checked against the existing actions."""
    policy = policy.policy if isinstance(policy, Plan) else policy
    pi = _in_full(policy, allowed.shape, names)
    require_finite("policy", pi, "hsa", names)
    require_range("policy", pi, 0.0, 1.0 + ROW_TOLERANCE, "hsa", names)
    sums = pi.sum(axis=2)
    bad = np.argwhere(np.abs(sums - 1.0) > ROW_TOLERANCE)
    if len(bad):
        where, total = entry("policy", bad[0], "hs", names), sums[tuple(bad[0])]
        raise ModelError.about(
            where,
            verb="sums to",
            found=total,
            shown=f"{total:.9g}",
            expected="1",
            more=f"; {len(bad)} such rows",
        )
    forbidden = np.argwhere((pi > 0) & ~allowed)
    if len(forbidden):
        where = entry("policy", forbidden[0], "hsa", names)
        more = ", but that action is not allowed there"
        raise ModelError.about(where, verb="is", shown="positive", more=more)
    normalized: Floats = pi / sums[:, :, None]
    return normalized


def _in_full(policy: Any, shape: tuple[int, ...], names: Names | None) -> Floats:
    """Return a policy in any accepted form as an (H, S, A) array."""
    H, S, A = shape
    pi = as_floats("policy", policy)
    if pi.shape == (H, S) and np.asarray(policy).dtype.kind in "iu":
        if (H, S) == (S, A):
            raise ModelError.about(
                "policy",
                more=(
                    f"whole numbers of shape {(H, S)} may be actions over (H, S) or "
                    "probabilities over (S, A); give an array over (H, S, A)"
                ),
            )
        require_range("policy", pi, 0, A - 1, "hs", names)
        return np.asarray(np.eye(A)[pi.astype(np.int64)])
    if pi.shape == (S, A):
        return np.ascontiguousarray(np.broadcast_to(pi, (H, S, A)))
    if pi.shape != (H, S, A):
        raise ModelError.about(
            "policy",
            shape=pi.shape,
            expected=(
                f"{(H, S, A)} over (H, S, A), {(S, A)} over (S, A), or "
                f"{(H, S)} whole numbers over (H, S)"
            ),
        )
    return pi


def require_policy(name: str, pi: Floats, task: Task) -> None:
    """Raise unless this (H, S, A) array is a policy over the allowed actions of a task."""
    exists = task.allowed if task.allowed.shape[0] else np.True_
    try:
        check_policy(pi, np.broadcast_to(exists, pi.shape))
    except ModelError as error:
        raise error.with_message(f"{name}: {error}") from error
