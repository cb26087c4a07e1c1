"""Steps from Parquet, as any data frame library writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tightrope.errors import ModelError
from tightrope.files import reason
from tightrope.interop.logs.blocks import BLOCK, Block, Steps, as_value


def parquet_steps(path: Path) -> Steps:
    """The steps of a Parquet file, one row a step; places are rows, from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ModelError(f"not a Parquet file: {reason(error)}") from error
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"the column {twice!r} appears more than once")

    def read(columns: Sequence[str]) -> Iterator[Block]:
        return _blocks(path, columns)

    return Steps(names, "row", "rows", read)


def _blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
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
        raise ModelError(f"damaged after row {start - 1}: {reason(error)}") from error
