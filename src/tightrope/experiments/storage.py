"""The directory of one run: its spec, its snapshots, and its record when finished.

::

    spec.json                configuration of the run
    versions.json            versions of the software that began it
    snapshot-000000012000    the two newest snapshots, by episode
    result.npz               last policy and totals
    record.parquet           written last: a run with a record is finished
    run.log                  events with their times
    lock                     held by the process that writes here
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from filelock import FileLock, Timeout
from numpy.typing import NDArray

from tightrope.errors import StoreError
from tightrope.files import advise, digest, make_folder, put, reason, unpacked, writing
from tightrope.text import escape_table

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger(__name__)
KEPT = 2  # snapshots; the older one is used if the newest is corrupt
SNAPSHOT = "snapshot-"
VERSIONS = "versions.json"


class BusyError(StoreError):
    """Another process has the lock."""


@contextmanager
def lock(path: Path, timeout: float = 0.0) -> Iterator[None]:
    """Lock a file within a context; the system unlocks it when the process ends.

    Raises
    ------
    BusyError
        If another process does not release it within ``timeout`` seconds.
    StoreError
        If the file cannot be locked.
    """
    file = FileLock(path)
    try:
        file.acquire(timeout=timeout)
    except Timeout:
        raise BusyError(
            f"{path.parent}: another process is writing here", argument=str(path.parent)
        ) from None
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be locked: {reason(error)}", argument=str(path)
        ) from error
    try:
        yield
    finally:
        file.release()


@final
class RunFolder:
    """The directory of one run; it need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = path / "spec.json"
        self.record = path / "record.parquet"  # exists only if the run is finished
        self.result = path / "result.npz"

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        try:
            return self.record.is_file()
        except OSError as error:
            raise StoreError(
                f"{self.record}: cannot be read: {reason(error)}", argument=str(self.record)
            ) from error

    @property
    def versions(self) -> dict[str, str]:
        """Software versions that began the run; empty if unreadable."""
        try:
            found = json.loads((self.path / VERSIONS).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}

    def begin(self, spec: str, versions: Mapping[str, str]) -> None:
        """Make the directory and write the spec (JSON), unless they exist.

        Call it while the directory is locked, if other processes may write here.
        """
        make_folder(self.path)
        if not self.spec.is_file():
            put(self.path / VERSIONS, json.dumps(dict(versions), indent=1).encode())
            put(self.spec, spec.encode())  # last: a directory with a spec is complete

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the directory and lock it within a context, see `lock`."""
        make_folder(self.path)
        with lock(self.path / "lock"):
            yield

    def snapshots(self) -> list[Path]:
        """Return the existing snapshots, the newest first."""
        return sorted(self.path.glob(f"{SNAPSHOT}*"), reverse=True)

    def keep(self, episode: int, content: bytes) -> None:
        """Write a snapshot (from `archive.packed`), then delete all but the newest two."""
        put(self.path / f"{SNAPSHOT}{episode:012}", content)
        LOG.debug("run %s: snapshot at episode %d", self.path.name, episode)
        self._drop(self.snapshots()[KEPT:])

    def episode(self) -> int:
        """Return the episode of the newest snapshot, by its name; zero without one."""
        numbers = [path.name.removeprefix(SNAPSHOT) for path in self.snapshots()]
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def newest(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Read table and arrays of the newest valid snapshot; None if there is none.

        Raises
        ------
        StoreError
            If there are snapshots and none can be read; the run is not restarted silently.
        """
        faults, remedy = [], "; remove them to restart this run"
        for path in self.snapshots():
            try:
                found = unpacked(path.read_bytes())
            except (OSError, StoreError) as error:
                faults.append(f"{path.name}: {reason(error)}")
                if not advise(error, remedy):
                    remedy = ""
                continue
            for fault in faults:
                self.log(f"passed over {fault}")
            return found
        if faults:
            raise StoreError(
                f"{self.path}: no snapshot can be read ({'; '.join(faults)}){remedy}",
                argument=str(self.path),
            )
        return None

    def results(self) -> tuple[dict[str, Any], dict[str, Any], bytes]:
        """Read table and arrays of the result, and the content of the record, verified.

        Raises
        ------
        StoreError
            If one of them is corrupt or belongs to another run; it says what to do.
        """
        again = "remove it and resume the experiment, which recreates it"
        both = f"remove it and {self.record.name}; resuming the experiment makes them again"
        try:
            about, arrays = unpacked(self.result.read_bytes())
        except (OSError, StoreError) as error:
            raise StoreError(
                f"{self.result}: cannot be read: {reason(error)}" + advise(error, both),
                argument=str(self.result),
            ) from error
        try:
            record = self.record.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{self.record}: cannot be read: {reason(error)}" + advise(error, again),
                argument=str(self.record),
            ) from error
        if about.get("record", digest(record)) != digest(record):
            raise StoreError(
                f"{self.record}: its content has changed; {again}", argument=str(self.record)
            )
        return about, arrays, record

    def read(
        self, run: str, names: Sequence[str]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, NDArray[Any]]]:
        """Read table and arrays of the result of a run, and some columns of its record."""
        about, arrays, content = self.results()
        columns = read_columns(self.record, ("run", *names), content)
        if set(columns.pop("run")) != {run}:
            raise StoreError(
                f"{self.record}: is of another run; remove it, and resume",
                argument=str(self.record),
            )
        return about, arrays, columns

    def finish(self, result: bytes, record: bytes) -> None:
        """Write the results, an archive and a Parquet file, and delete the snapshots."""
        put(self.result, result)
        put(self.record, record)
        self._drop(self.snapshots())

    def log(self, words: str) -> None:
        """Add an entry to the log of the run; only its first line has a time."""
        LOG.info("run %s: %s", self.path.name, words.partition("\n")[0])
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            log = self.path / "run.log"
            with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{now} {os.getpid()} {words}\n")
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written: {reason(error)}", argument=str(self.path)
            ) from error

    def _drop(self, paths: list[Path]) -> None:
        for path in paths:
            with suppress(OSError):
                path.unlink()


def parquet(columns: Mapping[str, Any], types: Mapping[str, str]) -> bytes:
    """Return a table as Parquet; the same columns give the same bytes.

    ``types`` are the Arrow types of the columns, whatever their values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = BytesIO()
    schema = pa.schema([(name, pa.type_for_alias(types[name])) for name in columns])
    table = pa.table(dict(columns), schema=schema)
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def read_columns(
    path: Path, names: Sequence[str], content: bytes | None = None
) -> dict[str, NDArray[Any]]:
    """Read some columns of a Parquet file as arrays, from its content if given.

    Missing numbers are NaN; a file without one of the columns is a `StoreError`.
    """
    import pyarrow.parquet as pq

    source = path if content is None else BytesIO(content)
    with readable(path), pq.ParquetFile(source) as file:
        missing = sorted(set(names) - set(file.schema_arrow.names))
        if missing:
            raise StoreError(f"{path}: has no column {missing[0]!r}", argument=str(path))
        table = file.read(columns=list(names), use_threads=False)
    return {name: table[name].to_numpy() for name in names}


def read_records(folders: Sequence[RunFolder]) -> Iterator[pa.Table]:
    """Yield the records of finished runs, verified, all with the same columns.

    Numbers are on the internal scale.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas = []
    for folder in folders:
        with readable(folder.record):
            schemas.append(pq.read_schema(folder.record))
    empty = pa.unify_schemas(schemas, promote_options="default").empty_table()
    for folder in folders:
        content = folder.results()[2]
        with readable(folder.record):
            table = pq.read_table(BytesIO(content))
        yield pa.concat_tables([empty, table], promote_options="default")


def write_csv(records: Iterable[pa.Table], out: Path, progress: Callable[[int], None]) -> int:
    """Write the records of runs, at least one, as one CSV file; return its rows.

    The file is written atomically. ``progress`` is called with the number of runs written.
    """
    from pyarrow import csv

    n_rows, tables = 0, map(escape_table, records)
    first = next(tables)
    with writing(out) as file, csv.CSVWriter(file, first.schema) as writer:
        for done, table in enumerate(chain([first], tables), 1):
            # in one piece: pyarrow 20 and older write rows twice where a chunk is empty
            writer.write_table(table.combine_chunks())
            n_rows += table.num_rows
            progress(done)
    return n_rows


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise a `StoreError` with a remedy if the record read within the context is corrupt."""
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        remedy = advise(error, "remove it and resume the experiment, which recreates it")
        raise StoreError(
            f"{path}: cannot be read: {reason(error)}{remedy}", argument=str(path)
        ) from error
