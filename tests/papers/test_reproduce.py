"""``reproduce.py``: runs, records, the page of them, and the check that runs repeat."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import reproduce
from records import cells_of, collect, read_records, write_records
from reproduce import RECORDS, claims
from tightrope import progress
from tightrope.experiments.experiment import Experiment
from tightrope.show.report.words import format_number

PARTS = ("growth", "oscillation", "constants", "good-event")
TITLES = [
    "Regret against the number of episodes",
    "Errors that cancel",
    "Oscillation",
    "Faithful, tight and scaled constants",
    "Coverage of the confidence sets",
    "Repeat it",
    "Made by",
]


def data(*words):
    """The JSON that a call which must succeed prints."""
    done = CliRunner().invoke(reproduce.app, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def process(*words):
    """The script in a process of its own."""
    call = [sys.executable, reproduce.__file__, *words]
    return subprocess.run(call, capture_output=True, text=True, timeout=600)


def parts(*names):
    return [word for name in names for word in ("--part", name)]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    path = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(progress, "PATIENCE", 3600.0)
        return path / "quick", data("--quick", "--out", str(path), *parts(*PARTS))


def test_the_parts_are_run_and_have_their_sections(reproduced):
    path, found = reproduced
    assert found["runs"] == sum(len(claims(is_quick=True)[part]) for part in PARTS)
    page = (path / "page" / "README.md").read_text()
    assert found["page"] == str(path / "page" / "README.md")
    assert re.findall(r"^## (.*)$", page, re.M) == TITLES
    assert "Quick runs: they show that every part works, and prove nothing." in page
    shown = set(re.findall(r"\((\S+\.png)\)", page))
    assert shown == {each.name for each in (path / "page").glob("*.png")}
    for word in ("*Question.*", "*Method.*", "*Limits.*"):
        assert page.count(word) == len(TITLES) - 2


@pytest.mark.slow
def test_every_part_has_a_short_version_that_works(tmp_path):
    found = data("--quick", "--out", str(tmp_path))
    assert found["runs"] == sum(map(len, claims(is_quick=True).values()))


def test_the_numbers_of_the_page_are_those_of_the_runs(reproduced):
    path, _ = reproduced
    experiment = Experiment(path / "growth")
    longest = max(spec.episodes for spec in experiment.specs())
    ends = [
        stored.load().regret["cost_plus"][-1]
        for stored in experiment.runs()
        if (stored.spec.environment, stored.spec.algorithm, stored.spec.episodes)
        == ("random", "OptCMDP", longest)
    ]
    page = (path / "page" / "README.md").read_text()
    row = next(line for line in page.splitlines() if f"Reg\u208a cost | {longest:,}" in line)
    assert row.split("|")[4].split("[")[0].strip() == format_number(np.mean(ends))


def test_called_again_it_runs_nothing_and_writes_the_same_page(reproduced):
    path, _ = reproduced
    page = path / "page" / "README.md"
    before, records = page.read_text(), sorted(path.rglob("record.parquet"))
    changed = [record.stat().st_mtime_ns for record in records]
    data("--quick", "--out", str(path.parent), *parts(*PARTS))
    assert page.read_text() == before
    assert [record.stat().st_mtime_ns for record in records] == changed


def test_only_low_seeds_and_short_runs_are_carried_out_where_asked(tmp_path):
    words = ["--quick", "--seeds", "1", "--most-episodes", "1000", *parts("growth")]
    assert data("--out", str(tmp_path), *words)["runs"] == 8


def test_a_run_of_the_records_is_repeated_bit_for_bit(reproduced, tmp_path, monkeypatch):
    path, _ = reproduced
    experiment = Experiment(path / "good-event")
    records = collect(experiment, experiment.specs(), "good-event")
    write_records(tmp_path, "good-event", records, {each.table["run"] for each in records})
    monkeypatch.setattr(reproduce, "RECORDS", tmp_path)
    words = ["--quick", "--missing", "--out", str(tmp_path / "runs"), *parts("good-event")]
    done = CliRunner().invoke(reproduce.app, words)
    assert done.exit_code == 0
    assert not (tmp_path / "runs").exists()
    assert data("--check", "3", "--part", "good-event") == {"runs": 3, "same": 3}
    for each in records:
        each.table["digest"] = "0" * 64
    write_records(tmp_path, "good-event", records, {each.table["run"] for each in records})
    done = CliRunner().invoke(reproduce.app, ["--check", "2", *parts("good-event")])
    assert "2 runs differ from the records" in str(done.exception)


def test_the_shipped_records_are_small_whole_and_say_where_they_are_from():
    size = sum(each.stat().st_size for each in RECORDS.iterdir())
    assert 0 < size < 5_000_000
    found = dict(read_records(RECORDS, claims()))
    claimed = {spec.id for specs in claims().values() for spec in specs}
    for records in found.values():
        assert {each.table["run"] for each in records} <= claimed
        assert all(each.table["commit"] and each.table["processor"] for each in records)
        for cell in cells_of(records):
            assert np.isfinite(cell.ends("cost_plus")).all()


def test_the_expected_time_is_that_of_the_records():
    (part, records), *_ = read_records(RECORDS, ["sensitivity"])
    spec = records[0].spec
    words = reproduce.estimate({part: [spec]}, RECORDS / "nowhere")
    assert words.startswith("expected: about 8")  # 8 s to compile, milliseconds to run
    assert records[0].table["processor"] in words


def test_a_place_where_no_page_can_be_is_reported_before_anything_runs(tmp_path):
    (tmp_path / "taken").write_text("a file")
    page = str(tmp_path / "taken" / "page")
    done = process("--out", str(tmp_path), "--page", page)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tightrope: {page}: cannot be made")
    assert not list(tmp_path.glob("*/runs"))


def test_a_page_of_some_parts_does_not_replace_the_page_of_all(tmp_path):
    done = process("--from", "records", "--part", "dope")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--part dope: expected --page" in done.stderr
    before = reproduce.FRONT.read_text()
    assert data("--from", "records", "--part", "dope", "--page", str(tmp_path))["runs"] > 0
    assert "## Comparison with the DOPE repository" in (tmp_path / "README.md").read_text()
    assert reproduce.FRONT.read_text() == before


def test_a_part_that_does_not_exist_is_reported(tmp_path):
    done = process("--out", str(tmp_path), "--part", "growht")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tightrope: --part growht: ")
    assert done.stderr.endswith(f"{', '.join(claims())}\n")
    done = process("--from", str(tmp_path), "--part", "speed")
    assert done.stderr.startswith(f"tightrope: {tmp_path}: no finished run")
    assert not list(tmp_path.iterdir())
