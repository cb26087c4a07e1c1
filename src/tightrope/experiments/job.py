"""A job: a part of a run, done by a worker.

A job holds everything: the spec, the model file's content where there is one, the oracle, and the
state at which to take the run up. The report holds the state at which it was left, or the finished
record. So workers share no disk, and one that dies costs the job it was at. A job done again gives
the same bits.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import factor, is_number, whole
from tightrope.compiling import CLOCK
from tightrope.errors import ModelError, StoreError
from tightrope.experiments.gym_fields import gym_runs
from tightrope.experiments.problems import simulated_model
from tightrope.experiments.rows import Row, rows_since
from tightrope.experiments.run import Run, make_run, trim_run
from tightrope.experiments.run_files import columns_of, resolved_options, types_of
from tightrope.experiments.simulate import Simulation, advance_in_slices
from tightrope.experiments.snapshot import restore, take_snapshot
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.experiments.storage import parquet
from tightrope.files import digest, packed, unpacked
from tightrope.learners.oracle import Oracle
from tightrope.model import CMDP
from tightrope.model.start import LEARNED, trim_task
from tightrope.model.task import simulated_task
from tightrope.plan.threads import limited_threads

REMEMBERED = 4  # runs that a worker keeps in memory for their next job
TICK = 0.1  # seconds between two looks at the clock
ORACLE = "truth"  # key in snapshots, kept so that those of earlier versions are read


class Job(NamedTuple):
    """A part of a run to do."""

    spec: str  # JSON
    model: bytes  # content of the model file, empty for the catalog
    episode: int  # at which to take the run up
    state: bytes  # archive from the last report, empty at the start
    seconds: float  # after which to report
    oracle: bytes = b""  # `Oracle.to_bytes` of the problem; computed by the worker if empty
    wants_rows: bool = False  # whether to report rows of the record


class Report(NamedTuple):
    """How far a run is."""

    run: str
    episode: int
    seconds: float  # of episodes so far
    state: bytes  # archive; empty when the run is finished
    result: bytes  # archive of policy and totals; empty until then
    record: bytes  # Parquet; empty until then
    compiling: float = 0.0  # seconds that this job compiled kernels in a process without a bar
    rows: tuple[Row, ...] = ()  # episodes that were recorded in this job, if wanted


@dataclass
class UnderWay:
    """A run in the memory of this worker."""

    spec: RunSpec
    cmdp: CMDP | None  # None in an environment of Gymnasium
    simulation: Any  # a Simulation, or an Interaction
    seconds: float = 0.0
    timed: int = 0  # episodes that the seconds are of
    cpu_seconds: float = 0.0  # of this process, of the same episodes
    is_warm: bool = False

    @property
    def episode(self) -> int:
        """Episodes done."""
        return int(self.simulation.episode)

    @property
    def n_recorded(self) -> int:
        """Episodes that are recorded."""
        return self.episode if self.cmdp is None else self.simulation.world.record.n_recorded

    def rows(self, first: int) -> tuple[Row, ...]:
        """Return what was recorded from place ``first`` on."""
        if self.cmdp is None:
            return tuple(self.simulation.rows(first))
        record, names = self.simulation.world.record, self.cmdp.constraint_names
        return tuple(rows_since(record, first, self.cmdp.units, names))

    @property
    def total(self) -> float:
        """Seconds of all episodes, those that were not timed taken for as long as the others."""
        return self.seconds / self._share_timed

    @property
    def cpu_total(self) -> float:
        """CPU seconds of all episodes, by the same rule."""
        return self.cpu_seconds / self._share_timed

    @property
    def _share_timed(self) -> float:
        return max(self.timed, 1) / max(self.episode, 1)


at_hand: OrderedDict[str, UnderWay] = OrderedDict()


def work(job: Job) -> Report:
    """Do one job, on one thread: there is a worker for each core.

    Parameters
    ----------
    job : Job
    """
    with limited_threads(1):
        return _work(job)


def _work(job: Job) -> Report:
    compiled_before = CLOCK.seconds
    now = _taken_up(job)
    until, first = time.monotonic() + job.seconds, now.n_recorded
    clock = time.process_time()

    def tick(done: int, size: int, seconds: float) -> bool:
        nonlocal clock
        before, clock = clock, time.process_time()
        if now.is_warm:  # the first call may have been compiling
            now.seconds, now.timed = now.seconds + seconds, now.timed + size
            now.cpu_seconds += clock - before
        now.is_warm = True
        return time.monotonic() < until

    try:
        advance_in_slices(now.simulation, now.spec.episodes, TICK, tick)
    except BaseException:
        at_hand.pop(now.spec.id, None)  # it may have stopped between two of its parts
        raise
    compiling = 0.0 if CLOCK.n_bars else CLOCK.seconds - compiled_before
    rows = now.rows(first) if job.wants_rows else ()
    state = result = record = b""
    if now.episode < now.spec.episodes:
        state = _state(now)
    else:
        at_hand.pop(now.spec.id, None)
        result, record = _finished(now)
    return Report(now.spec.id, now.episode, now.total, state, result, record, compiling, rows)


def _finished(now: UnderWay) -> tuple[bytes, bytes]:
    """Result and record of a finished run."""
    spec = now.spec
    if now.cmdp is None:
        result, record = gym_runs().store(now.simulation, spec, now.total)
        return result, record
    run = make_run(now.simulation, spec.learner, spec.seed, spec.delta, now.total)
    if spec.initial == LEARNED:
        run = trim_run(run, spec.learner)
    columns = columns_of(spec, now.cmdp, run)
    record = parquet(columns, types_of(columns))
    return _result(run, record, now.cpu_total), record


def _taken_up(job: Job) -> UnderWay:
    """The run of a job: in memory since its last job here, or restored."""
    spec = spec_of(json.loads(job.spec))
    now = at_hand.get(spec.id)
    if now is None or now.episode != job.episode:
        now = _resumed(spec, job) if job.state else _begun(spec, job)
    at_hand[spec.id] = now
    at_hand.move_to_end(spec.id)
    while len(at_hand) > REMEMBERED:
        at_hand.popitem(last=False)
    return now


def begin_run(
    spec: RunSpec,
    cmdp: CMDP,
    oracle: Oracle,
    found: tuple[float, dict[str, Any]] | None = None,
) -> Simulation:
    """The simulation that a spec means, before its first episode.

    Parameters
    ----------
    spec : RunSpec
    cmdp : CMDP
        From `simulated_model`.
    oracle : Oracle
        Of this model.
    found : (float, dict), optional
        Optimum and resolved options that the run began with, where it is resumed.
    """
    learner, optimum = spec.learner, None if found is None else found[0]
    if found is not None:
        learner = learner.from_options(found[1])
    elif spec.initial == LEARNED:
        learner = learner.begin_earlier(trim_task(simulated_task(cmdp, 1, spec.delta)))
    return Simulation(
        cmdp,
        learner.resolve(oracle),
        spec.episodes,
        oracle.optimum if optimum is None else optimum,
        spec.generator(),
        spec.delta,
        spec.confidence,
        spec.audit_visits,
        spec.average,
        spec.points,
    )


def _begun(spec: RunSpec, job: Job) -> UnderWay:
    if spec.is_gym:
        return UnderWay(spec, None, gym_runs().begin(spec))
    cmdp = simulated_model(spec, job.model)
    return UnderWay(spec, cmdp, begin_run(spec, cmdp, Oracle(cmdp, job.oracle or None)))


def _resumed(spec: RunSpec, job: Job) -> UnderWay:
    """The run at its snapshot, after every part of it was checked."""
    about, arrays = unpacked(job.state)
    if about.get("run") != spec.id:
        raise StoreError(
            f"snapshot: of run {about.get('run')}, expected {spec.id}",
            argument="snapshot",
            found=about.get("run"),
            expected=spec.id,
        )
    try:
        episode = whole("episode", about["episode"], least=0)
        seconds, timed = factor("seconds", about["seconds"]), whole("timed", about["timed"], 0)
        cpu_seconds = factor("cpu_seconds", about.get("cpu_seconds", 0.0))
        if spec.is_gym:
            run = gym_runs().resume(spec, arrays, episode)
            return UnderWay(spec, None, run, seconds, timed, cpu_seconds)
        oracle = about[ORACLE]
        if not is_number(oracle["optimum"]):
            raise ModelError.about(ORACLE, more=str(oracle))
        found = float(oracle["optimum"]), resolved_options(spec.learner, oracle)
        spec.learner.from_options(found[1])  # refuses options out of range
    except (KeyError, TypeError, ModelError) as error:
        raise StoreError(f"snapshot: corrupt: {error}").with_fields_of(error) from error
    cmdp = simulated_model(spec, job.model)
    simulation = begin_run(spec, cmdp, Oracle(cmdp, job.oracle or None), found)
    now = UnderWay(spec, cmdp, simulation, seconds, timed, cpu_seconds)
    recorded = restore(now.simulation, arrays)
    if not episode == job.episode == recorded:
        raise StoreError(
            f"snapshot: corrupt: its name says episode {episode}, its record holds {recorded}",
            argument="snapshot",
            found=episode,
            expected=str(recorded),
        )
    return now


def _state(now: UnderWay) -> bytes:
    about: dict[str, Any] = {
        "run": now.spec.id,
        "episode": now.episode,
        "seconds": now.seconds,
        "timed": now.timed,
        "cpu_seconds": now.cpu_seconds,
    }
    if now.cmdp is None:
        return packed(about, now.simulation.take_snapshot())
    options = now.simulation.agent.learner.options
    about[ORACLE] = {"optimum": now.simulation.world.optimum, "options": options}
    return packed(about, take_snapshot(now.simulation))


def _result(run: Run, record: bytes, cpu_seconds: float) -> bytes:
    about = {
        "seconds": run.seconds,
        "cpu_seconds": cpu_seconds,
        "optimum": run.optimum,
        "options": run.learner.options,
        "rho_rule": run.rho_rule,
        "first_feasible": run.first_feasible,
        "n_violations": run.n_violations,
        "plans": run.audit.plans,
        "sweeps": run.audit.sweeps,
        "first_bad": run.audit.first_bad,
        "bound_failures": run.audit.bound_failures,
        "record": digest(record),
    }
    arrays: dict[str, Any] = {
        "policy": run.policy,
        "worst_violation": run.worst_violation,
        "multiplier_range": run.audit.multiplier_range,
    }
    if run.occupancy_sum is not None:
        arrays["occupancy_sum"] = run.occupancy_sum
    if run.baseline is not None:
        arrays["baseline"] = run.baseline
    return packed(about, {name: np.asarray(array) for name, array in arrays.items()})
