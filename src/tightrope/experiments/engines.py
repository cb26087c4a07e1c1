"""Engines run jobs: in this process, or in processes of this machine.

A job is a part of a run, about a second of work. An engine takes jobs and returns those done.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from threading import Thread
from typing import Any, NamedTuple, Protocol

from joblib import cpu_count

from tightrope.arrays import whole
from tightrope.errors import ConfigError
from tightrope.experiments.job import Job, Report, at_hand, work
from tightrope.text import guess

ENGINES = ("processes", "here", "dask", "ray")
MOST_WORKERS = 1024


class Lost(NamedTuple):
    """A job whose worker died; it can be sent again."""

    why: str
    is_blamed: bool = True  # whether this run killed the worker; unknown in a shared pool


class Done(NamedTuple):
    """Result of one job: a report, a lost job, or the error it raised."""

    run: str
    outcome: Report | Lost | Exception


class Engine(Protocol):
    """A set of workers."""

    @property
    def n_workers(self) -> int:
        """Number of jobs that run at once."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether some job is not done."""
        ...

    @property
    def complaint(self) -> str:
        """Why no job can run at the moment; empty if jobs can."""
        ...

    def submit(self, run: str, job: Job) -> None:
        """Submit a job of the run with this id."""
        ...

    def wait(self, seconds: float) -> list[Done]:
        """Return jobs done since the last call; wait at most that long for the first."""
        ...

    def close(self) -> None:
        """Release the workers."""
        ...


def open_engine(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """Start the engine with a name of `ENGINES`; ``address`` is that of a Dask or Ray cluster."""
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise ConfigError.about(
            "engine",
            found=name,
            shown=repr(name),
            expected=f"one of {known}",
            more=guess(name, ENGINES),
        )
    is_cluster = name in ("dask", "ray")
    if is_cluster and address is None:
        words = f"engine {name}: an address is needed, of a cluster that is running"
        raise ConfigError(words, argument="address")
    if not is_cluster and address is not None:
        raise ConfigError.about(
            "address", more=f"{address!r} is for the engines dask and ray, not for {name}"
        )
    if workers is not None:
        whole("workers", workers, most=MOST_WORKERS)
        if name != "processes":
            raise ConfigError.about(
                "workers", more=f"{workers} is for the engine processes, not for {name}"
            )
    if name == "processes":
        return Processes(workers)
    if name == "here":
        return Here()
    from tightrope.experiments.clusters import Dask, Ray

    assert address is not None
    return Dask(address) if name == "dask" else Ray(address)


class Here:
    """This process only, for single runs, tests and debuggers."""

    n_workers, complaint, is_busy = 1, "", False  # jobs run only in `wait`

    def __init__(self) -> None:
        self._jobs: deque[tuple[str, Job]] = deque()

    def submit(self, run: str, job: Job) -> None:
        """Queue a job; `wait` runs it."""
        self._jobs.append((run, job))

    def wait(self, seconds: float) -> list[Done]:
        """Do one job."""
        if not self._jobs:
            return []
        run, job = self._jobs.popleft()
        try:
            return [Done(run, work(job))]
        except BaseException as error:
            at_hand.pop(run, None)  # its simulation may be ahead of the counted episodes
            if isinstance(error, Exception):  # any error is recorded for its run
                return [Done(run, error)]
            raise

    def close(self) -> None:
        """Do nothing."""


class Processes:
    """Processes of this machine, by loky; a worker that dies is replaced.

    When a worker dies, loky ends the whole pool without saying which run caused it. Every run with
    a job in the pool is then a suspect: its next job runs alone in a new pool. A suspect that kills
    its worker again is the cause; one that finishes a job is cleared.
    """

    complaint = ""

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = n_workers or int(cpu_count())
        self._pool: Any = None
        self._running: dict[Future[Report], tuple[str, Any]] = {}
        self._waiting: deque[tuple[str, Job]] = deque()
        self._suspects: set[str] = set()
        self._alone: str | None = None  # suspect that runs alone in the pool

    @property
    def is_busy(self) -> bool:
        """Whether some job is not done."""
        return bool(self._running or self._waiting)

    def submit(self, run: str, job: Job) -> None:
        """Submit a job to the pool once no suspect runs alone in it."""
        self._waiting.append((run, job))
        self._start()

    def _start(self) -> None:
        """Start waiting jobs: one suspect alone, or all if there is no suspect."""
        suspect = next((each for each in self._waiting if each[0] in self._suspects), None)
        if suspect is not None:
            if not self._running:
                self._waiting.remove(suspect)
                self._alone = suspect[0]
                self._send(*suspect)
        elif self._alone is None:
            while self._waiting:
                self._send(*self._waiting.popleft())

    def _send(self, run: str, job: Job) -> None:
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if self._pool is None:
            # loky replaces workers that grow by 300 MB, as they do when they compile kernels. Its
            # warning would end the thread that replaces them where warnings are errors.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            self._pool = ProcessPoolExecutor(
                self.n_workers, timeout=None, initializer=_follow, initargs=(os.getpid(),)
            )
        try:
            self._running[self._pool.submit(work, job)] = run, self._pool
        except BrokenProcessPool:  # since the last check
            self.close()
            self._send(run, job)

    def wait(self, seconds: float) -> list[Done]:
        """Return the jobs that are done."""
        done, _ = wait_for(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        found = [self._take(future) for future in done]
        self._start()
        return found

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def _take(self, future: Future[Report]) -> Done:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        run, pool = self._running.pop(future)
        error, was_alone = future.exception(), run == self._alone
        self._alone = None
        if isinstance(error, BrokenProcessPool):
            if pool is self._pool:  # the first report of this; the next job gets a new pool
                self.close()
            self._suspects.add(run)
            return Done(run, Lost("a worker process died", was_alone))
        self._suspects.discard(run)
        if error is None:
            return Done(run, future.result())
        if isinstance(error, Exception):
            return Done(run, error)
        raise error


def _follow(scheduler: int) -> None:
    """Leave interrupts to the scheduling process, and end with it."""
    for name in ("SIGINT", "SIGHUP"):  # a terminal sends interrupts to all its processes
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == scheduler:
            time.sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
