"""An experiment that version 0.1 left half done is finished, reported and exported as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tightrope.cli.app import status
from tightrope.experiments.experiment import Experiment

OLD = Path(__file__).parent.parent / "data" / "experiment-0.1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("old") / "experiment"
    shutil.copytree(OLD, path)
    assert status(["resume", str(path), "--engine", "here"]) == 0
    return path


def test_runs_begun_by_the_old_version_end_with_the_same_bits(finished):
    expected = json.loads((OLD / "expected.json").read_text())
    specs = {spec.id: spec for spec in Experiment(finished).specs()}
    assert len(expected) == 6
    for run, columns in expected.items():
        record = pq.read_table(finished / "runs" / run / "record.parquet")
        assert columns.pop("algorithm") == specs[run].algorithm
        for name, values in columns.items():
            found = [value.hex() for value in record.column(name).to_pylist()[-2:]]
            assert found == values, (specs[run].algorithm, name)


def test_the_old_experiment_is_reported_and_exported(finished, tmp_path):
    assert status(["report", str(finished), "--out", str(tmp_path / "report.html")]) == 0
    assert status(["export", str(finished), "--out", str(tmp_path / "runs.csv")]) == 0
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert "OptPrimalDual" in (tmp_path / "runs.csv").read_text()
