"""Checks of errors by their kind and fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def refuses(
    kind: type[Exception] | tuple[type[Exception], ...],
    said: str | tuple[str, Any, str] | None = None,
    **fields: Any,
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of exactly this kind, or one of these, whose fields have these values.

    ``said`` is for rows of tables: argument with its entry, what was found and what was expected,
    or a pattern for the message where only that says what is wrong.
    """
    with pytest.raises(kind, match=said if isinstance(said, str) else None) as caught:
        yield caught
    error: Any = caught.value
    assert caught.type in (kind if isinstance(kind, tuple) else (kind,))
    assert {name: getattr(error, name) for name in fields} == fields
    if isinstance(said, tuple):
        where = error.argument if error.entry is None else f"{error.argument}[{error.entry}]"
        assert (where, error.found, error.expected) == said
