"""The four regrets of a chapter as one figure for paper."""

from __future__ import annotations

from matplotlib.figure import Figure

from tightrope.experiments.statistics import Resamples, band_of
from tightrope.experiments.summary import Chapter, Group
from tightrope.show.figures import regret_figure
from tightrope.show.regret import RegretCurves
from tightrope.show.report.words import conditions_of, counted_in


def chapter_figure(chapter: Chapter, title: str, resamples: Resamples) -> Figure:
    """Means and bands of every group, with growth like a square root beside them.

    Parameters
    ----------
    chapter : Chapter
    title : str
        What was learned.
    resamples : Resamples
        For every band.
    """
    return regret_figure(
        [_curves(group, resamples) for group in chapter.groups],
        f"{title}, {chapter.n_episodes:,} episodes",
        f"mean; {conditions_of(chapter)}",
        *counted_in(chapter.cmdp),
        has_reference=True,
    )


def _curves(group: Group, resamples: Resamples) -> RegretCurves:
    return RegretCurves(
        group.name,
        group.episode,
        group.regret["cost"],
        group.regret["cost_plus"],
        group.regret.get("constraint"),
        group.regret.get("constraint_plus"),
        group.is_heuristic,
        tuple(band_of([values], "mean", resamples)[1:] for values in group.regret.values()),
    )
