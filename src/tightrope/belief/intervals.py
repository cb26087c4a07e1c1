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

**One policy.** All totals have the same expectation mu. If mu is at most m, then ::

    W_n(m) = sum_j w_j product over k <= n of (1 + c_j (x_k / m - 1)),     sum_j w_j = 1

is a supermartingale that begins at 1, so it reaches ``1/d`` at some n with probability at most
``d``. The bound is the greatest m at which it did: Waudby-Smith and Ramdas (2024), Estimating means
of bounded random variables by betting, Journal of the Royal Statistical Society B 86, with a
mixture over constant stakes ``c_j`` (`STAKES`).

The stakes do not depend on the totals, so W grows with each total. The bound therefore also
holds if totals are replaced by smaller numbers, whatever these depend on; with stakes that
follow from earlier totals it might not, if a smaller number depends on later totals.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats

TILTS = np.array([0.9, 0.7, *0.5 ** np.arange(1, 9)])
FIRST_GUESS = 0.5
STAKES = 0.99 * 0.5 ** np.arange(12)
WEIGHTS = 0.5 ** np.arange(12) * (0.5 / (1.0 - 0.5**12))
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
    goal = np.log(1.0 / delta)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        m = (low + high) / 2.0
        low, high = (m, high) if _largest(totals, m) >= goal else (low, m)
    return low


def _largest(totals: Floats, m: float) -> float:
    """Return the logarithm of the largest W_n(m), n = 0, 1, ...; it falls as m grows."""
    logs = np.cumsum(np.log1p(STAKES[:, None] * (totals / m - 1.0)), axis=1)
    logs += np.log(WEIGHTS)[:, None]
    peak = logs.max(axis=0)
    mixture = peak + np.log(np.exp(logs - peak).sum(axis=0))
    return float(mixture.max(initial=0.0))
