"""How long this process has been compiling kernels.

Rates and times left do not count it: it happens once per machine, however long the work is.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic


@dataclass
class CompileClock:
    """A clock that runs while at least one compilation is under way."""

    total: float = 0.0  # seconds of finished compilations
    depth: int = 0  # compilations under way: a function compiles the functions it calls
    since: float = 0.0
    n_bars: int = 0  # progress bars that show it; without one, compiling is announced by a line

    @property
    def is_running(self) -> bool:
        """Whether a compilation is under way."""
        return self.depth > 0

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return self.total + (monotonic() - self.since if self.is_running else 0.0)

    def start(self) -> None:
        """Count the beginning of a compilation."""
        if not self.is_running:
            self.since = monotonic()
        self.depth += 1

    def stop(self) -> None:
        """Count the end of a compilation."""
        if self.depth == 1:
            self.total += monotonic() - self.since
        self.depth = max(self.depth - 1, 0)


COMPILING = "compiling kernels (once per machine)"
CLOCK = CompileClock()
