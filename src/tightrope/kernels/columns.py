"""Column generation over policies, compiled whole: a simplex priced by dynamic programming.

Keep the points (cost, constraint values) of the policies found so far. A master with I+1 rows
(`pivot`) gives weights and prices; one sweep with the priced loss finds the best new policy and, in
its value, a lower bound; stop when bound and master meet (SPEC A5.4, PLANNING). The master is
elastic: it may buy violation t, and the price of t rises until t is zero or a sweep proves that it
cannot be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.kernels.bellman import induct, price
from tightrope.kernels.compiled import compiled
from tightrope.kernels.copying import copy
from tightrope.kernels.desk import Desk, desk
from tightrope.kernels.occupancy import gather
from tightrope.kernels.pivot import (
    Master,
    first_basis,
    is_basic,
    master,
    objective,
    optimise,
    violation,
)

__all__ = [
    "AT_EDGE",
    "INFEASIBLE",
    "OPTIMAL",
    "RUNNING",
    "STALLED",
    "Columns",
    "advance",
    "begin",
    "columns",
]

RUNNING, OPTIMAL, INFEASIBLE, STALLED, AT_EDGE = 0, 1, 2, 3, 4
COST, VIOLATION = 0, 1  # what the master minimises

EPS = 2.0**-52
DEAREST = 1e7  # times the first price of violation: beyond, rounding outweighs what it buys
UNASKED = -1.0  # no sweep of this phase has answered any prices


class Columns(NamedTuple):
    """Everything a solve remembers between sweeps, and its scratch."""

    master: Master
    actions: Ints  # (N, H, S) the policies found
    orders: Ints  # (N, H, S) over boxes their kernels in short; (N, 1, 1) under a known kernel
    lam: Floats  # (I,) prices of the last sweep
    best: Floats  # (I,) prices that gave the best bound of this phase
    loss: Floats  # (G, S, A)
    V: Floats  # (H+1, S)
    choice: Ints  # (H, S) policy of the last sweep
    order: Ints  # (H, S) or (1, 1)
    reach: Floats  # (H, S)
    point: Floats  # (I+1,)
    work: Desk
    tally: Ints  # columns in use, sweeps, phase
    level: Floats  # lower and upper bound, price of violation, its lower bound, its first price


def columns(problem: Problem, horizon: int, over_box: bool, room: int) -> Columns:
    """Room for a solve with at most that many columns kept at a time."""
    _, S, A = problem.cost.shape
    I = problem.budget.size
    G = max(problem.cost.shape[0], problem.constraint_cost.shape[1] if I else 1)
    G = max(G, problem.allowed.shape[0])
    shape = (horizon, S) if over_box else (1, 1)
    cost_size = float(np.abs(problem.cost).max())
    bound_size = float(np.abs(problem.constraint_cost).max()) if I else 1.0
    dear = 1e3 * (cost_size or 1.0) / (bound_size or 1.0)
    return Columns(
        master(room, problem.budget),
        np.zeros((room, horizon, S), dtype=np.int16),
        np.zeros((room, *shape), dtype=np.uint32),
        np.zeros(I),
        np.zeros(I),
        np.zeros((G, S, A)),
        np.zeros((horizon + 1, S)),
        np.zeros((horizon, S), dtype=np.int16),
        np.zeros(shape, dtype=np.uint32),
        np.zeros((horizon, S)),
        np.zeros(I + 1),
        desk(S),
        np.zeros(3, dtype=np.int64),
        np.array([-np.inf, np.inf, dear, -np.inf, dear]),
    )


@compiled
def sweep(problem: Problem, c: Columns, weight: float) -> float:
    """Least priced cost over all policies; the policy that attains it is left in ``c.choice``."""
    price(problem.cost, problem.constraint_cost, problem.allowed, weight, c.lam, c.loss)
    induct(problem.kernels, c.loss, 1.0, c.V, c.choice, c.order, c.work)
    c.tally[1] += 1
    value = 0.0
    for s in range(problem.initial.size):
        value += problem.initial[s] * c.V[0, s]
    return value


@compiled
def slot(m: Master, n_columns: int, weight: float) -> int:
    """Where a new column goes: a free place, or that of the least promising non-basic column."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    if n_columns < N:
        return n_columns
    chosen = -1
    worst = -np.inf
    for j in range(N):
        if not is_basic(m, j):
            reduced = weight * m.points[j, 0]
            for i in range(I):
                reduced -= m.duals[i] * m.points[j, 1 + i] / m.scale[i]
            if reduced > worst:
                worst = reduced
                chosen = j
    return chosen


@compiled
def keep(problem: Problem, c: Columns, weight: float) -> bool:
    """Store the policy of the last sweep; False when its point is there already."""
    m = c.master
    gather(
        problem.kernels,
        problem.initial,
        c.choice,
        c.order,
        problem.cost,
        problem.constraint_cost,
        c.reach,
        c.point,
        c.work,
    )
    for j in range(c.tally[0]):
        is_same = True
        for k in range(c.point.size):
            if c.point[k] != m.points[j, k]:
                is_same = False
        if is_same:
            return False
    j = slot(m, c.tally[0], weight)
    copy(c.point, m.points[j])
    copy(c.choice, c.actions[j])
    copy(c.order, c.orders[j])
    c.tally[0] = max(c.tally[0], j + 1)
    return True


@compiled
def noise(problem: Problem, c: Columns, value: float) -> float:
    """Rounding floor of a bound: it grows with prices times budgets and values."""
    size = abs(value)
    for i in range(c.lam.size):
        size += 2.0 * c.lam[i] * abs(problem.budget[i])
    return 16.0 * EPS * size


@compiled
def conclude(c: Columns, slack: float) -> int:
    """What a converged master means: done, infeasible, or another phase.

    A plan that buys violation, however little, has the price of violation in its prices and its
    bound. So none may be left: where the least violation is within the slack but not zero, the
    caller raises the budgets by it and goes on.
    """
    t = violation(c.master)
    if t < -slack:
        return STALLED
    if c.tally[2] == COST:
        if t <= 0.0:
            return OPTIMAL
        c.tally[2] = VIOLATION
        c.level[3] = -np.inf
        c.lam[:] = UNASKED
        return RUNNING
    if t > slack:
        return INFEASIBLE
    if t > 0.0:
        return AT_EDGE
    c.tally[2] = COST
    c.level[0] = -np.inf
    c.level[2] *= 1e3
    c.lam[:] = UNASKED
    return RUNNING if c.level[2] < DEAREST * c.level[4] else STALLED


@compiled
def answer_best(problem: Problem, c: Columns, weight: float) -> None:
    """Ask once more at the prices of the best bound, unless the last sweep did."""
    is_other = False
    for i in range(c.lam.size):
        is_other = is_other or c.lam[i] != c.best[i]
        c.lam[i] = c.best[i]
    if is_other:
        sweep(problem, c, weight)


@compiled
def raise_bound(problem: Problem, c: Columns, value: float) -> float:
    """Lower bound that a sweep's value proves; kept, with its prices, when it is the best."""
    lower = value
    for i in range(c.lam.size):
        lower -= c.lam[i] * problem.budget[i]
    place = 0 if c.tally[2] == COST else 3
    if lower > c.level[place]:
        c.level[place] = lower
        copy(c.lam, c.best)
    return lower


@compiled
def begin(problem: Problem, c: Columns) -> None:
    """Make ready for another problem of the same shape, with what the last one taught.

    The policies of the last mixture stay as columns, with their points under the new problem, and
    the first sweep asks at the last prices.
    """
    m = c.master
    I = c.lam.size
    for i in range(I):
        m.scale[i] = max(abs(problem.budget[i]), 1e-3)
        m.rhs[i] = problem.budget[i] / m.scale[i]
        c.lam[i] = max(c.lam[i], 0.0)
    kept = 0
    for j in range(c.tally[0]):
        if is_basic(m, j):
            if kept != j:
                copy(c.actions[j], c.actions[kept])
                copy(c.orders[j], c.orders[kept])
            gather(
                problem.kernels,
                problem.initial,
                c.actions[kept],
                c.orders[kept],
                problem.cost,
                problem.constraint_cost,
                c.reach,
                c.point,
                c.work,
            )
            copy(c.point, m.points[kept])
            kept += 1
    c.tally[0] = kept
    c.tally[1] = 0
    c.tally[2] = COST
    c.level[0] = -np.inf
    c.level[1] = np.inf
    c.level[2] = c.level[4]
    if kept > 0:
        first_basis(m)


@compiled
def advance(problem: Problem, c: Columns, tolerance: float, slack: float, n_sweeps: int) -> int:
    """At most that many sweeps; the first one uses the prices found in ``c.lam``.

    Parameters
    ----------
    problem : Problem
    c : Columns
        Read and written; a call goes on where the last one stopped.
    tolerance : float
        Relative gap between master and bound at which to stop.
    slack : float
        Violation that counts as none.
    n_sweeps : int

    Returns
    -------
    int
        RUNNING, OPTIMAL, INFEASIBLE (the weights then attain the least violation), AT_EDGE (so do
        they, and it is within the slack) or STALLED.
    """
    m = c.master
    I = c.lam.size
    if c.tally[0] == 0 or (c.tally[2] == COST and c.level[0] == -np.inf):
        for i in range(I):
            c.lam[i] = max(c.lam[i], 0.0)
        weight = 1.0 if c.tally[2] == COST else 0.0
        raise_bound(problem, c, sweep(problem, c, weight))
        is_first = c.tally[0] == 0
        keep(problem, c, weight)
        if is_first:
            first_basis(m)
    for _ in range(n_sweeps):
        weight = 1.0 if c.tally[2] == COST else 0.0
        dear = c.level[2] if c.tally[2] == COST else 1.0
        if not optimise(m, c.tally[0], weight, dear):
            return STALLED
        upper = objective(m, weight, dear)
        is_new = False
        for i in range(I):
            lam = max(0.0, -m.duals[i] / m.scale[i])
            is_new = is_new or lam != c.lam[i]
            c.lam[i] = lam
        if not is_new:  # the last sweep already answered these prices
            c.level[1] = upper if c.tally[2] == COST else c.level[1]
            status = conclude(c, slack)
            if status != RUNNING:
                answer_best(problem, c, weight)
                return status
            continue
        value = sweep(problem, c, weight)
        lower = raise_bound(problem, c, value)
        if c.tally[2] == COST:
            c.level[1] = upper
        gap = upper - c.level[0 if c.tally[2] == COST else 3]
        floor = noise(problem, c, value)
        is_done = gap <= max(tolerance * abs(upper), floor) or upper - lower <= floor
        if is_done or not keep(problem, c, weight):
            status = conclude(c, slack)
            if status != RUNNING:
                answer_best(problem, c, weight)
                return status
    return RUNNING
