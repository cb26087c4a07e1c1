"""A DRN file of Storm as a model of the command line: what the file does not say comes with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tightrope.cli.pairs import values_of
from tightrope.cli.progress import working
from tightrope.errors import ModelError
from tightrope.interop.drn import read_drn
from tightrope.model import CMDP
from tightrope.model.guess import guess

__all__ = ["imported"]

KEYS = ("horizon", "cost", "reward", "initial")


def imported(path: Path, settings: Sequence[str], budgets: Sequence[str]) -> CMDP:
    """The model of a DRN file.

    Parameters
    ----------
    path : Path
        The file.
    settings : sequence of str
        ``horizon=20``, ``cost=STRUCTURE`` or ``reward=STRUCTURE``, ``initial=STATE``.
    budgets : sequence of str
        ``structure=value`` each: which reward structures are constraints, and their budgets.
    """
    given: dict[str, str] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals or key not in KEYS or key in given:
            hint = guess(key, KEYS)
            raise ModelError(f"--set {word}: expected one each of {', '.join(KEYS)}{hint}")
        given[key] = value
    horizon = given.get("horizon", "")
    if not horizon.isdecimal():
        found = f"{horizon!r}" if horizon else "missing"
        raise ModelError(
            f"horizon: {found}; {path.name} has none, say how many steps: --set horizon=20"
        )
    initial = given.get("initial")
    with working(f"reading {path.name}"):
        return read_drn(
            path,
            int(horizon),
            given.get("cost"),
            values_of("--budget", budgets),
            given.get("reward"),
            initial=int(initial) if initial is not None and initial.isdecimal() else initial,
        )
