"""The figures: each takes a model and what was computed for it, and returns a Matplotlib `Figure`.

They are drawn on figures of their own and written by `save`; nothing global changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.figure import Figure, SubFigure

from tightrope.errors import ModelError
from tightrope.model import CMDP, Plan
from tightrope.show.frontier import FrontierLike, draw_frontier
from tightrope.show.grid import draw_grid, grid_size
from tightrope.show.policy import draw_policy, picture_of
from tightrope.show.regret import RegretCurves, draw_references, draw_regrets
from tightrope.show.style import RED, house_style, sheet, short
from tightrope.show.use import draw_use, shown_constraints

USE_WIDTH = 5.2
LINE = 96  # letters across a sheet of regrets


def frontier_figure(frontier: FrontierLike, cmdp: CMDP) -> Figure:
    """Optimal cost against one budget, with its breakpoints and the present budget.

    Parameters
    ----------
    frontier : Frontier
        As `tightrope.frontier` returns it.
    cmdp : CMDP
        The model it was computed for.
    """
    with house_style():
        figure = sheet(7.0, 4.4)
        draw_frontier(figure.add_subplot(), frontier, cmdp)
    return figure


def grid_figure(cmdp: CMDP, plan: Plan, stage: int | None = None) -> Figure:
    """The map of a grid world with the policy as arrows and the occupancy as colour.

    Parameters
    ----------
    cmdp : CMDP
        A model with a layout.
    plan : Plan
        A plan for it.
    stage : int, optional
        The stage to draw, from 0; all stages together when not given.
    """
    with house_style():
        figure = sheet(*_grid_inches(cmdp))
        _fill_grid(figure, cmdp, plan, stage)
    return figure


def policy_figure(cmdp: CMDP, plan: Plan) -> Figure:
    """The likeliest action by stage and state, fainter where a state is seldom reached.

    Parameters
    ----------
    cmdp : CMDP
        Any model; of a large one the states visited most are drawn.
    plan : Plan
        A plan for it.
    """
    with house_style():
        figure = sheet(*_policy_inches(cmdp, plan))
        _fill_policy(figure, cmdp, plan)
    return figure


def use_figure(cmdp: CMDP, plan: Plan) -> Figure:
    """Expected use of each constraint over the stages against its budget, and the cost.

    Parameters
    ----------
    cmdp : CMDP
        The model; of many constraints the dearest and tightest five are drawn.
    plan : Plan
        A plan for it.
    """
    with house_style():
        figure = sheet(6.4, 1.2 + 1.7 * (1 + len(shown_constraints(cmdp, plan))))
        _fill_use(figure, cmdp, plan)
    return figure


def plan_figure(cmdp: CMDP, plan: Plan, stage: int | None = None) -> Figure:
    """A plan in one picture: its policy, on the map if there is one, beside what it uses.

    Parameters
    ----------
    cmdp : CMDP
        Any model.
    plan : Plan
        A plan for it.
    stage : int, optional
        The stage to draw on a map, from 0; all stages together when not given.
    """
    with house_style():
        has_map = cmdp.layout is not None
        width, height = _grid_inches(cmdp) if has_map else _policy_inches(cmdp, plan)
        height = max(height, 1.0 + 1.35 * (1 + len(shown_constraints(cmdp, plan))))
        figure = sheet(width + USE_WIDTH, height)
        left, right = figure.subfigures(
            1, 2, width_ratios=[width, USE_WIDTH], wspace=0.03, squeeze=False
        )[0]
        if has_map:
            _fill_grid(left, cmdp, plan, stage)
        else:
            _fill_policy(left, cmdp, plan)
        _fill_use(right, cmdp, plan)
    return figure


def regret_figure(
    curves: Sequence[RegretCurves],
    title: str,
    conditions: str,
    cost: str = "cost",
    constraint: str = "constraint",
    has_reference: bool = False,
) -> Figure:
    """The four regrets against episodes: a colour for each learner, a band over its seeds.

    Parameters
    ----------
    curves : sequence of RegretCurves
        One for each learner.
    title : str
        What was learned.
    conditions : str
        Seeds, delta, confidence and rho, in a line under the title.
    cost : str
        What cost is counted in.
    constraint : str
        What constraints are counted in.
    has_reference : bool
        Whether to draw growth like a square root, through the highest end of each panel.
    """
    labels = [short(cost)] * 2 + [short(constraint)] * 2
    with house_style():
        figure = sheet(8.6, 6.6)
        panels = figure.subplots(2, 2, sharex=True).ravel().tolist()
        lines = draw_regrets(panels, curves, labels)
        if has_reference:
            lines += draw_references(panels, curves)
        for axes in panels[2:]:
            axes.set_xlabel("episode")
        if any(each.is_heuristic for each in curves):
            panels[1].set_title("heuristic: no guarantee", loc="right", color=RED, fontsize=10)
        figure.align_ylabels()
        heading = f"{title}\n{fill(conditions, LINE)}"
        figure.suptitle(heading, x=0.012, ha="left", fontsize=10.5)
        figure.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), 4))
    return figure


def _fill_grid(figure: Figure | SubFigure, cmdp: CMDP, plan: Plan, stage: int | None) -> None:
    if stage is not None and not 0 <= stage < cmdp.horizon:
        raise ModelError(f"stage: {stage}, expected 0 to {cmdp.horizon - 1}")
    axes = figure.add_subplot()
    colours, exceeds = draw_grid(axes, cmdp, plan, stage)
    when = f"all {cmdp.horizon} stages" if stage is None else f"stage {stage}"
    axes.set_title(f"Policy and occupancy, {when}")
    counted = "expected visits" if stage is None else "probability of being there"
    bar = figure.colorbar(
        colours,
        ax=axes,
        shrink=0.85,
        aspect=28,
        pad=0.02,
        extend="max" if exceeds else "neither",
        label=counted,
    )
    bar.outline.set_visible(False)


def _fill_policy(figure: Figure | SubFigure, cmdp: CMDP, plan: Plan) -> None:
    axes = figure.add_subplot()
    draw_policy(axes, cmdp, plan)
    axes.set_title("Likeliest action")


def _fill_use(figure: Figure | SubFigure, cmdp: CMDP, plan: Plan) -> None:
    constraints = shown_constraints(cmdp, plan)
    panels = figure.subplots(1 + len(constraints), 1, sharex=True, squeeze=False)
    draw_use(list(panels[:, 0]), cmdp, plan, constraints)
    panels[0, 0].set_title("Expected totals so far")
    figure.align_ylabels(list(panels[:, 0]))


def _grid_inches(cmdp: CMDP) -> tuple[float, float]:
    rows, columns = (4, 4) if cmdp.layout is None else grid_size(cmdp.layout)
    cell = min(0.62, 8.0 / max(rows, columns))
    return max(4.2, cell * columns + 1.5), max(2.8, cell * rows + 1.1)


def _policy_inches(cmdp: CMDP, plan: Plan) -> tuple[float, float]:
    states = len(picture_of(plan).states)
    return min(11.0, max(6.4, 4.0 + 0.16 * cmdp.horizon)), min(8.5, max(3.2, 1.4 + 0.2 * states))
