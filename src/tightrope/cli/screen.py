"""Output: tables and JSON to stdout, errors to stderr, and checks of output files.

Names in models are untrusted, so they are never interpreted as markup or terminal commands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tightrope.errors import StoreError
from tightrope.progress import console, err
from tightrope.text import replace_unprintable


def out() -> Console:
    """Return the console of results."""
    return console(False)


def say(text: str = "", style: str = "") -> None:
    """Print a line of text, wrapped in a terminal only."""
    screen = out()
    screen.print(Text(replace_unprintable(text), style=style), soft_wrap=not screen.is_terminal)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[str] = (),
    marked: Collection[int] = (),
) -> None:
    """Print a table; columns in ``numbers`` are right-aligned, ``marked`` rows are bold."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        is_number = name in numbers
        grid.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for k, row in enumerate(rows):
        cells = [Text(replace_unprintable(cell)) for cell in row]
        grid.add_row(*cells, style="bold" if k in marked else "")
    screen = out()
    if screen.is_terminal:
        screen.print(grid)
        return
    with screen.capture() as caught:
        screen.print(grid)
    lines = [line.rstrip() for line in caught.get().splitlines()]
    screen.out("\n".join(lines), highlight=False)


def columns_table(
    cells: Mapping[str, Sequence[str]], numbers: Collection[str], marked: Collection[int] = ()
) -> None:
    """Print a table given by its columns, each a heading with its cells."""
    table(list(cells), zip(*cells.values(), strict=True), numbers, marked)


def emit(data: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print data as JSON, with null for numbers that are not finite."""
    out().out(json.dumps(_finite(data), indent=2, allow_nan=False), highlight=False)


def fail(message: str) -> None:
    """Print an error in one line."""
    err().print(Text(f"tightrope: {one_line(message)}"), soft_wrap=True)


def one_line(text: str) -> str:
    """Return the text on one line."""
    return replace_unprintable(" ".join(text.split()))


def percent(share: float) -> str:
    """Return a share in percent; only 0 and 1 are shown as 0% and 100%."""
    whole = f"{100 * share:.3g}"
    return f"{whole if whole != '100' or share == 1 else f'{100 * share:.8g}'}%"


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return float(data) if math.isfinite(data) else None
    return data


def exists(path: Path) -> bool:
    """Whether a file exists; False for invalid names."""
    try:
        return path.is_file()
    except OSError:
        return False


def require_folder(path: Path) -> None:
    """Raise a `StoreError` if a file cannot be written because its directory is missing."""
    if path.is_dir():
        raise StoreError(f"{path}: cannot be written: it is a directory", argument=str(path))
    if not path.parent.is_dir():
        raise StoreError(
            f"{path}: cannot be written: {path.parent} is not a directory", argument=str(path)
        )


def require_figure(path: Path | None) -> None:
    """Raise if a requested figure cannot be written there."""
    if path is None:
        return
    from tightrope.show.figures import require_picture

    require_picture(path)
    require_folder(path)


def require_plan_file(path: Path) -> None:
    """Raise if a plan cannot be saved there."""
    from tightrope.model.plan_files import check_suffix

    check_suffix(path)
    require_folder(path)
