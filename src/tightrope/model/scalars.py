"""Single numbers from outside, checked: the same words for the same fault everywhere."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from tightrope.errors import ModelError

__all__ = ["MOST", "factor", "flag", "is_number", "positive", "share", "whole"]

MOST = 2**63 - 1  # what arrays and tables can hold
LONGEST = 20  # digits of a number that an error shows


def whole(name: str, value: Any, least: int = 1, most: int = MOST) -> int:
    """A whole number of at least ``least`` and at most ``most``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ModelError(f"{name}: {_shown(value)}, expected a whole number of at least {least}")
    if value > most:
        raise ModelError(f"{name}: {_shown(value)}, expected at most {most}")
    return int(value)


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**LONGEST:
        return f"a number of about {round(value.bit_length() * math.log10(2))} digits"
    return repr(value)


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    if not is_number(value) or not value > 0:
        raise ModelError(f"{name}: {value!r}, expected a positive number")
    return float(value)


def factor(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    if not is_number(value) or not value >= 0:
        raise ModelError(f"{name}: {value!r}, expected a number of at least 0")
    return float(value)


def share(name: str, value: Any) -> float:
    """A number strictly between zero and one."""
    if not is_number(value) or not 0 < value < 1:
        raise ModelError(f"{name}: {value!r}, expected a number in (0, 1)")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name}: {value!r}, expected true or false")
    return bool(value)


def is_number(value: Any) -> bool:
    """Whether this is a number that a float can hold, and neither infinite nor a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
