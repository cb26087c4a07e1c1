"""Backward recursions: price a loss, evaluate a policy, find the best one.

They run over any kind of `rows`: a known kernel, an estimated one, boxes, L1 balls. Losses are
(G, S, A) with G = 1 when nothing depends on time; a forbidden action has an infinite loss.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Bools, Caps, Floats, Ints, Problem, Transitions
from tightrope.kernels.caps import cap
from tightrope.kernels.compiled import compiled, expanded
from tightrope.kernels.rows import Kernels, arrange, expect, stage
from tightrope.kernels.scratch import Desk


@compiled
def price(
    cost: Floats,
    constraint_cost: Floats | Caps,
    allowed: Bools,
    weight: float,
    lam: Floats,
    loss: Floats,
) -> None:
    """Loss of the priced problem.

    ::

        loss_h(s,a) = weight c_h(s,a) + sum_i lam_i d_{i,h}(s,a),   infinite where forbidden

    Arrays: cost (G', S, A), constraint_cost (I, G'', S, A), allowed (0 or 1 or H, S, A), lam (I,);
    loss (G, S, A) is written, with G the largest number of stages among the inputs.
    """
    G, S, A = loss.shape
    for g in range(G):
        c = cost[min(g, cost.shape[0] - 1)]
        for s in range(S):
            for a in range(A):
                loss[g, s, a] = weight * c[s, a]
        for i in range(lam.size):
            of = cap(constraint_cost, i)
            if lam[i] != 0.0 and of.first <= g < of.last:
                d = of.cost[min(g, of.cost.shape[0] - 1)]
                for s in range(S):
                    for a in range(A):
                        loss[g, s, a] += lam[i] * d[s, a]
        if allowed.shape[0] > 0:
            exists = allowed[min(g, allowed.shape[0] - 1)]
            for s in range(S):
                for a in range(A):
                    if not exists[s, a]:
                        loss[g, s, a] = np.inf


@compiled
def evaluate(
    kernels: Kernels, cost: Floats, pi: Floats, sign: float, V: Floats, order: Ints, work: Desk
) -> None:
    """Cost to go of a policy, under the best (sign +1) or worst (-1) kernel of a set.

    ::

        V_h(s) = sum_a pi_h(a|s) ( c_h(s,a) + sum_t p_h(t|s,a) V_{h+1}(t) ),      V_H = 0

    Arrays: cost (G, S, A), pi (H, S, A); V (H+1, S) is written, order (S,) is scratch.
    """
    H, S, A = pi.shape
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        at = stage(kernels, min(h, kernels.indptr.shape[0] - 1))
        c = cost[min(h, cost.shape[0] - 1)]
        arrange(at, V[h + 1], sign, order, work)
        for s in range(S):
            total = 0.0
            for a in range(A):
                if pi[h, s, a] > 0.0:
                    expected = c[s, a]
                    if h < H - 1:
                        expected += expect(at, s * A + a, order, work, V[h + 1])
                    total += pi[h, s, a] * expected
            V[h, s] = total


@compiled
def evaluate_capped(
    kernels: Kernels,
    cost: Floats,
    pi: Floats,
    choice: Ints,
    is_deterministic: bool,
    V: Floats,
    order: Ints,
    work: Desk,
) -> None:
    """Cost to go of a policy under the worst kernel of a set, at most 1 for each step that is left.

    ::

        Q_h(s,a) = min( H - h, c_h(s,a) + max_{p in set} sum_t p_h(t|s,a) V_{h+1}(t) ),    V_H = 0
        V_h(s)   = sum_a pi_h(a|s) Q_h(s,a)

    Arrays: cost (G, S, A), pi (H, S, A), choice (H, S), read instead of ``pi`` when the policy is
    deterministic; V (H+1, S) is written, order (S,) is scratch.
    """
    H, S, A = pi.shape
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        at = stage(kernels, min(h, kernels.indptr.shape[0] - 1))
        c = cost[min(h, cost.shape[0] - 1)]
        if h < H - 1:
            arrange(at, V[h + 1], -1.0, order, work)
        for s in range(S):
            total = 0.0
            first, last = (choice[h, s], choice[h, s] + 1) if is_deterministic else (0, A)
            for a in range(first, last):
                weight = 1.0 if is_deterministic else pi[h, s, a]
                if weight > 0.0:
                    expected = c[s, a]
                    if h < H - 1:
                        expected += expect(at, s * A + a, order, work, V[h + 1])
                    total += weight * min(expected, float(H - h))
            V[h, s] = total


@compiled
def evaluate_all(
    kernels: Kernels, problem: Problem, pi: Floats, V: Floats, order: Ints, work: Desk, out: Floats
) -> None:
    """Expected cost and constraint values of a policy.

    The kernels are those of the policy, in place of the problem's own. Arrays: pi (H, S, A);
    V (H+1, S) and order (S,) are scratch; out (I+1,) is written.
    """
    for k in range(out.size):
        if k == 0:
            evaluate(kernels, problem.cost, pi, 1.0, V, order, work)
        else:
            evaluate(kernels, problem.constraint_cost[k - 1], pi, 1.0, V, order, work)
        out[k] = 0.0
        for s in range(problem.initial.size):
            out[k] += problem.initial[s] * V[0, s]


@expanded
def choose(
    at: Kernels,
    loss: Floats,
    is_last: bool,
    after: Floats,
    order: Ints,
    work: Desk,
    start: int,
    stop: int,
    now: Floats,
    choice: Ints,
) -> None:
    """One stage of `induct`, for states from ``start`` to ``stop``.

    Arrays: loss (S, A), after (S,); now and choice, (S,), are written.
    """
    A = loss.shape[1]
    for s in range(start, stop):
        best = np.inf
        first = 0
        for a in range(A):
            expected = loss[s, a]
            if not is_last and expected < np.inf:
                expected += expect(at, s * A + a, order, work, after)
            # two selections without a branch: which action wins cannot be predicted
            first = a if expected < best else first
            best = expected if expected < best else best
        now[s] = best
        choice[s] = first


@compiled
def induct(
    kernels: Kernels, loss: Floats, sign: float, V: Floats, choice: Ints, orders: Ints, work: Desk
) -> None:
    """Least cost to go and the action that attains it; ties go to the first action.

    ::

        V_h(s) = min_a  loss_h(s,a) + min_{p in set} sum_t p_h(t|s,a) V_{h+1}(t),      V_H = 0

    with the greatest instead of the least over the set for sign -1.

    Arrays: loss (G, S, A), infinite where an action is forbidden; V (H+1, S), choice (H, S) of
    16-bit integers and orders (H or 1, S) are written. The orders of states in which rows were
    filled, by stage, are the kernel in short.
    """
    H, S = choice.shape
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        at = stage(kernels, min(h, kernels.indptr.shape[0] - 1))
        r = loss[min(h, loss.shape[0] - 1)]
        order = orders[min(h, orders.shape[0] - 1)]
        after = V[h + 1]
        arrange(at, after, sign, order, work)
        choose(at, r, h == H - 1, after, order, work, 0, S, V[h], choice[h])


@compiled
def action_values(
    p: Transitions, cost: Floats, V: Floats, Q: Floats, order: Ints, work: Desk
) -> None:
    """Cost of one action followed by whatever ``V`` stands for.

    ::

        Q_h(s,a) = c_h(s,a) + sum_t p_h(t|s,a) V_{h+1}(t)

    Arrays: cost (G, S, A), V (H+1, S); Q (H, S, A) is written, order (S,) is scratch.
    """
    H, S, A = Q.shape
    for h in range(H):
        at = stage(p, min(h, p.indptr.shape[0] - 1))
        c = cost[min(h, cost.shape[0] - 1)]
        for s in range(S):
            for a in range(A):
                Q[h, s, a] = c[s, a] + expect(at, s * A + a, order, work, V[h + 1])
