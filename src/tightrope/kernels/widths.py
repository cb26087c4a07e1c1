"""Widths of confidence intervals from counts: Hoeffding, Bernstein, Bernoulli-KL."""

from __future__ import annotations

import math

from tightrope.kernels.compiled import inlined

STEPS = 60  # more than any root needs; the loops leave when they stop moving


@inlined
def hoeffding(log_term: float, n: float) -> float:
    """Width of a mean of n values in [0, 1]: ``sqrt(log_term / max(n, 1))``."""
    return math.sqrt(log_term / max(n, 1.0))


@inlined
def bernstein(p: float, log_term: float, n: float) -> float:
    """Width of an estimated probability from n draws.

    ::

        2 sqrt( p (1 - p) L / (n v 1) ) + (14/3) L / (n v 1)
    """
    share = log_term / max(n, 1.0)
    return 2.0 * math.sqrt(p * (1.0 - p) * share) + (14.0 / 3.0) * share


@inlined
def kl(p: float, x: float) -> float:
    """Bernoulli relative entropy of p to x, infinite where x rules out what p allows."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / x) if x > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - x)) if x < 1.0 else math.inf
    return total


@inlined
def kl_upper(p: float, bound: float) -> float:
    """Largest x with ``kl(p, x) <= bound``.

    Newton from the right: kl is convex and increasing there, so iterates fall toward the root and
    never pass it; the result errs outwards by rounding only.
    """
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 1.0 - math.exp(-bound)
    # kl(p, x) >= (1-p) log((1-p)/(1-x)) + p log p, which the start solves with equality
    x = 1.0 - (1.0 - p) * math.exp(-(bound - p * math.log(p)) / (1.0 - p))
    if x >= 1.0:
        return 1.0
    for _ in range(STEPS):
        slope = (x - p) / (x * (1.0 - x))
        if slope <= 0.0:
            break
        step = (kl(p, x) - bound) / slope
        if step <= 1e-15 * x:
            break
        x -= step
    return min(max(x, p), 1.0)


@inlined
def kl_lower(p: float, bound: float) -> float:
    """Smallest x with ``kl(p, x) <= bound``, by symmetry."""
    return 1.0 - kl_upper(1.0 - p, bound)
