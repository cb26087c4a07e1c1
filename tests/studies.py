"""Small finished studies for tests of what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightrope.run.carry_out import carry_out
from tightrope.run.engines.here import Here
from tightrope.run.study import Study
from tightrope.run.sweep import specs_of

TABLE = {
    "environment": ["ring", "grid"],
    "algorithm": ["OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"],
    "episodes": 300,
    "seeds": 3,
    "confidence": {"mode": "tight", "scale": 0.1},
}


def finished(path: Path, models: dict[str, bytes] | None = None, **change: Any) -> Study:
    """A study of which every run is done."""
    study = Study(path)
    study.add(specs_of(TABLE | change), models)
    outcome = carry_out(study, Here())
    assert not outcome.failed
    return study


def silent(done, n):
    """Nothing is said while a study is read."""
