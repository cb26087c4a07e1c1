"""Draws from a CMDP for many places at once: start states, next states, observed costs."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.model import CMDP

CERTAINTY = 2.0  # the two shapes of a beta draw add up to this


def draw_costs(mean: Floats, noise: str, rng: np.random.Generator) -> Floats:
    """Costs in [0, 1] with these means, of any shape, and the noise of a model."""
    if noise == "bernoulli":
        return (rng.random(mean.shape) < mean).astype(np.float64)
    if noise == "beta":
        drawn = mean.copy()
        inside = (mean > 0.0) & (mean < 1.0)
        drawn[inside] = rng.beta(CERTAINTY * mean[inside], CERTAINTY * (1.0 - mean[inside]))
        return drawn
    return mean.copy()


class Layer(NamedTuple):
    """The successors of one stage as points of a line."""

    points: Floats  # (E,), those of row r in (r, r + 1]
    targets: Ints  # (E,)
    last: Ints  # (S*A,) where the points of a row end; rounding never leads past them

    def targets_at(self, rows: Ints, points: Floats) -> Ints:
        """The successor that each point of a row means."""
        at = np.searchsorted(self.points, points, side="right")
        return self.targets[np.minimum(at, self.last[rows])]


@final
class Draws:
    """Random draws from a model.

    Every successor gets a point of the line: those of row ``r`` of a stage lie in ``(r, r + 1]``,
    each as far from the one before as it is likely. A uniform number in ``[r, r + 1)`` then means
    the first point beyond it.
    """

    def __init__(self, cmdp: CMDP) -> None:
        self._n_actions, self._horizon, self._noise = cmdp.n_actions, cmdp.horizon, cmdp.noise
        self._cost, self._bounded = cmdp.problem.cost, cmdp.problem.constraint_cost
        self._allowed = cmdp.allowed
        self._start = np.cumsum(cmdp.initial)
        self._last_start = int(np.flatnonzero(cmdp.initial)[-1])
        self._layers = [_layer(*layer) for layer in zip(*cmdp.transitions, strict=True)]

    def start(self, n: int, rng: np.random.Generator) -> Ints:
        """Start states, (n,)."""
        found = np.searchsorted(self._start, rng.random(n), side="right")
        return np.minimum(found, self._last_start)

    def next_states(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> Ints:
        """States that follow, (n,), of n places given by stage, state and action."""
        rows = states * self._n_actions + actions
        points = rows + rng.random(len(states))
        if len(self._layers) == 1:
            return self._layers[0].targets_at(rows, points)
        found = np.empty(len(states), dtype=np.int64)
        for g in np.unique(stages):
            here = stages == g
            found[here] = self._layers[g].targets_at(rows[here], points[here])
        return found

    def costs(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Observed costs, (n,), and constraint costs, (n, I)."""
        mean = self._cost[np.minimum(stages, self._cost.shape[0] - 1), states, actions]
        layers = np.minimum(stages, self._bounded.shape[1] - 1)
        bounded = np.ascontiguousarray(self._bounded[:, layers, states, actions].T)
        return draw_costs(mean, self._noise, rng), draw_costs(bounded, self._noise, rng)

    def allowed(self, stages: Ints, states: Ints) -> Ints:
        """Which actions exist, (n, A), as ones and zeros; a stage past the last is the last."""
        return self._allowed[np.minimum(stages, self._horizon - 1), states].astype(np.int8)


def _layer(indptr: Ints, indices: Ints, data: Floats) -> Layer:
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    likely = np.flatnonzero(data[: rows.size] > 0.0)
    total = np.concatenate(([0.0], np.cumsum(data[: rows.size])))
    inside = (total[1:] - total[indptr[rows]])[likely]
    last = np.cumsum(np.bincount(rows[likely], minlength=indptr.size - 1)) - 1
    return Layer(rows[likely] + np.minimum(inside, 1.0), indices[likely].astype(np.int64), last)
