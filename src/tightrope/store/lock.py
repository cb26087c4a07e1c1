"""A lock on a file, held by one process and freed by the system when that process dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tightrope.errors import StoreError
from tightrope.files import reason


class BusyError(StoreError):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock while the block runs.

    Parameters
    ----------
    path : Path
        The lock's own file.
    patience : float
        Seconds to wait for another process to let go.

    Raises
    ------
    BusyError
        When it does not.
    StoreError
        When the file cannot be locked at all.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise BusyError(f"{path.parent}: another process is writing here") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be locked: {reason(error)}") from error
    try:
        yield
    finally:
        lock.release()
