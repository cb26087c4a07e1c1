"""Slices in this process, one after the other: for one run, for tests, for debuggers."""

from __future__ import annotations

from tightrope.experiments.job import Order, work
from tightrope.run.engines.engine import Done


class Here:
    """No workers but this process."""

    def __init__(self) -> None:
        self._orders: list[tuple[str, Order]] = []

    @property
    def n_workers(self) -> int:
        """One."""
        return 1

    @property
    def is_busy(self) -> bool:
        """Whether some slice is not done."""
        return bool(self._orders)

    @property
    def complaint(self) -> str:
        """None."""
        return ""

    def submit(self, run: str, order: Order) -> None:
        """Note a slice; `wait` does it."""
        self._orders.append((run, order))

    def wait(self, seconds: float) -> list[Done]:
        """Do one slice."""
        if not self._orders:
            return []
        run, order = self._orders.pop(0)
        try:
            return [Done(run, work(order))]
        except Exception as error:  # noqa: BLE001 - whatever a run raises belongs to that run
            return [Done(run, error)]

    def close(self) -> None:
        """Nothing to let go."""
