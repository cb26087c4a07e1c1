"""What is said while work goes on: nothing for a second, then a bar, or plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from tightrope.cli.screen import err, one_line

READY = "getting ready, which takes a while the first time"  # until work can be counted
PATIENCE = 1.0  # seconds of silence
LONGEST_PAUSE = 60.0  # between two plain lines; the first come sooner
TELLING = 0.05  # share of the work from which on the time left can be guessed


@dataclass
class Work:
    """What is known about work under way; the worker writes, the watcher reads.

    Parameters
    ----------
    what : str
        What is being done.
    unit : str
        What is counted.
    done : int
        How many of them are done.
    share : float or None
        Share of the whole work, from 0 to 1; None when nobody knows.
    note : str
        Anything else worth saying.
    since : float
        When it began.
    """

    what: str
    unit: str = ""
    done: int = 0
    share: float | None = None
    note: str = ""
    since: float = field(default_factory=monotonic)

    def report(self, done: int, share: float | None = None, note: str = "") -> None:
        """Say how far the work is; a share never shrinks."""
        self.done, self.note = done, note
        if share is not None:
            self.share = max(self.share or 0.0, min(share, 1.0))

    def words(self) -> str:
        """How long, how far, how fast, and how much longer."""
        spent = max(monotonic() - self.since, 1e-3)
        parts = [_span(spent)]
        if self.done:
            unit = self.unit.removesuffix("s") if self.done == 1 else self.unit
            parts += [f"{self.done} {unit}", f"{_rate(self.done / spent)}/s"]
        if self.note:
            parts.append(self.note)
        if self.share is not None and self.share > TELLING:
            parts.append(f"about {_span(spent * (1 - self.share) / self.share)} left")
        return ", ".join(parts)


@contextmanager
def working(what: str, unit: str = "") -> Iterator[Work]:
    """Watch the work inside the block; show a bar, or lines, if it takes longer than a second.

    Parameters
    ----------
    what : str
        What is being done, for example ``"solving grid"``.
    unit : str
        What `Work.report` counts.
    """
    work, over = Work(one_line(what), unit), Event()
    watcher = Thread(target=_watch, args=(work, over, err()), daemon=True)
    watcher.start()
    try:
        yield work
    finally:
        over.set()
        watcher.join()


def _watch(work: Work, over: Event, console: Console) -> None:
    if over.wait(PATIENCE):
        return
    if console.is_terminal:
        _show_bar(work, over, console)
    else:
        _write_lines(work, over, console)


def _show_bar(work: Work, over: Event, console: Console) -> None:
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
            bar.update(task, completed=work.share or 0.0, total=total, words=work.words())
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
