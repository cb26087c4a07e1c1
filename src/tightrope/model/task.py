"""Task: what a learner knows before the first episode; never the true model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, Transitions, as_floats, check_list, flag, share, whole
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.base import writable_problem
from tightrope.model.draft import default_names, required_horizon
from tightrope.model.units import Range, Unit, Units, required_budget, required_range


@dataclass(frozen=True)
class Task:
    """What a learner knows before the first episode, with costs scaled to [0, 1] per step.

    Parameters
    ----------
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums on the scale of learners, where costs are in [0, 1] per step;
        not in the units of the model or of ``constraint_range``.
    initial : (S,) array
        Distribution of the start state.
    allowed : (0 or 1 or H, S, A) array
        Actions that exist; no stages when all do.
    n_episodes : int
        Number of episodes K, which radii and step sizes need.
    delta : float
        Probability with which the guarantees may fail.
    pattern : Transitions
        Successors for which counts are stored. A successor that was never observed is treated like
        any other, unless the support is declared known.
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
    """Return the task of an interactive learner from checked arguments of `learner`."""
    S, A = whole("n_states", n_states), whole("n_actions", n_actions)
    H, episodes = required_horizon(horizon), whole("episodes", episodes)
    I = as_floats("budget", budget).size
    delta, stationary = share("delta", delta), flag("stationary", stationary)
    if (cost is None) != (constraint_cost is None) and I:
        missing = "cost" if cost is None else "constraint_cost"
        raise ModelError(
            "cost and constraint_cost: give both or neither", argument=missing, found="missing"
        )
    # a model in which nothing moves has the same shapes, so its checks are the right ones
    try:
        still = csr_array((np.ones(S * A), np.repeat(np.arange(S), A), np.arange(S * A + 1)))
    except MemoryError as error:
        raise ModelError(
            f"n_states, n_actions: {S} and {A}, no memory for that many",
            argument="n_states",
            found=S,
        ) from error
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


def units_of_ranges(
    budget: Any, horizon: Any, cost_range: Range | None, constraint_range: Sequence[Range] | None
) -> Units:
    """Return units of costs with the given ranges of one step, [0, 1] by default."""
    H, I = required_horizon(horizon), as_floats("budget", budget).size
    ranges = [(0.0, 1.0)] * I if constraint_range is None else constraint_range
    ranges = check_list("constraint_range", ranges, "pairs")
    if len(ranges) != I:
        raise ModelError.about("constraint_range", shown=f"{len(ranges)} pairs", expected=I)
    low, high = required_range("cost_range", (0.0, 1.0) if cost_range is None else cost_range)
    ends = [required_range(f"constraint_range[{i}]", each) for i, each in enumerate(ranges)]
    bounded = (
        Unit.of_range(name, *each, H) for name, each in zip(default_names(I), ends, strict=True)
    )
    return Units(Unit.of_range("cost", low, high, H), tuple(bounded))


def scale_task(
    units: Units, horizon: Any, budget: Any, cost: Any, constraint_cost: Any
) -> tuple[list[float], Any, Any]:
    """Convert budgets and known costs, if any, to the internal scale."""
    horizon = required_horizon(horizon)
    limits = zip(as_floats("budget", budget).reshape(-1).tolist(), units.constraints, strict=True)
    scaled = [
        required_budget(f"budget[i={i}]", bound, unit, horizon, "is")
        for i, (bound, unit) in enumerate(limits)
    ]
    if cost is not None:
        cost = units.cost.read_step(as_floats("cost", cost), horizon)
    if constraint_cost is not None:
        given = as_floats("constraint_cost", constraint_cost)
        if len(given) != len(scaled):
            raise ModelError.about(
                "constraint_cost", shown=f"{len(given)} blocks", expected=len(scaled)
            )
        pairs = zip(units.constraints, given, strict=True)
        constraint_cost = [unit.read_step(block, horizon) for unit, block in pairs]
    return scaled, cost, constraint_cost


def simulated_task(cmdp: CMDP, n_episodes: int, delta: float) -> Task:
    """Return the task of a simulated learner; the true sparsity pattern is storage only."""
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
        raise ModelError.about("successors", shape=possible.shape, expected=(S, A, S))
    listed = possible.reshape(S * A, S) != 0
    if not listed.any(axis=1).all():
        s, a = divmod(int((~listed.any(axis=1)).argmax()), A)
        raise ModelError.about(
            f"successors[s={s}, a={a}]", shown="no successor is possible", expected="at least one"
        )
    indptr = np.concatenate(([0], np.cumsum(listed.sum(axis=1))))[None].astype(np.int64)
    indices = np.nonzero(listed)[1].astype(np.uint32)[None]
    return Transitions(indptr, indices, np.zeros(indices.shape))


def mean_costs(cmdp: CMDP) -> Floats:
    """Return mean cost, then mean constraint costs, on the internal scale, (I+1, 1 or H, S*A)."""
    rows, problem = cmdp.n_states * cmdp.n_actions, writable_problem(cmdp)
    stages = max(problem.cost.shape[0], problem.constraint_cost.shape[1])
    costs = [
        np.broadcast_to(c.reshape(-1, rows), (stages, rows))
        for c in (problem.cost, *problem.constraint_cost)
    ]
    return np.stack(costs)
