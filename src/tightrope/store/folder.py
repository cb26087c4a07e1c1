"""The folder of one run: its spec, snapshots while it goes on, its record when it is done.

::

    spec.json                what decides the run
    versions.json            of everything that made it
    snapshot-000000012000    the two newest states, by episode
    result.npz               last policy and totals
    record.parquet           written last: a run with a record is finished
    run.log                  what happened when
    lock                     held by the process that writes here
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from tightrope.errors import StoreError
from tightrope.files import advise, digest, make_folder, put, reason, unpacked
from tightrope.store.lock import locked

KEPT = 2  # snapshots; an older one serves when the newest is damaged
SNAPSHOT = "snapshot-"
VERSIONS = "versions.json"


@final
class RunFolder:
    """One run's folder.

    Parameters
    ----------
    path : Path
        Need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def spec(self) -> Path:
        """What decides the run, as JSON."""
        return self.path / "spec.json"

    @property
    def record(self) -> Path:
        """The run's table; it is there only when the run is finished."""
        return self.path / "record.parquet"

    @property
    def result(self) -> Path:
        """Last policy and totals."""
        return self.path / "result.npz"

    @property
    def is_finished(self) -> bool:
        """Whether the run is done."""
        try:
            return self.record.is_file()
        except OSError as error:
            raise StoreError(f"{self.record}: cannot be read: {reason(error)}") from error

    @property
    def made_by(self) -> dict[str, str]:
        """Versions of what began the run; empty when nobody can tell any more."""
        try:
            found = json.loads((self.path / VERSIONS).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}

    def begin(self, spec: str, versions: Mapping[str, str]) -> None:
        """Make the folder and write what decides the run, unless that was done before.

        Call it while the folder is locked, if other processes may write here.

        Parameters
        ----------
        spec : str
            JSON.
        versions : mapping of str to str
        """
        make_folder(self.path)
        if not self.spec.is_file():
            put(self.path / VERSIONS, json.dumps(dict(versions), indent=1).encode())
            put(self.spec, spec.encode())  # last: a folder with a spec is complete

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder and lock it; the system unlocks it when this process dies.

        Raises
        ------
        BusyError
            If another process has locked it.
        StoreError
            If the folder cannot be made or locked.
        """
        make_folder(self.path)
        with locked(self.path / "lock"):
            yield

    def snapshots(self) -> list[Path]:
        """Snapshots that are there, the newest first."""
        return sorted(self.path.glob(f"{SNAPSHOT}*"), reverse=True)

    def keep(self, episode: int, content: bytes) -> None:
        """Write a snapshot, then drop all but the newest two.

        Parameters
        ----------
        episode : int
            Episodes done.
        content : bytes
            From `archive.packed`.
        """
        put(self.path / f"{SNAPSHOT}{episode:012}", content)
        self._drop(self.snapshots()[KEPT:])

    def newest(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Table and arrays of the newest sound snapshot; None before the first one.

        Raises
        ------
        StoreError
            When there are snapshots and none can be read: nothing is restarted in silence.
        """
        faults, remedy = [], "; remove them to start this run anew"
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
            raise StoreError(f"{self.path}: no snapshot can be read ({'; '.join(faults)}){remedy}")
        return None

    def results(self) -> tuple[dict[str, Any], dict[str, Any], bytes]:
        """Table and arrays of the result, and the content of the record, found to be sound.

        Raises
        ------
        StoreError
            When one of them is damaged or belongs to another run; it says what to do.
        """
        again = "remove it, and 'tightrope resume' makes it again"
        both = f"remove it and {self.record.name}, and 'tightrope resume' makes them again"
        try:
            about, arrays = unpacked(self.result.read_bytes())
        except (OSError, StoreError) as error:
            raise StoreError(
                f"{self.result}: cannot be read: {reason(error)}" + advise(error, both)
            ) from error
        try:
            record = self.record.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{self.record}: cannot be read: {reason(error)}" + advise(error, again)
            ) from error
        if about.get("record", digest(record)) != digest(record):
            raise StoreError(f"{self.record}: its content has changed; {again}")
        return about, arrays, record

    def finish(self, result: bytes, record: bytes) -> None:
        """Write the results and let the snapshots go.

        Parameters
        ----------
        result : bytes
            An archive.
        record : bytes
            Parquet.
        """
        put(self.result, result)
        put(self.record, record)
        self._drop(self.snapshots())

    def log(self, words: str) -> None:
        """Add a line to the run's log.

        Parameters
        ----------
        words : str
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            log = self.path / "run.log"
            with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{now} {os.getpid()} {words}\n")
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {reason(error)}") from error

    def _drop(self, paths: list[Path]) -> None:
        for path in paths:
            with suppress(OSError):
                path.unlink()
