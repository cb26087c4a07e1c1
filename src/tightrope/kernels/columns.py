"""Column generation over policies, compiled whole: a simplex priced by dynamic programming.

A column is a deterministic policy (over boxes with its kernel, in short) and its point: cost, then
constraint values. A master with I+1 rows (`pivot`) gives weights of the points found so far and
prices of the budgets; one sweep with the priced loss finds the best new policy and, in its value, a
lower bound; stop when bound and master meet. The master is elastic: it may buy violation t, and the
price of t rises until t is zero or a sweep proves that it cannot be.

With many constraints a sweep uses prices between the best ones and those of the master, and adds
policies between the one it finds and the one of most weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Caps, Floats, Ints, Problem, count_steps, is_set, new_record
from tightrope.kernels.bellman import price
from tightrope.kernels.caps import count_together
from tightrope.kernels.compiled import CALLEE, compiled, expanded
from tightrope.kernels.criteria import allow, gather, induct, is_rough, workspace
from tightrope.kernels.inverse import Updated
from tightrope.kernels.pivot import (
    MANY,
    SOLVER,
    Anew,
    Master,
    first_basis,
    is_basic,
    least_promising,
    master,
    objective,
    optimize,
    set_budget,
    take_point,
    violation,
)
from tightrope.kernels.scratch import copy

RUNNING, OPTIMAL, INFEASIBLE, STALLED, AT_EDGE = 0, 1, 2, 3, 4

EPS = 2.0**-52
ROUNDED = 1e-9  # a violation may be this far below zero, in the units of the rows
UNASKED = -1.0  # no sweep of this phase has answered any prices
SMOOTHING = 0.7  # weight of the best prices in those of a sweep, with `MANY` constraints
CAP_SMOOTHING = 0.85  # the same, if few of them have costs at one stage
CROSSED = 2  # policies that a sweep adds to its own, with `MANY` constraints
ONCE = 30  # constraints at one stage from which it adds one, as the master then takes longest
MOST_MISSES = 1000  # after which no weight is left
ROUGHLY = 0.1  # of the gap, to which an iterative sweep is exact: it closes the rest or gains

PROGRESS = (
    ("n_columns", "i8"),  # columns in use
    ("n_sweeps", "i8"),  # dynamic programming sweeps since the solve began
    ("is_about_violation", "?"),  # the master minimizes violation now, not cost
    ("n_misses", "i8"),  # sweeps since one found a policy that the master wants
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
    swept: Ints  # (H, S) scratch with `MANY` constraints, else (1, 1)
    reach: Floats  # (H, S)
    point: Floats  # (I+1,)
    work: Any  # `Desk`, or a `Chain` for an infinite horizon
    progress: Any  # record of `PROGRESS`


def columns(
    problem: Problem,
    horizon: int,
    room: int,
    size: Floats | None = None,
    unit: Floats | None = None,
) -> Columns:
    """Room for a solve with at most that many columns kept at a time.

    ``size`` and ``unit`` are the largest constraint cost and the unit of violation of each
    constraint, (I,); by default 1, for constraint costs in [0, 1].
    """
    _, S, A = problem.cost.shape
    I = problem.budget.size
    costs: Any = problem.constraint_cost
    stages = horizon if isinstance(costs, Caps) else costs.shape[1]
    G = max(problem.cost.shape[0], stages if I else 1)
    G = max(G, problem.allowed.shape[0])
    shape = (horizon, S) if is_set(problem.kernels) else (1, 1)
    if size is None or unit is None:
        unit = size = np.ones(I)
        price = 1e3 * largest(problem.cost) / largest(problem.constraint_cost)
        last_price = 1e7 * price
    else:
        cost = largest(problem.cost)
        price = 1e3 * cost * largest(unit / size)
        last_price = 1e10 * count_steps(problem.kernels, horizon) * cost
    bounds = {"lower": -np.inf, "upper": np.inf, "least_violation": -np.inf}
    prices = {"violation_price": price, "first_price": price, "last_price": last_price}
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
        np.zeros((horizon, S) if I >= MANY else (1, 1), dtype=np.int16),
        np.zeros((horizon, S)),
        np.zeros(I + 1),
        workspace(problem.kernels, S),
        new_record(PROGRESS, bounds | prices),
    )


def largest(values: Floats) -> float:
    """Largest magnitude; 1 where there is none."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def constraint_sizes(problem: Problem) -> Floats:
    """Largest magnitude of each constraint's costs, (I,); 1 where all are zero."""
    given: Any = problem.constraint_cost
    costs, axes = given.cost if isinstance(given, Caps) else given, (1, 2, 3)
    sizes = np.maximum(costs.max(axis=axes, initial=0.0), -costs.min(axis=axes, initial=0.0))
    return np.where(sizes > 0.0, sizes, 1.0)


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
                break
        if is_same:
            return False
    n = c.progress.n_columns
    j = n if n < m.points.shape[0] else least_promising(m, weight)
    copy(c.point, m.points[j])
    take_point(m, j)
    copy(c.choice, c.actions[j])
    copy(c.order, c.orders[j])
    c.progress.n_columns = max(c.progress.n_columns, j + 1)
    return True


def cross_none(problem: Problem, c: Columns, weight: float) -> None:
    """Add no policies to that of the sweep."""


def cross_heaviest(problem: Problem, c: Columns, weight: float) -> None:
    """Store policies between that of the sweep and the one of most weight.

    Every other action in which the two differ is that of the sweep; or all but those.
    """
    m = c.master
    base = -1
    most = 0.0
    for r in range(m.basis.size):
        if m.basis[r] < m.points.shape[0] and m.weights[r] > most:
            base = m.basis[r]
            most = m.weights[r]
    if base < 0:
        return
    H, S = c.choice.shape
    copy(c.choice, c.swept)
    for k in range(CROSSED if count_together(problem.constraint_cost) < ONCE else 1):
        is_new = k == 0
        for h in range(H):
            for s in range(S):
                new, old = c.swept[h, s], c.actions[base, h, s]
                # no branch, as where policies differ cannot be predicted
                c.choice[h, s] = new if is_new else old
                is_new = is_new ^ (new != old)
        keep(problem, c, weight)
    copy(c.swept, c.choice)


def cross(problem: Problem, c: Columns, weight: float) -> None:
    """Store further policies after a sweep, where constraints are many."""
    CROSS[type(c.master.solver)](problem, c, weight)


CROSS: dict[type, Any] = {Anew: cross_none, Updated: cross_heaviest}
MASTER = Columns._fields.index("master")
overload(cross, jit_options=CALLEE, strict=False)(
    lambda problem, c, weight: CROSS[c.types[MASTER].types[SOLVER].instance_class]
)


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
    c.progress.n_misses = 0
    c.progress.is_about_violation = False
    c.progress.lower = -np.inf
    c.progress.upper = np.inf
    c.progress.violation_price = c.progress.first_price
    if kept > 0:
        first_basis(m)


@compiled
def sweep(problem: Problem, c: Columns, weight: float, room: float = 0.0) -> float:
    """Least priced cost over all policies; the policy that attains it is left in ``c.choice``.

    With an infinite horizon, it is a lower bound, which the policy attains up to ``room``.
    """
    allow(c.work, room)
    price(problem.cost, problem.constraint_cost, problem.allowed, weight, c.lam, c.loss)
    induct(problem.kernels, c.loss, 1.0, c.V, c.choice, c.order, c.work)
    c.progress.n_sweeps += 1
    value = 0.0
    for s in range(problem.initial.size):
        value += problem.initial[s] * c.V[0, s]
    return value


@expanded
def noise(problem: Problem, c: Columns, value: float) -> float:
    """Rounding floor of a bound: it grows with prices times budgets and values."""
    size = abs(value)
    for i in range(c.lam.size):
        size += 2.0 * c.lam[i] * abs(problem.budget[i])
    return 16.0 * EPS * size


@expanded
def conclude(c: Columns, slack: float) -> int:
    """What a converged master means: done, infeasible, or another phase.

    A plan that buys violation, however little, has the price of violation in its prices and its
    bound. So none may be left: where the least violation is within the slack but not zero, the
    caller raises the budgets by it and goes on.
    """
    t = violation(c.master)
    if t < -ROUNDED:
        return STALLED
    if not c.progress.is_about_violation:
        if t <= 0.0:
            return OPTIMAL
        c.progress.is_about_violation = True
        c.progress.least_violation = -np.inf
        c.lam[:] = UNASKED
        return RUNNING
    if t > slack:
        return INFEASIBLE
    if t > 0.0:
        return AT_EDGE
    c.progress.is_about_violation = False
    c.progress.lower = -np.inf
    c.progress.violation_price *= 1e3
    c.lam[:] = UNASKED
    return RUNNING if c.progress.violation_price < c.progress.last_price else STALLED


@expanded
def answer_best(problem: Problem, c: Columns, weight: float) -> None:
    """Ask once more at the prices of the best bound, unless the last sweep did."""
    is_other = False
    for i in range(c.lam.size):
        is_other = is_other or c.lam[i] != c.best[i]
        c.lam[i] = c.best[i]
    if is_other:
        sweep(problem, c, weight)


@expanded
def raise_bound(problem: Problem, c: Columns, value: float) -> float:
    """Lower bound that a sweep's value proves; kept, with its prices, when it is the best."""
    lower = value
    for i in range(c.lam.size):
        lower -= c.lam[i] * problem.budget[i]
    is_about_violation = c.progress.is_about_violation
    if lower > (c.progress.least_violation if is_about_violation else c.progress.lower):
        if is_about_violation:
            c.progress.least_violation = lower
        else:
            c.progress.lower = lower
        copy(c.lam, c.best)
    return lower


@expanded
def best_weight(problem: Problem, c: Columns) -> float:
    """Weight of the best prices in those to ask at next.

    With many constraints the master's prices jump from sweep to sweep; prices between them and the
    best ones prove more and find better policies. Each sweep there that finds nothing for the
    master moves the next one closer to its prices.
    """
    is_about_violation = c.progress.is_about_violation
    lower = c.progress.least_violation if is_about_violation else c.progress.lower
    if c.lam.size < MANY or lower == -np.inf:
        return 0.0
    has_caps = count_together(problem.constraint_cost) < c.lam.size
    smoothing = CAP_SMOOTHING if has_caps else SMOOTHING
    return float(max(0.0, 1.0 - (1 + c.progress.n_misses) * (1.0 - smoothing)))


@compiled
def take_prices(c: Columns, best_weight: float) -> bool:
    """Set the prices to ask at; False when the last sweep answered them."""
    is_new = False
    for i in range(c.lam.size):
        lam = max(0.0, -c.master.duals[i] / c.master.scale[i])
        if best_weight > 0.0:
            lam += best_weight * (c.best[i] - lam)
        is_new = is_new or lam != c.lam[i]
        c.lam[i] = lam
    return is_new


@expanded
def is_wanted(c: Columns, weight: float, floor: float) -> bool:
    """Whether the master gains by the point of the last sweep."""
    m, I = c.master, c.lam.size
    reduced = weight * c.point[0] - m.duals[I]
    for i in range(I):
        reduced -= m.duals[i] * c.point[1 + i] / m.scale[i]
    return bool(reduced < -floor)


@compiled
def advance(problem: Problem, c: Columns, tolerance: float, slack: float, n_sweeps: int) -> int:
    """At most that many sweeps; the first one uses the prices found in ``c.lam``.

    A call goes on where the last one stopped. ``tolerance`` is the relative gap between master and
    bound at which to stop, ``slack`` the violation that counts as none, in the units of the rows.
    Returns RUNNING, OPTIMAL, INFEASIBLE (the weights then attain the least violation), AT_EDGE (so
    do they, and it is within the slack) or STALLED.
    """
    m = c.master
    # a sweep before the first master, for a first column or the first bound
    is_empty = c.progress.n_columns == 0
    is_first = is_empty or (not c.progress.is_about_violation and c.progress.lower == -np.inf)
    if is_first:
        for i in range(c.lam.size):
            c.lam[i] = max(c.lam[i], 0.0)
    for _ in range(n_sweeps + int(is_first)):
        is_about_cost = not c.progress.is_about_violation
        weight = 1.0 if is_about_cost else 0.0
        violation_price = c.progress.violation_price if is_about_cost else 1.0
        upper = np.inf
        is_done = False
        smoothing = 0.0
        if not is_first:
            if not optimize(m, c.progress.n_columns, weight, violation_price):
                return STALLED
            upper = objective(m, weight, violation_price)
            if is_about_cost:
                c.progress.upper = upper
            smoothing = best_weight(problem, c)
            is_done = not take_prices(c, smoothing) and not is_rough(c.work)
            if is_done and smoothing > 0.0:
                smoothing = 0.0
                is_done = not take_prices(c, 0.0)
        if not is_done:
            best = c.progress.lower if is_about_cost else c.progress.least_violation
            room = ROUGHLY * (upper - best) if upper - best < np.inf else 0.0
            value = sweep(problem, c, weight, room)
            lower = raise_bound(problem, c, value)
            gap = upper - (c.progress.lower if is_about_cost else c.progress.least_violation)
            floor = noise(problem, c, value)
            is_done = gap <= max(tolerance * abs(upper), floor) or upper - lower <= floor
            if is_first or not is_done:
                is_kept = keep(problem, c, weight)
                is_done = not is_kept and not smoothing > 0.0 and not is_rough(c.work)
                if smoothing > 0.0 and not is_kept:
                    c.progress.n_misses = MOST_MISSES
                elif smoothing > 0.0 and not is_wanted(c, weight, floor):
                    c.progress.n_misses += 1
                else:
                    c.progress.n_misses = 0
                if is_kept and not is_first:
                    cross(problem, c, weight)
        if is_first:
            if is_empty:
                first_basis(m)
            is_first = False
        elif is_done:
            status = conclude(c, slack)
            if status != RUNNING:
                answer_best(problem, c, weight)
                return status
    return RUNNING
