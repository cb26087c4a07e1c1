"""Steps of a log file (CSV, Excel, JSON Lines, Parquet) or DataFrame, block by block.

Each format has a function that opens a file and returns `Steps`. Lines of text files are counted
as in an editor, also across quoted line breaks. JSON Lines have one step per line with the
keys of the columns, or one episode per line with its steps as lists::

    {"episode": 7, "states": [...], "actions": [...], "cost": [...],
     "constraint_cost": {"risk": [...]}, "done": false}

with one state more than actions. The first line decides the layout of a file.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from tightrope.errors import ConfigError, DataError, DependencyError
from tightrope.files import reason
from tightrope.text import guess, listed

LARGEST = int(sys.float_info.max)
BLOCK = 2_000  # rows; few enough for the CPU cache
NEXT = "next_state"  # may be left out, except in the last step of an episode that goes on
NEEDED = ("episode", "step", "state", "action", NEXT)
NAMES = ("episode", "state", "action", NEXT)
KNOWN = (*NEEDED, "cost", "reward", "done")
PREFIX = "cost_"  # of the columns of constraints
SEPARATORS = ",;\t"
MARK = "sep="  # before the separator
UTF8 = "utf-8-sig"
MARKS_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
OLD_EXCEL = (".xls", ".xlsm", ".xlsb", ".ods")  # and other spreadsheets
ZIPPED = b"PK\x03\x04"  # the first bytes of a zip file, as Excel writes


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


def open_steps(path: Path, encoding: str = UTF8) -> Steps:
    """Open a log file; its suffix gives the format. The encoding is that of text files."""
    try:
        if not path.is_file():
            found = "a directory or device" if path.exists() else "no such file"
            raise DataError(found, found=found)
        opener = OPENERS.get(path.suffix.lower())
        if opener is not None:
            return opener(path, encoding)
    except OSError as error:
        raise DataError(f"cannot be read: {reason(error)}") from error
    ends = listed(tuple(OPENERS))
    more = "; save it as .xlsx" if path.suffix.lower() in OLD_EXCEL else ""
    raise ConfigError(
        f"a log ends in {ends}, this name in {path.suffix!r}{more}",
        found=path.suffix,
        expected=ends,
    )


def rename_columns(steps: Steps, columns: Mapping[str, str]) -> Steps:
    """Return the steps with the names of `KNOWN` for columns that differ from them in case only.

    ``columns`` has the column of the log by the name that it gets here, and goes first.
    """
    if steps.layout != "rows":
        return steps
    folded = {column.lower(): column for column in reversed(steps.columns)}
    columns = {
        name: column if column in steps.columns else folded.get(column.lower(), column)
        for name, column in columns.items()
    }
    new = {}
    for name, column in columns.items():
        if column not in steps.columns:
            hint = guess(column, steps.columns)
            more = f"no such column in the log{hint}; it has {', '.join(map(repr, steps.columns))}"
            raise ConfigError.about(f"column of {name!r}", found=column, more=f", {more}")
        new[column] = name
    taken = {*steps.columns, *columns}
    for column in steps.columns:
        word = column.strip().lower().replace(" ", "_")
        if column not in new and column not in KNOWN and word in KNOWN and word not in taken:
            new[column] = word
            taken.add(word)
    # a column whose name another one gets is not used
    names = tuple(
        new.get(column, f"{column} (unused)" if column in columns else column)
        for column in steps.columns
    )
    _require_distinct(names)
    old = dict(zip(names, steps.columns, strict=True))

    def read(wanted: Sequence[str]) -> Iterator[Block]:
        for block in steps.read([old[name] for name in wanted]):
            found = {name: _read_as(name, block.columns[old[name]]) for name in wanted}
            yield Block(block.places, found, block.faults)

    return Steps(names, steps.place, steps.layout, read)


def _read_as(name: str, values: Sequence[Any]) -> Sequence[Any]:
    return [as_name(value) for value in values] if name in NAMES else values


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


def _named(names: Sequence[str], place: str) -> tuple[str, ...]:
    """Return the names in a header, without those of columns that have none."""
    columns = tuple(filter(None, names))
    if not columns:
        raise DataError.about(
            "header",
            found=None,
            shown="missing",
            expected=f"the names of the columns in the first {place}",
        )
    _require_distinct(columns, f"{place} 1: ")
    return columns


def _require_distinct(names: Sequence[str], where: str = "") -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"{where}the column {twice!r} appears more than once", argument="columns", found=twice
        )


def _open_csv(path: Path, encoding: str) -> Steps:
    """Open a CSV file: a header, then one row per step; commas, semicolons or tabs."""
    with path.open("rb") as raw:
        if raw.read(len(ZIPPED)) == ZIPPED:
            raise DataError(
                "an Excel sheet by its content; rename it to .xlsx",
                found="an Excel sheet",
                expected="text",
            )
    try:
        with path.open(encoding=encoding, newline="") as file:
            _, names = _csv_rows(file)
    except (UnicodeError, LookupError) as error:
        raise _not_text(path, encoding, error) from error
    except csv.Error as error:
        raise DataError.about("line 1", shown=str(error)) from error
    columns = _named(names, "line")
    return Steps(columns, "line", "rows", partial(_csv_blocks, path, encoding))


def _csv_rows(file: TextIO) -> tuple[Any, tuple[str, ...]]:
    """Return a reader of the rows after the header, and the names in the header.

    The first line decides on the separator; Excel writes ``sep=;`` before the header.
    """
    first = file.readline()
    file.seek(0)
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
    if first.lower().startswith(MARK):
        next(reader)
    return reader, tuple(name.strip() for name in next(reader, []))


def _csv_blocks(path: Path, encoding: str, columns: Sequence[str]) -> Iterator[Block]:
    with path.open(encoding=encoding, newline="") as file:
        reader, names = _csv_rows(file)
        where = [(name, names.index(name)) for name in columns]
        while True:
            rows: list[list[str]] = []
            places: list[int] = []
            faults: list[Fault] = []
            try:
                is_done = _fill(reader, len(names), rows, places, faults)
            except UnicodeError as error:
                raise _not_text(path, encoding, error, f" after line {reader.line_num}") from error
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
                has_value = any(row)  # empty rows of a sheet are separators only
                if has_value and len(row) == width:
                    rows.append(row)
                    places.append(ended + 1)
                elif has_value:
                    message = f"{len(row)} values, expected {width}"
                    if reader.line_num > ended + 1:
                        message += f"; a quotation extends to line {reader.line_num}"
                    faults.append(Fault(ended + 1, "", message))
                ended = reader.line_num
                if len(rows) == BLOCK:
                    return False
            return True
        except csv.Error as error:
            if reader.line_num > ended + 1:  # it swallowed an unknown number of rows
                raise DataError.about(
                    f"line {ended + 1}",
                    shown="a quotation mark is not closed there",
                    more=f": {error}",
                ) from error
            faults.append(Fault(ended + 1, "", f"quotation marks: {error}"))


def _not_text(path: Path, encoding: str, error: Exception, where: str = "") -> DataError:
    """Return the error for a file that is not in its encoding."""
    if isinstance(error, LookupError):
        return DataError.about("encoding", found=encoding, expected="an encoding of Python")
    name = "UTF-8" if encoding == UTF8 else encoding
    hint = ""
    if encoding == UTF8:
        with path.open("rb") as raw:
            is_utf16 = raw.read(2) in MARKS_UTF16
        hint = "; its first bytes are those of encoding 'utf-16'"
        if not is_utf16:
            hint = "; spreadsheets often write encoding 'cp1252'"
    why = getattr(error, "reason", str(error))
    return DataError.about("encoding", more=f"not {name} text{where}: {why}{hint}")


def _open_json_lines(path: Path, encoding: str) -> Steps:
    first = next((row for _, row in _objects(path, encoding) if isinstance(row, dict)), None)
    if first is None:
        raise DataError(
            "no line is a JSON object, expected one step or episode a line",
            expected="one step or episode a line",
        )
    if "states" not in first:
        names = tuple(dict.fromkeys((*first, "done")))
        return Steps(names, "line", "rows", partial(_json_blocks, path, encoding, _take_step))
    signals = [name for name in ("cost", "reward") if name in first]
    names = (*NEEDED, *signals, "done", *(PREFIX + name for name in _constraint_costs(first)))
    return Steps(names, "line", "episodes", partial(_json_blocks, path, encoding, _take_episode))


def _objects(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    """Yield line number and object of each line, or a message if it is not an object."""
    try:
        with path.open(encoding=encoding) as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    row = json.loads(text)
                except (ValueError, RecursionError) as error:
                    yield line, f"not JSON: {error}"
                    continue
                yield line, row if isinstance(row, dict) else "not a JSON object"
    except (UnicodeError, LookupError) as error:
        raise _not_text(path, encoding, error) from error


def _json_blocks(
    path: Path,
    encoding: str,
    take: Callable[[dict[str, Any], dict[str, list[Any]]], int | str],
    columns: Sequence[str],
) -> Iterator[Block]:
    places: list[int] = []
    faults: list[Fault] = []
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for line, row in _objects(path, encoding):
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


def _open_parquet(path: Path, encoding: str) -> Steps:
    """Open a Parquet file with one row per step; places are rows, from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"not a Parquet file: {reason(error)}", expected="Parquet") from error
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
        words = f"corrupt after row {start - 1}: {reason(error)}"
        raise DataError(words, entry=f"row {start}") from error


def _open_excel(path: Path, encoding: str) -> Steps:
    """Open the first sheet of an Excel file: a header, then one row per step."""
    header = next(_excel_rows(path), ())
    names = tuple(as_name(value) for value in header)
    return Steps(_named(names, "row"), "row", "rows", partial(_excel_blocks, path, names))


def _excel_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    try:
        import openpyxl
    except ImportError as error:
        raise DependencyError(
            "Excel files need openpyxl: pip install 'tightrope[excel]'", argument="openpyxl"
        ) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"not an Excel file: {reason(error)}", expected="Excel") from error
    try:
        yield from book.worksheets[0].iter_rows(values_only=True)
    finally:
        book.close()


def _excel_blocks(path: Path, names: tuple[str, ...], columns: Sequence[str]) -> Iterator[Block]:
    where = [(name, names.index(name)) for name in columns]
    # sheets have empty rows, and rows that end with their last value
    rows = (
        (place, (*row, *(None,) * (len(names) - len(row))))
        for place, row in enumerate(_excel_rows(path), 1)
        if place > 1 and any(as_name(value) for value in row)
    )
    while True:
        some = list(islice(rows, BLOCK))
        values = {name: [as_value(name, row[at]) for _, row in some] for name, at in where}
        yield Block([place for place, _ in some], values)
        if not some:
            return


def steps_of_frame(frame: Any) -> Steps:
    """Return the steps of a pandas DataFrame with one row per step; places are rows, from 0."""
    names = tuple(str(name) for name in frame.columns)
    _require_distinct(names)

    def read(columns: Sequence[str]) -> Iterator[Block]:
        for first in range(0, max(len(frame), 1), BLOCK):
            part = frame.iloc[first : first + BLOCK]
            values = {}
            for name in columns:
                column = part.iloc[:, names.index(name)]
                given = column.astype(object).where(column.notna(), None).tolist()
                values[name] = [as_value(name, value) for value in given]
            yield Block(range(first, first + len(part)), values)

    return Steps(names, "row", "rows", read)


OPENERS: dict[str, Callable[[Path, str], Steps]] = {
    ".csv": _open_csv,
    ".tsv": _open_csv,
    ".parquet": _open_parquet,
    ".pq": _open_parquet,
    ".jsonl": _open_json_lines,
    ".ndjson": _open_json_lines,
    ".xlsx": _open_excel,
}
