"""Atomic files (written aside, synced, renamed) and archives of arrays.

An archive is a zip file of plain arrays and a JSON table about them, without pickle. Every member
carries a checksum that is verified when it is read. NumPy is imported on use, because the command
line imports this module for its help.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from tightrope.errors import ConfigError, StoreError

if sys.platform != "win32":
    import fcntl
if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_NAME = 255  # bytes of a name in a path
PART = ".tightrope-{}.part"  # name of a file that is being written, by its number
HAS_LOCKS = sys.platform != "win32"
ABOUT = "about"  # name of the table in an archive
NPY = ".npy"
LARGEST = 1 << 30  # bytes that any archive may unpack to
RATIO = 64  # times its own size that a larger archive may unpack to
KINDS = {  # of files, by the names of their formats
    "tightrope-model": "a model as CMDP.save writes it",
    "tightrope-plan": "a plan as Plan.save writes it",
    "tightrope-learner": "a learner as InteractiveLearner.save writes it",
    "tightrope-run": "a run as Run.save writes it",
}
ZIP = b"PK"  # how an archive begins


def as_path(name: str, value: Any) -> Path:
    """Return the path that an argument gives, or raise a `ConfigError` if no file can have it."""
    try:
        path = Path(value)
        os.fsencode(path)
    except (TypeError, ValueError) as error:
        raise ConfigError.about(name, found=value, expected="a path") from error
    if not os.fspath(value) or "\0" in str(path):
        raise ConfigError.about(name, found=value, expected="a path")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ConfigError.about(
            name, found=value, expected=f"names of at most {LONGEST_NAME} bytes"
        )
    return path


def put(path: Path, content: bytes) -> None:
    """Write a whole file in one step that survives a crash; see `writing`."""
    with writing(path) as file:
        file.write(content)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write piece by piece; it appears at the path when the block succeeds.

    A link is followed. If the file cannot be written, a `StoreError` is raised, nothing is left
    behind and an old file stays.
    """
    try:
        with _aside(path.resolve()) as file:
            yield file
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(
            f"{path}: cannot be written: {reason(error)}", argument=str(path)
        ) from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents unless they exist, or raise a `StoreError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be made: {reason(error)}", argument=str(path)) from error


def reason(error: Exception) -> str:
    """Return what went wrong, without the path that the caller names anyway."""
    return getattr(error, "strerror", None) or str(error)


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error's message, or its type when it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def advise(error: Exception, words: str) -> str:
    """Return the advice for a corrupt or missing file; "" if the system failed, not the file."""
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


def packed(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an archive of arrays (none of objects) and of a table that JSON can represent."""
    import numpy as np

    file = BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **{ABOUT: text}, **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the verified table and arrays of an archive, or raise a `StoreError`."""
    if not isinstance(content, bytes) or not content.startswith(ZIP):
        raise StoreError("corrupt or truncated: no archive")
    try:
        arrays = read_arrays(content)
        about = json.loads(arrays.pop(ABOUT).tobytes())
    except StoreError as error:
        raise StoreError(f"corrupt or truncated: {error}").with_fields_of(error) from error
    except KeyError as error:
        raise StoreError(f"an archive of something else: no member {ABOUT!r}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"corrupt or truncated: {ABOUT}: {error}").with_fields_of(error) from error
    if not isinstance(about, dict):
        raise StoreError.about(ABOUT, expected="a JSON object", where="corrupt archive")
    return about, arrays


def named_format(content: bytes) -> str:
    """Return the format that an .npz archive of this library names; empty where it names none."""
    try:
        arrays = read_arrays(content, ("format", ABOUT))
        if "format" in arrays:
            return str(arrays["format"])
        return str(json.loads(arrays[ABOUT].tobytes())["format"])
    except (StoreError, KeyError, TypeError, ValueError, RecursionError):
        return ""


def require_kind(content: bytes, kind: str) -> None:
    """Raise a `StoreError` if a file names a format of this library that is of another kind."""
    found = named_format(content).partition(" ")[0]
    if found in KINDS and found != kind:
        words, expected = KINDS[found].partition(" as")[0], KINDS[kind]
        text = f"it is {words}, expected {expected}"
        raise StoreError(text, found=words, expected=expected)


def read_arrays(content: bytes, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz archive by name, without pickle.

    Nothing is unpacked before the declared sizes were found plausible, and no array is made that
    its member does not fill. With ``names``, only those members are read, where they exist. A
    `StoreError` is raised if the archive or a member is corrupt, too large, or no plain array.
    """
    limit = max(LARGEST, RATIO * len(content))
    try:
        archive = zipfile.ZipFile(BytesIO(content))
        members = {each.filename.removesuffix(NPY): each for each in archive.infolist()}
    except Exception as error:
        raise StoreError(f"corrupt or truncated archive: {first_line(error)}") from error
    size = sum(each.file_size for each in archive.infolist())
    if size > limit:
        raise StoreError(
            f"its members unpack to {size} bytes, expected at most {limit}",
            found=size,
            expected=f"at most {limit}",
        )
    wanted = members if names is None else [name for name in names if name in members]
    return {name: _read_member(archive, members[name], name) for name in wanted}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    import numpy as np
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if not member.filename.endswith(NPY):
        raise StoreError.about(name, shown="not an array")
    try:
        data = archive.read(member)
        file = BytesIO(data)
        version = npy.read_magic(file)
        if version not in headers:
            raise ValueError(f"version {version} of the array format")
        shape, _, dtype = headers[version](file)
        found, expected = len(data) - file.tell(), math.prod(shape) * dtype.itemsize
        if found != expected and not dtype.hasobject:
            raise ValueError(f"{found} bytes for an array of {expected}")
        if dtype.kind == "U":
            kind = np.dtype("u4").newbyteorder(dtype.byteorder)
            codes = np.frombuffer(data, kind, offset=file.tell())
            if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
                raise ValueError("text with impossible code points")
        file.seek(0)
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        return array
    except MemoryError:
        raise
    except Exception as error:
        raise StoreError.about(
            name, shown="corrupt or of a forbidden type", more=f": {first_line(error)}"
        ) from error


def digest(content: bytes) -> str:
    """Return a hash that identifies a content."""
    return hashlib.sha256(content).hexdigest()


def leaves(name: str, record: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a record of records by dotted name; other values are skipped."""
    import numpy as np

    if isinstance(record, np.record):
        whole: Any = record.base  # the array of one record that this is a view of
        yield from leaves(name, whole)
    elif isinstance(record, np.ndarray) and record.dtype.names:
        for field in record.dtype.names:
            yield f"{name}.{field}", np.asarray(record[field])
    elif isinstance(record, np.ndarray):
        yield name, record
    elif isinstance(record, tuple):
        for field, part in record._asdict().items():  # type: ignore[attr-defined]
            yield from leaves(f"{name}.{field}", part)
