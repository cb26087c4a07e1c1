"""Command lines: every command with options, values and files that nobody meant."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import typer

import tightrope as tr
from fuzz.driver import Kind
from fuzz.kinds_arguments import LOG, TOLD, small_model
from fuzz.kinds_files import EPISODES
from fuzz.kinds_studies import make_database, make_experiment
from fuzz.kinds_values import WORDS, mutate_bytes, mutate_text, pick
from tightrope import progress
from tightrope.cli.app import app, status
from tightrope.errors import TightropeError

__all__ = ["KINDS"]

CALL = [sys.executable, "-c", "from tightrope.cli import main; main()"]
HANG = 300.0  # seconds

LINES = [
    "envs",
    "envs ring --json",
    "check model.npz",
    "check ring --set horizon=3 --json",
    "check model.drn --horizon 3 --cost cost",
    "solve model.toml --save plan.npz",
    "solve ring --set horizon=3 --budget 2 --method lp --json",
    "solve gym:FrozenLake-v1 --horizon 3 --budget holes=0.5 --range reward=0:1",
    "frontier model.npz --constraint 0 --most 5",
    "learn ring --set horizon=3 --algorithm OptCMDP --episodes 3 --confidence tight --seeds 1",
    "learn model.npz --algorithm OptDual --episodes 3 --rho 2 --delta 0.2 --points 3 --json",
    "learn ring --horizon 3 --algorithm uniform --episodes 3 --out runs --engine here",
    "learn gym:FrozenLake-v1 --horizon 3 --episodes 3 --budget holes=0.5 --stationary",
    "run spec.toml --out runs --engine here --json",
    "resume experiment --engine here",
    "export experiment --out table.csv --json",
    "report experiment --out page.html --json",
    "fit log.csv --budget wear=1 --stationary --out fitted",
    "fit log.jsonl --budget wear=1 --algorithm certainty-equivalence --initial fine --json",
    "fit log.csv --horizon 2 --budget wear=1 --range cost=0:2 --skip-bad --bad bad.csv",
    "convert model.npz out.toml",
    "convert model.toml out.drn --unroll",
    "convert model.drn out.npz --horizon 3 --cost cost",
    "bound learner.npz plan",
    "bound learner.npz policy.npz --json",
    "study new pump2 --states fine,worn --actions 2 --horizon 2 --budget wear=1 --db s.sqlite",
    "study new same --model model.npz --episodes 5 --db studies.sqlite",
    "study ask pump --db studies.sqlite --save next.npz",
    "study tell pump told.jsonl --db studies.sqlite",
    "study tell pump log.csv --db studies.sqlite --json",
    "study tell pump --db studies.sqlite",
    "study status --db studies.sqlite",
    "study status pump --db studies.sqlite --json",
    "demo --out model.npz --nothing",
]
# larger numbers would be long runs, not faults
COUNTS = ["0", "-1", "1", "2", "3", "1.5", "x", "", "nan", "9" * 400]
SIZES = {
    "--episodes",
    "--seeds",
    "--steps",
    "--horizon",
    "--states",
    "--actions",
    "--most",
    "--more",
    "--points",
    "--workers",
    "--snapshot",
}
ENGINES = ["here", "nowhere", "", "HERE"]


class Samples:
    """Files that command lines name, and the options of every command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cmdp = small_model()
        for name in ("model.npz", "model.toml"):
            cmdp.save(folder / name)
        tr.write_drn(cmdp, folder / "model.drn")
        (folder / "log.csv").write_text(LOG)
        (folder / "log.jsonl").write_text("\n".join(map(json.dumps, EPISODES)))
        told = {key: value for key, value in TOLD.items() if key != "place"}
        (folder / "told.jsonl").write_text(json.dumps(told))
        (folder / "spec.toml").write_text(
            'environment = "ring"\nalgorithm = ["uniform", "optimal"]\nepisodes = 3\n'
            "[parameters]\nhorizon = 3\n"
        )
        tr.learner("OptCMDP", 3, 2, 3, [1.5], 6, confidence="tight").save(folder / "learner.npz")
        np.savez(folder / "policy.npz", policy=np.full((3, 3, 2), 0.5))
        make_database(folder)
        make_experiment(folder / "experiment")
        self.options = _options(typer.main.get_command(app))


def _options(command: Any, name: str = "") -> dict[str, list[str]]:
    """The options of each command by its words."""
    found = {name: [word for each in command.params for word in each.opts if word[0] == "-"]}
    for word, part in getattr(command, "commands", {}).items():
        found |= _options(part, f"{name} {word}".strip())
    return found


def _words(samples: Samples, rng: np.random.Generator) -> list[str]:
    words = str(pick(rng, LINES)).split()
    command = " ".join(words[: 2 if words[0] == "study" else 1])
    for _ in range(int(rng.integers(0, 4))):
        what = int(rng.integers(6))
        k = int(rng.integers(len(words)))
        if what <= 1:
            option = pick(rng, samples.options.get(command) or ["--json"])
            words += [option, _value(rng, option)]
        elif what == 2 and k > 0:
            words[k] = str(pick(rng, WORDS)) if rng.random() < 0.6 else mutate_text(rng, words[k])
        elif what == 3 and len(words) > 1:
            del words[k]
        elif what == 4:
            words.insert(k + 1, str(pick(rng, WORDS)))
        else:
            words.append(pick(rng, ["--help", "--json", "-h", "--", "--version", "-x"]))
    return _harmless(rng, words)


def _value(rng: np.random.Generator, option: str) -> str:
    if option in SIZES:
        return str(pick(rng, COUNTS))
    if option == "--engine":
        return str(pick(rng, ENGINES))
    named = ["ring", "model.npz", "0.5", "tight", "wear=1", "cost=0:1", "out.png", "scale=0.1"]
    return str(pick(rng, named)) if rng.random() < 0.3 else str(pick(rng, WORDS))


def _harmless(rng: np.random.Generator, words: list[str]) -> list[str]:
    """No runs of hours, no other processes, no paths outside of the folder of the input."""
    for k, word in enumerate(words):
        before = words[k - 1] if k else ""
        name, equals, value = word.partition("=")
        if before in SIZES and word not in COUNTS:
            words[k] = str(pick(rng, COUNTS))
        elif equals and name in ("horizon", *SIZES) and value not in COUNTS:
            words[k] = f"{name}={pick(rng, COUNTS)}"
        elif before == "--engine" and word not in ENGINES:
            words[k] = str(pick(rng, ENGINES))
        elif word in ("/", "../.."):
            words[k] = "folder"
    if words and words[0] in ("learn", "run", "resume") and "--engine" not in words:
        words += ["--engine", "here"]
    if words and words[0] == "demo":
        words.insert(1, "--nothing")
    if words and words[0] == "learn" and "--episodes" not in words:
        words += ["--episodes", "3"]
    return words


def _place(samples: Samples, rng: np.random.Generator, folder: Path, words: list[str]) -> None:
    """Put the files that the words name where the command runs; now and then corrupt."""
    there = {path.name for path in samples.folder.iterdir()}
    for name in sorted(there & set(words)):
        source = samples.folder / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            content = source.read_bytes()
            is_corrupt = rng.random() < 0.2
            (folder / name).write_bytes(mutate_bytes(rng, content) if is_corrupt else content)


# progress on a slow machine
PASSED_OVER = re.compile(r"^gym:|: [0-9:]+( s)?(, compiling kernels.*)?$")


def _judge(words: list[str], code: int, out: str, err: str) -> None:
    """Raise unless a command succeeded or refused in one line."""
    assert code in (0, 2) or (code == 1 and "check" in words), f"status {code}: {err[:500]}"
    assert "Traceback" not in err, err[-2000:]
    if code == 2:
        lines = [line for line in err.strip().split("\n") if not PASSED_OVER.search(line)]
        assert len(lines) == 1, f"{len(lines)} lines: {err[:500]}"
        assert lines[0].startswith("tightrope: "), lines[0][:500]
    strange = {c for c in out + err if not c.isprintable() and c != "\n"}
    assert not strange, f"control characters {sorted(strange)} in the output"
    if code == 2:
        raise TightropeError(err)


def _command(samples: Samples, rng: np.random.Generator, folder: Path) -> None:
    words = _words(samples, rng)
    _place(samples, rng, folder, words)
    out, err = io.StringIO(), io.StringIO()
    progress.PATIENCE = 3600.0
    sys.stdin = io.StringIO(mutate_text(rng, json.dumps(TOLD)))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = status(words)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    _judge(words, code, out.getvalue(), err.getvalue())


def _process(samples: Samples, rng: np.random.Generator, folder: Path) -> None:
    words = _words(samples, rng)
    words = [word for word in words if "\0" not in word and word.isascii()]
    _place(samples, rng, folder, words)
    done = subprocess.run(
        [*CALL, *words],
        input=mutate_bytes(rng, json.dumps(TOLD).encode()),
        capture_output=True,
        timeout=HANG,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    out, err = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    _judge(words, done.returncode, out, err)


KINDS = [
    Kind("command_line", _command, Samples, share=4.0),
    Kind("command_process", _process, Samples, share=0.05),
]
