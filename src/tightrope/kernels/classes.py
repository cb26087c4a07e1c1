"""Policies with one recurrent class, for average cost.

A policy on the way may have several classes. Its equations then have no solution, or many, although
a better policy may have one class. So the most promising class is chosen, and states that the
policy does not lead there take actions that do, where there are any (Haviv and Puterman 1991).
Where there are none, one state r of every other class is sent to the chosen one, in the equations
alone. With the average g of the chosen class, and g' and f of the other class and its share of time
in r, the relative values then satisfy::

    (T h - h)(s) <= g  elsewhere,     c(r) + sum_t p(t|r) h(t) - h(r) = g + (g' - g) / f(r)

so that they prove the bound g if no policy gains on them, and otherwise show a better class.

The classes are found by Tarjan's algorithm: a strongly connected component is complete when the
search leaves its first state, and it is a recurrent class if nothing leads out of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.chain import Chain
from tightrope.kernels.compiled import compiled
from tightrope.kernels.rows import lay_out, mass_of, place, stage

FIRST_OF_CLASS = -1


@compiled
def mark_best_class(w: Chain, worth: Floats) -> int:
    """Mark the recurrent class that has the state of least worth (S,); return how many there are.

    The chain is filled. One state of each class has `FIRST_OF_CLASS` in row 2 of the search.
    """
    S = worth.size
    number = w.search[0]  # in the order of the search, from 1
    low = w.search[1]  # least number that a state is known to lead to
    edge, path = w.search[2], w.search[3]
    pile = w.search[4]  # states whose component is not complete
    w.marked[:] = 0
    number[:] = 0
    n_classes, n_seen, n_pile = 0, 0, 0
    best = np.inf
    for first in range(S):
        depth = -1
        if number[first] == 0:
            depth = 0
            path[0] = first
        while depth >= 0:
            s = path[depth]
            if number[s] == 0:
                n_seen += 1
                number[s] = low[s] = n_seen
                edge[s] = w.start[s]
                pile[n_pile] = s
                n_pile += 1
            if edge[s] < w.start[s + 1]:
                t = np.int64(w.target[edge[s]])
                if number[t] == 0:
                    depth += 1
                    path[depth] = t
                else:
                    low[s] = min(low[s], low[t])  # of a complete component: above all numbers
                    edge[s] += 1
                continue
            depth -= 1
            if low[s] < number[s]:
                continue
            bottom = n_pile - 1
            while pile[bottom] != s:
                bottom -= 1
            is_closed = True
            least = np.inf
            for k in range(bottom, n_pile):
                low[pile[k]] = -1
            for k in range(bottom, n_pile):
                least = min(least, worth[pile[k]])
                for e in range(w.start[pile[k]], w.start[pile[k] + 1]):
                    is_closed = is_closed and low[w.target[e]] == -1
            for k in range(bottom, n_pile):
                low[pile[k]] = S + 1
            n_classes += is_closed
            if is_closed:
                edge[s] = FIRST_OF_CLASS
            if is_closed and least < best:
                best = least
                w.marked[:] = 0
                for k in range(bottom, n_pile):
                    w.marked[pile[k]] = 1
            n_pile = bottom
    return n_classes


@compiled
def find_worth(w: Chain, loss: Floats, choice: Ints, h: Floats) -> None:
    """Write what each state adds to the average, (S,) to ``w.image``: loss and change of value.

    The average of a recurrent class is between the least and the greatest of its states.
    """
    for s in range(h.size):
        total = loss[0, s, choice[s]] - h[s]
        for e in range(w.start[s], w.start[s + 1]):
            total += w.chance[e] * h[w.target[e]]
        w.image[s] = total


@compiled
def leads_on(w: Chain, first: int, last: int) -> bool:
    """Whether one of these entries of the chain has a marked target."""
    found = False
    for e in range(first, last):
        found = found or w.marked[w.target[e]] == 1
    return found


@compiled
def cut_others(w: Chain) -> None:
    """Send a state of each class that is not marked to a marked state."""
    goal = -1
    for s in range(w.marked.size):
        if w.marked[s] == 1:
            goal = s
            break
    for s in range(w.marked.size):
        if w.search[2, s] == FIRST_OF_CLASS and w.marked[s] == 0:
            for e in range(w.start[s], w.start[s + 1]):
                w.target[e] = goal
                w.chance[e] = 1.0 if e == w.start[s] else 0.0


@compiled
def take_reached_class(w: Chain, initial: Floats) -> None:
    """Keep one class of a filled chain, one that is reached from the start distribution (S,)."""
    if mark_best_class(w, w.image) == 1:  # any of them, to count
        return
    S = initial.size
    count = 0
    for s in range(S):
        w.marked[s] = 1 if initial[s] > 0.0 else 0
        if w.marked[s] == 1:
            w.waiting[count] = s
            count += 1
    done = 0
    while done < count:
        s = w.waiting[done]
        done += 1
        for e in range(w.start[s], w.start[s + 1]):
            t = w.target[e]
            if w.marked[t] == 0:
                w.marked[t] = 1
                w.waiting[count] = t
                count += 1
    for s in range(S):
        w.image[s] = 1.0 - w.marked[s]
    mark_best_class(w, w.image)
    cut_others(w)


@compiled
def join(kernels: Any, loss: Floats, h: Floats, choice: Ints, order: Ints, w: Chain) -> bool:
    """Change a policy (S,) such that it leads to one class, if it has several.

    The chain is that of the policy. Returns whether there are several; the chain does not change.
    States that no action leads there keep theirs, and are not marked.
    """
    if mark_best_class(w, w.image) == 1:  # any of them, to count
        return False
    S, A = loss.shape[1:]
    find_worth(w, loss, choice, h)
    mark_best_class(w, w.image)
    at = stage(kernels, 0)
    place(at, order, w.desk)
    is_more = True
    while is_more:
        is_more = False
        for turn in range(2 * S):  # along the policy
            s = turn if turn < S else 2 * S - 1 - turn
            if w.marked[s] == 0 and leads_on(w, w.start[s], w.start[s + 1]):
                w.marked[s] = 1
                is_more = True
        if is_more:
            continue
        for s in range(S):
            for a in range(A):
                row = s * A + a
                if w.marked[s] == 1 or at.indptr[row] == at.indptr[row + 1]:
                    continue
                lay_out(at, row, order, w.desk, w.product, w.flow)
                for e in range(at.indptr[row], at.indptr[row + 1]):
                    if mass_of(at, e, w.flow) > 0.0 and w.marked[at.indices[e]] == 1:
                        w.marked[s] = 1
                        choice[s] = a
                        is_more = True
                        break
    return True
