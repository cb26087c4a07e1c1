"""Blocks of rows: what every kind of log file is read as, a few thousand steps at a time."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LARGEST = int(sys.float_info.max)
BLOCK = 2_000  # rows; few enough to stay in the processor's cache


NAMES = ("episode", "state", "action", "next_state")
PREFIX = "cost_"  # of the columns of constraints


class Fault(NamedTuple):
    """Why a row, and with it its episode, is not used."""

    place: int  # line of a text file, row of a Parquet file, from 1
    episode: str  # "" where it is not known
    message: str


class Block(NamedTuple):
    """Rows by column, with the line or row of the file that each came from."""

    places: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    faults: Sequence[Fault] = ()  # rows that could not be taken apart


class Steps(NamedTuple):
    """An opened log: its columns, and its rows when they are asked for.

    ``read`` takes the columns that are wanted. Names come as text, numbers as they are in the file.
    """

    columns: tuple[str, ...]
    place: str  # "line" or "row"
    layout: str  # "rows" or "episodes"
    read: Callable[[Sequence[str]], Iterator[Block]]


def as_name(value: Any) -> str:
    """A name as text: whole numbers without a point, nothing for what is missing."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    return "" if value is None else str(value)


def as_value(column: str, value: Any) -> Any:
    """What a file says in a column: a name as text, a number as it is, nothing as ``""``.

    Whole numbers that no float can hold are infinite, as 1e999 is.
    """
    if column in NAMES or type(value) not in (str, int, float):
        return as_name(value)
    if type(value) is int and abs(value) > LARGEST:
        return math.inf if value > 0 else -math.inf
    return value
