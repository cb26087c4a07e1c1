"""Completion in the shell: names of environments, algorithms, engines and studies."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.app import app
from tightrope.study.terms import Terms


def completed(*words: str) -> list[str]:
    """What the shell offers for the last word."""
    line = " ".join(("tightrope", *words))
    variables = {
        "_TIGHTROPE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(app, env=variables, prog_name="tightrope").stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("solve", "riv"), ["riverswim"]),
        (("envs", "riv"), ["riverswim"]),
        (("fit", "log.csv", "--model", "riv"), ["riverswim"]),
        (("learn", "ring", "--algorithm", "OptP"), ["OptPrimalDual", "OptPess-LP"]),
        (("fit", "log.csv", "--algorithm", "cert"), ["certainty-equivalence"]),
        (("fit", "log.csv", "--algorithm", "OptPe"), []),
        (("solve", "ring", "--method", "l"), ["lp"]),
        (("study", "ask", "pump", "--policy", "f"), ["full"]),
        (("learn", "ring", "--algorithm", "ev"), ["every"]),
        (("learn", "ring", "--algorithm", "un"), ["uniform", "unconstrained"]),
        (("study", "new", "pump", "--algorithm", "ev"), []),
        (("study", "new", "pump", "--algorithm", "un"), []),
        (("run", "rings.toml", "--engine", "d"), ["dask"]),
        (("solve", "nothing"), []),
    ],
)
def test_names_are_completed(words, expected):
    assert completed(*words) == expected


def test_studies_are_completed_from_the_database_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    terms = Terms(states=["fine"], actions=["wait"], horizon=1, budget={}, episodes=9)
    tr.Study.new("tightrope.sqlite", "pump", terms)
    tr.Study.new("other.sqlite", "press", terms)
    assert completed("study", "ask", "p") == ["pump"]
    assert completed("study", "tell", "--db", "other.sqlite", "p") == ["press"]
    assert completed("study", "status", "--db", "none.sqlite", "p") == []
    assert not (tmp_path / "none.sqlite").exists()
