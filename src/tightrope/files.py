"""Files that are never half there: written aside, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from tightrope.errors import ModelError, StoreError, describe

__all__ = ["PART", "as_path", "make_folder", "put", "reason", "writing"]

LONGEST_NAME = 255  # bytes of a name in a path
PART = ".part"  # end of the name of a file that is being written


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


@contextmanager
def _aside(path: Path) -> Iterator[BinaryIO]:
    aside = path.with_name(f".{uuid4().hex}{PART}")
    try:
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    # some systems cannot open or sync a directory; the file itself is safe already
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
