"""What an author can do about each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Floats
from tightrope.model.draft import ROW_TOLERANCE, Draft, at_stages
from tightrope.model.unit import Unit, units_or_plain

DUST = 1e-6  # what rounding can leave below zero
WEIGHTS = 0.05  # rows off by less are taken for rounded ones


def remedy(
    kind: str,
    model: Draft,
    cost_unit: Unit | None = None,
    constraint_units: Sequence[Unit] | None = None,
) -> str:
    """What to do about a kind of fault that the draft has; empty when that is the author's call."""
    if kind == "row":
        return _rows(model)
    if kind == "cost":
        return _costs("cost", model.cost[None], model.horizon, [cost_unit or Unit()])
    if kind == "constraint cost":
        units = units_or_plain(constraint_units, model.budget.size)
        return _costs("constraint_cost", model.constraint_cost, model.horizon, units)
    if kind == "probability":
        p = model.transitions.data
        small = np.isfinite(p).all() and p.min() > -DUST
        return "set them to 0 and divide each row by its sum" if small else ""
    if kind == "budget":
        return (
            f"a budget bounds the expected sum over all {model.horizon} steps; "
            f"leave out a constraint that may reach {model.horizon}"
        )
    if kind == "start":
        total = model.initial.sum()
        positive = np.isfinite(total) and total > 0 and (model.initial >= 0).all()
        return f"divide it by its sum, {total:.6g}" if positive else ""
    return "allow an action there; where everything ends, one that stays with probability 1"


def _rows(model: Draft) -> str:
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


def _costs(word: str, values: Floats, horizon: int, units: Sequence[Unit]) -> str:
    """The rescaling that brings costs (I, G, S, A) into [0, 1]."""
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
    outside = next((ends for ends in ranges if ends != (0.0, 1.0)), ranges[0])
    low, high = outside
    numerator = word if low == 0.0 else f"({word} + {-low:.6g})"
    pairs = [f"({low:.6g}, {high:.6g})" for low, high in ranges]
    if word == "cost":
        option = f"cost_range={pairs[0]}"
    else:
        option = f"constraint_range=[{', '.join(pairs)}]"
    return (
        f"rescale: {numerator}/{high - low:.6g}; CMDP.from_costs(..., {option}) does it "
        f"and keeps your units, as does range = [{low:.6g}, {high:.6g}] in a TOML file"
    )
