"""Words such as ``risk=2.5`` and ``energy=0:12``: numbers and ranges by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tightrope.errors import ModelError
from tightrope.model.units import Range


def ranges_of(words: Sequence[str], option: str = "--range") -> dict[str, Range]:
    """Ranges such as ``energy=0:12``."""
    found: dict[str, Range] = {}
    for word in words:
        name, _, ends = word.rpartition("=")
        try:
            low, high = map(float, ends.replace(",", ":").split(":"))
        except ValueError:
            low = high = math.nan
        if not name or not low < high:
            raise ModelError(f"{option} {word}: expected NAME=LOW:HIGH, as in energy=0:12")
        if name in found:
            raise ModelError(f"{option} {word}: {name!r} is given twice")
        found[name] = (low, high)
    return found


def values_of(option: str, words: Sequence[str], unnamed: str = "") -> dict[str, float]:
    """Numbers by name, such as ``risk=2.5``; a lone number is for ``unnamed``, if anything is."""
    found: dict[str, float] = {}
    for word in words:
        if not unnamed and word.rpartition("=")[0].strip() == "":
            raise ModelError(f"{option} {word}: expected NAME=VALUE, as in risk=2.5")
        name, value = named_value(option, word)
        name = name or unnamed
        if name in found:
            raise ModelError(f"{option} {word}: {name!r} is given twice")
        found[name] = value
    return found


def named_value(option: str, word: str) -> tuple[str, float]:
    """Name and number of a word such as ``risk=2.5``; the name of a lone number is empty."""
    name, _, text = word.rpartition("=")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"{option} {word}: {text!r}, expected a number")
    return name.strip(), value
