"""Driver of column generation: calls the compiled loop until it ends and reports progress.

The compiled loop (`kernels.columns`) runs whole sweeps; each call is short enough to show progress
and to be interrupted, and long enough that a small problem takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import (
    Bools,
    Box,
    Caps,
    Floats,
    Ints,
    Names,
    Problem,
    Stationary,
    StationaryBox,
    Transitions,
    count_steps,
    is_lasting,
    is_set,
)
from tightrope.errors import SolverError
from tightrope.kernels.caps import count_together
from tightrope.kernels.columns import (
    INFEASIBLE,
    OPTIMAL,
    RUNNING,
    Columns,
    advance,
    begin,
    columns,
    constraint_sizes,
    largest,
    sweep,
)
from tightrope.kernels.criteria import follow, gather, workspace
from tightrope.kernels.occupancy import blend, policy_of
from tightrope.kernels.pivot import MANY, violation
from tightrope.kernels.scratch import desk
from tightrope.model.choices import Choices, smallest_type
from tightrope.plan.classes import policy_matrix, require_decided, require_reached
from tightrope.plan.threads import raise_failure

Progress = Callable[[int, float, float], None]
"""Called with the number of sweeps so far, the lower bound and the upper bound."""

DUST = 1e-13  # smaller weights are rounding
SLICE = 2e8  # entries visited between two reports, a fraction of a second
LASTING_SWEEP = 50  # visits of an entry in an infinite-horizon sweep
LARGEST_GAP = 1e-5  # relative, of an infinite-horizon solve
MOST_SWEEPS = 100_000

# Tolerances on a budget are relative to its own unit (`budget_units`). A plan exceeds a budget by
# at most 1e-9 of it; SLACK, EASING (twice) and rounding are less than that in sum.
SLACK = 2.5e-10  # smaller violations count as zero
ROUNDED = 2e-10  # excess of a mixture that comes from rounding
EASING = (2.5e-12, 2.5e-11, 2e-10)  # added to budgets at the least attainable values
LAST_EASING = (1e-13, 1e-12, 1e-11, 4e-11)  # relative to the row, where prices are unbounded
LARGEST_EXCESS = 1e-9  # of a plan, unless the last easing is more
LEAST_UNIT = 1e-5  # of a budget, relative to the size of its row: 1e-14 of it is rounding


class Mixture(NamedTuple):
    """Result of column generation: at most I+1 deterministic policies with weights."""

    is_feasible: bool
    weights: Floats  # (J,)
    actions: Ints  # (J, H, S)
    orders: Ints  # (J, H, S) over a set, else (J, 1, 1)
    value: float  # of the master: the cost, or the least violation when infeasible
    bound: float  # proven lower bound on it
    violation: float  # in the units of the budgets
    eased: Floats  # (I,) what was added to the budgets
    total: Floats  # (I+1,) cost and constraint values
    unit: Floats  # (I,) of the budgets
    lam: Floats  # (I,) prices; when infeasible the weights that prove it
    choice: Ints  # (H, S) best response to the prices
    order: Ints  # (H, S) or (1, 1)
    sweeps: int


def row_sizes(problem: Problem, horizon: int) -> Floats:
    """Return a bound on the magnitude of each constraint value over all policies, (I,)."""
    return count_steps(problem.kernels, horizon) * constraint_sizes(problem)


def budget_units(problem: Problem, horizon: int, size: Floats | None = None) -> Floats:
    """Return the scale of the excess over each budget, (I,).

    The budget itself, so that a budget of 1e-9 is kept as accurately as one of 1; a small part of
    the row's size where the budget is zero or so small that rounding of large values hides it.
    """
    size = constraint_sizes(problem) if size is None else size
    return np.maximum(
        np.abs(problem.budget), LEAST_UNIT * count_steps(problem.kernels, horizon) * size
    )


def relax(problem: Problem, more: Floats | float) -> Problem:
    """Return the problem with its budgets raised."""
    return problem._replace(budget=problem.budget + more)


def relaxations(problem: Problem, horizon: int) -> Iterator[Floats]:
    """Return increasing relaxations of each budget within tolerance, (I,), starting at zero.

    A budget at the least attainable value has no slack, so prices may be unbounded; a slightly
    larger budget has finite ones. The last steps exceed the usual tolerance of small budgets, and
    are for problems that are too ill-conditioned for anything less.
    """
    yield np.zeros(problem.budget.size)
    unit, size = budget_units(problem, horizon), row_sizes(problem, horizon)
    for step in EASING:
        yield step * unit
    for step in LAST_EASING:
        if np.any(step * size > EASING[-1] * unit):
            yield np.maximum(step * size, EASING[-1] * unit)


def allowed_excess(problem: Problem, horizon: int, eased: Floats) -> Floats:
    """Return the largest excess of a plan over each budget, (I,), after budgets were raised."""
    size = constraint_sizes(problem)
    unit = budget_units(problem, horizon, size)
    size *= count_steps(problem.kernels, horizon)
    return np.minimum(ROUNDED * unit + eased, LARGEST_EXCESS * unit + LAST_EASING[-1] * size)


def generate(
    problem: Problem,
    horizon: int,
    tolerance: float,
    progress: Progress | None = None,
    start: Floats | None = None,
    names: Names | None = None,
) -> Mixture:
    """Compute the best mixture of policies, or the least violation if the budgets are infeasible.

    ``tolerance`` is the relative gap at which to stop; ``start`` (I,) are the prices of the first
    sweep, by default the size of costs over that of constraint costs; ``names`` are for errors.
    """
    problem = in_ranges(problem)
    state = _room(problem, horizon)
    # prices that weigh constraints like the cost; starting from zero takes one more sweep
    together = count_together(problem.constraint_cost)
    first = largest(problem.cost) / (max(1, together) * state.master.size)
    state.lam[:] = first if start is None else start
    return _run(problem, state, tolerance, SLACK, progress, names)


def in_ranges(problem: Problem) -> Problem:
    """Return the problem with `Caps` where most constraints have no costs at most stages."""
    costs = problem.constraint_cost
    I, G = costs.shape[:2]
    if I < MANY or G == 1:
        return problem
    used: Bools = (costs != 0.0).any(axis=(2, 3))
    first = used.argmax(axis=1)
    last = np.where(used.any(axis=1), G - used[:, ::-1].argmax(axis=1), 0)
    if 2 * (last - first).sum() > I * G:
        return problem
    caps: Any = Caps(costs, first, last, int(used.sum(axis=0).max()))
    return problem._replace(constraint_cost=caps)


def optimal_prices(problem: Problem, horizon: int, tolerance: float) -> Floats | None:
    """Return prices of the budgets, (I,), to a small tolerance; None if not certified."""
    problem = in_ranges(problem)
    state = _room(problem, horizon)
    is_proven = _advance(problem, state, tolerance, SLACK, None) == OPTIMAL
    return state.lam.copy() if is_proven else None


def least_violation(
    problem: Problem, horizon: int, unit: Floats, tolerance: float, names: Names | None = None
) -> Mixture:
    """Compute the mixture whose largest excess over a budget is least, ignoring the cost.

    The budgets are so low that every policy exceeds one. ``unit`` (I,) measures the excess over
    each, ``tolerance`` is the relative gap at which to stop.
    """
    problem = in_ranges(problem)
    state = _room(problem, horizon, unit)
    state.progress.is_about_violation = True
    return _run(problem, state, tolerance, 0.0, None, names)


def best_response(problem: Problem, horizon: int, lam: Floats) -> tuple[float, Columns]:
    """Return the least priced cost of any policy (and kernel), and the state with that policy."""
    state = columns(problem, horizon, 1)
    state.lam[:] = lam
    value = float(sweep(problem, state, 1.0))
    raise_failure(problem.kernels)
    return value, state


def mix(problem: Problem, mixture: Mixture) -> tuple[Floats, Floats]:
    """Return the occupancy (H, S, A) of a mixture and, over a box, its flow (H, E)."""
    _, S, A = problem.cost.shape
    H = mixture.choice.shape[0]
    has_flow = isinstance(problem.kernels, (Box, StationaryBox))
    q = np.zeros((H, S, A))
    flow = np.zeros((H, problem.kernels.indices.shape[1] if has_flow else 0))
    reach, work = np.empty((2, S)), workspace(problem.kernels, S)
    for weight, actions, orders in zip(
        mixture.weights, mixture.actions, mixture.orders, strict=True
    ):
        follow(
            problem.kernels, problem.initial, actions, orders, float(weight), q, flow, reach, work
        )
    return q, flow


def blend_policies(problem: Problem, mixture: Mixture) -> Choices:
    """Return the policy with the occupancy of a mixture, for a known kernel and a horizon."""
    J, H, S = mixture.actions.shape
    A = problem.cost.shape[2]
    n = 1 + np.count_nonzero((mixture.actions[1:] != mixture.actions[0]).any(axis=0))
    actions = np.empty((H, S), dtype=smallest_type(A))
    mixed, shares = np.zeros(n, dtype=np.int64), np.zeros((n, A))
    found = blend(
        Transitions(*problem.kernels[:3]),
        problem.initial,
        mixture.actions,
        mixture.weights,
        mixture.choice,
        np.zeros(0, dtype=np.uint32),
        desk(1),
        np.empty((J, 2, S)),
        actions,
        mixed,
        shares,
    )
    return Choices(actions, mixed[:found].copy(), shares[:found].copy())


def totals(problem: Problem, mixture: Mixture) -> Floats:
    """Return cost and constraint values of a mixture, (I+1,), by forward passes."""
    H, S = mixture.choice.shape
    reach, point = np.empty((H, S)), np.empty(problem.budget.size + 1)
    work = workspace(problem.kernels, S)
    total = np.zeros_like(point)
    for weight, actions, orders in zip(
        mixture.weights, mixture.actions, mixture.orders, strict=True
    ):
        gather(problem, actions, orders, reach, point, work)
        raise_failure(problem.kernels)
        total += weight * point
    return total


def _room(problem: Problem, horizon: int, unit: Floats | None = None) -> Columns:
    I, size = problem.budget.size, constraint_sizes(problem)
    room = 32 + (8 if I < MANY else 3) * I  # the master looks at all of them, pivot after pivot
    unit = budget_units(problem, horizon, size) if unit is None else unit
    return columns(problem, horizon, room, size, unit)


def _run(
    problem: Problem,
    state: Columns,
    tolerance: float,
    slack: float,
    progress: Progress | None,
    names: Names | None,
) -> Mixture:
    relaxed, sweeps = problem, 0
    for k, step in enumerate(relaxations(problem, state.choice.shape[0])):
        if k > 0:
            # a larger violation is no rounding, but comes from sweeps that failed
            excess = float(violation(state.master))
            excess = excess if 0.0 < excess <= SLACK else 0.0
            relaxed = relax(relaxed, step + excess * state.master.unit)
            sweeps += int(state.progress.n_sweeps)
            begin(relaxed, state)
            raise_failure(problem.kernels)
        status = _advance(relaxed, state, tolerance, slack, progress)
        if status == INFEASIBLE and not state.progress.least_violation > 0.0:
            continue  # without a proof, as pricing may be inexact
        if status in (OPTIMAL, INFEASIBLE) and _is_close(problem, state, status == OPTIMAL):
            return _mixture(state, status == OPTIMAL, relaxed.budget - problem.budget, sweeps)
    kernels = problem.kernels
    if isinstance(kernels, Stationary) and kernels.discount == 1.0:
        for actions in (state.choice, *state.actions[: state.progress.n_columns]):
            require_decided(
                policy_matrix(kernels, np.eye(problem.cost.shape[2])[actions[0]]), names
            )
    raise SolverError(
        f"columns: no certificate after {state.progress.n_sweeps} sweeps; cost between "
        f"{state.progress.lower:.9g} and {state.progress.upper:.9g}"
    )


def _is_close(problem: Problem, state: Columns, is_feasible: bool) -> bool:
    """Whether the bounds met: with an infinite horizon, evaluations of policies may fail.

    They must be close relative to what may be attained, as an optimum may be zero.
    """
    if not is_lasting(problem.kernels) or not problem.cost.any():
        return True
    at, m = state.progress, state.master
    high = float(at.upper if is_feasible else violation(m))
    low = float(at.lower if is_feasible else at.least_violation)
    size = count_steps(problem.kernels, 1) * largest(problem.cost) if is_feasible else 1.0
    is_found = bool(np.isfinite(m.points[: at.n_columns]).all())
    # without a sweep since the last phase there is no bound, and the certificate makes one
    return is_found and (low == -np.inf or high - low <= LARGEST_GAP * max(size, abs(high)))


def require_attained(problem: Problem, mixture: Mixture, names: Names | None) -> Mixture:
    """Return a mixture; raise a `ModelError` if its averages are not attained from the start."""
    kernels = problem.kernels
    if isinstance(kernels, Stationary) and kernels.discount == 1.0:
        q, _ = mix(problem, mixture)
        policy = np.empty_like(q)
        policy_of(q, mixture.choice, policy)
        require_reached(kernels, problem, q, policy, names)
    return mixture


def _advance(
    problem: Problem, state: Columns, tolerance: float, slack: float, progress: Progress | None
) -> int:
    work = problem.kernels.indices.shape[1] * state.choice.shape[0]
    work *= LASTING_SWEEP if is_lasting(problem.kernels) else 1
    n_sweeps = max(1, int(SLICE / (work * (4 if is_set(problem.kernels) else 1))))
    status = RUNNING
    while status == RUNNING and state.progress.n_sweeps < MOST_SWEEPS:
        status = advance(problem, state, tolerance, slack, min(n_sweeps, MOST_SWEEPS))
        raise_failure(problem.kernels)
        if progress is not None:
            at = state.progress
            progress(int(at.n_sweeps), float(at.lower), float(at.upper))
    return status


def _mixture(state: Columns, is_feasible: bool, eased: Floats, sweeps: int) -> Mixture:
    m = state.master
    used = (m.basis < len(m.points)) & (m.weights > DUST)
    kept, weights = m.basis[used], m.weights[used]
    weights /= weights.sum()
    total, excess = weights @ m.points[kept], float(violation(m))
    return Mixture(
        is_feasible=is_feasible,
        weights=weights,
        actions=state.actions[kept],
        orders=state.orders[kept],
        value=float(total[0]) if is_feasible else excess,
        bound=float(state.progress.lower if is_feasible else state.progress.least_violation),
        violation=excess,
        eased=eased,
        total=total,
        unit=m.unit,
        lam=state.lam.copy(),
        choice=state.choice,
        order=state.order,
        sweeps=sweeps + int(state.progress.n_sweeps),
    )
