"""Bounds on the values of one policy, from episodes that are put together from logged steps.

The outcome of an action in a state (next state and costs) does not depend on how the process got
there. So an episode of another policy may use the outcomes of logged steps, in the order in
which they happened::

    a replayed episode in state s at stage h draws a ~ policy_h(s) and waits at (h, s, a)
    the next step of the log with (h, s, a) gives it cost and next state; it moves on

and at (s, a) if the process is the same at every stage. Episode k starts with episode k of the
log. If several episodes wait, the first one takes the outcome; if none does, it is not used.

Which episode takes an outcome is determined before it happened. So its outcomes are independent
draws, whatever policies made the log, also if they depend on earlier outcomes or
if the log ended because of them, and replayed episodes are independent episodes of the policy.
Those that still wait when the log ends are incomplete: the rest counts with the least costs for
lower bounds and the greatest for upper ones. (Outcomes may not be kept for later use: whether the
log has enough of them may depend on what they are, and episodes that use them are biased.)

The bounds (`tightrope.belief.intervals`, one policy) assume that

- the process has the Markov property, is the same in every episode, and starts anew in each;
- the episodes are in the order in which they happened, or do not depend on each other;
- the policy was chosen without them.

They are much narrower than bounds that hold for every policy at once, if the log often takes
the policy's actions. Replaying logged steps is the subject of Mandel, Liu, Brunskill and Popovic
(2016), Offline evaluation of online reinforcement learning algorithms, AAAI.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, flag, share, whole
from tightrope.belief.intervals import average_band, least_mean
from tightrope.kernels.compiled import compiled, inlined
from tightrope.model.units import Units
from tightrope.offline.log import (
    Log,
    cells_of,
    scale_budget,
    scaled_end,
    scaled_episodes,
    scaled_totals,
    start_of,
)
from tightrope.plan.bound import AVERAGE, ONE, Bounds, bounds_of
from tightrope.plan.evaluate import check_policy

NO_END = -1
NONE = -1  # no episode


@inlined
def merge(one: int, other: int, left: Ints, right: Ints) -> int:
    """Join two skew heaps of episodes, given by their first ones, and return the first of both."""
    if one == NONE:
        return other
    if other == NONE:
        return one
    first, last = min(one, other), max(one, other)
    top = first
    while True:
        rest = right[first]
        right[first] = left[first]
        if rest == NONE:
            left[first] = last
            return top
        left[first] = min(rest, last)
        first, last = min(rest, last), max(rest, last)


@compiled
def replay(
    cells: Ints,
    states: Ints,
    cost: Floats,
    starts: Ints,
    pi: Floats,
    draws: Floats,
    end: int,
    end_cost: Floats,
    waiting: Ints,
    left: Ints,
    right: Ints,
    stage: Ints,
    low: Floats,
) -> None:
    """Replay a log; compute the least totals of the replayed episodes.

    Parameters
    ----------
    cells : (K, H) array
        Number of the (stage, state, action) of each step, `NO_END` after the end of an episode.
    states : (K, H+1) array
        States of the log.
    cost : (K, H, C) array
        Costs of each step, in [0, 1].
    starts : (K,) array
        States in which replayed episodes begin.
    pi : (H, S, A) array
        The policy.
    draws : (K, H) array
        Uniform draws, one for each action.
    end : int
        The absorbing state of finished episodes, or `NO_END`.
    end_cost : (C,) array
        Costs of a step in it.
    waiting : (G * S * A,) array, written
        First episode that waits in each cell, `NONE` before; G is 1 or H.
    left, right : (K,) arrays, written
        Heaps of waiting episodes, `NONE` before.
    stage : (K,) array, written
        Number of steps of each replayed episode that are known, 0 before.
    low : (K, C) array, written
        Total of the known steps, 0 before.
    """
    K, C = low.shape
    H, S, A = pi.shape
    stages = waiting.size // (S * A)
    for k in range(K):
        j, s = k, starts[k]  # the episode that moves, and where it is
        for h in range(-1, H):
            if h >= 0:
                cell = cells[k, h]
                if cell == NO_END:
                    break
                j = waiting[cell]
                if j == NONE:
                    continue
                waiting[cell] = merge(left[j], right[j], left, right)
                left[j], right[j] = NONE, NONE
                for c in range(C):
                    low[j, c] += cost[k, h, c]
                stage[j] += 1
                s = states[k, h + 1]
            now = stage[j]
            if s == end:
                for c in range(C):
                    low[j, c] += (H - now) * end_cost[c]
                stage[j] = H
            elif now < H:
                a, below = -1, 0.0
                for b in range(A):
                    if pi[now, s, b] > 0.0 and (a < 0 or draws[j, now] >= below):
                        a = b
                        below += pi[now, s, b]
                row = (min(now, stages - 1) * S + s) * A + a
                waiting[row] = merge(waiting[row], j, left, right)


def replay_log(
    log: Log, pi: Floats, starts: Ints, draws: Floats, stationary: bool
) -> tuple[Floats, Floats]:
    """Return the least and the greatest totals of replayed episodes, (K, 1 + I) each."""
    K, H, S, A = log.n_episodes, *pi.shape
    stages = 1 if stationary else H
    states = np.ascontiguousarray(scaled_episodes(log).states, dtype=np.int64)
    cells = np.array(cells_of(log, stages), dtype=np.int64)
    end, end_cost = NO_END, np.zeros(1 + len(log.constraint_units))
    last = scaled_end(log)
    if last is not None:
        end, end_cost = last.state, np.asarray(last.cost, dtype=np.float64)
        cells[states[:, :-1] == end] = NO_END
    bounded = np.moveaxis(np.asarray(scaled_episodes(log).constraint_cost, dtype=np.float64), 1, 2)
    cost = np.concatenate((scaled_episodes(log).cost[:, :, None], bounded), axis=2)
    sizes = stages * S * A, K, K
    waiting, left, right = (np.full(size, NONE, dtype=np.int64) for size in sizes)
    stage, low = np.zeros(K, dtype=np.int64), np.zeros((K, cost.shape[2]))
    replay(
        cells,
        states,
        np.ascontiguousarray(cost),
        starts,
        pi,
        draws,
        end,
        end_cost,
        waiting,
        left,
        right,
        stage,
        low,
    )
    return low, low + (H - stage)[:, None]


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
    limits, units = scale_budget(log, budget), Units(log.cost_unit, log.constraint_units)
    pi = check_policy(_with_end(log, policy), _actions_of(log), log.names)
    rng = np.random.default_rng(whole("seed", seed, 0))
    K, H, C = log.n_episodes, log.horizon, 1 + len(log.constraint_units)
    starts = np.array(scaled_episodes(log).states[:, 0], dtype=np.int64)
    if initial is not None:
        starts = rng.choice(log.n_states, size=K, p=start_of(log, initial))
    low, high = replay_log(log, pi, starts, rng.random((K, H)), stationary)
    chance = delta / (2 * C)
    ends = np.empty((C, 2))
    for c in range(C):
        ends[c, 0] = H * least_mean((low[:, c] / H).clip(0.0, 1.0), chance)
        ends[c, 1] = H - H * least_mean((1.0 - high[:, c] / H).clip(0.0, 1.0), chance)
    return bounds_of(ends, limits, units, delta, H, ONE, log.constraint_names)


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
    limits, units = scale_budget(log, budget), Units(log.cost_unit, log.constraint_units)
    totals = scaled_totals(log)
    H, C = log.horizon, totals.shape[1]
    ends = np.empty((C, 2))
    for c in range(C):
        mean, radius = average_band(totals[:, c], 0.0, float(H), delta / C)
        ends[c] = mean[-1] - radius[-1], mean[-1] + radius[-1]
    return bounds_of(ends.clip(0.0, H), limits, units, delta, H, AVERAGE, log.constraint_names)


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
