"""The oracle of a problem is computed once, stored with the experiment and sent with jobs."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tightrope import envs
from tightrope.errors import StoreError
from tightrope.experiments import job, problems
from tightrope.experiments.engines import Here, Processes
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.scheduler import finish_runs
from tightrope.files import packed, unpacked
from tightrope.learners import oracle
from tightrope.learners.oracle import Oracle

LEARNERS = ["OptDual", "optimal", "unconstrained"]
FACTS = ("optimum", "slack", "rho", "policy", "unconstrained_policy")
LOG = "TIGHTROPE_TEST_COUNTS"
ONCE = {"build": 1, "optimum": 1, "slater": 1, "unconstrained": 1}


def note(kind):
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {kind}\n")


def count_calls(monkeypatch):
    """Note every model that this process builds and every problem that it solves."""
    build, solve, slater = envs.build, oracle.solve_problem, oracle.slater

    def noted_build(name, **parameters):
        note("build")
        return build(name, **parameters)

    def noted_solve(cmdp, problem, method, tolerance):
        note("unconstrained" if (problem.budget == cmdp.horizon).all() else "optimum")
        return solve(cmdp, problem, method, tolerance)

    def noted_slater(cmdp):
        note("slater")
        return slater(cmdp)

    monkeypatch.setattr(envs, "build", noted_build)
    monkeypatch.setattr(oracle, "solve_problem", noted_solve)
    monkeypatch.setattr(oracle, "slater", noted_slater)


def work_and_count(order):
    """Do a job in a worker process that counts."""
    if not hasattr(work_and_count, "is_counting"):
        work_and_count.is_counting = True
        count_calls(pytest.MonkeyPatch())
    return job.work(order)


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """Calls since the last question, by process: of this one first, then of each worker."""
    path = tmp_path / "counts"
    path.touch()
    monkeypatch.setenv(LOG, str(path))
    monkeypatch.setattr(problems, "built", type(problems.built)())
    count_calls(monkeypatch)

    def read():
        found = {str(os.getpid()): Counter()}
        for line in path.read_text().splitlines():
            pid, kind = line.split()
            found.setdefault(pid, Counter())[kind] += 1
        path.write_text("")
        return list(found.values())

    return read


def planned(path, seeds=3):
    experiment = Experiment(path)
    experiment.add("ring", LEARNERS, episodes=5, seeds=seeds)
    return experiment


def records(experiment):
    return {spec.id: experiment.folder(spec).record.read_bytes() for spec in experiment.specs()}


def oracle_file(experiment):
    (path,) = (experiment.path / "oracles").iterdir()
    return path


def test_a_process_builds_a_model_once_and_solves_it_once(tmp_path, counted):
    experiment = planned(tmp_path / "experiment")
    assert finish_runs(experiment, Here()).finished == 9
    assert len({run.load().optimum for run in experiment.runs()}) == 1
    assert counted() == [ONCE]


def test_a_worker_process_builds_a_model_once_and_solves_nothing(tmp_path, counted, monkeypatch):
    monkeypatch.setattr("tightrope.experiments.engines.work", work_and_count)
    experiment, engine = planned(tmp_path / "experiment"), Processes(2)
    try:
        assert finish_runs(experiment, engine).finished == 9
    finally:
        engine.close()
    mine, *workers = counted()
    assert mine == ONCE
    assert workers
    assert all(worker == {"build": 1} for worker in workers)


def test_a_resumed_experiment_reads_its_oracle(tmp_path, counted):
    assert finish_runs(planned(tmp_path / "experiment"), Here()).finished == 9
    counted()
    assert finish_runs(planned(tmp_path / "experiment", seeds=5), Here()).finished == 15
    assert counted() == [{}]


def change_number(content):
    about, arrays = unpacked(content)
    return packed({**about, "optimum": None}, arrays)


def change_policy(content):
    about, arrays = unpacked(content)
    return packed(about, {**arrays, "policy": arrays["policy"][1:]})


DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "text": lambda content: b"{}",
    "flipped": lambda content: content.replace(b'"optimum": ', b'"optimum": 1'),
    "no number": change_number,
    "no policy": change_policy,
    "nothing": lambda content: packed({}, {}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_corrupt_oracle_is_computed_again(tmp_path, counted, damage):
    first = planned(tmp_path / "first")
    finish_runs(first, Here())
    sound = oracle_file(first).read_bytes()
    cmdp = envs.build("ring")
    with pytest.raises(StoreError):
        Oracle(cmdp, damage(sound))
    second = planned(tmp_path / "second", seeds=1)
    finish_runs(second, Here())
    oracle_file(second).write_bytes(damage(sound))
    counted()
    assert finish_runs(planned(tmp_path / "second"), Here()).failed == {}
    assert counted() == [{kind: 1 for kind in ONCE if kind != "build"}]
    assert oracle_file(second).read_bytes() == sound
    assert records(second) == records(first)


@pytest.mark.parametrize("name", ["ring", "queue", "random"])
def test_an_oracle_read_back_has_the_same_bits(name):
    cmdp = envs.build(name)
    found = Oracle(cmdp)
    again = Oracle(cmdp, found.to_bytes())
    for fact in FACTS:
        np.testing.assert_equal(getattr(again, fact), getattr(found, fact))
    assert again.to_bytes() == found.to_bytes()


def test_an_oracle_keeps_infinite_bounds_and_slack():
    tight = envs.build("ring").with_budget([0.0])
    free = Oracle(envs.build("random", n_constraints=0))
    assert Oracle(free.cmdp, free.to_bytes()).slack == np.inf
    found = Oracle(tight)
    again = Oracle(tight, found.to_bytes())
    assert again.slack == 0.0
    assert set(again.rho.values()) == {np.inf}


def test_models_used_last_are_kept_and_the_others_built_again(tmp_path, counted):
    experiment = Experiment(tmp_path / "experiment")
    n = problems.REMEMBERED + 2
    experiment.add(
        "ring", LEARNERS, episodes=3, seeds=2, parameters={"horizon": list(range(3, n + 3))}
    )
    assert counted() == [{"build": n}]
    assert finish_runs(experiment, Here()).finished == 6 * n
    assert counted()[0]["build"] <= n  # runs of one problem follow each other
    assert len(problems.built) == problems.REMEMBERED
