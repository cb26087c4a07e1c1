"""Policy iteration for discounted and average cost, over a known kernel or a box.

A stationary model has one stage. Arrays keep the axis of stages, with length one, so that column
generation and all that follows run on them unchanged; a policy holds in every step.

With any relative values h, and T the Bellman operator of the loss, every policy costs at least ::

    mu h + min_s (T h - h)(s) / (1 - discount)      or, on average,  min_s (T h - h)(s)

so that a policy may be evaluated roughly on the way, and what is returned is a bound all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, Stationary, StationaryBox
from tightrope.kernels.chain import (
    CONVERGED,
    EPS,
    UNMADE,
    Chain,
    find_frequencies,
    floor_of,
    solve_chain,
)
from tightrope.kernels.classes import cut_others, join, take_reached_class
from tightrope.kernels.compiled import compiled
from tightrope.kernels.rows import arrange, expect, lay_out, mass_of, place, stage

Lasting = Stationary | StationaryBox

MOST_ROUNDS = 10_000  # of policy iteration
PATIENCE = 30  # rounds without closer bounds
LESS = 1.0 - 1e-6
WORSE = 100.0  # bounds after an evaluation, relative to the closest before, that are not taken
FIRST_DISCOUNT = 0.99  # for averages, to find a first policy
NEXT_DISCOUNT = 1e-2  # of the distance to one
LAST_DISCOUNT = 1.0 - 1e-11
ROUGHLY = 0.1  # residual of an evaluation on the way, relative to what a better policy gains
ENDING = 0.1  # the same of the last evaluation, relative to the room
WHOLE = 1.0 - 1e-9  # share of time of one class, if there are no others
TIED = 8.0 * EPS  # actions closer than this, relative to the values, are equal
CLOSE = 64.0 * EPS  # bounds closer than this, relative to the values, are one
ENOUGH = 1e-12  # and those closer than this, relative to themselves
ROUNDED = 8.0 * EPS  # rounding of one application of the Bellman operator


@compiled
def fill_chain(kernels: Lasting, A: int, choice: Ints, order: Ints, w: Chain) -> None:
    """Fill a chain with the rows that a deterministic policy (S,) chooses.

    Over a box, which has no unlisted successors, they are those that the order stands for.
    """
    at = stage(kernels, 0)
    place(at, order, w.desk)
    w.solver[0] = UNMADE
    n = 0
    for s in range(choice.size):
        row = s * A + choice[s]
        w.start[s] = n
        lay_out(at, row, order, w.desk, w.product, w.flow)
        for e in range(at.indptr[row], at.indptr[row + 1]):
            k = np.uint64(e)
            mass = mass_of(at, k, w.flow)
            if mass > 0.0:
                w.target[n] = at.indices[k]
                w.chance[n] = mass
                n += 1
    w.start[choice.size] = n


@compiled
def improve(
    kernels: Lasting,
    discount: float,
    loss: Floats,
    sign: float,
    h: Floats,
    choice: Ints,
    order: Ints,
    w: Chain,
) -> tuple[float, float, float, bool]:
    """Apply the Bellman operator to relative values, and take the actions that attain it.

    An action stays where it is as good as any. Returns the least and the greatest change of a
    value, the size of rounding, and whether an action changed.
    """
    at = stage(kernels, 0)
    S, A = loss.shape[1:]
    size = 0.0
    for s in range(S):
        size = max(size, abs(h[s]))
    arrange(at, h, sign, order, w.desk)
    low = np.inf
    high = -np.inf
    is_changed = False
    for s in range(S):
        best = np.inf
        own = np.inf
        first = 0
        for a in range(A):
            expected = loss[0, s, a]
            if expected < np.inf:
                expected += discount * expect(at, s * A + a, order, w.desk, h)
            own = expected if a == choice[0, s] else own
            first = a if expected < best else first
            best = expected if expected < best else best
        if best < own - TIED * (size + abs(best)):
            choice[0, s] = first
            is_changed = True
        low = min(low, best - h[s])
        high = max(high, best - h[s])
    return low, high, size + max(abs(low), abs(high)), is_changed


@compiled
def respond(
    kernels: Lasting, loss: Floats, sign: float, V: Floats, choice: Ints, orders: Ints, w: Chain
) -> None:
    """Find a best stationary policy by policy iteration, and a bound on all policies.

    A policy that leaves bad states very slowly has huge relative values, if costs are averaged.
    So discounted problems lead to a first policy, with discounts that tend to one.

    Arrays: loss (1, S, A), infinite where an action is forbidden. V (2, S): the second row has
    relative values, on entry a first guess, as has choice (1, S); the first row is written with
    lower bounds on the costs from each state. orders (1, S) is written over a box. The chain has
    the distance of total costs at which bounds are close enough.
    """
    S, A = loss.shape[1:]
    h = V[1]
    root = 0
    is_cold = True
    for s in range(S):
        is_cold = is_cold and h[s] == 0.0
    discount = kernels.discount
    if discount == 1.0 and is_cold:
        discount = FIRST_DISCOUNT
    has_returned = is_cold
    is_exact = False
    n_stalled = 0
    least = np.inf
    kept = 0.0  # rounding of the values that are kept
    low = 0.0
    rounding = 0.0
    room = w.room[0] * (1.0 - kernels.discount) if kernels.discount < 1.0 else w.room[0]
    w.room[1] = 0.0
    for _ in range(MOST_ROUNDS):
        low, high, rounding, is_changed = improve(
            kernels, discount, loss, sign, h, choice, orders[0], w
        )
        small = max(CLOSE * rounding, ENOUGH * abs(low))
        if discount != kernels.discount:  # the next discount changes more
            small = max(small, ROUGHLY * (1.0 - discount) * rounding)
        if discount == kernels.discount and small < high - low <= room:
            w.room[1] = 1.0
            break
        n_stalled = 0 if high - low < LESS * least else n_stalled + 1
        is_best = is_exact and not is_changed and orders.shape[1] < S
        if high - low <= small or is_best or n_stalled > PATIENCE:
            if discount == kernels.discount:
                break
            if not high - low <= max(WORSE * least, CLOSE * kept):
                # huge values without meaning, next to which any bounds are close
                for s in range(S):
                    h[s] = w.kept[s]
            discount = 1.0 - (1.0 - discount) * NEXT_DISCOUNT
            discount = discount if discount < LAST_DISCOUNT else 1.0
            is_exact = False
            least = np.inf
            continue
        if not high - low <= WORSE * least and discount == 1.0:
            for s in range(S):
                h[s] = w.kept[s]
            if has_returned:
                low, high, rounding, is_changed = improve(
                    kernels, discount, loss, sign, h, choice, orders[0], w
                )
                break
            has_returned = True
            discount = FIRST_DISCOUNT
            is_exact = False
            least = np.inf
            continue
        least = min(least, high - low)
        kept = rounding
        is_full = ROUGHLY * (high - low) <= small or not is_changed
        fill_chain(kernels, A, choice[0], orders[0], w)
        if w.is_split[0] and discount == 1.0 and join(kernels, loss, h, choice[0], orders[0], w):
            fill_chain(kernels, A, choice[0], orders[0], w)
            cut_others(w)
        for s in range(S):
            w.kept[s] = h[s]
            w.right[s] = loss[0, s, choice[0, s]]
            w.solution[s] = h[s] - h[root]
        w.solution[root] = 0.5 * (low + high) + (1.0 - discount) * h[root]
        target = max(0.25 * small, ENDING * room) if is_full else ROUGHLY * (high - low)
        off = solve_chain(w, discount, root, False, target)
        if discount == 1.0 and not w.is_split[0] and off > max(CONVERGED, target / floor_of(w)):
            w.is_split[0] = True  # probably: the same again
            continue
        is_exact = is_full and off <= CONVERGED
        w.solution[root] = 0.0
        for s in range(S):
            h[s] = w.solution[s] if off < np.inf else np.inf
    low -= ROUNDED * rounding
    for s in range(S):
        V[0, s] = h[s] + low / (1.0 - discount) if discount < 1.0 else low


@compiled
def find_shares(w: Chain, discount: float, initial: Floats) -> float:
    """`find_frequencies`; where costs are averaged and there are several classes, those of one."""
    off, share = find_frequencies(w, discount, initial)
    if discount == 1.0 and (off > CONVERGED or share < WHOLE):
        take_reached_class(w, initial)
        off, _ = find_frequencies(w, discount, initial)
    return off


@compiled
def tally(
    problem: Problem, choice: Ints, orders: Ints, reach: Floats, point: Floats, w: Chain
) -> None:
    """Cost and constraint values of a deterministic stationary policy.

    Arrays: choice (1, S), orders (1, S) or (1, 1); reach (1, S) is written with how often each
    state is visited (discounted, or on average per step); point (I+1,) is written. Where the
    frequencies were not found, it is infinite.
    """
    S, A = problem.cost.shape[1:]
    kernels: Any = problem.kernels
    fill_chain(kernels, A, choice[0], orders[0], w)
    off = find_shares(w, kernels.discount, problem.initial)
    steps = 1.0 / (1.0 - kernels.discount) if kernels.discount < 1.0 else 1.0
    point[:] = 0.0 if off <= CONVERGED else np.inf
    for s in range(S):
        reach[0, s] = steps * w.solution[s]
        if reach[0, s] > 0.0:
            a = np.uint16(choice[0, s])
            point[0] += reach[0, s] * problem.cost[0, s, a]
            for i in range(point.size - 1):
                point[1 + i] += reach[0, s] * problem.constraint_cost[i, 0, s, a]


@compiled
def follow(
    kernels: Lasting,
    mu: Floats,
    choice: Ints,
    orders: Ints,
    weight: float,
    q: Floats,
    flow: Floats,
    w: Chain,
) -> None:
    """Add occupancy and flow of a deterministic stationary policy, times a weight.

    Arrays: choice (1, S), orders (1, S) or (1, 1); q (1, S, A) and flow (1, E) or (1, 0) are added
    to.
    """
    S, A = q.shape[1:]
    fill_chain(kernels, A, choice[0], orders[0], w)
    find_shares(w, kernels.discount, mu)
    steps = 1.0 / (1.0 - kernels.discount) if kernels.discount < 1.0 else 1.0
    for s in range(S):
        mass = weight * steps * w.solution[s]
        if mass > 0.0:
            row = s * A + choice[0, s]
            q[0, s, choice[0, s]] += mass
            if flow.shape[1] > 0:
                for e in range(kernels.indptr[0, row], kernels.indptr[0, row + 1]):
                    flow[0, e] += mass * w.flow[np.uint64(e)]


@compiled
def evaluate_chain(
    w: Chain, discount: float, initial: Floats, losses: Floats, values: Floats, totals: Floats
) -> float:
    """Evaluate losses on a filled chain, and the share of time in each state.

    Arrays: initial (S,), losses (K, S); values (K + 1, S) is written with relative values, and last
    with the shares; totals (K,) with the totals from the start. Returns the largest residual,
    relative to what rounding leaves.
    """
    worst, _ = find_frequencies(w, discount, initial)
    K, S = losses.shape
    for s in range(S):
        values[K, s] = w.solution[s]
    for k in range(K):
        total = 0.0
        for s in range(S):
            w.right[s] = losses[k, s]
            total += values[K, s] * losses[k, s]
            w.solution[s] = 0.0
        w.solution[0] = total
        worst = max(worst, solve_chain(w, discount, 0, False, 0.0))
        gain = w.solution[0]
        w.solution[0] = 0.0
        totals[k] = gain / (1.0 - discount) if discount < 1.0 else gain
        for s in range(S):
            values[k, s] = w.solution[s]
            if discount < 1.0:
                totals[k] += initial[s] * w.solution[s]
    return worst
