"""Model files: arrays in ``.npz`` for any size, text in ``.toml`` for models a person edits.

A file is written aside and renamed, so that a reader sees the old one or the new one and never a
part. What is read is data, never code; a file that cannot be a model is named with the reason.
Reading checks the structure only: bad values survive into the draft, for the linter to list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tightrope.errors import LogError, ModelError
from tightrope.files import put, reason
from tightrope.model.draft import Draft
from tightrope.model.format import Contents
from tightrope.model.layout import Layout
from tightrope.model.unit import Unit

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
    with in_file(path):
        content = encoded(model, cost_unit, constraint_units, layout)
    put(path, content)


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
    _kind(path)
    return contents_of(path, content_of(path))


def contents_of(path: Path, content: bytes) -> Contents:
    """The model that a file's content is; its values are not checked.

    Parameters
    ----------
    path : Path
        The name of the file; its ending says which kind it is.
    content : bytes
        All of the file.

    Returns
    -------
    model, cost_unit, constraint_units, layout
        The arguments of `CMDP.from_draft`.
    """
    kind = _kind(path)
    if kind == ".npz":
        from tightrope.model.npz import decoded
    else:
        from tightrope.model.toml import decoded
    with in_file(path):
        return decoded(_expected(kind, content))


@contextmanager
def in_file(path: str | PathLike[str]) -> Iterator[None]:
    """Errors of what a file holds, told with the name of the file.

    Parameters
    ----------
    path : path
        The file.
    """
    try:
        yield
    except LogError as error:
        raise LogError(f"{Path(path)}: {error}", error.faults) from error
    except ModelError as error:
        raise ModelError(f"{Path(path)}: {error}") from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ModelError(
            f"{path}: a model file ends in .npz or .toml, this name in "
            f"{repr(path.suffix) if path.suffix else 'neither'}"
        )
    return kind


def content_of(path: Path) -> bytes:
    """All of a file that is to hold a model, or a `ModelError` that says why it cannot be read.

    Parameters
    ----------
    path : Path
        The file.
    """
    try:
        if path.exists() and not path.is_file():
            raise ModelError(f"{path}: a directory or device, expected a model file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {reason(error)}") from error


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
