"""Forward recursions: how often a policy is where, what it spends, and the way back."""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Box, Floats, Ints, Problem, Transitions
from tightrope.kernels.caps import Cap, cap
from tightrope.kernels.compiled import compiled
from tightrope.kernels.rows import Kernels, place, settle, spread, stage
from tightrope.kernels.scratch import Desk, copy


@compiled
def occupancy(
    p: Kernels, mu: Floats, pi: Floats, q: Floats, reach: Floats, order: Ints, work: Desk
) -> None:
    """Occupancy measure of a policy.

    ::

        q_0(s,a)     = mu(s) pi_0(a|s)
        q_{h+1}(t,b) = pi_{h+1}(b|t) sum_{s,a} q_h(s,a) p_h(t|s,a)

    Arrays: mu (S,), pi (H, S, A); q (H, S, A) is written; reach (2, S) and order (S,) are scratch.
    The kernel ``p`` is known or estimated.
    """
    H, S, A = pi.shape
    copy(mu, reach[0])
    for h in range(H):
        at = stage(p, min(h, p.indptr.shape[0] - 1))
        now, new = reach[h % 2], reach[(h + 1) % 2]
        new[:] = 0.0
        for s in range(S):
            for a in range(A):
                mass = now[s] * pi[h, s, a]
                q[h, s, a] = mass
                if mass > 0.0 and h + 1 < H:
                    spread(at, s * A + a, order, work, mass, new, mu[:0])
        settle(at, order, work, new)


@compiled
def gather(
    problem: Problem, choice: Ints, orders: Ints, reach: Floats, point: Floats, work: Desk
) -> None:
    """Cost and constraint values of a deterministic policy by one forward pass.

    Over a set the kernel is the one that `induct` chose, given back by its orders.

    Budgets and forbidden actions are not read. Arrays: choice (H, S), orders (H or 1, S);
    reach (H, S) is scratch; point (I+1,) is written, the cost and then each constraint.
    """
    H, S = choice.shape
    A = problem.cost.shape[2]
    kernels, mu = problem.kernels, problem.initial
    copy(mu, reach[0])
    for h in range(H - 1):
        at = stage(kernels, min(h, kernels.indptr.shape[0] - 1))
        order = orders[min(h, orders.shape[0] - 1)]
        now, new, actions = reach[h], reach[h + 1], choice[h]
        new[:] = 0.0
        place(at, order, work)
        for s in range(S):
            if now[s] > 0.0:
                spread(at, s * A + actions[s], order, work, now[s], new, mu[:0])
        settle(at, order, work, new)
    point[0] = spent(Cap(problem.cost, 0, H), choice, reach)
    costs, I = problem.constraint_cost, point.size - 1
    together = I - I % 4
    for i in range(0, together, 4):
        four = cap(costs, i), cap(costs, i + 1), cap(costs, i + 2), cap(costs, i + 3)
        spend_four(four, choice, reach, point[1 + i : 5 + i])
    for i in range(together, I):
        point[1 + i] = spent(cap(costs, i), choice, reach)


@compiled
def spend_four(four: tuple[Cap, Cap, Cap, Cap], choice: Ints, reach: Floats, out: Floats) -> None:
    """Write `spent` of four costs: four sums at once do not wait for each other."""
    H, S = choice.shape
    w, x, y, z = four
    start = min(min(w.first, x.first), min(y.first, z.first))
    stop = min(H, max(max(w.last, x.last), max(y.last, z.last)))
    first = second = third = fourth = 0.0
    for h in range(start, stop):
        g, now, actions = min(h, w.cost.shape[0] - 1), reach[h], choice[h]
        for s in range(S):
            if now[s] > 0.0:
                a = np.uint16(actions[s])
                first += now[s] * w.cost[g, s, a]
                second += now[s] * x.cost[g, s, a]
                third += now[s] * y.cost[g, s, a]
                fourth += now[s] * z.cost[g, s, a]
    out[0], out[1], out[2], out[3] = first, second, third, fourth


@compiled
def spent(of: Cap, choice: Ints, reach: Floats) -> float:
    """Expected sum of a cost along a deterministic policy that reaches states so often."""
    H, S = choice.shape
    total = 0.0
    for h in range(of.first, min(H, of.last)):
        c, now, actions = of.cost[min(h, of.cost.shape[0] - 1)], reach[h], choice[h]
        for s in range(S):
            if now[s] > 0.0:
                total += now[s] * c[s, np.uint16(actions[s])]
    return total


@compiled
def follow(
    kernels: Kernels,
    mu: Floats,
    choice: Ints,
    orders: Ints,
    weight: float,
    q: Floats,
    flow: Floats,
    reach: Floats,
    work: Desk,
) -> None:
    """Add occupancy and flow of a deterministic policy and its kernel, times a weight.

    Arrays: mu (S,), choice (H, S), orders (H or 1, S), reach (2, S) as scratch; q (H, S, A) and
    flow (H, E) or (H, 0) are added to. The flow is mass over the entries of the kernels, where it
    has room; its last stage stays empty, and only known kernels and boxes fill it.
    """
    H, S, A = q.shape
    for s in range(S):
        reach[0, s] = weight * mu[s]
    for h in range(H):
        at = stage(kernels, min(h, kernels.indptr.shape[0] - 1))
        order = orders[min(h, orders.shape[0] - 1)]
        now, new = reach[h % 2], reach[(h + 1) % 2]
        new[:] = 0.0
        place(at, order, work)
        for s in range(S):
            mass = now[s]
            if mass > 0.0:
                a = choice[h, s]
                q[h, s, a] += mass
                if h + 1 < H:
                    spread(at, s * A + a, order, work, mass, new, flow[h])
        settle(at, order, work, new)


@compiled
def policy_of(q: Floats, choice: Ints, pi: Floats) -> None:
    """Policy of an occupancy measure; where nothing was reached, the given actions.

    Arrays: q and pi, which is written, (H, S, A); choice (H, S).
    """
    H, S, A = q.shape
    for h in range(H):
        for s in range(S):
            mass = 0.0
            for a in range(A):
                mass += q[h, s, a]
            for a in range(A):
                pi[h, s, a] = q[h, s, a] / mass if mass > 0.0 else 0.0
            if not mass > 0.0:
                pi[h, s, choice[h, s]] = 1.0


@compiled
def blend(
    p: Transitions,
    mu: Floats,
    actions: Ints,
    weights: Floats,
    choice: Ints,
    order: Ints,
    work: Desk,
    reach: Floats,
    out: Ints,
    mixed: Ints,
    shares: Floats,
) -> int:
    """Policy with the occupancy of a mixture of J deterministic policies, in short.

    As `policy_of` the weighted sum of what `follow` adds. Arrays: actions (J, H, S), weights (J,),
    choice (H, S) for states that are not reached; reach (J, 2, S) is scratch. Written: out (H, S),
    an action for each state; mixed (n,), the places h*S + s that randomize; shares (n, A), their
    probabilities. Returns how many do, less than n, which is more than where actions differ.
    """
    J, H, S = actions.shape
    A = shares.shape[1]
    n = 0
    for j in range(J):
        for s in range(S):
            reach[j, 0, s] = weights[j] * mu[s]
    for h in range(H):
        at = stage(p, min(h, p.indptr.shape[0] - 1))
        here, there = h % 2, (h + 1) % 2
        for s in range(S):
            row = shares[n]
            for a in range(A):
                row[a] = 0.0
            for j in range(J):
                if reach[j, here, s] > 0.0:
                    row[actions[j, h, s]] += reach[j, here, s]
            mass = 0.0
            n_taken = 0
            out[h, s] = choice[h, s]
            likeliest = 0.0
            for a in range(A):
                mass += row[a]
                n_taken += int(row[a] > 0.0)
                if row[a] > likeliest:
                    likeliest = row[a]
                    out[h, s] = a
            if n_taken > 1:
                for a in range(A):
                    row[a] /= mass
                mixed[n] = h * S + s
                n += 1
        for j in range(J):
            if h + 1 < H:
                reach[j, there, :] = 0.0
                for s in range(S):
                    mass = reach[j, here, s]
                    if mass > 0.0:
                        row_at = s * A + actions[j, h, s]
                        spread(at, row_at, order, work, mass, reach[j, there], mu[:0])
    return n


@compiled
def visit_states(
    p: Transitions,
    mu: Floats,
    actions: Ints,
    mixed: Ints,
    shares: Floats,
    order: Ints,
    work: Desk,
    reach: Floats,
) -> None:
    """Probability of each state by stage under a policy in short.

    Arrays: actions (H, S), mixed (n,) and shares (n, A) as `blend` writes them; reach (H, S) is
    written.
    """
    H, S = actions.shape
    A = shares.shape[1]
    copy(mu, reach[0])
    n = 0
    for h in range(H - 1):
        at = stage(p, min(h, p.indptr.shape[0] - 1))
        now, new = reach[h], reach[h + 1]
        new[:] = 0.0
        for s in range(S):
            if n < mixed.size and mixed[n] == h * S + s:
                for a in range(A):
                    mass = now[s] * shares[n, a]
                    if mass > 0.0:
                        spread(at, s * A + a, order, work, mass, new, mu[:0])
                n += 1
            elif now[s] > 0.0:
                spread(at, s * A + actions[h, s], order, work, now[s], new, mu[:0])


@compiled
def kernel_of(
    box: Box, q: Floats, flow: Floats, orders: Ints, data: Floats, reach: Floats, work: Desk
) -> None:
    """Kernel of a flow, inside the box at every pair, reached or not.

    ::

        p_h(t|s,a) = z_h(s,a,t) / q_h(s,a)     where q > 0, moved into the box by rounding errors
                     the row that the orders stand for, elsewhere and at the last stage

    The box has no unlisted successors. Arrays: q (H, S, A), flow (H, E), orders (H, S); data (H,
    E), probabilities over the box's entries, is written; reach (S,) is scratch.
    """
    H, S, A = q.shape
    for h in range(H):
        at = stage(box, min(h, box.indptr.shape[0] - 1))
        place(at, orders[h], work)
        data[h] = 0.0
        for s in range(S):
            for a in range(A):
                row = s * A + a
                mass = 0.0
                for e in range(at.indptr[row], at.indptr[row + 1]):
                    mass += flow[h, e]
                if mass > 0.0 and q[h, s, a] > 0.0:
                    missing = 1.0
                    for e in range(at.indptr[row], at.indptr[row + 1]):
                        data[h, e] = min(max(flow[h, e] / mass, at.lower[e]), at.upper[e])
                        missing -= data[h, e]
                    for e in range(at.indptr[row], at.indptr[row + 1]):
                        moved = min(
                            max(missing, at.lower[e] - data[h, e]), at.upper[e] - data[h, e]
                        )
                        data[h, e] += moved
                        missing -= moved
                else:
                    spread(at, row, orders[h], work, 1.0, reach, data[h])
