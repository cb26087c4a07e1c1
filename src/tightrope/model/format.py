"""What every model file has in common: its contents and its format line."""

from __future__ import annotations

from tightrope.errors import ModelError, describe
from tightrope.model.draft import Draft
from tightrope.model.layout import Layout
from tightrope.model.unit import Unit

NAME, VERSION = "tightrope-model", 1
FORMAT = f"{NAME} {VERSION}"
MOST_DIGITS = 9  # of a version that may be one

Contents = tuple[Draft, Unit | None, tuple[Unit, ...] | None, Layout | None]
"""The arguments of `CMDP.from_draft`."""


def require_format(found: object) -> None:
    """Raise unless the format line is one that this version reads."""
    name, _, version = str(found).partition(" ")
    if name != NAME or not version.isdecimal() or len(version) > MOST_DIGITS:
        raise ModelError(
            f"format: {describe(found)}, expected {FORMAT!r}; not a model file of tightrope"
        )
    if int(version) > VERSION:
        raise ModelError(
            f"format: version {int(version)} is newer than this tightrope reads ({VERSION}); "
            "update tightrope"
        )
    if int(version) < 1:
        raise ModelError(f"format: {describe(found)}, expected {FORMAT!r}")
