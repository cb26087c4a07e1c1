"""What a study asks of an engine: take a slice, and say which slices are done."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tightrope.errors import TightropeError
from tightrope.experiments.job import Order, Report

NOBODY = "the cluster has no worker yet"


class EngineError(TightropeError):
    """The workers are gone, all of them."""


class Lost(NamedTuple):
    """A slice whose worker died; it may be ordered again.

    Parameters
    ----------
    why : str
    is_blamed : bool
        Whether this run may have killed the worker; not known if it shared a pool with others.
    """

    why: str
    is_blamed: bool = True


class Done(NamedTuple):
    """What became of one order: a report, a lost slice, or the error that the work raised."""

    run: str
    outcome: Report | Lost | Exception


class Engine(Protocol):
    """Workers somewhere."""

    @property
    def n_workers(self) -> int:
        """How many slices can be done at once."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        ...

    @property
    def complaint(self) -> str:
        """Why nothing can go on just now, in words; empty when it can."""
        ...

    def submit(self, run: str, order: Order) -> None:
        """Take a slice of a run.

        Parameters
        ----------
        run : str
            The run's id.
        order : Order
        """
        ...

    def wait(self, seconds: float) -> list[Done]:
        """What was done since the last call; waits that long for the first of it.

        Parameters
        ----------
        seconds : float
        """
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...
