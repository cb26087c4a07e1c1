"""Files of pictures."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from matplotlib.figure import Figure

from tightrope.errors import ModelError
from tightrope.files import put
from tightrope.show.style import house_style

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
