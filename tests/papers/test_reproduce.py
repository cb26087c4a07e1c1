"""``reproduce.py --quick``: every part of the claims, in short, and the page of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import reproduce
from reproduce import claims
from tightrope import progress
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.storage import read_columns
from tightrope.show.report.words import format_number

TITLES = [
    "The four regrets, with the constants of the theorems",
    "The canceling of errors",
    "Faithful, tight and scaled constants",
    "Coverage of the good event",
    "Cost of an episode",
    "Beside the DOPE repository",
    "Beside the published OptPrimalDual",
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
    return subprocess.run(call, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    path = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(progress, "PATIENCE", 3600.0)
        return path / "quick", data("--quick", "--out", str(path))


def test_every_part_is_carried_out_and_has_its_section(reproduced):
    path, told = reproduced
    assert told["runs"] == sum(len(specs) for specs in claims(is_quick=True).values())
    page = (path / "page" / "README.md").read_text()
    assert told["page"] == str(path / "page" / "README.md")
    assert re.findall(r"^## (.*)$", page, re.M) == TITLES
    assert "Quick runs: they show that everything works, and prove nothing." in page
    shown = set(re.findall(r"\((\S+\.png)\)", page))
    assert shown == {each.name for each in (path / "page").glob("*.png")}
    assert len(shown) == 8
    assert re.search(r"284 runs: python \S+, tightrope ", page)


def test_the_numbers_of_the_page_are_those_of_the_records(reproduced):
    path, _ = reproduced
    study = Experiment(path / "growth")
    first = study.specs()[0]
    mine = [s for s in study.specs() if s.problem == first.problem and s.algorithm == "OptCMDP"]
    ends = [
        read_columns(study.folder(s).record, ["cost_regret_plus"])["cost_regret_plus"][-1]
        for s in mine
    ]
    page = (path / "page" / "README.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| OptCMDP | Reg\u208a cost"))
    assert row.split("|")[3].split("[")[0].strip() == format_number(np.mean(ends))


def test_first_bindings_are_those_of_the_records_not_of_the_drawn_episodes(reproduced):
    path, _ = reproduced
    study = Experiment(path / "constants")
    findings = study.findings()
    for group in findings.chapters[0].groups:
        mine = [
            spec
            for spec in study.specs()
            if {k: v for k, v in spec.to_table().items() if k != "seed"} == group.spec
        ]
        assert [spec.seed for spec in mine] == list(group.seeds)
        for spec, found in zip(mine, group.first_binding, strict=True):
            column = read_columns(study.folder(spec).record, ["episode", "multiplier"])
            binds = column["episode"][column["multiplier"] > 0]
            assert found == (binds[0] if binds.size else np.inf)


def test_runs_that_are_not_claimed_do_not_come_onto_the_page(reproduced):
    path, _ = reproduced
    study = Experiment(path / "upac")
    wanted = study.specs()[:1]
    assert study.findings(wanted=wanted).n_planned == 1


def test_called_again_it_runs_nothing_and_writes_the_same_page(reproduced):
    path, _ = reproduced
    page = path / "page" / "README.md"
    before, records = page.read_text(), sorted(path.rglob("record.parquet"))
    changed = [record.stat().st_mtime_ns for record in records]
    data("--quick", "--out", str(path.parent))
    assert page.read_text() == before
    assert [record.stat().st_mtime_ns for record in records] == changed


def test_a_place_where_no_page_can_be_is_told_before_anything_runs(tmp_path):
    (tmp_path / "taken").write_text("a file")
    page = str(tmp_path / "taken" / "page")
    done = process("--out", str(tmp_path), "--page", page)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tightrope: {page}: cannot be made: Not a directory\n"
    assert not list(tmp_path.glob("*/runs"))


def test_an_engine_that_is_not_there_is_told_before_anything_is_made(tmp_path):
    done = process("--out", str(tmp_path / "claims"), "--engine", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert "engine: 'nope', expected one of processes" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_page_of_some_parts_is_made_from_runs_that_are_there(reproduced, tmp_path):
    path, _ = reproduced
    before = sorted(path.rglob("*"))
    words = ["--from", str(path.parent), "--part", "speed", "--part", "good-event"]
    told = data("--quick", *words, "--page", str(tmp_path))
    parts = claims(is_quick=True)
    assert told["runs"] == len(parts["speed"]) + len(parts["good-event"])
    page = (tmp_path / "README.md").read_text()
    assert re.findall(r"^## (.*)$", page, re.M) == [TITLES[3], TITLES[4], TITLES[7]]
    of_all = (path / "page" / "README.md").read_text()
    assert page[page.index("## Coverage") : page.index("## Made by")] in of_all
    assert sorted(path.rglob("*")) == before


def test_a_part_that_is_not_there_is_told(tmp_path):
    done = process("--out", str(tmp_path), "--part", "growht")
    assert (done.returncode, done.stdout) == (2, "")
    parts = "growth, oscillation, constants, good-event, speed, dope, upac"
    assert done.stderr == f"tightrope: --part growht: expected one of {parts}\n"
    done = process("--from", str(tmp_path), "--part", "speed")
    assert done.stderr == f"tightrope: {tmp_path / 'speed'}: no experiment is here\n"
    assert not list(tmp_path.iterdir())
