"""Figures of budgets while learning: the share of episodes in violation, and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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
    AxesLike,
    check_panel,
    figure_of,
    house_style,
    panels_in,
    sheet,
    short,
)

MOST_MULTIPLIERS = 5
VIOLATIONS = "violations"


@dataclass(frozen=True)
class BudgetCurves:
    """Violations and multipliers of one learner over N seeds, recorded at P episodes."""

    name: str  # of the learner
    episode: Ints  # (P,)
    curves: Sequence[Floats]  # (N, P) the share of episodes in violation, then each multiplier
    bands: Sequence[tuple[Floats, Floats]]  # (P,) of each
    is_heuristic: bool = False


def budget_figure(
    curves: Sequence[BudgetCurves],
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
    curves : sequence of BudgetCurves
        One for each learner.
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
    looks = looks_for([each.name for each in curves])
    with house_style():
        given = None if ax is None else panels_in(ax, shown, panel is None)
        if given:
            panels = given
        else:
            figure = sheet(8.6 if len(shown) > 1 else 5.6, 1.4 + 3.2 * -(-len(shown) // 2))
            columns = min(2, len(shown))
            grid = figure.subplots(-(-len(shown) // 2), columns, sharex=True, squeeze=False)
            panels = grid.ravel().tolist()
            for spare in panels[len(shown) :]:
                spare.remove()
            panels = panels[: len(shown)]
        for axes, name in zip(panels, shown, strict=True):
            place = every.index(name)
            factor = 100.0 if place == 0 else 1.0
            for each, look in zip(curves, looks, strict=True):
                low, high = (factor * end for end in each.bands[place])
                draw_curves(axes, each.episode, factor * each.curves[place], (low, high), look)
            is_share = place == 0
            axes.set_title("Episodes in violation" if is_share else f"Multiplier of {short(name)}")
            axes.set_ylabel("percent of episodes" if is_share else "multiplier")
            axes.set_ylim(bottom=0.0)
            scale_episodes(axes, max(int(each.episode[-1]) for each in curves))
            axes.grid()
            axes.set_xlabel("episode")
            if place:
                axes.axhline(float(prices[place - 1]), color=GRAY, linestyle=DOTTED, linewidth=1.4)
        lines = [
            Line2D([], [], color=color, linestyle=dashes, label=label_of_learner(each))
            for each, (color, dashes) in zip(curves, looks, strict=True)
        ]
        if shown != [VIOLATIONS]:
            label = "price at the optimum"
            lines.append(Line2D([], [], color=GRAY, linestyle=DOTTED, label=label))
        if given:
            panels[0].legend(handles=lines)
        else:
            head_panels(panels, title, conditions, lines, 4)
    return figure_of(panels[0])


def shares_and_multipliers(share: Floats, multiplier: Floats) -> list[Floats]:
    """Return the curves of `BudgetCurves` of (N, P) shares and (N, P, I) multipliers."""
    return [share, *np.moveaxis(multiplier, 2, 0)]
