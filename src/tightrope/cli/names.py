"""Names of states and actions on the command line: a number, names, or a file of them."""

from __future__ import annotations

from pathlib import Path

from tightrope.arrays import whole
from tightrope.errors import ConfigError
from tightrope.files import reason
from tightrope.study.terms import MOST_NAMES

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


def number_in(option: str, text: str, least: int = 0) -> int:
    """Return an integer that counts names or is one of them."""
    if len(text) > len(str(MOST_NAMES)):
        shown = text if len(text) <= MOST_SHOWN else f"a number of {len(text)} digits"
        raise ConfigError.about(option, shown=shown, expected=f"at most {MOST_NAMES}")
    return whole(option, int(text), least, MOST_NAMES)
