"""Slices in processes of this machine, by loky: a worker that dies is replaced.

When a worker dies, loky ends the whole pool, and nothing says which run was to blame. Every run
that had a slice in the pool is then a suspect: its next slice runs alone in a new pool. A suspect
that kills its worker again is to blame; one that finishes a slice is cleared.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from threading import Thread
from typing import Any

from joblib import cpu_count

from tightrope.experiments.job import Order, Report, work
from tightrope.run.engines.engine import Done, Lost


def _follow(director: int) -> None:
    """Leave interrupts to the process that directs, and end when it does."""
    for name in ("SIGINT", "SIGHUP"):  # a terminal sends them to all its processes
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == director:
            time.sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class Processes:
    """A pool of processes.

    Parameters
    ----------
    n_workers : int, optional
        How many; as many as this process may use by default.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self._n_workers = n_workers or int(cpu_count())
        self._pool: Any = None
        self._running: dict[Future[Report], tuple[str, Any]] = {}
        self._waiting: deque[tuple[str, Order]] = deque()
        self._suspects: set[str] = set()
        self._alone: str | None = None  # suspect that has the pool to itself

    @property
    def n_workers(self) -> int:
        """Processes at work."""
        return self._n_workers

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._running or self._waiting)

    @property
    def complaint(self) -> str:
        """None."""
        return ""

    def submit(self, run: str, order: Order) -> None:
        """Give a slice to the pool, as soon as no suspect has it to itself."""
        self._waiting.append((run, order))
        self._start()

    def _start(self) -> None:
        """Start what is waiting: one suspect alone, or everything if there is no suspect."""
        suspect = next((each for each in self._waiting if each[0] in self._suspects), None)
        if suspect is not None:
            if not self._running:
                self._waiting.remove(suspect)
                self._alone = suspect[0]
                self._send(*suspect)
        elif self._alone is None:
            while self._waiting:
                self._send(*self._waiting.popleft())

    def _send(self, run: str, order: Order) -> None:
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._n_workers, timeout=None, initializer=_follow, initargs=(os.getpid(),)
            )
        try:
            self._running[self._pool.submit(work, order)] = run, self._pool
        except BrokenProcessPool:  # since the last look at it
            self.close()
            self._send(run, order)

    def wait(self, seconds: float) -> list[Done]:
        """Slices that are done."""
        done, _ = wait_for(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        found = [self._outcome(future) for future in done]
        self._start()
        return found

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def _outcome(self, future: Future[Report]) -> Done:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        run, pool = self._running.pop(future)
        error, was_alone = future.exception(), run == self._alone
        self._alone = None
        if isinstance(error, BrokenProcessPool):
            if pool is self._pool:  # the first to say so; the next slice gets another pool
                self.close()
            self._suspects.add(run)
            return Done(run, Lost("a worker process died", was_alone))
        self._suspects.discard(run)
        if error is None:
            return Done(run, future.result())
        if isinstance(error, Exception):
            return Done(run, error)
        raise error
