"""Tiny models whose docstrings state the answer, and random ones of any size.

`problems` has the same for what compiled planners read.
"""

from __future__ import annotations

import numpy as np

from tightrope.model import CMDP

__all__ = ["coin", "detour", "random_cmdp", "seesaw", "stairs"]


def coin(budget: float = 0.25) -> CMDP:
    """One state, one step: heads (action 0) costs 1, tails is free and spends 1.

    A budget b in [0, 1] lets one call tails with probability b: value 1 - b, price 1. The frontier
    has the breakpoints (0, 1) and (1, 0). Heads leaves the whole budget as slack: Slater's slack is
    b, its policy costs 1, and the ratio (1 - (1 - b)) / b is 1.
    """
    return CMDP(np.ones((1, 2, 1)), [[1, 0]], [[[0, 1]]], [budget], 1, constraint_names=["tails"])


def seesaw(first: float, second: float) -> CMDP:
    """One state, one step: the left end (action 0) is free, the right costs 1, a third is bad.

    Sitting left with probability x spends x of the first budget and 1 - x of the second; the third
    action costs 1 and spends 1 of both. So budgets can be kept if and only if they sum to at least
    1, with the slack (first + second - 1)/2, attained at x = (1 + first - second)/2. Where they are
    kept the value is 1 - min(first, 1) and the prices are 1 and 0 (if first < 1 < first + second).
    Each alone can be brought to 0; jointly to 1 - second and 1 - first.
    """
    return CMDP(
        np.ones((1, 3, 1)),
        [[0, 1, 1]],
        [[[1, 0, 1]], [[0, 1, 1]]],
        [first, second],
        1,
        constraint_names=["left", "right"],
    )


def stairs(budget: float = 1.0) -> CMDP:
    """One state, three steps: two fair trades of cost for spending, and one that bends.

    In the first two steps one may spend 1 instead of paying 1; the first action pays in the first
    step and spends in the second. In the third one pays 1, or 0.25 and spends 0.25, or spends 1.
    The frontier sums the three: (0, 3), (0.25, 2.25), (2.25, 0.25), (3, 0) with prices 3, 1, 1/3.
    Its chord from end to end is parallel to the middle edge, and a policy of that price may lie
    anywhere on the edge: (1.25, 1.25) is attained and is not a breakpoint.
    """
    cost = [[[1, 0, 0]], [[0, 1, 1]], [[1, 0.25, 0]]]
    spending = [[[0, 1, 1]], [[1, 0, 0]], [[0, 0.25, 1]]]
    return CMDP(np.ones((1, 3, 1)), cost, [spending], [budget], 3)


def detour(budget: float = 0.5) -> CMDP:
    """Five states, three steps: a short cut that may fail, or a detour that cannot.

    At the start the short cut (action 0) leads home with 0.6 and to the ditch with 0.4; the detour
    leads to the road, and from there home. A step on the road costs 1; in the ditch one waits,
    which spends 1 a step, or is pulled out (action 1), which costs 1, spends 0.5 and leads home.

    Short cut and waiting cost 0 and spend 0.4 * 2 = 0.8; being pulled out at once costs 0.4 and
    spends 0.2, being pulled out in the last step costs 0.4 and spends 0.6; the detour costs 1 and
    spends nothing. Every cost point lies on or above the corners (0, 1), (0.2, 0.4), (0.8, 0) of
    the frontier, whose prices are 3 and 2/3. The state "moon" is never reached.
    """
    p = np.zeros((5, 2, 5))
    home, road, ditch, moon = 1, 2, 3, 4
    p[0, 0, [home, ditch]] = 0.6, 0.4
    p[0, 1, road] = p[home, :, home] = p[road, :, home] = p[moon, :, moon] = 1.0
    p[ditch, 0, ditch] = p[ditch, 1, home] = 1.0
    cost, spending = np.zeros((5, 2)), np.zeros((1, 5, 2))
    cost[road] = cost[ditch, 1] = cost[moon] = 1.0
    spending[0, ditch] = 1.0, 0.5
    return CMDP(
        p,
        cost,
        spending,
        [budget],
        3,
        state_names=["start", "home", "road", "ditch", "moon"],
        constraint_names=["shame"],
    )


def random_cmdp(
    rng: np.random.Generator,
    S: int,
    A: int,
    H: int,
    I: int,
    *,
    is_tied: bool = False,
    is_sparse: bool = False,
    is_stationary: bool = False,
    is_masked: bool = False,
) -> CMDP:
    """A random model whose budgets do not bind.

    Parameters
    ----------
    rng : numpy.random.Generator
    S, A, H, I : int
    is_tied : bool
        Costs are 0, 0.5 or 1 and the probabilities of a row have few values, so that much is tied.
    is_sparse : bool
        About half of the successors are impossible.
    is_stationary : bool
        Nothing depends on time.
    is_masked : bool
        Some actions are forbidden; their rows and costs are NaN.
    """
    lead = () if is_stationary else (H,)
    p, cost, d = (rng.random((*lead, S, A, n)) for n in (S, 1, I))
    if is_tied:
        p, cost, d = np.ceil(2 * p), np.rint(2 * cost) / 2, np.rint(2 * d) / 2
    if is_sparse:
        p *= rng.random(p.shape) < 0.5
        np.put_along_axis(p, rng.integers(S, size=(*p.shape[:-1], 1)), 1.0, axis=-1)
    p /= p.sum(axis=-1, keepdims=True)
    allowed = np.ones((*lead, S, A), dtype=np.bool_)
    if is_masked:
        allowed = rng.random(allowed.shape) < 0.6
        allowed |= np.arange(A) == rng.integers(A, size=(*allowed.shape[:-1], 1))
        p[~allowed] = cost[~allowed] = d[~allowed] = np.nan
    initial = rng.dirichlet(np.ones(S)) if rng.random() < 0.5 else int(rng.integers(S))
    bounded, budget = (np.moveaxis(d, -1, 0), np.full(I, float(H))) if I else (None, None)
    return CMDP(p, cost[..., 0], bounded, budget, H, initial, allowed)
