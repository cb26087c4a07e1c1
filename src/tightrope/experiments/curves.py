"""Runs of learners as curves and as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.experiments.run import Run
from tightrope.model import CMDP
from tightrope.plan.explain import kind_of
from tightrope.text import digits, listed

KINDS = ("cost", "cost_plus", "constraint", "constraint_plus")
MOST_POINTS = 200  # of a curve in JSON
Curves = tuple[str, Ints, Floats, Floats, Floats | None, Floats | None]


def by_learner(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Group runs by learner."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.algorithm, []).append(run)
    return found


def speed_of(run: Run) -> float:
    """Return episodes per second, without compilation; NaN if not measured."""
    return run.n_episodes / run.seconds if run.seconds > 0 else float("nan")


def regret_of(run: Run, kind: str) -> Floats:
    """Return a cumulative regret: (P,) for cost, (P, I) for constraints."""
    return np.asarray(dict(run.regret)[kind])


def regret_curves(runs: Sequence[Run]) -> list[Curves]:
    """Return, for each learner, name, recorded episodes and four regrets with a row per seed."""

    def rows(mine: Sequence[Run], kind: str) -> Floats:
        found = np.array([regret_of(run, kind) for run in mine])
        return found if found.ndim == 2 else mine[0].units.largest(found)

    curves: list[Curves] = []
    for name, mine in by_learner(runs).items():
        cost, plus = rows(mine, "cost"), rows(mine, "cost_plus")
        over = [rows(mine, kind) if mine[0].units.constraints else None for kind in KINDS[2:]]
        curves.append((name, mine[0].episode, cost, plus, over[0], over[1]))
    return curves


def confidence_words(runs: Sequence[Run]) -> list[tuple[str, bool]]:
    """Describe the radii, grouped by learners that share them, and whether heuristic."""
    sharing: dict[str, list[Run]] = {}
    for run in runs:
        if run.constants:
            sharing.setdefault(run.constants, []).append(run)
    return [
        (
            f"confidence{_of(group, len(sharing) > 1)}: {words}",
            group[0].is_heuristic,
        )
        for words, group in sharing.items()
    ]


def _of(runs: Sequence[Run], is_needed: bool) -> str:
    return f" of {listed([run.algorithm for run in runs])}" if is_needed else ""


def rho_words(runs: Sequence[Run]) -> str:
    """Describe the bound on the multipliers and its rule, the same for all learners."""
    for run in runs:
        if run.rho_rule != "none":
            source = "given" if run.rho_rule == "number" else f"by the rule {run.rho_rule}"
            return f"rho {digits(run.rho)}, {source}"
    return ""


def runs_data(name: str, cmdp: CMDP, runs: Sequence[Run]) -> dict[str, Any]:
    """Return runs on one model as plain data, including curves."""
    first, cost = runs[0], cmdp.cost_unit
    return {
        "model": name,
        "episodes": first.n_episodes,
        "seeds": sorted({run.seed for run in runs}),
        "delta": first.delta,
        "unit": cost.name,
        "maximized": cost.is_maximized,
        "optimum": first.optimum,
        "constraints": [
            {"name": label, "unit": unit.name, "kind": kind_of(unit)}
            for label, unit in zip(cmdp.constraint_names, cmdp.constraint_units, strict=True)
        ],
        "learners": [_learner_data(*each) for each in regret_curves(runs)],
        "runs": [_run_data(run) for run in runs],
    }


def _learner_data(name: str, episode: Ints, *curves: Floats | None) -> dict[str, Any]:
    """Return regrets of one learner at the last episode; for constraints, `Units.largest`."""
    ends: dict[str, Any] = {}
    statistics: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "min": np.min, "max": np.max}
    for kind, curve in zip(KINDS, curves, strict=True):
        if curve is not None:
            ends[kind] = {word: float(of(curve[:, -1])) for word, of in statistics.items()}
    return {"algorithm": name, "episode": int(episode[-1]), "regret": ends}


def _run_data(run: Run) -> dict[str, Any]:
    audit = run.audit
    points = np.unique(np.linspace(0, len(run.episode) - 1, MOST_POINTS).round().astype(int))
    is_feasible = run.first_feasible <= run.n_episodes
    return {
        "algorithm": run.algorithm,
        "seed": run.seed,
        "confidence": {
            "words": run.constants,
            "heuristic": run.is_heuristic,
            **asdict(run.confidence),
        },
        "rho": None if run.rho_rule == "none" else run.rho,
        "rho_rule": run.rho_rule,
        "options": {name: value for name, value in run.learner.options.items() if name != "rho"},
        "seconds": run.seconds,
        "episodes_per_second": speed_of(run),
        "episodes_in_violation": run.n_violations,
        "worst_violation": run.worst_violation.tolist(),
        "first_feasible": run.first_feasible if is_feasible else None,
        "episode": run.episode[points].tolist(),
        "regret": {kind: regret_of(run, kind)[points].tolist() for kind in KINDS},
        "violations": run.violations[points].tolist(),
        "multiplier": run.multiplier[points].tolist(),
        "baseline": None if run.baseline is None else run.baseline[points].tolist(),
        "audit": {
            **asdict(audit),
            "good_event": audit.good_event,
            "not_optimistic": None if audit.good_event is None else audit.not_optimistic,
            "multiplier_range": audit.multiplier_range.tolist(),
        },
    }
