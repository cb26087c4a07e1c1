"""Slices on an existing Ray cluster; its workers need no disk that this machine sees."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tightrope.errors import ModelError
from tightrope.experiments.job import Order, work
from tightrope.run.engines.engine import NOBODY, Done, EngineError, Lost

PATIENCE = 10.0  # seconds in which a head that is there takes a connection


class Ray:
    """Workers of a Ray cluster.

    Parameters
    ----------
    address : str
        Of its head, as in ``10.0.0.1:6379``, or ``auto``.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError as error:
            raise ModelError(
                "engine ray: Ray is not installed; pip install 'tightrope[ray]'"
            ) from error
        _require_answer(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise ModelError(f"engine ray: no cluster answers at {address}") from error
        self._ray: Any = ray
        # what a worker's death costs is ordered again by whoever directs, not by Ray
        self._work: Any = ray.remote(max_retries=0)(work)
        self._running: dict[Any, str] = {}
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head, self._is_gone = (host, int(port)), False

    @property
    def n_workers(self) -> int:
        """Processors of the cluster, at least one."""
        return max(1, int(self._asked(self._ray.cluster_resources).get("CPU", 1)))

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._running)

    @property
    def complaint(self) -> str:
        """That no worker is there."""
        return "" if self._asked(self._ray.cluster_resources).get("CPU") else NOBODY

    def submit(self, run: str, order: Order) -> None:
        """Give a slice to the cluster."""
        self._require_head()
        self._running[self._work.remote(order)] = run

    def wait(self, seconds: float) -> list[Done]:
        """Slices that are done."""
        if not self._running:
            return []
        self._require_head()
        waiting = list(self._running)
        done, _ = self._ray.wait(waiting, num_returns=1, timeout=seconds)
        more, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [self._outcome(reference) for reference in {*done, *more}]

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        if not self._is_gone:  # there is nobody to say goodbye to
            self._ray.shutdown()

    def _asked(self, question: Callable[[], Any]) -> Any:
        """What the head answers; asked aside, because Ray waits for a head that is gone."""
        answers: Queue[Any] = Queue(1)

        def ask() -> None:
            try:
                answers.put(question())
            except Exception as error:  # noqa: BLE001 - raised where it was asked
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
                raise EngineError(f"engine ray: the cluster does not answer: {answer}")
            return answer

    def _require_head(self) -> None:
        """Notice that the head is gone before Ray waits a minute for it and ends the process."""
        try:
            with socket.create_connection(self._head, timeout=PATIENCE):
                pass
        except OSError as error:
            self._is_gone = True
            raise EngineError("engine ray: the head is gone") from error

    def _outcome(self, reference: Any) -> Done:
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
    """Ask a head given by host and port whether it is there; Ray itself would wait and wait."""
    host, _, port = address.rpartition(":")
    if "//" in address or not port.isdecimal():
        return
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            pass
    except OSError as error:
        raise ModelError(f"engine ray: no cluster answers at {address}") from error
