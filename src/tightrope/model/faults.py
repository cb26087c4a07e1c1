"""What cannot be in the values of a draft: one error for each kind of fault.

The constructor of `CMDP` raises the first of them, the linter lists them all. Entries are named
with the user's own names, and values also in the user's own units where a unit is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from tightrope.arrays import Floats, entry, require_finite, require_range
from tightrope.errors import ModelError
from tightrope.model.draft import ROW_TOLERANCE, Draft, at_stages
from tightrope.model.unit import Unit, units_or_plain
from tightrope.text import number


def named_faults(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> Iterator[tuple[str, ModelError]]:
    """Every kind of fault: a word for it, and an error that names the first offending entry."""
    unit, units = cost_unit or Unit(), units_or_plain(constraint_units, model.budget.size)
    checks: tuple[tuple[str, Callable[[Draft], None]], ...] = (
        ("actions", _check_allowed),
        ("probability", _check_probabilities),
        ("row", _check_rows),
        ("cost", partial(_check_cost, unit=unit)),
        ("constraint cost", partial(_check_constraint_cost, units=units)),
        ("budget", partial(_check_budget, units=units)),
        ("start", _check_initial),
    )
    for kind, check in checks:
        try:
            check(model)
        except ModelError as fault:
            yield kind, fault


def _check_allowed(model: Draft) -> None:
    stuck = np.argwhere(~model.allowed.any(axis=2))
    if len(stuck):
        by_stage = model.allowed.shape[0] > 1
        index, axes = (stuck[0], "hs") if by_stage else (stuck[0][1:], "s")
        where = entry("allowed", index, axes, model.names)
        more = _more(len(stuck), "states")
        raise ModelError(f"{where} allows no action, expected at least one{more}")


def _check_probabilities(model: Draft) -> None:
    p = model.transitions
    inside = np.arange(p.data.shape[1]) < p.indptr[:, -1:]
    for bad, expected in (
        (~np.isfinite(p.data), "a finite number"),
        (p.data < 0, "a probability of at least 0"),
    ):
        count = int(np.count_nonzero(bad & inside))
        if count:
            g, e = np.unravel_index(int(np.argmax(bad & inside)), bad.shape)
            row = int(np.searchsorted(p.indptr[g], e, side="right")) - 1
            where = _pair(model, int(g), row, int(p.indices[g, e]))
            more = _more(count, "entries")
            raise ModelError(f"{where} is {number(p.data[g, e])}, expected {expected}{more}")


def _check_rows(model: Draft) -> None:
    sums = model.row_sums
    needed = at_stages(model.allowed, len(sums)).reshape(sums.shape) & ~np.isnan(sums)
    bad = needed & ~(np.abs(sums - 1.0) <= ROW_TOLERANCE)
    if bad.any():
        g, row = np.unravel_index(int(np.argmax(bad)), bad.shape)
        more = _more(int(np.count_nonzero(bad)), "rows")
        raise ModelError(
            f"{_pair(model, int(g), int(row))} sums to {sums[g, row]:.9g}, "
            f"expected 1 within {ROW_TOLERANCE:g}{more}"
        )


def _pair(model: Draft, g: int, row: int, t: int | None = None) -> str:
    A = model.shape[3]
    index, axes = [row // A, row % A], "sa"
    if model.transitions.indptr.shape[0] > 1:
        index, axes = [g, *index], "h" + axes
    if t is not None:
        index, axes = [*index, t], axes + "t"
    return entry("transition", index, axes, model.names)


def _check_cost(model: Draft, unit: Unit) -> None:
    axes = model.axes(model.cost, "hsa")
    values = model.cost if "h" in axes else model.cost[0]
    _check_range(model, "cost", values, axes, 1, [unit])


def _check_constraint_cost(model: Draft, units: Sequence[Unit]) -> None:
    axes = model.axes(model.constraint_cost, "ihsa")
    values = model.constraint_cost if "h" in axes else model.constraint_cost[:, 0]
    _check_range(model, "constraint_cost", values, axes, 1, units)


def _check_budget(model: Draft, units: Sequence[Unit]) -> None:
    _check_range(model, "budget", model.budget, "i", model.horizon, units)


def _check_range(
    model: Draft, name: str, values: Floats, axes: str, most: int, units: Sequence[Unit]
) -> None:
    """Values must lie in ``[0, most]``; the complaint says it in their units too."""
    require_finite(name, values, axes, model.names)
    try:
        require_range(name, values, 0.0, float(most), axes, model.names)
    except ModelError as error:
        raise ModelError(f"{error}{_in_units(values, most, units, model.horizon)}") from None


def _in_units(values: Floats, most: int, units: Sequence[Unit], horizon: int) -> str:
    """The first value outside ``[0, most]`` again, in its unit, unless that says nothing new."""
    first = int(np.argmax(~((values >= 0) & (values <= most))))
    unit = units[first // (values.size // len(units))]
    if unit.factor == 1.0 and unit.shift == 0.0:
        return ""
    shift = unit.shift * most / horizon
    shown = shift + unit.factor * float(values.flat[first])
    low, high = sorted((shift, shift + unit.factor * most))
    return f"; as {unit.name}: {shown:.9g}, expected a number in [{low:g}, {high:g}]"


def _check_initial(model: Draft) -> None:
    require_finite("initial", model.initial, "s", model.names)
    require_range("initial", model.initial, 0.0, 1.0 + ROW_TOLERANCE, "s", model.names)
    total = float(model.initial.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise ModelError(f"initial sums to {total:.9g}, expected 1 within {ROW_TOLERANCE:g}")


def _more(count: int, what: str) -> str:
    return "" if count == 1 else f"; {count} such {what}"
