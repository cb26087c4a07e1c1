"""Records: tidy tables as Parquet, one file a run, read together as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import StoreError
from tightrope.files import advise, reason, writing
from tightrope.store.folder import RunFolder
from tightrope.text import escape_table

if TYPE_CHECKING:
    import pyarrow as pa


def parquet(columns: Mapping[str, Any], types: Mapping[str, str]) -> bytes:
    """A table as Parquet; the same columns give the same bytes.

    Parameters
    ----------
    columns : mapping of str to sequence
        Arrays or lists of one length.
    types : mapping of str to str
        Arrow's name for the type of each column, whatever happens to be in it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = BytesIO()
    schema = pa.schema([(name, pa.type_for_alias(types[name])) for name in columns])
    table = pa.table(dict(columns), schema=schema)
    pq.write_table(table, file, compression="zstd")
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
        with readable(path):
            tables.append(pq.read_table(path, columns=columns))
    if not tables:
        raise StoreError("no run is finished yet")
    return pa.concat_tables(tables, promote_options="default")


def write_csv(folders: Sequence[RunFolder], out: Path, progress: Callable[[int], None]) -> int:
    """Write the records of some runs as one CSV file, one at a time; how many rows it has.

    Parameters
    ----------
    folders : sequence of RunFolder
        Of finished runs, at least one.
    out : Path
        There only when all of it is.
    progress : callable
        Called with how many tables were written.

    Raises
    ------
    StoreError
        When a file cannot be read or written; it says which.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    schemas = []
    for folder in folders:
        with readable(folder.record):
            schemas.append(pq.read_schema(folder.record))
    schema = pa.unify_schemas(schemas, promote_options="default")
    n_rows = 0
    header = escape_table(schema.empty_table()).schema
    with writing(out) as file, csv.CSVWriter(file, header) as writer:
        for done, folder in enumerate(folders, 1):
            content = folder.results()[2]
            with readable(folder.record):
                table = pq.read_table(BytesIO(content))
            writer.write_table(
                escape_table(
                    pa.concat_tables([schema.empty_table(), table], promote_options="default")
                )
            )
            n_rows += table.num_rows
            progress(done)
    return n_rows


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say of a record that cannot be read what to do.

    Parameters
    ----------
    path : Path
        Read in the block.
    """
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        remedy = advise(error, "remove it, and 'tightrope resume' makes it again")
        raise StoreError(f"{path}: cannot be read: {reason(error)}{remedy}") from error
