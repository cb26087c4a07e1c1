"""A DRN file of Storm as a model of the command line: what the file does not say comes with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tightrope.cli.pairs import values_of
from tightrope.errors import ModelError
from tightrope.interop.drn import read_drn
from tightrope.model import CMDP
from tightrope.model.guess import guess
from tightrope.progress import working

KEYS = ("horizon", "cost", "reward", "initial")
AT_LEAST = ">="


def imported(path: Path, settings: Sequence[str], budgets: Sequence[str]) -> CMDP:
    """The model of a DRN file.

    Parameters
    ----------
    path : Path
        The file.
    settings : sequence of str
        ``horizon=20``, ``cost=STRUCTURE`` or ``reward=STRUCTURE``, ``initial=STATE``.
    budgets : sequence of str
        ``structure=value`` each: which reward structures are constraints, and their budgets;
        ``structure>=value`` for one that must be earned.
    """
    given: dict[str, str] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if key in given:
            raise ModelError(f"--set {word}: {key!r} is given twice")
        if not equals or key not in KEYS:
            raise ModelError(f"--set {word}: expected one of {', '.join(KEYS)}{guess(key, KEYS)}")
        given[key] = value
    horizon = given.get("horizon", "")
    if not horizon.isdecimal():
        found = f"{horizon!r}" if horizon else "missing"
        raise ModelError(
            f"horizon: {found}; {path.name} has none, say how many steps: --horizon 20"
        )
    initial = given.get("initial")
    floors = [word.replace(AT_LEAST, "=") for word in budgets if AT_LEAST in word]
    caps = [word for word in budgets if AT_LEAST not in word]
    with working(f"reading {path.name}"):
        return read_drn(
            path,
            int(horizon),
            given.get("cost"),
            values_of("--budget", caps),
            given.get("reward"),
            values_of("--budget", floors),
            initial=int(initial) if initial is not None and initial.isdecimal() else initial,
        )
