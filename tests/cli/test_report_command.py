"""``tightrope report``: what it writes, says and refuses."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from shop import data, process, said

from studies import finished
from tightrope.cli.app import status
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.sweep import specs_of


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("studies") / "rings"
    return finished(path, environment="ring", algorithm=["OptDual", "uniform"], episodes=100)


def test_the_page_is_written_into_the_experiment_as_the_message_states(study):
    words = said("report", str(study.path))
    page = study.path / "report.html"
    assert f"written: {page}" in words
    assert "n = 3 seeds; bands: 95 % bootstrap over seeds; delta 0.1" in words
    assert "OptDual ran for 100 episodes of ring with 3 seeds, compared with uniform" in words
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")


def test_json_says_where_and_what(study, tmp_path):
    told = data("report", str(study.path), "--out", str(tmp_path / "page.html"))
    assert told["report"] == str(tmp_path / "page.html")
    assert (tmp_path / "page.html").is_file()
    assert (told["planned"], told["finished"], told["figures"]) == (6, 6, [])
    (problem,) = told["problems"]
    cmdp = model_of(study.specs()[0])
    for learner in problem["learners"]:
        specs = [spec for spec in study.specs() if spec.algorithm == learner["algorithm"]]
        ends = [
            pq.read_table(study.folder(spec).record)["cost_regret_plus"].to_numpy()[-1]
            for spec in specs
        ]
        expected = np.array(ends) * abs(cmdp.cost_unit.factor)
        found = learner["regret"]["cost_plus"]
        assert found["mean"]["middle"] == pytest.approx(expected.mean())
        assert found["median"]["middle"] == pytest.approx(np.median(expected))
        assert learner["seeds"] == [1, 2, 3]


def test_figures_are_written_as_png_pdf_and_svg(study, tmp_path):
    folder = tmp_path / "new" / "figures"
    told = data(
        "report", str(study.path), "--out", str(tmp_path / "p.html"), "--figures", str(folder)
    )
    names = {"ring-regret", "ring-budgets", "ring-optimum", "ring-OptDual", "ring-uniform"}
    expected = {f"{name}{kind}" for name in names for kind in (".png", ".pdf", ".svg")}
    assert {path.name for path in folder.iterdir()} == expected
    assert len(told["figures"]) == len(expected)
    assert (folder / "ring-regret.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "ring-regret.png").read_bytes().startswith(b"\x89PNG")


def test_figures_for_a_paper_are_single_panels_of_the_width_that_was_asked_for(study, tmp_path):
    folder = tmp_path / "figures"
    words = ["--figures", str(folder), "--style", "paper", "--width", "8.255cm", "--title", "Rings"]
    said("report", str(study.path), "--out", str(tmp_path / "p.html"), *words)
    assert "<h1>Rings</h1>" in (tmp_path / "p.html").read_text()
    kinds = ("cost", "cost-plus", "constraint", "constraint-plus")
    budgets = ("violations", *model_of(study.specs()[0]).constraint_names)
    names = [f"regret-{kind}" for kind in kinds] + [f"budgets-{name}" for name in budgets]
    names += [f"{name}-policy" for name in ("optimum", "OptDual", "uniform")]
    found = {path.name for path in folder.glob("*.svg")}
    assert found == {f"ring-{name.replace(' ', '-')}.svg" for name in names}
    for path in folder.glob("*.svg"):
        head = path.read_text()[:2000]
        assert float(re.search(r'width="([\d.]+)pt"', head)[1]) == pytest.approx(72 * 3.25)
        assert "n = 3 seeds" not in path.read_text()  # titles are left to the paper


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--style", "poster"], "style: 'poster'"),
        (["--style", "paper"], "only with --figures"),
        (["--width", "3in"], "only with --figures"),
        (["--width", "3 miles", "--figures", "f"], "width: '3 miles'"),
        (["--width", "0in", "--figures", "f"], "width: '0in'"),
        (["--width", "99in", "--figures", "f"], "width: '99in'"),
    ],
)
def test_looks_that_cannot_be_drawn_are_refused(study, words, said, capfd):
    assert status(["report", str(study.path), *words]) == 2
    told = capfd.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_no_study_and_nothing_finished_are_one_line_and_status_two(tmp_path, capfd):
    assert status(["report", str(tmp_path)]) == 2
    assert capfd.readouterr().err == f"tightrope: {tmp_path}: no experiment in this directory\n"
    study = Experiment(tmp_path / "planned")
    study.add_specs(specs_of({"environment": "ring", "algorithm": "uniform", "episodes": 5}))
    assert status(["report", str(study.path)]) == 2
    wrong = capfd.readouterr()
    assert wrong.err == f"tightrope: {study.path}: none of its 1 runs is finished yet\n"
    assert not (study.path / "report.html").exists()


def test_a_place_that_cannot_be_written_is_one_line_and_status_two(study, tmp_path, capfd):
    assert status(["report", str(study.path), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert capfd.readouterr().err.count("\n") == 1
    (tmp_path / "file").write_text("")
    words = ["--out", str(tmp_path / "p.html"), "--figures", str(tmp_path / "file" / "f")]
    assert status(["report", str(study.path), *words]) == 2
    assert "cannot be made" in capfd.readouterr().err


def test_unfinished_runs_are_reported(tmp_path):
    folder = tmp_path / "grown"
    table = {"environment": "ring", "algorithm": "uniform", "episodes": 5, "confidence": "tight"}
    finished(folder, **table, seeds=2).add_specs(specs_of({**table, "seeds": 7}))
    words = said("report", str(folder))
    assert "5 of 7 planned runs are not finished and are not in this report." in words


def test_it_works_in_a_process_of_its_own(study, tmp_path):
    done = process("report", str(study.path), "--out", str(tmp_path / "page.html"), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["finished"] == 6
