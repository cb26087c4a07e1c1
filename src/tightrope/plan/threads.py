"""Threads of a solve: the states of each stage of a large model are shared among them.

The compiled loop of column generation asks for best responses and evaluations by address, and gets
them from a `Crew`, which runs compiled blocks of states on threads of Python. A block lets other
threads run; a stage starts when the one after it is done. Whether a model is large depends on its
size alone, so that results are the same for any number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import numpy as np
from numba.core import config as numba_config

from tightrope.arrays import Floats, Ints, Large, Problem, Transitions, whole
from tightrope.kernels.large import choose_block, evaluate_block
from tightrope.kernels.rows import stage
from tightrope.kernels.scratch import desk
from tightrope.model.choices import Choices

LEAST_ENTRIES = 500_000  # of a stage; with fewer, waiting for each other takes longer than it saves
MOST_THREADS = 1024
HOST = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
config: Any = numba_config  # without types

_crews: dict[int, Crew] = {}
_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


@contextmanager
def limited_threads(n: int | None) -> Iterator[None]:
    """Use at most that many threads in solves within this block; None changes nothing.

    Examples
    --------
    >>> with limited_threads(1):
    ...     count_threads()
    1
    """
    before = _n_threads.set(_n_threads.get() if n is None else whole("threads", n, 1, MOST_THREADS))
    try:
        yield
    finally:
        _n_threads.reset(before)


def count_threads() -> int:
    """Return the number of threads: ``NUMBA_NUM_THREADS``, by default all cores, unless limited."""
    return _n_threads.get() or int(config.NUMBA_NUM_THREADS)


def is_large(problem: Problem) -> bool:
    """Whether threads share the stages of a problem."""
    p = problem.kernels
    return isinstance(p, Transitions) and p.indices.shape[1] >= LEAST_ENTRIES


def evaluate_large(problem: Problem, policy: Choices, ranges: Floats | None = None) -> Floats:
    """Return cost and constraint values of a policy of a large model, (I+1,), see `Crew`."""
    with shared_stages(problem, len(policy.actions)) as shared:
        kernels = shared.kernels
        assert isinstance(kernels, Large)
        return crew_of(kernels).evaluate(policy, ranges)


@contextmanager
def shared_stages(problem: Problem, horizon: int) -> Iterator[Problem]:
    """Have threads compute a problem's stages within this block, if it is large.

    Arrays of the problem other than its budgets must not be replaced.
    """
    if not is_large(problem):
        yield problem
        return
    crew = Crew(problem, horizon, count_threads())
    _crews[crew.kernels.key] = crew
    try:
        yield problem._replace(kernels=crew.kernels)
    finally:
        del _crews[crew.kernels.key]
        crew.close()


def raise_failure(kernels: Any) -> None:
    """Raise what stopped a call by the compiled loop, an interrupt for example."""
    if isinstance(kernels, Large):
        failure = crew_of(kernels).failure
        if failure is not None:
            raise failure


def crew_of(kernels: Large) -> Crew:
    """Return the crew of a large kernel."""
    return _crews[kernels.key]


class Crew:
    """Threads that compute the stages of one problem."""

    def __init__(self, problem: Problem, horizon: int, n_threads: int) -> None:
        self.problem, self.H = problem, horizon
        _, self.S, self.A = problem.cost.shape
        self.edges = np.linspace(0, self.S, n_threads + 1).astype(np.int64).tolist()
        self.pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None
        self.values = np.empty((2, self.S))
        self.totals = np.empty((2, self.S, problem.budget.size + 1))
        self.order, self.work = np.zeros(0, dtype=np.uint32), desk(1)  # known rows read neither
        self.mail = np.zeros(4, dtype=np.int64)
        self.failure: BaseException | None = None
        self._hosts = HOST(self._sweep), HOST(self._evaluate)  # as long as their addresses are used
        indptr, indices, data = problem.kernels[:3]
        sweep, evaluate = map(_call, self._hosts)
        self.kernels = Large(indptr, indices, data, id(self), self.mail, sweep, evaluate)

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown()

    def respond(self, loss: Floats, choice: Ints) -> Floats:
        """Write a best policy (H, S) for a loss (G, S, A); return its values from the start."""
        for h in range(self.H - 1, -1, -1):
            at = stage(self.problem.kernels, min(h, len(self.problem.kernels.indptr) - 1))
            r, after, now = loss[min(h, len(loss) - 1)], *self._rows(self.values, h)
            made = at, r, h == self.H - 1, after, self.order, self.work
            self._share(_block(choose_block, made, (now, choice[h])))
        found: Floats = self.values[0]
        return found

    def evaluate(self, policy: Choices, ranges: Floats | None = None) -> Floats:
        """Return cost and constraint values of a policy, (I+1,).

        ``ranges`` (n, I+1) is written with the range of values to go over the actions that are
        mixed, in each of the n places where the policy randomizes.
        """
        H, S = policy.actions.shape
        if ranges is None:
            ranges = np.empty((policy.mixed.size, self.totals.shape[2]))
        firsts = np.searchsorted(policy.mixed, np.arange(H + 1) * S)
        for h in range(H - 1, -1, -1):
            after, now = self._rows(self.totals, h)
            self._share(_block(evaluate_block, self._made(h, after, policy.actions[h]), (now,)))
            if firsts[h] < firsts[h + 1]:
                places = slice(firsts[h], firsts[h + 1])
                self._mix(h, policy, places, after, now, ranges[places])
        found = np.zeros(self.totals.shape[2])
        for s in np.flatnonzero(self.problem.initial):
            found += self.problem.initial[s] * self.totals[0, s]
        return found

    def _rows(self, buffer: Floats, h: int) -> tuple[Floats, Floats]:
        """Return values of the next stage and room for those of this one, never copied."""
        return buffer[(h + 1) % 2], buffer[h % 2]

    def _made(self, h: int, after: Floats, actions: Ints) -> tuple[Any, ...]:
        of = self.problem
        at = stage(of.kernels, min(h, len(of.kernels.indptr) - 1))
        cost = of.cost[min(h, len(of.cost) - 1)]
        constraint_cost = of.constraint_cost[:, min(h, of.constraint_cost.shape[1] - 1)]
        return at, cost, constraint_cost, h == self.H - 1, after, actions

    def _mix(
        self, h: int, policy: Choices, places: slice, after: Floats, now: Floats, ranges: Floats
    ) -> None:
        """Write the values of states in which the policy randomizes, and their ranges."""
        actions = policy.actions[h].copy()
        evaluate = _block(evaluate_block, self._made(h, after, actions), (now,))
        mixed = zip(policy.mixed[places] % self.S, policy.shares[places], ranges, strict=True)
        for s, shares, spread in mixed:
            total = np.zeros(now.shape[1])
            least, most = np.full((2, total.size), ([np.inf], [-np.inf]))
            for a in np.flatnonzero(shares):
                actions[s] = a
                evaluate(int(s), int(s) + 1)
                total += shares[a] * now[s]
                least, most = np.minimum(least, now[s]), np.maximum(most, now[s])
            now[s] = total
            spread[:] = most - least

    def _share(self, block: Callable[[int, int], None]) -> None:
        """Run a block of states on each thread."""
        first, *others = pairwise(self.edges)
        running = [self.pool.submit(block, *each) for each in others] if self.pool else []
        try:
            block(*first)
        finally:
            errors = [each.exception() for each in running]
        for error in filter(None, errors):
            raise error

    def _sweep(self, _: Any) -> int:
        """Answer `large.respond`."""

        def answer() -> None:
            loss, G, V, choice = map(int, self.mail)
            values = _floats(V, (self.S,))
            values[:] = self.respond(_floats(loss, (G, self.S, self.A)), self._policy(choice))

        return self._guard(answer)

    def _evaluate(self, _: Any) -> int:
        """Answer `large.tally`."""

        def answer() -> None:
            point = _floats(int(self.mail[1]), (self.totals.shape[2],))
            point[:] = self.evaluate(Choices.pure(self._policy(int(self.mail[0])), self.A))

        return self._guard(answer)

    def _policy(self, address: int) -> Ints:
        found: Ints = _array(address, ctypes.c_int16, (self.H, self.S))
        return found

    def _guard(self, answer: Callable[[], None]) -> int:
        """Keep an error for `raise_failure`: it cannot pass through compiled code."""
        if self.failure is None:
            try:
                answer()
            except BaseException as error:  # noqa: BLE001  # an interrupt too
                self.failure = error
        return 0


def _call(host: Any) -> tuple[Any, Any]:
    if config.DISABLE_JIT:
        return host, 0
    return ctypes.cast(host, ctypes.c_void_p).value, 0


def _block(
    kernel: Any, made: tuple[Any, ...], written: tuple[Any, ...]
) -> Callable[[int, int], None]:
    return lambda start, stop: kernel(*made, start, stop, *written)


def _array(address: int, kind: Any, shape: tuple[int, ...]) -> Any:
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), shape)


def _floats(address: int, shape: tuple[int, ...]) -> Floats:
    found: Floats = _array(address, ctypes.c_double, shape)
    return found
