"""A slice of a run: what a worker does between two words with whoever directs it.

An order holds everything: the spec, the model file's content where there is one, and the state at
which to take the run up. The report holds the state at which it was left, or the finished record.
So workers share no disk, and one that dies costs the slice it was at. A slice done again gives the
same bits.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from tightrope.archive import digest, packed, unpacked
from tightrope.errors import ModelError, StoreError
from tightrope.estimate.confidence import Confidence
from tightrope.experiments.problems import model_of
from tightrope.experiments.run_files import columns_of, types_of
from tightrope.experiments.storage import parquet
from tightrope.learners.algorithms import learner_named
from tightrope.model import CMDP
from tightrope.model.scalars import factor, is_number, positive, whole
from tightrope.run.result import Run, run_of
from tightrope.run.setting import Setting, Truth, truth_of
from tightrope.run.simulation import Simulation, begin
from tightrope.run.spec import RunSpec, spec_of
from tightrope.run.state import restore, state_of

REMEMBERED = 4  # runs that a worker keeps at hand for their next slice
TICK = 0.1  # seconds between two looks at the clock


class Order(NamedTuple):
    """One slice to do."""

    spec: str  # JSON
    model: bytes  # content of the model file, empty for the catalogue
    episode: int  # at which to take the run up
    state: bytes  # archive from the last report, empty at the start
    seconds: float  # after which to report


class Report(NamedTuple):
    """How far a run is."""

    run: str
    episode: int
    seconds: float  # of episodes so far
    state: bytes  # archive; empty when the run is finished
    result: bytes  # archive of policy and totals; empty until then
    record: bytes  # Parquet; empty until then


@dataclass
class UnderWay:
    """A run at hand on this worker."""

    spec: RunSpec
    cmdp: CMDP
    setting: Setting
    truth: Truth
    simulation: Simulation
    episode: int
    seconds: float
    timed: int  # episodes that the seconds are of
    is_warm: bool = False

    @property
    def total(self) -> float:
        """Seconds of all episodes, those that were not timed taken for as long as the others."""
        return self.seconds * self.episode / max(self.timed, 1)


at_hand: OrderedDict[str, UnderWay] = OrderedDict()


def work(order: Order) -> Report:
    """Do one slice of a run.

    Parameters
    ----------
    order : Order
    """
    now = _taken_up(order)
    until, n_episodes = time.monotonic() + order.seconds, now.setting.n_episodes
    size = 1
    while now.episode < n_episodes and (time.monotonic() < until or size == 1):
        size = min(size, n_episodes - now.episode)
        start = time.perf_counter()
        now.simulation.advance(size)
        took = max(time.perf_counter() - start, 1e-9)
        now.episode += size
        if now.is_warm:  # the first call may have been compiling
            now.seconds, now.timed = now.seconds + took, now.timed + size
        now.is_warm = True
        size = max(2, int(size * min(10.0, TICK / took)))
    if now.episode < n_episodes:
        return Report(now.spec.id, now.episode, now.total, _state(now), b"", b"")
    at_hand.pop(now.spec.id, None)
    run = run_of(now.simulation, now.setting, now.truth, now.spec.seed, now.total)
    columns = columns_of(now.spec, now.cmdp, run)
    record = parquet(columns, types_of(columns))
    return Report(now.spec.id, now.episode, now.total, b"", _result(run, record), record)


def setting_of(spec: RunSpec, cmdp: CMDP) -> Setting:
    """The setting that a spec means for its model.

    Parameters
    ----------
    spec : RunSpec
    cmdp : CMDP
        From `models.model_of`.
    """
    return Setting(
        cmdp,
        learner_named(spec.algorithm),
        spec.episodes,
        spec.delta,
        Confidence(**spec.confidence),
        spec.options,
        spec.audit_visits,
        spec.points,
    )


def _taken_up(order: Order) -> UnderWay:
    """The run where the order has it: at hand from its last slice here, or restored."""
    spec = spec_of(json.loads(order.spec))
    now = at_hand.get(spec.id)
    if now is None or now.episode != order.episode:
        now = _resumed(spec, order) if order.state else _begun(spec, order.model)
    at_hand[spec.id] = now
    at_hand.move_to_end(spec.id)
    while len(at_hand) > REMEMBERED:
        at_hand.popitem(last=False)
    return now


def _begun(spec: RunSpec, model: bytes, truth: Truth | None = None) -> UnderWay:
    cmdp = model_of(spec, model)
    setting = setting_of(spec, cmdp)
    truth = truth_of(cmdp, setting.learner, spec.rho) if truth is None else truth
    simulation = begin(setting, truth, spec.generator())
    return UnderWay(spec, cmdp, setting, truth, simulation, 0, 0.0, 0)


def _resumed(spec: RunSpec, order: Order) -> UnderWay:
    """The run at its snapshot, after every part of it was checked."""
    about, arrays = unpacked(order.state)
    if about.get("run") != spec.id:
        raise StoreError(f"snapshot: of run {about.get('run')}, expected {spec.id}")
    try:
        truth = Truth(**about["truth"])
        if not is_number(truth.optimum) or not isinstance(truth.rho_rule, str):
            raise ModelError(f"truth: {truth}")
        positive("rho", truth.rho)
        episode = whole("episode", about["episode"], least=0)
        seconds, timed = factor("seconds", about["seconds"]), whole("timed", about["timed"], 0)
    except (KeyError, TypeError, ModelError) as error:
        raise StoreError(f"snapshot: damaged: {error}") from error
    now = _begun(spec, order.model, truth)
    recorded = restore(now.simulation, arrays)
    if not episode == order.episode == recorded:
        raise StoreError(
            f"snapshot: damaged: it is said to be of episode {episode}, its record holds {recorded}"
        )
    now.episode, now.seconds, now.timed = episode, seconds, timed
    return now


def _state(now: UnderWay) -> bytes:
    about = {
        "run": now.spec.id,
        "episode": now.episode,
        "seconds": now.seconds,
        "timed": now.timed,
        "truth": asdict(now.truth),
    }
    return packed(about, state_of(now.simulation))


def _result(run: Run, record: bytes) -> bytes:
    about = {
        "seconds": run.seconds,
        "optimum": run.optimum,
        "rho": run.rho,
        "rho_rule": run.rho_rule,
        "first_feasible": run.first_feasible,
        "n_violations": run.n_violations,
        "plans": run.audit.plans,
        "sweeps": run.audit.sweeps,
        "first_bad": run.audit.first_bad,
        "record": digest(record),
    }
    arrays = {
        "policy": run.policy,
        "worst_violation": run.worst_violation,
        "multiplier_range": run.audit.multiplier_range,
    }
    return packed(about, {name: np.asarray(array) for name, array in arrays.items()})
