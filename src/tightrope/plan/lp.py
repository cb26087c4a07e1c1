"""The occupancy linear programme of a known model: the second opinion on every plan.

::

    min  sum q c   over q_h(s,a) >= 0
    s.t. sum_a q_0(s,a) = mu(s)
         sum_a q_h(t,a) = sum_{s,a} p_{h-1}(t|s,a) q_{h-1}(s,a)      for h = 1..H-1
         sum q d_i <= budget_i

The variables are the allowed pairs; the kernel of the last stage is not used. The objective is
divided by its largest coefficient and each budget row by the unit of its budget, because the
solver's tolerances are absolute and bonus costs reach 1e4; prices are scaled back.

SPEC A5.1 and A5.5; `extended_lp` is the same over a box of kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array

from tightrope.arrays import Floats, Ints, Problem, Transitions
from tightrope.errors import ModelError
from tightrope.plan.generate import budget_units
from tightrope.plan.highs import Programme, Solver, minimise

SHARES = 1e-10  # occupancies below this are the solver's rounding (SPEC A5.3)


class LPAnswer(NamedTuple):
    """An optimal occupancy measure and the prices of the budgets."""

    occupancy: Floats  # (H, S, A), not below zero
    flow: Floats  # (H, E) mass over the entries of a box, the last stage empty; (H, 0) if known
    multiplier: Floats  # (I,), not below zero
    objective: float  # as the solver gives it, before negative rounding in q was cut off
    iterations: int

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
    """Coefficients of the programme's matrix, in any order."""

    row: Ints
    column: Ints
    value: Floats

    @classmethod
    def join(cls, parts: list[Terms]) -> Terms:
        """All terms of all parts; of none, no terms."""
        none = cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(field) for field in zip(none, *parts, strict=True)))


class More(NamedTuple):
    """What a set of kernels adds: columns after the pairs, rows after the budgets."""

    n_columns: int
    row_lower: Floats  # (m,); the upper sides are zero


def occupancy_lp(problem: Problem, horizon: int, solver: Solver = "simplex") -> LPAnswer | None:
    """Best policy of a known model by linear programming.

    Parameters
    ----------
    problem : Problem
        Its kernels are `Transitions`; costs may be negative.
    horizon : int
    solver : {"simplex", "ipm", "interior"}

    Returns
    -------
    LPAnswer or None
        None when no policy keeps the budgets.
    """
    p = problem.kernels
    if not isinstance(p, Transitions):
        raise ModelError(
            f"kernels: found {type(p).__name__}, expected Transitions; see extended_lp"
        )
    pairs = allowed_pairs(problem, horizon)
    onward = [_onward(p, pairs, h, problem.initial.size) for h in range(horizon - 1)]
    more = More(0, np.empty(0))
    return optimum(problem, pairs, Terms.join(onward), more, solver)[0]


def allowed_pairs(problem: Problem, horizon: int) -> Pairs:
    """The variables q of a problem."""
    _, S, A = problem.cost.shape
    allowed = np.ones((horizon, S * A), dtype=np.bool_)
    if problem.allowed.shape[0] > 0:
        allowed[:] = problem.allowed.reshape(-1, S * A)
    stage, row = np.nonzero(allowed)
    number = np.full((horizon, S * A), -1)
    number[stage, row] = np.arange(stage.size)
    return Pairs(number, stage, row)


def optimum(
    problem: Problem, pairs: Pairs, onward: Terms, more: More, solver: Solver
) -> tuple[LPAnswer | None, Floats]:
    """Solve the programme over pairs whose mass goes on as the terms say.

    Rows are the flow into each (stage, state), the budgets, then the additional ones.

    Parameters
    ----------
    problem : Problem
    pairs : Pairs
    onward : Terms
        What leaves each pair, negative in the flow rows, and the additional rows.
    more : More
    solver : {"simplex", "ipm", "interior"}

    Returns
    -------
    answer : LPAnswer or None
        Without its flow; None when infeasible.
    extra : (more.n_columns,) array
        The additional columns, as the solver left them.
    """
    H, (S,), I = pairs.number.shape[0], problem.initial.shape, problem.budget.size
    cost = _at_pairs(problem.cost, pairs)
    weight = float(np.abs(cost).max()) or 1.0
    scale = budget_units(problem, H)
    budget_rows = _budgets(problem, pairs, H * S, scale)
    matrix = _matrix(problem, pairs, [onward, *budget_rows], more)
    zero = np.zeros((H - 1) * S)
    solution = minimise(
        Programme(
            np.append(cost / weight, np.zeros(more.n_columns)),
            matrix.indptr,
            matrix.indices,
            matrix.data,
            np.concatenate([problem.initial, zero, np.full(I, -np.inf), more.row_lower]),
            np.concatenate(
                [problem.initial, zero, problem.budget / scale, np.zeros(more.row_lower.size)]
            ),
        ),
        solver,
    )
    if solution is None:
        return None, np.empty(0)
    q = np.zeros(pairs.number.shape)
    q[pairs.stage, pairs.row] = np.maximum(solution.x[: pairs.row.size], 0.0)
    prices = np.maximum(-solution.row_dual[H * S : H * S + I], 0.0) * weight / scale
    answer = LPAnswer(
        q.reshape(H, S, -1),
        np.empty((H, 0)),
        prices,
        solution.objective * weight,
        solution.iterations,
    )
    return answer, solution.x[pairs.row.size :]


def _at_pairs(loss: Floats, pairs: Pairs) -> Floats:
    """A (G, S, A) loss at each pair; one stage serves all when nothing depends on time."""
    last = loss.shape[0] - 1
    by_row = loss.reshape(last + 1, -1)
    return np.asarray(by_row[np.minimum(pairs.stage, last), pairs.row])


def _budgets(problem: Problem, pairs: Pairs, first: int, scale: Floats) -> list[Terms]:
    """Budget rows from a given row on, each divided by its scale."""
    n = pairs.row.size
    return [
        Terms(np.full(n, first + i), np.arange(n), _at_pairs(costs, pairs) / scale[i])
        for i, costs in enumerate(problem.constraint_cost)
    ]


def _matrix(problem: Problem, pairs: Pairs, terms: list[Terms], more: More) -> csc_array:
    """The programme's matrix by columns: the given terms, and each pair in its own flow row."""
    _, S, A = problem.cost.shape
    n = pairs.row.size
    here = Terms(pairs.stage * S + pairs.row // A, np.arange(n), np.ones(n))
    row, column, value = Terms.join([here, *terms])
    n_rows = pairs.number.shape[0] * S + problem.budget.size + more.row_lower.size
    matrix = coo_array((value, (row, column)), shape=(n_rows, n + more.n_columns)).tocsc()
    matrix.eliminate_zeros()
    return matrix


def _onward(p: Transitions, pairs: Pairs, h: int, S: int) -> Terms:
    """Where a known kernel sends the mass of stage ``h``."""
    g = min(h, p.indptr.shape[0] - 1)
    entries = slice(0, p.indptr[g, -1])
    source = np.repeat(np.arange(pairs.number.shape[1]), np.diff(p.indptr[g]))
    column = pairs.number[h, source]
    keep = column >= 0
    row = (h + 1) * S + p.indices[g, entries][keep].astype(np.int64)
    return Terms(row, column[keep], -p.data[g, entries][keep])
