"""Numbers as they read on the page, and as they go into its data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.experiments.statistics import Band

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it says, the number behind it, and whether it needs attention.

    Parameters
    ----------
    text : str
    value : float or None
        Written beside the text for whoever reads the page by machine.
    note : str
        Further lines, smaller.
    is_marked : bool
    """

    text: str
    value: float | None = None
    note: str = ""
    is_marked: bool = False


def said(value: float, count: int = 4) -> str:
    """A number in at most so many digits, with thousands apart and a true minus sign."""
    if not math.isfinite(value):
        return DASH
    if abs(value) >= 10**count:
        return f"{value:,.0f}".replace("-", MINUS)
    if value != 0 and abs(value) < 1e-12:
        return "0"
    return f"{value + 0.0:,.{count}g}".replace("-", MINUS)


def hundredths(value: float) -> str:
    """A number in two decimals."""
    if not math.isfinite(value):
        return DASH
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def percent(share: float) -> str:
    """A share in percent, in three digits."""
    if not math.isfinite(share):
        return DASH
    return f"{100 * share:.3g} %"


def interval(low: float, high: float, words: Any = said) -> str:
    """A band in words; empty where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    first, second = words(low), words(high)
    return f"{first} to {second}"


def packed_numbers(values: Iterable[float], count: int = 6) -> list[float | None]:
    """Numbers for JSON in so many digits; None for what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    return [float(f"{v:.{count}g}") if math.isfinite(v) else None for v in array.tolist()]


def band_cell(band: Band, words: Any = said, is_marked: bool = False) -> Cell:
    """A cell with a middle, and its band below."""
    middle, low, high = (float(part) for part in band)
    value = middle if math.isfinite(middle) else None
    return Cell(words(middle), value, interval(low, high, words), is_marked)
