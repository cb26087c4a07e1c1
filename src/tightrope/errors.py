"""The exceptions of this library, one per kind of failure.

Everything the library raises on purpose is a `TightropeError`; the command line turns each into
one line on stderr and exit status 2. Anything else that escapes is a bug.
"""

from __future__ import annotations

import math
from typing import Any

LONGEST = 1000  # characters of a message
SHOWN = 80  # characters of a value in a message


class TightropeError(Exception):
    """Base of every error this library raises on purpose; its message is one readable line.

    Parameters
    ----------
    message : str
        Line breaks become spaces, and what is too long to read is cut.
    """

    def __init__(self, message: str = "") -> None:
        line = " ".join(message.split())
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ...")


def describe(value: Any) -> str:
    """Return a short representation of any value, for messages.

    Parameters
    ----------
    value : object
    """
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"a number of about {round(value.bit_length() * math.log10(2))} digits"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - any ``__repr__`` may fail
        text = f"a value of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 20]}... ({len(text)} characters)"


class ModelError(TightropeError):
    """Bad input: says which argument, which entry first, what was found and expected."""


class LogError(ModelError):
    """Logged data that cannot be right.

    Parameters
    ----------
    message : str
        The first few faults, with their lines.
    faults : tuple of (int, str, str)
        Line (or row) from 1, episode and complaint of every bad row, as `Fault` records.
    """

    def __init__(self, message: str, faults: tuple[tuple[int, str, str], ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class SolverError(TightropeError):
    """A planner could not certify its own answer."""


class StoreError(TightropeError):
    """A file or directory could not be written, read, or trusted."""


class InfeasibleError(TightropeError):
    """The budgets cannot be met.

    Parameters
    ----------
    message : str
        What cannot be met and the least relaxation that would do.
    clash : tuple of int
        Constraints that cannot be met together; every policy breaks one of them.
    relaxation : tuple of float
        Raising every budget (lowering a floor) by its entry is enough, and nothing less in the same
        proportion is.
    alone : tuple of float
        Least attainable value of each constraint (greatest, for a floor) when the others are
        ignored.
    excess : tuple of float
        How much more of each budget the policy needs that comes closest to keeping them all. All
        in the units of the constraints.
    """

    def __init__(
        self,
        message: str,
        clash: tuple[int, ...] = (),
        relaxation: tuple[float, ...] = (),
        alone: tuple[float, ...] = (),
        excess: tuple[float, ...] = (),
    ) -> None:
        super().__init__(message)
        self.clash = clash
        self.relaxation = relaxation
        self.alone = alone
        self.excess = excess

    @property
    def facts(
        self,
    ) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
        """Clash, relaxation, least attainable values and excess: all but the words."""
        return self.clash, self.relaxation, self.alone, self.excess
