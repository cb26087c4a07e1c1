"""Episodes as they are told: read from JSON Lines, checked, and written down in one form.

One object a line::

    {"episode": "id", "states": [...], "actions": [...], "cost": [...],
     "constraint_cost": {"name": [...]}, "policy": 7}

States and actions are names, or numbers counted from 0 where no name is a number; ``policy``,
which may be missing, is the number that `ask` gave the policy that was played. Readers of other
formats (`sources`) yield the same `Told`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tightrope.arrays import (
    Floats,
    as_floats,
    check_list,
    check_names,
    check_table,
    require_range,
    whole,
)
from tightrope.belief.episode import Episode, check_episode
from tightrope.errors import ModelError
from tightrope.model.task import Task
from tightrope.model.units import onto_unit_interval
from tightrope.study.terms import COST, Names, Terms, plain_name, position

DECIMALS = 12  # of a cost on the learner's scale
KEYS = {"episode", "states", "actions", "cost", "constraint_cost", "policy"}


@final
@dataclass(frozen=True)
class Told:
    """One episode of a real process, as somebody tells it.

    Parameters
    ----------
    episode : str
        What it is called; telling it twice changes nothing.
    states : sequence of str or int
        The H+1 states visited, the one after the last step included.
    actions : sequence of str or int
        The H actions taken.
    cost : sequence of float
        Observed costs, in the range of the study's terms.
    constraint_cost : mapping of str to sequence of float
        Observed constraint costs by name, likewise.
    policy : int, optional
        Number of the policy that was played, as `ask` gave it.
    place : str
        Where it was read, for errors; for example ``"shift.jsonl, line 3"``.
    """

    episode: str
    states: Any
    actions: Any
    cost: Any
    constraint_cost: Mapping[str, Any]
    policy: int | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Entry:
    """An episode in the one form in which the database holds it."""

    episode: str
    content: str  # JSON; equal episodes have equal text
    policy: int | None
    place: str = field(default="", compare=False)  # what errors begin with


def read_lines(lines: Iterable[str], source: str) -> Iterator[Told]:
    """Episodes from JSON Lines; empty lines are passed over.

    Parameters
    ----------
    lines : iterable of str
    source : str
        What errors call it.
    """
    for k, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{source}, line {k}: no JSON: {error}") from error
        if not isinstance(found, dict):
            raise ModelError(f"{source}, line {k}: expected an object with the key 'episode'")
        missing = sorted(KEYS - {"policy", "constraint_cost"} - set(found))
        unknown = sorted(set(found) - KEYS)
        if missing or unknown:
            words = f"no {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
            raise ModelError(f"{source}, line {k}: {words}; keys: {', '.join(sorted(KEYS))}")
        name = found["episode"]
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        place = f"{source}, line {k}"
        yield Told(**{"constraint_cost": {}, **found, "episode": name, "place": place})


def entry_of(told: Told, terms: Terms, task: Task) -> Entry:
    """The episode checked against the study's terms, in the database's form.

    Parameters
    ----------
    told : Told
    terms : Terms
        Give the names.
    task : Task
        Of the study's learner.
    """
    check_names("place", [told.place])
    place = f"{told.place}: " if told.place else ""
    try:
        name = plain_name("episode", told.episode)
    except ModelError as error:
        raise ModelError(f"{place}{error}") from error
    try:
        policy = None if told.policy is None else whole("policy", told.policy)
        episode = Episode(
            _positions("states", told.states, terms.state_names),
            _positions("actions", told.actions, terms.action_names),
            _scaled(COST, as_floats("cost", told.cost), terms),
            _by_constraint(told.constraint_cost, terms, task.horizon),
        )
        steps = check_episode(task, episode)
    except ModelError as error:
        raise ModelError(f"{place}episode {name!r}: {error}") from error
    content = {
        "states": steps.states.tolist(),
        "actions": steps.actions.tolist(),
        "cost": (steps.cost + 0.0).tolist(),  # no minus zero: equal costs have equal text
        "constraint_cost": (steps.constraint_cost.T + 0.0).tolist(),
    }
    return Entry(name, json.dumps(content, separators=(",", ":")), policy, place)


def episode_of(content: str, n_constraints: int) -> Episode:
    """The episode that the database holds, to the last bit.

    Parameters
    ----------
    content : str
        Of an `Entry`.
    n_constraints : int
    """
    found = json.loads(content)
    steps = len(found["actions"])
    bounded = np.array(found["constraint_cost"], dtype=np.float64).reshape(n_constraints, steps)
    cost = np.array(found["cost"], dtype=np.float64).reshape(steps)
    return Episode(found["states"], found["actions"], cost, bounded)


def _positions(name: str, given: Any, names: Names) -> list[int]:
    listed = check_list(name, given, "names or numbers")
    return [position(f"{name}[{h}]", each, names) for h, each in enumerate(listed)]


def _scaled(name: str, values: Floats, terms: Terms) -> Floats:
    """Told costs on the learner's scale; those in [0, 1] already stay as they are."""
    low, high = terms.range_of(name)
    if (low, high) == (0.0, 1.0):
        return values
    require_range(name, values, low, high, "h" * values.ndim)
    # rounded, so that the same number told in two formats is the same number here
    return np.round(onto_unit_interval(values, low, high), DECIMALS)


def _by_constraint(given: Any, terms: Terms, H: int) -> Any:
    names = terms.constraints
    if not isinstance(given, Mapping):
        raise ModelError("constraint_cost: expected an object with a list for each constraint")
    for name in check_table("constraint_cost", given):
        if name not in names:
            known = ", ".join(names) or "none: the study has no constraints"
            raise ModelError(f"constraint_cost: {name!r} is no constraint; expected {known}")
    for name in names:
        if name not in given:
            raise ModelError(f"constraint_cost: {name!r} is missing")
    found = [as_floats(f"constraint_cost[{name!r}]", given[name]) for name in names]
    for name, values in zip(names, found, strict=True):
        if values.shape != (H,):
            raise ModelError(f"constraint_cost[{name!r}]: expected {H} numbers")
    scaled = [_scaled(name, each, terms) for name, each in zip(names, found, strict=True)]
    return np.array(scaled).reshape(len(names), H)
