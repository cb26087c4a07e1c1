"""Random CMDPs of any size, with budgets of a given tightness.

Every pair (s, a) has ``branching`` different successors with Dirichlet(1, ..., 1) probabilities;
costs and constraint costs are uniform on [0, 1]. Episodes start in state 0, or in any state.

Budgets lie on the line between two policies. Let x be the constraint values of the policy that is
best without constraints, and y those of the policy that minimizes the sum of all constraint costs::

    budget = (1 - tightness) x + tightness y,    clipped to [0, H]

At tightness 0 the unconstrained optimum is feasible. For every tightness in [0, 1], playing the
second policy with that probability and the first otherwise satisfies all budgets; above 0 the
unconstrained optimum exceeds one of them. Beyond 1 the budgets add up to less than any policy's sum
of constraint costs, and the problem is infeasible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.envs.building import require_at_least, require_between
from tightrope.model import CMDP

MOST_STEPS = 1_000_000  # computing the budgets takes a sweep over them


def random_cmdp(
    n_states: int = 20,
    n_actions: int = 4,
    horizon: int = 10,
    n_constraints: int = 2,
    branching: int = 4,
    tightness: float = 0.5,
    time_dependent: bool = False,
    seed: int = 0,
    uniform_start: bool = False,
) -> CMDP:
    """Random sparse CMDP.

    Parameters
    ----------
    n_states, n_actions, horizon, n_constraints : int
        Sizes S, A, H, I; the horizon is at most 1,000,000.
    branching : int
        Successors of each pair, at most ``n_states``.
    tightness : float
        From 0 (the unconstrained optimum is just allowed) to 1 (as tight as one policy can keep).
        Below 0, down to -1, the budgets are slack; beyond 1 they are infeasible.
    time_dependent : bool
        Whether kernels and costs are drawn separately for each stage.
    seed : int
        Seed of the draws, at least 0.
    uniform_start : bool
        Whether episodes start in all states with equal probability, so that every state is reached;
        by default they start in state 0.
    """
    require_at_least("n_states", n_states, 1)
    require_at_least("n_actions", n_actions, 1)
    require_between("horizon", horizon, 1, MOST_STEPS)
    require_at_least("n_constraints", n_constraints, 0)
    require_between("branching", branching, 1, n_states)
    require_at_least("tightness", tightness, -1.0)
    require_at_least("seed", seed, 0)
    S, A, H, I = n_states, n_actions, horizon, n_constraints
    rng = np.random.default_rng(seed)
    stages = H if time_dependent else 1
    kernels = [_sparse_kernel(rng, S, A, branching) for _ in range(stages)]
    cost = rng.random((stages, S, A))
    constraint_cost = rng.random((I, stages, S, A))

    initial = np.full(S, 1.0 / S) if uniform_start else (np.arange(S) == 0).astype(np.float64)
    frugal = constraint_cost.sum(axis=0)
    cheapest, most_frugal = (
        initial @ _values_of_best(kernels, H, loss, constraint_cost) for loss in (cost, frugal)
    )
    budget = (1.0 - tightness) * cheapest + tightness * most_frugal
    return CMDP(
        kernels if time_dependent else kernels[0],
        cost if time_dependent else cost[0],
        constraint_cost if time_dependent else constraint_cost[:, 0],
        np.clip(budget, 0.0, H),
        horizon=H,
        initial=initial if uniform_start else 0,
    )


def _sparse_kernel(rng: np.random.Generator, S: int, A: int, branching: int) -> Any:
    """Return rows with that many different successors each, as a CSR matrix (S*A, S)."""
    from scipy.sparse import csr_array

    rows = S * A
    # a sorted draw from a shorter range, spread by 0, 1, 2, ..., never repeats a successor
    drawn = np.sort(rng.integers(0, S - branching + 1, size=(rows, branching)), axis=1)
    successors = drawn + np.arange(branching)
    weights = rng.standard_exponential((rows, branching))
    weights /= weights.sum(axis=1, keepdims=True)
    indptr = np.arange(rows + 1) * branching
    return csr_array((weights.ravel(), successors.ravel(), indptr), shape=(rows, S))


def _values_of_best(kernels: Sequence[Any], H: int, loss: Floats, watched: Floats) -> Floats:
    """Return values of the watched costs, (S, I), under the policy that minimizes the loss.

    Backward induction carries the loss and the watched costs together; ties go to the first action.
    """
    S, A = loss.shape[1:]
    to_go = np.zeros((S, 1 + len(watched)))
    states = np.arange(S)
    for h in range(H - 1, -1, -1):
        g = min(h, len(kernels) - 1)
        expected = (kernels[g] @ to_go).reshape(S, A, -1)
        best = np.argmin(loss[g] + expected[:, :, 0], axis=1)
        now = np.stack([loss[g], *watched[:, g]], axis=2)[states, best]
        to_go = now + expected[states, best]
    return to_go[:, 1:]
