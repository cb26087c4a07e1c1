"""Studies: whatever is killed, the records are those of runs that were never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np
import psutil
import pytest
from joblib.externals.loky import process_executor

from refusals import refuses
from tightrope.errors import StoreError
from tightrope.experiments.engines import Here, Processes
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job, work
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.simulate import Simulation
from tightrope.experiments.storage import RunFolder
from tightrope.experiments.sweep import specs_of
from tightrope.files import PART

TABLE = {
    "environment": "ring",
    "algorithm": ["OptDual", "OptPrimalDual"],
    "episodes": 100_000,
    "seeds": 2,
    "confidence": {"mode": "tight", "scale": 0.1},
}
OFTEN = Pace(job=0.01, snapshot=0.02)


def planned(path, **change):
    study = Experiment(path)
    study.add_specs(specs_of(TABLE | change))
    return study


def records(study):
    return {spec.id: study.folder(spec).record.read_bytes() for spec in study.specs()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study never stopped: each run in one slice."""
    study = planned(tmp_path_factory.mktemp("whole"))
    assert finish_runs(study, Here(), Pace(job=1e9)).finished == 4
    return records(study)


def test_many_slices_give_the_records_of_one(tmp_path, whole):
    study = planned(tmp_path)
    outcome = finish_runs(study, Here(), OFTEN)
    assert (outcome.finished, outcome.episodes, outcome.failed) == (4, 400_000, {})
    assert records(study) == whole


def test_processes_give_the_records_of_one_and_a_killed_worker_costs_a_slice(tmp_path, whole):
    study, engine, killed = planned(tmp_path), Processes(2), []

    def kill_once(outcome, episodes):
        if not killed and any(done > 1000 for done in episodes.values()):
            killed.append(next(iter(engine._pool._processes)))
            os.kill(killed[0], signal.SIGKILL)

    try:
        outcome = finish_runs(study, engine, OFTEN, kill_once)
    finally:
        engine.close()
    assert killed
    assert (outcome.finished, outcome.failed) == (4, {})
    assert records(study) == whole
    logs = [(study.folder(s).path / "run.log").read_text() for s in study.specs()]
    assert any("lost the job" in log and "a worker process died" in log for log in logs)


def work_or_die(order):
    """Do a slice; a run with seed 2 kills the process that tries."""
    if json.loads(order.spec)["seed"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return work(order)


def test_a_run_that_kills_its_workers_fails_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tightrope.experiments.engines.work", work_or_die)
    study = planned(tmp_path, algorithm="OptDual", episodes=200_000, seeds=6)
    poisoned = next(spec.id for spec in study.specs() if spec.seed == 2)
    engine = Processes(3)
    try:
        outcome = finish_runs(study, engine, OFTEN)
    finally:
        engine.close()
    assert list(outcome.failed) == [poisoned]
    assert outcome.failed[poisoned] == "a worker process died, 5 times in a row"
    assert outcome.finished == 5


def work_and_grow(order):
    """Do a slice; loky then takes its process for one with a memory leak."""
    process_executor._MAX_MEMORY_LEAK_SIZE = -np.inf
    process_executor._MEMORY_LEAK_CHECK_DELAY = 0.0
    return work(order)


def test_workers_whose_memory_grows_are_replaced_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("tightrope.experiments.engines.work", work_and_grow)
    study = planned(tmp_path, algorithm="OptDual", episodes=100, seeds=5)
    engine, processes = Processes(1), set()
    try:
        outcome = finish_runs(
            study, engine, OFTEN, lambda *_: processes.update(engine._pool._processes)
        )
    finally:
        engine.close()
    assert (outcome.finished, outcome.failed) == (5, {})
    assert len(processes) > 1


def test_a_worker_that_is_killed_between_two_slices_is_replaced(tmp_path):
    (spec,) = planned(tmp_path, algorithm="OptDual", episodes=20, seeds=1).specs()
    order, engine = Job(spec.to_json(), b"", 0, b"", 1.0), Processes(1)
    try:
        engine.submit(spec.id, order)
        while not (first := engine.wait(1.0)):
            pass
        for pid in list(engine._pool._processes):
            os.kill(pid, signal.SIGKILL)
        while not engine._pool._flags.broken:
            time.sleep(0.01)
        engine.submit(spec.id, order)
        while not (second := engine.wait(1.0)):
            pass
    finally:
        engine.close()
    assert first[0].outcome.record == second[0].outcome.record


DIRECTOR = """
import sys
from pathlib import Path
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
say = lambda outcome, episodes: print(episodes, flush=True)
finish_runs(Experiment(Path(sys.argv[1])), Here(), Pace(0.005, 0.01), say)
"""


def test_killed_at_any_moment_and_taken_up_the_records_are_the_same(tmp_path, whole):
    study = planned(tmp_path)
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    n_kills, n_taken_up = 0, 0
    while study.pending():
        words = [sys.executable, "-c", DIRECTOR, str(tmp_path)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as director:
            assert director.stdout is not None
            for _ in range(rng.integers(2, 20)):
                director.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.02))
            director.kill()
        n_kills += 1
        assert n_kills < 100
    for spec in study.specs():
        n_taken_up += (study.folder(spec).path / "run.log").read_text().count("taken up")
    assert n_kills > 2
    assert n_taken_up > 0
    assert records(study) == whole
    left = [path for path in tmp_path.rglob("snapshot-*") if path.parent.name in records(study)]
    assert left == []


def test_an_interrupt_puts_what_is_under_way_on_disk(tmp_path, whole):
    study, seen = planned(tmp_path), []

    def interrupt(outcome, episodes):
        if not seen and sum(episodes.values()) > 5000:
            seen.append(dict(episodes))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(study, Here(), Pace(job=0.01, snapshot=1e9), interrupt)
    kept = {path.parent.name: path for path in tmp_path.rglob("snapshot-*")}
    assert kept
    for run, path in kept.items():
        assert int(path.name[-12:]) >= seen[0][run]
    assert finish_runs(study, Here()).finished == 4
    assert records(study) == whole


def test_an_interrupt_inside_a_simulation_leaves_nothing_half_counted(tmp_path, monkeypatch, whole):
    study, advance, calls = planned(tmp_path), Simulation.advance, []

    def interrupted(simulation, n_episodes):
        advance(simulation, n_episodes)
        calls.append(n_episodes)
        if len(calls) in (1, 20, 50):
            raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "advance", interrupted)
    for _ in range(3):  # in one process, as a notebook does
        with pytest.raises(KeyboardInterrupt):
            finish_runs(study, Here(), Pace(job=0.01))
    assert finish_runs(study, Here()).finished == 4
    assert records(study) == whole


def test_resuming_runs_of_other_versions_is_reported(tmp_path):
    study = planned(tmp_path)

    def interrupt(outcome, episodes):
        if episodes and max(episodes.values()) > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(study, Here(), Pace(job=0.01), interrupt)
    begun = [spec for spec in study.specs() if study.folder(spec).snapshots()]
    for spec in begun:
        path = study.folder(spec).path / "versions.json"
        path.write_text(path.read_text().replace(version("numpy"), "1.0.0"))
    outcome = finish_runs(study, Here())
    assert outcome.versions == {s.id: f"numpy 1.0.0, now {version('numpy')}" for s in begun}
    log = (study.folder(begun[0]).path / "run.log").read_text()
    assert "by other versions: numpy 1.0.0, now" in log


def test_temporary_files_of_a_killed_process_are_removed_on_resume(tmp_path):
    study = planned(tmp_path, algorithm="OptDual", seeds=1, episodes=50)
    folder = study.folder(study.specs()[0])
    folder.path.mkdir(parents=True)
    (folder.path / PART.format("abc")).write_bytes(b"half")
    finish_runs(study, Here())
    assert list(folder.path.glob(PART.format("*"))) == []


def test_a_second_interrupt_during_a_snapshot_loses_no_episodes(tmp_path, monkeypatch):
    study = planned(tmp_path)
    put_down = RunFolder.keep

    def impatient(folder, episode, content):
        os.kill(os.getpid(), signal.SIGINT)
        put_down(folder, episode, content)

    def interrupt(outcome, episodes):
        if episodes and max(episodes.values()) > 0:
            monkeypatch.setattr(RunFolder, "keep", impatient)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(study, Here(), Pace(job=0.01, snapshot=1e9), interrupt)
    assert list(tmp_path.rglob("snapshot-*"))


def test_a_corrupt_snapshot_is_skipped_and_a_run_without_a_valid_one_stops_alone(tmp_path, whole):
    study = planned(tmp_path)

    def halfway():
        return [s for s in study.specs() if len(study.folder(s).snapshots()) == 2]

    def interrupt(outcome, episodes):
        if len(halfway()) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(study, Here(), Pace(job=0.01, snapshot=0.0), interrupt)
    first, second = halfway()
    newest = study.folder(first).snapshots()[0]
    newest.write_bytes(newest.read_bytes()[:-100])
    for path in study.folder(second).snapshots():
        path.write_bytes(b"nothing")
    outcome = finish_runs(study, Here())
    assert outcome.finished == 3
    assert list(outcome.failed) == [second.id]
    assert "no snapshot can be read" in outcome.failed[second.id]
    assert study.folder(first).record.read_bytes() == whole[first.id]
    for path in study.folder(second).snapshots():
        path.unlink()
    assert finish_runs(study, Here()).finished == 4
    assert records(study) == whole


def test_a_snapshot_of_another_run_is_refused(tmp_path):
    study = planned(tmp_path, episodes=100_000)

    def interrupt(outcome, episodes):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(study, Here(), Pace(job=0.01), interrupt)
    kept = {path.parent.name: path for path in tmp_path.rglob("snapshot-*")}
    path = next(iter(kept.values()))
    other = next(s for s in study.specs() if s.id not in kept)
    folder = study.folder(other)
    folder.begin("{}", {})
    folder.keep(9, path.read_bytes())
    outcome = finish_runs(study, Here())
    assert list(outcome.failed) == [other.id]
    assert f"expected {other.id}" in outcome.failed[other.id]


def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    two = {"environment": "random", "parameters": {"n_constraints": 2}}
    study = planned(tmp_path, episodes=50, algorithm=["OptCMDP", "Triple-Q"], seeds=1, **two)
    outcome = finish_runs(study, Here())
    assert outcome.finished == 1
    (why,) = outcome.failed.values()
    assert why.startswith("Triple-Q: 2 constraints, expected exactly 1")


def test_a_run_that_another_process_writes_is_left_to_it(tmp_path):
    study = planned(tmp_path, episodes=50)
    first = study.specs()[0]
    folder = study.folder(first)
    folder.begin(first.to_json(), {})
    with folder.lock():
        outcome = finish_runs(study, Here())
    assert outcome.elsewhere == [first.id]
    assert outcome.finished == 3


def test_a_path_that_cannot_be_locked_is_an_error(tmp_path):
    study = planned(tmp_path, episodes=50)
    folder = study.folder(study.specs()[0])
    folder.begin("{}", {})
    (folder.path / "lock").mkdir()
    with refuses(StoreError, "Is a directory", argument=str(folder.path / "lock")):
        finish_runs(study, Here())


def test_workers_end_with_the_process_that_directs(tmp_path):
    planned(tmp_path, episodes=100_000_000)
    code = DIRECTOR.replace("import Here", "import Processes").replace("Here()", "Processes(2)")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE
    ) as director:
        assert director.stdout is not None
        while not (children := psutil.Process(director.pid).children(recursive=True)):
            assert director.stdout.readline(), "it ended before workers began"
        director.kill()
    gone, alive = psutil.wait_procs(children, timeout=30)
    assert gone
    assert alive == []
