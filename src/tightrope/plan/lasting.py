"""Policies of infinite-horizon models: exact values, visits, and recurrent classes.

With discounted cost any policy has values. Long-run averages from a start state are those of the
recurrent class that the process ends in; where it may end in several, we refuse (`plan.classes`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Names, Problem, Stationary, Transitions
from tightrope.errors import ModelError, SolverError
from tightrope.kernels.chain import CONVERGED, chain
from tightrope.kernels.stationary import evaluate_chain
from tightrope.model.csr import matrix_of
from tightrope.plan.classes import lead, policy_matrix, reach, require_one_class

MOST_DIRECT = 5000  # states of a chain that is solved directly, if iteration fails
LARGEST_RESIDUAL = 1e-11


@dataclass(frozen=True)
class Visits:
    """Exact values of a stationary policy."""

    totals: Floats  # (K,) of the losses, from the start
    values: Floats  # (K, S) relative values, zero in states that the policy does not reach
    occupancy: Floats  # (1, S, A)


def visit(
    kernels: Stationary, problem: Problem, policy: Floats, names: Names | None = None
) -> Visits:
    """Evaluate cost and constraints of a policy (1, S, A) on the states that it reaches.

    Raises
    ------
    ModelError
        If costs are averaged and the process may end in several recurrent classes.
    SolverError
        If its equations could not be solved.
    """
    S, A = policy.shape[1:]
    pi, discount = policy[0], kernels.discount
    P = policy_matrix(kernels, pi)
    states = reach(P, problem.initial)
    if discount == 1.0:
        require_one_class(P, states, "policy", names)
    P = P if states.size == S else P[states][:, states].tocsr()
    losses = np.concatenate((problem.cost[None], problem.constraint_cost))[:, 0]
    asked = np.ascontiguousarray(np.einsum("ksa,sa->ks", losses, pi)[:, states])
    start = np.ascontiguousarray(problem.initial[states])
    found, totals, off = _solve(P, discount, start, asked)
    if off > CONVERGED:
        found, totals = _solve_directly(P, discount, start, asked)
    values, occupancy = np.zeros((len(asked), S)), np.zeros((1, S, A))
    values[:, states] = found[:-1]
    steps = 1.0 / (1.0 - discount) if discount < 1.0 else 1.0
    occupancy[0, states] = steps * found[-1][:, None] * pi[states]
    return Visits(totals, values, occupancy)


def visit_led(
    kernels: Stationary, problem: Problem, q: Floats, policy: Floats, names: Names | None
) -> tuple[Floats, Visits]:
    """Return a policy that ends where its shares of time q are (`lead`), and its values."""
    if kernels.discount == 1.0:
        with suppress(ModelError):
            visits = visit(kernels, problem, policy, names)
            if np.array_equal(visits.occupancy.any(axis=2), q.any(axis=2)):
                return policy, visits
        policy = lead(problem, q, policy, names)
    return policy, visit(kernels, problem, policy, names)


def _solve(P: Any, discount: float, start: Floats, losses: Floats) -> tuple[Floats, Floats, float]:
    S = start.size
    rows = np.repeat(np.arange(S), np.diff(P.indptr))
    far = int(np.abs(P.indices - rows).max(initial=0))
    w = chain(S, P.nnz, far)
    w.start[:] = P.indptr
    w.target[: P.nnz] = P.indices
    w.chance[: P.nnz] = P.data
    values, totals = np.empty((len(losses) + 1, S)), np.empty(len(losses))
    off = evaluate_chain(w, discount, start, losses, values, totals)
    return values, totals, float(off)


def _solve_directly(
    P: Any, discount: float, start: Floats, losses: Floats
) -> tuple[Floats, Floats]:
    """Solve with sparse triangular factors."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    S = start.size
    if S > MOST_DIRECT:
        raise SolverError(f"the values of a policy on {S} states could not be computed")
    matrix = (eye_array(S) - discount * P).tolil()
    matrix[:, 0] = 1.0
    matrix = csc_array(matrix)
    try:
        factors = splu(matrix)
    except RuntimeError as error:
        raise SolverError(f"the equations of a policy are singular: {error}") from error
    right = (1.0 - discount) * start
    right[0] = 1.0
    shares = factors.solve(right, "T")
    found = factors.solve(losses.T)
    rest = np.abs(matrix @ found - losses.T).max(), np.abs(matrix.T @ shares - right).max()
    if not max(rest) <= LARGEST_RESIDUAL * max(1.0, float(np.abs(found).max())):
        raise SolverError(f"the values of a policy are off by {max(rest):.2g}")
    gains, values = found[0].copy(), found.T.copy()
    values[:, 0] = 0.0
    totals = gains / (1.0 - discount) + values @ start if discount < 1.0 else gains
    shares = np.maximum(shares, 0.0)
    return np.vstack((values, shares / shares.sum())), totals


def bound_of(kernels: Stationary, problem: Problem, lam: Floats, h: Floats) -> float:
    """Return the bound on averages that relative values (S,) prove, priced and without budgets.

    ::

        min_s (T h - h)(s),   T the Bellman operator of the cost plus lam times the constraints
    """
    S, A = problem.cost.shape[1:]
    loss = problem.cost[0] + np.einsum("i,isa->sa", lam, problem.constraint_cost[:, 0])
    after = loss + _expected(kernels, h, A)
    exists = np.diff(kernels.indptr[0]).reshape(S, A) > 0
    return float((np.where(exists, after, np.inf).min(axis=1) - h).min())


def action_values_of(kernels: Stationary, problem: Problem, policy: Floats, i: int) -> Floats:
    """Return the relative value of a constraint after each action, (S, A), under a policy."""
    A = policy.shape[2]
    values = visit(kernels, problem, policy).values[1 + i]
    after = kernels.discount * _expected(kernels, values, A)
    return np.asarray(problem.constraint_cost[i, 0] + after)


def _expected(kernels: Stationary, values: Floats, A: int) -> Floats:
    """Return the expected value after each action, (S, A)."""
    rows = matrix_of(Transitions(kernels.indptr, kernels.indices, kernels.data), 0, values.size)
    return np.asarray((rows @ values).reshape(-1, A))
