"""Runs in trackers, read back by the trackers' own readers."""

from __future__ import annotations

import json
import logging
import sys

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from studies import finished
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.summary import thin
from tightrope.interop import trackers
from tightrope.interop.trackers import TRACKERS, export_runs
from tightrope.interop.trackers.tracker import SentList

K = 200


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Two constraints, a learner with multipliers and one without."""
    return finished(
        tmp_path_factory.mktemp("trackers") / "queues",
        environment="queue",
        algorithm=["OptDual", "uniform"],
        episodes=K,
        seeds=2,
    )


def expected_of(stored):
    """Curves of a run by the names that trackers show, and where they are recorded."""
    run, cmdp = stored.load(), stored.cmdp
    places = thin(run.episode)
    curves = {f"regret/{kind}": run.regret[kind] for kind in ("cost", "cost_plus")}
    for i, name in enumerate(cmdp.constraint_names):
        for kind in ("constraint", "constraint_plus"):
            curves[f"regret/{kind}/{name}"] = run.regret[kind][:, i]
        curves[f"multiplier/{name}"] = run.multiplier[:, i]
    curves["violations"] = run.violations
    curves["share_in_violation"] = run.violations / run.episode
    return run.episode[places], {name: curve[places] for name, curve in curves.items()}


def test_tensorboard_reads_the_curves_of_every_run(experiment, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert export_runs(experiment, "tensorboard", tmp_path / "log") == 4
    for stored in experiment.runs():
        spec = stored.spec
        (folder,) = (tmp_path / "log" / "queue" / spec.algorithm).glob(f"seed-{spec.seed}-*")
        assert folder.name.endswith(spec.id)
        found = EventAccumulator(str(folder)).Reload()
        episode, curves = expected_of(stored)
        tags = {tag for tag in found.Tags()["scalars"] if not tag.startswith("total/")}
        assert tags == set(curves)
        for name, curve in curves.items():
            events = found.Scalars(name)
            assert [event.step for event in events] == episode.tolist()
            # event files hold numbers of single precision
            np.testing.assert_allclose([event.value for event in events], curve, rtol=1e-6)
        optimum = found.Scalars("total/optimum")
        assert optimum[-1].value == pytest.approx(stored.load().optimum, rel=1e-6)
        (text,) = found.Tensors("configuration")
        words = text.tensor_proto.string_val[0].decode().strip("`\n")
        assert json.loads(words)["run"] == spec.id
        assert json.loads(words)["confidence.scale"] == 0.1


@pytest.mark.filterwarnings("ignore")  # of MLflow and what it imports
def test_mlflow_reads_the_curves_and_the_configuration_of_every_run(experiment, tmp_path):
    from mlflow.tracking import MlflowClient

    assert export_runs(experiment, "mlflow", tmp_path / "ml") == 4
    assert export_runs(experiment, "mlflow", tmp_path / "ml") == 0
    assert logging.getLogger("mlflow").level == logging.WARNING  # nothing about its tables
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'ml' / 'mlflow.db'}")
    (place,) = (each for each in client.search_experiments() if each.name == "queues")
    runs = {
        run.data.tags["tightrope.run"]: run for run in client.search_runs([place.experiment_id])
    }
    assert set(runs) == {stored.spec.id for stored in experiment.runs()}
    for stored in experiment.runs():
        spec, run = stored.spec, runs[stored.spec.id]
        assert run.info.status == "FINISHED"
        assert run.data.params["algorithm"] == spec.algorithm
        assert run.data.params["seed"] == str(spec.seed)
        assert run.data.metrics["total/optimum"] == pytest.approx(stored.load().optimum)
        episode, curves = expected_of(stored)
        for name in ("regret/cost", "violations", *(n for n in curves if "constraint_plus" in n)):
            history = client.get_metric_history(run.info.run_id, name.replace("'", "_"))
            points = sorted((each.step, each.value) for each in history)
            assert [step for step, _ in points] == episode.tolist()
            np.testing.assert_allclose([value for _, value in points], curves[name], rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_a_run_offline(experiment, tmp_path):
    pytest.importorskip("wandb")
    assert export_runs(experiment, "wandb", tmp_path / "w") == 4
    names = [path.name for path in (tmp_path / "w").glob("wandb/offline-run-*/run-*.wandb")]
    assert set(names) == {f"run-{spec.id}.wandb" for spec in experiment.specs()}
    assert export_runs(experiment, "wandb", tmp_path / "w") == 0


@pytest.mark.filterwarnings("ignore")
def test_trackio_reads_the_curves_of_every_run(experiment, tmp_path, monkeypatch):
    pytest.importorskip("trackio", exc_type=ImportError)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "t"))
    for name in [each for each in sys.modules if each.partition(".")[0] == "trackio"]:
        monkeypatch.delitem(sys.modules, name)
    assert export_runs(experiment, "trackio", tmp_path / "t") == 4
    assert export_runs(experiment, "trackio", tmp_path / "t") == 0
    from trackio.sqlite_storage import SQLiteStorage

    for stored in experiment.runs():
        spec = stored.spec
        name = f"{spec.algorithm}, queue, seed {spec.seed} {spec.id}"
        rows = [row for row in SQLiteStorage.get_logs("queues", name) if "regret/cost" in row]
        episode, curves = expected_of(stored)
        assert [row["step"] for row in rows] == episode.tolist()
        np.testing.assert_allclose([row["regret/cost"] for row in rows], curves["regret/cost"])


def test_runs_are_sent_once_and_new_ones_later(tmp_path):
    study = finished(tmp_path / "s", environment="ring", algorithm="uniform", episodes=9, seeds=1)
    seen = []
    send = {"progress": lambda done, n: seen.append((done, n))}
    assert export_runs(study, "tensorboard", **send) == 1
    study.add("ring", "uniform", 9, [2], confidence={"mode": "tight", "scale": 0.1})
    assert export_runs(study, "tensorboard", **send) == 0
    study.run("here", progress=False)
    assert export_runs(study, "tensorboard", **send) == 1
    assert (seen[0], seen[-1]) == ((1, 1), (2, 2))
    assert len(list((study.path / "tensorboard").glob("*/*/seed-*"))) == 2


def test_following_continues_until_all_runs_are_finished(tmp_path, monkeypatch):
    study = Experiment(tmp_path / "s")
    study.add("ring", "uniform", 9, 3)
    looks = []

    def look(seconds):
        looks.append((seconds, len(list((study.path / "tensorboard").glob("*/*/seed-*")))))
        study.run("here", progress=False)

    monkeypatch.setattr(trackers.time, "sleep", look)
    assert export_runs(study, "tensorboard", follow=True, every=0.5) == 3
    assert looks == [(0.5, 0)]


def test_a_run_cut_short_is_sent_again(tmp_path, monkeypatch):
    study = finished(tmp_path / "s", environment="ring", algorithm="uniform", episodes=9, seeds=1)
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    def fail(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(EventFileWriter, "close", fail)
        with pytest.raises(KeyboardInterrupt):
            export_runs(study, "tensorboard")
    assert export_runs(study, "tensorboard") == 1
    assert len(list((study.path / "tensorboard").glob("*/*/*"))) == 1


@pytest.mark.parametrize("to", TRACKERS)
def test_without_its_package_a_tracker_names_what_to_install(to, experiment, monkeypatch, tmp_path):
    for name in [each for each in sys.modules if each.partition(".")[0] == to]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, to, None)
    with refuses(tr.DependencyError, r"tightrope\[trackers\]", argument="to", found=to):
        export_runs(experiment, to, tmp_path)


def test_bad_arguments_are_refused(experiment, tmp_path):
    with refuses(tr.ConfigError, argument="to", found="tensorbord"):
        export_runs(experiment, "tensorbord")
    with refuses(tr.ConfigError, argument="follow", found=1, expected="true or false"):
        export_runs(experiment, "tensorboard", follow=1)
    with refuses(tr.ConfigError, argument="every", found=0, expected="a positive number"):
        export_runs(experiment, "tensorboard", every=0)
    planned = Experiment(tmp_path / "planned")
    planned.add("ring", "uniform", 9, 1)
    with pytest.raises(tr.StoreError, match="no run is finished yet"):
        export_runs(planned, "tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(tr.StoreError):
        export_runs(experiment, "tensorboard", tmp_path / "file" / "log")


def test_the_list_of_sent_runs_survives_and_bad_ones_are_refused(tmp_path):
    sent = SentList(tmp_path / "a")
    assert sent.read() == set()
    for name in ("x", "y", "x"):
        sent.add(name)
    assert SentList(tmp_path / "a").read() == {"x", "y"}
    sent.path.write_bytes(b"\xff\xfe")
    with pytest.raises(tr.StoreError, match="cannot be read"):
        sent.read()
