"""Words such as ``risk=2.5`` and ``energy=0:12``: numbers and ranges by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tightrope.errors import ModelError
from tightrope.model.ranges import Range

__all__ = ["ranges_of", "values_of"]


def ranges_of(words: Sequence[str]) -> dict[str, Range]:
    """Ranges such as ``energy=0:12``."""
    found: dict[str, Range] = {}
    for word in words:
        name, _, ends = word.rpartition("=")
        try:
            low, high = map(float, ends.replace(",", ":").split(":"))
        except ValueError:
            raise ModelError(f"--range {word}: expected NAME=LOW:HIGH, as in energy=0:12") from None
        if not name or name in found:
            raise ModelError(f"--range {word}: expected one NAME=LOW:HIGH for each quantity")
        found[name] = (low, high)
    return found


def values_of(option: str, words: Sequence[str]) -> dict[str, float]:
    """Numbers by name, such as ``risk=2.5``."""
    found: dict[str, float] = {}
    for word in words:
        name, _, text = word.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not name or not math.isfinite(value):
            raise ModelError(f"{option} {word}: expected NAME=VALUE, as in risk=2.5")
        if name in found:
            raise ModelError(f"{option} {word}: {name!r} is given twice")
        found[name] = value
    return found
