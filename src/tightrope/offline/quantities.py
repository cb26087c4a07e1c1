"""Quantities of a log: columns of numbers, how these are written, and the range of a step."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ConfigError, DataError, LogError
from tightrope.model.units import Range, Unit, onto_unit_interval, required_range
from tightrope.offline.steps import NEEDED, NEXT, PREFIX, Fault, Steps
from tightrope.text import guess
from tightrope.text import listed as listed_names

POINT, COMMA = ".", ","
GROUPS = " \u00a0\u202f'\u2019"  # what separates groups of three digits, beside point and comma
OTHER = {POINT: COMMA, COMMA: POINT}
PATTERNS = {  # of numbers with separators, by decimal
    mark: re.compile(
        rf"[+-]?(\d+|\d{{1,3}}([{GROUPS}{other}])\d{{3}}(\2\d{{3}})*)?([{mark}]\d*)?([eE][+-]?\d+)?"
    )
    for mark, other in OTHER.items()
}
EXAMPLES = {POINT: "1,234.5", COMMA: "1.234,5"}
WRITTEN = re.compile(r"[+-]?\d[\d.,\s'\u2019]*")  # a number with separators
SEPARATED = "; it has a decimal comma or separators of thousands, unlike others"
MISSING = {"na", "n/a", "#n/a", "nan", "none", "null", "nil", "missing", "-", "--", "?"}
LABELED = re.compile(rf"([^\d+.,-]*){WRITTEN.pattern}(\D*)")  # a number with a currency or unit
MANY = {True: 0.5, False: 0.1}  # share of values outside a range that was declared, or was not
TINY = 1e-290  # below, powers of ten lose digits


class Quantity(NamedTuple):
    """A column of numbers, the least and greatest value of one step, and how numbers are written.

    ``decimal`` is ``"."`` or ``","``, the other one then separates thousands, as spaces and
    apostrophes do; without it, numbers are written as in Python.
    """

    name: str
    column: str
    low: float
    high: float
    is_reward: bool = False
    decimal: str | None = None
    is_declared: bool = True  # the range

    def unit(self, horizon: int) -> Unit:
        """Unit of a total over an episode."""
        rule = Unit.of_reward if self.is_reward else Unit.of_range
        return rule(self.name, self.low, self.high, horizon)

    def scale(self, values: Floats) -> Floats:
        """Convert values to costs in [0, 1]."""
        return onto_unit_interval(values, self.low, self.high, self.is_reward)

    def complain(self, value: Any) -> str:
        """Return why a value is invalid: it is no number, or outside the range."""
        if value == "":
            return f"{self.column} is missing"
        if not isinstance(value, str) or not np.isnan(self.read([value])).any():
            found = value if isinstance(value, str) else f"{value:g}"
            return f"{self.column} {found}, expected a number in [{self.low:g}, {self.high:g}]"
        labeled, hint = LABELED.fullmatch(value), ""
        if value.lower() in MISSING:
            hint = " instead of a missing value"
        elif WRITTEN.fullmatch(value):
            hint = f", written as {EXAMPLES[self.decimal]}" if self.decimal else SEPARATED
        elif labeled is not None and not value.startswith("#"):  # as errors of spreadsheets do
            labels = [repr(part.strip()) for part in labeled.groups() if part.strip()]
            hint = f" without {listed_names(labels)}"
        return f"{self.column} {value}, expected a number{hint}"

    def read(self, values: Sequence[Any]) -> Floats:
        """Return the values as numbers, NaN for what is none."""
        if self.decimal is None:
            return numbers_of(values)
        pattern = PATTERNS[self.decimal]
        plain = str.maketrans(
            {self.decimal: POINT, **dict.fromkeys(GROUPS + OTHER[self.decimal], "")}
        )

        def read_one(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            return value.translate(plain) if pattern.fullmatch(value.strip()) else math.nan

        return numbers_of(list(map(read_one, values)))


def find_quantities(
    steps: Steps,
    constraints: Sequence[str] | None,
    ranges: Mapping[str, Range],
    decimal: str | None = None,
) -> tuple[Quantity, ...]:
    """Return the objective, then the constraints; raise if a column is missing.

    Without ``constraints``, all columns that begin with ``cost_`` are constraints. ``ranges`` has
    the least and greatest value of one step by name; it is (0, 1) for the others.
    """
    listed = f"the log has {', '.join(map(repr, steps.columns))}"
    folded = {column.lower(): column for column in reversed(steps.columns)}

    def require(column: str) -> None:
        if column not in steps.columns:
            hint = guess(column, [name for name in steps.columns if name not in NEEDED])
            raise DataError.about(f"column {column!r}", shown="missing", more=f"{hint}; {listed}")

    absent = [name for name in NEEDED if name not in steps.columns]
    if absent == [NEXT] and "done" in steps.columns:
        absent = []  # the next rows say it
    elif absent == [NEXT]:
        listed = f"it may be left out if there is done, true in the last step; {listed}"
    if len(absent) > 1:
        also = f", as {listed_names([repr(name) for name in absent[1:]])}; {listed}"
        raise DataError.about(f"column {absent[0]!r}", shown="missing", more=also)
    for name in absent:
        require(name)
    objectives = [name for name in ("cost", "reward") if name in steps.columns]
    if len(objectives) != 1:
        found = "both cost and reward" if objectives else "neither cost nor reward"
        raise DataError(
            f"{found} among the columns, expected one of them; {listed}",
            argument="columns",
            found=found,
            expected="cost or reward",
        )
    if constraints is None:
        prefixed = [name for name in steps.columns if name.startswith(PREFIX)]
        constraints = [name.removeprefix(PREFIX) for name in prefixed if name != PREFIX]
    columns: dict[str, str] = {objectives[0]: objectives[0]}
    for name in constraints:
        if name in columns:
            more = "named twice, or the name of the objective"
            raise ConfigError.about(f"constraint {name!r}", more=more)
        columns[name] = next(
            (each for each in (PREFIX + name, name) if each in steps.columns),
            folded.get((PREFIX + name).lower(), folded.get(name.lower(), name)),
        )
        require(columns[name])
    keys = {name.lower(): name for name in columns}
    limits: dict[str, Range] = {}
    for name, limit in ranges.items():
        key = name if name in columns else keys.get(name.lower(), name)
        if key in limits:
            raise ConfigError.about(f"range of {name!r}", more="given twice")
        limits[key] = limit
        if key not in columns:
            hint = guess(name, columns)
            known = ", ".join(columns)
            more = f"no such quantity{hint}; there are {known}"
            raise ConfigError.about(f"range of {name!r}", more=more)
    return tuple(
        Quantity(
            name,
            column,
            *required_range(f"range of {name!r}", limits.get(name, (0.0, 1.0))),
            is_reward=column == "reward",
            decimal=decimal,
            is_declared=name in limits,
        )
        for name, column in columns.items()
    )


@final
class Extent:
    """Least and greatest value of a quantity, and how many values are outside its range."""

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf
        self.n = self.n_outside = self.n_separated = self.n_plain = 0
        self.decimals: set[str] = set()
        self.example = ""

    @property
    def proposal(self) -> str:
        """A range in round numbers that holds the values, as ``LOW:HIGH``."""
        low, high = propose_range(self.low, self.high)
        return f"{low:g}:{high:g}"

    def add(self, values: Floats, words: Sequence[Any], quantity: Quantity) -> None:
        """Count some values and the words that they were read from."""
        finite = values[np.isfinite(values)]
        self.low = min(self.low, finite.min(initial=math.inf))
        self.high = max(self.high, finite.max(initial=-math.inf))
        self.n += values.size
        self.n_outside += int(((finite < quantity.low) | (finite > quantity.high)).sum())
        is_bad = np.isnan(values)
        for at in np.flatnonzero(is_bad).tolist():
            if isinstance(words[at], str) and WRITTEN.fullmatch(words[at].strip()):
                self.n_separated += 1
                self.decimals.add(decimal_of(words[at]))
                self.example = self.example or words[at]
        self.n_plain += int((~is_bad & (values != np.rint(values))).sum())

    def require_decimal(self, quantity: Quantity, faults: Sequence[Fault]) -> None:
        """Raise a `LogError` if most values that are not whole numbers have separators."""
        if self.n_separated <= self.n_plain:
            return
        known = self.decimals - {""}
        is_clear = len(known) == 1 and known != {quantity.decimal}
        advice = "state which, as decimal=',' or decimal='.'"
        if is_clear:
            advice = f"decimal={known.pop()!r} reads them"
        elif quantity.decimal is not None:
            advice = f"not all are written as {EXAMPLES[quantity.decimal]}"
        others = f" and {self.n_separated - 1} more values have"
        raise LogError.of_faults(
            "decimal",
            f"{quantity.column} {self.example!r}{others if self.n_separated > 1 else ' has'} a "
            f"decimal comma or separators of thousands; {advice}",
            faults,
        )


def require_ranges(
    extents: Sequence[Extent], quantities: Sequence[Quantity], faults: Sequence[Fault]
) -> None:
    """Raise a `LogError` with proposals if many values of a quantity are outside its range."""
    pairs = list(zip(quantities, extents, strict=True))
    if not any(extent.n_outside > MANY[each.is_declared] * extent.n for each, extent in pairs):
        return
    odd = [
        (quantity, extent)
        for quantity, extent in pairs
        if extent.n_outside > (MANY[True] * extent.n if quantity.is_declared else 0)
    ]
    found = [
        f"{extent.n_outside} of {extent.n} values of {quantity.name} are outside "
        f"[{quantity.low:g}, {quantity.high:g}], they go from {extent.low:g} to {extent.high:g}"
        for quantity, extent in odd
    ]
    proposed = ", ".join(f"{quantity.name}={extent.proposal}" for quantity, extent in odd)
    raise LogError.of_faults(
        f"range of {odd[0][0].name!r}",
        f"{'; '.join(found)}; state the range of what is possible in a step, such as {proposed} "
        "if these are all",
        faults,
    )


def decimal_of(text: str) -> str:
    """Return which of point and comma a number has before its decimals, ``""`` if it may be both.

    ``1,234`` may be both.
    """
    last = max(text.rfind(POINT), text.rfind(COMMA))
    if last < 0:
        return ""
    mark = text[last]
    other = POINT if mark == COMMA else COMMA
    if text.count(mark) > 1:  # separates thousands
        return other
    is_clear = other in text or any(each in text for each in GROUPS)
    return mark if is_clear or len(text) - last - 1 != 3 else ""


def propose_range(low: float, high: float) -> Range:
    """Return a range in round numbers that holds the values from low to high, and zero if near.

    Ends are rounded outwards to one or two digits.
    """
    if low >= 0.0 and (low <= 0.5 * high or low == high):
        low = 0.0
    if high <= 0.0 and (high >= 0.5 * low or low == high):
        high = 0.0
    return 0.0 - _round_out(-low), _round_out(high)


def _round_out(value: float) -> float:
    """Return the least of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten that is not below value.

    Of a negative value, the digits are cut to one.
    """
    if abs(value) < TINY:
        return 0.0 if value < 0.0 else value
    power = 10.0 ** math.floor(math.log10(abs(value)))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    if value > 0.0:
        return next(step for step in steps if step * power >= value * (1 - 1e-12)) * power
    return -next(step for step in reversed(steps) if step * power <= -value * (1 + 1e-12)) * power


def numbers_of(values: Sequence[Any]) -> Floats:
    """Return values as numbers, NaN for what is none."""
    try:
        return np.array(list(map(float, values)), dtype=np.float64)
    except ValueError:
        return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")
