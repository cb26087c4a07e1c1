"""The scheduler: sends jobs to an engine and writes snapshots until every run is finished.

Only the scheduling process writes. Each active run is locked; its state is written atomically every
few seconds, so that a crash loses at most that time.
"""

from __future__ import annotations

import platform
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import current_thread, main_thread
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from tightrope.arrays import whole
from tightrope.compiling import COMPILING
from tightrope.errors import TightropeError
from tightrope.experiments.engines import Done, Engine, Here, Lost
from tightrope.experiments.job import Job, Report
from tightrope.experiments.problems import group_by_problem
from tightrope.experiments.rows import Row
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.storage import BusyError, RunFolder
from tightrope.files import packed
from tightrope.progress import working

if TYPE_CHECKING:
    from tightrope.experiments.experiment import Experiment

LOAD = 2e6  # bytes of state for each second of a job
STARTING = f"starting workers, {COMPILING}"  # until progress is known
MOST_LOSSES = 5  # consecutive lost jobs before a run is given up
PACKAGES = ("tightrope", "numpy", "scipy", "numba", "llvmlite", "highspy", "pyarrow")
# sent at a cluster's time limit, and by a closed terminal
TO_END = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@dataclass(frozen=True)
class Pace:
    """Seconds between reports of workers, and between snapshots on disk."""

    job: float = 1.0
    snapshot: float = 10.0


@dataclass(repr=False)
class Outcome:
    """Result of `Experiment.run`.

    Parameters
    ----------
    n_runs : int
        Runs of the experiment.
    finished : int
        Runs that are finished now.
    episodes : int
        Episodes done by this process.
    taken_up : int
        Episodes that earlier processes had done of the resumed runs.
    failed : dict of str to str
        Reasons of failed runs, by id.
    elsewhere : list of str
        Runs that another process is writing.
    versions : dict of str to str
        Runs that other versions had begun, and what differs: records may differ in last digits.
    compiling : float
        Seconds that worker processes spent compiling kernels, on average.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     experiment = tr.Experiment(folder)
    ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
    ...     outcome = experiment.run(engine="here", progress=False)
    >>> outcome.n_runs, outcome.finished, outcome.failed
    (2, 2, {})
    """

    n_runs: int = 0
    finished: int = 0
    episodes: int = 0
    taken_up: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    compiling: float = 0.0

    def __repr__(self) -> str:
        words = [f"{self.finished} of {self.n_runs} runs finished", f"{self.episodes} episodes run"]
        if self.failed:
            run, why = next(iter(self.failed.items()))
            words.append(f"{len(self.failed)} failed, {run} first: {why}")
        if self.elsewhere:
            words.append(f"{len(self.elsewhere)} being written by another process")
        if self.versions:
            words.append(f"{len(self.versions)} started by other versions")
        return f"Outcome({', '.join(words)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = [f"{self.finished} of {self.n_runs} runs finished", f"{self.episodes} episodes run"]
        return listing("Outcome", facts, ["failed run", "reason"], list(self.failed.items()))


Progress = Callable[[Outcome, dict[str, int]], None]


@contextmanager
def progress_bar(experiment: Experiment, engine: Engine) -> Iterator[Progress]:
    """Show a progress bar within a context; yield the function that updates it."""
    pending = experiment.pending()
    to_do = sum(spec.episodes for spec in pending)
    with working(f"{experiment.path}: {len(pending)} runs to do", "episodes") as work:

        def report(outcome: Outcome, _: dict[str, int]) -> None:
            done = f"{outcome.finished} of {outcome.n_runs} runs done"
            note = engine.complaint or (done if outcome.episodes else STARTING)
            # what this process compiles is counted already
            work.compiled_elsewhere = 0.0 if isinstance(engine, Here) else outcome.compiling
            share = outcome.episodes / max(to_do - outcome.taken_up, 1)
            work.report(outcome.episodes, share, note)

        work.note = STARTING
        yield report


@dataclass
class Active:
    """An active run."""

    spec: RunSpec
    folder: RunFolder
    lock: AbstractContextManager[None]
    model: bytes = b""
    oracle: bytes = b""
    state: bytes = b""
    episode: int = 0
    on_disk: int = 0  # episode of the newest snapshot
    kept_at: float = field(default_factory=time.monotonic)
    losses: int = 0


def finish_runs(
    experiment: Experiment,
    engine: Engine,
    pace: Pace | None = None,
    progress: Progress | None = None,
    on_record: Callable[[RunSpec, Row], object] | None = None,
) -> Outcome:
    """Finish every run of an experiment that is not finished.

    ``progress`` is called from time to time with the outcome so far and the episodes of the active
    runs, by id; ``on_record`` with the spec of a run and a row of its record, for each row.

    Raises
    ------
    StoreError
        If something cannot be written; files written before stay valid.
    KeyboardInterrupt
        After the active runs were saved.
    """
    shown = progress or (lambda _, __: None)
    scheduler = Scheduler(experiment, engine, pace or Pace(), shown, on_record)
    try:
        scheduler.go()
    except KeyboardInterrupt:
        scheduler.stop()
        raise
    except Exception:
        scheduler.keep()  # after any error, the current states are valid
        raise
    finally:
        scheduler.release()
    return scheduler.outcome


class Scheduler:
    """The process that sends the jobs of an experiment."""

    def __init__(
        self,
        experiment: Experiment,
        engine: Engine,
        pace: Pace,
        progress: Progress,
        on_record: Callable[[RunSpec, Row], object] | None = None,
    ) -> None:
        self.on_record = on_record
        self.experiment, self.engine, self.pace, self.progress = experiment, engine, pace, progress
        specs = experiment.specs()
        pending = [spec for spec in specs if not experiment.folder(spec).is_finished]
        self.waiting = list(group_by_problem(pending))
        self.outcome = Outcome(len(specs), len(specs) - len(pending))
        self.active: dict[str, Active] = {}
        self.compiled: set[str] = set()

    def go(self) -> None:
        """Work until no run is waiting or active."""
        while self.waiting or self.active:
            for spec in self._next():
                self._begin(spec)
            if not self.active:
                continue
            for done in self.engine.wait(0.5):
                self._take(done)
            self.progress(self.outcome, {run: now.episode for run, now in self.active.items()})

    def stop(self) -> None:
        """Save every active run, with the reports that arrive in time."""
        with ignore_interrupts():  # a second interrupt after this loses only the last job
            self.keep()
        until = time.monotonic() + 2 * self.pace.job + 1
        while self.engine.is_busy and time.monotonic() < until:
            for done in self.engine.wait(0.5):
                now = self.active[done.run]
                if isinstance(done.outcome, Report):
                    self._advance(now, done.outcome)
        for now in list(self.active.values()):
            self._keep(now)
            now.folder.log(f"stopped at episode {now.on_disk}")

    def keep(self) -> None:
        """Save the newest states of all active runs."""
        for now in self.active.values():
            self._keep(now)

    def release(self) -> None:
        """Release all locks."""
        for now in self.active.values():
            now.lock.__exit__(None, None, None)
        self.active.clear()

    def _next(self) -> list[RunSpec]:
        """Return runs to begin now: enough to keep the workers busy.

        Workers of one machine share compiled kernels, so the first run that needs some kernels
        compiles them and the others wait.
        """
        room = self.engine.n_workers + 1 - len(self.active)
        busy = {kernels_of(now.spec) for now in self.active.values()} - self.compiled
        chosen: list[RunSpec] = []
        for spec in self.waiting:
            if len(chosen) >= room:
                break
            if kernels_of(spec) in busy:
                continue
            if kernels_of(spec) not in self.compiled:
                busy.add(kernels_of(spec))
            chosen.append(spec)
        for spec in chosen:
            self.waiting.remove(spec)
        return chosen

    def _begin(self, spec: RunSpec) -> None:
        folder = self.experiment.folder(spec)
        lock = folder.lock()
        try:
            lock.__enter__()
        except BusyError:
            self.outcome.elsewhere.append(spec.id)
            return
        if folder.is_finished:  # finished by another process meanwhile
            lock.__exit__(None, None, None)
            self.outcome.finished += 1
            return
        now = Active(spec, folder, lock)
        self.active[spec.id] = now
        folder.begin(spec.to_json(indent=1), versions())
        try:
            now.model = self.experiment.model(spec)
            now.oracle = self.experiment.oracle(spec)
            found = folder.newest()
            episode = 0 if found is None else whole("snapshot: episode", found[0].get("episode"), 0)
        except TightropeError as error:  # this run needs attention; the others continue
            self._give_up(now, str(error))
            return
        if found is not None:
            about, arrays = found
            now.state, now.episode = packed(about, arrays), episode
            now.on_disk = now.episode
            self.outcome.taken_up += now.episode
            differs = changes(folder.versions, versions())
            if differs:
                self.outcome.versions[spec.id] = differs
            by = f" by other versions: {differs}" if differs else ""
            folder.log(f"taken up at episode {now.episode}{by}")
        else:
            folder.log("started")
        self._send(now)

    def _send(self, now: Active) -> None:
        # a large state takes long to transfer, so it is transferred less often
        seconds = max(self.pace.job, min(len(now.state) / LOAD, self.pace.snapshot))
        spec = now.spec.to_json()
        wants_rows = self.on_record is not None
        job = Job(spec, now.model, now.episode, now.state, seconds, now.oracle, wants_rows)
        self.engine.submit(now.spec.id, job)

    def _take(self, done: Done) -> None:
        now = self.active[done.run]
        if isinstance(done.outcome, Report):
            now.losses = 0
            self.compiled.add(kernels_of(now.spec))
            if self._advance(now, done.outcome):
                return
            if time.monotonic() - now.kept_at >= self.pace.snapshot:
                self._keep(now)
            self._send(now)
        elif isinstance(done.outcome, Lost):
            now.losses += done.outcome.is_blamed
            now.folder.log(f"lost the job after episode {now.episode}: {done.outcome.why}")
            if now.losses < MOST_LOSSES:
                self._send(now)
            else:
                self._give_up(now, f"{done.outcome.why}, {now.losses} times in a row")
        else:
            self._give_up(now, describe_error(done.outcome), format_exception(done.outcome))

    def _advance(self, now: Active, report: Report) -> bool:
        """Process a report; return whether the run is finished."""
        self.outcome.compiling += report.compiling / self.engine.n_workers
        self.outcome.episodes += report.episode - now.episode
        now.episode, now.state = report.episode, report.state
        if self.on_record is not None:
            for row in report.rows:
                self.on_record(now.spec, row)
        if not report.record:
            return False
        now.folder.finish(report.result, report.record)
        now.folder.log(f"finished {report.episode} episodes in {report.seconds:.3f} s of work")
        self.outcome.finished += 1
        self._release(now)
        return True

    def _keep(self, now: Active) -> None:
        if now.state and now.episode > now.on_disk:
            now.folder.keep(now.episode, now.state)
            now.on_disk = now.episode
        now.kept_at = time.monotonic()

    def _give_up(self, now: Active, why: str, traceback: Sequence[str] = ()) -> None:
        self._keep(now)
        now.folder.log("\n".join((f"failed: {why}", *("".join(traceback).splitlines()))))
        self.outcome.failed[now.spec.id] = why
        self._release(now)

    def _release(self, now: Active) -> None:
        now.lock.__exit__(None, None, None)
        del self.active[now.spec.id]


def kernels_of(spec: RunSpec) -> str:
    """Return a name for the kernels that a run needs."""
    return f"{spec.algorithm} {spec.confidence.transition}"


def describe_error(error: Exception) -> str:
    """Return an error in one line, with its class unless it is a `TightropeError`."""
    words = str(error).partition("\n")[0]
    return words if isinstance(error, TightropeError) else f"{type(error).__name__}: {words}"


def versions() -> dict[str, str]:
    """Return the versions of all software that affects the results of a run."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found |= {"system": platform.system(), "machine": platform.machine()}
    for name, value in (("processor", _processor()), ("commit", source_commit())):
        if value:
            found[name] = value
    return found


@cache
def source_commit() -> str:
    """Return the commit of the sources, if they are in a Git checkout of their own."""
    home = Path(__file__).parents[3]
    if not (home / ".git").exists():
        return ""
    words = ["git", "-C", str(home), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _processor() -> str:
    """Return the name of the processor; empty if the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Describe the differences between two sets of versions; empty if there are none."""
    return ", ".join(
        f"{name} {before.get(name, 'unknown')}, now {now.get(name, 'unknown')}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    )


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Ignore interrupts and termination requests within a context."""
    with _handle_signals((signal.SIGINT, *TO_END), signal.SIG_IGN):
        yield


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """Treat termination requests as interrupts within a context, unless they are ignored."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    # nohup ignores SIGHUP
    heeded = [each for each in TO_END if signal.getsignal(each) is not signal.SIG_IGN]
    with _handle_signals(heeded, interrupt):
        yield


@contextmanager
def _handle_signals(signals: Any, handler: Any) -> Iterator[None]:
    if current_thread() is not main_thread():  # only the main thread receives signals
        yield
        return
    before = {each: signal.signal(each, handler) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
