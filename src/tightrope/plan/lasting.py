"""Policies of processes without an end: exact values, visits, and recurrent classes.

With discounted cost any policy has values. Long-run averages from a start state are those of the
recurrent class that the process ends in; where it may end in several, a mixture of policies would
not attain the averages of its parts, and we refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Names, Problem, Stationary, Transitions
from tightrope.errors import ModelError, SolverError
from tightrope.kernels.chain import CONVERGED, chain
from tightrope.kernels.stationary import evaluate_chain
from tightrope.model.csr import find_reached, matrix_of
from tightrope.text import listed

SHOWN = 3  # states of a class in a message
MOST_CLASSES = 3
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
    P = _policy_matrix(kernels, pi)
    states = reach(P, problem.initial)
    P = P if states.size == S else P[states][:, states].tocsr()
    if discount == 1.0:
        require_one_class(P, states, "policy", names)
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


def _policy_matrix(kernels: Stationary, pi: Floats) -> Any:
    """Return the transition matrix (S, S) of a policy (S, A)."""
    from scipy.sparse import csr_array

    S, A = pi.shape
    n = int(kernels.indptr[0, -1])
    chances = kernels.data[0, :n] * np.repeat(pi.reshape(-1), np.diff(kernels.indptr[0]))
    is_possible = chances > 0.0
    ends = np.append(0, np.cumsum(is_possible))[kernels.indptr[0, ::A]]
    targets = kernels.indices[0, :n][is_possible].astype(np.int64)
    P = csr_array((chances[is_possible], targets, ends), shape=(S, S))
    P.sum_duplicates()
    return P


def reach(graph: Any, initial: Floats) -> Ints:
    """Return the states that the process can reach from a start distribution, in order."""
    source, target = graph.tocoo().coords
    return np.flatnonzero(find_reached(source, target, initial > 0))


def require_one_class(graph: Any, states: Ints, word: str, names: Names | None) -> None:
    """Raise a `ModelError` if a chain has several recurrent classes; it names their states.

    ``states`` are the numbers of the chain's states in the model.
    """
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(graph, directed=True, connection="strong")
    graph = graph.tocoo()
    source, target = graph.coords
    is_open = np.zeros(count, dtype=np.bool_)
    is_open[label[source[label[source] != label[target]]]] = True
    closed = np.flatnonzero(~is_open)
    if closed.size < 2:
        return
    known = (names or {}).get("s")
    classes = []
    for each in closed[:MOST_CLASSES]:
        members = states[np.flatnonzero(label == each)]
        few = [repr(known[s]) if known else str(s) for s in members[:SHOWN].tolist()]
        more = f" and {members.size - SHOWN} more" if members.size > SHOWN else ""
        classes.append(f"{{{', '.join(few)}{more}}}")
    rest = f" and {closed.size - MOST_CLASSES} more" if closed.size > MOST_CLASSES else ""
    raise ModelError.about(
        word,
        shown=f"{closed.size} recurrent classes: {listed(classes)}{rest}",
        expected="one that is reached from the start",
        more=(", for long-run averages; discounted or finite-horizon cost have no such limit"),
    )


def require_unichain(problem: Problem, names: Names) -> None:
    """Raise a `ModelError` if costs are averaged and every policy has several recurrent classes."""
    kernels = problem.kernels
    if not isinstance(kernels, Stationary) or kernels.discount < 1.0:
        return
    S, A = problem.cost.shape[1:]
    graph = _policy_matrix(kernels, np.ones((S, A)))
    states = reach(graph, problem.initial)
    graph = graph if states.size == S else graph[states][:, states]
    require_one_class(graph, states, "transition", names)


def action_values_of(kernels: Stationary, problem: Problem, policy: Floats, i: int) -> Floats:
    """Return the relative value of a constraint after each action, (S, A), under a policy."""
    S, A = policy.shape[1:]
    values = visit(kernels, problem, policy).values[1 + i]
    after = kernels.discount * (
        matrix_of(Transitions(kernels.indptr, kernels.indices, kernels.data), 0, S) @ values
    )
    return np.asarray(problem.constraint_cost[i, 0] + after.reshape(S, A))
