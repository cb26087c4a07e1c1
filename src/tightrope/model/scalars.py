"""Single numbers from outside, checked: the same words for the same fault everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.errors import ModelError

__all__ = ["factor", "flag", "positive", "share", "whole"]


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ModelError(f"{name}: {value!r}, expected a whole number of at least {least}")
    return int(value)


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    if not _is_number(value) or not (np.isfinite(value) and value > 0):
        raise ModelError(f"{name}: {value!r}, expected a positive number")
    return float(value)


def factor(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    if not _is_number(value) or not (np.isfinite(value) and value >= 0):
        raise ModelError(f"{name}: {value!r}, expected a number of at least 0")
    return float(value)


def share(name: str, value: Any) -> float:
    """A number strictly between zero and one."""
    if not _is_number(value) or not 0 < value < 1:
        raise ModelError(f"{name}: {value!r}, expected a number in (0, 1)")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name}: {value!r}, expected true or false")
    return bool(value)


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    return is_real and not isinstance(value, bool)
