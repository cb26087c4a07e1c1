"""What a solve by column generation has found: policies, their points, and bounds on the optimum.

A column is a deterministic policy (over boxes with its kernel, in short) and its point: cost, then
constraint values. The master (`pivot`) weighs the points; `generation` finds new policies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, is_set, new_record
from tightrope.kernels.compiled import compiled, expanded
from tightrope.kernels.copying import copy
from tightrope.kernels.desk import Desk, desk
from tightrope.kernels.occupancy import gather
from tightrope.kernels.pivot import Master, first_basis, is_basic, master, set_budget

PROGRESS = (
    ("n_columns", "i8"),  # columns in use
    ("n_sweeps", "i8"),  # dynamic programming sweeps since the solve began
    ("is_about_violation", "?"),  # the master minimizes violation now, not cost
    ("lower", "f8"),  # proven bound on the optimal cost
    ("upper", "f8"),  # cost of the master, violation priced
    ("violation_price", "f8"),
    ("least_violation", "f8"),  # proven bound on it
    ("first_price", "f8"),  # price of violation to begin with
    ("last_price", "f8"),  # price of violation beyond which rounding outweighs what it buys
)


class Columns(NamedTuple):
    """Everything a solve remembers between sweeps, and its scratch."""

    master: Master
    actions: Ints  # (N, H, S) the policies found
    orders: Ints  # (N, H, S) over a set (`is_set`) their kernels in short; else (N, 1, 1)
    lam: Floats  # (I,) prices of the last sweep
    best: Floats  # (I,) prices that gave the best bound of this phase
    loss: Floats  # (G, S, A)
    V: Floats  # (H+1, S)
    choice: Ints  # (H, S) policy of the last sweep
    order: Ints  # (H, S) over a set, else (1, 1)
    reach: Floats  # (H, S)
    point: Floats  # (I+1,)
    work: Desk
    progress: Any  # record of `PROGRESS`


def columns(
    problem: Problem,
    horizon: int,
    room: int,
    size: Floats | None = None,
    unit: Floats | None = None,
) -> Columns:
    """Room for a solve with at most that many columns kept at a time.

    Parameters
    ----------
    problem : Problem
    horizon : int
    room : int
    size, unit : (I,) arrays, optional
        Largest constraint cost and unit of violation of each constraint; by default 1, for
        constraint costs in [0, 1].
    """
    _, S, A = problem.cost.shape
    I = problem.budget.size
    G = max(problem.cost.shape[0], problem.constraint_cost.shape[1] if I else 1)
    G = max(G, problem.allowed.shape[0])
    shape = (horizon, S) if is_set(problem.kernels) else (1, 1)
    if size is None or unit is None:
        unit = size = np.ones(I)
        price = 1e3 * largest(problem.cost) / largest(problem.constraint_cost)
        last_price = 1e7 * price
    else:
        price = 1e3 * largest(problem.cost) * largest(unit / size)
        last_price = 1e10 * horizon * largest(problem.cost)
    return Columns(
        master(room, problem.budget, size, unit),
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
        new_record(
            PROGRESS,
            {
                "lower": -np.inf,
                "upper": np.inf,
                "violation_price": price,
                "least_violation": -np.inf,
                "first_price": price,
                "last_price": last_price,
            },
        ),
    )


def largest(values: Floats) -> float:
    """Largest magnitude; 1 where there is none."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def constraint_sizes(problem: Problem) -> Floats:
    """Largest magnitude of each constraint's costs, (I,); 1 where all are zero."""
    return np.array([largest(costs) for costs in problem.constraint_cost])


@expanded
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
    gather(problem, c.choice, c.order, c.reach, c.point, c.work)
    for j in range(c.progress.n_columns):
        is_same = True
        for k in range(c.point.size):
            if c.point[k] != m.points[j, k]:
                is_same = False
        if is_same:
            return False
    j = slot(m, c.progress.n_columns, weight)
    copy(c.point, m.points[j])
    copy(c.choice, c.actions[j])
    copy(c.order, c.orders[j])
    c.progress.n_columns = max(c.progress.n_columns, j + 1)
    return True


@compiled
def begin(problem: Problem, c: Columns) -> None:
    """Make ready for another problem of the same shape, with what the last one taught.

    The policies of the last mixture stay as columns, with their points under the new problem, and
    the first sweep asks at the last prices.
    """
    m = c.master
    set_budget(m, problem.budget)
    for i in range(c.lam.size):
        c.lam[i] = max(c.lam[i], 0.0)
    kept = 0
    for j in range(c.progress.n_columns):
        if is_basic(m, j):
            if kept != j:
                copy(c.actions[j], c.actions[kept])
                copy(c.orders[j], c.orders[kept])
            gather(problem, c.actions[kept], c.orders[kept], c.reach, c.point, c.work)
            copy(c.point, m.points[kept])
            kept += 1
    c.progress.n_columns = kept
    c.progress.n_sweeps = 0
    c.progress.is_about_violation = False
    c.progress.lower = -np.inf
    c.progress.upper = np.inf
    c.progress.violation_price = c.progress.first_price
    if kept > 0:
        first_basis(m)
