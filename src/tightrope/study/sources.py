"""Where told episodes come from: files by their format, or standard input.

A format is a `Reader` in the table `READERS`, by the end of the file's name; all others are taken
for JSON Lines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.files import reason
from tightrope.study.telling import Told, read_lines
from tightrope.study.terms import COST, Terms

STDIN = "-"


class Reader(Protocol):
    """Whatever turns a file of some format into episodes."""

    def __call__(self, path: Path, terms: Terms) -> Iterator[Told]:
        """The episodes of a file, in order; a `ModelError` names the file and the place."""


def json_lines(path: Path, terms: Terms) -> Iterator[Told]:
    """Episodes of a file with one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        yield from read_lines(lines, str(path))


def step_rows(path: Path, terms: Terms) -> Iterator[Told]:
    """Episodes of a log with one step a row, as `read_log` reads it; all names must be known."""
    from tightrope.offline.read import read_log

    sizes = (terms.horizon, terms.constraints, terms.ranges)
    log = read_log(path, *sizes, states=terms.states, actions=terms.actions)
    if log.end is not None:
        raise ModelError(
            f"{path}: an episode is over early, expected {terms.horizon} steps of all; fill it up "
            "with steps in a state of the study in which nothing costs"
        )
    for name, episode in zip(log.episode_names, log.episodes, strict=True):
        costs = zip(terms.constraints, episode.constraint_cost, strict=True)
        bounded = {constraint: _as_told(constraint, cost, terms) for constraint, cost in costs}
        states = [terms.states[s] for s in episode.states]
        actions = [terms.actions[a] for a in episode.actions]
        cost = _as_told(COST, episode.cost, terms)
        yield Told(name, states, actions, cost, bounded, place=str(path))


def _as_told(name: str, scaled: Floats, terms: Terms) -> list[float]:
    """Costs that the log's reader has scaled, in their own units again."""
    low, high = terms.range_of(name)
    return [min(max(low + (high - low) * each, low), high) for each in scaled.tolist()]


READERS: dict[str, Reader] = {
    ".jsonl": json_lines,
    ".csv": step_rows,
    ".parquet": step_rows,
}


def told_in(paths: Sequence[Path], terms: Terms) -> Iterator[Told]:
    """The episodes of all files, one after the other.

    Parameters
    ----------
    paths : sequence of Path
        ``-`` is standard input, in JSON Lines.
    terms : Terms
        Of the study that they are told to.
    """
    for path in paths:
        if str(path) == STDIN:
            if sys.stdin is None:
                raise ModelError("standard input: closed, expected episodes")
            name, found = "standard input", read_lines(sys.stdin, "standard input")
        else:
            reader = READERS.get(path.suffix.lower(), json_lines)
            name, found = str(path), reader(path, terms)
        try:
            yield from found
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{name}: cannot be read: {reason(error)}") from error
