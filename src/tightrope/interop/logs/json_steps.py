"""Steps from JSON Lines: one step a line with the keys of the columns, or one episode a line.

An episode has its steps as lists::

    {"episode": 7, "states": [...], "actions": [...], "cost": [...],
     "constraint_cost": {"risk": [...]}, "done": false}

with one state more than actions. The first line decides which of the two a file holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tightrope.errors import ModelError
from tightrope.interop.logs.blocks import BLOCK, PREFIX, Block, Fault, Steps, as_name, as_value

STEPS = ("episode", "step", "state", "action", "next_state")


def json_steps(path: Path) -> Steps:
    """The steps of a JSON Lines file."""
    first = next((row for _, row in _objects(path) if isinstance(row, dict)), None)
    if first is None:
        raise ModelError("no line is a JSON object, expected one step or episode a line")
    is_episodes = "states" in first
    names = tuple(dict.fromkeys((*first, "done")))
    if is_episodes:
        bounded = first.get("constraint_cost")
        signals = [name for name in ("cost", "reward") if name in first]
        bounded = bounded if isinstance(bounded, dict) else {}
        names = (*STEPS, *signals, "done", *(PREFIX + name for name in bounded))

    def read(columns: Sequence[str]) -> Iterator[Block]:
        return (_episode_blocks if is_episodes else _row_blocks)(path, columns)

    return Steps(names, "line", "episodes" if is_episodes else "rows", read)


def _objects(path: Path) -> Iterator[tuple[int, Any]]:
    """What each line holds: an object, or words about why it is none."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    row = json.loads(text)
                except (ValueError, RecursionError) as error:
                    yield line, f"not JSON: {error}"
                    continue
                yield line, row if isinstance(row, dict) else "not a JSON object"
    except UnicodeDecodeError as error:
        raise ModelError(f"not UTF-8 text: {error.reason}") from error


def _row_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    places: list[int] = []
    faults: list[Fault] = []
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for line, row in _objects(path):
        if isinstance(row, str):
            faults.append(Fault(line, "", row))
            continue
        places.append(line)
        for name, into in values.items():
            into.append(as_value(name, row.get(name)))
        if len(places) == BLOCK:
            yield Block(places, values, faults)
            places, faults, values = [], [], {name: [] for name in columns}
    yield Block(places, values, faults)


def _episode_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    places: list[int] = []
    faults: list[Fault] = []
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for line, row in _objects(path):
        found = row if isinstance(row, str) else _steps_of(row, columns)
        if isinstance(found, str):
            episode = "" if isinstance(row, str) else as_name(row.get("episode"))
            faults.append(Fault(line, episode, found))
            continue
        places += [line] * len(found["step"])
        for name, into in values.items():
            into += found[name]
        if len(places) >= BLOCK:
            yield Block(places, values, faults)
            places, faults, values = [], [], {name: [] for name in columns}
    yield Block(places, values, faults)


def _steps_of(row: dict[str, Any], columns: Sequence[str]) -> dict[str, list[Any]] | str:
    """The columns of an episode, or words about what is wrong with it."""
    bounded = row.get("constraint_cost")
    bounded = bounded if isinstance(bounded, dict) else {}
    lists = {**{PREFIX + name: costs for name, costs in bounded.items()}, **row}
    states, actions = row.get("states"), row.get("actions")
    if not isinstance(states, list) or not isinstance(actions, list):
        return "expected lists of states and actions"
    H = len(actions)
    if len(states) != H + 1 or H == 0:
        return f"{len(states)} states for {H} actions, expected one more than actions"
    names = [as_name(state) for state in states]
    found: dict[str, list[Any]] = {
        "episode": [as_name(row.get("episode"))] * H,
        "step": list(range(H)),
        "state": names[:-1],
        "action": [as_name(action) for action in actions],
        "next_state": names[1:],
        "done": ["false"] * (H - 1) + [as_name(row.get("done"))],
    }
    for name in columns:
        if name not in found:
            given = lists.get(name)
            if not isinstance(given, list) or len(given) != H:
                return f"{name}: expected a list of {H} numbers"
            found[name] = [as_value(name, value) for value in given]
    return found
