"""Confidence bands for the mean of realised sums, valid while the policy changes.

Episodes of a learner are not alike: each is played by a policy that the earlier ones chose. What
the sums ``x_k`` of such episodes estimate is the average of what was to be expected of each, given
those before it. With ``x`` scaled to [0, 1], any guess ``g_k`` made before episode k, and
``V_n = sum_k (x_k - g_k)^2``, it holds for any ``0 < t < 1`` and all n at once, with probability
``1 - d``, that ::

    | mean_n - average of expectations | <= (log(2/d) + (-log(1-t) - t) V_n) / (t n)

an empirical Bernstein bound for martingales. The guess is the mean so far, and the least over a few
``t`` is taken, each at an equal share of ``d``.

Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
sequences, Annals of Statistics 49, theorem 4 with the boundary of section 3.1.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats

BAND_WORDS = "empirical Bernstein for martingales (Howard et al. 2021, theorem 4)"
TILTS = np.array([0.9, 0.7, *0.5 ** np.arange(1, 9)])
FIRST_GUESS = 0.5


def mean_and_radius(values: Floats, low: float, high: float, delta: float) -> tuple[Floats, Floats]:
    """Means of the first n values and the radii of their bands, for every n.

    Parameters
    ----------
    values : (K,) array
        Realised sums, in [low, high].
    low, high : float
        What a sum can be.
    delta : float
        Probability with which some band may miss.

    Returns
    -------
    mean, radius : (K,) arrays
        In the units of the values.
    """
    x = (values - low) / (high - low)
    n = np.arange(1, x.size + 1)
    mean = np.cumsum(x) / n
    guess = np.concatenate(([FIRST_GUESS], mean[:-1]))
    spread = np.cumsum((x - guess) ** 2)
    radius = np.full(x.size, np.inf)
    price = np.log(2.0 * TILTS.size / delta)
    for t in TILTS:
        np.minimum(radius, (price + (-np.log1p(-t) - t) * spread) / (t * n), out=radius)
    return np.cumsum(values) / n, radius * (high - low)
