"""Text that comes from files and models of others, made safe to show and to export."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA = ("=", "+", "-", "@")  # how a cell begins that spreadsheets compute


def replace_unprintable(text: str, keep: str = "\n") -> str:
    """Return the text with a question mark for every character that cannot be shown.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay although they are not printable.
    """
    return "".join(c if c.isprintable() or c in keep else "?" for c in text)


def escape_cell(text: str) -> str:
    r"""Return text for a cell of a CSV file that no program takes for anything but text.

    Control characters and line separators become escapes such as ``\n``, and an apostrophe goes
    before what a spreadsheet would compute. Numbers stay as they are.

    Parameters
    ----------
    text : str
    """
    escaped = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
    return f"'{escaped}" if escaped.startswith(FORMULA) and not _is_number(escaped) else escaped


def escape_table(table: pa.Table) -> pa.Table:
    """Return an Arrow table whose names and text went through `escape_cell`.

    Parameters
    ----------
    table : pyarrow.Table
    """
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
