"""Second opinions that share nothing with the planners: enumeration, dense NumPy, scipy's linprog.

A constrained optimum mixes deterministic policies, so a linear program over the points (cost,
constraint values) of all of them is exact. Over a box, the program's variables are flows.
Everything is dense and slow, for instances of a few states.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

__all__ = [
    "best_in_ball",
    "best_mixture",
    "best_row",
    "by_stages",
    "enumerated",
    "forward",
    "least_excess",
    "least_joint",
    "optimistic",
    "points",
    "values",
]

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def by_stages(array, H, ndim):
    """An array whose stage axis may be missing or one long, with H stages; ``ndim`` counts them."""
    array = np.asarray(array, dtype=float)
    array = array if array.ndim == ndim else array[None]
    return np.broadcast_to(array, (H, *array.shape[1:]))


def enumerated(allowed):
    """All deterministic policies over allowed actions (H, S, A), as (N, H, S) integers."""
    H, S, _ = allowed.shape
    choices = [np.flatnonzero(row) for row in allowed.reshape(H * S, -1)]
    return np.array(list(product(*choices))).reshape(-1, H, S)


def points(cmdp):
    """Cost and constraint values of every deterministic policy, (N, I+1), without duplicates."""
    H, S = cmdp.horizon, cmdp.n_states
    p = by_stages(cmdp.transition, H, 4)
    losses = np.concatenate((cmdp.cost[None], cmdp.constraint_cost))
    actions = enumerated(cmdp.allowed)
    states = np.arange(S)
    reach = np.broadcast_to(cmdp.initial, (len(actions), S))
    totals = np.zeros((len(actions), len(losses)))
    for h in range(H):
        a = actions[:, h]
        totals += np.einsum("ns,ins->ni", reach, losses[:, h][:, states, a])
        reach = np.einsum("ns,nst->nt", reach, p[h][states, a])
    return np.unique(totals, axis=0)


def best_mixture(found, budget):
    """Least cost of a mixture of points that keeps the budgets; None when none does."""
    answer = linprog(
        found[:, 0],
        A_ub=found[:, 1:].T if found.shape[1] > 1 else None,
        b_ub=budget if found.shape[1] > 1 else None,
        A_eq=np.ones((1, len(found))),
        b_eq=[1.0],
        options=TIGHT,
    )
    return answer.fun if answer.status == 0 else None


def least_excess(found, budget):
    """Least t, of either sign, so that some mixture keeps every budget plus t."""
    n, I = len(found), found.shape[1] - 1
    answer = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.hstack((found[:, 1:].T, -np.ones((I, 1)))),
        b_ub=budget,
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
        options=TIGHT,
    )
    return answer.fun


def least_joint(found, budget, i):
    """Least value of constraint i over mixtures that keep the other budgets; None if none does."""
    others = [1 + j for j in range(len(budget)) if j != i]
    return best_mixture(found[:, [1 + i, *others]], np.delete(budget, i))


def forward(p, initial, policy):
    """Occupancy (H, S, A) of a policy under dense kernels (H, S, A, S)."""
    q = np.zeros(policy.shape)
    reach = np.asarray(initial)
    for h, pi in enumerate(policy):
        q[h] = reach[:, None] * pi
        reach = np.einsum("sa,sat->t", q[h], p[h])
    return q


def values(cmdp, policy, p=None):
    """Cost and constraint values (I+1,) of a policy by a dense forward pass."""
    p = by_stages(cmdp.transition if p is None else p, cmdp.horizon, 4)
    q = forward(p, cmdp.initial, policy)
    losses = np.concatenate((cmdp.cost[None], cmdp.constraint_cost))
    return np.einsum("hsa,ihsa->i", q, losses)


def best_row(V, lower, upper, sign=1.0):
    """Least (or for sign -1 greatest) expected V over distributions between two bounds."""
    answer = linprog(
        sign * np.asarray(V),
        A_eq=np.ones((1, len(V))),
        b_eq=[1.0],
        bounds=np.column_stack((lower, upper)),
        options=TIGHT,
    )
    assert answer.status == 0, answer.message
    return sign * answer.fun


def best_in_ball(V, center, radius, sign=1.0):
    """Least (or greatest) expected V over distributions within an L1 distance of a center."""
    S = len(V)
    one, none = np.eye(S), np.zeros(S)
    answer = linprog(
        np.append(sign * np.asarray(V), none),
        A_ub=np.block([[one, -one], [-one, -one], [none, np.ones(S)]]),
        b_ub=np.concatenate((center, -np.asarray(center), [radius])),
        A_eq=np.append(np.ones(S), none)[None],
        b_eq=[1.0],
        options=TIGHT,
    )
    assert answer.status == 0, answer.message
    return sign * answer.fun


def optimistic(initial, lower, upper, cost, constraint_cost, budget, allowed=None):
    """Least cost over policies and kernels between dense bounds (H, S, A, S); None if infeasible.

    The variables are flows z_h(s,a,t); at the last stage they may go anywhere.
    """
    H, S, A, _ = upper.shape
    z = np.arange(H * S * A * S).reshape(H, S, A, S)
    equal, right, most, limit = [], [], [], []

    def term(pairs):
        row = np.zeros(z.size)
        for where, value in pairs:
            row[where] += value
        return row

    for h, s in product(range(H), range(S)):
        arrives = [] if h == 0 else [(z[h - 1, :, :, s].ravel(), -1.0)]
        equal.append(term([(z[h, s].ravel(), 1.0), *arrives]))
        right.append(initial[s] if h == 0 else 0.0)
    for h, s, a, t in product(range(H - 1), range(S), range(A), range(S)):
        most.append(term([(z[h, s, a, t], 1.0), (z[h, s, a], -upper[h, s, a, t])]))
        most.append(term([(z[h, s, a, t], -1.0), (z[h, s, a], lower[h, s, a, t])]))
        limit += [0.0, 0.0]
    for d, b in zip(constraint_cost, budget, strict=True):
        most.append(np.repeat(d.ravel(), S))
        limit.append(b)
    bounds = [(0.0, None)] * z.size
    if allowed is not None:
        bounds = [(0.0, None if ok else 0.0) for ok in np.repeat(allowed.ravel(), S)]
    answer = linprog(
        np.repeat(cost.ravel(), S),
        A_ub=np.array(most) if most else None,
        b_ub=limit if most else None,
        A_eq=np.array(equal),
        b_eq=right,
        bounds=bounds,
        options=TIGHT,
    )
    return answer.fun if answer.status == 0 else None
