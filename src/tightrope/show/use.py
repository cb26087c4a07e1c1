"""Constraint use over the horizon: what each step adds, against the budget."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes

from tightrope.arrays import Floats
from tightrope.model import CMDP, Plan, Unit
from tightrope.show.style import BLUE, INK, RED, count_stages, digits, marks

MOST_PANELS = 5


def shown_constraints(cmdp: CMDP, plan: Plan) -> list[int]:
    """The constraints that get a panel: all, or the dearest and then the tightest ones."""
    slack = cmdp.budget - plan.constraint_value
    order = np.lexsort((slack, -plan.multiplier))
    return sorted(order[:MOST_PANELS].tolist())


def draw_use(panels: list[Axes], cmdp: CMDP, plan: Plan, constraints: list[int]) -> None:
    """Draw the use of each constraint and, on the last panel, the cost."""
    for axes, i in zip(panels[:-1], constraints, strict=True):
        unit = cmdp.constraint_units[i]
        bound = unit.show(float(cmdp.budget[i]))
        total = running_total(plan.occupancy, cmdp.constraint_cost[i], unit)
        _draw_total(axes, unit, total, BLUE)
        _draw_bound(axes, bound, "at least" if unit.is_maximised else "at most")
        _fit(axes, np.append(total, bound))
    total = running_total(plan.occupancy, cmdp.cost, cmdp.cost_unit)
    _draw_total(panels[-1], cmdp.cost_unit, total, INK)
    _fit(panels[-1], total)
    panels[-1].set_xlabel("steps taken")


def running_total(occupancy: Floats, cost: Floats, unit: Unit) -> Floats:
    """Expected total in shown units after 0, 1, ..., H steps, (H+1,)."""
    H = len(occupancy)
    total = np.concatenate(([0.0], np.cumsum(np.einsum("hsa,hsa->h", occupancy, cost))))
    return np.asarray(unit.shift * np.arange(H + 1) / H + unit.factor * total)


def _draw_total(axes: Axes, unit: Unit, total: Floats, colour: str) -> None:
    stages = np.arange(len(total))
    axes.plot(
        stages,
        total,
        "-o",
        color=colour,
        linewidth=1.6,
        markersize=0.8 * marks(len(total)),
        clip_on=False,
    )
    axes.fill_between(stages, 0.0, total, color=colour, alpha=0.10, linewidth=0)
    axes.annotate(
        digits(float(total[-1])),
        (stages[-1], total[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=colour,
        annotation_clip=False,
    )
    axes.set_ylabel("\n".join(textwrap.wrap(unit.name, 18)[:3]))
    axes.set_xlim(0, stages[-1])
    count_stages(axes, len(total) - 1)
    axes.grid(axis="y")


def _draw_bound(axes: Axes, bound: float, words: str) -> None:
    axes.axhline(bound, color=RED, linewidth=1.3, linestyle="--")
    axes.annotate(
        f"{words} {digits(bound)}",
        (0.015, bound),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        va="bottom",
        fontsize=9,
        color=RED,
    )


def _fit(axes: Axes, shown: Floats) -> None:
    """Limits that hold everything shown, zero and the words on a bound, and little else."""
    low, high = min(0.0, float(shown.min())), max(0.0, float(shown.max()))
    room = 0.18 * (high - low or 1.0)
    axes.set_ylim(low - room if low < 0 else low, high + room)
