"""Files, words and arguments of a wrong kind are refused in one line that names them."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope import files
from tightrope.cli.app import status
from tightrope.errors import ConfigError, describe
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job, at_hand, work
from tightrope.experiments.problems import model_of
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.spec import spec_of
from tightrope.experiments.sweep import specs_of
from tightrope.study.database import Database

CMDP = tr.CMDP(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), np.ones((1, 2, 2)), [1.0], 2)
LOG = "episode,step,state,action,next_state,cost\na,0,x,go,x,0.5\n"
TERMS = {"states": ["a", "b"], "actions": ["x"], "horizon": 1, "budget": {}, "episodes": 5}


def refused(capsys, *words):
    """The line with which a command refuses."""
    assert status(words) == 2
    caught = capsys.readouterr().err
    assert caught.count("\n") == 1
    assert caught.startswith("tightrope: ")
    return caught


def test_messages_are_one_line_of_a_length_that_can_be_read():
    error = tr.ModelError("a\n  b" + "c" * 5000)
    assert str(error).startswith("a bccc")
    assert len(str(error)) == 1000
    assert describe("x" * 500).startswith("'xxx")
    assert len(describe("x" * 500)) < 100
    assert describe(10**5000) == "a number of about 5000 digits"


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tr.solve(None), "cmdp"),
        (lambda: tr.solve(CMDP, method=np.array(["lp", "lp"])), "method"),
        (lambda: tr.solve(CMDP, progress=3), "progress"),
        (lambda: tr.evaluate("model", [[1, 0]]), "cmdp"),
        (lambda: tr.slater(3), "cmdp"),
        (lambda: tr.feasibility(None), "cmdp"),
        (lambda: tr.frontier(None), "cmdp"),
        (lambda: tr.solve_optimistic(None, 0, 1), "cmdp"),
        (lambda: tr.learn(None, "OptCMDP", 3), "cmdp"),
        (lambda: tr.learn(CMDP, np.array(["OptCMDP"] * 2), 3), "algorithm"),
        (lambda: tr.learn(CMDP, "OptCMDP", 10**5000), "episodes"),
        (lambda: tr.CMDP(np.ones((1, 1, 1)), [[0]], horizon=1, noise=np.ones(2)), "noise"),
        (lambda: tr.CMDP(np.ones((1, 1, 1)), [[0]], horizon=1, cost_unit="euro"), "cost_unit"),
        (lambda: tr.CMDP(np.ones((1, 1, 1)), [[0]], horizon=1, layout="map"), "layout"),
        (lambda: tr.CMDP(np.ones((1, 1, 1)), [[0]], horizon=1, constraint_units=3), "constraint_u"),
        (lambda: tr.CMDP.load(3), "path"),
        (lambda: tr.CMDP.load("a" * 300 + ".npz"), "path"),
        (lambda: tr.CMDP.load("\ud800.npz"), "path"),
        (lambda: CMDP.save(None), "path"),
        (lambda: tr.InteractiveLearner.load(3.5), "path"),
        (lambda: tr.from_toolbox([np.eye(1)], [0], 1, constraint_cost=[1]), "constraint_cost"),
        (lambda: tr.from_quantecon(None, 1), "process"),
        (lambda: tr.to_quantecon(None), "cmdp"),
        (lambda: tr.to_arrays(None, "sas"), "cmdp"),
        (lambda: tr.read_log("log.csv", constraints=3), "constraints"),
        (lambda: tr.fit(None), "log"),
        (lambda: tr.Unit("euros", "2"), "unit"),
        (lambda: tr.Unit(3), "unit"),
        (lambda: tr.Terms(**{**TERMS, "states": 3}), "states"),
        (lambda: tr.Terms(**{**TERMS, "budget": [1.0]}), "budget"),
        (lambda: tr.Study(3, "x"), "database"),
        (lambda: tr.Study("x.sqlite", 3), "study"),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused_by_name(call, argument):
    with pytest.raises(tr.ModelError, match=f"^{argument}") as caught:
        call()
    assert caught.value.argument.startswith(argument)


def test_text_where_bytes_are_expected_is_refused():
    with pytest.raises(tr.StoreError, match="no archive"):
        tr.InteractiveLearner.from_bytes("PK text")


def test_numpy_numbers_are_accepted_and_stored_as_plain_ones(tmp_path):
    radii = {"mode": "tight", "scale": np.float32(0.5), "clip": np.bool_(True)}
    learner = tr.learner(
        "OptCMDP", np.int64(2), 1, np.int32(1), [1.0], np.uint8(5), np.float32(0.1), radii
    )
    learner.plan()
    learner.save(tmp_path / "learner.npz")
    again = tr.InteractiveLearner.load(tmp_path / "learner.npz")
    assert again.confidence.scale == 0.5
    assert again.confidence.clip is True
    plain = {"states": ["a", "b"], "actions": ["x"], "horizon": np.int64(1), "episodes": np.int8(5)}
    terms = tr.Terms(
        **plain,
        budget={"wear": np.float64(0.5)},
        ranges={"wear": np.array([0.0, 2.0])},
        confidence=radii,
        initial=np.array([0.5, 0.5]),
        allowed=np.ones((2, 1), dtype=bool),
        delta=np.float32(0.25),
    )
    assert tr.Terms.from_json(terms.as_json()) == terms
    assert json.loads(terms.as_json())["delta"] == 0.25


def test_members_that_are_not_arrays_are_refused(tmp_path, capsys):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        members.writestr("policy", "not an array")
    (tmp_path / "policy.npz").write_bytes(file.getvalue())
    tr.learner("OptCMDP", 2, 2, 2, [1.0], 5).save(tmp_path / "learner.npz")
    words = ["bound", str(tmp_path / "learner.npz"), str(tmp_path / "policy.npz")]
    assert "policy: not an array" in refused(capsys, *words)


def test_impossible_code_points_are_refused():
    file = io.BytesIO()
    np.savez(file, name=np.array([0x110000, 1], dtype=np.uint32).view("U2"))
    with pytest.raises(tr.StoreError, match=r"name: .* impossible code points"):
        files.read_arrays(file.getvalue())


def test_archives_are_not_unpacked_when_they_declare_too_much(monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 1000)
    file = io.BytesIO()
    np.savez_compressed(file, zeros=np.zeros(10**6))
    with refuses(tr.StoreError, "members unpack to", found=8_000_128):
        files.read_arrays(file.getvalue())


def test_arrays_larger_than_their_member_are_refused():
    file = io.BytesIO()
    np.savez(file, x=np.zeros(3))
    with zipfile.ZipFile(io.BytesIO(file.getvalue())) as members:
        content = members.read("x.npy").replace(b"(3,)", b"(9999999999,)")
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w") as members:
        members.writestr("x.npy", content)
    with pytest.raises(tr.StoreError, match="x: corrupt"):
        files.read_arrays(forged.getvalue())


@pytest.mark.parametrize(
    "text",
    [
        "environment = " + "[" * 3000,
        "environment = " + "[" * 300 + "]" * 300,
        'environment = "ring"\nepisodes = ' + "1" * 5000,
        'environment = "ring"\nepisodes = 3\nalgorithm = { a = { b = { c = 1 } } }',
        'environment = "ring"\nepisodes = 3\n[parameters]\nhorizon = { a = [[]] }',
    ],
)
def test_nested_and_endless_specs_are_refused(tmp_path, capsys, text):
    (tmp_path / "spec.toml").write_text(text)
    refused(capsys, "run", str(tmp_path / "spec.toml"), "--engine", "here")


def test_names_that_are_too_long_are_refused(tmp_path, capsys):
    name = "a" * 300
    refused(capsys, "solve", name)
    refused(capsys, "check", f"{name}.npz")
    refused(capsys, "solve", "ring", "--save", str(tmp_path / f"{name}.npz"))
    refused(capsys, "study", "status", "--db", f"{name}.sqlite")
    refused(capsys, "study", "new", "x", "--states", "2", "--actions", "2", "--horizon", "1",
            "--db", f"{name}.sqlite")  # fmt: skip
    refused(capsys, "report", name)
    refused(capsys, "fit", f"{name}.csv")


def test_costs_of_400_digits_are_refused_by_a_study(tmp_path, capsys):
    db = str(tmp_path / "s.sqlite")
    tr.Study.new(db, "x", tr.Terms(**TERMS))
    episode = {"episode": "e", "states": ["a", "b"], "actions": ["x"], "cost": [10**400]}
    (tmp_path / "told.jsonl").write_text(json.dumps(episode))
    assert "cost" in refused(capsys, "study", "tell", "x", str(tmp_path / "told.jsonl"), "--db", db)


def test_a_corrupt_study_does_not_block_the_others(tmp_path, capsys):
    db = tmp_path / "s.sqlite"
    for name in ("broken", "sound"):
        tr.Study.new(db, name, tr.Terms(**TERMS))
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE tightrope_studies SET terms = '[', n_told = 'x' WHERE id = 1")
    connection.close()
    assert "corrupt" in refused(capsys, "study", "status", "broken", "--db", str(db))
    assert status(["study", "ask", "sound", "--db", str(db)]) == 0
    assert status(["study", "status", "--db", str(db)]) == 0
    told = capsys.readouterr().out
    assert "sound" in told
    assert "corrupt" in told


@pytest.mark.parametrize("change", [{"episode": None}, {"episode": -1}])
def test_a_snapshot_that_lacks_something_stops_its_own_run_only(tmp_path, change):
    table = {"environment": "ring", "episodes": 3, "algorithm": ["uniform", "optimal"]}
    study = Experiment(tmp_path / "study")
    study.add_specs(specs_of(table))
    spec = study.specs()[0]
    report = work(Job(spec.to_json(), b"", 0, b"", 0.0))
    about, arrays = files.unpacked(report.state)
    folder = study.folder(spec)
    folder.begin(spec.to_json(), {})
    folder.keep(1, files.packed({**about, **change}, arrays))
    at_hand.clear()
    outcome = finish_runs(study, Here())
    assert outcome.finished == 1
    (why,) = outcome.failed.values()
    assert not why.startswith(("KeyError", "TypeError"))


def test_the_query_of_a_database_url_is_never_shown():
    url = "postgresql://u:hidden@nowhere.invalid/db?password=secret&sslmode=require"
    assert Database(url).name == "postgresql://u:***@nowhere.invalid/db?..."


def test_files_that_are_read_cannot_ask_for_an_import(tmp_path, capsys, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    table = {"environment": "gym:evil:x-v0", "episodes": 3, "algorithm": "uniform"}
    spec = spec_of({**table, "gymnasium": {"horizon": 3}})
    (tmp_path / "specs.jsonl").write_text(spec.to_json())
    assert Experiment(tmp_path).status().finished == 0  # only running it imports
    with pytest.raises(ConfigError, match="no model"):
        model_of(spec)
    refused(capsys, "study", "new", "x", "--model", "gym:evil:x-v0", "--db", str(tmp_path / "s"))
