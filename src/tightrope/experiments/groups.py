"""Groups of runs that differ in their seeds only, and names that tell them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tightrope.experiments.spec import RunSpec
from tightrope.learners import LEARNERS, Learner

PROBLEM = ("environment", "parameters", "model", "budget", "gymnasium", "episodes", "delta")


def problems_of(specs: Sequence[RunSpec]) -> Iterator[tuple[str, list[RunSpec]]]:
    """Yield the runs of each problem, number of episodes and delta, with a name."""
    groups = _group_by(
        specs, lambda spec: json.dumps([spec.problem, spec.episodes, spec.delta], sort_keys=True)
    )
    tables = [{name: getattr(mine[0], name) for name in PROBLEM} for mine in groups]
    yield from zip(_distinct_names(tables, "environment"), groups, strict=True)


def groups_of(specs: Sequence[RunSpec]) -> Iterator[tuple[str, list[RunSpec]]]:
    """Yield the runs of a problem that differ in their seed only, in its order, with a name."""
    groups = _group_by(specs, lambda spec: spec.group)
    groups.sort(key=lambda mine: _rank(mine[0].learner))
    names = _distinct_names([_options(mine[0]) for mine in groups], "algorithm")
    for name, mine in zip(names, groups, strict=True):
        yield name, sorted(mine, key=lambda spec: spec.seed)


def _group_by(specs: Sequence[RunSpec], key: Callable[[RunSpec], str]) -> list[list[RunSpec]]:
    found: dict[str, list[RunSpec]] = {}
    for spec in specs:
        found.setdefault(key(spec), []).append(spec)
    return list(found.values())


def _rank(learner: Learner) -> int:
    known = list(LEARNERS.values())
    return known.index(type(learner)) if type(learner) in known else len(known)


def _options(spec: RunSpec) -> dict[str, Any]:
    left_out = (*PROBLEM, "seed", "schema", "origin", "algorithm")
    table = {name: value for name, value in spec.to_table().items() if name not in left_out}
    radii = spec.confidence.words.removesuffix(" (heuristic)")
    return {"algorithm": spec.algorithm, **table, "confidence": radii}


def _distinct_names(tables: Sequence[Mapping[str, Any]], head: str) -> list[str]:
    """Return a name for each table: its head, and the fields that differ from the others."""
    flat = [_flatten(table) for table in tables]
    names = []
    for mine in flat:
        rivals = [other for other in flat if other[head] == mine[head]]
        parts = [str(mine[head])]
        for key in mine:
            values = {json.dumps(other.get(key)) for other in rivals}
            if key != head and len(values) > 1:
                parts.append(_describe(key, mine[key]))
        names.append(", ".join(parts))
    return names


def _flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten inner tables, by the names of their fields."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= {
                (f"budget {inner}" if key == "budget" else inner): v for inner, v in value.items()
            }
        else:
            flat[key] = value
    return flat


def _describe(key: str, value: Any) -> str:
    if key == "episodes":
        return f"{value} episodes"
    if key == "confidence":
        return str(value)
    if key == "model":
        return str(value).removeprefix("sha256:")[:8]
    word = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.replace('_', ' ')} {word}"
