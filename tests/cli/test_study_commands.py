"""``tightrope run``, ``resume``, ``export`` and ``learn --out``: studies from the shell."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys

import pytest
from rich.console import Console
from shop import CALL, data, said, shop_at

from tightrope.cli import experiments
from tightrope.cli.app import status
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.sweep import specs_of

STUDY = """
environment = "ring"
algorithm = ["uniform", "OptDual"]
episodes = 200
seeds = 2
confidence = "tight"
"""
HERE = ["--engine", "here"]


def study_at(path, text=STUDY):
    file = path / "first.toml"
    file.write_text(text)
    return str(file)


def test_a_file_becomes_a_folder_of_finished_runs(tmp_path):
    told = data("run", study_at(tmp_path), *HERE)
    assert told["experiment"] == str(tmp_path / "first")
    assert (told["runs"], told["new"], told["finished"], told["failed"]) == (4, 4, 4, {})
    again = data("run", study_at(tmp_path), *HERE)
    assert (again["new"], again["finished"], again["episodes"]) == (0, 4, 0)
    more = data("run", study_at(tmp_path, STUDY.replace("seeds = 2", 'seeds = "2-4"')), *HERE)
    assert (more["runs"], more["new"], more["finished"]) == (8, 4, 8)


def test_words_and_files_give_the_same_runs(tmp_path):
    by_file = data("run", study_at(tmp_path), "--out", str(tmp_path / "a"), *HERE)
    words = ["--algorithm", "uniform", "--algorithm", "OptDual", "--episodes", "200"]
    words += ["--seeds", "2", "--confidence", "tight", "--out", str(tmp_path / "b"), *HERE]
    by_words = data("learn", "ring", *words)
    assert by_file["finished"] == by_words["finished"] == 4
    first, second = (Experiment(tmp_path / name) for name in "ab")
    assert {spec.id for spec in first.specs()} == {spec.id for spec in second.specs()}
    for spec in first.specs():
        assert first.folder(spec).record.read_bytes() == second.folder(spec).record.read_bytes()


def test_a_study_shows_the_next_command(tmp_path):
    shown = said("run", study_at(tmp_path), *HERE).replace("\n", " ")
    assert "4 of 4 runs finished" in shown
    assert "tightrope report" in shown


def test_models_are_read_from_files_and_budgets_set_by_name(tmp_path):
    path = shop_at(tmp_path)
    words = ["--algorithm", "uniform", "--episodes", "20", "--budget", "3"]
    told = data("learn", path, *words, "--out", str(tmp_path / "s"), *HERE)
    assert told["finished"] == 1
    (spec,) = Experiment(tmp_path / "s").specs()
    assert spec.environment == "shop.toml"
    assert spec.model.startswith("sha256:")
    assert list(spec.budget.values()) == [3.0]
    file = tmp_path / "own.toml"
    file.write_text('environment = "shop.toml"\nalgorithm = "uniform"\nepisodes = 20\n')
    assert data("run", str(file), *HERE)["finished"] == 1
    file.write_text(
        'environment = ["shop.toml", "ring", "other.toml"]\nalgorithm = "uniform"\nepisodes = 20\n'
    )
    text = (tmp_path / "shop.toml").read_text()
    (tmp_path / "other.toml").write_text(text.replace("budget = 2.0", "budget = 2.5"))
    assert data("run", str(file), "--out", str(tmp_path / "many"), *HERE)["finished"] == 3
    specs = Experiment(tmp_path / "many").specs()
    assert [spec.environment for spec in specs] == ["shop.toml", "other.toml", "ring"]
    assert [bool(spec.model) for spec in specs] == [True, True, False]


def test_the_status_of_an_experiment_shows_its_progress(tmp_path):
    data("run", study_at(tmp_path), *HERE)
    experiment = Experiment(tmp_path / "first")
    experiment.add("ring", "uniform", 200, "3-5", confidence="tight")
    words = said("watch", str(experiment.path))
    assert "4 of 7 runs finished" in words
    rows = [line.split() for line in words.splitlines()]
    assert ["ring", "uniform", "2", "of", "5", "400", "of", "1,000"] in rows
    assert ["ring", "OptDual", "2", "of", "2", "400", "of", "400"] in rows
    told = data("watch", str(experiment.path))
    assert (told["finished"], told["begun"], told["episodes"], told["of"]) == (4, 0, 800, 1400)
    assert [run["episode"] for run in told["runs"]] == [200] * 4 + [0] * 3


def test_a_terminal_watches_until_all_is_finished(tmp_path, monkeypatch):
    experiment, looks = Experiment(tmp_path / "e"), []
    experiment.add("ring", "uniform", 20, 2)

    page = experiment.path / "report.html"

    def look(seconds):
        looks.append(seconds)
        waiting = page.read_text()
        assert "2 of 2 planned runs are not finished" in waiting
        assert "<body data-reload=" in waiting
        experiment.run("here", progress=False)

    monkeypatch.setattr(experiments, "sleep", look)
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(experiments, "out", lambda: terminal)
    assert "2 of 2 runs finished" in said("watch", str(experiment.path), "--every", "0.5")
    assert looks == [0.5]
    assert "uniform" in page.read_text()
    assert "<body>" in page.read_text()


def test_watching_a_finished_experiment_leaves_its_page_as_it_is(tmp_path):
    data("run", study_at(tmp_path), *HERE)
    folder = str(tmp_path / "first")
    said("report", folder, "--title", "Queues of today")
    said("watch", folder)
    said("watch", folder, "--follow")
    assert "<h1>Queues of today" in (tmp_path / "first" / "report.html").read_text()


def test_outside_a_terminal_the_page_is_written_once_or_until_all_is_finished(
    tmp_path, monkeypatch
):
    experiment = Experiment(tmp_path / "e")
    experiment.add("ring", "uniform", 20, 1)
    page, words = experiment.path / "report.html", ["watch", str(experiment.path), "--title", "Own"]
    assert data(*words)["finished"] == 0
    assert not page.exists()
    assert "0 of 1 runs finished" in said(*words)
    assert "<h1>Own" in page.read_text()
    assert "<body>" in page.read_text()
    monkeypatch.setattr(
        experiments, "sleep", lambda seconds: experiment.run("here", progress=False)
    )
    assert "1 of 1 runs finished" in said(*words, "--follow")
    assert "<h1>Own" in page.read_text()
    assert "uniform" in page.read_text()


def test_an_interrupted_watch_leaves_a_page_that_does_not_reload(tmp_path, monkeypatch):
    experiment = Experiment(tmp_path / "e")
    experiment.add("ring", "uniform", 20, 1)
    experiment.run("here", progress=False)
    experiment.add("ring", "uniform", 20, [2])

    def stop(seconds):
        assert "<body data-reload=" in (experiment.path / "report.html").read_text()
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "sleep", stop)
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(experiments, "out", lambda: terminal)
    assert status(["watch", str(experiment.path)]) == 130
    page = (experiment.path / "report.html").read_text()
    assert "<body>" in page
    assert "1 of 2 planned runs is not finished" in page


def test_records_are_exported_as_csv(tmp_path):
    data("run", study_at(tmp_path), *HERE)
    told = data("export", str(tmp_path / "first"))
    with (tmp_path / "first" / "records.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == told["rows"] == 4 * 200
    assert {row["algorithm"] for row in rows} == {"uniform", "OptDual"}
    last = max((row for row in rows if row["seed"] == "2"), key=lambda row: int(row["episode"]))
    assert int(last["episode"]) == 200
    assert float(last["cost_regret_plus"]) >= float(last["cost_regret"])
    assert "800 rows of 4 runs written" in said("export", str(tmp_path / "first"))


def test_runs_are_sent_to_a_tracker(tmp_path, capsys):
    data("run", study_at(tmp_path), *HERE)
    folder = str(tmp_path / "first")
    told = data("export", folder, "--to", "tensorboard")
    assert told == {"runs": 4, "to": "tensorboard", "target": f"{folder}/tensorboard"}
    assert len(list((tmp_path / "first").glob("tensorboard/*/*/seed-*/events*"))) == 4
    assert "0 runs sent to" in said("export", folder, "--to", "tensorboard", "--follow")
    capsys.readouterr()
    for words in (["--to", "tensorbord"], ["--follow"]):
        assert status(["export", folder, *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_export_that_fails_leaves_the_old_file(tmp_path, capsys):
    data("run", study_at(tmp_path), *HERE)
    study = Experiment(tmp_path / "first")
    out = study.path / "records.csv"
    out.write_text("old")
    record = study.folder(study.specs()[3]).record
    record.write_bytes(record.read_bytes()[:-200])
    assert status(["export", str(study.path)]) == 2
    assert "record.parquet: " in capsys.readouterr().err
    assert out.read_text() == "old"
    assert list(study.path.glob(".*")) == []


def test_a_study_without_a_finished_run_is_not_exported(tmp_path, capsys):
    study = Experiment(tmp_path / "s")
    study.add_specs(specs_of({"environment": "ring", "algorithm": "uniform", "episodes": 9}))
    assert status(["export", str(study.path)]) == 2
    assert f"{study.path}: no run is finished yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run none.toml", "none.toml: cannot be read: No such file"),
        ("resume nowhere", "nowhere: no experiment in this directory"),
        ("export nowhere", "nowhere: no experiment in this directory"),
        ("run first.toml --engine darsk", "engine: 'darsk', expected one of processes"),
        ("run first.toml --engine dask", "engine dask: an address is needed"),
        ("run first.toml --address 1:2", "address: '1:2' is for the engines dask and ray"),
        ("run first.toml --engine here --workers 2", "workers: 2 is for the engine processes"),
        ("learn ring --out s --figure a.png", "--figure: figures of an experiment are written by"),
        ("learn ring --out s --seeds x --engine here", "learn: seeds: 'x', expected a number"),
    ],
)
def test_a_mistake_is_named_on_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study_at(tmp_path)
    assert status(words.split()) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert message in caught.err
    assert caught.err.count("\n") == 1


def test_a_fault_in_the_file_is_named_with_the_file(capsys, tmp_path):
    path = study_at(tmp_path, STUDY.replace("episodes", "episods"))
    assert status(["run", path]) == 2
    assert "'episods', did you mean" in capsys.readouterr().err


def test_a_failed_run_is_reported_and_the_others_are_kept(capsys, tmp_path):
    path = shop_at(tmp_path, "budget = 2.0", "budget = 0.0")  # no room, so that no rule gives rho
    words = ["--algorithm", "OptCMDP", "--algorithm", "OptDual", "--episodes", "3"]
    assert status(["learn", path, *words, "--out", str(tmp_path / "s"), *HERE]) == 2
    caught = capsys.readouterr()
    assert "1 of 2 runs finished" in caught.out
    assert "1 of 2 runs failed" in caught.err
    assert "with positive slack" in caught.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('method = "lp"', "method: 'lp' is for OptCMDP and OptCMDP-bonus, not for uniform"),
        ("budget = { move = 2.0 }", "constraint 'move' is unknown"),
        ("parameters = { budget = 99.0 }", "99"),
    ],
)
def test_runs_with_invalid_settings_are_not_planned(line, message, capsys, tmp_path):
    assert status(["run", study_at(tmp_path, STUDY + line), *HERE]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "first").exists()


def test_planners_at_the_same_time_forget_nothing(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from tightrope.experiments.experiment import Experiment\n"
        "from tightrope.experiments.sweep import specs_of\n"
        "n = int(sys.argv[2])\n"
        "table = {'environment': 'ring', 'algorithm': 'uniform', 'episodes': 9}\n"
        "Experiment(Path(sys.argv[1])).add_specs(specs_of(table | {'seeds': f'{n}-{n + 49}'}))\n"
    )
    planners = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s"), str(50 * k)])
        for k in range(4)
    ]
    assert [planner.wait() for planner in planners] == [0] * 4
    assert len(Experiment(tmp_path / "s").specs()) == 200


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_shows_how_to_resume_and_resuming_works(tmp_path, sent):
    text = STUDY.replace("200", "2000000").replace("seeds = 2", "seeds = 1")
    text = text.replace("uniform", "OptPrimalDual")  # as slow as the other
    path = study_at(tmp_path, text)
    with subprocess.Popen(
        [*CALL, "run", path, *HERE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stderr is not None
        line = command.stderr.readline()
        while " episodes, " not in line:
            line = command.stderr.readline()
        command.send_signal(sent)
        out, err = command.communicate(timeout=120)
    assert command.returncode == 130
    assert "runs are saved: tightrope resume" in out.replace("\n", " ")
    assert err.splitlines()[-1] == "tightrope: interrupted"
    assert list((tmp_path / "first").rglob("snapshot-*"))
    told = json.loads(
        subprocess.run(
            [*CALL, "resume", str(tmp_path / "first"), *HERE, "--json"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert told["finished"] == 2
    assert told["episodes"] < 4_000_000
