"""Experiments and studies: specs, run folders, snapshots and databases with something changed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

import tightrope as tr
from fuzz.driver import Kind
from fuzz.kinds_arguments import terms
from fuzz.kinds_files import change_archive, change_table, toml_of
from fuzz.kinds_values import WORDS, hostile, mutate_bytes, pick
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job, at_hand, work
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.sweep import read_sweep, specs_of

__all__ = ["KINDS", "make_database", "make_experiment"]

SPEC = {
    "environment": "ring",
    "algorithm": ["OptCMDP", "OptDual"],
    "episodes": 4,
    "seeds": "1-2",
    "confidence": ["tight", {"mode": "tight", "scale": 0.1}],
    "delta": 0.1,
    "rho": 2.0,
    "parameters": {"budget": [2.0, 3.0], "horizon": 3},
    "budget": {"0": 2.0},
    "points": 10,
    "common_random_numbers": False,
    "method": "columns",
    "audit_visits": True,
    "tolerance": 1e-8,
    "dual_step": 1.0,
    "primal_step": 1.0,
}


def _spec(state: Any, rng: np.random.Generator, folder: Path) -> None:
    table: Any = dict(SPEC)
    for _ in range(int(rng.integers(1, 4))):
        table = change_table(rng, table) if isinstance(table, dict) else {}
    if rng.random() < 0.2 and isinstance(table, dict) and table:
        table = {**table, pick(rng, table): hostile(rng)}
        specs_of(table)
        return
    if not isinstance(table, dict):
        table = {}
    text = "\n".join(f"{json.dumps(key)} = {toml_of(value)}" for key, value in table.items())
    content = text.encode("utf-8", "replace")
    path = folder / "spec.toml"
    path.write_bytes(mutate_bytes(rng, content) if rng.random() < 0.5 else content)
    specs_of(read_sweep(path), "spec.toml")


def make_experiment(folder: Path) -> Path:
    """Make the folder of an experiment with a finished run, one under way and one not begun."""
    table = {"environment": "ring", "episodes": 6, "seeds": 1, "confidence": "tight"}
    table["parameters"] = {"horizon": 3}
    home = Experiment(folder)
    home.add_specs(specs_of({**table, "algorithm": "OptCMDP"}))
    finish_runs(home, Here())
    (begun,) = specs_of({**table, "algorithm": "OptDual", "rho": 2.0})
    home.add_specs([begun])
    report = work(Job(begun.to_json(), b"", 0, b"", 0.0))
    run = home.folder(begun)
    run.begin(begun.to_json(indent=1), {"tightrope": "0"})
    run.keep(report.episode, report.state)
    home.add_specs(specs_of({**table, "algorithm": "uniform"}))
    return folder


NOT_REFUSED = re.compile(r"^(\w+Error|\w+Exception|StopIteration)\b")


def _run_folder(source: Path, rng: np.random.Generator, folder: Path) -> None:
    place = folder / "experiment"
    shutil.copytree(source, place)
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.name != "lock")
    snapshots = [path for path in files if path.name.startswith("snapshot")]
    for _ in range(int(rng.integers(1, 3))):
        path = pick(rng, snapshots if rng.random() < 0.5 else files)
        _change_file(rng, path)
    at_hand.clear()
    home = Experiment(place)
    n_runs = len(home.specs())
    outcome = finish_runs(home, Here())
    for why in outcome.failed.values():
        if NOT_REFUSED.match(why):
            raise RuntimeError(f"a run failed with {why}")
    assert outcome.finished + len(outcome.failed) == n_runs, "a corrupt run blocked others"
    if rng.random() < 0.3:
        from tightrope.cli.experiments import export

        export(place, None, True)


def _change_file(rng: np.random.Generator, path: Path) -> None:
    if not path.exists():
        return
    content = path.read_bytes()
    what = int(rng.integers(6))
    if what == 0:
        path.unlink()
    elif what <= 3 and content.startswith(b"PK"):
        path.write_bytes(change_archive(rng, content))
    elif what <= 3 and path.suffix in (".json", ".jsonl"):
        text = content.decode(errors="replace")  # an earlier change may have corrupt it
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        k = int(rng.integers(len(lines)))
        try:
            lines[k] = json.dumps(change_table(rng, json.loads(lines[k])))
        except ValueError:
            lines[k] = pick(rng, WORDS)
        path.write_bytes("\n".join(lines).encode("utf-8", "replace"))
    else:
        path.write_bytes(mutate_bytes(rng, content))


def make_database(folder: Path) -> Path:
    """Make a database with a study of two episodes and an empty one."""
    path = folder / "studies.sqlite"
    study = tr.Study.new(path, "pump", terms())
    for k in range(2):
        study.tell(
            [
                tr.Told(
                    f"e{k}",
                    ["fine", "worn", "fine"],
                    ["hard", "gentle"],
                    [0.1, 0.2],
                    {"wear": [0.5, 1.0]},
                )
            ]
        )
        study.ask()
    tr.Study.new(path, "other", terms(algorithm="OptDual", options={"rho": 2.0}))
    # one file, without a log beside it
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def _database(source: Path, rng: np.random.Generator, folder: Path) -> None:
    path = folder / "studies.sqlite"
    content = source.read_bytes()
    if rng.random() < 0.2:
        path.write_bytes(mutate_bytes(rng, content))
    else:
        path.write_bytes(content)
        _change_rows(rng, path)
    try:
        study = tr.Study(path, "pump")
        str(study.n_told)
        study.ask()
        study.tell(
            [
                tr.Told(
                    "e9",
                    ["fine", "worn", "fine"],
                    ["hard", "gentle"],
                    [0.1, 0.2],
                    {"wear": [0.5, 1.0]},
                )
            ]
        )
    finally:
        tr.Study.names(path)


COLUMNS = {
    "tightrope_studies": ["id", "name", "form", "terms", "made_at", "n_told"],
    "tightrope_episodes": ["study", "number", "episode", "content", "policy", "told_at"],
    "tightrope_states": ["study", "number", "version", "content"],
}


def _change_rows(rng: np.random.Generator, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    try:
        for _ in range(int(rng.integers(1, 3))):
            table = pick(rng, COLUMNS)
            column = pick(rng, COLUMNS[table])
            if rng.random() < 0.1:
                connection.execute(f"DELETE FROM {table} WHERE rowid % 2 = {rng.integers(2)}")
                continue
            (old,) = connection.execute(f"SELECT {column} FROM {table}").fetchone() or (None,)
            value = _changed_cell(rng, column, old)
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
        connection.commit()
    except (sqlite3.Error, OverflowError, UnicodeEncodeError):
        connection.rollback()  # the database itself refuses such a value
    finally:
        connection.close()


def _changed_cell(rng: np.random.Generator, column: str, old: Any) -> Any:
    if isinstance(old, bytes) and rng.random() < 0.8:
        change = change_archive if rng.random() < 0.8 else mutate_bytes
        return change(rng, old)
    if column in ("terms", "content") and isinstance(old, str) and rng.random() < 0.8:
        try:
            return json.dumps(change_table(rng, json.loads(old)))
        except ValueError:
            return mutate_bytes(rng, old.encode()).decode("utf-8", "replace")
    return pick(rng, [None, -1, 0, 1, 7, 2**40, 0.5, "", "x", "\x1b", b"", b"\xff", "9" * 400])


def _prepare_experiment(folder: Path) -> Path:
    return make_experiment(folder / "experiment")


KINDS = [
    Kind("experiment_spec", _spec, share=2.0),
    Kind("run_folder", _run_folder, _prepare_experiment, share=0.5),
    Kind("study_database", _database, make_database, share=1.0),
]
