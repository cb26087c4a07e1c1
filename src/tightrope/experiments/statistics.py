"""Statistics across seeds: averages, bootstrap bands, paired differences and growth.

Mean, median and interquartile mean (IQM) are trimmed means with three cuts. Bands are percentile
bootstraps over runs, stratified by environment, following Agarwal et al. (2021), arXiv:2108.13264.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import ConfigError

STATISTICS = ("mean", "median", "IQM")
LEVEL = 0.95  # of every band
RESAMPLES = 2_000
AT_ONCE = 40_000  # numbers processed at once, few enough for the CPU cache
DECADE = 10.0


class Band(NamedTuple):
    """A statistic and its bootstrap band; the band is NaN where there is none."""

    middle: Floats
    low: Floats
    high: Floats

    def as_data(self) -> dict[str, float]:
        """Return a single number and its band as plain data."""
        return {name: float(value) for name, value in self._asdict().items()}


@final
class Resamples:
    """Bootstrap resamples, drawn once for each number of runs.

    Statistics computed with the same resamples are consistent: a band in a table is the end of the
    band of its curve, whatever the order of computation.
    """

    def __init__(self, rng: np.random.Generator, n_resamples: int = RESAMPLES) -> None:
        self.n_resamples = n_resamples
        self._key = int(rng.integers(2**63))
        self._drawn: dict[tuple[int, ...], Floats] = {}

    def counts(self, *sizes: int) -> Floats:
        """Return how often each run is drawn, (B, N); each stratum keeps its size."""
        if sizes not in self._drawn:
            rng = np.random.default_rng([self._key, *sizes])
            drawn = [rng.multinomial(n, np.full(n, 1 / n), size=self.n_resamples) for n in sizes]
            self._drawn[sizes] = np.concatenate(drawn, axis=1).astype(np.float64)
        return self._drawn[sizes]


@dataclass(frozen=True)
class Paired:
    """Comparison of two learners over their common seeds."""

    n_seeds: int  # in common
    difference: Band  # mean of first minus second; negative if the first is better
    improvement: Band  # share of seeds in which the first was lower, ties counted half


def middle_of(values: Floats, statistic: str) -> Floats:
    """Return mean, median or IQM over the first axis."""
    cut = _cut(len(values), statistic)
    kept = np.sort(values, axis=0)[cut : len(values) - cut] if cut else values
    return np.asarray(kept.mean(axis=0))


def band_of(
    strata: Sequence[Floats], statistic: str, resamples: Resamples, level: float = LEVEL
) -> Band:
    """Return a statistic of `STATISTICS` over all runs with its stratified bootstrap band.

    ``strata`` are (N, ...) arrays of runs by environment, resampled separately; ``level`` is the
    share of the resamples inside the band.
    """
    pooled = np.concatenate([np.asarray(each, dtype=np.float64) for each in strata])
    middle = middle_of(pooled, statistic)
    if all(len(each) < 2 for each in strata):
        return Band(middle, np.full_like(middle, np.nan), np.full_like(middle, np.nan))
    counts = resamples.counts(*(len(each) for each in strata))
    flat = pooled.reshape(len(pooled), -1)
    cut = _cut(len(pooled), statistic)
    low, high = np.empty(flat.shape[1]), np.empty(flat.shape[1])
    for part in _parts(flat.shape[1], len(counts)):
        found = _resample(flat[:, part], counts, cut)
        low[part], high[part] = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Band(middle, low.reshape(middle.shape), high.reshape(middle.shape))


def bands_data(values: Floats, resamples: Resamples) -> dict[str, dict[str, float]]:
    """Return every statistic of (N,) runs with its band as plain data."""
    return {name: band_of([values], name, resamples).as_data() for name in STATISTICS}


def compare_pairs(first: Floats, second: Floats, resamples: Resamples) -> Paired:
    """Compare two (N,) arrays of the same seeds in the same order: first minus second."""
    if len(first) != len(second) or len(first) == 0:
        raise ConfigError.about(
            "paired",
            shown=f"{len(first)} and {len(second)} runs",
            expected="equal numbers of runs, at least one",
        )
    wins = (first < second) + 0.5 * (first == second)
    both = band_of([np.stack((first - second, wins), axis=1)], "mean", resamples)
    difference, improvement = (Band(*(part[k] for part in both)) for k in (0, 1))
    return Paired(len(first), difference, improvement)


def slope_of(episode: Ints, curves: Floats, resamples: Resamples) -> Band:
    """Return the growth exponent of the mean curve over the last decade of episodes.

    The least-squares slope of log regret against log episode: 0.5 for growth like a square root,
    1 for a constant loss per episode. NaN where a mean in the last decade
    is not positive. ``curves`` has a cumulative regret for each seed, (N, P).
    """
    late = episode >= episode[-1] / DECADE
    x = np.log(np.asarray(episode[late], dtype=np.float64))
    weight = x - x.mean()
    nothing = np.asarray(np.nan)
    if x.size < 2:
        return Band(nothing, nothing, nothing)
    weight /= weight @ weight
    values = curves[:, late]
    middle = _slopes(values.mean(axis=0, keepdims=True), weight)[0]
    if len(curves) < 2 or np.isnan(middle):
        return Band(middle, nothing, nothing)
    counts = resamples.counts(len(curves))
    found = _slopes(counts @ values / len(curves), weight)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(middle, low, high)


def reference_of(episode: Ints, curve: Floats) -> float:
    """Return c such that ``c * sqrt(episode)`` meets a curve at its end."""
    return float(curve[-1] / np.sqrt(episode[-1]))


def _cut(n: int, statistic: str) -> int:
    """Return how many of n to trim on either side."""
    if statistic not in STATISTICS:
        raise ConfigError.about(
            "statistic",
            found=statistic,
            shown=repr(statistic),
            expected=f"one of {', '.join(STATISTICS)}",
        )
    return {"mean": 0, "median": (n - 1) // 2, "IQM": n // 4}[statistic]


def _parts(n_columns: int, size: int) -> Iterator[slice]:
    """Split the columns into parts of about `AT_ONCE` numbers."""
    step = max(1, AT_ONCE // size)
    for start in range(0, n_columns, step):
        yield slice(start, start + step)


def _resample(values: Floats, counts: Floats, cut: int) -> Floats:
    """Return the trimmed mean of each resample, (B, P).

    With values sorted to v_1 <= ... <= v_N and C_j of the resample among the first j, the kept part
    of the sum is by parts ``(N-cut) v_N - cut v_1 - sum_j clip(C_j) (v_{j+1} - v_j)``.
    """
    n = len(values)
    if cut == 0:
        return np.asarray(counts @ values / n)
    order = np.argsort(values, axis=0)
    rising = np.take_along_axis(values, order, axis=0)
    step = np.diff(rising, axis=0)
    drawn = np.ascontiguousarray(counts.T)  # a row for each run, so that sorting moves whole rows
    below = np.zeros((values.shape[1], len(counts)))
    inner = np.zeros_like(below)
    for j in range(n - 1):
        below += drawn[order[j]]
        inner += np.clip(below, cut, n - cut) * step[j][:, None]
    ends = (n - cut) * rising[-1] - cut * rising[0]
    return np.asarray((ends - inner.T) / (n - 2 * cut))


def _slopes(means: Floats, weight: Floats) -> Floats:
    """Return the least-squares slope of the logarithm of each row; NaN unless positive."""
    positive = np.asarray((means > 0).all(axis=1))
    safe = np.where(positive[:, None], means, 1.0)
    return np.where(positive, np.log(safe) @ weight, np.nan)
