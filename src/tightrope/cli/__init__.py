"""The command line: arguments to calls, results to text.

Commands complete even if standard streams are closed or full.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]

BAD, INTERRUPTED = 2, 130
CLOSED_PIPE = 141  # exit status of a process that a closed pipe ended


def main(app: Typer | None = None) -> NoReturn:
    """Run the ``tightrope`` command, or another with the same conventions."""
    open_streams()
    heeds_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds_interrupts:
        signal.signal(signal.SIGINT, _end)
    from tightrope.cli.app import status

    import_from_here()
    if heeds_interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(close_streams(status(sys.argv[1:], app)))


def import_from_here() -> None:
    """Let modules of the working folder be imported, after all others.

    They may hold learners or environments. ``python -m tightrope`` has that folder in its path, a
    script of the installation has its own.
    """
    with suppress(OSError):  # the folder was removed
        folder = str(Path.cwd())
        if not sys.flags.safe_path and not {"", folder} & set(sys.path):
            sys.path.append(folder)


def _end(*_: Any) -> NoReturn:
    """Exit at once: while modules are imported there is nothing to save.

    An exception raised inside a callback of the import system would be printed and dropped.
    """
    sys.stderr.write("tightrope: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


@final
class Stream(TextIOWrapper):
    """A text stream on descriptor 1 or 2 that drops text it cannot write, and records why."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        # characters that the terminal cannot show are replaced
        super().__init__(
            os.fdopen(descriptor, "wb", closefd=False), encoding=encoding, errors="replace"
        )
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return super().write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        """Write buffered text."""
        try:
            super().flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        self.failure = self.failure or error
        _send_nowhere(self.fileno())
        super().flush()
        if isinstance(error, BrokenPipeError) and self.fileno() == 1:
            raise SystemExit(CLOSED_PIPE)  # the reader of the pipe exited


def open_streams() -> None:
    """Replace the standard streams by ones whose failures do not stop a command.

    A closed descriptor would be reused by the next opened file, which would receive the output; it
    becomes the null device.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _send_nowhere(descriptor)
    encoding = [getattr(stream, "encoding", "utf-8") for stream in (sys.stdout, sys.stderr)]
    sys.stdout, sys.stderr = Stream(1, encoding[0]), Stream(2, encoding[1])


def close_streams(status: int) -> int:
    """Write buffered text and return the exit status."""
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
