"""The small simplex of the columns planner: weights of policies, prices of budgets.

::

    min   sum_j w_j f_j + price * t
    s.t.  sum_j w_j g_ji - unit_i t <= budget_i    for every i      (divided by the row's scale)
          sum_j w_j = 1,   w, t >= 0

Violation t is measured in a unit of each row, so that rows of very different sizes count alike.

It has I+1 rows and is solved by hand in compiled code because calling an LP solver for it costs
more than the dynamic programming it steers. Variables are numbered: column j, then slack i, then t.

With few rows the basis is factorized anew at every pivot. With more, its inverse is kept and
updated (`kernels/inverse`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import INLINED, compact, compiled, expanded
from tightrope.kernels.inverse import (
    ROUNDING,
    Updated,
    back_solve,
    back_solve_transposed,
    entering_column,
    entering_listed,
    factorize,
    invert,
    multiply,
    solve_by_inverse,
    update,
)
from tightrope.kernels.scratch import copy

LEAST_SCALE = 1e-3  # of a row, relative to its size, however small its budget
PATIENCE = 30  # degenerate pivots before the first-index rule that cannot cycle
MOST_PIVOTS = 10_000  # for each row; every loop of compiled code has a limit
MANY = 4  # constraints from which the inverse of the basis is kept
MOST_UPDATES = 1000  # of an inverse before it is computed anew


class Anew(NamedTuple):
    """Few rows: the basis is factorized at every pivot."""

    factor: Floats  # (I+1, I+1) triangular factors of the basis


class Master(NamedTuple):
    """State and scratch of the small simplex; N is the room for columns."""

    points: Floats  # (N, I+1) cost and constraint values of each column
    basis: Ints  # (I+1,) basic variables
    weights: Floats  # (I+1,) their values
    duals: Floats  # (I+1,) of the scaled rows, convexity last
    scale: Floats  # (I,) of the rows
    size: Floats  # (I,) largest constraint cost of each row
    unit: Floats  # (I,) of violation in each row
    rhs: Floats  # (I+1,)
    matrix: Floats  # (I+1, I+1) basis
    solver: Any  # `Anew` or `Updated`; its class picks the functions when a kernel is compiled
    swaps: Ints  # (I+1,)
    column: Floats  # (I+1,) the entering column
    direction: Floats  # (I+1,)
    residual: Floats  # (I+1,)
    updates: Ints  # (1,) of the inverse; negative when there is none
    costs: Floats  # (I+1,) objective coefficients of the basic variables


SOLVER = Master._fields.index("solver")


def master(n_columns: int, budget: Floats, size: Floats, unit: Floats) -> Master:
    """Room for a simplex over that many columns.

    ``size`` is the largest constraint cost of each row, ``unit`` its unit of violation, both
    positive.
    """
    m = budget.size + 1
    solver: Anew | Updated = Anew(np.zeros((m, m)))
    if budget.size >= MANY:
        solver = Updated(
            np.zeros((m, m)),
            np.zeros((m, m)),
            np.zeros((m + 1, n_columns)),
            np.zeros(n_columns, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
    made = Master(
        points=np.zeros((n_columns, m)),
        basis=np.zeros(m, dtype=np.int64),
        weights=np.zeros(m),
        duals=np.zeros(m),
        scale=np.ones(m - 1),
        size=size.copy(),
        unit=unit.copy(),
        rhs=np.ones(m),
        matrix=np.zeros((m, m)),
        solver=solver,
        swaps=np.zeros(m, dtype=np.int64),
        column=np.zeros(m),
        direction=np.zeros(m),
        residual=np.zeros(m),
        updates=np.full(1, -1),
        costs=np.zeros(m),
    )
    set_budget(made, budget)
    return made


@compact
def set_budget(m: Master, budget: Floats) -> None:
    """Right sides of the rows, each divided by the size of its budget."""
    for i in range(budget.size):
        m.scale[i] = max(abs(budget[i]), LEAST_SCALE * m.size[i])
        m.rhs[i] = budget[i] / m.scale[i]
    m.updates[0] = -1


@compact
def solve_refined(m: Master, transposed: bool, right: Floats, x: Floats) -> None:
    """Solve with the basis (or its transpose) and correct once by the residual."""
    size = x.size
    copy(right, x)
    if transposed:
        back_solve_transposed(m.solver.factor, m.swaps, x)
    else:
        back_solve(m.solver.factor, m.swaps, x)
    for r in range(size):
        total = right[r]
        for c in range(size):
            total -= (m.matrix[c, r] if transposed else m.matrix[r, c]) * x[c]
        m.residual[r] = total
    if transposed:
        back_solve_transposed(m.solver.factor, m.swaps, m.residual)
    else:
        back_solve(m.solver.factor, m.swaps, m.residual)
    for r in range(size):
        x[r] += m.residual[r]


@expanded
def fill_column(m: Master, variable: int, out: Floats) -> None:
    """Coefficients of a variable in the scaled rows."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    out[:] = 0.0
    if variable < N:
        for i in range(I):
            out[i] = m.points[variable, 1 + i] / m.scale[i]
        out[I] = 1.0
    elif variable < N + I:
        out[variable - N] = 1.0
    else:
        for i in range(I):
            out[i] = -m.unit[i] / m.scale[i]


@expanded
def coefficient(m: Master, variable: int, weight: float, price: float) -> float:
    """Objective coefficient of a variable; the cost of a policy counts ``weight`` times."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    if variable < N:
        return weight * float(m.points[variable, 0])
    return price if variable == N + I else 0.0


@compact
def violation(m: Master) -> float:
    """Value of t in the basic solution."""
    t = m.points.shape[0] + m.points.shape[1] - 1
    for r in range(m.basis.size):
        if m.basis[r] == t:
            return float(m.weights[r])
    return 0.0


@compact
def first_basis(m: Master) -> None:
    """Start from column 0 alone: slacks where it keeps a budget, t where it breaks one most.

    Reads all columns, which may have changed with the budgets.
    """
    N, I = m.points.shape[0], m.points.shape[1] - 1
    worst = -1
    most = 0.0
    for i in range(I):
        m.basis[i] = N + i
        excess = (m.points[0, 1 + i] - m.rhs[i] * m.scale[i]) / m.unit[i]
        if excess > most:
            most = excess
            worst = i
    if worst >= 0:
        m.basis[worst] = N + I
    m.basis[I] = 0
    m.updates[0] = -1
    for j in range(N):
        take_point(m, j)


@expanded
def is_basic(m: Master, variable: int) -> bool:
    """Whether a variable is in the basis."""
    found = False
    for r in range(m.basis.size):
        found = found or m.basis[r] == variable
    return found


@expanded
def entering(m: Master, n_columns: int, weight: float, price: float, by_index: bool) -> int:
    """Variable with the most negative reduced cost (or the first with any), -1 when optimal."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    chosen = -1
    best = 0.0
    basic = 0.0  # duals are made of these costs, so their rounding has this size
    for r in range(I + 1):
        basic = max(basic, abs(m.costs[r]))
    for k in range(n_columns + I + 1):
        variable = k if k < n_columns else N + k - n_columns
        if is_basic(m, variable):
            continue
        fill_column(m, variable, m.column)
        reduced = coefficient(m, variable, weight, price)
        size = abs(reduced) + basic
        for r in range(I + 1):
            reduced -= m.duals[r] * m.column[r]
            size += abs(m.duals[r] * m.column[r])
        if reduced < best and reduced < -ROUNDING * size:
            chosen = variable
            best = reduced
            if by_index:
                break
    return chosen


@expanded
def leaving(m: Master, by_index: bool) -> int:
    """Row whose basic variable blocks first; ties by the larger pivot, or the lower index."""
    size = m.basis.size
    largest = 0.0
    for r in range(size):
        largest = max(largest, abs(m.direction[r]))
    least = np.inf
    for r in range(size):
        if m.direction[r] > 1e-11 * largest:
            least = min(least, max(m.weights[r], 0.0) / m.direction[r])
    chosen = -1
    for r in range(size):
        if m.direction[r] > 1e-11 * largest:
            ratio = max(m.weights[r], 0.0) / m.direction[r]
            if ratio <= least + 1e-15 * (1.0 + least) and (
                chosen < 0
                or (by_index and m.basis[r] < m.basis[chosen])
                or (not by_index and m.direction[r] > m.direction[chosen])
            ):
                chosen = r
    return chosen


@expanded
def objective(m: Master, weight: float, price: float) -> float:
    """What the basis costs, from its weights: large prices do not cancel in it."""
    total = 0.0
    for r in range(m.basis.size):
        total += coefficient(m, m.basis[r], weight, price) * m.weights[r]
    return total


@expanded
def reduced_cost(m: Master, variable: int, weight: float, price: float) -> float:
    """Reduced cost of the variable whose column is loaded."""
    reduced = coefficient(m, variable, weight, price)
    for r in range(m.basis.size):
        reduced -= m.duals[r] * m.column[r]
    return reduced


@expanded
def gain(m: Master, reduced: float, row: int) -> float:
    """What a pivot improves; zero when it is no more than rounding of the objective."""
    total = 0.0
    for r in range(m.basis.size):
        total += m.costs[r] * m.weights[r]
    improved = -reduced * max(m.weights[row], 0.0) / m.direction[row]
    return improved if improved > ROUNDING * abs(total) else 0.0


@compact
def fill_matrix(m: Master) -> None:
    """Columns of the basis."""
    for r in range(m.basis.size):
        fill_column(m, m.basis[r], m.column)
        for k in range(m.basis.size):
            m.matrix[k, r] = m.column[k]


@expanded
def fill_costs(m: Master, weight: float, price: float) -> None:
    """Objective coefficients of the basic variables."""
    for r in range(m.basis.size):
        m.costs[r] = coefficient(m, m.basis[r], weight, price)


def prepare_anew(m: Master, weight: float, price: float, is_final: bool) -> bool:
    """Factors, weights and duals of the basis."""
    fill_matrix(m)
    fill_costs(m, weight, price)
    if not factorize(m.matrix, m.solver.factor, m.swaps):
        return False
    solve_refined(m, False, m.rhs, m.weights)
    solve_refined(m, True, m.costs, m.duals)
    return True


def prepare_updated(m: Master, weight: float, price: float, is_final: bool) -> bool:
    """Weights and duals of the basis from its inverse, unless updated ones will do."""
    is_new = m.updates[0] < 0 or m.updates[0] >= MOST_UPDATES
    fill_costs(m, weight, price)
    if not is_new and not is_final:
        return True
    for _ in range(2):
        if is_new:
            fill_matrix(m)
            if not invert(m.matrix, m.solver.factor, m.swaps, m.solver.inverse):
                m.updates[0] = -1
                return False
            m.updates[0] = 0
        is_exact = solve_by_inverse(
            m.matrix, m.solver.inverse, m.rhs, m.costs, m.weights, m.duals, m.residual
        )
        if is_exact or is_new:
            return True
        is_new = True
    return True


def enter_anew(m: Master, n_columns: int, weight: float, price: float, by_index: bool) -> int:
    """`entering`, one column after the other."""
    return int(entering(m, n_columns, weight, price, by_index))


def enter_updated(m: Master, n_columns: int, weight: float, price: float, by_index: bool) -> int:
    """`entering`, from the reduced costs of all columns at once."""
    N, I = m.points.shape[0], m.points.shape[1] - 1
    scaled = m.solver.scaled
    basic = 0.0
    for r in range(I + 1):
        basic = max(basic, abs(m.costs[r]))
    chosen: int = -1
    if not by_index:
        chosen = entering_listed(
            m.solver, m.points, m.scale, m.duals, m.basis, basic, weight, m.column
        )
    if chosen < 0:
        chosen = entering_column(m.solver, m.duals, m.basis, basic, weight, n_columns, by_index)
    best = scaled[I + 1, chosen] if chosen >= 0 else 0.0
    if by_index and chosen >= 0:
        return chosen
    least = -ROUNDING * basic
    last = price
    for i in range(I):
        last += m.duals[i] * m.unit[i] / m.scale[i]
        if -m.duals[i] < min(best, least):
            chosen = N + i
            best = -m.duals[i]
            if by_index:
                return chosen
    if last < min(best, least - ROUNDING * abs(price)):
        chosen = N + I
    return chosen


def direct_anew(m: Master) -> None:
    """How the basic variables change as the variable enters whose column is loaded."""
    solve_refined(m, False, m.column, m.direction)


def direct_updated(m: Master) -> None:
    """The same, by the inverse."""
    m.direction[:] = 0.0
    multiply(m.solver.inverse, m.column, m.direction)


def replace_anew(m: Master, variable: int, row: int, reduced: float) -> None:
    """Put a variable in the place of a basic one."""
    m.basis[row] = variable


def replace_updated(m: Master, variable: int, row: int, reduced: float) -> None:
    """The same, and update inverse, weights and duals."""
    update(m.solver.inverse, m.weights, m.duals, m.direction, row, reduced)
    for r in range(m.basis.size):
        m.matrix[r, row] = m.column[r]
    m.basis[row] = variable
    m.updates[0] += 1


def take_point_anew(m: Master, j: int) -> None:
    """Read a column whose point has changed."""


def take_point_updated(m: Master, j: int) -> None:
    """Read a column whose point has changed."""
    m.solver.scaled[0, j] = m.points[j, 0]
    for i in range(m.scale.size):
        m.solver.scaled[1 + i, j] = m.points[j, 1 + i] / m.scale[i]
    m.solver.scaled[m.basis.size, j] = -np.inf  # stays until it was looked at
    m.solver.n_listed[0] = 0


def least_promising_anew(m: Master, weight: float) -> int:
    """`least_promising`, from the points."""
    chosen = -1
    worst = -np.inf
    for j in range(m.points.shape[0]):
        if not is_basic(m, j):
            reduced = weight * m.points[j, 0]
            for i in range(m.scale.size):
                reduced -= m.duals[i] * m.points[j, 1 + i] / m.scale[i]
            if reduced > worst:
                worst = reduced
                chosen = j
    return chosen


def least_promising_updated(m: Master, weight: float) -> int:
    """`least_promising`, from the reduced costs that proved the last basis optimal."""
    reduced = m.solver.scaled[m.basis.size]
    chosen = -1
    worst = -np.inf
    for j in range(reduced.size):
        if reduced[j] > worst and not is_basic(m, j):
            worst = reduced[j]
            chosen = j
    return chosen


def prepare(m: Master, weight: float, price: float, is_final: bool) -> bool:
    """Weights and duals of the basis; False when it is singular.

    They may be updated ones unless they are to be ``is_final``.
    """
    return bool(FUNCTIONS[type(m.solver)][0](m, weight, price, is_final))


def enter(m: Master, n_columns: int, weight: float, price: float, by_index: bool) -> int:
    """Variable to enter the basis, -1 when it is optimal."""
    return int(FUNCTIONS[type(m.solver)][1](m, n_columns, weight, price, by_index))


def direct(m: Master) -> None:
    """Change of the basic variables as the variable enters whose column is loaded."""
    FUNCTIONS[type(m.solver)][2](m)


def replace(m: Master, variable: int, row: int, reduced: float) -> None:
    """Put a variable of that reduced cost in the place of a basic one."""
    FUNCTIONS[type(m.solver)][3](m, variable, row, reduced)


def take_point(m: Master, j: int) -> None:
    """Read a column whose point has changed."""
    FUNCTIONS[type(m.solver)][4](m, j)


def least_promising(m: Master, weight: float) -> int:
    """Column outside the basis with the largest reduced cost."""
    return int(FUNCTIONS[type(m.solver)][5](m, weight))


IN_ORDER: tuple[Callable[..., Any], ...] = (
    prepare,
    enter,
    direct,
    replace,
    take_point,
    least_promising,
)
FUNCTIONS: dict[type, tuple[Callable[..., Any], ...]] = {
    Anew: (
        prepare_anew,
        enter_anew,
        direct_anew,
        replace_anew,
        take_point_anew,
        least_promising_anew,
    ),
    Updated: (
        prepare_updated,
        enter_updated,
        direct_updated,
        replace_updated,
        take_point_updated,
        least_promising_updated,
    ),
}
for k, function in enumerate(IN_ORDER):
    overload(function, jit_options=INLINED, strict=False)(
        lambda m, *rest, k=k: FUNCTIONS[m.types[SOLVER].instance_class][k]
    )


@compiled
def optimize(m: Master, n_columns: int, weight: float, price: float) -> bool:
    """Pivot until no stored column improves; False if a basis is singular or pivots are too many.

    It starts from the basis of the master and writes basis, weights and duals. ``weight`` is that
    of the policies' costs (0 leaves the least violation alone), ``price`` that of violation t.
    """
    degenerate = 0
    is_final = True  # weights and duals are not updated ones
    for _ in range(MOST_PIVOTS * m.basis.size):
        if not prepare(m, weight, price, is_final):
            return False
        by_index = degenerate > PATIENCE
        variable = enter(m, n_columns, weight, price, by_index)
        if variable < 0 or degenerate > 100 * PATIENCE:
            if is_final:
                return True
            is_final = True
            continue
        fill_column(m, variable, m.column)
        direct(m)
        row = leaving(m, by_index)
        if row < 0:
            return True
        reduced = reduced_cost(m, variable, weight, price)
        if gain(m, reduced, row) > 0.0:
            degenerate = 0
        else:
            degenerate += 1
        replace(m, variable, row, reduced)
        is_final = m.updates[0] < 0
    return False
