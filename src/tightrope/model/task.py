"""Task: what a learner is told before the first episode; never the true model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, Transitions, as_floats, flag, share, whole
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.cmdp import writable_problem
from tightrope.model.draft import required_horizon


@dataclass(frozen=True)
class Task:
    """What a learner knows before the first episode.

    Parameters
    ----------
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums.
    initial : (S,) array
        Distribution of the start state.
    allowed : (0 or 1 or H, S, A) array
        Actions that exist; no stages when all do.
    n_episodes : int
        Number of episodes K, which radii and step sizes need.
    delta : float
        Probability with which the guarantees may fail.
    pattern : Transitions
        Successors that counts have room for. Storage, not knowledge: one that was never seen is
        treated like any other, unless the support is said to be known.
    known_cost : (I+1, G, S*A) array
        Cost and constraint costs where they are known; no stages otherwise.
    is_stationary_kernel, is_stationary_cost : bool
        Whether stages may be pooled.
    """

    n_states: int
    n_actions: int
    horizon: int
    budget: Floats  # (I,)
    initial: Floats  # (S,)
    allowed: Bools  # (0 or 1 or H, S, A)
    n_episodes: int
    delta: float
    pattern: Transitions
    known_cost: Floats  # (I+1, G, S*A)
    is_stationary_kernel: bool
    is_stationary_cost: bool

    @property
    def n_constraints(self) -> int:
        """Number of constraints I."""
        return self.budget.size


def make_task(
    n_states: int,
    n_actions: int,
    horizon: int,
    budget: Any,
    episodes: int,
    delta: float,
    initial: Any,
    allowed: Any,
    cost: Any,
    constraint_cost: Any,
    stationary: bool,
    successors: Any,
) -> Task:
    """The task of an interactive learner from checked arguments of `learner`."""
    S, A = whole("n_states", n_states), whole("n_actions", n_actions)
    H, episodes = required_horizon(horizon), whole("episodes", episodes)
    I = as_floats("budget", budget).size
    delta, stationary = share("delta", delta), flag("stationary", stationary)
    if (cost is None) != (constraint_cost is None) and I:
        raise ModelError("cost and constraint_cost: give both or neither")
    # a model in which nothing moves has the same shapes, so its checks are the right ones
    try:
        still = csr_array((np.ones(S * A), np.repeat(np.arange(S), A), np.arange(S * A + 1)))
    except MemoryError as error:
        raise ModelError(f"n_states, n_actions: {S} and {A}, no memory for that many") from error
    shape = CMDP(
        still,
        np.zeros((S, A)) if cost is None else cost,
        np.zeros((I, S, A)) if constraint_cost is None else constraint_cost,
        budget,
        H,
        initial,
        allowed,
    )
    task = simulated_task(shape, episodes, delta)
    return replace(
        task,
        pattern=_pattern(successors, S, A),
        known_cost=np.zeros((I + 1, 0, S * A)) if cost is None else task.known_cost,
        is_stationary_kernel=stationary,
        is_stationary_cost=stationary,
    )


def simulated_task(cmdp: CMDP, n_episodes: int, delta: float) -> Task:
    """What a learner in simulation is told; the true sparsity pattern is lent as storage."""
    problem, known_cost = writable_problem(cmdp), mean_costs(cmdp)
    return Task(
        n_states=cmdp.n_states,
        n_actions=cmdp.n_actions,
        horizon=cmdp.horizon,
        budget=problem.budget.copy(),
        initial=problem.initial.copy(),
        allowed=problem.allowed,
        n_episodes=n_episodes,
        delta=delta,
        pattern=Transitions(*problem.kernels),
        known_cost=known_cost,
        is_stationary_kernel=cmdp.is_stationary,
        is_stationary_cost=known_cost.shape[1] == 1,
    )


def _pattern(successors: Any, S: int, A: int) -> Transitions:
    if successors is None:
        empty = np.zeros((1, S * A + 1), dtype=np.int64)
        return Transitions(empty, np.zeros((1, 1), dtype=np.uint32), np.zeros((1, 1)))
    possible = as_floats("successors", successors)
    if possible.shape != (S, A, S):
        raise ModelError(f"successors: shape {possible.shape}, expected {(S, A, S)}")
    listed = possible.reshape(S * A, S) != 0
    if not listed.any(axis=1).all():
        s, a = divmod(int((~listed.any(axis=1)).argmax()), A)
        raise ModelError(
            f"successors[s={s}, a={a}]: no successor is possible, expected at least one"
        )
    indptr = np.concatenate(([0], np.cumsum(listed.sum(axis=1))))[None].astype(np.int64)
    indices = np.nonzero(listed)[1].astype(np.uint32)[None]
    return Transitions(indptr, indices, np.zeros(indices.shape))


def mean_costs(cmdp: CMDP) -> Floats:
    """Mean cost, then mean constraint costs, (I+1, 1 or H, S*A)."""
    rows, problem = cmdp.n_states * cmdp.n_actions, cmdp.problem
    stages = max(problem.cost.shape[0], problem.constraint_cost.shape[1])
    costs = [
        np.broadcast_to(c.reshape(-1, rows), (stages, rows))
        for c in (problem.cost, *problem.constraint_cost)
    ]
    return np.stack(costs)
