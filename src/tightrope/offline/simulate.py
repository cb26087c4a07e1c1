"""Simulated logs: episodes of a policy in a known model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, as_seed, whole
from tightrope.belief.counts import Steps
from tightrope.belief.episode import Episodes
from tightrope.experiments.simulate import NOISES, Beta, new_beta, play
from tightrope.kernels.compiled import compiled
from tightrope.model import CMDP
from tightrope.model.base import writable_problem
from tightrope.model.cmdp import as_cmdp
from tightrope.offline.log import Log
from tightrope.plan.evaluate import as_policy


@compiled
def play_episodes(
    true_model: Problem,
    noise: int,
    pi: Floats,
    choice: Ints,
    rng: np.random.Generator,
    beta: Beta,
    states: Ints,
    actions: Ints,
    cost: Floats,
    constraint_cost: Floats,
) -> None:
    """Episodes of a policy, (K, ...) arrays of `Steps`."""
    for k in range(states.shape[0]):
        steps = Steps(states[k], actions[k], cost[k], constraint_cost[k])
        play(true_model, noise, pi, choice, False, rng, beta, steps)


def simulate(
    cmdp: CMDP | str,
    policy: Any,
    episodes: int = 1000,
    seed: int | np.random.SeedSequence | np.random.Generator | None = None,
) -> Log:
    """Simulate episodes of a policy in a known model.

    Parameters
    ----------
    cmdp : CMDP or str
        The model, or its name in the catalog.
    policy : Plan, (H, S, A) or (S, A) array, or (H, S) integers
        As for `evaluate`.
    episodes : int
        Number of episodes.
    seed : int, SeedSequence, Generator or None
        Source of randomness; fresh entropy by default. ``log.seed`` is a number that repeats the
        episodes, unless a generator was given.

    Returns
    -------
    Log
        The episodes: ``episodes`` has their steps, ``totals`` their totals, and `to_pandas` a table
        of the steps. `fit` plans from it.

    Examples
    --------
    >>> import tightrope as tr
    >>> cmdp = tr.envs.build("ring")
    >>> plan = tr.solve(cmdp)
    >>> log = tr.simulate(cmdp, plan, episodes=2000, seed=0)
    >>> log.totals.mean(axis=0).round(1), round(plan.value, 1), plan.constraint_value.round(1)
    (array([2., 3.]), 2.0, array([3.]))
    """
    cmdp, K = as_cmdp(cmdp), whole("episodes", episodes)
    pi, true_model = as_policy(cmdp, policy), writable_problem(cmdp)
    if isinstance(seed, np.random.Generator):
        own, rng = None, seed
    else:
        own = as_seed("seed", seed)
        rng = np.random.default_rng(own)
    H, I = cmdp.horizon, cmdp.n_constraints
    states, actions = np.zeros((K, H + 1), dtype=np.int64), np.zeros((K, H), dtype=np.int64)
    cost, bounded = np.zeros((K, H)), np.zeros((K, H, I))
    choice = np.zeros((H, cmdp.n_states), dtype=np.int64)
    noise = NOISES[cmdp.noise]
    beta, _block = new_beta(noise, rng)
    play_episodes(true_model, noise, pi, choice, rng, beta, states, actions, cost, bounded)
    return Log(
        _scaled=Episodes(states, actions, cost, np.ascontiguousarray(np.moveaxis(bounded, 2, 1))),
        episode_names=tuple(map(str, range(K))),
        state_names=tuple(cmdp.state_names),
        action_names=tuple(cmdp.action_names),
        constraint_names=tuple(cmdp.constraint_names),
        cost_unit=cmdp.cost_unit,
        constraint_units=tuple(cmdp.constraint_units),
        _end=None,
        faults=(),
        n_left_out=0,
        place="row",
        layout="rows",
        seed=own,
    )
