"""Faults in the values of a draft, and what the author of the model can do about each.

The constructor of `CMDP` raises the first fault, the linter lists them all. Entries are named with
the user's own names, and values also in the user's own units where a unit is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tightrope.arrays import Floats, entry, find_first, require_finite, require_range
from tightrope.errors import ModelError
from tightrope.model.draft import ROW_TOLERANCE, Draft, at_stages
from tightrope.model.units import Unit, units_or_plain
from tightrope.text import number

DUST = 1e-6  # what rounding can leave below zero
WEIGHTS = 0.05  # rows off by less are taken for rounded ones
ALLOW = "allow an action there; where everything ends, one that stays with probability 1"


def named_faults(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> Iterator[tuple[str, ModelError, str]]:
    """Yield every kind of fault: a word for it, an error for the first bad entry, a remedy.

    The remedy is empty where only the author can know it.
    """
    own, units = [cost_unit or Unit()], units_or_plain(constraint_units, model.budget.size)
    costs, bounded, H = model.cost[None], model.constraint_cost, model.horizon
    checks: tuple[tuple[str, Callable[[], None], Callable[[], str]], ...] = (
        ("actions", lambda: _check_allowed(model), lambda: ALLOW),
        ("probability", lambda: _check_probabilities(model), lambda: _mend_probabilities(model)),
        ("row", lambda: _check_rows(model), lambda: _mend_rows(model)),
        (
            "cost",
            lambda: _check_costs(model, "cost", costs, own),
            lambda: _mend_costs("cost", costs, H, own),
        ),
        (
            "constraint cost",
            lambda: _check_costs(model, "constraint_cost", bounded, units),
            lambda: _mend_costs("constraint_cost", bounded, H, units),
        ),
        (
            "budget",
            lambda: _check_range(model, "budget", model.budget, "i", H, units),
            lambda: (
                f"a budget bounds the expected sum over all {H} steps; "
                f"leave out a constraint that may reach {H}"
            ),
        ),
        ("start", lambda: _check_initial(model), lambda: _mend_initial(model)),
    )
    for kind, check, mend in checks:
        try:
            check()
        except ModelError as fault:
            yield kind, fault, mend()


def _check_allowed(model: Draft) -> None:
    found = find_first(~model.allowed.any(axis=2), "states")
    if found is not None:
        index, axes = (found[0], "hs") if model.allowed.shape[0] > 1 else (found[0][1:], "s")
        where = entry("allowed", index, axes, model.names)
        raise ModelError(f"{where} allows no action, expected at least one{found[1]}")


def _check_probabilities(model: Draft) -> None:
    p = model.transitions
    inside = np.arange(p.data.shape[1]) < p.indptr[:, -1:]
    for bad, expected in (
        (~np.isfinite(p.data), "a finite number"),
        (p.data < 0, "a probability of at least 0"),
    ):
        found = find_first(bad & inside)
        if found is not None:
            (g, e), more = found
            row = int(np.searchsorted(p.indptr[g], e, side="right")) - 1
            where = _pair(model, g, row, int(p.indices[g, e]))
            raise ModelError(f"{where} is {number(p.data[g, e])}, expected {expected}{more}")


def _check_rows(model: Draft) -> None:
    sums = model.row_sums
    needed = at_stages(model.allowed, len(sums)).reshape(sums.shape) & ~np.isnan(sums)
    found = find_first(needed & ~(np.abs(sums - 1.0) <= ROW_TOLERANCE), "rows")
    if found is not None:
        where, total = _pair(model, *found[0]), f"{sums[found[0]]:.9g}"
        raise ModelError(f"{where} sums to {total}, expected 1 within {ROW_TOLERANCE:g}{found[1]}")


def _pair(model: Draft, g: int, row: int, t: int | None = None) -> str:
    A = model.shape[3]
    index, axes = [row // A, row % A], "sa"
    if model.transitions.indptr.shape[0] > 1:
        index, axes = [g, *index], "h" + axes
    if t is not None:
        index, axes = [*index, t], axes + "t"
    return entry("transition", index, axes, model.names)


def _check_costs(model: Draft, name: str, values: Floats, units: Sequence[Unit]) -> None:
    """Check costs (I, G, S, A); axes of length one that the user did not give are not named."""
    axes = "ihsa" if name == "constraint_cost" else "hsa"
    shown = values if len(axes) == 4 else values[0]
    if values.shape[1] == 1:
        axes, shown = axes.replace("h", ""), shown.squeeze(axes.index("h"))
    _check_range(model, name, shown, axes, 1, units)


def _check_range(
    model: Draft, name: str, values: Floats, axes: str, most: int, units: Sequence[Unit]
) -> None:
    """Raise unless all values lie in ``[0, most]``; the error gives them in their units too."""
    require_finite(name, values, axes, model.names)
    try:
        require_range(name, values, 0.0, float(most), axes, model.names)
    except ModelError as error:
        raise ModelError(f"{error}{_in_units(values, most, units, model.horizon)}") from None


def _in_units(values: Floats, most: int, units: Sequence[Unit], horizon: int) -> str:
    """Return the first value outside ``[0, most]`` in its unit; "" in the model's own."""
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


def _mend_probabilities(model: Draft) -> str:
    p = model.transitions.data
    small = np.isfinite(p).all() and p.min() > -DUST
    return "set them to 0 and divide each row by its sum" if small else ""


def _mend_initial(model: Draft) -> str:
    total = model.initial.sum()
    positive = np.isfinite(total) and total > 0 and (model.initial >= 0).all()
    return f"divide it by its sum, {total:.6g}" if positive else ""


def _mend_rows(model: Draft) -> str:
    sums = model.row_sums
    needed = at_stages(model.allowed, len(sums)).reshape(sums.shape)
    empty = needed & (np.diff(model.transitions.indptr) == 0)
    off = np.where(needed & np.isfinite(sums), np.abs(sums - 1.0), 0.0)
    if empty.any():
        count = int(np.count_nonzero(empty))
        return f"{count} rows are empty: fill them, or forbid those actions with allowed="
    worst = float(sums.flat[int(np.argmax(off))])
    if off.max() <= WEIGHTS:
        return f"divide each row by its sum; the worst is off by {abs(worst - 1.0):.3g}"
    short = f"misses {1.0 - worst:.6g}" if worst < 1.0 else f"has {worst - 1.0:.6g} too much"
    count = int(np.count_nonzero(off > ROW_TOLERANCE))
    return (
        f"the worst of {count} rows {short}: correct it, "
        "or divide each row by its sum if these are weights"
    )


def _mend_costs(word: str, values: Floats, horizon: int, units: Sequence[Unit]) -> str:
    """Return the rescaling that brings costs (I, G, S, A) into [0, 1]."""
    if not np.isfinite(values).all():
        return "give a number, or forbid actions that do not exist with allowed="
    ranges = []
    for block, unit in zip(values, units, strict=True):
        low, high = float(block.min()), float(block.max())
        is_inside = low >= 0.0 and high <= 1.0
        if not is_inside and (unit.factor != 1.0 or unit.shift != 0.0):
            ends = (unit.shift / horizon + unit.factor * x for x in (min(low, 0), max(high, 1)))
            least, most = sorted(ends)
            return f"widen the range of {unit.name!r} to [{least:.6g}, {most:.6g}]"
        ranges.append((0.0, 1.0) if is_inside else (min(low, 0.0), max(high, 0.0)))
    low, high = next((ends for ends in ranges if ends != (0.0, 1.0)), ranges[0])
    numerator = word if low == 0.0 else f"({word} + {-low:.6g})"
    pairs = [f"({low:.6g}, {high:.6g})" for low, high in ranges]
    is_cost = word == "cost"
    option = f"cost_range={pairs[0]}" if is_cost else f"constraint_range=[{', '.join(pairs)}]"
    return (
        f"rescale: {numerator}/{high - low:.6g}; CMDP.from_costs(..., {option}) does it "
        f"and keeps your units, as does range = [{low:.6g}, {high:.6g}] in a TOML file"
    )
