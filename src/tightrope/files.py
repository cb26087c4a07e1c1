"""Files that are never half there: written aside, synced, renamed."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from tightrope.errors import ModelError, StoreError, describe

if sys.platform != "win32":
    import fcntl

LONGEST_NAME = 255  # bytes of a name in a path
PART = ".tightrope-{}.part"  # name of a file that is being written, by its number
HAS_LOCKS = sys.platform != "win32"


def as_path(name: str, value: Any) -> Path:
    """Return the path that an argument names.

    Parameters
    ----------
    name : str
        Of the argument, for the error.
    value : str or path-like

    Raises
    ------
    ModelError
        When it is neither, or no file can have that name.
    """
    try:
        path = Path(value)
        os.fsencode(path)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: {describe(value)}, expected a path") from error
    if not os.fspath(value) or "\0" in str(path):
        raise ModelError(f"{name}: {describe(value)}, expected a path")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ModelError(
            f"{name}: {describe(value)}, expected names of at most {LONGEST_NAME} bytes"
        )
    return path


def put(path: Path, content: bytes) -> None:
    """Put the content at a path in one step that survives a crash.

    Parameters
    ----------
    path : Path
        Where to; a link is followed.
    content : bytes
        All of it.

    Raises
    ------
    StoreError
        When the file cannot be written; nothing is left behind and an old file stays.
    """
    with writing(path) as file:
        file.write(content)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file to write piece by piece; it takes its place when the block ends well.

    Parameters
    ----------
    path : Path
        Where to; a link is followed.

    Raises
    ------
    StoreError
        When the file cannot be written; nothing is left behind and an old file stays.
    """
    try:
        with _aside(path.resolve()) as file:
            yield file
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"{path}: cannot be written: {reason(error)}") from error


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it is there.

    Parameters
    ----------
    path : Path

    Raises
    ------
    StoreError
        When it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be made: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What went wrong in a few words, without the path that the caller names anyway."""
    return getattr(error, "strerror", None) or str(error)


def advise(error: Exception, words: str) -> str:
    """What to do about a file that cannot be read; empty if the system failed, not the file.

    Parameters
    ----------
    error : Exception
    words : str
        What to do about a damaged or missing file.
    """
    number = getattr(error, "errno", None)
    return f"; {words}" if number in (None, errno.ENOENT) else ""


@contextmanager
def _aside(path: Path) -> Iterator[BinaryIO]:
    _remove_abandoned(path.parent)
    aside, file = _open_part(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not HAS_LOCKS:
                file.close()  # such systems do not rename open files
            aside.replace(path)  # while it is locked: an unlocked one may be taken for abandoned
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _open_part(path: Path) -> tuple[Path, BinaryIO]:
    """Open a locked file beside the path, with the mode of the file it will replace."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
        aside, file = _open_locked(path.parent, 0o600)
        with suppress(OSError):  # not every file system has modes
            aside.chmod(mode)
        return aside, file
    return _open_locked(path.parent, 0o666)


def _open_locked(folder: Path, mode: int) -> tuple[Path, BinaryIO]:
    while True:
        aside = folder / PART.format(uuid4().hex)
        file = os.fdopen(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "wb")
        # another process may take a file that is not locked yet for an abandoned one
        if _lock(file) is not False and os.fstat(file.fileno()).st_nlink:
            return aside, file
        file.close()


def _remove_abandoned(folder: Path) -> None:
    """Remove files that killed processes were writing; those still at work hold a lock."""
    for path in folder.glob(PART.format("*")):
        with suppress(OSError), path.open("r+b") as file:
            if _lock(file):
                path.unlink()


def _lock(file: BinaryIO) -> bool | None:
    """Lock an open file; False if another process has locked it, None if locks do not work."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a network file system without locks
        return None
    return True


def _sync_directory(directory: Path) -> None:
    # some systems cannot open or sync a directory; the file itself is safe already
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
