"""Confidence intervals for expected totals of episodes, from totals that were observed.

Totals are scaled to [0, 1], and both kinds hold for every number of episodes at once, so it does
not matter when the collection of episodes stopped.

**Policies that may change.** Each episode is played by a policy that depends on the earlier ones.
With any guess ``g_k`` made before episode k and ``V_n = sum_k (x_k - g_k)^2``, it holds for any
``0 < t < 1`` and all n, with probability ``1 - d``, that ::

    | mean_n - average of expectations | <= (log(2/d) + (-log(1-t) - t) V_n) / (t n)

The guess is the mean so far, and the least over a few ``t`` is taken, each at an equal share of
``d``: Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic
confidence sequences, Annals of Statistics 49, theorem 4 with the boundary of section 3.1.

**One policy.** All totals have the same expectation mu. Were it at most m, then ::

    wealth_n(m) = product over k <= n of (1 + w_k (x_k - m)),     0 <= w_k <= LARGEST_STAKE / m

would be the wealth of a gambler in a game that is not in their favor, and reach ``1/d`` with
probability at most ``d``, where the stakes ``w_k`` depend on earlier totals only. So mu is greater
than every m at which it did: Waudby-Smith and Ramdas (2024), Estimating means of bounded random
variables by betting, Journal of the Royal Statistical Society B 86. The wealth grows with each
total, so the bound also holds if totals are replaced by smaller numbers.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats

TILTS = np.array([0.9, 0.7, *0.5 ** np.arange(1, 9)])
FIRST_GUESS = 0.5
FIRST_VARIANCE = 0.25
LARGEST_STAKE = 0.99
HALVINGS = 50


def average_band(totals: Floats, low: float, high: float, delta: float) -> tuple[Floats, Floats]:
    """Return means of the first n totals in [low, high] and radii of their bands, for every n.

    The probability that some band does not contain the average of the expectations is at most
    ``delta``, also if the policy changed between episodes.
    """
    x = (totals - low) / (high - low)
    n = np.arange(1, x.size + 1)
    mean = np.cumsum(x) / n
    guess = np.concatenate(([FIRST_GUESS], mean[:-1]))
    spread = np.cumsum((x - guess) ** 2)
    radius = np.full(x.size, np.inf)
    price = np.log(2.0 * TILTS.size / delta)
    for t in TILTS:
        np.minimum(radius, (price + (-np.log1p(-t) - t) * spread) / (t * n), out=radius)
    return np.cumsum(totals) / n, radius * (high - low)


def least_mean(totals: Floats, delta: float) -> float:
    """Return a lower bound on the common expectation of totals in [0, 1].

    The probability that it is too large is at most ``delta``.
    """
    n = np.arange(1, totals.size + 1)
    mean = (FIRST_GUESS + np.cumsum(totals)) / (n + 1)
    variance = (FIRST_VARIANCE + np.cumsum((totals - mean) ** 2)) / (n + 1)
    before = np.concatenate(([FIRST_VARIANCE], variance[:-1]))
    goal = np.log(1.0 / delta)
    stake = np.sqrt(2.0 * goal / (before * n * np.log1p(n)))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        m = (low + high) / 2.0
        wealth = np.cumsum(np.log1p(np.minimum(stake, LARGEST_STAKE / m) * (totals - m)))
        low, high = (m, high) if wealth.max(initial=0.0) >= goal else (low, m)
    return low
