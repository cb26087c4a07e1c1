"""The model that a log looks like, and what the log never showed.

Averages stand for probabilities and costs. Where a state was seen at a stage, only the actions that
were tried there exist, so that a plan in this model does nothing that nobody has done. A state that
was never acted in is given the worst: every step in it costs as much as can be, and it is never
left.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, Ints
from tightrope.interop.logs.log import Log
from tightrope.model import CMDP


def empirical_model(
    log: Log,
    budget: Floats,
    initial: Floats,
    allowed: Bools | None = None,
    stationary: bool = False,
) -> CMDP:
    """The averages of a log as a model.

    Parameters
    ----------
    log : Log
        What was seen.
    budget : (I,) array
        On the model's scale.
    initial : (S,) array
        Distribution of the start state.
    allowed : (H, S, A) booleans, optional
        Actions that exist in a state.
    stationary : bool
        Whether the process is the same at every stage, so that stages are averaged together.
    """
    H, S, A, I = log.horizon, log.n_states, log.n_actions, len(log.constraint_names)
    seen: Ints = log.visits.sum(axis=0, keepdims=True) if stationary else log.visits
    if log.end is not None:
        seen[:, log.end.state, 0] += 1
    exists = np.ones((H, S, A), dtype=np.bool_) if allowed is None else np.asarray(allowed)
    tried = exists & (seen > 0)
    stages = seen.shape[0]
    cells = _cells(log, stages)
    totals = _totals(log, cells, seen.shape)
    costs = np.where(seen > 0, totals / np.maximum(seen, 1), 1.0)
    kernels = [_kernel(log, cells, h, stages, seen[h], S, A) for h in range(stages)]
    return CMDP(
        kernels[0] if stationary else kernels,
        costs[0, 0] if stationary else costs[0],
        costs[1:, 0] if stationary else costs[1:],
        budget,
        H,
        initial,
        np.where(tried.any(axis=2, keepdims=True), tried, exists),
        state_names=log.state_names,
        action_names=log.action_names,
        constraint_names=log.constraint_names if I else None,
        cost_unit=log.cost_unit,
        constraint_units=log.constraint_units,
    )


def _cells(log: Log, stages: int) -> Ints:
    """Number of each step's (stage, state, action), (K, H)."""
    stage = np.minimum(np.arange(log.horizon), stages - 1)
    rows = log.episodes.states[:, :-1] * log.n_actions + log.episodes.actions
    return np.asarray(stage * log.n_states * log.n_actions + rows)


def _totals(log: Log, cells: Ints, shape: tuple[int, ...]) -> Floats:
    """Sums of cost and constraint costs, (I+1, stages, S, A)."""
    size, episodes = int(np.prod(shape)), log.episodes
    each = [episodes.cost, *np.moveaxis(episodes.constraint_cost, 1, 0)]
    sums = [np.bincount(cells.reshape(-1), cost.reshape(-1), size).astype(float) for cost in each]
    totals: Floats = np.stack(sums).reshape(len(each), *shape)
    if log.end is not None:
        totals[:, :, log.end.state, 0] += log.end.cost[:, None]
    return totals


def _kernel(log: Log, cells: Ints, h: int, stages: int, seen: Ints, S: int, A: int) -> csr_array:
    """Shares of the successors at a stage; a pair that was never seen stays where it is."""
    here = slice(None) if stages == 1 else slice(h, h + 1)
    rows = (cells[:, here] - h * S * A).reshape(-1)
    successors = log.episodes.states[:, 1:][:, here].reshape(-1)
    unseen = np.flatnonzero(seen.reshape(-1) == 0)
    shares = np.concatenate((1.0 / seen.reshape(-1)[rows], np.ones(unseen.size)))
    rows = np.concatenate((rows, unseen))
    successors = np.concatenate((successors, unseen // A))
    if log.end is not None:
        row = log.end.state * A
        rows, successors = np.append(rows, row), np.append(successors, log.end.state)
        shares = np.append(shares, 1.0 / seen.reshape(-1)[row])
    return csr_array((shares, (rows, successors)), shape=(S * A, S))
