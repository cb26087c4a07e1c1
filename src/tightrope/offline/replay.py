"""Bounds on the values of one policy, from episodes of a log put together anew.

The outcome of an action in a state (next state and costs) does not depend on how the process got
there. The log has a list of such outcomes for each state and action, in the order in which they
happened; by stage, unless the process is the same at every stage. An episode of another policy is
replayed by drawing its actions and taking the next unused outcome of each list::

    s = start of episode k
    for h = 0 .. H-1:   a ~ policy_h(s);   cost, s = next unused outcome of (h, s, a)

Outcomes that are used once in their order are independent draws, whatever policies made the log, so
replayed episodes are real episodes of the policy. Where a list is used up, the rest of the episode
counts with the least costs for lower bounds and the greatest for upper ones, which keeps
both valid (`tightrope.belief.intervals`, one policy).

The bounds hold for one policy that was chosen without the episodes of the log. They are much
narrower than bounds that hold for every policy at once, if the log often takes the
policy's actions. Lists in order of use are the queues of Mandel, Liu, Brunskill and Popovic (2016),
Offline evaluation of online reinforcement learning algorithms, AAAI, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, flag, share, whole
from tightrope.belief.intervals import average_band, least_mean
from tightrope.kernels.compiled import compiled
from tightrope.model.units import Units
from tightrope.offline.log import Log, cells_of, start_of
from tightrope.plan.bound import AVERAGE, ONE, Bounds, bounds_of
from tightrope.plan.evaluate import check_policy

NO_END = -1


@compiled
def replay(
    order: Ints,
    used: Ints,
    last: Ints,
    successor: Ints,
    cost: Floats,
    starts: Ints,
    pi: Floats,
    draws: Floats,
    end: int,
    end_cost: Floats,
    low: Floats,
    high: Floats,
) -> None:
    """Totals of replayed episodes, and bounds on those for which the outcomes did not suffice.

    Parameters
    ----------
    order : (N,) array
        Steps of the log, those of one list after each other.
    used, last : (G * S * A,) arrays
        Where the unused steps of each list begin and end in ``order``; G is 1 or H. The first is
        written.
    successor : (N',) array
        Next state of each step.
    cost : (N', C) array
        Costs of each step, in [0, 1].
    starts : (K,) array
        States in which the episodes begin.
    pi : (H, S, A) array
        The policy.
    draws : (K, H) array
        Uniform draws, one for each action.
    end : int
        The absorbing state of finished episodes, or `NO_END`.
    end_cost : (C,) array
        Costs of a step in it.
    low, high : (K, C) arrays
        Least and greatest total of each episode, written.
    """
    K, C = low.shape
    H, S, A = pi.shape
    stages = used.size // (S * A)
    for k in range(K):
        s = starts[k]
        for c in range(C):
            low[k, c] = 0.0
        rest = 0.0
        for h in range(H):
            if s == end:
                for c in range(C):
                    low[k, c] += (H - h) * end_cost[c]
                break
            a, below = -1, 0.0
            for b in range(A):
                if pi[h, s, b] > 0.0 and (a < 0 or draws[k, h] >= below):
                    a = b
                    below += pi[h, s, b]
            row = (min(h, stages - 1) * S + s) * A + a
            if used[row] == last[row]:
                rest = float(H - h)
                break
            at = order[used[row]]
            used[row] += 1
            for c in range(C):
                low[k, c] += cost[at, c]
            s = successor[at]
        for c in range(C):
            high[k, c] = low[k, c] + rest


def bound_by_replay(
    log: Log,
    policy: Any,
    budget: Mapping[str, float] | None = None,
    delta: float = 0.1,
    initial: Any = None,
    stationary: bool = False,
    seed: int = 0,
) -> Bounds:
    """Compute bounds on the values of one policy that was chosen without the log.

    Parameters
    ----------
    log : Log
        The episodes.
    policy, budget, delta, initial, stationary, seed
        As for `Log.bound`.
    """
    delta, stationary = share("delta", delta), flag("stationary", stationary)
    limits, units = log.scale_budget(budget), Units(log.cost_unit, log.constraint_units)
    pi = check_policy(_with_end(log, policy), _actions_of(log), log.names)
    rng = np.random.default_rng(whole("seed", seed, 0))
    K, H, C = len(log.scaled), log.horizon, 1 + len(log.constraint_units)
    starts = np.array(log.scaled.states[:, 0], dtype=np.int64)
    if initial is not None:
        starts = rng.choice(log.n_states, size=K, p=start_of(log, initial))
    order, first, last = _lists(log, stationary)
    costs = np.concatenate((log.scaled.cost[:, :, None], _last_axis(log)), axis=2)
    low, high = np.empty((2, K, C))
    replay(
        order,
        first,
        last,
        np.ascontiguousarray(log.scaled.states[:, 1:], dtype=np.int64).reshape(-1),
        np.ascontiguousarray(costs).reshape(-1, C),
        starts,
        pi,
        rng.random((K, H)),
        NO_END if log.end is None else log.end.state,
        np.zeros(C) if log.end is None else np.asarray(log.end.cost, dtype=np.float64),
        low,
        high,
    )
    chance = delta / (2 * C)
    ends = np.empty((C, 2))
    for c in range(C):
        ends[c, 0] = H * least_mean((low[:, c] / H).clip(0.0, 1.0), chance)
        ends[c, 1] = H - H * least_mean((1.0 - high[:, c] / H).clip(0.0, 1.0), chance)
    return bounds_of(ends, limits, units, delta, H, ONE)


def bound_average(
    log: Log, budget: Mapping[str, float] | None = None, delta: float = 0.1
) -> Bounds:
    """Compute bounds on the average values of the policies that made the log.

    Parameters
    ----------
    log : Log
        The episodes.
    budget, delta
        As for `Log.bound_average`.
    """
    delta = share("delta", delta)
    limits, units = log.scale_budget(budget), Units(log.cost_unit, log.constraint_units)
    totals = log.scaled_totals
    H, C = log.horizon, totals.shape[1]
    ends = np.empty((C, 2))
    for c in range(C):
        mean, radius = average_band(totals[:, c], 0.0, float(H), delta / C)
        ends[c] = mean[-1] - radius[-1], mean[-1] + radius[-1]
    return bounds_of(ends.clip(0.0, H), limits, units, delta, H, AVERAGE)


def _lists(log: Log, stationary: bool) -> tuple[Ints, Ints, Ints]:
    """Return the steps list by list, in the order of the log, and where each list begins and ends.

    Steps of finished episodes are in none.
    """
    stages = 1 if stationary else log.horizon
    size = stages * log.n_states * log.n_actions
    cells = cells_of(log, stages).reshape(-1)
    if log.end is not None:
        is_over = log.scaled.states[:, :-1].reshape(-1) == log.end.state
        cells = np.where(is_over, size, cells)
    counts = np.bincount(cells, minlength=size)[:size]
    last = np.cumsum(counts)
    return np.argsort(cells, kind="stable"), last - counts, last


def _last_axis(log: Log) -> Floats:
    return np.moveaxis(np.asarray(log.scaled.constraint_cost, dtype=np.float64), 1, 2)


def _actions_of(log: Log) -> Bools:
    mask = np.ones((log.horizon, log.n_states, log.n_actions), dtype=np.bool_)
    if log.end is not None:
        mask[:, log.end.state, 1:] = False
    return mask


def _with_end(log: Log, policy: Any) -> Any:
    """Return the policy with a row for the state of finished episodes, if only that is missing."""
    policy = getattr(policy, "policy", policy)
    if log.end is None:
        return policy
    try:
        pi = np.asarray(policy)
    except ValueError:
        return policy
    rows, is_actions = log.n_states - 1, pi.dtype.kind in "iu" and pi.ndim == 2
    axis = 1 if pi.ndim == 3 or is_actions else 0
    if pi.ndim not in (2, 3) or pi.shape[axis] != rows:
        return policy
    if is_actions:
        pi = np.hstack((pi, np.zeros((len(pi), 1), dtype=pi.dtype)))
        is_known = (pi >= 0) & (pi < log.n_actions)
        return np.eye(log.n_actions)[pi] if is_known.all() else pi
    row = np.zeros((*pi.shape[:-2], 1, log.n_actions))
    row[..., 0] = 1.0
    return np.concatenate((pi, row), axis=pi.ndim - 2)
