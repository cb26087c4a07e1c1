"""A guess at what was meant by a word nobody knows."""

from __future__ import annotations

from collections.abc import Iterable


def guess(word: object, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` when a known word is close in either case, nothing otherwise."""
    from difflib import get_close_matches

    if not isinstance(word, str):
        return ""
    folded = {str(name).lower(): name for name in known}
    close = get_close_matches(word.lower(), folded, n=1)
    return f", did you mean {folded[close[0]]!r}?" if close else ""
