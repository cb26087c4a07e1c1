"""Steps from CSV. Lines are counted as an editor counts them, also across quoted line breaks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tightrope.errors import ModelError
from tightrope.interop.logs.blocks import BLOCK, Block, Fault, Steps

SEPARATORS = ",;\t"


def csv_steps(path: Path) -> Steps:
    """The steps of a CSV file: a header, then one row a step; commas, semicolons or tabs."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
    except UnicodeDecodeError as error:
        raise ModelError(f"not UTF-8 text: {error.reason}") from error
    separator = max(SEPARATORS, key=first.count)
    try:
        header: list[str] = next(_reader([first], separator), [])
    except csv.Error as error:
        raise ModelError(f"line 1: {error}") from error
    names = tuple(name.strip() for name in header)
    if not any(names):
        raise ModelError("no header, expected the names of the columns in the first line")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"line 1: the column {twice!r} appears more than once")

    def read(columns: Sequence[str]) -> Iterator[Block]:
        return _blocks(path, separator, names, columns)

    return Steps(names, "line", "rows", read)


def _reader(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _blocks(
    path: Path, separator: str, names: tuple[str, ...], columns: Sequence[str]
) -> Iterator[Block]:
    where = [(name, names.index(name)) for name in columns]
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = _reader(file, separator)
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
    reader: Any,
    width: int,
    rows: list[list[str]],
    places: list[int],
    faults: list[Fault],
) -> bool:
    """Read a block of rows; whether the file ended."""
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
            if reader.line_num > ended + 1:  # it swallowed rows, nobody knows how many
                raise ModelError(
                    f"line {ended + 1}: a quotation mark is not closed there: {error}"
                ) from error
            faults.append(Fault(ended + 1, "", f"quotation marks: {error}"))
        except UnicodeDecodeError as error:
            raise ModelError(f"not UTF-8 text after line {ended}: {error.reason}") from error
