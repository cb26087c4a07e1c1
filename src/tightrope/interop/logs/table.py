"""Rows as arrays: names become numbers, costs go onto [0, 1], and rows that cannot be are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.interop.logs.blocks import Block, Fault
from tightrope.interop.logs.quantities import Quantity
from tightrope.model.units import onto_unit_interval
from tightrope.text import guess

MISSING = 0  # number of the empty name
UNKNOWN = -1
NO_STEP = np.iinfo(np.int64).min
TRUE, FALSE = {"true", "1", "yes", "t", "y"}, {"", "false", "0", "no", "f", "n"}


@final
class NameBook:
    """Names and their numbers, from 1; open, or closed over the names that were given."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.is_open = names is None
        self.numbers = {"": MISSING}
        for name in names or ():
            self.numbers.setdefault(name, len(self.numbers))

    def enter(self, values: Sequence[str]) -> Ints:
        """The numbers of some names."""
        numbers = self.numbers
        if self.is_open:
            found = [numbers.setdefault(value, len(numbers)) for value in values]
        else:
            found = [numbers.get(value, UNKNOWN) for value in values]
        return np.array(found, dtype=np.int32)

    def complaint(self, column: str, value: str) -> str:
        """Why a name is no use."""
        if not value:
            return f"{column} is missing"
        return f"{column} {value!r} is unknown{guess(value, self.numbers)}"


class Table(NamedTuple):
    """The rows of a log; numbers of names begin at 1. Rows with faults are not among the good."""

    place: Ints  # (N,)
    episode: Ints  # (N,)
    step: Ints  # (N,)
    state: Ints  # (N,)
    action: Ints  # (N,)
    next_state: Ints  # (N,), 0 where nobody said or needs to
    is_over: Bools  # (N,)
    cost: Floats  # (N, I+1) on [0, 1]
    is_good: Bools  # (N,)

    def rows(self, which: Ints) -> Table:
        """Some of the rows."""
        columns: Any = (column[which] for column in self)
        return Table(*columns)


def table_of(
    blocks: Any,
    books: dict[str, NameBook],
    measured: Sequence[Quantity],
    has_done: bool,
    terminal: Sequence[str],
    faults: list[Fault],
) -> Table:
    """All rows of a log.

    Parameters
    ----------
    blocks : iterable of Block
        The rows.
    books : dict of str to NameBook
        Of episodes, states and actions; written where they are open.
    measured : sequence of Quantity
        Objective, then constraints.
    has_done : bool
        Whether there is a column that says when an episode is over.
    terminal : sequence of str
        States in which an episode is over.
    faults : list of Fault
        Written: what is wrong with rows.
    """
    parts = [_part(block, books, measured, has_done, terminal, faults) for block in blocks]
    return Table(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _part(
    block: Block,
    books: dict[str, NameBook],
    measured: Sequence[Quantity],
    has_done: bool,
    terminal: Sequence[str],
    faults: list[Fault],
) -> Table:
    columns, n = block.columns, len(block.places)
    faults.extend(block.faults)
    is_good = np.ones(n, dtype=np.bool_)

    def refuse(column: str, bad: Bools, complaint: Callable[[Any], str]) -> None:
        """Name rows that were good so far; one fault a row is enough."""
        for at in np.flatnonzero(bad & is_good).tolist():
            message = complaint(columns[column][at])
            faults.append(Fault(block.places[at], columns["episode"][at], message))
        is_good[bad] = False

    ends = set(terminal)
    is_last = np.array([name in ends for name in columns["next_state"]], dtype=np.bool_)
    over = is_last
    if has_done:
        done, bad = _flags(columns["done"])
        refuse("done", bad, "done {!r}, expected true or false".format)
        over = is_last | done
    numbers = {}
    for column in ("episode", "state", "action", "next_state"):
        book = books["state" if column == "next_state" else column]
        numbers[column] = book.enter(columns[column])
        bad = numbers[column] <= MISSING
        if column == "next_state":
            bad &= ~(over & (numbers[column] == MISSING))  # nobody needs to say what comes after
        refuse(column, bad, partial(book.complaint, column))
    numbers["next_state"][is_last] = MISSING  # the name has said what it can: nothing follows
    step = _whole(columns["step"])
    refuse("step", step == NO_STEP, "step {!r}, expected a whole number".format)
    cost = np.empty((n, len(measured)))
    for i, quantity in enumerate(measured):
        values = _numbers(columns[quantity.column])
        cost[:, i] = onto_unit_interval(values, quantity.low, quantity.high, quantity.is_reward)
        bad = ~((cost[:, i] >= 0.0) & (cost[:, i] <= 1.0))
        refuse(quantity.column, bad, quantity.complaint)
    return Table(
        np.array(block.places, dtype=np.int32),
        numbers["episode"],
        step,
        numbers["state"],
        numbers["action"],
        numbers["next_state"],
        over,
        cost,
        is_good,
    )


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
