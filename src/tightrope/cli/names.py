"""Names of states and actions on the command line: a number, names, or a file of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tightrope.arrays import whole
from tightrope.errors import ConfigError
from tightrope.files import reason
from tightrope.model.start import is_learned
from tightrope.study.terms import MOST_NAMES
from tightrope.text import guess

SUM_ERROR = 1e-6  # of probabilities that were typed
MOST_SHOWN = 20  # digits of a number that an error shows


def names_in(option: str, text: str | None) -> list[str] | None:
    """Return N numbers as names, names with commas between, or the lines of a text file."""
    if text is None:
        return None
    if text.isdecimal():
        return [str(k) for k in range(number_in(option, text, 1))]
    if "," in text:
        names = [name.strip() for name in text.split(",")]
    else:
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise ConfigError.about(
                option,
                found=text,
                shown=f"{text} cannot be read ({reason(error)})",
                expected="a number, names with commas between, or a file with one name per line",
            ) from error
        names = [name for name in map(str.strip, lines) if name]
    if not names or not all(names) or len(set(names)) < len(names):
        raise ConfigError.about(option, found=text, shown=text, expected="distinct names")
    return names


def start_in(option: str, text: str, states: Sequence[str]) -> str | list[float]:
    """Return a distribution such as ``fine=0.8,worn=0.2``, else the text.

    That is the name of a state, or ``learned``.
    """
    if text in states or is_learned(text) or "=" not in text:
        return text
    start = [0.0] * len(states)
    for word in text.split(","):
        name, _, share = (part.strip() for part in word.rpartition("="))
        if name not in states:
            raise ConfigError.about(option, more=f"no state is named {name!r}{guess(name, states)}")
        try:
            start[states.index(name)] += float(share)
        except ValueError as error:
            raise ConfigError.about(
                option, found=word, shown=word, expected="STATE=PROBABILITY, ..."
            ) from error
    if not all(0.0 <= share <= 1.0 for share in start) or abs(sum(start) - 1.0) > SUM_ERROR:
        raise ConfigError.about(option, verb="sums to", found=sum(start), expected="1")
    return start


def number_in(option: str, text: str, least: int = 0) -> int:
    """Return an integer that counts names or is one of them."""
    if len(text) > len(str(MOST_NAMES)):
        shown = text if len(text) <= MOST_SHOWN else f"a number of {len(text)} digits"
        raise ConfigError.about(option, shown=shown, expected=f"at most {MOST_NAMES}")
    return whole(option, int(text), least, MOST_NAMES)
