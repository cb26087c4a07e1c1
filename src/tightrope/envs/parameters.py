"""Parameters of builders: from words to values, and the checks builders share.

A builder's annotations say what it takes: ``int``, ``float``, ``bool``, ``str``, or one of these
or a sequence of them (``float | Sequence[float]``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, get_args, get_origin

import numpy as np

from tightrope.arrays import is_number, whole
from tightrope.errors import ModelError, describe

MOST_WHOLE = 2**31 - 1
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def require_between(name: str, value: float, low: float, high: float) -> None:
    """Raise unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise ModelError(f"{name} is {value:g}, expected a number in [{low:g}, {high:g}]")


def require_at_least(name: str, value: float, least: float) -> None:
    """Raise unless ``value >= least``."""
    if not value >= least:
        raise ModelError(f"{name} is {value:g}, expected at least {least:g}")


def from_text(name: str, text: str, annotation: Any) -> Any:
    """A word of the command line as the annotation wants it; commas separate a sequence."""
    scalar, element = _accepted(annotation)
    if element in (int, float) and "," in text:
        return [_read(name, word.strip(), element) for word in text.split(",")]
    return _read(name, text, scalar)


def as_annotated(name: str, value: Any, annotation: Any) -> Any:
    """The value in the annotated type, or a `ModelError` that names the parameter."""
    scalar, element = _accepted(annotation)
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if element is not None and isinstance(items, Sequence) and not isinstance(items, str):
        return [_cast(f"{name}[{i}]", item, element) for i, item in enumerate(items)]
    return _cast(name, value, scalar, WORDS[element] if element else "")


def _accepted(annotation: Any) -> tuple[type, type | None]:
    """Type of a single value, and of the elements where a sequence will do as well."""
    options = [annotation] if isinstance(annotation, type) else list(get_args(annotation))
    elements = [get_args(option)[0] for option in options if get_origin(option) is Sequence]
    return options[0], (elements[0] if elements else None)


def _read(name: str, text: str, kind: type) -> Any:
    readers: dict[type, Callable[[str], Any]] = {
        int: _whole,
        float: float,
        bool: lambda word: TRUTHS[word.lower()],
        str: str,
    }
    try:
        return _cast(name, readers[kind](text), kind)
    except (ValueError, KeyError, OverflowError) as error:
        is_too_long = kind is int and text.strip().isdecimal()
        limit = f" of at most {MOST_WHOLE}" if is_too_long else ""
        raise ModelError(f"{name} is {describe(text)}, expected {WORDS[kind]}{limit}") from error


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e5 is a whole number too
        if not number.is_integer():
            raise
        return int(number)


def _cast(name: str, value: Any, kind: type, of_sequence: str = "") -> Any:
    truth = isinstance(value, (bool, np.bool_))
    fits = {
        int: isinstance(value, Integral) and not truth,
        float: is_number(value),
        bool: truth,
        str: isinstance(value, str),
    }
    if not fits[kind]:
        or_several = f", or a sequence where each is {of_sequence}" if of_sequence else ""
        raise ModelError(f"{name} is {value!r}, expected {WORDS[kind]}{or_several}")
    if kind is int:
        return whole(name, int(value), -MOST_WHOLE, MOST_WHOLE)
    return kind(value)
