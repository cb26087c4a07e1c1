"""What is said while work goes on: nothing for a second, then a bar, or plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tightrope.cli.screen import err

__all__ = ["Work", "working"]

PATIENCE = 1.0  # seconds of silence
LONGEST_PAUSE = 60.0  # between two plain lines; the first come sooner


@dataclass
class Work:
    """What is known about work under way; the worker writes, the watcher reads."""

    what: str
    unit: str = ""
    done: int = 0
    total: int | None = None
    note: str = ""
    since: float = field(default_factory=monotonic)

    def report(self, done: int, total: int | None = None, note: str = "") -> None:
        """Say how far the work is."""
        self.done, self.total, self.note = done, total, note

    def words(self) -> str:
        """How far, how fast, and what else is known."""
        if not self.done:
            return self.note
        spent = max(monotonic() - self.since, 1e-3)
        parts = [f"{self.done} {self.unit}", f"{_rate(self.done / spent)}/s", self.note]
        if self.total is not None and self.total > self.done:
            parts.append(f"{_span(spent * (self.total - self.done) / self.done)} left")
        return ", ".join(filter(None, parts))


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
    work, over = Work(what, unit), Event()
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
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[words]}"),
        console=console,
        transient=True,
        redirect_stdout=False,
    )
    with bar:
        task = bar.add_task(work.what, total=None, words="")
        while True:
            bar.update(task, completed=work.done, total=work.total, words=work.words())
            if over.wait(0.1):
                return


def _write_lines(work: Work, over: Event, console: Console) -> None:
    pause = PATIENCE
    while True:
        spent = _span(monotonic() - work.since)
        parts = filter(None, (work.words(), spent))
        console.print(f"tightrope: {work.what}: {', '.join(parts)}", soft_wrap=True)
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
