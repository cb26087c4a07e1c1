"""Steps from log files: CSV, JSON Lines and Parquet, a few thousand rows at a time.

Each format has a function that opens a file and returns `Steps`. Lines of text files are counted
as in an editor, also across quoted line breaks. JSON Lines have one step per line with the
keys of the columns, or one episode per line with its steps as lists::

    {"episode": 7, "states": [...], "actions": [...], "cost": [...],
     "constraint_cost": {"risk": [...]}, "done": false}

with one state more than actions. The first line decides the layout of a file.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.errors import ConfigError, DataError
from tightrope.files import reason

LARGEST = int(sys.float_info.max)
BLOCK = 2_000  # rows; few enough for the CPU cache
NEEDED = ("episode", "step", "state", "action", "next_state")
NAMES = ("episode", "state", "action", "next_state")
PREFIX = "cost_"  # of the columns of constraints
SEPARATORS = ",;\t"


class Fault(NamedTuple):
    """Why a row, and with it its episode, is not used."""

    place: int  # line of a text file, row of a Parquet file, from 1
    episode: str  # "" if unknown
    message: str


class Block(NamedTuple):
    """Rows by column, with the line or row of the file that each came from."""

    places: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    faults: Sequence[Fault] = ()  # rows that could not be parsed


class Steps(NamedTuple):
    """An opened log: its columns, and a function that reads the given columns of its rows.

    Names come as text, numbers as they are in the file.
    """

    columns: tuple[str, ...]
    place: str  # "line" or "row"
    layout: str  # "rows" or "episodes"
    read: Callable[[Sequence[str]], Iterator[Block]]


def open_steps(path: Path) -> Steps:
    """Open a log file; its suffix gives the format."""
    try:
        if not path.is_file():
            raise DataError("a directory or device" if path.exists() else "no such file")
        opener = OPENERS.get(path.suffix.lower())
        if opener is not None:
            return opener(path)
    except OSError as error:
        raise DataError(f"cannot be read: {reason(error)}") from error
    raise ConfigError(
        f"a log ends in .csv, .parquet, .jsonl or .ndjson, this name in {path.suffix!r}"
    )


def as_name(value: Any) -> str:
    """Return a name as text: integers without a point, ``""`` for a missing value."""
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
    """Return a value of a column: a name as text, a number unchanged, ``""`` if missing.

    Integers too large for a float are infinite, as 1e999 is.
    """
    if column in NAMES or type(value) not in (str, int, float):
        return as_name(value)
    if type(value) is int and abs(value) > LARGEST:
        return math.inf if value > 0 else -math.inf
    return value


def _require_distinct(names: Sequence[str], where: str = "") -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{where}the column {twice!r} appears more than once")


def _open_csv(path: Path) -> Steps:
    """Open a CSV file: a header, then one row per step; commas, semicolons or tabs."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text: {error.reason}") from error
    separator = max(SEPARATORS, key=first.count)
    try:
        header: list[str] = next(_csv_reader([first], separator), [])
    except csv.Error as error:
        raise DataError(f"line 1: {error}") from error
    names = tuple(name.strip() for name in header)
    if not any(names):
        raise DataError("no header, expected the names of the columns in the first line")
    _require_distinct(names, "line 1: ")
    return Steps(names, "line", "rows", partial(_csv_blocks, path, separator, names))


def _csv_reader(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _csv_blocks(
    path: Path, separator: str, names: tuple[str, ...], columns: Sequence[str]
) -> Iterator[Block]:
    where = [(name, names.index(name)) for name in columns]
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = _csv_reader(file, separator)
        next(reader)
        while True:
            rows: list[list[str]] = []
            places: list[int] = []
            faults: list[Fault] = []
            is_done = _fill(reader, len(names), rows, places, faults)
            by_column = list(zip(*rows, strict=True)) or [()] * len(names)
            values = {name: [value.strip() for value in by_column[at]] for name, at in where}
            yield Block(places, values, faults)
            if is_done:
                return


def _fill(
    reader: Any, width: int, rows: list[list[str]], places: list[int], faults: list[Fault]
) -> bool:
    """Read a block of rows; return whether the file ended."""
    while True:
        ended = reader.line_num
        try:
            for row in reader:
                if len(row) == width:
                    rows.append(row)
                    places.append(ended + 1)
                elif row:
                    message = f"{len(row)} values, expected {width}"
                    if reader.line_num > ended + 1:
                        message += f"; quotation marks reach to line {reader.line_num}"
                    faults.append(Fault(ended + 1, "", message))
                ended = reader.line_num
                if len(rows) == BLOCK:
                    return False
            return True
        except csv.Error as error:
            if reader.line_num > ended + 1:  # it swallowed an unknown number of rows
                raise DataError(
                    f"line {ended + 1}: a quotation mark is not closed there: {error}"
                ) from error
            faults.append(Fault(ended + 1, "", f"quotation marks: {error}"))
        except UnicodeDecodeError as error:
            raise DataError(f"not UTF-8 text after line {ended}: {error.reason}") from error


def _open_json_lines(path: Path) -> Steps:
    first = next((row for _, row in _objects(path) if isinstance(row, dict)), None)
    if first is None:
        raise DataError("no line is a JSON object, expected one step or episode a line")
    if "states" not in first:
        names = tuple(dict.fromkeys((*first, "done")))
        return Steps(names, "line", "rows", partial(_json_blocks, path, _take_step))
    signals = [name for name in ("cost", "reward") if name in first]
    names = (*NEEDED, *signals, "done", *(PREFIX + name for name in _constraint_costs(first)))
    return Steps(names, "line", "episodes", partial(_json_blocks, path, _take_episode))


def _objects(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line number and object of each line, or a message if it is not an object."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    row = json.loads(text)
                except (ValueError, RecursionError) as error:
                    yield line, f"not JSON: {error}"
                    continue
                yield line, row if isinstance(row, dict) else "not a JSON object"
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text: {error.reason}") from error


def _json_blocks(
    path: Path,
    take: Callable[[dict[str, Any], dict[str, list[Any]]], int | str],
    columns: Sequence[str],
) -> Iterator[Block]:
    places: list[int] = []
    faults: list[Fault] = []
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for line, row in _objects(path):
        count = row if isinstance(row, str) else take(row, values)
        if isinstance(count, str):
            episode = "" if isinstance(row, str) else as_name(row.get("episode"))
            faults.append(Fault(line, episode, count))
            continue
        places += [line] * count
        if len(places) >= BLOCK:
            yield Block(places, values, faults)
            places, faults, values = [], [], {name: [] for name in columns}
    yield Block(places, values, faults)


def _take_step(row: dict[str, Any], values: dict[str, list[Any]]) -> int:
    for name, into in values.items():
        into.append(as_value(name, row.get(name)))
    return 1


def _take_episode(row: dict[str, Any], values: dict[str, list[Any]]) -> int | str:
    """Append the steps of an episode; return their number, or a message if it is invalid."""
    lists = {**{PREFIX + name: costs for name, costs in _constraint_costs(row).items()}, **row}
    states, actions = row.get("states"), row.get("actions")
    if not isinstance(states, list) or not isinstance(actions, list):
        return "expected lists of states and actions"
    H = len(actions)
    if len(states) != H + 1 or H == 0:
        return f"{len(states)} states for {H} actions, expected one more than actions"
    names = [as_name(state) for state in states]
    found: dict[str, list[Any]] = {
        "episode": [as_name(row.get("episode"))] * H,
        "step": list(range(H)),
        "state": names[:-1],
        "action": [as_name(action) for action in actions],
        "next_state": names[1:],
        "done": ["false"] * (H - 1) + [as_name(row.get("done"))],
    }
    for name in values:
        if name not in found:
            given = lists.get(name)
            if not isinstance(given, list) or len(given) != H:
                return f"{name}: expected a list of {H} numbers"
            found[name] = [as_value(name, value) for value in given]
    for name, into in values.items():
        into += found[name]
    return H


def _constraint_costs(row: dict[str, Any]) -> dict[str, Any]:
    """Return the constraint costs of an episode by name."""
    costs = row.get("constraint_cost")
    return costs if isinstance(costs, dict) else {}


def _open_parquet(path: Path) -> Steps:
    """Open a Parquet file with one row per step; places are rows, from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"not a Parquet file: {reason(error)}") from error
    _require_distinct(names)
    return Steps(names, "row", "rows", partial(_parquet_blocks, path))


def _parquet_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    start = 1
    yield Block((), {name: () for name in columns})  # there may be no other
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BLOCK, columns=list(columns)):
                values = {}
                for name in columns:
                    given = batch.column(name).to_pylist()
                    values[name] = [as_value(name, value) for value in given]
                yield Block(range(start, start + batch.num_rows), values)
                start += batch.num_rows
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"damaged after row {start - 1}: {reason(error)}") from error


OPENERS = {
    ".csv": _open_csv,
    ".tsv": _open_csv,
    ".parquet": _open_parquet,
    ".pq": _open_parquet,
    ".jsonl": _open_json_lines,
    ".ndjson": _open_json_lines,
}
