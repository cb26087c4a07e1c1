"""Sums of an episode so far: their mean, and a simple band around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tightrope.study.ledger import Row, replayed
from tightrope.study.terms import Terms

NORMAL = 1.96  # of a band that holds the mean in 95 of 100 cases, when there are many episodes


@dataclass(frozen=True)
class Total:
    """What an episode cost, or used of a budget, over all told episodes.

    Parameters
    ----------
    name : str
        ``cost``, or that of a constraint.
    mean : float
    margin : float
        Half the width of a 95% band by the normal law; infinite for a single episode. It describes
        the policies that were played, all mixed, and promises nothing about the next one.
    """

    name: str
    mean: float
    margin: float


def totals_of(rows: Iterable[Row], terms: Terms) -> tuple[list[Total], Row | None]:
    """Means and margins of all sums, and the last episode.

    Parameters
    ----------
    rows : iterable of Row
        Told episodes.
    terms : Terms
        Give the names.
    """
    n, last = 0, None
    mean = np.zeros(len(terms.budget) + 1)
    spread = np.zeros_like(mean)
    for last in rows:
        episode = replayed(last, len(terms.budget))
        x = np.array([np.sum(episode.cost), *episode.constraint_cost.sum(axis=1)])
        n += 1
        off = x - mean
        mean += off / n  # Welford's recursion: no sum of squares that cancels
        spread += off * (x - mean)
    margin = NORMAL * np.sqrt(spread / (n - 1)) / sqrt(n) if n > 1 else np.full(mean.size, np.inf)
    found = zip(terms.units, mean.tolist(), margin.tolist(), strict=True)
    return [Total(unit.name, unit.show(m), unit.factor * half) for unit, m, half in found], last
