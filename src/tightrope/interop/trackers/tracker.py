"""Runs as trackers take them: configuration, curves and totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import StoreError
from tightrope.experiments.curves import KINDS, regret_of
from tightrope.experiments.run import Run
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.storage import RunFolder
from tightrope.experiments.summary import thin
from tightrope.files import make_folder, put, reason
from tightrope.model import CMDP

Value = str | int | float | bool


@dataclass(frozen=True)
class TrackedRun:
    """A run, in the units of its model."""

    id: str
    name: str  # learner, problem and seed
    problem: str
    learner: str
    config: Mapping[str, Value]  # flat, by dotted names
    episode: Ints  # (P,)
    curves: Mapping[str, Floats]  # (P,) by name
    totals: Mapping[str, float]

    def points(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield each recorded episode with the finite values of all curves."""
        for k, episode in enumerate(self.episode.tolist()):
            values = {name: float(curve[k]) for name, curve in self.curves.items()}
            yield episode, {name: v for name, v in values.items() if np.isfinite(v)}


class Tracker(Protocol):
    """A place that runs are sent to."""

    def known(self) -> set[str]:
        """Return the ids of runs that are there."""

    def send(self, run: TrackedRun) -> None:
        """Write a run, whole or not at all."""


def tracked_run(spec: RunSpec, cmdp: CMDP, run: Run) -> TrackedRun:
    """Return a finished run as trackers take it, thinned as in reports."""
    places = thin(run.episode)
    curves: dict[str, Floats] = {}
    for kind in KINDS:
        regret = regret_of(run, kind)
        if regret.ndim == 1:
            curves[f"regret/{kind}"] = regret[places]
            continue
        for i, name in enumerate(cmdp.constraint_names):
            curves[f"regret/{kind}/{name}"] = regret[places, i]
    for i, name in enumerate(cmdp.constraint_names):
        curves[f"multiplier/{name}"] = run.multiplier[places, i]
    curves["violations"] = run.violations[places].astype(np.float64)
    curves["share_in_violation"] = run.violations[places] / run.episode[places]
    if run.baseline is not None:
        curves["baseline"] = run.baseline[places]
    totals = {
        "optimum": run.optimum,
        "first_feasible": float(run.first_feasible),
        "seconds": run.seconds,
    }
    for name, worst in zip(cmdp.constraint_names, run.worst_violation, strict=True):
        totals[f"worst_violation/{name}"] = float(worst)
    return _tracked(spec, run.is_heuristic, run.episode[places], curves, totals)


def tracked_returns(spec: RunSpec, folder: RunFolder) -> TrackedRun:
    """Return a finished run in an environment of Gymnasium as trackers take it, thinned."""
    from tightrope.interop.gym.runs import is_heuristic, read_realized, read_seconds

    run = read_realized(spec, folder)
    places = thin(np.arange(1, run.n_episodes + 1))
    means = {name: run.band(name).mean for name in run.names}
    curves = {
        **{f"sum/{name}": run.totals[places, j] for j, name in enumerate(run.names)},
        **{f"mean/{name}": mean[places] for name, mean in means.items()},
        "steps": run.steps[places].astype(np.float64),
    }
    totals = {f"mean/{name}": float(mean[-1]) for name, mean in means.items()}
    totals["seconds"] = read_seconds(folder)
    return _tracked(spec, is_heuristic(spec), places + 1, curves, totals)


def _tracked(
    spec: RunSpec,
    is_heuristic: bool,
    episode: Ints,
    curves: Mapping[str, Floats],
    totals: Mapping[str, float],
) -> TrackedRun:
    name = f"{spec.algorithm}, {spec.environment}, seed {spec.seed}"
    config = {"run": spec.id, **_flatten(spec.to_table()), "heuristic": is_heuristic}
    known = spec.id, name, spec.environment, spec.algorithm, config
    return TrackedRun(*known, episode, curves, totals)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flatten(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float | bool):
            found[prefix + key] = value
        else:
            found[prefix + key] = str(value)
    return found


class SentList:
    """The runs sent to a directory, for trackers without an index."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.path = folder / "sent.txt"

    def read(self) -> set[str]:
        """Return the ids of the runs sent so far."""
        try:
            return set(self.path.read_text(encoding="utf-8").split())
        except FileNotFoundError:
            return set()
        except (OSError, ValueError) as error:
            more = f"cannot be read: {reason(error)}"
            raise StoreError.about(str(self.path), more=more) from error

    def add(self, run: str) -> None:
        """Note that a run was sent."""
        put(self.path, "".join(f"{each}\n" for each in sorted(self.read() | {run})).encode())
