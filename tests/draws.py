"""What hypothesis draws: tiny models, budgets for them, boxes around kernels, and its settings."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import brute
import zoo
from tightrope.model import CMDP

__all__ = ["FEW", "MANY", "SOME", "Boxed", "Case", "boxes", "cases", "models", "policies"]

# the same examples in every run; the first one may compile kernels
MANY, SOME, FEW = (
    settings(
        derandomize=True,
        deadline=None,
        max_examples=n,
        suppress_health_check=[HealthCheck.too_slow],
    )
    for n in (80, 40, 20)
)

SIZES = [
    (S, A, H)
    for S, A, H in product(range(1, 4), range(1, 4), range(1, 5))
    if A ** (S * H) <= 600  # deterministic policies, all of which are enumerated
]


class Case(NamedTuple):
    """A model whose budgets may bind, and the points of all its deterministic policies."""

    cmdp: CMDP
    points: np.ndarray  # (N, I+1) cost and constraint values
    slack: float  # largest common slack of the budgets, to rounding


class Boxed(NamedTuple):
    """A model, bounds on its kernel, and signed losses."""

    cmdp: CMDP
    lower: np.ndarray  # (S, A, S) or (H, S, A, S)
    upper: np.ndarray
    cost: np.ndarray  # (S, A) or (H, S, A)
    constraint_cost: np.ndarray | None  # (I, ...) or None when there are no constraints


@st.composite
def models(draw, least=0, most=3, sizes=SIZES, can_mask=True):
    """Models with ``least`` to ``most`` constraints and budgets that do not bind."""
    S, A, H = draw(st.sampled_from(sizes))
    I = draw(st.integers(least, most))
    flags = draw(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return zoo.random_cmdp(
        rng,
        S,
        A,
        H,
        I,
        is_tied=flags[0],
        is_sparse=flags[1],
        is_stationary=flags[2],
        is_masked=flags[3] and can_mask,
    )


@st.composite
def cases(draw, least=1, most=3, margin=None):
    """Models with budgets: inside what can be attained, or ``margin`` away from its boundary.

    The common slack of the budgets is made equal to the margin; without one they are what a random
    mixture of policies spends.
    """
    cmdp = draw(models(least, most))
    points = brute.points(cmdp)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    budget = rng.dirichlet(np.full(len(points), 0.3)) @ points[:, 1:]
    if margin is not None:
        budget = budget + brute.least_excess(points, budget) + margin
    cmdp = cmdp.with_budget(np.clip(budget, 0.0, cmdp.horizon))
    return Case(cmdp, points, -brute.least_excess(points, cmdp.budget))


@st.composite
def policies(draw, cmdp):
    """Randomized policies over the allowed actions, some of them deterministic in places."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    policy = rng.dirichlet(np.full(cmdp.n_actions, 0.5), size=(cmdp.horizon, cmdp.n_states))
    policy = (policy + 1e-3) * cmdp.allowed * (rng.random(policy.shape) < 0.8)
    policy += (policy.sum(axis=2, keepdims=True) == 0) * cmdp.allowed
    return policy / policy.sum(axis=2, keepdims=True)


@st.composite
def boxes(draw, least=0, most=2, is_signed=None):
    """Boxes around the kernel of a model: points, parts of the simplex or all of it."""
    sizes = [(S, A, H) for S, A, H in product(range(1, 5), range(1, 4), range(1, 4))]
    cmdp = draw(models(least, most, sizes, can_mask=False))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = cmdp.transition
    width = draw(st.sampled_from([0.1, 0.5, 1.0]))
    radius = width * rng.random(p.shape) * (rng.random(p.shape) < 0.8)
    if draw(st.booleans()):
        radius = np.rint(4 * radius) / 4
    radius[p == 0] *= draw(st.sampled_from([0.0, 1.0]))
    lower, upper = np.clip(p - radius, 0, 1), np.clip(p + radius, 0, 1)
    signed = draw(st.booleans()) if is_signed is None else is_signed
    shift = 0.5 if signed else 0.0
    I, H = cmdp.n_constraints, cmdp.horizon
    if I:
        cmdp = cmdp.with_budget(rng.random(I) * H * draw(st.sampled_from([0.1, 0.5])))
    return Boxed(
        cmdp,
        lower,
        upper,
        cmdp.cost - shift,
        cmdp.constraint_cost - shift if I else None,
    )
