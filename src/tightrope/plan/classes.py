"""Recurrent classes of an infinite-horizon model, and policies that lead to one.

A long-run average is that of the recurrent class that the process ends in. Column generation and
the linear program choose among shares of time q(s,a), which are mixtures of those of classes::

    q >= 0,   sum q = 1,   sum_a q(t,a) = sum_{s,a} p(t|s,a) q(s,a)

The shares of time of every policy, whatever it depends on, tend to this set, so its bounds hold for
every policy. The other way round, a q is attained from the start

- by a stationary policy, if q is one class, and some policy leads there with certainty;
- in expectation by drawing one of several classes at the start, with the weights of q, if some
  policy leads to each of them with certainty. A single run has the average of one class.

So a plan, which is one stationary policy, has one class, and takes outside of it the actions that
lead there. Values of frontiers and of feasibility are attained in either way. All else is refused
with the states of the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, Names, Problem, Stationary, Transitions
from tightrope.errors import ModelError
from tightrope.model.csr import find_reached, matrix_of
from tightrope.text import listed

SHOWN = 3  # states of a class in a message
MOST_CLASSES = 3


class UndecidedError(ModelError):
    """Policies with several classes keep bounds apart; a linear program may still have a plan."""


def policy_matrix(kernels: Stationary, pi: Floats) -> Any:
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
    from scipy.sparse.csgraph import breadth_first_order

    starts = np.flatnonzero(initial)
    if starts.size == 1:
        return np.sort(breadth_first_order(graph, starts[0], return_predecessors=False))
    source, target = graph.tocoo().coords
    return np.flatnonzero(find_reached(source, target, initial > 0))


def find_classes(graph: Any, states: Ints) -> list[Ints]:
    """Return the recurrent classes of a chain on some states, by the numbers of their states."""
    from scipy.sparse.csgraph import connected_components

    within = graph if states.size == graph.shape[0] else graph[states][:, states]
    count, label = connected_components(within, directed=True, connection="strong")
    if count == 1:
        return [states]
    source, target = within.tocoo().coords
    is_open = np.zeros(count, dtype=np.bool_)
    is_open[label[source[label[source] != label[target]]]] = True
    classes = [states[np.flatnonzero(label == each)] for each in np.flatnonzero(~is_open)]
    return sorted(classes, key=lambda members: int(members[0]))


def _listed(classes: list[Ints], names: Names | None) -> str:
    """Return classes in words: "2 recurrent classes: {0} and {1, 2}"."""
    known = (names or {}).get("s")
    shown = []
    for members in classes[:MOST_CLASSES]:
        few = [repr(known[s]) if known else str(s) for s in members[:SHOWN].tolist()]
        more = f" and {members.size - SHOWN} more" if members.size > SHOWN else ""
        shown.append(f"{{{', '.join(few)}{more}}}")
    rest = f" and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else ""
    return f"{len(classes)} recurrent classes: {listed(shown)}{rest}"


def require_one_class(graph: Any, states: Ints, word: str, names: Names | None) -> None:
    """Raise a `ModelError` if a chain has several recurrent classes on these states."""
    classes = find_classes(graph, states)
    if len(classes) > 1:
        raise _refusal(classes, word, names)


def require_decided(graph: Any, names: Names | None) -> None:
    """Raise an `UndecidedError` if a chain on which bounds did not meet has several classes."""
    classes = find_classes(graph, np.arange(graph.shape[0]))
    if len(classes) > 1:
        raise _refusal(classes, "policy", names, UndecidedError)


def _refusal(
    classes: list[Ints], word: str, names: Names | None, kind: type[ModelError] = ModelError
) -> ModelError:
    return kind.about(
        word,
        shown=_listed(classes, names),
        expected="one that is reached from the start",
        more=(", for long-run averages; discounted or finite-horizon cost have no such limit"),
    )


def require_unichain(problem: Problem, names: Names) -> None:
    """Raise a `ModelError` if costs are averaged and several classes cannot be avoided.

    Every policy may then end in either of them.
    """
    kernels = problem.kernels
    if not isinstance(kernels, Stationary) or kernels.discount < 1.0:
        return
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    S, A = problem.cost.shape[1:]
    # where all states lead to each other no class is certain, which is cheaper to see
    ends = kernels.indptr[0, ::A].copy()
    chances, targets = kernels.data[0, : ends[-1]], kernels.indices[0, : ends[-1]]
    graph = csr_array((np.ones(ends[-1]), targets.astype(np.int64), ends), shape=(S, S))
    graph.sum_duplicates()
    if chances.all() and connected_components(graph, connection="strong")[0] == 1:
        return
    graph = policy_matrix(kernels, np.ones((S, A)))
    classes = find_classes(graph, reach(graph, problem.initial))
    if len(classes) < 2:
        return
    certain: list[Ints] = []
    for each in classes:
        if not _can_avoid(kernels, problem.initial, each):
            certain.append(each)
        if len(certain) == MOST_CLASSES:
            break
    if len(certain) > 1:
        raise _refusal(certain, "transition", names)


def _can_avoid(kernels: Stationary, initial: Floats, states: Ints) -> bool:
    """Whether some policy never enters these states from the start."""
    rows = _rows(kernels, initial.size)
    is_lost = np.zeros(initial.size, dtype=np.bool_)
    is_lost[states] = True
    exists = np.diff(rows.indptr) > 0
    n_lost = 0
    while n_lost < is_lost.sum():
        n_lost = is_lost.sum()
        is_safe = exists & (rows @ is_lost == 0)
        is_lost = is_lost | ~is_safe.reshape(initial.size, -1).any(axis=1)
    return not is_lost[initial > 0].any()


def lead_to(kernels: Stationary, is_goal: Bools) -> tuple[Ints, Bools]:
    """Return actions (S,) that lead to a set of states, and from where they do so with certainty.

    Elsewhere they lead there with positive probability, and are -1 where nothing does.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    S = is_goal.size
    rows = _rows(kernels, S)
    A = rows.shape[0] // S
    row = np.repeat(np.arange(S * A), np.diff(rows.indptr))
    source, target = row // A, rows.indices
    goal, is_kept = np.flatnonzero(is_goal), np.ones(row.size, dtype=np.bool_)
    actions, is_sure = np.full(S, -1), np.ones(S, dtype=np.bool_)
    while True:
        # backward from an extra state S that every state of the goal precedes
        before = np.concatenate((target[is_kept], np.full(goal.size, S)))
        after = np.concatenate((source[is_kept], goal))
        backward = csr_array((np.ones(before.size), (before, after)), shape=(S + 1, S + 1))
        _, next_state = breadth_first_order(backward, S)
        next_state = next_state[:S]
        is_step = is_kept & (next_state[source] == target) & ~is_goal[source]
        actions[source[is_step]] = row[is_step] % A
        is_left = is_sure & (next_state < 0)
        if not is_left.any():
            return actions, is_sure
        is_sure &= ~is_left
        is_kept &= (rows @ ~is_sure == 0)[row]


def lead(problem: Problem, q: Floats, policy: Floats, names: Names | None) -> Floats:
    """Return the policy (1, S, A) of shares of time q, changed so that it ends where q is.

    Unchanged unless costs are averaged.

    Raises
    ------
    ModelError
        If q has several recurrent classes.
    """
    kernels = problem.kernels
    if not isinstance(kernels, Stationary) or kernels.discount < 1.0:
        return policy
    is_goal = q[0].sum(axis=1) > 0.0
    graph = policy_matrix(kernels, policy[0])
    ends = find_classes(graph, reach(graph, problem.initial))
    if len(ends) == 1 and np.array_equal(ends[0], np.flatnonzero(is_goal)):
        return policy
    require_one_class(graph, np.flatnonzero(is_goal), "policy", names)
    if len(ends) == 1 and is_goal[ends[0]].all():
        return policy
    actions, _ = lead_to(kernels, is_goal)
    led = np.flatnonzero(~is_goal & (actions >= 0))
    policy = policy.copy()
    policy[0, led] = np.eye(policy.shape[2])[actions[led]]
    return policy


def require_reached(
    kernels: Stationary, problem: Problem, q: Floats, policy: Floats, names: Names | None
) -> None:
    """Raise a `ModelError` unless policies lead with certainty to each class of shares of time."""
    graph = policy_matrix(kernels, policy[0])
    for each in find_classes(graph, np.flatnonzero(q[0].sum(axis=1) > 0.0)):
        is_goal = np.zeros(problem.initial.size, dtype=np.bool_)
        is_goal[each] = True
        actions, is_sure = lead_to(kernels, is_goal)
        if not is_sure[problem.initial > 0.0].all():
            led = ~is_goal & (actions >= 0)
            pi = np.where(led[:, None], np.eye(policy.shape[2])[actions], policy[0])
            graph = policy_matrix(kernels, pi)
            require_one_class(graph, reach(graph, problem.initial), "policy", names)


def _rows(kernels: Stationary, S: int) -> Any:
    """Return which states each pair may lead to, as a matrix (S*A, S) of ones."""
    rows = matrix_of(Transitions(kernels.indptr, kernels.indices, kernels.data), 0, S).copy()
    rows.data = (rows.data > 0.0).astype(np.float64)
    rows.eliminate_zeros()
    return rows
