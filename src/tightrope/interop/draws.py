"""Draws from a CMDP for many places at once: start states, next states, observed costs."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.model import CMDP

__all__ = ["Draws", "observed"]

CERTAINTY = 2.0  # the two shapes of a beta draw add up to this


def observed(mean: Floats, noise: str, rng: np.random.Generator) -> Floats:
    """Costs in [0, 1] with these means.

    Parameters
    ----------
    mean : array
        Means of any shape.
    noise : {"bernoulli", "none", "beta"}
        As in the model.
    rng : Generator
        Where randomness comes from.
    """
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


@final
class Draws:
    """A model ready to be drawn from.

    Every successor gets a point of the line: those of row ``r`` of a stage lie in ``(r, r + 1]``,
    each as far from the one before as it is likely. A uniform number in ``[r, r + 1)`` then means
    the first point beyond it.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    """

    def __init__(self, cmdp: CMDP) -> None:
        self._cmdp = cmdp
        self._start = np.cumsum(cmdp.initial)
        self._layers = [_layer(*layer) for layer in zip(*cmdp.transitions, strict=True)]

    def start(self, n: int, rng: np.random.Generator) -> Ints:
        """Start states, (n,)."""
        last = int(np.flatnonzero(self._cmdp.initial)[-1])
        found = np.searchsorted(self._start, rng.random(n), side="right")
        return np.minimum(found, last)

    def next_states(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> Ints:
        """States that follow, (n,), of n places given by stage, state and action."""
        rows, u = states * self._cmdp.n_actions + actions, rng.random(len(states))
        layers = np.minimum(stages, len(self._layers) - 1)
        found = np.empty(len(states), dtype=np.int64)
        for g in np.unique(layers):
            here, layer = layers == g, self._layers[g]
            at = np.searchsorted(layer.points, rows[here] + u[here], side="right")
            found[here] = layer.targets[np.minimum(at, layer.last[rows[here]])]
        return found

    def costs(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Observed costs, (n,), and constraint costs, (n, I)."""
        cost, constraint_cost = self._cmdp.problem.cost, self._cmdp.problem.constraint_cost
        here = np.minimum(stages, cost.shape[0] - 1), states, actions
        there = np.minimum(stages, constraint_cost.shape[1] - 1), states, actions
        noise = self._cmdp.noise
        bounded = np.ascontiguousarray(constraint_cost[:, *there].T)
        return observed(cost[here], noise, rng), observed(bounded, noise, rng)

    def allowed(self, stages: Ints, states: Ints) -> Ints:
        """Which actions exist, (n, A), as ones and zeros; a stage past the last is the last."""
        mask = self._cmdp.allowed
        return mask[np.minimum(stages, self._cmdp.horizon - 1), states].astype(np.int8)


def _layer(indptr: Ints, indices: Ints, data: Floats) -> Layer:
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    likely = np.flatnonzero(data[: rows.size] > 0.0)
    total = np.concatenate(([0.0], np.cumsum(data[: rows.size])))
    inside = (total[1:] - total[indptr[rows]])[likely]
    last = np.cumsum(np.bincount(rows[likely], minlength=indptr.size - 1)) - 1
    return Layer(rows[likely] + np.minimum(inside, 1.0), indices[likely].astype(np.int64), last)
