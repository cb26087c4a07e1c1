"""Totals of told episodes: means, and bounds on the average of the policies that were played."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tightrope.belief.intervals import average_band
from tightrope.study.records import Row, replay
from tightrope.study.terms import Terms


@dataclass(frozen=True)
class Total:
    """Mean cost or constraint value over all told episodes.

    The bounds hold for the average of the policies that were played, not for the next one, with the
    probability of the terms, for all quantities and numbers of episodes at once.

    Parameters
    ----------
    name : str
        ``cost``, or that of a constraint.
    mean : float
        Mean over the told episodes, in the units of the study.
    lower, upper : float
        Bounds on the average of the expected values of the policies.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> from tightrope.study.totals import totals_of
    >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
    >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
    >>> with TemporaryDirectory() as folder:
    ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
    ...     receipt = study.tell([monday])
    ...     totals, last = totals_of(study.rows(), study.terms)
    >>> totals[0].name, totals[0].mean
    ('cost', 0.2)
    """

    name: str
    mean: float
    lower: float
    upper: float


def totals_of(rows: Iterable[Row], terms: Terms) -> tuple[list[Total], Row | None]:
    """Return means and bounds of all totals of told episodes, and the last episode."""
    found, last = [], None
    for last in rows:
        episode = replay(last, len(terms.budget))
        found.append([np.sum(episode.cost), *episode.constraint_cost.sum(axis=1)])
    if not found:
        return [], None
    most, totals = float(terms.horizon), []
    for unit, values in zip(terms.units, np.array(found).T, strict=True):
        mean, radius = average_band(values, 0.0, most, terms.delta / len(terms.units))
        ends = np.clip((mean[-1] - radius[-1], mean[-1], mean[-1] + radius[-1]), 0.0, most)
        lower, middle, upper = (float(unit.show(float(end))) for end in ends)
        totals.append(Total(unit.name, middle, lower, upper))
    return totals, last
