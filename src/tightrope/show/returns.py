"""Figures of realized sums: a learner over several seeds, a panel for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tightrope.arrays import Floats, Ints
from tightrope.show.regret import draw_curves, head_panels, label_of_learner, looks_for
from tightrope.show.style import (
    RED,
    AxesLike,
    check_panel,
    figure_of,
    house_style,
    panels_in,
    sheet,
    short,
)

DASHED = (0, (5, 2))


@dataclass(frozen=True)
class ReturnCurves:
    """Mean realized sums of one learner over N seeds, at P episodes."""

    name: str  # of the learner
    episode: Ints  # (P,)
    curves: Sequence[Floats]  # (N, P) of each quantity
    bands: Sequence[tuple[Floats, Floats]]  # (P,) of each
    is_heuristic: bool = False


def returns_figure(
    curves: Sequence[ReturnCurves],
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
    curves : sequence of ReturnCurves
        One for each learner.
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
    looks = looks_for([each.name for each in curves])
    with house_style():
        given = None if ax is None else panels_in(ax, shown, panel is None)
        height = 1.4 + 2.3 * len(shown)
        panels = given or (
            sheet(7.6 if len(shown) > 1 else 5.6, height)
            .subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
            .tolist()
        )
        for axes, name in zip(panels, shown, strict=True):
            place = list(quantities).index(name)
            for each, look in zip(curves, looks, strict=True):
                draw_curves(axes, each.episode, each.curves[place], each.bands[place], look)
            if place:
                axes.axhline(float(budget[place - 1]), color=RED, linestyle=DASHED, linewidth=1.2)
            axes.set_ylabel(f"{short(name)} per episode")
            axes.grid()
        panels[-1].set_xlabel("episode")
        lines = [
            Line2D([], [], color=color, linestyle=dashes, label=label_of_learner(each))
            for each, (color, dashes) in zip(curves, looks, strict=True)
        ]
        if shown != [quantities[0]]:
            lines.append(Line2D([], [], color=RED, linestyle=DASHED, label="budget"))
        if given:
            panels[0].legend(handles=lines)
        else:
            head_panels(panels, title, conditions, lines, 4)
    return figure_of(panels[0])
