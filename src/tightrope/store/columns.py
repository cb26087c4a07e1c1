"""Columns of one record as arrays, read without the rest of its table."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tightrope.errors import StoreError
from tightrope.store.records import readable


def read_columns(
    path: Path, names: Sequence[str], content: bytes | None = None
) -> dict[str, NDArray[Any]]:
    """Some columns of a Parquet file; NaN where a number is missing.

    Parameters
    ----------
    path : Path
    names : sequence of str
    content : bytes, optional
        Of the file, where it was read already.

    Raises
    ------
    StoreError
        When the file cannot be read or lacks a column.
    """
    import pyarrow.parquet as pq

    source = path if content is None else BytesIO(content)
    with readable(path), pq.ParquetFile(source) as file:
        missing = sorted(set(names) - set(file.schema_arrow.names))
        if missing:
            raise StoreError(f"{path}: has no column {missing[0]!r}")
        table = file.read(columns=list(names), use_threads=False)
    return {name: table[name].to_numpy() for name in names}
