"""Sweeps: specs from a table in which every list makes a grid.

Every field of a spec may be a list, and so may parameters, budgets and options of the confidence;
the runs are all combinations. A parameter that is itself a sequence is written as a nested list.
``algorithm`` may be ``"all"`` for the learners of the paper, or ``"every"``. ``seeds`` stands for
many values of ``seed``: a number (1 to that many) or ranges such as ``"1-30, 41"``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.experiments.spec import (
    RunSpec,
    field_names,
    read_stored_spec,
    spec_of,
    unknown_field,
)
from tightrope.files import reason
from tightrope.learners import find_learner, learner_names

RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
TABLES = ("parameters", "budget", "options")
MOST_RUNS = 100_000
MOST_DIGITS = 19  # of a seed


def read_sweep(path: Path) -> dict[str, Any]:
    """Read the table of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}", argument=str(path)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read: {reason(error)}", argument=str(path)) from error


def read_specs(path: Path) -> list[RunSpec]:
    """Read the runs in a file with one line of JSON each."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise StoreError(
            f"{path.parent}: no experiment in this directory", argument=str(path.parent)
        ) from None
    except NotADirectoryError:
        raise StoreError(
            f"{path.parent}: a file, expected the folder of an experiment",
            argument=str(path.parent),
        ) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {reason(error)}", argument=str(path)) from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            table = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"{path}, line {number}: not JSON: {error}; remove the file and plan "
                "the experiment again, finished runs are kept",
                argument=str(path),
                entry=f"line {number}",
            ) from error
        if not isinstance(table, dict):
            raise StoreError(
                f"{path}, line {number}: expected a table",
                argument=str(path),
                entry=f"line {number}",
                expected="a table",
            )
        found.append(read_stored_spec(table, f"{path}, line {number}"))
    return found


def specs_of(table: Mapping[str, Any], where: str = "sweep") -> list[RunSpec]:
    """Return all runs of a sweep without duplicates, seeds innermost.

    Parameters
    ----------
    table : mapping of str to value
        A spec, some of whose values may be lists.
    where : str
        The source of the table, for errors.
    """
    try:
        others = _other_options(table)
        axes = list(_axes(table, others))
    except ModelError as error:
        raise error.with_message(f"{where}: {error}") from error
    n_runs = 1
    for _, values in axes:
        n_runs *= len(values)
    if n_runs > MOST_RUNS:
        raise ConfigError.about(where, shown=f"{n_runs} runs", expected=f"at most {MOST_RUNS}")
    found: dict[str, RunSpec] = {}
    for chosen in product(*(values for _, values in axes)):
        row = _nest(zip((path for path, _ in axes), chosen, strict=True))
        if others:
            own = {each.name for each in find_learner(row["algorithm"]).option_fields()}
            row = {name: value for name, value in row.items() if name not in others - own}
        spec = spec_of(row, where)
        found.setdefault(spec.id, spec)
    return list(found.values())


def seeds_of(word: int | str) -> list[int]:
    """Return seeds from a number (1 to that many) or from ranges such as ``"1-30, 41"``."""
    limit = f"at most {MOST_RUNS} seeds of at most {MOST_DIGITS} digits"
    try:
        text = str(word)
    except ValueError as error:  # Python shows no number of more than some thousand digits
        raise ConfigError.about("seeds", expected=limit) from error
    if not isinstance(word, bool) and text.strip().isdecimal():
        text = f"1-{text.strip()}"
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = RANGE.fullmatch(part)
        ends = (match[1], match[2] or match[1]) if match else ("1", "0")
        if max(map(len, ends)) > MOST_DIGITS:
            raise ConfigError.about(
                "seeds", shown=f"a number of {max(map(len, ends))} digits", expected=limit
            )
        first, last = map(int, ends)
        if first > last:
            raise ConfigError.about(
                "seeds",
                found=word,
                shown=repr(word),
                expected="a number or ranges, as in 1-30 or 1-10,41",
            )
        if last - first >= MOST_RUNS - len(seeds):
            raise ConfigError.about("seeds", found=word, shown=repr(word), expected=limit)
        seeds |= dict.fromkeys(range(first, last + 1))
    return list(seeds)


def _other_options(table: Mapping[str, Any]) -> set[str]:
    """Return fields that are options of learners that are not listed."""
    unknown = set(table) - {*field_names(), "seeds"}
    names = _algorithms(table.get("algorithm")) if unknown else []
    kinds = [find_learner(name) for name in names if isinstance(name, str)]
    return unknown & {each.name for kind in kinds for each in kind.option_fields()}


def _axes(
    table: Mapping[str, Any], others: set[str]
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Return each field by its path with its values; seeds last, so that they vary fastest."""
    if "seed" in table and "seeds" in table:
        raise ConfigError("seed and seeds: give one of them", argument="seed")
    known = [*field_names(), "seeds"]
    for name in table:
        if name not in known and name not in others:
            raise unknown_field(name, known)
    for name, value in table.items():
        if name in TABLES and isinstance(value, Mapping):
            yield (name,), [{}]
            for key, inner in value.items():
                yield (name, key), _values(f"{name}.{key}", inner)
        elif name == "confidence":
            yield (name,), [each for given in _values(name, value) for each in _options(given)]
        elif name == "algorithm":
            yield (name,), _algorithms(value)
        elif name not in ("seed", "seeds"):
            yield (name,), _values(name, value)
    if "seeds" in table:
        given = table["seeds"]
        if not isinstance(given, list):
            yield ("seed",), seeds_of(given)
        else:
            yield ("seed",), [s for word in _values("seeds", given) for s in _each(word)]
    elif "seed" in table:
        yield ("seed",), _values("seed", table["seed"])


def _options(given: Any) -> list[Any]:
    """Return the values of an entry of a list of confidences: itself, or its combinations."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        return [given]
    values = [_values(f"confidence.{key}", inner) for key, inner in given.items()]
    return [dict(zip(given, chosen, strict=True)) for chosen in product(*values)]


def _each(word: Any) -> list[Any]:
    """Return the values of an entry of a list of seeds: itself, or a range."""
    if isinstance(word, str) and word.strip().isdecimal():
        return seeds_of(f"{word.strip()}-{word.strip()}")
    return seeds_of(word) if isinstance(word, str) else [word]


def _values(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    if not value:
        raise ConfigError.about(name, shown="an empty list", expected="at least one value")
    return value


def _algorithms(value: Any) -> list[Any]:
    """Return names of learners; a word such as ``all`` stands for several."""
    words = _values("algorithm", value)
    names = [learner_names(word) if isinstance(word, str) else [word] for word in words]
    return [name for each in names for name in each]  # what is not a name is refused later


def _nest(items: Any) -> dict[str, Any]:
    """Build a nested table from paths and values."""
    table: dict[str, Any] = {}
    for path, value in items:
        if len(path) == 1:
            table[path[0]] = dict(value) if isinstance(value, dict) else value
        else:
            table[path[0]][path[1]] = value
    return table
