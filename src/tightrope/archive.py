"""Named arrays and a table as bytes, and back: zip archives of plain arrays, no pickle.

Every member carries a checksum that is verified when it is read, so a damaged archive is noticed
wherever the damage lies. Records of arrays go in by dotted names (`leaves`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import StoreError

__all__ = ["digest", "leaves", "packed", "unpacked"]

ABOUT = "about"
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
    if not content.startswith(ZIP):
        raise StoreError("damaged or half written: no archive")
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays.pop(ABOUT).tobytes())
    except Exception as error:  # zip, zlib, NumPy and JSON each have their own ways to say damaged
        raise StoreError(f"damaged or half written: {error}") from error
    if not isinstance(about, dict):
        raise StoreError("damaged: its table is none")
    return about, arrays


def digest(content: bytes) -> str:
    """A hash by which a content is known again."""
    return hashlib.sha256(content).hexdigest()


def leaves(name: str, record: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays of a record of records, by dotted name.

    Parameters
    ----------
    name : str
        Of the whole record.
    record : array or named tuple
        What is neither, such as a number, is passed over.
    """
    if isinstance(record, np.ndarray):
        yield name, record
    elif isinstance(record, tuple):
        for field, part in record._asdict().items():  # type: ignore[attr-defined]
            yield from leaves(f"{name}.{field}", part)
