"""Named arrays and a table as bytes, and back: zip archives of plain arrays, no pickle.

Every member carries a checksum that is verified when it is read, so a damaged archive is noticed
wherever the damage lies. Records of arrays go in by dotted names (`leaves`).
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import StoreError

ABOUT = "about"
NPY = ".npy"
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
LARGEST = 1 << 30  # bytes that any archive may unpack to
RATIO = 64  # times its own size that a larger archive may unpack to
ZIP = b"PK"  # how an archive begins


def packed(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """An archive of arrays and a table of plain values about them.

    Parameters
    ----------
    about : mapping of str to value
        What JSON can say.
    arrays : mapping of str to array
        None of them of objects.
    """
    file = BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **{ABOUT: text}, **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The table and the arrays of an archive, all of it read and verified.

    Parameters
    ----------
    content : bytes
        From `packed`.

    Raises
    ------
    StoreError
        When the archive is truncated, damaged or something else.
    """
    if not isinstance(content, bytes) or not content.startswith(ZIP):
        raise StoreError("damaged or half written: no archive")
    try:
        arrays = read_arrays(content)
        about = json.loads(arrays.pop(ABOUT).tobytes())
    except StoreError as error:
        raise StoreError(f"damaged or half written: {error}") from error
    except (KeyError, ValueError, RecursionError) as error:
        raise StoreError(f"damaged or half written: {ABOUT}: {error}") from error
    if not isinstance(about, dict):
        raise StoreError("damaged: its table is none")
    return about, arrays


def read_arrays(content: bytes, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz archive by name, without pickle.

    Nothing is unpacked before the declared sizes were found plausible, and no array is made that
    its member does not fill.

    Parameters
    ----------
    content : bytes
        The archive.
    names : collection of str, optional
        Only these, where they are there; all members by default.

    Raises
    ------
    StoreError
        When the archive or a member is damaged, too large, or no plain array.
    """
    limit = max(LARGEST, RATIO * len(content))
    try:
        archive = zipfile.ZipFile(BytesIO(content))
        members = {each.filename.removesuffix(NPY): each for each in archive.infolist()}
    except Exception as error:
        raise StoreError(f"damaged or truncated archive: {_reason(error)}") from error
    size = sum(each.file_size for each in archive.infolist())
    if size > limit:
        raise StoreError(f"its members unpack to {size} bytes, expected at most {limit}")
    wanted = members if names is None else [name for name in names if name in members]
    return {name: _read_member(archive, members[name], name) for name in wanted}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    if not member.filename.endswith(NPY):
        raise StoreError(f"{name}: not an array")
    try:
        data = archive.read(member)
        file = BytesIO(data)
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"version {version} of the array format")
        shape, _, dtype = HEADERS[version](file)
        found, expected = len(data) - file.tell(), math.prod(shape) * dtype.itemsize
        if found != expected and not dtype.hasobject:
            raise ValueError(f"{found} bytes for an array of {expected}")
        if dtype.kind == "U":
            codes = np.frombuffer(
                data, np.dtype("u4").newbyteorder(dtype.byteorder), -1, file.tell()
            )
            if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
                raise ValueError("text with impossible code points")
        file.seek(0)
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array
    except MemoryError:
        raise
    except Exception as error:
        raise StoreError(f"{name}: damaged or of a forbidden type: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def digest(content: bytes) -> str:
    """A hash by which a content is known again."""
    return hashlib.sha256(content).hexdigest()


def leaves(name: str, record: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays of a record of records, by dotted name.

    Parameters
    ----------
    name : str
        Of the whole record.
    record : array, NumPy record or named tuple
        What is neither, such as a number, is passed over; a record gives an array for each field.
    """
    if isinstance(record, np.record):
        whole: Any = record.base  # the array of one record that this one is a view of
        for field in record.dtype.names or ():
            yield f"{name}.{field}", np.asarray(whole[field])
    elif isinstance(record, np.ndarray) and record.dtype.names:
        for field in record.dtype.names:
            yield f"{name}.{field}", np.asarray(record[field])
    elif isinstance(record, np.ndarray):
        yield name, record
    elif isinstance(record, tuple):
        for field, part in record._asdict().items():  # type: ignore[attr-defined]
            yield from leaves(f"{name}.{field}", part)
