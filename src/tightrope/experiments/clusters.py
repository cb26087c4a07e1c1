"""Engines on an existing Dask or Ray cluster; no shared disk is needed."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tightrope.errors import DependencyError, EngineError
from tightrope.experiments.engines import Done, Lost
from tightrope.experiments.job import Job, work

NO_WORKER = "the cluster has no workers yet"
GONE = "engine dask: the scheduler stopped"
PATIENCE = 10.0  # seconds in which a running head accepts a connection


class Dask:
    """Workers of the Dask cluster with a scheduler at an address such as ``tcp://10.0.0.1:8786``."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            words = "engine dask: Dask is not installed; pip install 'tightrope[dask]'"
            raise DependencyError(words, argument="engine", found="dask") from error
        # Dask logs a traceback for each connection that a dead scheduler closes
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._dask: Any = distributed
            self._client: Any = self._dask.Client(address, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            words = f"engine dask: no scheduler responds at {address}"
            raise EngineError(words, argument="address", found=address) from error
        self._running: dict[Any, str] = {}

    @property
    def n_workers(self) -> int:
        """Number of threads of all current workers, at least one."""
        return max(1, self._count_threads())

    @property
    def is_busy(self) -> bool:
        """Whether some job is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """A message if there is no worker."""
        return "" if self._count_threads() else NO_WORKER

    def submit(self, run: str, job: Job) -> None:
        """Submit a job to the cluster."""
        with self._raise_if_disconnected():
            # not pure: a job that is sent twice must run twice
            self._running[self._client.submit(work, job, pure=False)] = run

    def wait(self, seconds: float) -> list[Done]:
        """Return the jobs that are done."""
        if not self._running:
            return []
        with self._raise_if_disconnected():
            try:
                done = self._dask.wait(
                    list(self._running), timeout=seconds, return_when="FIRST_COMPLETED"
                ).done
            except TimeoutError:
                return []
            return [self._take(future) for future in done]

    def close(self) -> None:
        """Disconnect; the cluster keeps running."""
        try:
            self._client.close()
        except Exception:  # without a scheduler, clients fail in several ways
            logging.getLogger(__name__).debug("the Dask client was not closed", exc_info=True)

    def _count_threads(self) -> int:
        with self._raise_if_disconnected():
            return int(sum(self._client.nthreads().values()))

    @contextmanager
    def _raise_if_disconnected(self) -> Iterator[None]:
        """Raise an `EngineError` instead of the errors of Dask without a scheduler.

        A client that lost its scheduler cancels all its futures, tries to reconnect, and then
        closes: its methods raise various errors, or wait for the connection.
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

    def _take(self, future: Any) -> Done:
        from distributed.scheduler import KilledWorker

        run, report, error = self._running[future], None, None
        if future.status == "error":
            error = future.exception()
        elif future.status == "finished":
            try:
                report = future.result()
            except (CancelledError, OSError):
                raise
            except Exception as failed:  # noqa: BLE001 - an error of the job itself
                error = failed
        if self._client.status != "running":
            raise EngineError(GONE)
        del self._running[future]
        if report is not None:
            return Done(run, report)
        if isinstance(error, Exception) and not isinstance(error, KilledWorker):
            return Done(run, error)
        return Done(run, Lost("its worker died"))


class Ray:
    """Workers of the Ray cluster with a head at an address: ``10.0.0.1:6379``, or ``auto``."""

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError as error:
            words = "engine ray: Ray is not installed; pip install 'tightrope[ray]'"
            raise DependencyError(words, argument="engine", found="ray") from error
        _require_answer(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise _no_cluster(address) from error
        self._ray: Any = ray
        # a job whose worker died is sent again by the scheduler, not by Ray
        self._work: Any = ray.remote(max_retries=0)(work)
        self._running: dict[Any, str] = {}
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head, self._is_gone = (host, int(port)), False

    @property
    def n_workers(self) -> int:
        """Processors of the cluster, at least one."""
        return max(1, int(self._ask(self._ray.cluster_resources).get("CPU", 1)))

    @property
    def is_busy(self) -> bool:
        """Whether some job is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """A message if there is no worker."""
        return "" if self._ask(self._ray.cluster_resources).get("CPU") else NO_WORKER

    def submit(self, run: str, job: Job) -> None:
        """Submit a job to the cluster."""
        self._require_head()
        self._running[self._work.remote(job)] = run

    def wait(self, seconds: float) -> list[Done]:
        """Return the jobs that are done."""
        if not self._running:
            return []
        self._require_head()
        waiting = list(self._running)
        done, _ = self._ray.wait(waiting, num_returns=1, timeout=seconds)
        more, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [self._take(reference) for reference in {*done, *more}]

    def close(self) -> None:
        """Disconnect; the cluster keeps running."""
        if not self._is_gone:  # no head to disconnect from
            self._ray.shutdown()

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Return an answer of the head, asked in a thread because Ray waits for a lost head."""
        answers: Queue[Any] = Queue(1)

        def ask() -> None:
            try:
                answers.put(question())
            except Exception as error:  # noqa: BLE001 - raised again by the caller
                answers.put(error)

        Thread(target=ask, daemon=True).start()
        while True:
            try:
                answer = answers.get(timeout=0.5)
            except Empty:
                self._require_head()
                continue
            if isinstance(answer, Exception):
                self._require_head()
                raise EngineError(f"engine ray: the cluster does not respond: {answer}")
            return answer

    def _require_head(self) -> None:
        """Raise if the head is gone, before Ray waits a minute for it and ends the process."""
        try:
            with socket.create_connection(self._head, timeout=PATIENCE):
                pass
        except OSError as error:
            self._is_gone = True
            raise EngineError("engine ray: the head stopped") from error

    def _take(self, reference: Any) -> Done:
        run = self._running.pop(reference)
        lost = (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.NodeDiedError)
        try:
            return Done(run, self._ray.get(reference))
        except lost as error:
            return Done(run, Lost(f"its worker died ({type(error).__name__})"))
        except self._ray.exceptions.RayTaskError as error:
            return Done(run, error.cause if isinstance(error.cause, Exception) else error)
        except self._ray.exceptions.RayError as error:
            return Done(run, Lost(str(error).splitlines()[0]))


def _require_answer(address: str) -> None:
    """Check that a head given by host and port accepts connections; Ray would wait for it."""
    host, _, port = address.rpartition(":")
    if "//" in address or not port.isdecimal():
        return
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            pass
    except OSError as error:
        raise _no_cluster(address) from error


def _no_cluster(address: str) -> EngineError:
    words = f"engine ray: no cluster responds at {address}"
    return EngineError(words, argument="address", found=address)
