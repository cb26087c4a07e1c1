"""Column generation over policies, compiled whole: a simplex priced by dynamic programming.

Keep the points (cost, constraint values) of the policies found so far (`columns`). A master with
I+1 rows (`pivot`) gives weights and prices; one sweep with the priced loss finds the best new
policy and, in its value, a lower bound; stop when bound and master meet (SPEC A5.4, PLANNING). The
master is elastic: it may buy violation t, and the price of t rises until t is zero or a sweep
proves that it cannot be.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Problem
from tightrope.kernels.bellman import induct, price
from tightrope.kernels.columns import Columns, keep
from tightrope.kernels.compiled import compiled, expanded
from tightrope.kernels.copying import copy
from tightrope.kernels.pivot import first_basis, objective, optimise, violation

RUNNING, OPTIMAL, INFEASIBLE, STALLED, AT_EDGE = 0, 1, 2, 3, 4

EPS = 2.0**-52
ROUNDED = 1e-9  # a violation may be this far below zero, in the units of the rows
UNASKED = -1.0  # no sweep of this phase has answered any prices


@compiled
def sweep(problem: Problem, c: Columns, weight: float) -> float:
    """Least priced cost over all policies; the policy that attains it is left in ``c.choice``."""
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
def ask_first(problem: Problem, c: Columns) -> None:
    """One sweep at the prices found in ``c.lam``, for a first column or the first bound."""
    for i in range(c.lam.size):
        c.lam[i] = max(c.lam[i], 0.0)
    weight = 0.0 if c.progress.is_about_violation else 1.0
    raise_bound(problem, c, sweep(problem, c, weight))
    is_first = c.progress.n_columns == 0
    keep(problem, c, weight)
    if is_first:
        first_basis(c.master)


@expanded
def take_prices(c: Columns) -> bool:
    """Make the master's prices the ones to ask at; False when the last sweep answered them."""
    is_new = False
    for i in range(c.lam.size):
        lam = max(0.0, -c.master.duals[i] / c.master.scale[i])
        is_new = is_new or lam != c.lam[i]
        c.lam[i] = lam
    return is_new


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
        Violation that counts as none, in the units of the rows.
    n_sweeps : int

    Returns
    -------
    int
        RUNNING, OPTIMAL, INFEASIBLE (the weights then attain the least violation), AT_EDGE (so do
        they, and it is within the slack) or STALLED.
    """
    m = c.master
    if c.progress.n_columns == 0 or (
        not c.progress.is_about_violation and c.progress.lower == -np.inf
    ):
        ask_first(problem, c)
    for _ in range(n_sweeps):
        is_about_cost = not c.progress.is_about_violation
        weight = 1.0 if is_about_cost else 0.0
        violation_price = c.progress.violation_price if is_about_cost else 1.0
        if not optimise(m, c.progress.n_columns, weight, violation_price):
            return STALLED
        upper = objective(m, weight, violation_price)
        if is_about_cost:
            c.progress.upper = upper
        is_done = not take_prices(c)
        if not is_done:
            value = sweep(problem, c, weight)
            lower = raise_bound(problem, c, value)
            gap = upper - (c.progress.lower if is_about_cost else c.progress.least_violation)
            floor = noise(problem, c, value)
            is_done = gap <= max(tolerance * abs(upper), floor) or upper - lower <= floor
            is_done = is_done or not keep(problem, c, weight)
        if is_done:
            status = conclude(c, slack)
            if status != RUNNING:
                answer_best(problem, c, weight)
                return status
    return RUNNING
