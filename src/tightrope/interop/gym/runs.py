"""Runs of experiments in Gymnasium environments: begun from a spec, snapshots, records.

The run with seed s is that of ``learn_gymnasium(..., seed=s)``. A record has a row for each episode
and constraint, in the environment's units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.errors import ConfigError, StoreError
from tightrope.experiments.gym_fields import GYM
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.storage import RunFolder, parquet
from tightrope.files import digest, packed
from tightrope.interop.gym.interaction import Interaction
from tightrope.interop.gym.learn import begin_interaction
from tightrope.interop.gym.realized import Realized

TYPES = {
    **dict.fromkeys(
        ("run", "group", "algorithm", "environment", "parameters", "budget", "confidence"), "string"
    ),
    **dict.fromkeys(("episodes", "seed", "episode", "steps"), "int64"),
    "constraint": "string",
    "is_feasible": "bool",
    "heuristic": "bool",
}
READ = ("episode", "steps", "is_feasible", "reward", "planned_reward", "total", "planned_total")


def begin(spec: RunSpec) -> Interaction:
    """Return the run of a spec before its first episode."""
    require_learner(spec)
    return begin_interaction(
        spec.environment.removeprefix(GYM),
        spec.learner,
        episodes=spec.episodes,
        budget=spec.budget or None,
        seed=spec.gym_seed(),
        delta=spec.delta,
        confidence=spec.confidence,
        parameters=spec.parameters,
        **spec.gymnasium,
    )


def check_spec(spec: RunSpec) -> None:
    """Raise if the run of a spec could not start."""
    begin(spec).process.env.close()


def require_learner(spec: RunSpec) -> None:
    """Raise for a learner that needs a model."""
    name, rho = spec.learner.name, spec.learner.options.get("rho")
    if not spec.learner.can_learn:
        raise ConfigError.about(
            "algorithm", more=f"{name} needs a model; {spec.environment} has steps alone"
        )
    if isinstance(rho, str):
        raise ConfigError.about(
            "rho",
            more=f"{name} needs a bound on the multipliers, and the rule {rho} needs the model; "
            "give a number, such as 10",
        )


def resume(spec: RunSpec, arrays: Mapping[str, np.ndarray[Any, Any]], episode: int) -> Interaction:
    """Return the run of a spec at a snapshot."""
    run = begin(spec)
    run.restore(arrays, episode)
    return run


def store(run: Interaction, spec: RunSpec, seconds: float) -> tuple[bytes, bytes]:
    """Return result and record of a finished run, as the files of `RunFolder`."""
    found = run.realized()
    record = _record(found, spec)
    about = {
        "seconds": seconds,
        "names": list(found.names),
        "confidence": found.confidence,
        "record": digest(record),
    }
    arrays = {"policy": found.policy, "ranges": found.ranges, "budget": found.budget}
    run.process.env.close()
    return packed(about, arrays), record


def _record(found: Realized, spec: RunSpec) -> bytes:
    names: list[str | None] = [*found.names[1:]] or [None]
    K, I = found.n_episodes, len(found.names) - 1
    words = {
        "run": spec.id,
        "group": spec.group,
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "parameters": json.dumps(spec.parameters, sort_keys=True),
        "budget": json.dumps(spec.budget, sort_keys=True),
        "episodes": spec.episodes,
        "delta": spec.delta,
        "confidence": found.confidence,
        "seed": spec.seed,
        "heuristic": is_heuristic(spec),
    }

    def by_episode(values: Any) -> Any:
        return np.repeat(values, len(names))

    def by_constraint(values: Any) -> Any:
        return np.ravel(values) if I else np.full(K, np.nan)

    columns = {
        **{name: [value] * (K * len(names)) for name, value in words.items()},
        "episode": by_episode(np.arange(1, K + 1)),
        "constraint": names * K,
        "steps": by_episode(found.steps),
        "is_feasible": by_episode(found.is_feasible),
        "reward": by_episode(found.totals[:, 0]),
        "planned_reward": by_episode(found.planned[:, 0]),
        "total": by_constraint(found.totals[:, 1:]),
        "planned_total": by_constraint(found.planned[:, 1:]),
    }
    return parquet(columns, {name: TYPES.get(name, "double") for name in columns})


def is_heuristic(spec: RunSpec) -> bool:
    """Whether radii or steps of a run are not the theory's, so that no guarantee holds."""
    learner = spec.learner
    has_smaller = learner.has_model and learner.radii(spec.confidence).is_heuristic
    return has_smaller or bool(learner.changed_steps)


def read_seconds(folder: RunFolder) -> float:
    """Return the seconds of a finished run."""
    return float(folder.results()[0]["seconds"])


def read_realized(spec: RunSpec, folder: RunFolder) -> Realized:
    """Read the finished run in a directory."""
    about, arrays, column = folder.read(spec.id, READ)
    names = tuple(map(str, about["names"]))
    I = len(names) - 1
    if len(column["episode"]) != spec.episodes * max(I, 1):
        raise StoreError(f"{folder.record}: does not fit its spec", argument=str(folder.record))
    rows = {name: values.reshape(-1, max(I, 1)) for name, values in column.items()}

    def sums(prefix: str, reward: str) -> Any:
        return np.column_stack([rows[reward][:, 0], rows[prefix][:, :I]]).astype(np.float64)

    return Realized(
        algorithm=spec.algorithm,
        seed=spec.seed,
        names=names,
        totals=sums("total", "reward"),
        ranges=arrays["ranges"],
        budget=arrays["budget"],
        steps=rows["steps"][:, 0].astype(np.int64),
        planned=sums("planned_total", "planned_reward"),
        is_feasible=rows["is_feasible"][:, 0].astype(np.bool_),
        policy=arrays["policy"],
        delta=spec.delta,
        confidence=str(about["confidence"]),
    )
