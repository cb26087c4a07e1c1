"""Records: tidy tables as Parquet, one file a run, read together as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import StoreError
from tightrope.files import reason

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["parquet", "read_parquet"]


def parquet(columns: Mapping[str, Any]) -> bytes:
    """A table as Parquet; the same columns give the same bytes.

    Parameters
    ----------
    columns : mapping of str to sequence
        Arrays or lists of one length.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = BytesIO()
    pq.write_table(pa.table(dict(columns)), file, compression="zstd")
    return file.getvalue()


def read_parquet(paths: Iterable[Path], columns: Sequence[str] | None = None) -> pa.Table:
    """The tables of some files as one.

    Parameters
    ----------
    paths : iterable of Path
    columns : sequence of str, optional
        Only these.

    Raises
    ------
    StoreError
        When a file cannot be read; it says which.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for path in paths:
        try:
            tables.append(pq.read_table(path, columns=columns))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StoreError(f"{path}: cannot be read: {reason(error)}") from error
    if not tables:
        raise StoreError("no run is finished yet")
    return pa.concat_tables(tables, promote_options="default")
