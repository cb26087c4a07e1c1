"""Small finished studies for tests of what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.sweep import specs_of

TABLE = {
    "environment": ["ring", "grid"],
    "algorithm": ["OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"],
    "episodes": 300,
    "seeds": 3,
    "confidence": {"mode": "tight", "scale": 0.1},
}


def finished(path: Path, models: dict[str, bytes] | None = None, **change: Any) -> Experiment:
    """A study of which every run is done."""
    study = Experiment(path)
    study.add_specs(specs_of(TABLE | change), models)
    outcome = finish_runs(study, Here())
    assert not outcome.failed
    return study


def silent(done, n):
    """Nothing is said while a study is read."""
