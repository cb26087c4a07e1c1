"""Files: models, logs, learners and policies with bytes, arrays or values changed."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tightrope as tr
from driven import own_options
from fuzz.driver import Kind
from fuzz.kinds_arguments import LOG, small_model
from fuzz.kinds_values import WORDS, hostile, mutate_bytes, perturb, pick

__all__ = ["KINDS", "change_archive", "change_table", "toml_of"]


def change_archive(rng: np.random.Generator, content: bytes) -> bytes:
    """Return an .npz in which some members are changed, missing, new or not arrays."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # noqa: BLE001 - corrupt by an earlier change
        return mutate_bytes(rng, content)
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, members)
        what = int(rng.integers(6))
        if what <= 2:
            members[name] = _changed_member(rng, name, members[name])
        elif what == 3:
            members[name] = mutate_bytes(rng, members[name])
        elif what == 4 and len(members) > 1:
            del members[name]
        else:
            members[pick(rng, ["x.npy", "about.npy", "x", "../x.npy", ""])] = members[name]
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED if rng.integers(2) else 0) as archive:
        for name, member in members.items():
            archive.writestr(name or "empty", member)
    return file.getvalue()


def _changed_member(rng: np.random.Generator, name: str, member: bytes) -> bytes:
    try:
        array = np.load(io.BytesIO(member), allow_pickle=False)
    except Exception:  # noqa: BLE001 - corrupt by an earlier change
        return mutate_bytes(rng, member)
    if name.startswith("about") or (array.dtype == np.uint8 and array.ndim == 1):
        try:
            about = json.loads(array.tobytes())
            text = json.dumps(change_table(rng, about), default=str)
        except ValueError:
            text = mutate_bytes(rng, array.tobytes()).decode("utf-8", "replace")
        changed: Any = np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)
    else:
        changed = perturb(rng, array)
    file = io.BytesIO()
    changed = np.asarray(changed)
    if changed.dtype == object:
        return b"no array"
    try:
        np.save(file, changed, allow_pickle=False)
    except (ValueError, OverflowError):
        return b"no array"
    return file.getvalue()


def change_table(rng: np.random.Generator, table: Any) -> Any:
    """A table of plain values with one of them changed, somewhere inside."""
    if isinstance(table, dict) and table and rng.random() < 0.8:
        key = pick(rng, table)
        what = int(rng.integers(5))
        changed = dict(table)
        if what == 0:
            del changed[key]
        elif what == 1:
            changed[str(pick(rng, WORDS))] = changed[key]
        else:
            changed[key] = change_table(rng, changed[key])
        return changed
    if isinstance(table, list) and table and rng.random() < 0.8:
        changed_list = list(table)
        k = int(rng.integers(len(changed_list)))
        if rng.random() < 0.2:
            del changed_list[k]
        else:
            changed_list[k] = change_table(rng, changed_list[k])
        return changed_list
    return pick(
        rng,
        [
            None,
            True,
            -1,
            0,
            1,
            7,
            2**31,
            2**63,
            10**30,
            0.5,
            -1.5,
            1e308,
            "",
            "x",
            "a" * 3000,
            "\x00\x1b[31m",
            [],
            {},
            [[]],
            [1, 2],
            {"x": 1},
            table,
        ],
    )


def toml_of(value: Any) -> str:
    """A value of plain types as TOML, tables inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value).replace("e+", "e")
    if isinstance(value, dict):
        items = (f"{json.dumps(key)} = {toml_of(each)}" for key, each in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return json.dumps(str(value))


def _toml_table(table: dict[str, Any]) -> bytes:
    return "\n".join(
        f"{json.dumps(key)} = {toml_of(value)}" for key, value in table.items()
    ).encode("utf-8", "replace")


class Models:
    """Model files of each kind."""

    def __init__(self, folder: Path) -> None:
        cmdp = small_model()
        for name in ("model.npz", "model.toml"):
            cmdp.save(folder / name)
        tr.write_drn(cmdp, folder / "model.drn")
        self.content = {path.suffix: path.read_bytes() for path in folder.iterdir()}
        self.table = tomllib.loads(self.content[".toml"].decode())


def _open_model(path: Path, rng: np.random.Generator) -> None:
    cmdp = tr.CMDP.load(path)
    if cmdp.horizon * cmdp.n_states * cmdp.n_actions < 1000:
        cmdp.check()
        if rng.random() < 0.2:
            tr.solve(cmdp)


def _npz(models: Models, rng: np.random.Generator, folder: Path) -> None:
    change = change_archive if rng.random() < 0.6 else mutate_bytes
    (folder / "model.npz").write_bytes(change(rng, models.content[".npz"]))
    _open_model(folder / "model.npz", rng)


def _toml(models: Models, rng: np.random.Generator, folder: Path) -> None:
    if rng.random() < 0.5:
        content = mutate_bytes(rng, models.content[".toml"])
    else:
        table = models.table
        for _ in range(int(rng.integers(1, 3))):
            table = change_table(rng, table)
            if not isinstance(table, dict):
                table = {"format": table}
        content = _toml_table(table)
    (folder / "model.toml").write_bytes(content)
    _open_model(folder / "model.toml", rng)


def _drn(models: Models, rng: np.random.Generator, folder: Path) -> None:
    lines = models.content[".drn"].split(b"\n")
    if rng.random() < 0.5:
        content = mutate_bytes(rng, models.content[".drn"])
    else:
        for _ in range(int(rng.integers(1, 4))):
            k = int(rng.integers(len(lines)))
            what = int(rng.integers(3))
            lines[k : k + 1] = (
                [] if what == 0 else [lines[k]] * 2 if what == 1 else [mutate_bytes(rng, lines[k])]
            )
        content = b"\n".join(lines)
    (folder / "model.drn").write_bytes(content)
    cmdp = tr.read_drn(folder / "model.drn", 3, "cost")
    if rng.random() < 0.2:
        tr.solve(cmdp)


def _steps() -> list[dict[str, Any]]:
    head, *rows = LOG.strip().split("\n")
    return [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]


EPISODES = [
    {
        "episode": k,
        "states": ["fine", "worn", "fine"],
        "actions": ["hard", "gentle"],
        "cost": [0.1, 0.2],
        "constraint_cost": {"wear": [0.5, 1.0]},
    }
    for k in range(3)
]


def _read(path: Path, rng: np.random.Generator) -> None:
    log = tr.read_log(path, constraints=["wear"], skip_bad=bool(rng.integers(2)))
    if rng.random() < 0.1:
        tr.fit(log, {"wear": 1.0}, "certainty-equivalence")


def _csv(state: Any, rng: np.random.Generator, folder: Path) -> None:
    content = LOG.encode()
    if rng.random() < 0.5:
        rows = [row.split(",") for row in LOG.strip().split("\n")]
        for _ in range(int(rng.integers(1, 4))):
            row = pick(rng, rows)
            row[int(rng.integers(len(row)))] = str(pick(rng, WORDS))
        content = "\n".join(map(",".join, rows)).encode("utf-8", "surrogatepass")
    (folder / "log.csv").write_bytes(mutate_bytes(rng, content) if rng.random() < 0.7 else content)
    _read(folder / "log.csv", rng)


def _jsonl(state: Any, rng: np.random.Generator, folder: Path) -> None:
    objects: list[Any] = list(EPISODES if rng.integers(2) else _steps())
    for _ in range(int(rng.integers(0, 3))):
        k = int(rng.integers(len(objects)))
        objects[k] = change_table(rng, objects[k])
    content = "\n".join(map(json.dumps, objects)).encode()
    (folder / "log.jsonl").write_bytes(
        mutate_bytes(rng, content) if rng.random() < 0.6 else content
    )
    _read(folder / "log.jsonl", rng)


def _parquet(state: Any, rng: np.random.Generator, folder: Path) -> None:
    rows = _steps()
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    for name in ("cost", "wear"):
        columns[name] = [float(value) for value in columns[name]]
    columns["step"] = [int(value) for value in columns["step"]]
    for _ in range(int(rng.integers(0, 3))):
        name = pick(rng, columns)
        columns[name] = pick(
            rng,
            [
                [None] * 6,
                [True] * 6,
                [b"\xff"] * 6,
                [[1]] * 6,
                [{"a": 1}] * 6,
                [np.datetime64("2020-01-01")] * 6,
                [float("nan")] * 6,
                [2**62] * 6,
                [f"{k}" for k in range(6)],
                ["\x00"] * 6,
                [-1] * 6,
            ],
        )
        if rng.random() < 0.2:
            del columns[name]
    file = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), file)
    except (pa.ArrowException, TypeError):  # Arrow cannot write it
        return
    content = file.getvalue()
    (folder / "log.parquet").write_bytes(
        mutate_bytes(rng, content) if rng.random() < 0.4 else content
    )
    _read(folder / "log.parquet", rng)


OLD_LEARNERS = Path(__file__).parent.parent / "data" / "learners-0.1"


class Learners:
    """Files of learners in several states, and of version 0.1."""

    def __init__(self, folder: Path) -> None:
        self.content = [path.read_bytes() for path in sorted(OLD_LEARNERS.glob("Opt*.npz"))]
        for algorithm in ("OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"):
            for n in (0, 2):
                rho = own_options(algorithm, {"rho": 2.0})
                learner = tr.learner(algorithm, 3, 2, 3, [1.5], 6, confidence="tight", **rho)
                for _ in range(n):
                    learner.plan()
                    learner.observe(tr.Episode([0, 1, 2, 0], [0, 1, 0], [0.1] * 3, [[0.5] * 3]))
                self.content.append(learner.to_bytes())


def _learner(learners: Learners, rng: np.random.Generator, folder: Path) -> None:
    content = pick(rng, learners.content)
    change = change_archive if rng.random() < 0.8 else mutate_bytes
    learner = tr.InteractiveLearner.from_bytes(change(rng, content))
    if learner.task.horizon * learner.task.n_states * learner.task.n_actions < 1000:
        plan = learner.plan()
        learner.bound(plan.policy)
        constraint_cost = [[0.5] * 3] * learner.task.n_constraints
        learner.observe(tr.Episode([0, 1, 2, 0], [0, 1, 0], [0.1] * 3, constraint_cost))
        tr.InteractiveLearner.from_bytes(learner.to_bytes())


def _policy(state: Any, rng: np.random.Generator, folder: Path) -> None:
    from tightrope.model.plan_files import read_policy

    file = io.BytesIO()
    np.savez(
        file,
        policy=np.full((3, 3, 2), 0.5),
        state_names=np.array(["a", "b", "c"]),
        action_names=np.array(["x", "y"]),
    )
    change = change_archive if rng.random() < 0.7 else mutate_bytes
    (folder / "p.npz").write_bytes(change(rng, file.getvalue()))
    found = read_policy(folder / "p.npz")
    tr.evaluate(small_model(), found[0] if rng.random() < 0.9 else hostile(rng))


KINDS = [
    Kind("npz_model", _npz, Models, share=2.0),
    Kind("toml_model", _toml, Models, share=2.0),
    Kind("drn_model", _drn, Models, share=2.0),
    Kind("csv_log", _csv, share=2.0),
    Kind("jsonl_log", _jsonl, share=2.0),
    Kind("parquet_log", _parquet),
    Kind("learner_file", _learner, Learners, share=2.0),
    Kind("policy_file", _policy),
]
