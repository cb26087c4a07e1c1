"""Figures of an experiment by name: regrets, the optimal plan, policies of learners."""

from __future__ import annotations

from textwrap import fill

import numpy as np
from matplotlib.figure import Figure

from tightrope.errors import ConfigError
from tightrope.experiments.returns import ReturnChapter
from tightrope.experiments.statistics import Resamples, band_of
from tightrope.experiments.summary import Chapter, Group, new_resamples
from tightrope.show.figures import plan_figure
from tightrope.show.panels import PanelCurves, budget_figure, returns_figure, shares_and_multipliers
from tightrope.show.regret import RegretCurves, regret_figure
from tightrope.show.report.words import conditions_of, policies_of, regret_units
from tightrope.show.style import LOOK, AxesLike

LINE = 110  # characters per line of a title


def named_figure(
    chapter: Chapter | ReturnChapter,
    name: str | None = None,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Return a figure of one problem, see `Experiment.figure`."""
    if isinstance(chapter, ReturnChapter):
        if name not in (None, "returns"):
            raise ConfigError.about("name", found=name, expected="'returns'")
        return _returns(chapter, new_resamples(), ax, panel)
    name = "regret" if name is None else name
    if name == "regret":
        title = f"Regret on {chapter.name}"
        return chapter_figure(chapter, title, new_resamples(), ax, panel)
    if name == "budgets" and chapter.cmdp.n_constraints:
        return _budgets(chapter, new_resamples(), ax, panel)
    if name == "optimum":
        return plan_figure(chapter.cmdp, chapter.optimum, ax=ax, panel=panel)
    groups = {group.name: group for group in chapter.groups}
    if name not in groups:
        figures = ["regret", *(["budgets"] if chapter.cmdp.n_constraints else []), "optimum"]
        known = ", ".join(map(repr, (*figures, *groups)))
        raise ConfigError.about("name", found=name, expected=f"one of {known}")
    figure = plan_figure(chapter.cmdp, groups[name].plan, ax=ax, panel=panel)
    if ax is None and LOOK.get().style == "screen":
        words = f"{policies_of(groups[name])}; delta {chapter.delta:g}; "
        heading = fill(words + groups[name].constants, LINE)
        figure.suptitle(heading, x=0.012, ha="left", fontsize=10)
    return figure


def chapter_figure(
    chapter: Chapter,
    title: str,
    resamples: Resamples,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Return means and bands of every group, with square-root growth for comparison."""
    return regret_figure(
        [_regret_curves(group, resamples) for group in chapter.groups],
        f"{title}, {chapter.n_episodes:,} episodes",
        f"mean; {conditions_of(chapter)}",
        *regret_units(chapter.cmdp.units),
        has_reference=True,
        ax=ax,
        panel=panel,
    )


def _returns(
    chapter: ReturnChapter, resamples: Resamples, ax: AxesLike | None, panel: str | None
) -> Figure:
    curves = []
    for group in chapter.groups:
        found = list(np.moveaxis(group.recent, 2, 0))
        bands = [band_of([values], "mean", resamples)[1:] for values in found]
        curves.append(PanelCurves(group.name, group.episode, found, bands, group.is_heuristic))
    return returns_figure(
        curves,
        chapter.quantities,
        chapter.budget,
        f"Returns in {chapter.name}, {chapter.n_episodes:,} episodes",
        f"mean of the last {chapter.n_recent:,} episodes; {conditions_of(chapter)}",
        ax,
        panel,
    )


def _budgets(
    chapter: Chapter, resamples: Resamples, ax: AxesLike | None, panel: str | None
) -> Figure:
    curves = []
    for group in chapter.groups:
        found = shares_and_multipliers(group.share, group.multiplier)
        bands = [band_of([values], "mean", resamples)[1:] for values in found]
        curves.append(PanelCurves(group.name, group.episode, found, bands, group.is_heuristic))
    return budget_figure(
        curves,
        chapter.cmdp.constraint_names,
        chapter.optimum.multiplier,
        f"Budgets of {chapter.name}, {chapter.n_episodes:,} episodes",
        f"mean; {conditions_of(chapter)}",
        ax,
        panel,
    )


def _regret_curves(group: Group, resamples: Resamples) -> RegretCurves:
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
