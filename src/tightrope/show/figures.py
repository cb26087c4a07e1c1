"""Figures of plans and frontiers: each returns a Matplotlib `Figure`, which `save` writes.

They draw on a new figure or into the axes given by ``ax``, and change no global state.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from tightrope.arrays import Floats
from tightrope.errors import ConfigError
from tightrope.files import put
from tightrope.model import Model, Plan, Unit
from tightrope.model.units import label_of
from tightrope.show.grid import draw_grid, grid_size
from tightrope.show.policy import draw_policy, picture_of
from tightrope.show.style import (
    BLUE,
    INK,
    ORANGE,
    PALE,
    RED,
    AxesLike,
    check_panel,
    count_stages,
    digits,
    figure_of,
    house_style,
    marks,
    panels_in,
    sheet,
    stroke,
)

if TYPE_CHECKING:
    from tightrope.plan.frontier import Frontier

KINDS = (".png", ".pdf", ".svg")
USE_WIDTH = 5.2
MOST_PANELS = 5  # of constraints
MARGIN = 0.12  # of the frontier's width, margin on both sides
THIN = 0.005  # of the picture's width; narrower bands are not drawn
TOTALS = {"discounted": "Expected discounted totals", "average": "Long-run averages per step"}
EDGE = 0.02  # of the picture's width, left blank on both sides


def plan_figure(
    cmdp: Model,
    plan: Plan,
    stage: int | None = None,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Draw the policy of a plan, on the map if there is one, and its use of each budget.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP or AverageCMDP
        Any model.
    plan : Plan
        A plan for it.
    stage : int, optional
        The stage to draw on a map, from 0; all stages combined by default.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: one for the policy, one for each constraint (at
        most five), one for the cost; or one for a single ``panel``.
    panel : str, optional
        The only panel to draw: ``"policy"``, the name of a constraint, or ``"cost"``; all by
        default.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.figures import plan_figure
    >>> cmdp = tr.envs.build("queue")
    >>> figure = plan_figure(cmdp, tr.solve(cmdp))
    >>> len(figure.axes) > 0
    True
    """
    rows = shown_constraints(cmdp, plan)
    names, n_panels = [cmdp.constraint_names[i] for i in rows], 1 + len(rows)
    if panel is not None and panel != "policy":
        check_panel(panel, ["policy", *cmdp.constraint_names, "cost"])
        return use_figure(cmdp, plan, ax, panel)
    if panel is not None:
        (axes,) = [None] if ax is None else panels_in(ax, [panel])
        if cmdp.layout is None:
            return policy_figure(cmdp, plan, axes)
        return grid_figure(cmdp, plan, stage, axes)
    with house_style():
        if ax is not None:
            first, *panels = panels_in(ax, ["policy", *names, "cost"], can_choose=True)
        else:
            has_map = cmdp.layout is not None
            width, height = _grid_inches(cmdp) if has_map else _policy_inches(cmdp, plan)
            figure = sheet(width + USE_WIDTH, max(height, 1.0 + 1.35 * n_panels))
            ratios = [width, USE_WIDTH]
            parts = figure.subfigures(1, 2, width_ratios=ratios, wspace=0.03, squeeze=False)
            left, right = parts[0]
            first, panels = left.add_subplot(), _column(right, n_panels, plan)
        if cmdp.layout is None:
            draw_policy(first, cmdp, plan)
        else:
            _draw_map(first, cmdp, plan, stage)
        draw_use(panels, cmdp, plan, [*rows, None])
    return figure_of(first)


def grid_figure(
    cmdp: Model, plan: Plan, stage: int | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the map of a grid world with the policy as arrows and the occupancy as color.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP or AverageCMDP
        A model with a layout.
    plan : Plan
        A plan for it.
    stage : int, optional
        The stage to draw, from 0; all stages combined by default.
    ax : Axes, optional
        Where to draw instead of on a new figure.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.figures import grid_figure
    >>> cmdp = tr.envs.build("marsrover")
    >>> figure = grid_figure(cmdp, tr.solve(cmdp))
    >>> len(figure.axes) > 0
    True
    """
    with house_style():
        axes = ax or sheet(*_grid_inches(cmdp)).add_subplot()
        _draw_map(axes, cmdp, plan, stage)
    return figure_of(axes)


def policy_figure(cmdp: Model, plan: Plan, ax: Axes | None = None) -> Figure:
    """Draw the most likely action by stage and state, fainter where a state is rarely reached.

    For an infinite horizon, bars show how often each state is visited and which actions are
    taken there.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP or AverageCMDP
        Any model; only the most visited states of a large one are drawn.
    plan : Plan
        A plan for it.
    ax : Axes, optional
        Where to draw instead of on a new figure.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.figures import policy_figure
    >>> cmdp = tr.envs.build("ring")
    >>> figure = policy_figure(cmdp, tr.solve(cmdp))
    >>> len(figure.axes) > 0
    True
    """
    with house_style():
        axes = ax or sheet(*_policy_inches(cmdp, plan)).add_subplot()
        draw_policy(axes, cmdp, plan)
    return figure_of(axes)


def use_figure(
    cmdp: Model, plan: Plan, ax: AxesLike | None = None, panel: str | None = None
) -> Figure:
    """Draw the expected use of each constraint over the stages with its budget, and the cost.

    For an infinite horizon there are no stages; bars show the use of each budget.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP or AverageCMDP
        The model; of many constraints, the five with the highest prices and least slack are drawn.
    plan : Plan
        A plan for it.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: one for each constraint (at most five), one for
        the cost; or one for a single ``panel``.
    panel : str, optional
        The only panel to draw: the name of a constraint, or ``"cost"``; all by default.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import tightrope as tr
    >>> from tightrope.show.figures import use_figure
    >>> cmdp = tr.envs.build("ring")
    >>> figure, ax = plt.subplots()
    >>> use_figure(cmdp, tr.solve(cmdp), ax=ax, panel="moves") is figure
    True
    >>> plt.close(figure)
    """
    every: dict[str, int | None] = {"cost": None}
    every |= {name: i for i, name in enumerate(cmdp.constraint_names)}
    rows: list[int | None] = [*shown_constraints(cmdp, plan), None]
    if panel is not None:
        check_panel(panel, list(every))
        rows = [every[panel]]
    names = ["cost" if i is None else cmdp.constraint_names[i] for i in rows]
    with house_style():
        given = None if ax is None else panels_in(ax, names, panel is None)
        panels = given or _column(sheet(6.4, 1.2 + 1.7 * len(rows)), len(rows), plan)
        draw_use(panels, cmdp, plan, rows)
    return figure_of(panels[0])


def frontier_figure(frontier: Frontier, cmdp: Model, ax: Axes | None = None) -> Figure:
    """Draw the optimal cost against one budget, with breakpoints and the current budget.

    Parameters
    ----------
    frontier : Frontier
        As `tightrope.frontier` returns it.
    cmdp : CMDP, DiscountedCMDP or AverageCMDP
        The model it was computed for.
    ax : Axes, optional
        Where to draw instead of on a new figure.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.figures import frontier_figure
    >>> figure = frontier_figure(tr.frontier("ring"), tr.envs.build("ring"))
    >>> len(figure.axes)
    1
    """
    with house_style():
        axes = ax or sheet(7.0, 4.4).add_subplot()
        draw_frontier(axes, frontier, cmdp)
    return figure_of(axes)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to a file atomically.

    Parameters
    ----------
    figure : Figure
        What to write.
    path : path
        Ends in ``.png``, ``.pdf`` or ``.svg``.

    Raises
    ------
    ConfigError
        If the name ends in none of these.
    StoreError
        If the file cannot be written; no partial file remains.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> from tightrope.show.figures import frontier_figure, save
    >>> figure = frontier_figure(tr.frontier("ring"), tr.envs.build("ring"))
    >>> with TemporaryDirectory() as folder:
    ...     save(figure, f"{folder}/frontier.png")
    ...     Path(folder, "frontier.png").exists()
    True
    """
    path = Path(path)
    kind = require_picture(path)
    content = io.BytesIO()
    with house_style(), warnings.catch_warnings():
        # glyphs missing from the font are drawn as boxes
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(content, format=kind[1:])
    put(path, content.getvalue())


def require_picture(path: Path) -> str:
    """Return the format given by a file name, or raise `ConfigError`."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        found = repr(path.suffix) if path.suffix else "nothing"
        raise ConfigError(
            f"{path}: a figure ends in .png, .pdf or .svg, this name in {found}", argument=str(path)
        )
    return kind


def _draw_map(axes: Axes, cmdp: Model, plan: Plan, stage: int | None) -> None:
    if stage is not None and not 0 <= stage < cmdp.n_stages:
        raise ConfigError.about(
            "stage", found=stage, shown=str(stage), expected=f"0 to {cmdp.n_stages - 1}"
        )
    colors, exceeds = draw_grid(axes, cmdp, plan, stage)
    when = f"all {cmdp.n_stages} stages" if stage is None else f"stage {stage}"
    when = when if cmdp.criterion == "episodes" else cmdp.criterion_in_words[0]
    axes.set_title(f"Policy and occupancy, {when}")
    bar = axes.figure.colorbar(
        colors,
        ax=axes,
        shrink=0.85,
        aspect=28,
        pad=0.02,
        extend="max" if exceeds else "neither",
        label=cmdp.visits if stage is None or not plan.has_stages else "probability of being there",
    )
    bar.outline.set_visible(False)


def _column(figure: Figure | SubFigure, n: int, plan: Plan) -> list[Axes]:
    """Return panels below each other, which share the axis of stages if there is one."""
    return list(figure.subplots(n, 1, sharex=plan.has_stages, squeeze=False)[:, 0])


def _grid_inches(cmdp: Model) -> tuple[float, float]:
    rows, columns = (4, 4) if cmdp.layout is None else grid_size(cmdp.layout)
    cell = min(0.62, 8.0 / max(rows, columns))
    return max(4.2, cell * columns + 1.5), max(2.8, cell * rows + 1.1)


def _policy_inches(cmdp: Model, plan: Plan) -> tuple[float, float]:
    states = len(picture_of(plan).states)
    return min(11.0, max(6.4, 4.0 + 0.16 * cmdp.n_stages)), min(8.5, max(3.2, 1.4 + 0.2 * states))


def shown_constraints(cmdp: Model, plan: Plan) -> list[int]:
    """Return the constraints to draw: all, or those of highest price, then least slack."""
    slack = (cmdp.budget - plan.constraint_value) / [unit.factor for unit in cmdp.constraint_units]
    order = np.lexsort((slack, -plan.multiplier * cmdp.units.sizes))
    return sorted(order[:MOST_PANELS].tolist())


def draw_use(panels: Sequence[Axes], cmdp: Model, plan: Plan, rows: Sequence[int | None]) -> None:
    """Draw the expected totals of some constraints; None stands for the cost."""
    if not plan.has_stages:
        _draw_bars(panels, cmdp, plan, rows)
        return
    for axes, i in zip(panels, rows, strict=True):
        if i is None:
            total = running_total(plan.occupancies, cmdp.cost)
            _draw_total(axes, cmdp.cost_unit, total, INK)
            _fit(axes, total)
            continue
        unit = cmdp.constraint_units[i]
        bound = float(cmdp.budget[i])
        total = running_total(plan.occupancies, cmdp.constraint_cost[i])
        _draw_total(axes, unit, total, BLUE)
        _draw_bound(axes, bound, "at least" if unit.is_maximized else "at most")
        _fit(axes, np.append(total, bound))
    panels[-1].set_xlabel("steps taken")
    panels[0].set_title("Expected totals so far")
    panels[0].figure.align_ylabels(panels)


def _draw_bars(panels: Sequence[Axes], cmdp: Model, plan: Plan, rows: Sequence[int | None]) -> None:
    """Draw discounted totals or long-run averages as bars, with the budgets."""
    for axes, i in zip(panels, rows, strict=True):
        unit = cmdp.cost_unit if i is None else cmdp.constraint_units[i]
        value = plan.value if i is None else float(plan.constraint_value[i])
        ends, color = [0.0, value], INK if i is None else BLUE
        axes.barh(0.0, value, height=0.5, color=color, alpha=0.75)
        place = {"va": "center", "ha": "left" if value >= 0 else "right", "annotation_clip": False}
        beside = (5 if value >= 0 else -5, 0)
        if i is not None:
            bound, word = float(cmdp.budget[i]), "at least" if unit.is_maximized else "at most"
            ends.append(bound)
            axes.axvline(bound, color=RED, linewidth=1.3, linestyle="--")
            above = {"xycoords": ("data", "axes fraction"), "xytext": (4, -4), "va": "top"}
            _note(axes, f"{word} {digits(bound)}", (bound, 1.0), RED, **above)
        _note(axes, digits(value), (value, 0.0), color, xytext=beside, **place)
        room = 0.22 * (max(ends) - min(ends) or 1.0)
        axes.set_xlim(min(ends) - (room if min(ends) < 0 else 0.0), max(ends) + room)
        axes.set_ylim(-0.45, 0.85)
        axes.set_yticks([])
        axes.set_ylabel("\n".join(textwrap.wrap(unit.name, 18)[:3]))
        axes.grid(axis="x")
    panels[0].set_title(TOTALS[cmdp.criterion])
    panels[0].figure.align_ylabels(panels)


def running_total(occupancy: Floats, cost: Floats) -> Floats:
    """Return the expected total after 0, 1, ..., H steps, (H+1,)."""
    return np.concatenate(([0.0], np.cumsum(np.einsum("hsa,hsa->h", occupancy, cost))))


def _draw_total(axes: Axes, unit: Unit, total: Floats, color: str) -> None:
    stages = np.arange(len(total))
    axes.plot(
        stages,
        total,
        "-o",
        color=color,
        linewidth=stroke(1.6),
        markersize=0.8 * marks(len(total)),
        clip_on=False,
    )
    axes.fill_between(stages, 0.0, total, color=color, alpha=0.10, linewidth=0)
    place = {"xytext": (6, 0), "va": "center", "annotation_clip": False}
    _note(axes, digits(float(total[-1])), (stages[-1], total[-1]), color, **place)
    axes.set_ylabel("\n".join(textwrap.wrap(unit.name, 18)[:3]))
    axes.set_xlim(0, stages[-1])
    count_stages(axes, len(total) - 1)
    axes.grid(axis="y")


def _draw_bound(axes: Axes, bound: float, words: str) -> None:
    axes.axhline(bound, color=RED, linewidth=stroke(1.3), linestyle="--")
    place = {"xycoords": ("axes fraction", "data"), "xytext": (0, 3), "va": "bottom"}
    _note(axes, f"{words} {digits(bound)}", (0.015, bound), RED, **place)


def _note(axes: Axes, words: str, at: tuple[float, float], color: str, **place: Any) -> None:
    size = mpl.rcParams["legend.fontsize"]
    axes.annotate(words, at, textcoords="offset points", fontsize=size, color=color, **place)


def _fit(axes: Axes, shown: Floats) -> None:
    """Set limits that contain all values, zero and the label of a bound."""
    low, high = min(0.0, float(shown.min())), max(0.0, float(shown.max()))
    room = 0.18 * (high - low or 1.0)
    axes.set_ylim(low - room if low < 0 else low, high + room)


def draw_frontier(axes: Axes, frontier: Frontier, cmdp: Model) -> None:
    """Draw breakpoints, infeasible budgets, budgets without effect and the current budget."""
    unit, cost = cmdp.constraint_units[frontier.constraint], cmdp.cost_unit
    present = float(cmdp.budget[frontier.constraint])
    tight, loose = _ends(frontier, present)
    edge = EDGE * (loose - tight)
    n, budgets = len(frontier.budget), np.append(frontier.budget, loose)
    values = np.append(frontier.value, frontier.value[-1])
    if (budgets[0] - tight) / (loose - tight) > THIN:
        ends = tight - edge, float(budgets[0])
        axes.axvspan(*ends, color=PALE, linewidth=0, label="cannot be met")
    axes.plot(budgets, values, "-", color=BLUE, linewidth=stroke(1.8), zorder=3)
    axes.plot(
        frontier.budget,
        frontier.value,
        "o",
        color=BLUE,
        markersize=marks(n),
        label=f"{n} breakpoint{'' if n == 1 else 's'}",
        zorder=4,
    )
    axes.set_xlim(*sorted((tight - edge, loose + edge)))
    bound = "floor" if unit.is_maximized else "budget"
    axes.set_xlabel(f"{bound} of {label_of(cmdp, frontier.constraint)}")
    axes.set_ylabel(f"{'greatest' if cost.is_maximized else 'least'} {cmdp.measure} {cost.name}")
    axes.grid()
    axes.margins(y=0.1)
    _draw_present(axes, frontier, cmdp, present)
    axes.legend(loc="best", frameon=True)


def _draw_present(axes: Axes, frontier: Frontier, cmdp: Model, present: float) -> None:
    unit, value = cmdp.constraint_units[frontier.constraint], frontier.at(present)
    axes.axvline(present, color=ORANGE, linewidth=stroke(1.2), linestyle="--", zorder=2)
    if not np.isfinite(value):
        axes.plot([], [], "--", color=RED, label=f"now: {digits(present)}")
        return
    bound = "floor" if unit.is_maximized else "budget"
    label = f"now: {digits(value)} at {bound} {digits(present)}"
    (mark,) = axes.plot(
        present, value, "D", color=ORANGE, markersize=stroke(7.0), zorder=5, label=label
    )
    mark.set_markeredgecolor(INK)


def _ends(frontier: Frontier, present: float) -> tuple[float, float]:
    """Return the range of budgets to draw, the tightest first."""
    unit = frontier.constraint_unit
    first, last, now = (unit.read(float(b)) for b in (*frontier.budget[[0, -1]], present))
    low, high = min(first, now), max(last, now)
    margin = MARGIN * (high - low if high > low else max(abs(high), 1.0))
    # no budget lies below zero on the internal scale
    return unit.show(max(low - margin, min(first, 0.0))), unit.show(high + margin)
