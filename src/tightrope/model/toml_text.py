"""Writing a model as TOML text; reading it back gives the same model bit for bit.

Values are written in the author's units if these convert back exactly, otherwise on the model's
scale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.model.draft import Draft, at_stages, default_names
from tightrope.model.files import FORMAT
from tightrope.model.layout import Layout
from tightrope.model.units import Unit, onto_budget, onto_unit_interval


def encode_toml(
    model: Draft, cost_unit: Unit, constraint_units: Sequence[Unit], layout: Layout | None
) -> bytes:
    """Return the text of a settled draft."""
    lines = [*_head(model), "", "[objective]", f"name = {_quote(cost_unit.name)}"]
    lines += _quantity(model, model.cost, cost_unit, None)
    for i, unit in enumerate(constraint_units):
        names = model.names["i"]
        name = names[i] if names else default_names(i + 1)[i]
        lines += ["", "[[constraint]]"]
        lines += [f"name = {_quote(name)}"] if names else []
        lines += [f"unit = {_quote(unit.name)}"] if unit.name != name else []
        lines += _quantity(model, model.constraint_cost[i], unit, model.budget[i])
    if layout is not None:
        lines += ["", "[layout]"]
        lines += [f"{key} = {_plain(value)}" for key, value in layout.as_lists().items()]
    try:
        return "\n".join([*lines, ""]).encode()
    except UnicodeEncodeError as error:
        more = f" cannot be written as UTF-8 text: {error.reason}"
        raise ModelError.about("names", found=error.object[error.start], more=more) from error


def _head(model: Draft) -> Iterator[str]:
    _, H, S, A = model.shape
    yield f"format = {_quote(FORMAT)}"
    if model.discount is None:
        yield f"horizon = {H}"
    else:
        yield "average = true" if model.discount == 1.0 else f"discount = {_plain(model.discount)}"
    yield f"states = {_plain(model.names['s'] or S)}"
    yield f"actions = {_plain(model.names['a'] or A)}"
    yield f"initial = {_start(model)}"
    if model.discount is None:
        yield f"noise = {_quote(model.noise)}"
    yield from _list("transition", _transition_rows(model))
    mask = model.allowed
    if mask.shape[0] > 1 and model.transitions.indptr.shape[0] == 1:
        missing = np.argwhere(at_stages(mask, 1) & ~mask)
        yield from _list("forbidden", ((h, *_pair(model, s, a)) for h, s, a in missing))


def _start(model: Draft) -> str:
    reached = np.flatnonzero(model.initial)
    if reached.size == 1 and model.initial[reached[0]] == 1.0:
        return _plain(_name(model, "s", reached[0]))
    names = model.names["s"]
    parts = [
        f"{_quote(names[s] if names else str(s))} = {_plain(model.initial[s])}"
        for s in reached.tolist()
    ]
    return f"{{ {', '.join(parts)} }}"


def _transition_rows(model: Draft) -> Iterator[tuple[Any, ...]]:
    p, A = model.transitions, model.shape[3]
    for g, indptr in enumerate(p.indptr):
        stage = (g,) if len(p.indptr) > 1 else ()
        for row in np.flatnonzero(np.diff(indptr)):
            pair = _pair(model, row // A, row % A)
            for e in range(indptr[row], indptr[row + 1]):
                yield (*stage, *pair, _name(model, "s", p.indices[g, e]), p.data[g, e])


def _quantity(model: Draft, costs: Floats, unit: Unit, budget: float | None) -> Iterator[str]:
    """Yield the lines of an objective, or of a constraint with its budget."""
    own = _in_own_units(model, costs, unit, budget)
    gain = own is not None and unit.is_maximized
    if own is None:
        values, bound = costs, budget
        yield f"shown = {{ factor = {_plain(unit.factor)}, shift = {_plain(unit.shift)} }}"
    else:
        values, bound, ends = own
        if ends != (0.0, 1.0):
            yield f"range = {_plain(ends)}"
    key = ("reward" if budget is None else "utility") if gain else "cost"
    listed = np.argwhere(at_stages(model.allowed, len(values)) & (values != 0))
    by_stage = len(values) > 1
    rows = (((h,) * by_stage + _pair(model, s, a) + (values[h, s, a],)) for h, s, a in listed)
    yield from _list(key, rows)
    if bound is not None:
        yield f"{'floor' if gain else 'budget'} = {_plain(bound)}"


def _in_own_units(
    model: Draft, costs: Floats, unit: Unit, budget: float | None
) -> tuple[Floats, float | None, tuple[float, float]] | None:
    """Return values, bound and range in the unit; None if these do not convert back exactly."""
    H, gain = model.steps, unit.is_maximized
    ends = _range(unit, H)
    if ends is None:
        return None
    low, high = ends
    exists = at_stages(model.allowed, len(costs))
    near = high - costs * (high - low) if gain else low + costs * (high - low)
    values = _preimage(
        lambda v: onto_unit_interval(v, low, high, gain), near[exists], costs[exists]
    )
    if values is None:
        return None
    own = np.zeros(costs.shape)
    own[exists] = values
    if budget is None:
        return own, None, ends
    bound = _single(lambda b: onto_budget(b, unit, H), unit.show(budget), budget)
    return None if bound is None else (own, bound, ends)


def _range(unit: Unit, H: float) -> tuple[float, float] | None:
    """Return the range of one step that gave this unit."""
    best = _single(lambda x: H * x, unit.shift / H, unit.shift)
    if best is None:
        return None
    other = _single(lambda x: x - best, best + unit.factor, unit.factor)
    if other is None:
        return None
    return (other, best) if unit.is_maximized else (best, other)


def _single(scale: Callable[[float], float], near: float, target: float) -> float | None:
    found = _preimage(
        lambda x: np.array([scale(float(x[0]))]), np.array([near]), np.array([target])
    )
    return None if found is None else float(found[0])


def _preimage(scale: Callable[[Floats], Floats], near: Floats, target: Floats) -> Floats | None:
    """Return numbers close to ``near`` that scale to the target exactly, short ones first."""
    found = np.full(target.shape, np.nan)
    for trial in _trials(near):
        hit = np.isnan(found) & (scale(trial) == target)
        found[hit] = trial[hit]
        if not np.isnan(found).any():
            return found
    return None


def _trials(near: Floats) -> Iterator[Floats]:
    largest = float(np.abs(near).max(initial=0.0))
    magnitude = int(np.ceil(np.log10(largest))) if 1e-200 < largest < 1e200 else 0
    for digits in range(17):
        yield np.round(near, digits - magnitude)
    yield near
    above = below = near
    for _ in range(8):
        above, below = np.nextafter(above, np.inf), np.nextafter(below, -np.inf)
        yield above
        yield below


def _pair(model: Draft, state: Any, action: Any) -> tuple[Any, Any]:
    return _name(model, "s", state), _name(model, "a", action)


def _name(model: Draft, axis: str, position: Any) -> str | int:
    """Return the name, or the number if there is no name or it is the wildcard."""
    names = model.names[axis]
    return names[position] if names and names[position] != "*" else int(position)


def _list(key: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    yield f"{key} = ["
    for row in rows:
        yield f"  {_plain(row)},"
    yield "]"


def _plain(value: Any) -> str:
    """Return a number, text or list as TOML; floats with all their digits."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(int(value)) if isinstance(value, (int, np.integer)) else repr(float(value))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
