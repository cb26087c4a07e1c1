"""Progress of long work: nothing for a second, then a bar, or plain lines where there is no bar.

A terminal shows a bar, a notebook a cell that is updated; a file or a pipe gets lines at growing
intervals.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from threading import Event, Thread
from time import monotonic
from typing import Any

from rich.console import Console
from rich.text import Text

from tightrope.compiling import CLOCK, COMPILING
from tightrope.errors import ConfigError
from tightrope.text import replace_unprintable

PATIENCE = 1.0  # seconds of silence
LONGEST_PAUSE = 60.0  # between two plain lines; the first come sooner
TELLING = 0.05  # share of the work from which on the time left can be guessed
PLAIN_WIDTH = 140  # of what goes to a file or a pipe
REFRESH = 0.2  # seconds between two updates of a notebook


@dataclass
class Settings:
    """What the command line switches for the whole process."""

    is_quiet: bool = False  # show no progress


SETTINGS = Settings()


@dataclass
class Work:
    """What is known about work under way; the worker writes, the watcher reads."""

    what: str
    unit: str = ""  # what is counted
    done: int = 0
    share: float | None = None  # of the whole work, from 0 to 1; None when it is not known
    note: str = ""
    since: float = field(default_factory=monotonic)
    compiled_before: float = field(default_factory=lambda: CLOCK.seconds)
    compiled_elsewhere: float = 0.0  # seconds that worker processes spent compiling, on average
    notebook: Notebook | None = None  # where a notebook shows it

    def report(self, done: int, share: float | None = None, note: str = "") -> None:
        """Say how far the work is; a share never shrinks."""
        self.done, self.note = done, note
        if share is not None:
            self.share = max(self.share or 0.0, min(share, 1.0))
        if self.notebook is not None:
            self.notebook.show(self)

    def words(self) -> str:
        """How long, how far, how fast, and how much longer; rates do not count compiling."""
        elapsed = monotonic() - self.since
        parts = [_span(elapsed)]
        if CLOCK.is_running:
            return f"{parts[0]}, {COMPILING}"
        compiling = CLOCK.seconds - self.compiled_before + self.compiled_elsewhere
        spent = max(elapsed - compiling, 1e-3)
        if self.done:
            unit = self.unit.removesuffix("s") if self.done == 1 else self.unit
            parts += [f"{self.done} {unit}", f"{_rate(self.done / spent)}/s"]
        if self.note:
            parts.append(self.note)
        if self.share is not None and self.share > TELLING:
            parts.append(f"about {_span(spent * (1 - self.share) / self.share)} left")
        return ", ".join(parts)


class Notebook:
    """A bar in the output of a notebook's cell.

    It is updated by `Work.report`, in the thread of the cell: what other threads display may end
    up in another cell.
    """

    def __init__(self, display: Any) -> None:
        self.display, self.handle, self.shown_at = display, None, monotonic() + PATIENCE - REFRESH

    def show(self, work: Work) -> None:
        """Update the cell, if the last update is not too new."""
        if monotonic() - self.shown_at < REFRESH:
            return
        self.shown_at = monotonic()
        value = "" if work.share is None else f' value="{work.share:.4f}"'
        text = f"<div>{escape(work.what)} <progress{value}></progress> {escape(work.words())}</div>"
        content = self.display.HTML(text)
        if self.handle is None:
            self.handle = self.display.display(content, display_id=True)
        else:
            self.handle.update(content)

    def clear(self) -> None:
        """Leave the cell without a bar."""
        if self.handle is not None:
            self.handle.update(self.display.HTML(""))


def console(stderr: bool) -> Console:
    """The console of one of the two streams, which takes nothing for markup."""
    stream = sys.stderr if stderr else sys.stdout
    fixed = stream.isatty() or "COLUMNS" in os.environ
    return Console(
        stderr=stderr,
        width=None if fixed else PLAIN_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
        force_jupyter=False,  # its output would need ipywidgets, and an extra newline for each line
    )


def err() -> Console:
    """The console of errors and progress."""
    return console(True)


@contextmanager
def working(what: str, unit: str = "") -> Iterator[Work]:
    """Show a bar, or lines, if the work inside the block takes longer than a second.

    ``what`` is being done, for example ``"solving grid"``; `Work.report` counts in ``unit``.
    """
    work, over = Work(replace_unprintable(" ".join(what.split())), unit), Event()
    if SETTINGS.is_quiet:
        yield work
        return
    work.notebook = _find_notebook()
    if work.notebook is not None:
        try:
            yield work
        finally:
            work.notebook.clear()
        return
    watcher = Thread(target=_watch, args=(work, over, err()), daemon=True)
    watcher.start()
    CLOCK.n_bars += 1
    try:
        yield work
    finally:
        CLOCK.n_bars -= 1
        over.set()
        watcher.join()


@contextmanager
def working_for(progress: Any, what: str, unit: str) -> Iterator[Work | None]:
    """Show a bar as an argument ``progress`` says; yield None where there is none.

    With True there is one, with None only in notebooks; with False or a function there is none.
    """
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ConfigError.about(
            "progress", found=progress, expected="True, False, None or a function"
        )
    if progress is not True and (progress is not None or _find_notebook() is None):
        yield None
        return
    with working(what, unit) as work:
        yield work


def report_gap(work: Work, tolerance: float) -> Callable[[int, float, float], None]:
    """Return a function that reports sweeps of a planner and the bounds on the value.

    The gap shrinks geometrically, so that progress is measured in its digits.
    """

    def report(sweeps: int, low: float, high: float) -> None:
        gap = high - low
        if not math.isfinite(gap):
            work.report(sweeps)
            return
        relative = max(gap / max(abs(high), 1e-300), tolerance)
        share = math.log(min(relative, 1.0)) / math.log(tolerance)
        work.report(sweeps, share, f"gap {gap:.2g}")

    return report


def _find_notebook() -> Notebook | None:
    """The notebook that this process is the kernel of."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return Notebook(display)


def _watch(work: Work, over: Event, console: Console) -> None:
    if over.wait(PATIENCE):
        return
    if console.is_terminal:
        _show_bar(work, over, console)
    else:
        _write_lines(work, over, console)


def _show_bar(work: Work, over: Event, console: Console) -> None:
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[words]}", markup=False),
        console=console,
        transient=True,
        redirect_stdout=False,
    )
    with bar:
        task = bar.add_task(work.what, total=None, words="")
        while True:
            total = None if work.share is None else 1.0
            bar.update(
                task,
                description=work.what,
                completed=work.share or 0.0,
                total=total,
                words=work.words(),
            )
            if over.wait(0.1):
                return


def _write_lines(work: Work, over: Event, console: Console) -> None:
    pause = PATIENCE
    while True:
        console.print(Text(f"tightrope: {work.what}: {work.words()}"), soft_wrap=True)
        if over.wait(pause):
            return
        pause = min(2 * pause, LONGEST_PAUSE)


def _rate(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
