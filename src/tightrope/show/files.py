"""Files of pictures and arrays: written aside and renamed, so that none is ever half there."""

from __future__ import annotations

import io
import os
import warnings
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from matplotlib.figure import Figure

from tightrope.errors import ModelError, StoreError
from tightrope.show.style import house_style

__all__ = ["KINDS", "put", "require_picture", "save"]

KINDS = (".png", ".pdf", ".svg")


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to a file, whole or not at all.

    Parameters
    ----------
    figure : Figure
        What to write.
    path : path
        Ends in ``.png``, ``.pdf`` or ``.svg``.

    Raises
    ------
    ModelError
        When the name says none of these.
    StoreError
        When the file cannot be written; nothing is left behind.
    """
    path = Path(path)
    kind = require_picture(path)
    content = io.BytesIO()
    with house_style(), warnings.catch_warnings():
        # a name in a script that the font lacks is drawn as boxes, which says enough
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(content, format=kind[1:])
    put(path, content.getvalue())


def require_picture(path: Path) -> str:
    """The kind of picture that a name says, or a `ModelError`."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        found = repr(path.suffix) if path.suffix else "nothing"
        raise ModelError(f"{path}: a figure ends in .png, .pdf or .svg, this name in {found}")
    return kind


def put(path: Path, content: bytes) -> None:
    """Put the content at the path in one step, or raise a `StoreError` and leave nothing."""
    aside = path.with_name(f".{uuid4().hex}.part")
    try:
        try:
            with aside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{path}: cannot be written: {reason}") from error
