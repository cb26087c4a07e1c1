"""Single values from outside, checked: the same words for the same fault everywhere.

Each function returns the value as a plain Python object: NumPy integers, floats and booleans are
accepted and converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from tightrope.errors import ModelError, describe
from tightrope.text import guess

T = TypeVar("T")
MOST = 2**63 - 1  # largest whole number that an array can hold


def whole(name: str, value: Any, least: int = 1, most: int = MOST) -> int:
    """A whole number of at least ``least`` and at most ``most``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ModelError(f"{name}: {describe(value)}, expected a whole number of at least {least}")
    if value > most:
        raise ModelError(f"{name}: {describe(value)}, expected a whole number of at most {most}")
    return int(value)


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    if not is_number(value) or not value > 0:
        raise ModelError(f"{name}: {describe(value)}, expected a positive number")
    return float(value)


def factor(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    if not is_number(value) or not value >= 0:
        raise ModelError(f"{name}: {describe(value)}, expected a number of at least 0")
    return float(value)


def share(name: str, value: Any) -> float:
    """A number strictly between zero and one."""
    if not is_number(value) or not 0 < value < 1:
        raise ModelError(f"{name}: {describe(value)}, expected a number in (0, 1)")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name}: {describe(value)}, expected true or false")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        hint = guess(value, choices) if isinstance(value, str) else ""
        raise ModelError(f"{name}: {describe(value)}, expected one of {known}{hint}")
    return str(value)


def check_kind(name: str, value: Any, kind: type[T]) -> T:
    """Return an object of a class of this library."""
    if not isinstance(value, kind):
        raise ModelError(f"{name}: {describe(value)}, expected an object of type {kind.__name__}")
    return value


def check_callback(name: str, value: Any) -> Callable[..., Any] | None:
    """Return a function, or None."""
    if value is None:
        return None
    if not callable(value):
        raise ModelError(f"{name}: {describe(value)}, expected a function")
    function: Callable[..., Any] = value
    return function


def check_list(name: str, value: Any, expected: str) -> tuple[Any, ...]:
    """Return the elements of a sequence or iterator."""
    if not isinstance(value, (str, bytes, Mapping)) and isinstance(value, Iterable):
        try:
            return tuple(value)
        except (TypeError, NotImplementedError):  # arrays without axes, and sparse matrices
            pass
    raise ModelError(f"{name}: {describe(value)}, expected a list of {expected}")


def check_names(name: str, value: Any) -> tuple[str, ...]:
    """Return a sequence of words."""
    names = check_list(name, value, "names")
    for k, word in enumerate(names):
        if not isinstance(word, str):
            raise ModelError(f"{name}[{k}]: {describe(word)}, expected a name")
    return tuple(map(str, names))


def check_table(name: str, value: Any) -> dict[str, Any]:
    """Return a table by names; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ModelError(f"{name}: {describe(value)}, expected a table by names")
    for key in value:
        if not isinstance(key, str):
            raise ModelError(f"{name}: {describe(key)} as a key, expected a name")
    return {str(key): each for key, each in value.items()}


def is_number(value: Any) -> bool:
    """Whether this is a number that a float can hold, and neither infinite nor a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
