"""Carrying out a study: slices to workers, states to disk, until every run is finished.

The process that directs is the only one that writes. Each run it touches is locked; its state goes
to disk every so often, whole, so that whatever dies costs at most that long.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tightrope.arrays import whole
from tightrope.errors import ModelError, StoreError, TightropeError
from tightrope.experiments.job import Order, Report
from tightrope.experiments.spec import RunSpec
from tightrope.files import packed
from tightrope.run.engines.engine import Done, Engine, Lost
from tightrope.run.interrupts import uninterrupted
from tightrope.run.outcome import Outcome, Pace
from tightrope.run.study import Study
from tightrope.run.versions import changes, versions
from tightrope.store.folder import RunFolder
from tightrope.store.lock import BusyError

LOAD = 2e6  # bytes of state for each second of a slice
MOST_LOSSES = 5  # in a row, of one run's slices, before it is given up


@dataclass
class Active:
    """A run under way."""

    spec: RunSpec
    folder: RunFolder
    lock: AbstractContextManager[None]
    model: bytes = b""
    state: bytes = b""
    episode: int = 0
    on_disk: int = 0  # episode of the newest snapshot
    kept_at: float = field(default_factory=time.monotonic)
    losses: int = 0


def carry_out(
    study: Study,
    engine: Engine,
    pace: Pace | None = None,
    progress: Callable[[Outcome, dict[str, int]], None] | None = None,
) -> Outcome:
    """Finish every run of a study that is not finished.

    Parameters
    ----------
    study : Study
        What to do and where to keep it.
    engine : Engine
        Who does it.
    pace : Pace, optional
        How often there is news.
    progress : callable, optional
        Called now and then with the outcome so far and, by run, the episodes of those under way.

    Raises
    ------
    StoreError
        When something cannot be written; what was written stays sound.
    KeyboardInterrupt
        After the runs under way were put on disk.
    """
    direction = Direction(study, engine, pace or Pace(), progress or (lambda _, __: None))
    try:
        direction.go()
    except KeyboardInterrupt:
        direction.settle()
        raise
    except Exception:
        direction.keep()  # whatever it was, the states at hand are sound
        raise
    finally:
        direction.let_go()
    return direction.outcome


class Direction:
    """One process that directs a study.

    Parameters
    ----------
    study : Study
    engine : Engine
    pace : Pace
    progress : callable
    """

    def __init__(
        self,
        study: Study,
        engine: Engine,
        pace: Pace,
        progress: Callable[[Outcome, dict[str, int]], None],
    ) -> None:
        self.study, self.engine, self.pace, self.progress = study, engine, pace, progress
        self.waiting = deque(study.pending())
        self.outcome = Outcome(finished=len(study.specs()) - len(self.waiting))
        self.active: dict[str, Active] = {}
        self.compiled: set[str] = set()

    def go(self) -> None:
        """Until nothing is waiting and nothing under way."""
        while self.waiting or self.active:
            for spec in self._next():
                self._begin(spec)
            if not self.active:
                continue
            for done in self.engine.wait(0.5):
                self._take(done)
            self.progress(self.outcome, {run: now.episode for run, now in self.active.items()})

    def settle(self) -> None:
        """Put every run under way on disk, with what its last slice brings in time."""
        with uninterrupted():  # impatience after this costs the last slice, no more
            self.keep()
        until = time.monotonic() + 2 * self.pace.slice + 1
        while self.engine.is_busy and time.monotonic() < until:
            for done in self.engine.wait(0.5):
                now = self.active[done.run]
                if isinstance(done.outcome, Report):
                    self._advance(now, done.outcome)
        for now in list(self.active.values()):
            self._keep(now)
            now.folder.log(f"stopped at episode {now.on_disk}")

    def keep(self) -> None:
        """Put the newest states of all runs under way on disk."""
        for now in self.active.values():
            self._keep(now)

    def let_go(self) -> None:
        """Unlock what is still locked."""
        for now in self.active.values():
            now.lock.__exit__(None, None, None)
        self.active.clear()

    def _next(self) -> Iterator[RunSpec]:
        """Runs to begin now: enough to keep the workers busy, and the first of a kind alone.

        Workers of one machine share what is compiled, so one compiles and the others of its kind
        wait for it.
        """
        room = self.engine.n_workers + 1 - len(self.active)
        busy = {kind_of(now.spec) for now in self.active.values()} - self.compiled
        for _ in range(len(self.waiting)):
            if room <= 0:
                return
            spec = self.waiting.popleft()
            if kind_of(spec) in busy:
                self.waiting.append(spec)
                continue
            if kind_of(spec) not in self.compiled:
                busy.add(kind_of(spec))
            room -= 1
            yield spec

    def _begin(self, spec: RunSpec) -> None:
        folder = self.study.folder(spec)
        lock = folder.held()
        try:
            lock.__enter__()
        except BusyError:
            self.outcome.elsewhere.append(spec.id)
            return
        if folder.is_finished:  # by another process meanwhile
            lock.__exit__(None, None, None)
            self.outcome.finished += 1
            return
        now = Active(spec, folder, lock)
        self.active[spec.id] = now
        folder.begin(spec.to_json(indent=1), versions())
        try:
            now.model = self.study.model(spec)
            found = folder.newest()
            episode = 0 if found is None else whole("snapshot: episode", found[0].get("episode"), 0)
        except (StoreError, ModelError) as error:  # this run needs a person; the others do not
            self._give_up(now, str(error))
            return
        if found is not None:
            about, arrays = found
            now.state, now.episode = packed(about, arrays), episode
            now.on_disk = now.episode
            self.outcome.taken_up += now.episode
            differs = changes(folder.made_by, versions())
            if differs:
                self.outcome.versions[spec.id] = differs
            by = f" by other versions: {differs}" if differs else ""
            folder.log(f"taken up at episode {now.episode}{by}")
        else:
            folder.log("begun")
        self._order(now)

    def _order(self, now: Active) -> None:
        # a large state takes its time to travel, so that it travels less often
        seconds = max(self.pace.slice, min(len(now.state) / LOAD, self.pace.snapshot))
        order = Order(now.spec.to_json(), now.model, now.episode, now.state, seconds)
        self.engine.submit(now.spec.id, order)

    def _take(self, done: Done) -> None:
        now = self.active[done.run]
        if isinstance(done.outcome, Report):
            now.losses = 0
            self.compiled.add(kind_of(now.spec))
            if self._advance(now, done.outcome):
                return
            if time.monotonic() - now.kept_at >= self.pace.snapshot:
                self._keep(now)
            self._order(now)
        elif isinstance(done.outcome, Lost):
            now.losses += done.outcome.is_blamed
            now.folder.log(f"lost the slice after episode {now.episode}: {done.outcome.why}")
            if now.losses < MOST_LOSSES:
                self._order(now)
            else:
                self._give_up(now, f"{done.outcome.why}, {now.losses} times in a row")
        else:
            self._give_up(now, words_of(done.outcome))

    def _advance(self, now: Active, report: Report) -> bool:
        """Take a report in; whether the run is finished."""
        self.outcome.episodes += report.episode - now.episode
        now.episode, now.state = report.episode, report.state
        if not report.record:
            return False
        now.folder.finish(report.result, report.record)
        now.folder.log(f"finished {report.episode} episodes in {report.seconds:.3f} s of work")
        self.outcome.finished += 1
        self._release(now)
        return True

    def _keep(self, now: Active) -> None:
        if now.state and now.episode > now.on_disk:
            now.folder.keep(now.episode, now.state)
            now.on_disk = now.episode
        now.kept_at = time.monotonic()

    def _give_up(self, now: Active, why: str) -> None:
        self._keep(now)
        now.folder.log(f"failed: {why}")
        self.outcome.failed[now.spec.id] = why
        self._release(now)

    def _release(self, now: Active) -> None:
        now.lock.__exit__(None, None, None)
        del self.active[now.spec.id]


def kind_of(spec: RunSpec) -> str:
    """What decides which kernels a run needs."""
    return f"{spec.algorithm} {'l1' in spec.confidence.transition}"


def words_of(error: Exception) -> str:
    """An error in a line; its kind too, where it is not ours."""
    words = str(error).splitlines()[0] if str(error) else ""
    return words if isinstance(error, TightropeError) else f"{type(error).__name__}: {words}"
