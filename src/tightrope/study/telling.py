"""Told episodes: read from files, checked, and converted to the format of the database.

One JSON object per line::

    {"episode": "id", "states": [...], "actions": [...], "cost": [...],
     "constraint_cost": {"name": [...]}, "policy": 7}

States and actions are names, or numbers from 0 if no name is a number; ``policy`` (optional) is the
number that `ask` gave the played policy. Logs with one step per row (CSV, Excel, Parquet) work too;
the suffix of a file gives the format.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
from tightrope.errors import DataError, ModelError
from tightrope.files import reason
from tightrope.model.task import Task
from tightrope.model.units import onto_unit_interval
from tightrope.study.terms import COST, Names, Terms, plain_name, position

DECIMALS = 12  # of a cost on the learner's scale
LONGEST_NUMBER = 17  # digits of a number
STDIN = "-"
KEYS = {"episode", "states", "actions", "cost", "constraint_cost", "policy"}


@final
@dataclass(frozen=True)
class Told:
    """One episode of a real process.

    Parameters
    ----------
    episode : str
        Its id; telling it twice changes nothing.
    states : sequence of str or int
        The H+1 visited states, including the one after the last step.
    actions : sequence of str or int
        The H actions taken.
    cost : sequence of float
        Observed costs, in the range of the study's terms.
    constraint_cost : mapping of str to sequence of float
        Observed constraint costs by name, likewise.
    policy : int, optional
        Number of the played policy, from `ask`.
    place : str
        Where it was read, for errors; for example ``"shift.jsonl, line 3"``.

    Examples
    --------
    >>> import tightrope as tr
    >>> monday = tr.Told(
    ...     episode="monday",
    ...     states=["fine", "worn", "worn"],
    ...     actions=["hard", "gentle"],
    ...     cost=[0.0, 20.0],
    ...     constraint_cost={"wear": [0.7, 0.2]},
    ...     policy=1,
    ... )
    >>> monday.episode
    'monday'
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
    """An episode in the format of the database."""

    episode: str
    content: str  # JSON; equal episodes have equal text
    policy: int | None
    place: str = field(default="", compare=False)  # prefix of errors


def read_lines(lines: Iterable[str], source: str) -> Iterator[Told]:
    """Yield episodes from JSON Lines; empty lines are skipped, errors begin with ``source``."""
    for k, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{source}, line {k}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError.about(place, shown="no JSON", more=f": {error}") from error
        if not isinstance(found, dict):
            raise DataError.about(place, expected="an object with the key 'episode'")
        missing = sorted(KEYS - {"policy", "constraint_cost"} - set(found))
        unknown = sorted(set(found) - KEYS)
        if missing or unknown:
            words = f"no {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
            keys = ", ".join(sorted(KEYS))
            raise DataError.about(place, shown=words, more=f"; keys: {keys}")
        name = found["episode"]
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        yield Told(**{"constraint_cost": {}, **found, "episode": name, "place": place})


def entry_of(told: Told, terms: Terms, task: Task) -> Entry:
    """Return the episode, checked against the terms, in the format of the database."""
    check_names("place", [told.place], DataError)
    place = f"{told.place}: " if told.place else ""
    try:
        name = plain_name("episode", told.episode, DataError)
    except ModelError as error:
        raise error.with_message(f"{place}{error}") from error
    try:
        policy = None if told.policy is None else whole("policy", told.policy, error=DataError)
        episode = Episode(
            _positions("states", told.states, terms.state_names),
            _positions("actions", told.actions, terms.action_names),
            _scale(COST, as_floats("cost", told.cost, DataError), terms),
            _by_constraint(told.constraint_cost, terms, task.horizon),
        )
        steps = check_episode(task, episode)
    except ModelError as error:
        raise error.with_message(f"{place}episode {name!r}: {error}") from error
    content = {
        "states": steps.states.tolist(),
        "actions": steps.actions.tolist(),
        "cost": (steps.cost + 0.0).tolist(),  # no negative zero: equal costs have equal text
        "constraint_cost": (steps.constraint_cost.T + 0.0).tolist(),
    }
    return Entry(name, json.dumps(content, separators=(",", ":")), policy, place)


def episode_of(content: str, n_constraints: int) -> Episode:
    """Return the episode of an `Entry`, bit for bit."""
    found = json.loads(content)
    steps = len(found["actions"])
    bounded = np.array(found["constraint_cost"], dtype=np.float64).reshape(n_constraints, steps)
    cost = np.array(found["cost"], dtype=np.float64).reshape(steps)
    return Episode(found["states"], found["actions"], cost, bounded)


def line_of(name: str, content: str, policy: int | None, terms: Terms) -> dict[str, Any]:
    """Return an episode as it is told: names, and costs in the units of the terms."""
    episode = episode_of(content, len(terms.constraints))
    line: dict[str, Any] = {
        "episode": name,
        "states": [terms.states[s] for s in episode.states],
        "actions": [terms.actions[a] for a in episode.actions],
        "cost": _as_told(COST, episode.cost, terms),
        "constraint_cost": {
            each: _as_told(each, values, terms)
            for each, values in zip(terms.constraints, episode.constraint_cost, strict=True)
        },
    }
    return line if policy is None else {**line, "policy": policy}


def _positions(name: str, given: Any, names: Names) -> list[int]:
    listed = check_list(name, given, "names or numbers", DataError)
    return [position(f"{name}[{h}]", each, names, DataError) for h, each in enumerate(listed)]


def _scale(name: str, values: Floats, terms: Terms) -> Floats:
    """Convert told costs to the learner's scale; those with range [0, 1] are unchanged."""
    low, high = terms.range_of(name)
    if (low, high) == (0.0, 1.0):
        return values
    require_range(name, values, low, high, "h" * values.ndim, error=DataError)
    return _round_scaled(values, low, high)


def _round_scaled(values: Floats, low: float, high: float) -> Floats:
    """Convert costs to the learner's scale, rounded: a number is the same in every format."""
    return np.round(onto_unit_interval(values, low, high), DECIMALS)


def _by_constraint(given: Any, terms: Terms, H: int) -> Any:
    names = terms.constraints
    if not isinstance(given, Mapping):
        raise DataError.about(
            "constraint_cost", expected="an object with a list for each constraint"
        )
    for name in check_table("constraint_cost", given, DataError):
        if name not in names:
            known = ", ".join(names) or "none: the study has no constraints"
            raise DataError.about(
                "constraint_cost", more=f"{name!r} is no constraint; expected {known}"
            )
    for name in names:
        if name not in given:
            raise DataError.about("constraint_cost", more=f"{name!r} is missing")
    found = [as_floats(f"constraint_cost[{name!r}]", given[name], DataError) for name in names]
    for name, values in zip(names, found, strict=True):
        if values.shape != (H,):
            raise DataError.about(f"constraint_cost[{name!r}]", expected=f"{H} numbers")
    scaled = [_scale(name, each, terms) for name, each in zip(names, found, strict=True)]
    return np.array(scaled).reshape(len(names), H)


@dataclass(frozen=True)
class Written:
    """How files of episodes are written, as for `read_log`."""

    columns: Mapping[str, str] | None = None
    decimal: str | None = None
    encoding: str | None = None


AS_USUAL = Written()


def _json_lines(path: Path, terms: Terms, written: Written) -> Iterator[Told]:
    """Yield the episodes of a file with one JSON object per line."""
    with path.open(encoding=written.encoding or "utf-8") as lines:
        yield from read_lines(lines, str(path))


def _step_rows(path: Path, terms: Terms, written: Written) -> Iterator[Told]:
    """Yield the episodes of a log with one step per row, see `read_log`; names must be known."""
    from tightrope.offline.log import scaled_episodes
    from tightrope.offline.read import read_log

    sizes = (terms.horizon, terms.constraints, terms.ranges)
    log = read_log(
        path,
        *sizes,
        states=terms.states,
        actions=terms.actions,
        columns=written.columns,
        decimal=written.decimal,
        encoding=written.encoding,
    )
    if log.end is not None:
        raise DataError.about(
            str(path),
            shown="an episode ends early",
            expected=f"{terms.horizon} steps of each",
            more="; append steps in a state of the study without costs",
        )
    for name, episode in zip(log.episode_names, scaled_episodes(log), strict=True):
        costs = zip(terms.constraints, episode.constraint_cost, strict=True)
        bounded = {constraint: _as_told(constraint, cost, terms) for constraint, cost in costs}
        states = [terms.states[s] for s in episode.states]
        actions = [terms.actions[a] for a in episode.actions]
        cost = _as_told(COST, episode.cost, terms)
        yield Told(name, states, actions, cost, bounded, place=str(path))


def _as_told(name: str, scaled: Floats, terms: Terms) -> list[float]:
    """Convert costs that were scaled back to their units: the shortest numbers that read the same.

    Costs on the learner's scale are rounded, so that 1220.5 of 3000 would be 1220.499999999.
    """
    low, high = terms.range_of(name)
    values = np.clip(low + (high - low) * scaled, low, high)
    if (low, high) == (0.0, 1.0):
        return list(map(float, values))
    found, is_open = values.copy(), np.ones(values.shape, dtype=np.bool_)
    first = -int(np.floor(np.log10(max(abs(low), abs(high)))))
    for decimals in range(first, first + LONGEST_NUMBER):
        shorter = np.clip(np.round(values, decimals), low, high)
        same = _round_scaled(shorter, low, high) == np.round(scaled, DECIMALS)
        found = np.where(is_open & same, shorter, found)
        is_open &= ~same
        if not is_open.any():
            break
    return list(map(float, found))


# all other files are read as JSON Lines
READERS: dict[str, Callable[[Path, Terms, Written], Iterator[Told]]] = dict.fromkeys(
    (".csv", ".tsv", ".xlsx", ".parquet", ".pq"), _step_rows
)


def told_in(paths: Sequence[Path], terms: Terms, written: Written = AS_USUAL) -> Iterator[Told]:
    """Yield the episodes of all files; ``-`` is standard input, in JSON Lines."""
    for path in paths:
        if str(path) == STDIN:
            if sys.stdin is None:
                raise DataError.about("standard input", shown="closed", expected="episodes")
            name, found = "standard input", read_lines(sys.stdin, "standard input")
        else:
            reader = READERS.get(path.suffix.lower(), _json_lines)
            name, found = str(path), reader(path, terms, written)
        try:
            yield from found
        except (OSError, UnicodeError, LookupError) as error:
            raise DataError(f"{name}: cannot be read: {reason(error)}", argument=name) from error
