"""Model files: arrays in ``.npz`` for any size, text in ``.toml`` for models a person edits.

A file is written aside and renamed, so that a reader sees the old one or the new one and never a
part. What is read is data, never code; a file that cannot be a model is named with the reason.
Reading checks the structure only: bad values survive into the draft, for the linter to list.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from tightrope.errors import ModelError, StoreError
from tightrope.model.draft import Draft
from tightrope.model.format import Contents
from tightrope.model.layout import Layout
from tightrope.model.unit import Unit

__all__ = ["read_model", "write_model"]

KINDS = (".npz", ".toml")


def write_model(
    path: Path,
    model: Draft,
    cost_unit: Unit,
    constraint_units: Sequence[Unit],
    layout: Layout | None,
) -> None:
    """Write a settled draft to a file, whole or not at all.

    Parameters
    ----------
    path : Path
        Ends in ``.npz`` or ``.toml``.
    model : Draft
        What to write.
    cost_unit : Unit
        How a total cost is shown.
    constraint_units : sequence of Unit
        The same for each constraint.
    layout : Layout, optional
        Map of a grid world.

    Raises
    ------
    ModelError
        When the name says neither kind of file, or the model cannot be written as text.
    StoreError
        When the file cannot be written; nothing is left behind.
    """
    if _kind(path) == ".npz":
        from tightrope.model.npz import encoded
    else:
        from tightrope.model.toml_text import encoded
    try:
        content = encoded(model, cost_unit, constraint_units, layout)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    try:
        _replace(path.resolve(), content)
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"{path}: cannot be written: {_reason(error)}") from error


def read_model(path: Path) -> Contents:
    """Read a model file; its values are not checked.

    Parameters
    ----------
    path : Path
        A ``.npz`` or ``.toml`` model file.

    Returns
    -------
    model, cost_unit, constraint_units, layout
        The arguments of `CMDP.from_draft`.

    Raises
    ------
    ModelError
        When the file is missing, truncated, of another kind or newer than this version.
    """
    kind = _kind(path)
    content = _content(path)
    if kind == ".npz":
        from tightrope.model.npz import decoded
    else:
        from tightrope.model.toml import decoded
    try:
        return decoded(_expected(kind, content))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ModelError(
            f"{path}: a model file ends in .npz or .toml, this name in {path.suffix or 'nothing'!r}"
        )
    return kind


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise ModelError(f"{path}: a directory or device, expected a model file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {_reason(error)}") from error


def _expected(kind: str, content: bytes) -> bytes:
    """The content, after a look whether it can be what the name says."""
    if not content:
        raise ModelError("the file is empty")
    is_zip = content.startswith(b"PK")
    if kind == ".toml" and is_zip:
        raise ModelError("a zip archive under a .toml name; an .npz model must end in .npz")
    if kind == ".npz" and not is_zip:
        found = "a single .npy array" if content.startswith(b"\x93NUMPY") else "not a zip archive"
        raise ModelError(f"{found}, expected an .npz model file")
    return content


def _replace(path: Path, content: bytes) -> None:
    """Put the content at the path in one step that survives a crash."""
    aside = path.with_name(f".{uuid4().hex}.part")
    try:
        with aside.open("xb") as file:
            file.write(content)
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


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
