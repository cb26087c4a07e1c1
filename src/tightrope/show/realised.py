"""Realised sums drawn: the mean so far with its band, and the mean of the latest episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tightrope.arrays import Floats
from tightrope.show.regret import looks_of
from tightrope.show.style import INK, RED, house_style, sheet, short

LINE = 96  # letters across the sheet
MOST_POINTS = 2000


@dataclass(frozen=True)
class Course:
    """What the episodes of one learner came to.

    Parameters
    ----------
    name : str
        Who learned.
    totals : (K,) array
        Realised sums.
    mean, low, high : (K,) arrays
        Mean of the first n episodes, and its band.
    """

    name: str
    totals: Floats  # (K,)
    mean: Floats  # (K,)
    low: Floats  # (K,)
    high: Floats  # (K,)


@dataclass(frozen=True)
class RealisedPanel:
    """One quantity.

    Parameters
    ----------
    name : str
        What is summed.
    budget : float or None
        Largest allowed expected sum; None for the reward.
    courses : sequence of Course
        One for each learner and seed.
    """

    name: str
    budget: float | None
    courses: Sequence[Course]


def realised_figure(
    panels: Sequence[RealisedPanel], title: str, conditions: str, window: int
) -> Figure:
    """Realised sums against episodes, a panel for each quantity.

    Parameters
    ----------
    panels : sequence of RealisedPanel
        The reward and the constraints.
    title : str
        What was learned.
    conditions : str
        Delta and confidence, in a line under the title.
    window : int
        Number of episodes of a trailing mean.
    """
    with house_style():
        figure = sheet(7.6, 1.4 + 2.3 * len(panels))
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0].tolist()
        names = [course.name.partition(",")[0] for course in panels[0].courses]
        looks = [colour for colour, _ in looks_of(names)]
        for each, panel in zip(axes, panels, strict=True):
            for course, colour in zip(panel.courses, looks, strict=True):
                _draw(each, course, colour, window)
            if panel.budget is not None:
                each.axhline(panel.budget, color=RED, linestyle=(0, (5, 2)), linewidth=1.2)
            each.set_ylabel(short(panel.name))
            each.grid()
        axes[-1].set_xlabel("episode")
        figure.align_ylabels(axes)
        figure.suptitle(f"{title}\n{fill(conditions, LINE)}", x=0.012, ha="left", fontsize=10.5)
        handles = _handles(dict(zip(names, looks, strict=True)), window)
        if any(panel.budget is not None for panel in panels):
            handles.append(Line2D([], [], color=RED, linestyle=(0, (5, 2)), label="budget"))
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 3))
    return figure


def _draw(axes: Axes, course: Course, colour: str, window: int) -> None:
    K = course.totals.size
    points = np.unique(np.linspace(0, K - 1, MOST_POINTS).round().astype(int))
    episode = points + 1
    upto = np.concatenate(([0.0], np.cumsum(course.totals)))
    n = np.minimum(episode, window)
    trailing = (upto[episode] - upto[episode - n]) / n
    marker = "o" if K == 1 else ""

    axes.fill_between(
        episode, course.low[points], course.high[points], color=colour, alpha=0.14, linewidth=0
    )
    axes.plot(episode, course.mean[points], color=colour, linewidth=1.8, marker=marker)
    axes.plot(episode, trailing, color=colour, linewidth=1.0, linestyle=(0, (1.2, 1.2)))


def _handles(looks: dict[str, str], window: int) -> list[Line2D]:
    found = [
        Line2D([], [], color=colour, linewidth=1.8, label=f"{name}: mean so far, and band")
        for name, colour in looks.items()
    ]
    dots = (0.0, (1.2, 1.2))
    last = f"mean of the last {window}" if window > 1 else "each episode"
    return [*found, Line2D([], [], color=INK, linestyle=dots, linewidth=1.0, label=last)]
