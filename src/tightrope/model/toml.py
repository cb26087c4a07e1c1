"""Models as TOML text that a person can write.

::

    format = "tightrope-model 1"
    horizon = 8
    states = ["idle", "busy"]              # names, or how many
    actions = ["wait", "serve"]
    initial = "idle"                       # or { idle = 0.5, busy = 0.5 }; the first if not given
    noise = "bernoulli"                    # optional
    transition = [                         # from, action, to, probability
      ["idle", "wait", "idle", 0.7],
      ["idle", "wait", "busy", 0.3],
      ["busy", "wait", "busy", 1.0],
      ["busy", "serve", "idle", 1.0],
    ]

    [objective]
    name = "profit"                        # optional
    range = [-1, 4]                        # of one step; [0, 1] if not given
    reward = [["busy", "serve", 4], ["busy", "wait", -1]]      # or cost = [...], minimised

    [[constraint]]
    name = "energy"
    range = [0, 3]
    cost = [["*", "serve", 3]]             # state, action, value
    budget = 3                             # or utility = [...] and floor = ...: at least

Rows name states and actions or count them from 0. A pair without transition rows is an action that
does not exist there. Values not listed are 0, ``"*"`` stands for every state or action, and later
rows override earlier ones. A leading stage, from 0, makes a row hold for that stage only;
transition rows have it all or none. Less usual keys:

``forbidden``
    Rows ``[stage, state, action]`` of actions that are missing at some stages only.
``unit``
    In a constraint, what its total counts; its name if not given.
``shown``
    Instead of ``range``: ``{ factor = f, shift = s }`` for costs and budgets on the model's own
    scale, [0, 1] a step, of which a total t is shown as s + f t.
``[layout]``
    ``rows``, ``cells``, ``moves``: a map to draw, see `Layout`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Transitions
from tightrope.errors import ModelError
from tightrope.model.arguments import required_horizon
from tightrope.model.csr import stack
from tightrope.model.draft import assembled, unnamed
from tightrope.model.format import FORMAT, Contents, require_format
from tightrope.model.layout import layout_from
from tightrope.model.ranges import onto_budget, onto_unit_interval, required_range
from tightrope.model.toml_rows import (
    Axes,
    Axis,
    Table,
    either,
    number_in,
    parsed,
    require_keys,
    rows_of,
    text_in,
)
from tightrope.model.unit import Unit

NEEDED = ("format", "horizon", "states", "actions", "transition", "objective")
KNOWN = (*NEEDED, "initial", "noise", "forbidden", "constraint", "layout")
OBJECTIVE = ("name", "range", "shown", "cost", "reward")
CONSTRAINT = ("name", "unit", "range", "shown", "cost", "budget", "utility", "floor")


def decoded(content: bytes) -> Contents:
    """The contents of a text; its structure must fit, its values may be bad."""
    table = parsed(content)
    if "format" not in table:
        raise ModelError(f"format: missing, expected format = {FORMAT!r}; not a tightrope model?")
    require_format(table["format"])
    require_keys("", table, KNOWN, NEEDED)
    H = required_horizon(table["horizon"])
    axes = Axes(H, Axis.of("state", table["states"]), Axis.of("action", table["actions"]))
    transitions, listed = _transitions(table["transition"], axes)
    cost, cost_unit = _objective(table["objective"], axes)
    constraints = table.get("constraint", [])
    if not isinstance(constraints, list):
        raise ModelError("constraint: expected tables headed [[constraint]]")
    bounded = [_constraint(i, part, axes) for i, part in enumerate(constraints)]
    model = assembled(
        transitions,
        axes.states.size,
        H,
        cost,
        _joined([values for values, _, _ in bounded], axes),
        [budget for _, budget, _ in bounded],
        _initial(table.get("initial", 0), axes.states),
        listed & ~_forbidden(table.get("forbidden", []), axes),
        table.get("noise", "bernoulli"),
        axes.states.names,
        axes.actions.names,
        _constraint_names(constraints),
    )
    layout = layout_from(table["layout"]) if "layout" in table else None
    return model, cost_unit, tuple(unit for _, _, unit in bounded), layout


def _transitions(given: Any, axes: Axes) -> tuple[Transitions, Bools]:
    """Kernels, and the mask of the pairs that have rows."""
    S, A = axes.states.size, axes.actions.size
    seen: dict[tuple[int, int, int], str] = {}
    chances, width = [], 0
    for where, row in rows_of("transition", given, (4, 5)):
        width = width or len(row)
        if len(row) != width:
            raise ModelError(f"{where}: {row!r}, expected a stage in every row or in none")
        *stage, state, action, following, chance = row
        g = axes.stage(stage[0], where) if stage else 0
        pair = axes.states.find(state, where) * A + axes.actions.find(action, where)
        place = g, pair, axes.states.find(following, where)
        if place in seen:
            raise ModelError(f"{where}: {row!r} gives again what {seen[place]} gave")
        seen[place] = where
        chances.append(number_in(chance, where))
    listed = axes.zeros(by_stage=width == 5).astype(np.bool_).reshape(-1, S * A)
    places, p = np.array(list(seen), dtype=np.int64).reshape(-1, 3), np.array(chances)
    listed[places[:, 0], places[:, 1]] = True
    order = np.lexsort(places.T[::-1])
    places, p = places[order][p[order] != 0], p[order][p[order] != 0]
    stages = []
    ends = np.searchsorted(places[:, 0], np.arange(len(listed) + 1))
    for start, end in pairwise(ends):
        sizes = np.bincount(places[start:end, 1], minlength=S * A)
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        stages.append((indptr, places[start:end, 2], p[start:end]))
    return stack(stages), listed.reshape(-1, S, A)


def _values(key: str, given: Any, axes: Axes) -> Floats:
    """Listed values over (S, A), or over (H, S, A) when a row has a stage."""
    rows = list(rows_of(key, given, (3, 4)))
    by_stage = any(len(row) == 4 for _, row in rows)
    values = axes.zeros(by_stage)
    for where, row in rows:
        *stage, state, action, value = row
        h = axes.stage(stage[0], where) if stage else slice(None)
        s = slice(None) if state == "*" else axes.states.find(state, where)
        a = slice(None) if action == "*" else axes.actions.find(action, where)
        values[h, s, a] = number_in(value, where)
    return values if by_stage else values[0]


def _objective(table: Any, axes: Axes) -> tuple[Floats, Unit]:
    if not isinstance(table, dict):
        raise ModelError("objective: expected a table headed [objective]")
    require_keys("[objective]", table, OBJECTIVE)
    key = either("[objective]", table, "cost", "reward")
    name = text_in("[objective]", table, "name", key)
    return _quantity("[objective]", table, key, name, axes)


def _constraint(i: int, table: Any, axes: Axes) -> tuple[Floats, float, Unit]:
    where = f"[[constraint]] {i + 1}"
    if not isinstance(table, dict):
        raise ModelError(f"{where}: {table!r}, expected a table headed [[constraint]]")
    if isinstance(table.get("name"), str):
        where += f" ({table['name']!r})"
    require_keys(where, table, CONSTRAINT)
    key = either(where, table, "cost", "utility")
    bound = either(where, table, "budget", "floor")
    if (key == "utility") != (bound == "floor"):
        raise ModelError(f"{where}: {key!r} with {bound!r}; a cost has a budget, a utility a floor")
    name = text_in(where, table, "name", unnamed(i + 1)[i])
    values, unit = _quantity(where, table, key, text_in(where, table, "unit", name), axes)
    limit = number_in(table[bound], f"{where} {bound}")
    own = limit if "shown" in table else onto_budget(limit, unit, axes.horizon)
    return values, own, unit


def _quantity(where: str, table: Table, key: str, name: str, axes: Axes) -> tuple[Floats, Unit]:
    """Listed values on the model's scale, and the unit that leads back."""
    values = _values(f"{where} {key}", table[key], axes)
    maximised = key in ("reward", "utility")
    if "shown" in table:
        shown = table["shown"]
        if "range" in table or maximised or not isinstance(shown, dict):
            raise ModelError(f"{where}: 'shown' needs a factor and a shift, a cost, and no 'range'")
        require_keys(f"{where} shown", shown, ("factor", "shift"), ("factor", "shift"))
        factor, shift = (number_in(shown[k], f"{where} shown.{k}") for k in ("factor", "shift"))
        return values, Unit(name, factor, shift)
    low, high = required_range(f"{where} range", table.get("range", [0.0, 1.0]))
    rule = Unit.of_reward if maximised else Unit.of_range
    unit = rule(name, low, high, axes.horizon)
    return onto_unit_interval(values, low, high, maximised), unit


def _joined(quantities: list[Floats], axes: Axes) -> Floats:
    """Constraint costs as one array, by stage if any of them is."""
    shape = axes.zeros(by_stage=any(values.ndim == 3 for values in quantities)).shape
    stages = [np.broadcast_to(values, shape) for values in quantities]
    return np.array(stages).reshape(-1, *(shape if shape[0] > 1 else shape[1:]))


def _constraint_names(constraints: list[Table]) -> list[str] | None:
    if not any("name" in part for part in constraints):
        return None
    others = unnamed(len(constraints))
    return [part.get("name", other) for part, other in zip(constraints, others, strict=True)]


def _forbidden(given: Any, axes: Axes) -> Bools:
    rows = list(rows_of("forbidden", given, (3,)))
    mask = axes.zeros(by_stage=bool(rows)).astype(np.bool_)
    for where, (stage, state, action) in rows:
        s, a = axes.states.find(state, where), axes.actions.find(action, where)
        mask[axes.stage(stage, where), s, a] = True
    return mask


def _initial(given: Any, states: Axis) -> Any:
    """A state number or a distribution."""
    if isinstance(given, list):
        start = [number_in(chance, f"initial, entry {k}") for k, chance in enumerate(given)]
        return np.array(start)
    if not isinstance(given, dict):
        return states.find(given, "initial")
    distribution = np.zeros(states.size)
    for name, chance in given.items():
        state: Any = int(name) if name.isdecimal() and len(name) < 10 and not states.names else name
        distribution[states.find(state, "initial")] = number_in(chance, f"initial.{name}")
    return distribution
