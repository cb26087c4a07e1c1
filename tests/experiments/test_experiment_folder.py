"""The folder of a study: runs planned once, models that travel with it, refusals."""

from __future__ import annotations

import pytest

from refusals import refuses
from studies import TABLE, finished
from tightrope.errors import StoreError
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import content_hash, model_of
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.sweep import specs_of

RUNS = {"environment": "ring", "algorithm": ["OptDual", "uniform"], "episodes": 50, "seeds": 2}


def test_more_seeds_extend_a_study_without_running_anything_again(tmp_path):
    study = finished(tmp_path, **RUNS)
    before = {s.id: study.folder(s).record.stat().st_mtime_ns for s in study.specs()}
    assert study.add_specs(specs_of(TABLE | RUNS | {"seeds": "1-3"})) == 2
    assert finish_runs(study, Here()).episodes == 100
    for run, time_of in before.items():
        assert (tmp_path / "runs" / run / "record.parquet").stat().st_mtime_ns == time_of


def test_a_model_file_travels_with_the_study(tmp_path):
    cmdp = model_of(specs_of(RUNS)[0])
    cmdp.save(tmp_path / "mine.npz")
    content = (tmp_path / "mine.npz").read_bytes()
    digest = content_hash(content)
    study = Experiment(tmp_path / "study")
    table = RUNS | {"environment": "mine.npz", "model": digest}
    study.add_specs(specs_of(table), {digest: content})
    (tmp_path / "mine.npz").unlink()
    assert finish_runs(study, Here()).finished == 4
    stored = tmp_path / "study" / "models" / digest.removeprefix("sha256:")
    stored.write_bytes(b"other")
    with pytest.raises(StoreError, match="its content has changed"):
        study.model(study.specs()[0])


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no experiment in this directory"):
        Experiment(tmp_path).specs()
    (tmp_path / "specs.jsonl").write_text("{")
    with pytest.raises(StoreError, match="line 1: not JSON"):
        Experiment(tmp_path).specs()
    (tmp_path / "specs.jsonl").write_text("[1]")
    with pytest.raises(StoreError, match="line 1: expected a table"):
        Experiment(tmp_path).specs()


def test_a_file_is_not_an_experiment(tmp_path):
    (tmp_path / "log.csv").touch()
    with refuses(StoreError, ": a file, expected the folder", argument=str(tmp_path / "log.csv")):
        Experiment(tmp_path / "log.csv").specs()
