"""Slices on an existing Dask cluster; its workers need no disk that this machine sees."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from tightrope.errors import ModelError
from tightrope.experiments.job import Order, work
from tightrope.run.engines.engine import NOBODY, Done, EngineError, Lost

GONE = "engine dask: the scheduler is gone"


class Dask:
    """Workers of a Dask cluster.

    Parameters
    ----------
    address : str
        Of its scheduler, as in ``tcp://10.0.0.1:8786``.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ModelError(
                "engine dask: Dask is not installed; pip install 'tightrope[dask]'"
            ) from error
        # Dask logs a traceback for each connection that a dead scheduler closes
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._dask: Any = distributed
            self._client: Any = self._dask.Client(address, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            raise ModelError(f"engine dask: no scheduler answers at {address}") from error
        self._running: dict[Any, str] = {}

    @property
    def n_workers(self) -> int:
        """Threads of all workers there are now, at least one."""
        return max(1, self._count_threads())

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """That no worker is there."""
        return "" if self._count_threads() else NOBODY

    def submit(self, run: str, order: Order) -> None:
        """Give a slice to the cluster."""
        with self._connected():
            # not pure: the same slice may be ordered twice, and both times it must be done
            self._running[self._client.submit(work, order, pure=False)] = run

    def wait(self, seconds: float) -> list[Done]:
        """Slices that are done."""
        if not self._running:
            return []
        with self._connected():
            try:
                done = self._dask.wait(
                    list(self._running), timeout=seconds, return_when="FIRST_COMPLETED"
                ).done
            except TimeoutError:
                return []
            return [self._outcome(future) for future in done]

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        try:
            self._client.close()
        except Exception:  # a client without a scheduler fails in several ways
            logging.getLogger(__name__).debug("the Dask client was not closed", exc_info=True)

    def _count_threads(self) -> int:
        with self._connected():
            return int(sum(self._client.nthreads().values()))

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise an `EngineError` instead of what Dask raises without a scheduler.

        A client that lost its scheduler cancels all its futures, tries to connect again, and then
        closes itself: its methods raise errors of many kinds, or wait for the connection.
        """
        if self._client.status != "running":
            raise EngineError(GONE)
        try:
            yield
        except (CancelledError, OSError) as error:
            raise EngineError(GONE) from error
        except Exception as error:
            if self._client.status == "running":
                raise
            raise EngineError(GONE) from error

    def _outcome(self, future: Any) -> Done:
        from distributed.scheduler import KilledWorker

        run, report, error = self._running[future], None, None
        if future.status == "error":
            error = future.exception()
        elif future.status == "finished":
            try:
                report = future.result()
            except (CancelledError, OSError):
                raise
            except Exception as failed:  # noqa: BLE001 - of the work, done again for its result
                error = failed
        if self._client.status != "running":
            raise EngineError(GONE)
        del self._running[future]
        if report is not None:
            return Done(run, report)
        if isinstance(error, Exception) and not isinstance(error, KilledWorker):
            return Done(run, error)
        return Done(run, Lost("its worker died"))
