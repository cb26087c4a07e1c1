"""What a model and a plan show in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from tightrope.arrays import Floats
from tightrope.model.face import Face
from tightrope.model.html import bar, card, figure, heat, number, table
from tightrope.model.layout import Layout
from tightrope.model.unit import Unit

if TYPE_CHECKING:
    from tightrope.model.plan import Plan

MOST_STATES = 80  # of a picture by states; and as many stages and actions
MOST_ROWS = 12  # of a table
MOST_CELLS = 2500  # of a map


def model_card(model: Face) -> str:
    """Sizes, budgets in shown units, and the map or the costs in small."""
    H, S, A = model.cost.shape
    kind = "stationary" if model.is_stationary else "time-dependent"
    aim = "maximise" if model.cost_unit.is_maximised else "minimise"
    facts = [f"{S} states", f"{A} actions", f"horizon {H}", kind]
    facts.append(f"{aim} expected {model.cost_unit.name}")
    rows = []
    for i, name in enumerate(model.constraint_names[:MOST_ROWS]):
        unit = model.constraint_units[i]
        counted = "" if unit.name == name else unit.name
        rows.append([escape(name), _limit(unit, model.budget[i]), escape(counted)])
    heads = ["constraint", "limit", "counted in"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    parts = [table(heads, rows), _rest(model.n_constraints)] if rows else []
    return card("CMDP", facts, *parts, _ground(model))


def plan_card(plan: Plan) -> str:
    """Cost, what is used of each budget, prices, and where the plan goes in small.

    Without a model the numbers are what was planned, in the best model that may be, and no more.
    """
    model = plan.model
    if model is None:
        facts = [f"planned cost {number(plan.value)}"]
    else:
        unit, gap = model.cost_unit, max(plan.gap, 0.0) * abs(model.cost_unit.factor)
        facts = [f"expected {unit.name} {number(unit.show(plan.value))}"]
        if np.isfinite(gap):
            facts.append(f"certified within {gap:.1g}" if gap else "certified")
    facts.append(plan.method)
    if not plan.is_feasible:
        facts.append("no policy keeps the budgets: violation made least")
    return card("Plan", facts, _uses(plan), _visits(plan))


def _limit(unit: Unit, budget: float) -> str:
    return f"{'≥' if unit.is_maximised else '≤'} {number(unit.show(float(budget)))}"


def _rest(n_constraints: int) -> str:
    hidden = n_constraints - MOST_ROWS
    return f"<div>and {hidden} more constraints</div>" if hidden > 0 else ""


def _ground(model: Face) -> str:
    layout = _small_map(model)
    if layout is not None:
        ground, walls = _hazard(model, layout), _walls(layout)
        return figure(heat(ground, "map", walls), "map: walls, and where constraint costs arise")
    mean = model.problem.cost[:, :MOST_STATES, :MOST_STATES].mean(axis=0).T
    return figure(heat(mean, "cost of a step"), f"cost of a step: {_axes(model.n_states)}")


def _small_map(model: Face) -> Layout | None:
    """The map, unless it is none or too large for a small picture."""
    layout = model.layout
    if layout is None or len(layout.rows) * max(map(len, layout.rows)) > MOST_CELLS:
        return None
    return layout


def _axes(n_states: int) -> str:
    cut = f" (first {MOST_STATES} of {n_states})" if n_states > MOST_STATES else ""
    return f"actions down, states across{cut}"


def _walls(layout: Layout) -> Floats:
    walls = np.zeros((len(layout.rows), max(map(len, layout.rows))))
    for r, row in enumerate(layout.rows):
        walls[r, : len(row)] = [letter == "#" for letter in row]
    return walls


def _on_map(layout: Layout, by_state: Floats) -> Floats:
    ground = np.zeros_like(_walls(layout))
    for (row, column), value in zip(np.asarray(layout.cells), by_state, strict=True):
        if row >= 0:
            ground[row, column] += value
    return ground


def _hazard(model: Face, layout: Layout) -> Floats:
    if model.n_constraints == 0:
        return np.zeros_like(_walls(layout))
    return _on_map(layout, model.problem.constraint_cost.max(axis=(0, 1, 3)))


def _uses(plan: Plan) -> str:
    model, I = plan.model, len(plan.constraint_value)
    rows = []
    for i in range(min(I, MOST_ROWS)):
        used, price = float(plan.constraint_value[i]), float(plan.saving[i])
        if model is None:
            rows.append([f"constraint {i}", number(used), number(price)])
            continue
        unit, budget = model.constraint_units[i], float(model.budget[i])
        rows.append(
            [
                escape(model.constraint_names[i]),
                number(unit.show(used)),
                _limit(unit, budget),
                bar(used, budget),
                number(price * abs(model.cost_unit.factor / unit.factor)),
            ]
        )
    if not rows:
        return ""
    heads = ["constraint", "used", "limit", "", "price"]
    return table(heads if model is not None else ["constraint", "planned", "price"], rows) + _rest(
        I
    )


def _visits(plan: Plan) -> str:
    model, reached = plan.model, plan.occupancy.sum(axis=2)
    layout = None if model is None else _small_map(model)
    if layout is not None:
        ground = _on_map(layout, reached.sum(axis=0))
        return figure(heat(ground, "visits", _walls(layout)), "expected visits")
    H = len(reached)
    stages = np.unique(np.linspace(0, H - 1, min(H, MOST_STATES)).round().astype(int))
    states = np.sort(np.argsort(-reached.sum(axis=0), kind="stable")[:MOST_STATES])
    cut = f" ({MOST_STATES} visited most)" if reached.shape[1] > MOST_STATES else ""
    picture = heat(reached[np.ix_(stages, states)].T, "visits")
    return figure(picture, f"where it goes: stages across, states down{cut}")
