"""The frontier drawn: optimal cost against one budget, in the author's own units."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from matplotlib.axes import Axes

from tightrope.arrays import Floats
from tightrope.model import CMDP
from tightrope.show.style import BLUE, INK, ORANGE, PALE, RED, digits, marks

MARGIN = 0.12  # of the frontier's width, drawn on both sides of it
THIN = 0.005  # of the picture's width; narrower bands are not drawn
EDGE = 0.02  # of the picture's width, left blank on both sides


class FrontierLike(Protocol):
    """Optimal cost against one budget: breakpoints, and the values and prices between them."""

    @property
    def constraint(self) -> int:
        """Which budget varies."""

    @property
    def budget(self) -> Floats:
        """Breakpoints in increasing order, (B,)."""

    @property
    def value(self) -> Floats:
        """Optimal cost at each breakpoint, (B,)."""

    @property
    def multiplier(self) -> Floats:
        """Price of the budget between two breakpoints, (B - 1,)."""

    def at(self, budget: float) -> float:
        """Optimal cost for a budget."""


def draw_frontier(axes: Axes, frontier: FrontierLike, cmdp: CMDP) -> None:
    """Draw the breakpoints, what cannot be met, where more is useless, and the present budget."""
    unit, cost = cmdp.constraint_units[frontier.constraint], cmdp.cost_unit
    present = float(cmdp.budget[frontier.constraint])
    low, high = _ends(frontier, present)
    edge = EDGE * (high - low)
    budgets = np.append(frontier.budget, high)
    values = np.append(frontier.value, frontier.value[-1])
    if budgets[0] - low > THIN * (high - low):
        ends = unit.show(low - edge), unit.show(float(budgets[0]))
        axes.axvspan(*ends, color=PALE, linewidth=0, label="cannot be met")
    axes.plot(unit.show(budgets), cost.show(values), "-", color=BLUE, linewidth=1.8, zorder=3)
    axes.plot(
        unit.show(frontier.budget),
        cost.show(frontier.value),
        "o",
        color=BLUE,
        markersize=marks(len(frontier.budget)),
        label=_count(len(frontier.budget)),
        zorder=4,
    )
    axes.set_xlim(*sorted((unit.show(low - edge), unit.show(high + edge))))
    bound = "floor" if unit.is_maximised else "budget"
    axes.set_xlabel(f"{bound} of {_named(cmdp, frontier.constraint)}")
    axes.set_ylabel(f"{'greatest' if cost.is_maximised else 'least'} expected {cost.name}")
    axes.grid()
    axes.margins(y=0.1)
    _draw_present(axes, frontier, cmdp, present)
    axes.legend(loc="best", frameon=True)


def _draw_present(axes: Axes, frontier: FrontierLike, cmdp: CMDP, present: float) -> None:
    unit, cost = cmdp.constraint_units[frontier.constraint], cmdp.cost_unit
    value = frontier.at(present)
    x = unit.show(present)
    axes.axvline(x, color=ORANGE, linewidth=1.2, linestyle="--", zorder=2)
    if not np.isfinite(value):
        axes.plot([], [], "--", color=RED, label=f"now: {digits(x)}")
        return
    y = cost.show(value)
    bound = "floor" if unit.is_maximised else "budget"
    label = f"now: {digits(y)} at {bound} {digits(x)}"
    axes.plot(x, y, "D", color=ORANGE, markeredgecolor=INK, markersize=7, zorder=5, label=label)


def _ends(frontier: FrontierLike, present: float) -> tuple[float, float]:
    """The budgets between which to draw, on the model's scale."""
    first, last = float(frontier.budget[0]), float(frontier.budget[-1])
    low, high = min(first, present), max(last, present)
    margin = MARGIN * (high - low if high > low else max(abs(high), 1.0))
    # no budget lies below zero on the model's scale
    return max(low - margin, min(first, 0.0)), high + margin


def _named(cmdp: CMDP, i: int) -> str:
    name, unit = cmdp.constraint_names[i], cmdp.constraint_units[i].name
    return name if name == unit else f"{name} ({unit})"


def _count(n_breakpoints: int) -> str:
    return f"{n_breakpoints} breakpoint{'' if n_breakpoints == 1 else 's'}"
