"""The command line: words to calls, calls to words."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from tightrope.cli.streams import close_streams, open_streams

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]

INTERRUPTED = 130


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
