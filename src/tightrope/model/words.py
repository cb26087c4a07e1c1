"""Numbers and lists as they read in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from math import log10

ULPS = 8  # of a shown budget: its own rounding, that of a sum and that of the conversion
ROUNDING = 1e-11  # of a budget; one short by less is kept all the same


def listed(words: Sequence[str]) -> str:
    """Words as in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def digits(value: float, count: int = 6) -> str:
    """A number in at most so many digits; never minus zero."""
    return f"{value + 0.0:.{count}g}"


def round_up(value: float, size: float, shown: float = 0.0, count: int = 6) -> str:
    """A number in so many digits that is enough for what ``value`` stands for.

    Parameters
    ----------
    value : float
    size : float
        The budget without the shift of its unit; a small part of it may be missing.
    shown : float
        The largest number that the user adds it to or converts, whose rounding is allowed for.
    count : int
        Digits of ``size``; more of ``value`` where that is larger because of a shift.
    """
    if size and abs(value) > abs(size):
        count = min(17, count + int(log10(abs(value / size))))
    exact = value + ULPS * 2.0**-52 * abs(shown) - ROUNDING * abs(size)
    ceiling = Context(prec=count, rounding=ROUND_CEILING).create_decimal(exact)
    return digits(float(ceiling), count)


def apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers in as few digits as tell them apart, six at least."""
    words = digits(first), digits(second)
    for count in range(7, 18):
        if words[0] != words[1] or first == second:
            break
        words = digits(first, count), digits(second, count)
    return words


def counted(n: int, noun: str, nouns: str = "") -> str:
    """A count with its noun: "1 run", "3,000 episodes"."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"
