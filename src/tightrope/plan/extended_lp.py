"""The extended linear programme: the best policy and the best kernel of a box together.

Beside q_h(s,a) there is the mass z_h(s,a,t) that moves from (s,a) to t, between the bounds of the
box times q. Shifting it by the lower bounds, y = z - lower q, leaves the fewest rows::

    min  sum q c   over q, y >= 0
    s.t. sum_a q_0(s,a) = mu(s),   sum_a q_h(t,a) = sum_{s,a} z_{h-1}(s,a,t)      for h = 1..H-1
         sum q d_i <= budget_i
         sum_t y_h(s,a,t) = (1 - sum_t lower_h(s,a,t)) q_h(s,a)                   for h < H-1
         y_h(s,a,t) <= (upper - lower)_h(s,a,t) q_h(s,a)

A bound that the sum already implies is dropped, among them every upper bound of one. An interval
narrower than 1e-8 is taken for a point, because such widths make the solver fail; that shifts
values by at most the same order.

SPEC A5.2, E15; PLANNING 3. The programme has a variable for every listed successor: a second
opinion for small problems, thousands of times slower than column generation for large ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, Ints, Problem
from tightrope.errors import ModelError
from tightrope.plan.highs import Solver
from tightrope.plan.lp import LPAnswer, More, Pairs, Terms, allowed_pairs, optimum

NARROW = 1e-8  # intervals below this width count as points


class Shifted(NamedTuple):
    """One stage of a box, shifted by its lower bounds, narrow intervals made points."""

    source: Ints  # (e,) row s*A + a of each entry
    target: Ints  # (e,) its successor
    base: Floats  # (e,) lower bound, or the point
    room: Floats  # (e,) width, zero at points
    left: Floats  # (S*A,) mass of a row beyond its bases


def extended_lp(problem: Problem, horizon: int, solver: Solver = "simplex") -> LPAnswer | None:
    """Best policy and kernel over a box of kernels by linear programming.

    Parameters
    ----------
    problem : Problem
        Its kernels are a `Box`; costs may be negative.
    horizon : int
    solver : {"simplex", "ipm", "interior"}

    Returns
    -------
    LPAnswer or None
        Its flow runs over the entries of the box, or of `full_box` when the box has a ``rest``.
        None when no policy keeps the budgets under any kernel of the box.
    """
    box = problem.kernels
    if not isinstance(box, Box):
        raise ModelError(f"kernels: found {type(box).__name__}, expected Box; see occupancy_lp")
    S = problem.initial.size
    if box.rest.shape[1] > 0:
        box = full_box(box, S)
    pairs = allowed_pairs(problem, horizon)
    stages = [shifted(box, g) for g in range(box.indptr.shape[0])]
    by_stage = [stages[min(h, len(stages) - 1)] for h in range(horizon - 1)]
    onward, more = _onward(by_stage, pairs, S, horizon * S + problem.budget.size)
    answer, y = optimum(problem, pairs, onward, more, solver)
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


def full_box(box: Box, S: int) -> Box:
    """The same box with every successor listed, in order, and no ``rest``."""
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


def shifted(box: Box, g: int) -> Shifted:
    """A stage of a box, ready for the programme.

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
    """Entries of a stage that have a variable y: allowed, and not a point."""
    return np.flatnonzero((at.room > 0.0) & (pairs.number[h, at.source] >= 0))


def _onward(by_stage: list[Shifted], pairs: Pairs, S: int, first_row: int) -> tuple[Terms, More]:
    """Where the mass of each pair may go: terms of the flow rows, the sums and the bounds."""
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
        # y <= room q, where the sum does not say so already
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
    return Terms.join(parts), More(column - pairs.row.size, np.concatenate([np.empty(0), *lower]))
