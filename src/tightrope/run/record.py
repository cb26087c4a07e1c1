"""A finished run as a tidy table: a row for each recorded episode and each constraint.

Regrets, excess and multipliers are on the model's scale, on which runs of one learner with several
models compare; what a constraint is called and how it is shown stay with the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.belief.audit import EVENTS
from tightrope.experiments.run import Run
from tightrope.experiments.spec import RunSpec
from tightrope.model import CMDP

WORDS = (
    "run",
    "group",
    "algorithm",
    "environment",
    "parameters",
    "budget",
    "confidence",
    "constraint",
)
COUNTS = ("episodes", "seed", "episode", "violations", "not_optimistic", "infeasible_plans")
TYPES = {
    **dict.fromkeys(WORDS, "string"),
    **dict.fromkeys((*COUNTS, *(f"bad_{family}" for family in EVENTS)), "int64"),
    "heuristic": "bool",
}


def columns_of(spec: RunSpec, cmdp: CMDP, run: Run) -> dict[str, Any]:
    """The columns of a run's record; a model without constraints has one row an episode.

    Parameters
    ----------
    spec : RunSpec
        What decided the run.
    cmdp : CMDP
        The truth, for the names of its constraints.
    run : Run
        What came of it.
    """
    I, P = cmdp.n_constraints, len(run.episode)
    names: list[str | None] = [*cmdp.constraint_names] or [None]

    def constant(value: Any) -> list[Any]:
        return [value] * (P * len(names))

    def by_episode(values: Any) -> Any:
        return np.repeat(np.asarray(values), len(names))

    def by_constraint(values: Any) -> Any:
        return np.ravel(values) if I else np.full(P, np.nan)

    return {
        "run": constant(spec.id),
        "group": constant(spec.group),
        "algorithm": constant(spec.algorithm),
        "environment": constant(spec.environment),
        "parameters": constant(_words(spec.parameters)),
        "budget": constant(_words(spec.budget)),
        "episodes": constant(spec.episodes),
        "delta": constant(spec.delta),
        "confidence": constant(run.constants),
        "seed": constant(spec.seed),
        "episode": by_episode(run.episode),
        "constraint": names * P,
        "cost_excess": by_episode(run.excess[:, 0]),
        "cost_regret": by_episode(run.regret["cost"]),
        "cost_regret_plus": by_episode(run.regret["cost_plus"]),
        "constraint_excess": by_constraint(run.excess[:, 1:]),
        "constraint_regret": by_constraint(run.regret["constraint"]),
        "constraint_regret_plus": by_constraint(run.regret["constraint_plus"]),
        "multiplier": by_constraint(run.multiplier),
        "violations": by_episode(run.violations),
        "heuristic": constant(run.is_heuristic),
        **{
            f"bad_{family}": constant(run.audit.bad_episodes.get(family, None)) for family in EVENTS
        },
        "not_optimistic": constant(run.audit.not_optimistic),
        "infeasible_plans": constant(run.audit.infeasible_plans),
        "largest_gap": constant(run.audit.largest_gap),
    }


def types_of(columns: Mapping[str, Any]) -> dict[str, str]:
    """Arrow's name for the type of each column: the same for every run, whatever is missing.

    Parameters
    ----------
    columns : mapping of str to sequence
        From `columns_of`.
    """
    return {name: TYPES.get(name, "double") for name in columns}


def _words(table: Mapping[str, Any]) -> str:
    """A table as one word of JSON, so that runs of a sweep are told apart."""
    return json.dumps(table, sort_keys=True)
