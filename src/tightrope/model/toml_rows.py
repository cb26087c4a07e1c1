"""The small parts of a TOML model: axes by name or number, rows, keys, and their errors."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.text import guess

Table = Mapping[str, Any]

MOST_ENTRIES = 10**8  # of an array; a larger model is no text for people
HOME = {
    **dict.fromkeys(("transition", "initial", "noise", "forbidden"), "above the first [table]"),
    **dict.fromkeys(("horizon", "states", "actions", "format"), "above the first [table]"),
    **dict.fromkeys(("budget", "floor", "utility"), "in a [[constraint]]"),
    **dict.fromkeys(("cost", "reward", "range"), "in [objective]"),
}


def parsed(content: bytes) -> Table:
    """The tables of a TOML text, or a `ModelError` that says the line."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ModelError(f"not UTF-8 text at byte {error.start}, expected TOML") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"not TOML: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True)
class Axis:
    """States or actions: how many, and what they are called."""

    word: str
    size: int
    names: tuple[str, ...] | None
    index: Mapping[str, int]

    @classmethod
    def of(cls, word: str, given: Any) -> Axis:
        """The axis of a list of names or a number."""
        if type(given) is int and given > 0:
            return cls(word, given, None, {})
        if isinstance(given, list) and given and all(isinstance(name, str) for name in given):
            return cls(word, len(given), tuple(given), {name: k for k, name in enumerate(given)})
        raise ModelError(f"{word}s: {given!r}, expected a list of names, or how many there are")

    def find(self, value: Any, where: str) -> int:
        """The position of a name or number."""
        if type(value) is int:
            if 0 <= value < self.size:
                return value
            raise ModelError(f"{where}: {self.word} {value}, expected 0 to {self.size - 1}")
        if isinstance(value, str):
            if value in self.index:
                return self.index[value]
            hint = guess(value, self.index) if self.names else f"; {self.word}s have no names here"
            raise ModelError(f"{where}: no {self.word} is named {value!r}{hint}")
        raise ModelError(f"{where}: {self.word} {value!r}, expected a name or a number")


@dataclass(frozen=True)
class Axes:
    """Stages, states and actions."""

    horizon: int
    states: Axis
    actions: Axis

    def stage(self, value: Any, where: str) -> int:
        """A stage, counted from 0."""
        if type(value) is int and 0 <= value < self.horizon:
            return value
        raise ModelError(f"{where}: stage {value!r}, expected 0 to {self.horizon - 1}")

    def zeros(self, by_stage: bool) -> Floats:
        """An array over (H or 1, S, A)."""
        shape = (self.horizon if by_stage else 1, self.states.size, self.actions.size)
        if shape[0] * shape[1] * shape[2] > MOST_ENTRIES:
            raise ModelError(
                f"{shape[1]} states and {shape[2]} actions over {shape[0]} stages are too many "
                "for a text file; save such a model as .npz"
            )
        return np.zeros(shape)


def rows_of(key: str, given: Any, widths: tuple[int, ...]) -> Iterator[tuple[str, list[Any]]]:
    """The rows of a list, each with words for where it stands."""
    if not isinstance(given, list):
        raise ModelError(f"{key}: expected a list of rows")
    for k, row in enumerate(given, start=1):
        where = f"{key}, row {k}"
        if not isinstance(row, list) or len(row) not in widths:
            wide = " or ".join(map(str, widths))
            raise ModelError(f"{where}: {row!r}, expected a list of {wide} entries")
        yield where, row


def number_in(value: Any, where: str) -> float:
    """A number, or a `ModelError`."""
    if type(value) not in (int, float):
        raise ModelError(f"{where}: {value!r}, expected a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ModelError(f"{where}: a whole number too large for a float") from error


def text_in(where: str, table: Table, key: str, otherwise: str) -> str:
    """The text of a key, or another when there is none."""
    text = table.get(key, otherwise)
    if not isinstance(text, str):
        raise ModelError(f"{where} {key}: {text!r}, expected text in quotes")
    return text


def either(where: str, table: Table, first: str, second: str) -> str:
    """Which of two keys there is, when it is one of them."""
    if (first in table) == (second in table):
        how = "both" if first in table else "neither"
        raise ModelError(f"{where}: has {how} of the keys {first!r} and {second!r}, expected one")
    return first if first in table else second


def require_keys(
    where: str, table: Table, known: tuple[str, ...], needed: Iterable[str] = ()
) -> None:
    """Raise for an unknown key, with the one that may be meant, and for a missing one."""
    prefix = f"{where}: " if where else ""
    for key in table:
        if key not in known:
            home = f"; it belongs {HOME[key]}" if key in HOME else ""
            hint = home or guess(key, known) or f"; known keys: {', '.join(known)}"
            raise ModelError(f"{prefix}unknown key {key!r}{hint}")
    for key in needed:
        if key not in table:
            raise ModelError(f"{prefix}key {key!r} is missing")
