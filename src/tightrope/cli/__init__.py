"""The command line: words to calls, calls to words.

Standard streams may be closed or full: a command does its work all the same.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn, final

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]

BAD, INTERRUPTED = 2, 130
CLOSED_PIPE = 141  # what a shell reports for a process that a closed pipe ended


def main(app: Typer | None = None) -> NoReturn:
    """The ``tightrope`` command, or another of the same manners."""
    open_streams()
    heeds_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds_interrupts:
        signal.signal(signal.SIGINT, _end)
    from tightrope.cli.app import status

    if heeds_interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(close_streams(status(sys.argv[1:], app)))


def _end(*_: Any) -> NoReturn:
    """End at once: while modules are imported there is nothing to save.

    An exception could be raised inside a callback of the import system, which prints and drops it.
    """
    sys.stderr.write("tightrope: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


@final
class Stream(TextIOWrapper):
    """A text stream on descriptor 1 or 2 that drops what cannot be written, and remembers why."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        # a character that the terminal cannot show is no failure
        super().__init__(
            os.fdopen(descriptor, "wb", closefd=False), encoding=encoding, errors="replace"
        )
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return super().write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        """Write out what was kept back."""
        try:
            super().flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        self.failure = self.failure or error
        _send_nowhere(self.fileno())
        super().flush()
        if isinstance(error, BrokenPipeError) and self.fileno() == 1:
            raise SystemExit(CLOSED_PIPE)  # the reader of the pipe has ended


def open_streams() -> None:
    """Replace the standard streams by ones whose failures end no command.

    A closed descriptor would be given to the next file that is opened, and what is printed would
    be written into that file; it becomes the null device.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _send_nowhere(descriptor)
    encoding = [getattr(stream, "encoding", "utf-8") for stream in (sys.stdout, sys.stderr)]
    sys.stdout, sys.stderr = Stream(1, encoding[0]), Stream(2, encoding[1])


def close_streams(status: int) -> int:
    """Write out what was kept back, and return the exit status."""
    sys.stdout.flush()
    failure = getattr(sys.stdout, "failure", None)
    if failure is None or status != 0:
        return status
    sys.stderr.write(f"tightrope: standard output: {failure.strerror}\n")
    sys.stderr.flush()
    return BAD


def _send_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
