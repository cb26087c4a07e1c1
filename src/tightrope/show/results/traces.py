"""Single runs episode by episode: how far values and multipliers swing, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tightrope.arrays import Floats, Ints
from tightrope.show.regret import looks_of
from tightrope.show.style import GREY, house_style, sheet

LATE = 0.25  # share of the episodes, the last ones, that is looked at
SEEN = 8  # recorded episodes in a period, at least, for the period to be known
SWING = (
    "Swing: distance between the 5 % and the 95 % quantile over the last quarter of the episodes. "
    "Period: mean distance between rises from below the lower to above the upper quartile."
)


@dataclass(frozen=True)
class Trace:
    """One run, episode by episode as recorded, in shown units.

    Parameters
    ----------
    name : str
        Who learned.
    episode : (P,) array
    cost, constraint : (P,) arrays
        Excess of the episodes' policies; of constraints the largest excess.
    multiplier : (P,) array
        Largest over the constraints, on the model's scale.
    price : float
        Largest multiplier of the optimum.
    """

    name: str
    episode: Ints  # (P,)
    cost: Floats  # (P,)
    constraint: Floats  # (P,)
    multiplier: Floats  # (P,)
    price: float

    @property
    def late(self) -> Trace:
        """The last quarter of the episodes."""
        kept = self.episode >= (1 - LATE) * self.episode[-1]
        columns = (self.episode, self.cost, self.constraint, self.multiplier)
        episode, cost, constraint, multiplier = (column[kept] for column in columns)
        return Trace(self.name, episode, cost, constraint, multiplier, self.price)


def swing_of(values: Floats) -> float:
    """Distance between the 5 % and the 95 % quantile.

    Parameters
    ----------
    values : (P,) array
    """
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low)


def period_of(episode: Ints, values: Floats) -> float:
    """Mean distance between rises from below the lower to above the upper quartile.

    NaN where there are fewer than two such rises, or they follow too fast for what was recorded.

    Parameters
    ----------
    episode : (P,) array
        Rising.
    values : (P,) array
    """
    low, high = np.quantile(values, [0.25, 0.75])
    side = np.where(values >= high, 1, np.where(values <= low, -1, 0))
    outside = np.flatnonzero(side)
    rises = outside[1:][np.diff(side[outside]) == 2]
    if len(rises) < 2 or rises[-1] - rises[0] < SEEN * (len(rises) - 1):
        return float("nan")
    return float((episode[rises[-1]] - episode[rises[0]]) / (len(rises) - 1))


def traces_figure(traces: Sequence[Trace], title: str) -> Figure:
    """The last quarter of each run: excess cost, excess of the constraint, multiplier.

    Parameters
    ----------
    traces : sequence of Trace
        A row of panels each.
    title : str
    """
    with house_style():
        figure = sheet(9.0, 1.0 + 1.7 * len(traces))
        panels = figure.subplots(len(traces), 3, sharex="row", sharey="col", squeeze=False)
        looks = looks_of([trace.name for trace in traces])
        for row, trace, (colour, _) in zip(panels, traces, looks, strict=True):
            late = trace.late
            for axes, values in zip(
                row, (late.cost, late.constraint, late.multiplier), strict=True
            ):
                axes.plot(late.episode, values, color=colour, linewidth=0.8)
                axes.xaxis.set_major_locator(MaxNLocator(3))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
                axes.grid()
            for axes in row[:2]:
                axes.axhline(0.0, color=GREY, linewidth=1.0)
            row[2].axhline(trace.price, color=GREY, linewidth=1.0, linestyle=":")
            row[0].set_ylabel(f"{trace.name}\nK = {trace.episode[-1]:,}")
        titles = ("excess cost", "excess of constraint", "multiplier")
        for axes, name in zip(panels[0], titles, strict=True):
            axes.set_title(name)
        for axes in panels[-1]:
            axes.set_xlabel("episode")
        figure.suptitle(title, x=0.012, ha="left", fontsize=10.5)
    return figure
