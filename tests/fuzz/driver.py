"""Run generated inputs in worker processes and record everything that is not a clean outcome.

An input is clean when the library accepts it or refuses it with a `TightropeError`. Anything else
is a fault: another exception, a crash of the process, or a hang. Input ``number`` of a kind depends
on the seed, the kind and the number alone, so that each can be repeated by itself.

Workers are forked, report after each input, and are replaced when they die; a worker that is silent
for longer than the patience of the driver counts as a hang and is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.errors import TightropeError

__all__ = ["Fault", "Kind", "Report", "fuzz", "run_one"]

CHUNK = 100  # inputs that a worker is given at once
PATIENCE = 300.0  # seconds without a report after which a worker hangs; compilation takes a minute
MEMORY = 6 << 30  # bytes of address space of a worker, so that huge requests fail at once
LONGEST = 2000  # characters of a readable message

Generate = Callable[[Any, np.random.Generator, Path], None]


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Parameters
    ----------
    name : str
    run : callable
        Called with what `prepare` returned, a generator and an empty folder; makes one input and
        gives it to the library.
    prepare : callable
        Called once in each worker with a folder that stays; makes valid samples to start from.
    share : float
        Weight in the total number of inputs.
    """

    name: str
    run: Generate
    prepare: Callable[[Path], Any] = lambda folder: None
    share: float = 1.0


@dataclass(frozen=True)
class Fault:
    """An input that ended neither in success nor in a refusal."""

    kind: str
    number: int
    what: str  # exception, crash or hang, in one line
    details: str = ""


@dataclass
class Report:
    """What came of all inputs."""

    seed: int
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """Number of inputs."""
        return self.accepted.total() + self.refused.total() + len(self.faults)

    def lines(self) -> list[str]:
        """Counts by kind, then each different fault once."""
        faults = Counter(fault.kind for fault in self.faults)
        rows = [f"{'kind':<20}{'inputs':>9}{'accepted':>10}{'refused':>9}{'faults':>8}"]
        for name in sorted({*self.accepted, *self.refused, *faults}):
            yes, no, bad = self.accepted[name], self.refused[name], faults[name]
            rows.append(f"{name:<20}{yes + no + bad:>9}{yes:>10}{no:>9}{bad:>8}")
        yes, no, bad = self.accepted.total(), self.refused.total(), len(self.faults)
        rows.append(f"{'all':<20}{yes + no + bad:>9}{yes:>10}{no:>9}{bad:>8}")
        rows.append(f"seed {self.seed}, {self.seconds:.0f} s")
        alike: dict[tuple[str, str], list[Fault]] = {}
        for fault in self.faults:
            alike.setdefault((fault.kind, fault.what), []).append(fault)
        for (kind, what), group in sorted(alike.items(), key=lambda item: -len(item[1])):
            numbers = ", ".join(str(fault.number) for fault in group[:5])
            rows += ["", f"{len(group)} x {kind}: {what} (inputs {numbers})", group[0].details]
        return rows


def run_one(kind: Kind, state: Any, seed: int, number: int, folder: Path) -> tuple[str, str]:
    """Make one input and return its outcome: accepted, refused, or a fault with its details.

    Parameters
    ----------
    kind : Kind
    state : object
        From ``kind.prepare``.
    seed, number : int
        Decide the input.
    folder : Path
        Emptied before.
    """
    rng = np.random.default_rng([seed, zlib.crc32(kind.name.encode()), number])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    try:
        kind.run(state, rng, folder)
    except TightropeError as error:
        words = str(error)
        if words.strip() and "\n" not in words and len(words) <= LONGEST:
            return "refused", ""
        return f"unreadable message of {len(words)} characters", words[:LONGEST]
    except MemoryError:
        return "refused", ""
    except Exception as error:  # noqa: BLE001 - what the driver looks for
        return f"{type(error).__name__} at {_place(error)}", _details(error)
    return "accepted", ""


def fuzz(
    kinds: Iterable[Kind],
    n_inputs: int,
    seed: int = 0,
    n_workers: int | None = None,
    patience: float = PATIENCE,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Run inputs of all kinds and return what came of them.

    Parameters
    ----------
    kinds : iterable of Kind
    n_inputs : int
        Of all kinds together; each kind gets its share, at least one.
    seed : int
    n_workers : int, optional
        Processes, one per processor by default.
    patience : float
        Seconds after which an input hangs.
    progress : callable, optional
        Called now and then with the report so far.
    """
    kinds = list(kinds)
    CHOSEN.update((kind.name, kind) for kind in kinds)
    report, start = Report(seed), time.monotonic()
    total = sum(kind.share for kind in kinds)
    chunks: deque[tuple[Kind, int, int]] = deque()
    for kind in kinds:
        n = max(1, round(n_inputs * kind.share / total))
        chunks += [(kind, first, min(first + CHUNK, n)) for first in range(0, n, CHUNK)]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        workers = [
            Worker(Path(folder) / str(k), seed)
            for k in range(min(n_workers or os.cpu_count() or 1, len(chunks)))
        ]
        try:
            _share_out(chunks, workers, report, patience, progress)
        finally:
            for worker in workers:
                worker.end()
    report.seconds = time.monotonic() - start
    return report


class Worker:
    """A forked process and the chunk it is at."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder, self.seed = folder, seed
        self.kind: Kind | None = None
        self.number = self.last = 0
        self.heard = time.monotonic()
        self.process: Any = None
        self.start()

    def start(self) -> None:
        """Fork a new process."""
        mine, theirs = multiprocessing.get_context("fork").Pipe()
        self.pipe: Connection = mine
        self.process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(theirs, self.seed, self.folder), daemon=True
        )
        self.process.start()
        theirs.close()

    def take(self, kind: Kind, first: int, last: int) -> None:
        """Give the process inputs to do."""
        self.kind, self.number, self.last = kind, first, last
        self.heard = time.monotonic()
        self.pipe.send((kind.name, first, last))

    def end(self) -> None:
        """Kill the process and wait until it is gone."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def replace(self) -> None:
        """Start over after a death, with the input after the one that was fatal."""
        self.end()
        self.start()
        if self.kind is not None and self.number + 1 < self.last:
            self.take(self.kind, self.number + 1, self.last)
        else:
            self.kind = None


def _share_out(
    chunks: deque[tuple[Kind, int, int]],
    workers: list[Worker],
    report: Report,
    patience: float,
    progress: Callable[[Report], None] | None,
) -> None:
    said = time.monotonic()
    while True:
        for worker in workers:
            if worker.kind is None and chunks:
                worker.take(*chunks.popleft())
        busy = [worker for worker in workers if worker.kind is not None]
        if not busy:
            return
        ready = wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in busy:
            if worker.pipe in ready:
                _hear(worker, report)
            elif time.monotonic() - worker.heard > patience:
                assert worker.kind is not None
                report.faults.append(
                    Fault(worker.kind.name, worker.number, f"hang of more than {patience:g} s")
                )
                worker.replace()
        if progress is not None and time.monotonic() - said > 30:
            progress(report)
            said = time.monotonic()


def _hear(worker: Worker, report: Report) -> None:
    assert worker.kind is not None
    name = worker.kind.name
    try:
        outcome, details = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        what = f"crash: the process ended with status {worker.process.exitcode}"
        report.faults.append(Fault(name, worker.number, what))
        worker.replace()
        return
    worker.heard = time.monotonic()
    if outcome == "accepted":
        report.accepted[name] += 1
    elif outcome == "refused":
        report.refused[name] += 1
    else:
        report.faults.append(Fault(name, worker.number, outcome, details))
    worker.number += 1
    if worker.number >= worker.last:
        worker.kind = None


CHOSEN: dict[str, Kind] = {}  # by name, for forked workers


def _serve(pipe: Connection, seed: int, folder: Path) -> None:
    """Do inputs until the driver is gone."""
    driver = os.getppid()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    states: dict[str, Any] = {}
    with _silent():
        while True:
            while not pipe.poll(5.0):
                if os.getppid() != driver:
                    return
            name, first, last = pipe.recv()
            kind = CHOSEN[name]
            if name not in states:
                home = folder / f"samples-{name}-{os.getpid()}"
                home.mkdir()
                states[name] = kind.prepare(home)
            for number in range(first, last):
                pipe.send(run_one(kind, states[name], seed, number, folder / "input"))


@contextmanager
def _silent() -> Any:
    """Send what native code writes to the standard streams nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    yield


def _place(error: BaseException) -> str:
    """The innermost line of the library on the way to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "tightrope" in Path(frame.filename).parts]
    frame = (inside or frames)[-1]
    parts = Path(frame.filename).parts
    first = len(parts) - parts[::-1].index("tightrope") if "tightrope" in parts else -1
    return f"{'/'.join(parts[first:])}:{frame.lineno}"


def _details(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    return text if len(text) < 6000 else f"{text[:2500]}\n...\n{text[-3000:]}"
