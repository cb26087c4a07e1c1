"""Slices on an existing Dask cluster; its workers need no disk that this machine sees."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from tightrope.errors import ModelError
from tightrope.run.engines.engine import NOBODY, Done, EngineError, Lost
from tightrope.run.slice import Order, work

__all__ = ["Dask"]


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
        try:
            self._dask: Any = distributed
            self._client: Any = self._dask.Client(address, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            raise ModelError(f"engine dask: no scheduler answers at {address}") from error
        self._running: dict[Any, str] = {}

    @property
    def n_workers(self) -> int:
        """Threads of all workers there are now, at least one."""
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """That no worker is there."""
        return "" if self._client.nthreads() else NOBODY

    def submit(self, run: str, order: Order) -> None:
        """Give a slice to the cluster."""
        # not pure: the same slice may be ordered twice, and both times it must be done
        self._running[self._client.submit(work, order, pure=False)] = run

    def wait(self, seconds: float) -> list[Done]:
        """Slices that are done."""
        if not self._running:
            return []
        try:
            done = self._dask.wait(
                list(self._running), timeout=seconds, return_when="FIRST_COMPLETED"
            ).done
        except TimeoutError:
            return []
        except (CancelledError, OSError) as error:
            raise EngineError("engine dask: the scheduler is gone") from error
        return [self._outcome(future) for future in done]

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._client.close()

    def _outcome(self, future: Any) -> Done:
        from distributed.scheduler import KilledWorker

        run = self._running.pop(future)
        if future.status == "finished":
            return Done(run, future.result())
        error = future.exception() if future.status == "error" else None
        if isinstance(error, Exception) and not isinstance(error, KilledWorker):
            return Done(run, error)
        return Done(run, Lost("its worker died"))
