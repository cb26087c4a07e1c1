"""Assembly of rows into episodes.

Names become numbers and costs are scaled to [0, 1]; an invalid row is a `Fault`. Rows are then
assembled into episodes; an episode with a bad row, a gap or a jump is not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.errors import ConfigError, DataError, LogError
from tightrope.model.units import Range, Unit, onto_unit_interval, required_range
from tightrope.offline.steps import NAMES, NEEDED, PREFIX, Block, Fault, Steps
from tightrope.text import guess
from tightrope.text import listed as listed_names

POINT, COMMA = ".", ","
GROUPS = " \u00a0\u202f'\u2019"  # what separates groups of three digits, beside point and comma
WRITTEN = re.compile(r"[+-]?\d[\d.,\s'\u2019]*")  # a number with separators
SEPARATED = "; its numbers have a decimal comma or separators of thousands: state decimal"
MISSING = 0  # number of the empty name
UNKNOWN = -1
NO_STEP = np.iinfo(np.int64).min
TINY = 1e-290  # below, powers of ten lose digits
TRUE, FALSE = {"true", "1", "yes", "t", "y"}, {"", "false", "0", "no", "f", "n"}
MESSAGES = {
    "late": "the episode begins with step {step}, expected {first}",
    "twice": "step {step} again, after {place}",
    "gap": "step {step} after step {before}: what lies between is missing",
    "goes on": "the episode goes on, but {place} said that it was over",
    "jump": "state {state!r}, but {place} went to {other!r}",
    "long": "step {step} is past the horizon of {horizon} steps",
    "short": "the episode ends after {length} of {horizon} steps and was not over",
}


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

    def unit(self, horizon: int) -> Unit:
        """Unit of a total over an episode."""
        rule = Unit.of_reward if self.is_reward else Unit.of_range
        return rule(self.name, self.low, self.high, horizon)

    def scale(self, values: Floats) -> Floats:
        """Convert values to costs in [0, 1]."""
        return onto_unit_interval(values, self.low, self.high, self.is_reward)

    def complain(self, value: Any) -> str:
        """Return why a value is invalid."""
        if value == "":
            return f"{self.column} is missing"
        found = value if isinstance(value, str) else f"{value:g}"
        hint = SEPARATED if isinstance(value, str) and is_separated(value) else ""
        return f"{self.column} {found}, expected a number in [{self.low:g}, {self.high:g}]{hint}"

    def read(self, values: Sequence[Any]) -> Floats:
        """Return the values as numbers, NaN for what is none."""
        if self.decimal is None:
            return _numbers(values)
        other = POINT if self.decimal == COMMA else COMMA
        plain = str.maketrans({self.decimal: POINT, **dict.fromkeys(GROUPS + other, "")})
        return _numbers([v.translate(plain) if isinstance(v, str) else v for v in values])


def is_separated(text: str) -> bool:
    """Whether a text is a number with a decimal comma or with separators of thousands."""
    return WRITTEN.fullmatch(text) is not None and not text.replace(POINT, "", 1).isdecimal()


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
    if len(absent) > 1:
        also = f", as {listed_names([repr(name) for name in absent[1:]])}; {listed}"
        raise DataError.about(f"column {absent[0]!r}", shown="missing", more=also)
    for name in absent:
        require(name)
    objectives = [name for name in ("cost", "reward") if name in steps.columns]
    if len(objectives) != 1:
        found = "both cost and reward" if objectives else "neither cost nor reward"
        raise DataError(f"{found} among the columns, expected one of them; {listed}")
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
    for name in ranges:
        if name not in columns:
            hint = guess(name, columns)
            known = ", ".join(columns)
            more = f"no such quantity{hint}; there are {known}"
            raise ConfigError.about(f"range of {name!r}", more=more)
    return tuple(
        Quantity(
            name,
            column,
            *required_range(f"range of {name!r}", ranges.get(name, (0.0, 1.0))),
            is_reward=column == "reward",
            decimal=decimal,
        )
        for name, column in columns.items()
    )


@final
class Extent:
    """Least and greatest value of a quantity, and how many values are outside its range."""

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf
        self.n = self.n_outside = self.n_separated = 0
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
        for at in np.flatnonzero(np.isnan(values)).tolist():
            if isinstance(words[at], str) and is_separated(words[at]):
                self.n_separated += 1
                self.decimals.add(decimal_of(words[at]))
                self.example = self.example or words[at]

    def require_decimal(self, quantity: Quantity, faults: Sequence[Fault]) -> None:
        """Raise a `LogError` if most values have separators."""
        if 2 * self.n_separated <= self.n:
            return
        known = self.decimals - {""}
        advice = f"decimal={known.pop()!r} reads them"
        if known or self.decimals == {""}:
            advice = "state which, as decimal=',' or decimal='.'"
        raise LogError.of_faults(
            "decimal",
            f"{quantity.column} {self.example!r} and {self.n_separated - 1} more values have a "
            f"decimal comma or separators of thousands; {advice}",
            faults,
        )


def require_ranges(
    extents: Sequence[Extent], quantities: Sequence[Quantity], faults: Sequence[Fault]
) -> None:
    """Raise a `LogError` with proposals if most values of a quantity are outside its range."""
    pairs = list(zip(quantities, extents, strict=True))
    odd = [(quantity, extent) for quantity, extent in pairs if 2 * extent.n_outside > extent.n]
    if not odd:
        return
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


@final
class NameIndex:
    """Names and their numbers, from 1; open to new names unless a list of names was given."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.is_open = names is None
        self.numbers = {"": MISSING}
        for name in names or ():
            self.numbers.setdefault(name, len(self.numbers))

    def enter(self, values: Sequence[str]) -> Ints:
        """Return the numbers of some names."""
        numbers = self.numbers
        if self.is_open:
            found = [numbers.setdefault(value, len(numbers)) for value in values]
        else:
            found = [numbers.get(value, UNKNOWN) for value in values]
        return np.array(found, dtype=np.int32)

    def complain(self, column: str, value: str) -> str:
        """Return why a name is invalid."""
        if not value:
            return f"{column} is missing"
        return f"{column} {value!r} is unknown{guess(value, self.numbers)}"


class Table(NamedTuple):
    """The rows of a log; numbers of names begin at 1, rows with faults are not good."""

    place: Ints  # (N,)
    episode: Ints  # (N,)
    step: Ints  # (N,)
    state: Ints  # (N,)
    action: Ints  # (N,)
    next_state: Ints  # (N,), 0 after the last step of an episode, and if not needed
    is_over: Bools  # (N,)
    cost: Floats  # (N, I+1) on [0, 1]
    is_good: Bools  # (N,)

    def rows(self, which: Ints) -> Table:
        """Return some of the rows."""
        columns: Any = (column[which] for column in self)
        return Table(*columns)


def build_table(
    blocks: Iterable[Block],
    indices: Mapping[str, NameIndex],
    quantities: Sequence[Quantity],
    terminal: Collection[str],
    faults: list[Fault],
) -> Table:
    """Return all rows of a log; faults of rows are added to ``faults``.

    ``indices`` of episodes, states and actions get new names if they are open; ``terminal`` lists
    the states in which an episode ends. If most values of a quantity are none or lie outside its
    range, a `LogError` says what that is due to.
    """
    extents = [Extent() for _ in quantities]
    parts = [_build_part(block, indices, quantities, extents, terminal, faults) for block in blocks]
    for quantity, extent in zip(quantities, extents, strict=True):
        extent.require_decimal(quantity, faults)
    require_ranges(extents, quantities, faults)
    return Table(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _build_part(
    block: Block,
    indices: Mapping[str, NameIndex],
    quantities: Sequence[Quantity],
    extents: Sequence[Extent],
    terminal: Collection[str],
    faults: list[Fault],
) -> Table:
    columns, n = block.columns, len(block.places)
    faults.extend(block.faults)
    is_good = np.ones(n, dtype=np.bool_)

    def refuse(column: str, bad: Bools, complain: Callable[[Any], str]) -> None:
        """Report faults of rows without earlier faults."""
        for at in np.flatnonzero(bad & is_good).tolist():
            message = complain(columns[column][at])
            faults.append(Fault(block.places[at], columns["episode"][at], message))
        is_good[bad] = False

    is_last = np.array([name in terminal for name in columns["next_state"]], dtype=np.bool_)
    over = is_last
    if "done" in columns:
        done, bad = _flags(columns["done"])
        refuse("done", bad, "done {!r}, expected true or false".format)
        over = is_last | done
    numbers = {}
    for column in NAMES:
        index = indices["state" if column == "next_state" else column]
        numbers[column] = index.enter(columns[column])
        bad = numbers[column] <= MISSING
        if column == "next_state":  # not needed after the end
            bad &= ~(over & (numbers[column] == MISSING))
        refuse(column, bad, partial(index.complain, column))
    numbers["next_state"][is_last] = MISSING
    step = _whole(columns["step"])
    refuse("step", step == NO_STEP, "step {!r}, expected a whole number".format)
    cost = np.empty((n, len(quantities)))
    for i, quantity in enumerate(quantities):
        values = quantity.read(columns[quantity.column])
        extents[i].add(values, columns[quantity.column], quantity)
        cost[:, i] = quantity.scale(values)
        bad = ~((cost[:, i] >= 0.0) & (cost[:, i] <= 1.0))
        refuse(quantity.column, bad, quantity.complain)
    places = np.array(block.places, dtype=np.int32)
    return Table(place=places, step=step, is_over=over, cost=cost, is_good=is_good, **numbers)


def _flags(values: Sequence[Any]) -> tuple[Bools, Bools]:
    words = {value: str(value).strip().lower().removesuffix(".0") for value in set(values)}
    over = [words[value] in TRUE for value in values]
    bad = [words[value] not in TRUE | FALSE for value in values]
    return np.array(over, dtype=np.bool_), np.array(bad, dtype=np.bool_)


def _numbers(values: Sequence[Any]) -> Floats:
    try:
        return np.array(list(map(float, values)), dtype=np.float64)
    except ValueError:
        return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")


def _whole(values: Sequence[Any]) -> Ints:
    numbers = _numbers(values)
    is_whole = (np.abs(numbers) < 2**53) & (numbers == np.rint(numbers))
    return np.where(is_whole, np.where(is_whole, numbers, 0.0).astype(np.int64), NO_STEP)


class Assembled(NamedTuple):
    """Complete episodes in the numbers of the table; ``n_steps`` is below H if one ended early."""

    states: Ints  # (K, H+1), 0 after the end
    actions: Ints  # (K, H), 0 after the end
    cost: Floats  # (K, I+1, H)
    n_steps: Ints  # (K,)
    names: list[str]  # K, of the episodes
    first_step: int  # number of the first step of an episode, 0 or 1


def assemble(
    table: Table,
    horizon: int | None,
    indices: Mapping[str, NameIndex],
    word: str,
    faults: list[Fault],
) -> Assembled:
    """Return the episodes of a log, in the order in which they first appear.

    Without ``horizon``, H is the length of the longest valid episode. ``word`` is the unit of
    places, ``"line"`` or ``"row"``; faults of episodes are added to ``faults``.
    """
    kept = np.flatnonzero(_in_good_episodes(table))
    kept = kept[np.lexsort((table.step[kept], table.episode[kept]))]
    t = table.rows(kept)
    starts = np.flatnonzero(np.diff(t.episode, prepend=-1))
    lengths = np.diff(starts, append=t.episode.size)
    position = np.arange(t.episode.size) - np.repeat(starts, lengths)
    broken = np.zeros(starts.size, dtype=np.bool_)
    names, states = list(indices["episode"].numbers), list(indices["state"].numbers)
    first = int((t.step[starts] == 1).sum() > (t.step[starts] == 0).sum())
    unsound = _find_unsound(t, position, first)
    H = _longest(unsound, starts, lengths) if horizon is None else horizon
    for at, kind in _first_faults(t, starts, lengths, position, unsound, H).items():
        message = MESSAGES[kind].format(
            step=t.step[at],
            first=first,
            before=t.step[at - 1],
            place=f"{word} {t.place[at - 1]}",
            state=states[t.state[at]],
            other=states[t.next_state[at - 1]],
            length=position[at] + 1,
            horizon=H,
        )
        faults.append(Fault(int(t.place[at]), names[t.episode[at]], message))
        broken[np.searchsorted(starts, at, side="right") - 1] = True
    called = [names[number] for number in t.episode[starts[~broken]].tolist()]
    return _fill(t, starts[~broken], lengths[~broken], called, first, H)


def _in_good_episodes(table: Table) -> Bools:
    """Return which rows belong to episodes without bad rows."""
    spoiled = np.zeros(int(table.episode.max(initial=0)) + 1, dtype=np.bool_)
    spoiled[table.episode[~table.is_good & (table.episode >= 0)]] = True
    return np.asarray(table.is_good & ~spoiled[np.maximum(table.episode, 0)])


def _find_unsound(t: Table, position: Ints, first: int) -> dict[str, Bools]:
    """Return, by kind of fault, rows that do not follow from the row before."""
    is_first = position == 0
    before = np.roll(t.step, 1)
    return {
        "late": is_first & (t.step != first),
        "twice": ~is_first & (t.step == before),
        "gap": ~is_first & (t.step > before + 1),
        "goes on": ~is_first & np.roll(t.is_over, 1),
        "jump": ~is_first & (np.roll(t.next_state, 1) != t.state),
    }


def _longest(unsound: dict[str, Bools], starts: Ints, lengths: Ints) -> int:
    """Return the length of the longest valid episode, or of the longest if none is valid."""
    if not starts.size:
        return 1
    is_sound = ~np.logical_or.reduceat(np.any(list(unsound.values()), axis=0), starts)
    return int(lengths[is_sound if is_sound.any() else slice(None)].max())


def _first_faults(
    t: Table, starts: Ints, lengths: Ints, position: Ints, unsound: dict[str, Bools], H: int
) -> dict[int, str]:
    """Return row and kind of the first fault of each incomplete episode."""
    last = np.zeros(t.episode.size, dtype=np.bool_)
    last[starts + lengths - 1] = True
    short = last & ~t.is_over & (position + 1 < H)
    episode = np.cumsum(position == 0) - 1
    found: dict[int, tuple[int, str]] = {}
    for kind, rows in {**unsound, "long": position == H, "short": short}.items():
        for at in np.flatnonzero(rows).tolist():
            k = int(episode[at])
            if k not in found or at < found[k][0]:
                found[k] = (at, kind)
    return dict(found.values())


def _fill(t: Table, starts: Ints, lengths: Ints, names: list[str], first: int, H: int) -> Assembled:
    K, quantities = starts.size, t.cost.shape[1]
    states = np.zeros((K, H + 1), dtype=np.int64)
    actions = np.zeros((K, H), dtype=np.int64)
    cost = np.zeros((K, quantities, H))
    k = np.repeat(np.arange(K), lengths)
    h = np.arange(k.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(starts, lengths) + h
    states[k, h], actions[k, h] = t.state[rows], t.action[rows]
    cost[k, :, h] = t.cost[rows]
    ends = starts + lengths - 1
    goes_on = lengths == H
    if not (goes_on & t.is_over[ends]).all():  # if all are over at H, only the time is out
        goes_on &= ~t.is_over[ends]
    states[goes_on, H] = t.next_state[ends[goes_on]]
    return Assembled(states, actions, cost, lengths, names, first)
