"""Play one episode with a given generator: states, actions and observed costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.belief.counts import Steps
from tightrope.kernels.compiled import expanded, inlined

EXACT, BERNOULLI, BETA = 0, 1, 2  # how costs are drawn around their means
CERTAINTY = 2.0  # the two shapes of a beta draw add up to this


def new_steps(H: int, I: int) -> Steps:
    """Room for an episode."""
    return Steps(
        np.zeros(H + 1, dtype=np.int64),
        np.zeros(H, dtype=np.int64),
        np.zeros(H),
        np.zeros((H, I)),
    )


@inlined
def draw_index(weights: Floats, u: float) -> int:
    """Index drawn from probabilities by one uniform number; rounding never leaves their support."""
    chosen = -1
    for k in range(weights.size):
        if weights[k] > 0.0:
            chosen = k
            u -= weights[k]
            if u < 0.0:
                break
    return chosen


@inlined
def draw_cost(mean: float, noise: int, rng: np.random.Generator) -> float:
    """Observed cost in [0, 1] with that mean."""
    if noise == BERNOULLI:
        return 1.0 if rng.random() < mean else 0.0
    if noise == BETA and 0.0 < mean < 1.0:
        return rng.beta(CERTAINTY * mean, CERTAINTY * (1.0 - mean))
    return mean


@expanded
def play(
    truth: Problem,
    noise: int,
    pi: Floats,
    choice: Ints,
    is_deterministic: bool,
    rng: np.random.Generator,
    out: Steps,
) -> None:
    """Play a policy for H steps.

    Unless costs are beta distributed, an episode takes the same number of draws whatever happens
    in it: learners with generators in the same state see the same randomness, episode by episode.

    Parameters
    ----------
    truth : Problem
        With a known kernel.
    noise : int
        EXACT, BERNOULLI or BETA.
    pi : (H, S, A) array
    choice : (H, S) array
        Actions, read instead of ``pi`` when the policy is deterministic.
    is_deterministic : bool
    rng : Generator
    out : Steps
        Written.
    """
    H = choice.shape[0]
    A = truth.cost.shape[2]
    p: Any = truth.kernels
    s = draw_index(truth.initial, rng.random())
    for h in range(H):
        out.states[h] = s
        u = rng.random()  # drawn in any case, so that learners can share their randomness
        a = choice[h, s] if is_deterministic else draw_index(pi[h, s], u)
        out.actions[h] = a
        out.cost[h] = draw_cost(truth.cost[min(h, truth.cost.shape[0] - 1), s, a], noise, rng)
        layer = min(h, truth.constraint_cost.shape[1] - 1)
        for i in range(truth.budget.size):
            out.constraint_cost[h, i] = draw_cost(truth.constraint_cost[i, layer, s, a], noise, rng)
        g = min(h, p.indptr.shape[0] - 1)
        first, last = p.indptr[g, s * A + a], p.indptr[g, s * A + a + 1]
        s = int(p.indices[g, first + draw_index(p.data[g, first:last], rng.random())])
    out.states[H] = s
