"""Figures with a panel for each quantity while learning: violations, multipliers, realized sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tightrope.arrays import Floats, Ints
from tightrope.show.regret import (
    DOTTED,
    draw_curves,
    head_panels,
    label_of_learner,
    looks_for,
    scale_episodes,
)
from tightrope.show.style import (
    GRAY,
    RED,
    AxesLike,
    check_panel,
    figure_of,
    house_style,
    panels_in,
    sheet,
    short,
    stroke,
)

DASHED = (0, (5, 2))
MOST_MULTIPLIERS = 5
VIOLATIONS = "violations"


@dataclass(frozen=True)
class PanelCurves:
    """Curves of one learner over N seeds at P episodes, one for each quantity."""

    name: str  # of the learner
    episode: Ints  # (P,)
    curves: Sequence[Floats]  # (N, P) of each quantity
    bands: Sequence[tuple[Floats, Floats]]  # (P,) of each
    is_heuristic: bool = False


def budget_figure(
    curves: Sequence[PanelCurves],
    constraints: Sequence[str],
    prices: Floats,
    title: str,
    conditions: str,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Draw the share of episodes in violation so far, and the multiplier of each constraint.

    Parameters
    ----------
    curves : sequence of PanelCurves
        One for each learner, as `shares_and_multipliers` has them.
    constraints : sequence of str
        Names; of many, the multipliers of the first five are drawn.
    prices : (I,) array
        Of the budgets at the optimum, drawn dotted.
    title : str
        What was learned.
    conditions : str
        Seeds, delta, confidence and rho, in a line under the title.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: one for each panel, or one for a single ``panel``.
    panel : str, optional
        The only panel to draw: ``"violations"`` or the name of a constraint; all by default.
    """
    every = [VIOLATIONS, *constraints]
    shown = check_panel(panel, every) if panel else every[: 1 + MOST_MULTIPLIERS]
    rows = -(-len(shown) // 2)
    with house_style():
        if ax is not None:
            panels = panels_in(ax, shown, panel is None)
        else:
            figure = sheet(8.6 if len(shown) > 1 else 5.6, 1.4 + 3.2 * rows)
            grid = figure.subplots(rows, min(2, len(shown)), sharex=True, squeeze=False)
            panels = grid.ravel().tolist()
            for spare in panels[len(shown) :]:
                spare.remove()
            panels = panels[: len(shown)]
        for axes, name in zip(panels, shown, strict=True):
            place = every.index(name)
            _draw(axes, curves, place, 1.0 if place else 100.0)
            axes.set_title(f"Multiplier of {short(name)}" if place else "Episodes in violation")
            axes.set_ylabel("multiplier" if place else "percent of episodes")
            scale_episodes(axes, max(int(each.episode[-1]) for each in curves))
            axes.set_xlabel("episode")
            if place:
                axes.axhline(
                    float(prices[place - 1]), color=GRAY, linestyle=DOTTED, linewidth=stroke(1.4)
                )
            axes.set_ylim(bottom=0.0)  # after all lines, so that none is cut off
        price = Line2D([], [], color=GRAY, linestyle=DOTTED, label="price at the optimum")
        others = [] if shown == [VIOLATIONS] else [price]
        _name_lines(panels, curves, others, ax is not None, title, conditions)
    return figure_of(panels[0])


def shares_and_multipliers(share: Floats, multiplier: Floats) -> list[Floats]:
    """Return the curves of `budget_figure` of (N, P) shares and (N, P, I) multipliers."""
    return [share, *np.moveaxis(multiplier, 2, 0)]


def returns_figure(
    curves: Sequence[PanelCurves],
    quantities: Sequence[str],
    budget: Floats,
    title: str,
    conditions: str,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Draw realized sums per episode against episodes.

    Parameters
    ----------
    curves : sequence of PanelCurves
        Means of recent episodes, one for each learner.
    quantities : sequence of str
        The reward, then the constraints.
    budget : (I,) array
        Budgets of the constraints.
    title : str
        What was learned.
    conditions : str
        What the curves are, seeds, delta and confidence, in a line under the title.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: one for each panel, or one for a single ``panel``.
    panel : str, optional
        The only quantity to draw; all by default.
    """
    shown = check_panel(panel, quantities)
    with house_style():
        if ax is not None:
            panels = panels_in(ax, shown, panel is None)
        else:
            figure = sheet(7.6 if len(shown) > 1 else 5.6, 1.4 + 2.3 * len(shown))
            panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0].tolist()
        for axes, name in zip(panels, shown, strict=True):
            place = list(quantities).index(name)
            _draw(axes, curves, place)
            if place:
                axes.axhline(
                    float(budget[place - 1]), color=RED, linestyle=DASHED, linewidth=stroke(1.2)
                )
            axes.set_ylabel(f"{short(name)} per episode")
        panels[-1].set_xlabel("episode")
        line = Line2D([], [], color=RED, linestyle=DASHED, label="budget")
        others = [] if shown == [quantities[0]] else [line]
        _name_lines(panels, curves, others, ax is not None, title, conditions)
    return figure_of(panels[0])


def _draw(axes: Axes, curves: Sequence[PanelCurves], place: int, factor: float = 1.0) -> None:
    for each, look in zip(curves, looks_for([each.name for each in curves]), strict=True):
        low, high = (factor * end for end in each.bands[place])
        draw_curves(axes, each.episode, factor * each.curves[place], (low, high), look)
    axes.grid()


def _name_lines(
    panels: Sequence[Axes],
    curves: Sequence[PanelCurves],
    others: Sequence[Line2D],
    is_given: bool,
    title: str,
    conditions: str,
) -> None:
    """Add a legend of the learners and other lines; on a new figure also a title."""
    looks = looks_for([each.name for each in curves])
    lines = [
        Line2D([], [], color=color, linestyle=dashes, label=label_of_learner(each))
        for each, (color, dashes) in zip(curves, looks, strict=True)
    ]
    if is_given:
        panels[0].legend(handles=[*lines, *others])
    else:
        head_panels(panels, title, conditions, [*lines, *others], 4)
