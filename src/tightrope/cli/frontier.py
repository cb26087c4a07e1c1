"""``tightrope frontier``: optimal cost against one budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Floats
from tightrope.cli.screen import emit, require_figure, say, table
from tightrope.cli.source import Source
from tightrope.model import Model, Unit
from tightrope.model.units import constraint_at
from tightrope.plan.explain import drop_rounding, kind_of
from tightrope.plan.frontier import Frontier, frontier
from tightrope.progress import working
from tightrope.text import counted, digits

ENDS, AROUND = 4, 2  # breakpoints shown at either end, and on either side of the current budget
TIGHTER = 0.1  # of the slack above the least budget: size of the example tightening


class Row(NamedTuple):
    """A breakpoint or the current budget."""

    bound: float
    value: float
    price: float  # of the budget from here on; zero at the last breakpoint
    is_present: bool


def run(source: Source, constraint: str, most: int, as_json: bool, figure: Path | None) -> None:
    """Compute the frontier of a model and show it."""
    cmdp = source.load_model()
    i = constraint_at(cmdp.constraint_names, constraint)
    require_figure(figure)
    found = trace(source.name, cmdp, i, most)
    if figure is not None:
        from tightrope.show.figures import frontier_figure, save

        with working(f"drawing {source.name}"):
            save(frontier_figure(found, cmdp), figure)
    if as_json:
        emit({**frontier_data(source.name, cmdp, found), "figure": figure and str(figure)})
        return
    show_frontier(source.name, cmdp, found)
    if figure is not None:
        say(f"\nwritten: {figure}")


def trace(name: str, cmdp: Model, i: int, most: int) -> Frontier:
    """Compute the frontier of one budget, with progress."""
    with working(f"computing the frontier of {name}", "breakpoints") as work:

        def report(breakpoints: int, chords: int) -> None:
            work.report(breakpoints, note=f"{chords} chords to try")

        return frontier(cmdp, i, most=most, progress=report)


def rows_of(cmdp: Model, found: Frontier) -> list[Row]:
    """Return breakpoints from the tightest budget on, with the current one if it is feasible."""
    unit, cost = cmdp.constraint_units[found.constraint], cmdp.cost_unit
    present = float(cmdp.budget[found.constraint])
    near = 1e-9 * float(np.abs(found.budget - unit.shift).max())
    points = [
        (float(b), float(v), float(p), abs(float(b) - present) <= near)
        for b, v, p in zip(found.budget, found.value, _prices(found), strict=True)
    ]
    value = found.at(present)
    if np.isfinite(value) and not any(is_present for *_, is_present in points):
        k = int(np.searchsorted(unit.read(found.budget), unit.read(present)))
        points.insert(k, (present, value, points[k - 1][2], True))
    return [
        Row(drop_rounding(unit, b), drop_rounding(cost, v), p, here) for b, v, p, here in points
    ]


def _prices(found: Frontier) -> Floats:
    """Return the price of the budget from each breakpoint on; zero at the last."""
    return np.append(found.multiplier, 0.0)


def show_frontier(name: str, cmdp: Model, found: Frontier) -> None:
    """Print the breakpoints, including the current budget, and the cost of tightening it."""
    unit, cost = cmdp.constraint_units[found.constraint], cmdp.cost_unit
    word = kind_of(unit)
    best = "greatest" if cost.is_maximized else "least"
    rows = rows_of(cmdp, found)
    goal = f"{best} {cmdp.measure} {cost.name}"
    title = f"{name}: {goal} against the {word} of {_constraint_name(cmdp, found)}"
    say(title, style="bold")
    lines: list[list[str]] = []
    marked, last = [], -1
    for k in _chosen(rows):
        if k > last + 1:
            lines.append(["", f"... {k - last - 1} more ...", "", ""])
        *numbers, is_present = rows[k]
        if is_present:
            marked.append(len(lines))
        lines.append(["now ->" if is_present else "", *map(digits, numbers)])
        last = k
    columns = ["", word, cost.name, "price from here"]
    table(columns, lines, numbers=columns[1:], marked=marked)
    if not found.is_complete:
        say(
            f"{counted(len(found.budget), 'breakpoint')} found, and there are more; "
            "--most N computes more"
        )
    for sentence in _sentences(cmdp, found):
        say(sentence)


def _chosen(rows: list[Row]) -> list[int]:
    """Return all rows, or of many the ends and those around the current budget."""
    present = [k for k, row in enumerate(rows) if row.is_present]
    spots = range(len(rows))
    if len(rows) <= 2 * ENDS + 2 * AROUND + 2:
        return list(spots)
    near = {k for p in present for k in range(p - AROUND, p + AROUND + 1)}
    return [k for k in spots if k < ENDS or k >= len(rows) - ENDS or k in near]


def _sentences(cmdp: Model, found: Frontier) -> list[str]:
    """Return sentences on the current budget."""
    unit, cost = cmdp.constraint_units[found.constraint], cmdp.cost_unit
    word = kind_of(unit)
    verb, loss = ("earns", "gives up") if cost.is_maximized else ("saves", "costs")
    present, least = float(cmdp.budget[found.constraint]), float(found.budget[0])
    enough = float(found.budget[-1])
    highest = _total(cost, float(found.value[0]))
    ends = [
        f"the {'highest' if unit.is_maximized else 'least'} {word} that can be kept is "
        f"{_total(unit, least)}, with {highest} {cost.name}",
        f"{'below' if unit.is_maximized else 'beyond'} {_total(unit, enough)} "
        f"a {'lower' if unit.is_maximized else 'larger'} {word} {verb} nothing",
    ]
    value = found.at(present)
    if not np.isfinite(value):
        return [
            f"the current {word}, {_total(unit, present)}, cannot be kept",
            *ends,
        ]
    if unit.read(present) <= unit.read(least):
        return [f"the current {word} cannot be tightened", ends[1]]
    tighter = present - TIGHTER * (present - least)
    extra = abs(found.at(tighter) - value)
    tightened = f"from {_total(unit, present)} to {_total(unit, tighter)}"
    return [f"tightening the {word} {tightened} {loss} {digits(extra)} {cost.name}", *ends]


def _total(unit: Unit, value: float) -> str:
    return digits(drop_rounding(unit, value))


def _constraint_name(cmdp: Model, found: Frontier) -> str:
    name, unit = cmdp.constraint_names[found.constraint], cmdp.constraint_units[found.constraint]
    return repr(name) if name == unit.name else f"{name!r} ({unit.name})"


def frontier_data(name: str, cmdp: Model, found: Frontier) -> dict[str, Any]:
    """Return the frontier as plain data."""
    unit, cost = cmdp.constraint_units[found.constraint], cmdp.cost_unit
    present = float(cmdp.budget[found.constraint])
    return {
        "model": name,
        "constraint": cmdp.constraint_names[found.constraint],
        "kind": kind_of(unit),
        "unit": cost.name,
        "maximized": cost.is_maximized,
        "constraint_unit": unit.name,
        "complete": found.is_complete,
        "now": {
            "budget": present,
            "value": found.at(present),
            "words": _sentences(cmdp, found),
        },
        "breakpoints": [
            {"budget": budget, "value": value, "multiplier": multiplier}
            for budget, value, multiplier in zip(
                found.budget.tolist(),
                found.value.tolist(),
                _prices(found).tolist(),
                strict=True,
            )
        ],
    }
