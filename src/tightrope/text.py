"""Text of messages and tables: numbers, counts, lists, suggestions, and cells safe to export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

ULPS = 8  # of a shown budget: its own rounding, that of a sum and that of the conversion
ROUNDING = 1e-11  # of a budget; one short by less is kept all the same
FORMULA = ("=", "+", "-", "@")  # how a cell begins that spreadsheets compute


def digits(value: float, count: int = 6) -> str:
    """Return a number in at most ``count`` digits, never as minus zero; NaN as a dash."""
    return "-" if value != value else f"{value + 0.0:.{count}g}"


def vector(values: Iterable[float]) -> str:
    """Return the first six numbers of a vector in brackets, in six digits each: "[3, 0.5]"."""
    words = [digits(float(value)) for value in values]
    return f"[{', '.join([*words[:6], *['...'] * (len(words) > 6)])}]"


def cut(text: str, most: int = 40) -> str:
    """Return a text, or its beginning and three dots where it is longer than ``most``."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def number(value: float) -> str:
    """Return a number in nine digits when they give it exactly, in all its digits otherwise."""
    short = f"{value:.9g}"
    return short if float(short) == value or value != value else repr(float(value))


def apart(first: float, second: float) -> tuple[str, str]:
    """Return two numbers in as few digits as tell them apart, at least six."""
    words = digits(first), digits(second)
    for count in range(7, 18):
        if words[0] != words[1] or first == second:
            break
        words = digits(first, count), digits(second, count)
    return words


def round_up(value: float, size: float, shown: float = 0.0) -> str:
    """Return a number in six digits that is large enough to serve as a budget of ``value``.

    Parameters
    ----------
    value : float
    size : float
        The budget without the shift of its unit; a small part of it may be missing.
    shown : float
        The largest number that the user adds it to or converts, whose rounding is allowed for.
    """
    count = 6  # more where the value is larger than its size because of a shift
    if size and abs(value) > abs(size):
        count = min(17, count + int(log10(abs(value / size))))
    exact = value + ULPS * 2.0**-52 * abs(shown) - ROUNDING * abs(size)
    ceiling = Context(prec=count, rounding=ROUND_CEILING).create_decimal(exact)
    return digits(float(ceiling), count)


def counted(n: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: "1 run", "3,000 episodes"."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def guess(word: object, known: Iterable[str]) -> str:
    """Return ``, did you mean 'x'?`` when a known word is close, ignoring case, "" otherwise."""
    from difflib import get_close_matches

    if not isinstance(word, str):
        return ""
    folded = {str(name).lower(): name for name in known}
    close = get_close_matches(word.lower(), folded, n=1)
    return f", did you mean {folded[close[0]]!r}?" if close else ""


def plain_word(name: str, other: str) -> str:
    """Return a name of letters, digits, dots and dashes for files and groups, else ``other``."""
    return re.sub(r"[^A-Za-z0-9.=]+", "-", name).strip("-.")[:80] or other


def replace_unprintable(text: str, keep: str = "\n") -> str:
    """Return the text with "?" for every character that is not printable, except ``keep``."""
    return "".join(c if c.isprintable() or c in keep else "?" for c in text)


def escape_cell(text: str) -> str:
    r"""Return text for a cell of a CSV file that no program takes for anything but text.

    Control characters and line separators become escapes such as ``\n``, and an apostrophe goes
    before what a spreadsheet would compute. Numbers stay as they are.
    """
    escaped = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
    return f"'{escaped}" if escaped.startswith(FORMULA) and not _is_number(escaped) else escaped


def escape_table(table: pa.Table) -> pa.Table:
    """Return an Arrow table with `escape_cell` applied to its names and text."""
    import pyarrow as pa

    names = [escape_cell(name) for name in table.column_names]
    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            known = {text: escape_cell(text) for text in column.unique().to_pylist() if text}
            if any(text != escaped for text, escaped in known.items()):
                cells = [known.get(text, text) for text in column.to_pylist()]
                column = pa.chunked_array([pa.array(cells, column.type)])
        columns.append(column)
    return pa.Table.from_arrays(columns, names=names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
