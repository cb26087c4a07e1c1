"""Checks of errors by their kind and fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def refuses(kind: type[Exception], **fields: Any) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of exactly this kind whose fields have these values."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.type is kind
    assert {name: getattr(caught.value, name) for name in fields} == fields
