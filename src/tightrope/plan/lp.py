"""Linear programs over occupancy measures: an independent check of column generation.

For a known model::

    min  sum q c   over q_h(s,a) >= 0
    s.t. sum_a q_0(s,a) = mu(s)
         sum_a q_h(t,a) = sum_{s,a} p_{h-1}(t|s,a) q_{h-1}(s,a)      for h = 1..H-1
         sum q d_i <= budget_i

The variables are the allowed pairs; the kernel of the last stage is not used. The objective is
divided by its largest coefficient and each budget row by the unit of its budget, because the
solver's tolerances are absolute and bonus costs reach 1e4; prices are scaled back.

With an infinite horizon there is one stage, and what leaves a pair returns to the same rows, times
the discount. Where costs are averaged, one row of the flow is replaced by sum q = 1.

The extended program finds the best policy and the best kernel of a box together. Beside q_h(s,a)
there is the mass z_h(s,a,t) that moves from (s,a) to t, between the bounds of the box times q.
Shifting it by the lower bounds, y = z - lower q, leaves the fewest rows::

    min  sum q c   over q, y >= 0
    s.t. sum_a q_0(s,a) = mu(s),   sum_a q_h(t,a) = sum_{s,a} z_{h-1}(s,a,t)      for h = 1..H-1
         sum q d_i <= budget_i
         sum_t y_h(s,a,t) = (1 - sum_t lower_h(s,a,t)) q_h(s,a)                   for h < H-1
         y_h(s,a,t) <= (upper - lower)_h(s,a,t) q_h(s,a)

Within an L1 ball of radius r around a center there are excesses x_h(s,a,t) >= 0 too::

         z_h(s,a,t) - center_h(s,a,t) q_h(s,a) <= x_h(s,a,t),   sum_t x_h(s,a,t) <= (r/2) q_h(s,a)

A bound that the sum already implies is dropped, among them every upper bound of one. An interval
narrower than 1e-8 is taken for a point, because such widths make the solver fail; that shifts
values by at most the same order. The program has a variable for every listed successor, and is
thousands of times slower than column generation for large problems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from tightrope.arrays import (
    Box,
    Empirical,
    Floats,
    Ints,
    L1Ball,
    Problem,
    Stationary,
    StationaryBox,
    Transitions,
    as_box,
)
from tightrope.errors import ModelError
from tightrope.plan.generate import budget_units
from tightrope.plan.highs import Program, Solver, minimize

SHARES = 1e-10  # occupancies below this are the solver's rounding
NARROW = 1e-8  # intervals below this width count as points


class LPAnswer(NamedTuple):
    """An optimal occupancy measure and the prices of the budgets."""

    occupancy: Floats  # (H, S, A), not below zero
    flow: Floats  # (H, E) mass over the entries of a box, the last stage empty; (H, 0) if known
    multiplier: Floats  # (I,), not below zero
    objective: float  # as the solver gives it, before negative rounding in q was clipped
    iterations: int
    values: Floats  # (S,) relative values where costs are averaged; else (0,)

    @property
    def rounded(self) -> Floats:
        """The occupancy measure without the solver's rounding."""
        return np.where(self.occupancy > SHARES, self.occupancy, 0.0)


class Pairs(NamedTuple):
    """The variables q: allowed pairs, by stage and then by row ``s*A + a``."""

    number: Ints  # (H, S*A) column of each pair, -1 where forbidden
    stage: Ints  # (n,)
    row: Ints  # (n,)


class Terms(NamedTuple):
    """Coefficients of the program's matrix, in any order."""

    row: Ints
    column: Ints
    value: Floats

    @classmethod
    def join(cls, parts: list[Terms]) -> Terms:
        """Concatenate the terms of all parts."""
        none = cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(field) for field in zip(none, *parts, strict=True)))


def occupancy_lp(problem: Problem, horizon: int, solver: Solver = "simplex") -> LPAnswer | None:
    """Solve a known model by linear programming.

    Costs may be negative. Returns None if the budgets are infeasible.
    """
    p = problem.kernels
    if isinstance(p, Stationary):
        pairs = allowed_pairs(problem, 1)
        S, known = problem.initial.size, Transitions(p.indptr, p.indices, p.data)
        again = _go_on_known(known, pairs, 0, S)
        back = Terms(again.row - S, again.column, p.discount * again.value)
        return optimum(problem, pairs, back, 0, np.empty(0), solver)[0]
    if not isinstance(p, Transitions):
        raise ModelError.about(
            "kernels",
            shown=f"found {type(p).__name__}",
            expected="Transitions",
            more="; see extended_lp",
        )
    pairs = allowed_pairs(problem, horizon)
    onward = [_go_on_known(p, pairs, h, problem.initial.size) for h in range(horizon - 1)]
    return optimum(problem, pairs, Terms.join(onward), 0, np.empty(0), solver)[0]


def allowed_pairs(problem: Problem, horizon: int) -> Pairs:
    """Return the variables q of a problem."""
    _, S, A = problem.cost.shape
    allowed = np.ones((horizon, S * A), dtype=np.bool_)
    if problem.allowed.shape[0] > 0:
        allowed[:] = problem.allowed.reshape(-1, S * A)
    stage, row = np.nonzero(allowed)
    number = np.full((horizon, S * A), -1)
    number[stage, row] = np.arange(stage.size)
    return Pairs(number, stage, row)


def optimum(
    problem: Problem, pairs: Pairs, onward: Terms, n_more: int, more: Floats, solver: Solver
) -> tuple[LPAnswer | None, Floats]:
    """Solve the program over pairs with the given flow terms.

    Rows are the flow into each (stage, state), the budgets, then those that a set of kernels adds,
    with lower sides ``more`` and upper sides zero; it adds ``n_more`` columns after the pairs.
    ``onward`` is what leaves each pair, negative in the flow rows, and the added rows. The answer
    has no flow and is None when infeasible; the added columns are as the solver left them.
    """
    H, (S,), I = pairs.number.shape[0], problem.initial.shape, problem.budget.size
    n, pair = pairs.row.size, np.arange(pairs.row.size)
    cost = _at_pairs(problem.cost, pairs)
    weight = float(np.abs(cost).max()) or 1.0
    scale = budget_units(problem, H)
    here = Terms(pairs.stage * S + pairs.row // problem.cost.shape[2], pair, np.ones(n))
    spent = [
        Terms(np.full(n, H * S + i), pair, _at_pairs(costs, pairs) / scale[i])
        for i, costs in enumerate(problem.constraint_cost)
    ]
    inflow = np.append(problem.initial, np.zeros((H - 1) * S))
    flows: Terms = Terms.join([here, onward])
    discount = getattr(problem.kernels, "discount", None)
    if discount is not None:
        inflow = (1.0 - discount if discount == 1.0 else 1.0) * inflow
    if discount == 1.0:  # the rows of flow depend on each other; one gives way to the total
        kept = flows.row != 0
        flows = Terms(flows.row[kept], flows.column[kept], flows.value[kept])
        flows = Terms.join([flows, Terms(np.zeros(n, np.int64), pair, np.ones(n))])
        inflow[0] = 1.0
    row, column, value = Terms.join([flows, *spent])
    shape = H * S + I + more.size, n + n_more
    matrix = coo_array((value, (row, column)), shape=shape).tocsc()
    matrix.eliminate_zeros()
    program = Program(
        np.append(cost / weight, np.zeros(n_more)),
        matrix.indptr,
        matrix.indices,
        matrix.data,
        np.concatenate([inflow, np.full(I, -np.inf), more]),
        np.concatenate([inflow, problem.budget / scale, np.zeros(more.size)]),
    )
    solution = minimize(program, solver)
    if solution is None:
        return None, np.empty(0)
    q = np.zeros(pairs.number.shape)
    q[pairs.stage, pairs.row] = np.maximum(solution.x[:n], 0.0)
    occupancy = q.reshape(H, S, -1)
    prices = np.maximum(-solution.row_dual[H * S : H * S + I], 0.0) * weight / scale
    least = solution.objective * weight
    values = solution.row_dual[: S if discount == 1.0 else 0] * weight
    values[:1] = 0.0  # its row is the total
    answer = LPAnswer(occupancy, np.empty((H, 0)), prices, least, solution.iterations, values)
    return answer, solution.x[n:]


def _at_pairs(loss: Floats, pairs: Pairs) -> Floats:
    """Return a (G, S, A) loss at each pair; a single stage stands for all."""
    last = loss.shape[0] - 1
    by_row = loss.reshape(last + 1, -1)
    return np.asarray(by_row[np.minimum(pairs.stage, last), pairs.row])


def _go_on_known(p: Transitions, pairs: Pairs, h: int, S: int) -> Terms:
    """Return the flow terms of stage ``h`` under a known kernel."""
    g = min(h, p.indptr.shape[0] - 1)
    entries = slice(0, p.indptr[g, -1])
    source = np.repeat(np.arange(pairs.number.shape[1]), np.diff(p.indptr[g]))
    column = pairs.number[h, source]
    keep = column >= 0
    row = (h + 1) * S + p.indices[g, entries][keep].astype(np.int64)
    return Terms(row, column[keep], -p.data[g, entries][keep])


class Shifted(NamedTuple):
    """One stage of a box, shifted by its lower bounds, narrow intervals made points."""

    source: Ints  # (e,) row s*A + a of each entry
    target: Ints  # (e,) its successor
    base: Floats  # (e,) lower bound, or the point
    room: Floats  # (e,) width, zero at points
    left: Floats  # (S*A,) mass of a row beyond its bases


def extended_lp(problem: Problem, horizon: int, solver: Solver = "simplex") -> LPAnswer | None:
    """Find the best policy and kernel over a box of kernels by linear programming.

    Costs may be negative. The flow runs over the entries of the box, or of `full_box` when the box
    has a ``rest``. Returns None if the budgets are infeasible under every kernel of the box.
    """
    box, S = problem.kernels, problem.initial.size
    if isinstance(box, StationaryBox):
        return _lasting_lp(problem, box, solver)
    ball: Ball | None = None
    if isinstance(box, L1Ball):
        box, ball = full_ball(box, S)
    if not isinstance(box, Box):
        raise ModelError.about(
            "kernels",
            shown=f"found {type(box).__name__}",
            expected="Box",
            more="; see occupancy_lp",
        )
    if box.rest.shape[1] > 0:
        box = full_box(box, S)
    pairs = allowed_pairs(problem, horizon)
    stages = [shift_box(box, g) for g in range(box.indptr.shape[0])]
    by_stage = [stages[min(h, len(stages) - 1)] for h in range(horizon - 1)]
    first_row = horizon * S + problem.budget.size
    onward, n_more, more = _go_on_in_box(by_stage, pairs, S, first_row)
    if ball is not None:
        places = first_row + more.size, pairs.row.size + n_more
        inside, n_excess, n_rows = _stay_in_ball(by_stage, ball, pairs, *places)
        onward, n_more = Terms.join([onward, inside]), n_more + n_excess
        more = np.append(more, np.full(n_rows, -np.inf))
    answer, y = optimum(problem, pairs, onward, n_more, more, solver)
    if answer is None:
        return None
    q = answer.occupancy.reshape(horizon, -1)
    flow = np.zeros((horizon, box.indices.shape[1]))
    first = 0
    for h, at in enumerate(by_stage):
        flow[h, : at.base.size] = at.base * q[h, at.source]
        moving = _moving(at, pairs, h)
        flow[h, moving] += np.maximum(y[first : first + moving.size], 0.0)
        first += moving.size
    return answer._replace(flow=flow)


def _lasting_lp(problem: Problem, kernels: StationaryBox, solver: Solver) -> LPAnswer | None:
    """`extended_lp` with an infinite horizon: the flow returns to the rows that it left."""
    S, pairs, at = problem.initial.size, allowed_pairs(problem, 1), shift_box(as_box(kernels), 0)
    first_row = 2 * S + problem.budget.size
    onward, n_more, more = _go_on_in_box([at], pairs, S, first_row)
    is_flow = onward.row < 2 * S
    value = np.where(is_flow, kernels.discount, 1.0) * onward.value
    onward = onward._replace(row=onward.row - S, value=value)
    answer, y = optimum(problem, pairs, onward, n_more, more, solver)
    if answer is None:
        return None
    flow = (at.base * answer.occupancy.reshape(-1)[at.source])[None]
    flow[0, _moving(at, pairs, 0)] += np.maximum(y[:n_more], 0.0)
    return answer._replace(flow=flow)


class Ball(NamedTuple):
    """Center and radius of an L1 ball, over the entries of its bounds."""

    center: Floats  # (G, S*A*S)
    radius: Floats  # (G, S*A), infinite where there is no center


def full_ball(ball: L1Ball, S: int) -> tuple[Box, Ball]:
    """The bounds of an L1 ball as a box with every successor listed, in order, and the ball."""
    zeros, none = np.zeros_like(ball.center), np.empty((len(ball.radius), 0))
    lower = ball.lower if ball.lower.shape[1] else zeros
    upper = ball.upper if ball.upper.shape[1] else zeros + 1.0
    rest = ball.rest if ball.rest.shape[1] else np.ones_like(ball.radius)
    pattern = ball.indptr, ball.indices
    box = full_box(Box(*pattern, lower, upper, rest), S)
    center = full_box(Box(*pattern, ball.center, ball.center, none), S).lower
    is_free = ~(center.reshape(*ball.radius.shape, S).sum(axis=2) > 0.0)
    box.lower[np.repeat(is_free, S, axis=1)] = 0.0
    box.upper[np.repeat(is_free, S, axis=1)] = 1.0
    return box, Ball(center, np.where(is_free, np.inf, ball.radius))


def spread_evenly(estimate: Empirical, S: int) -> Transitions:
    """An estimated kernel with every successor listed, in order."""
    none = np.empty((len(estimate.even), 0))
    listed = Box(estimate.indptr, estimate.indices, estimate.data, estimate.data, none)
    full = full_box(listed, S)
    return Transitions(full.indptr, full.indices, full.lower + estimate.even.repeat(S, 1) / S)


def full_box(box: Box, S: int) -> Box:
    """Return the box with every successor listed, in order, and no ``rest``."""
    G, n_rows = box.indptr.shape[0], box.indptr.shape[1] - 1
    lower = np.zeros((G, n_rows * S))
    upper = np.zeros((G, n_rows * S))
    if box.rest.shape[1] > 0:
        upper[:] = np.repeat(box.rest, S, axis=1)
    for g in range(G):
        used = slice(0, box.indptr[g, -1])
        listed = np.repeat(np.arange(n_rows) * S, np.diff(box.indptr[g])) + box.indices[g, used]
        lower[g, listed] = box.lower[g, used]
        upper[g, listed] = box.upper[g, used]
    indptr = np.tile(np.arange(0, n_rows * S + 1, S, dtype=box.indptr.dtype), (G, 1))
    indices = np.tile(np.arange(S, dtype=box.indices.dtype), (G, n_rows))
    return Box(indptr, indices, lower, upper, np.empty((G, 0)))


def shift_box(box: Box, g: int) -> Shifted:
    """Prepare a stage of a box for the program.

    The points of a row lie at the same fraction of their intervals, the least one with which the
    row can still sum to one.
    """
    n_rows = box.indptr.shape[1] - 1
    used = slice(0, box.indptr[g, -1])
    lower, width = box.lower[g, used], box.upper[g, used] - box.lower[g, used]
    source = np.repeat(np.arange(n_rows), np.diff(box.indptr[g]))
    is_point = width < NARROW
    room = np.where(is_point, 0.0, width)
    missing = 1.0 - np.bincount(source, lower + room, n_rows)
    give = np.bincount(source, width - room, n_rows)
    fraction = np.divide(missing, give, out=np.zeros(n_rows), where=give > 0.0).clip(0.0, 1.0)
    base = lower + np.where(is_point, fraction[source] * width, 0.0)
    left = np.maximum(1.0 - np.bincount(source, base, n_rows), 0.0)
    return Shifted(source, box.indices[g, used].astype(np.int64), base, room, left)


def _moving(at: Shifted, pairs: Pairs, h: int) -> Ints:
    """Return the entries of a stage that have a variable y: allowed, and not a point."""
    return np.flatnonzero((at.room > 0.0) & (pairs.number[h, at.source] >= 0))


def _go_on_in_box(
    by_stage: list[Shifted], pairs: Pairs, S: int, first_row: int
) -> tuple[Terms, int, Floats]:
    """Return the terms of the flow rows, the sums and the bounds over a box.

    Also the number of columns y, and the lower sides of the rows that the sums and bounds add.
    """
    parts: list[Terms] = []
    lower: list[Floats] = []
    row, column = first_row, pairs.row.size
    for h, at in enumerate(by_stage):
        q = pairs.number[h]
        here = np.flatnonzero((at.base != 0.0) & (q[at.source] >= 0))
        moving = _moving(at, pairs, h)
        source, y = at.source[moving], column + np.arange(moving.size)
        # sum_t y = left q, one row for each pair that has any y
        tied, which = np.unique(source, return_inverse=True)
        sums = row + np.arange(tied.size)
        # y <= room q, unless the sum implies it
        capped = np.flatnonzero(at.room[moving] < at.left[source])
        caps = row + tied.size + np.arange(capped.size)
        parts += [
            Terms((h + 1) * S + at.target[here], q[at.source[here]], -at.base[here]),
            Terms((h + 1) * S + at.target[moving], y, np.full(y.size, -1.0)),
            Terms(sums, q[tied], at.left[tied]),
            Terms(sums[which], y, np.full(y.size, -1.0)),
            Terms(caps, y[capped], np.ones(capped.size)),
            Terms(caps, q[source[capped]], -at.room[moving][capped]),
        ]
        lower += [np.zeros(tied.size), np.full(capped.size, -np.inf)]
        row += tied.size + capped.size
        column += moving.size
    return Terms.join(parts), column - pairs.row.size, np.concatenate([np.empty(0), *lower])


def _stay_in_ball(
    by_stage: list[Shifted], ball: Ball, pairs: Pairs, first_row: int, first_column: int
) -> tuple[Terms, int, int]:
    """Terms that keep the mass of each pair within the ball, and how many columns and rows."""
    parts: list[Terms] = []
    row, x, y = first_row, first_column, pairs.row.size
    for h, at in enumerate(by_stage):
        g = min(h, ball.radius.shape[0] - 1)
        q, radius = pairs.number[h], ball.radius[g]
        off = at.base - ball.center[g, : at.base.size]
        moving = _moving(at, pairs, h)
        is_tied = radius[at.source[moving]] < 2.0
        tied, columns = moving[is_tied], y + np.flatnonzero(is_tied)
        excess = x + np.arange(tied.size)
        # y + (base - center) q <= x
        caps = row + np.arange(tied.size)
        # sum_t x + (what points exceed the center by) q <= (radius / 2) q
        pair, which = np.unique(at.source[tied], return_inverse=True)
        sums = row + tied.size + np.arange(pair.size)
        fixed = np.where(at.room > 0.0, 0.0, np.maximum(off, 0.0))
        left = np.bincount(at.source, fixed, radius.size)[pair] - 0.5 * radius[pair]
        parts += [
            Terms(caps, columns, np.ones(tied.size)),
            Terms(caps, q[at.source[tied]], off[tied]),
            Terms(caps, excess, np.full(tied.size, -1.0)),
            Terms(sums[which], excess, np.ones(tied.size)),
            Terms(sums, q[pair], left),
        ]
        row += tied.size + pair.size
        x += tied.size
        y += moving.size
    return Terms.join(parts), x - first_column, row - first_row
