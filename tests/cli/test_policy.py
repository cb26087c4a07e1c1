"""Policies as tables, and the words that all commands share."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tightrope import __version__
from tightrope.cli.app import status
from tightrope.cli.policy import find_runs, mixture
from tightrope.model.choices import Choices
from tightrope.progress import SETTINGS


def test_rows_join_stages_with_one_decision_and_leave_out_unreached_ones():
    policy = np.zeros((4, 2, 2))
    policy[:, :, 0] = 1.0
    policy[2, 0] = [0.25, 0.75]
    reached = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.0], [0.5, 0.5]])
    choices = Choices.of(policy)
    runs = find_runs(choices, reached)
    found = list(zip(*(each.tolist() for each in runs), strict=True))
    assert found == [(0, 0, 1, 1.5), (0, 2, 2, 0.5), (0, 3, 3, 0.5), (1, 1, 1, 0.5), (1, 3, 3, 0.5)]
    assert mixture(choices.row(2, 0), ["go", "stay"]) == "go 25% / stay 75%"
    assert mixture(choices.row(0, 0), ["go", "stay"]) == "go"


def test_stages_with_one_mixture_or_one_mark_are_joined():
    policy = np.zeros((5, 1, 2))
    policy[:, 0] = [0.25, 0.75]
    policy[4, 0] = [0.0, 1.0]
    policy[1, 0] = [0.25 + 1e-12, 0.75 - 1e-12]
    marks = np.array([[False], [False], [True], [True], [True]])
    runs = find_runs(Choices.of(policy), np.ones((5, 1)), marks)
    assert runs.first.tolist() == [0, 2, 4]
    assert runs.last.tolist() == [1, 3, 4]
    assert find_runs(Choices.of(policy), np.zeros((5, 1))).state.size == 0


def test_solve_prints_the_most_visited_rows_or_all(capsys):
    assert status(["solve", "grid"]) == 0
    short = capsys.readouterr().out.splitlines()
    assert short[-1].startswith("(24 of ")
    assert status(["solve", "grid", "--policy", "full"]) == 0
    whole = capsys.readouterr().out.splitlines()
    n_rows = int(short[-1].split()[2])
    assert len(whole) == len(short) - 1 + n_rows - 24
    assert status(["solve", "grid", "--policy", "some"]) == 2
    assert "--policy: 'some'" in capsys.readouterr().err


def test_the_policy_in_json_plays_in_every_reached_state(capsys):
    assert status(["solve", "ring", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["policy"]
    assert [row["stage"] for row in rows] == list(range(6))
    for row in rows:
        assert row["reached"] == pytest.approx(1.0)
        assert sum(row["actions"].values()) == pytest.approx(1.0)


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "tightrope", "-V"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"tightrope {__version__}\n"


def test_debug_shows_the_traceback_and_quiet_is_remembered(capsys, monkeypatch):
    monkeypatch.setattr(SETTINGS, "is_quiet", False)
    assert status(["solve", "rong"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert status(["-q", "--debug", "solve", "rong"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1].startswith("tightrope: ")
    assert SETTINGS.is_quiet


def test_debug_and_quiet_may_stand_after_the_command(capsys, monkeypatch):
    monkeypatch.setattr(SETTINGS, "is_quiet", False)
    assert status(["solve", "rong", "-q", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
    assert SETTINGS.is_quiet
    assert status(["solve", "--", "-q"]) == 2  # a name of a model, not a flag
    assert "'-q'" in capsys.readouterr().err
    assert not SETTINGS.is_quiet


def test_compile_names_what_it_compiled(capsys):
    assert status(["compile", "--algorithm", "uniform", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["seconds"]) == {"planning", "uniform"}
    assert status(["compile", "--algorithm", "OptDaul"]) == 2
    assert "OptDual" in capsys.readouterr().err


def test_a_plan_is_saved_as_a_table_and_as_json(capsys, tmp_path):
    table, text = tmp_path / "plan.csv", tmp_path / "plan.json"
    assert status(["solve", "ring", "--save", str(table)]) == 0
    assert status(["solve", "ring", "--save", str(text)]) == 0
    capsys.readouterr()
    lines = table.read_text().splitlines()
    assert lines[0] == "stage,state,action,probability,reached"
    assert lines[1:3] == ["0,0,stay,1,1", "1,0,stay,1,1"]
    data = json.loads(text.read_text())
    (moves,) = data["constraints"]
    assert (moves["name"], moves["budget"]) == ("moves", 3.0)
    assert moves["value"] == pytest.approx(3.0)
    assert data["value"] == pytest.approx(2.0)
    assert data["policy"][0] == {"stage": 0, "state": "0", "reached": 1.0, "actions": {"stay": 1.0}}
