"""Slices in processes of this machine, by loky: a worker that dies is replaced."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from threading import Thread
from typing import Any

from joblib import cpu_count

from tightrope.run.engines.engine import Done, Lost
from tightrope.run.slice import Order, Report, work

__all__ = ["Processes"]


def _follow(director: int) -> None:
    """Leave interrupts to the process that directs, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

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

    @property
    def n_workers(self) -> int:
        """Processes at work."""
        return self._n_workers

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """None."""
        return ""

    def submit(self, run: str, order: Order) -> None:
        """Give a slice to the pool."""
        if self._pool is None:
            from joblib.externals.loky import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(
                self._n_workers, timeout=None, initializer=_follow, initargs=(os.getpid(),)
            )
        self._running[self._pool.submit(work, order)] = run, self._pool

    def wait(self, seconds: float) -> list[Done]:
        """Slices that are done."""
        done, _ = wait_for(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in done]

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def _outcome(self, future: Future[Report]) -> Done:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        run, pool = self._running.pop(future)
        error = future.exception()
        if error is None:
            return Done(run, future.result())
        if isinstance(error, BrokenProcessPool):
            if pool is self._pool:  # the first to say so; the next slice gets another pool
                self.close()
            return Done(run, Lost("a worker process died"))
        if isinstance(error, Exception):
            return Done(run, error)
        raise error
