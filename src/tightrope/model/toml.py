"""Reading models from TOML text that can be written by hand.

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
    reward = [["busy", "serve", 4], ["busy", "wait", -1]]      # or cost = [...], minimized

    [[constraint]]
    name = "energy"
    range = [0, 3]
    cost = [["*", "serve", 3]]             # state, action, value
    budget = 3                             # or utility = [...] and floor = ...: at least

Rows name states and actions or count them from 0. A pair without transition rows is an action that
does not exist there. Values not listed are 0, ``"*"`` stands for every state or action, and later
rows override earlier ones. A leading stage, from 0, makes a row hold for that stage only;
transition rows have it all or none. Less common keys:

``discount``, ``average``
    ``discount = 0.95`` or ``average = true`` in place of ``horizon``: an infinite-horizon model,
    whose budgets bound the discounted sum, or the long-run average per step.
``forbidden``
    Rows ``[stage, state, action]`` of actions that are missing at some stages only.
``unit``
    In a constraint, what its total counts; its name if not given.
``shown``
    Instead of ``range``: ``{ factor = f, shift = s }`` for costs and budgets on the model's own
    scale, [0, 1] per step, of which a total t is shown as s + f t.
``[layout]``
    ``rows``, ``cells``, ``moves``: a map to draw, see `Layout`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Transitions
from tightrope.errors import ModelError
from tightrope.files import first_line
from tightrope.model.csr import stack
from tightrope.model.draft import (
    assemble,
    check_discount,
    default_names,
    required_horizon,
    total_steps,
)
from tightrope.model.files import FORMAT, Contents, require_format
from tightrope.model.layout import layout_from
from tightrope.model.units import Unit, onto_budget, required_range, scale
from tightrope.text import guess

Table = Mapping[str, Any]

NEEDED = ("format", "states", "actions", "transition", "objective")
LENGTHS = ("horizon", "discount", "average")
KNOWN = (*NEEDED, *LENGTHS, "initial", "noise", "forbidden", "constraint", "layout")
OBJECTIVE = ("name", "range", "shown", "cost", "reward")
CONSTRAINT = ("name", "unit", "range", "shown", "cost", "budget", "utility", "floor")
MOST_ENTRIES = 10**8  # of an array; larger models need an .npz file
HOME = {
    **dict.fromkeys(("transition", "initial", "noise", "forbidden"), "above the first [table]"),
    **dict.fromkeys((*LENGTHS, "states", "actions", "format"), "above the first [table]"),
    **dict.fromkeys(("budget", "floor", "utility"), "in a [[constraint]]"),
    **dict.fromkeys(("cost", "reward", "range"), "in [objective]"),
}


def decode_toml(content: bytes) -> Contents:
    """Return the contents of a text; its structure must fit, its values may be bad."""
    table = _parse(content)
    if "format" not in table:
        raise ModelError.about(
            "format",
            shown="missing",
            expected=f"format = {FORMAT!r}",
            more="; not a tightrope model?",
        )
    require_format(table["format"])
    _require_keys("", table, KNOWN, NEEDED)
    H, discount = _length(table)
    axes = Axes(
        H,
        total_steps(H, discount),
        Axis.of("state", table["states"]),
        Axis.of("action", table["actions"]),
    )
    transitions, listed = _transitions(table["transition"], axes)
    cost, cost_unit = _objective(table["objective"], axes)
    constraints = table.get("constraint", [])
    if not isinstance(constraints, list):
        raise ModelError.about("constraint", expected="tables headed [[constraint]]")
    bounded = [_constraint(i, part, axes) for i, part in enumerate(constraints)]
    losses = cost, _join([values for values, _, _ in bounded], axes)
    budget = [limit for _, limit, _ in bounded]
    initial = _initial(table.get("initial", 0), axes.states)
    allowed = listed & ~_forbidden(table.get("forbidden", []), axes)
    noise = table.get("noise", "bernoulli" if discount is None else "none")
    names = axes.states.names, axes.actions.names, _constraint_names(constraints)
    sizes = axes.states.size, H
    model = assemble(
        transitions, *sizes, *losses, budget, initial, allowed, noise, *names, discount
    )
    layout = layout_from(table["layout"]) if "layout" in table else None
    return model, cost_unit, tuple(unit for _, _, unit in bounded), layout


def _length(table: Table) -> tuple[int, float | None]:
    """Return the horizon, 1 where there is none, and the discount."""
    given = [key for key in LENGTHS if key in table]
    if not given:
        more = "; or discount = 0.95, or average = true"
        raise ModelError("key 'horizon' is missing" + more, argument="horizon")
    if len(given) > 1:
        raise ModelError.about(given[1], shown=f"beside {given[0]!r}", expected="one of them")
    if given[0] == "horizon":
        return required_horizon(table["horizon"]), None
    if given[0] == "discount":
        discount = check_discount(table["discount"])
        if discount < 1.0:
            return 1, discount
        more = "; for long-run averages write average = true"
        raise ModelError.about("discount", found=1.0, expected="a number in (0, 1)", more=more)
    if table["average"] is not True:
        raise ModelError.about("average", found=table["average"], expected="true")
    return 1, 1.0


def _transitions(given: Any, axes: Axes) -> tuple[Transitions, Bools]:
    """Return the kernels, and the mask of the pairs that have rows."""
    S, A = axes.states.size, axes.actions.size
    seen: dict[tuple[int, int, int], str] = {}
    chances, width = [], 0
    for where, row in _rows("transition", given, (4, 5)):
        width = width or len(row)
        if len(row) != width:
            raise ModelError.about(
                where, shown=repr(row), expected="a stage in every row or in none"
            )
        *stage, state, action, following, chance = row
        g = axes.stage(stage[0], where) if stage else 0
        pair = axes.states.find(state, where) * A + axes.actions.find(action, where)
        place = g, pair, axes.states.find(following, where)
        if place in seen:
            more = f" gives again what {seen[place]} gave"
            raise ModelError.about(where, shown=repr(row), more=more)
        seen[place] = where
        chances.append(_number(chance, where))
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
    """Return listed values over (S, A), or over (H, S, A) when a row has a stage."""
    rows = list(_rows(key, given, (3, 4)))
    by_stage = any(len(row) == 4 for _, row in rows)
    values = axes.zeros(by_stage)
    for where, row in rows:
        *stage, state, action, value = row
        h = axes.stage(stage[0], where) if stage else slice(None)
        s = slice(None) if state == "*" else axes.states.find(state, where)
        a = slice(None) if action == "*" else axes.actions.find(action, where)
        values[h, s, a] = _number(value, where)
    return values if by_stage else values[0]


def _objective(table: Any, axes: Axes) -> tuple[Floats, Unit]:
    if not isinstance(table, dict):
        raise ModelError.about("objective", expected="a table headed [objective]")
    _require_keys("[objective]", table, OBJECTIVE)
    key = _either("[objective]", table, "cost", "reward")
    name = _text("[objective]", table, "name", key)
    return _quantity("[objective]", table, key, name, axes)


def _constraint(i: int, table: Any, axes: Axes) -> tuple[Floats, float, Unit]:
    where = f"[[constraint]] {i + 1}"
    if not isinstance(table, dict):
        raise ModelError.about(where, shown=repr(table), expected="a table headed [[constraint]]")
    if isinstance(table.get("name"), str):
        where += f" ({table['name']!r})"
    _require_keys(where, table, CONSTRAINT)
    key = _either(where, table, "cost", "utility")
    bound = _either(where, table, "budget", "floor")
    if (key == "utility") != (bound == "floor"):
        more = "; a cost has a budget, a utility a floor"
        raise ModelError.about(where, shown=f"{key!r} with {bound!r}", more=more)
    name = _text(where, table, "name", default_names(i + 1)[i])
    values, unit = _quantity(where, table, key, _text(where, table, "unit", name), axes)
    limit = _number(table[bound], f"{where} {bound}")
    own = limit if "shown" in table else onto_budget(limit, unit, axes.steps)
    return values, own, unit


def _quantity(where: str, table: Table, key: str, name: str, axes: Axes) -> tuple[Floats, Unit]:
    """Return listed values on the model's scale, and the unit that converts back."""
    values = _values(f"{where} {key}", table[key], axes)
    maximized = key in ("reward", "utility")
    if "shown" in table:
        shown = table["shown"]
        if "range" in table or maximized or not isinstance(shown, dict):
            more = "'shown' needs a factor and a shift, a cost, and no 'range'"
            raise ModelError.about(where, more=more)
        _require_keys(f"{where} shown", shown, ("factor", "shift"), ("factor", "shift"))
        factor, shift = (_number(shown[k], f"{where} shown.{k}") for k in ("factor", "shift"))
        return values, Unit(name, factor, shift)
    ends = required_range(f"{where} range", table.get("range", [0.0, 1.0]))
    return scale(name, values, ends, axes.steps, maximized)


def _join(quantities: list[Floats], axes: Axes) -> Floats:
    """Return constraint costs as one array, by stage if any of them is."""
    shape = axes.zeros(by_stage=any(values.ndim == 3 for values in quantities)).shape
    stages = [np.broadcast_to(values, shape) for values in quantities]
    return np.array(stages).reshape(-1, *(shape if shape[0] > 1 else shape[1:]))


def _constraint_names(constraints: list[Table]) -> list[str] | None:
    if not any("name" in part for part in constraints):
        return None
    others = default_names(len(constraints))
    return [part.get("name", other) for part, other in zip(constraints, others, strict=True)]


def _forbidden(given: Any, axes: Axes) -> Bools:
    rows = list(_rows("forbidden", given, (3,)))
    mask = axes.zeros(by_stage=bool(rows)).astype(np.bool_)
    for where, (stage, state, action) in rows:
        s, a = axes.states.find(state, where), axes.actions.find(action, where)
        mask[axes.stage(stage, where), s, a] = True
    return mask


def _initial(given: Any, states: Axis) -> Any:
    """Return a state number or a distribution."""
    if isinstance(given, list):
        return np.array([_number(chance, f"initial, entry {k}") for k, chance in enumerate(given)])
    if not isinstance(given, dict):
        return states.find(given, "initial")
    distribution = np.zeros(states.size)
    for name, chance in given.items():
        state: Any = int(name) if name.isdecimal() and len(name) < 10 and not states.names else name
        distribution[states.find(state, "initial")] = _number(chance, f"initial.{name}")
    return distribution


def _parse(content: bytes) -> Table:
    """Return the tables of a TOML text, or raise a `ModelError` with the line."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ModelError(
            f"not UTF-8 text at byte {error.start}, expected TOML", expected="TOML"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"not TOML: {first_line(error)}", expected="TOML") from error


@dataclass(frozen=True)
class Axis:
    """States or actions: their number and their names."""

    word: str
    size: int
    names: tuple[str, ...] | None
    index: Mapping[str, int]

    @classmethod
    def of(cls, word: str, given: Any) -> Axis:
        """Return the axis of a list of names or a number."""
        if type(given) is int and given > 0:
            return cls(word, given, None, {})
        if isinstance(given, list) and given and all(isinstance(name, str) for name in given):
            return cls(word, len(given), tuple(given), {name: k for k, name in enumerate(given)})
        raise ModelError.about(
            f"{word}s", shown=repr(given), expected="a list of names, or how many there are"
        )

    def find(self, value: Any, where: str) -> int:
        """Return the position of a name or number."""
        if type(value) is int:
            if 0 <= value < self.size:
                return value
            raise ModelError.about(
                where, shown=f"{self.word} {value}", expected=f"0 to {self.size - 1}"
            )
        if isinstance(value, str):
            if value in self.index:
                return self.index[value]
            hint = guess(value, self.index) if self.names else f"; {self.word}s have no names here"
            raise ModelError.about(where, more=f"no {self.word} is named {value!r}{hint}")
        raise ModelError.about(where, shown=f"{self.word} {value!r}", expected="a name or a number")


@dataclass(frozen=True)
class Axes:
    """Stages, states and actions."""

    horizon: int
    steps: float  # largest possible total of a cost of one per step
    states: Axis
    actions: Axis

    def stage(self, value: Any, where: str) -> int:
        """Return a stage, counted from 0."""
        if type(value) is int and 0 <= value < self.horizon:
            return value
        raise ModelError.about(where, shown=f"stage {value!r}", expected=f"0 to {self.horizon - 1}")

    def zeros(self, by_stage: bool) -> Floats:
        """Return an array over (H or 1, S, A)."""
        shape = (self.horizon if by_stage else 1, self.states.size, self.actions.size)
        if shape[0] * shape[1] * shape[2] > MOST_ENTRIES:
            raise ModelError(
                f"{shape[1]} states and {shape[2]} actions over {shape[0]} stages are too many "
                "for a text file; save such a model as .npz",
                argument="stages, states and actions",
                found=shape,
                expected=f"at most {MOST_ENTRIES} entries",
            )
        return np.zeros(shape)


def _rows(key: str, given: Any, widths: tuple[int, ...]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of a list, each with a description of its place."""
    if not isinstance(given, list):
        raise ModelError.about(key, expected="a list of rows")
    for k, row in enumerate(given, start=1):
        where = f"{key}, row {k}"
        if not isinstance(row, list) or len(row) not in widths:
            wide = " or ".join(map(str, widths))
            raise ModelError.about(where, shown=repr(row), expected=f"a list of {wide} entries")
        yield where, row


def _number(value: Any, where: str) -> float:
    """Return a number, or raise a `ModelError`."""
    if type(value) not in (int, float):
        raise ModelError.about(where, found=value, shown=repr(value), expected="a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ModelError.about(where, shown="a whole number too large for a float") from error


def _text(where: str, table: Table, key: str, otherwise: str) -> str:
    """Return the text of a key, or the default if it is missing."""
    text = table.get(key, otherwise)
    if not isinstance(text, str):
        raise ModelError.about(
            f"{where} {key}", found=text, shown=repr(text), expected="text in quotes"
        )
    return text


def _either(where: str, table: Table, first: str, second: str) -> str:
    """Return which of two keys is present, or raise unless exactly one is."""
    if (first in table) == (second in table):
        how = "both" if first in table else "neither"
        raise ModelError.about(
            where, shown=f"has {how} of the keys {first!r} and {second!r}", expected="one"
        )
    return first if first in table else second


def _require_keys(
    where: str, table: Table, known: tuple[str, ...], needed: Iterable[str] = ()
) -> None:
    """Raise for an unknown key, with a suggestion, and for a missing one."""
    prefix = f"{where}: " if where else ""
    for key in table:
        if key not in known:
            home = f"; it belongs {HOME[key]}" if key in HOME else ""
            hint = home or guess(key, known) or f"; known keys: {', '.join(known)}"
            raise ModelError(f"{prefix}unknown key {key!r}{hint}", argument=key)
    for key in needed:
        if key not in table:
            raise ModelError(f"{prefix}key {key!r} is missing", argument=key)
