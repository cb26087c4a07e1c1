"""The catalogue of environments: the one place where a name becomes a builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from tightrope.envs.entries import ENTRIES, Entry
from tightrope.envs.parameters import as_annotated, from_text
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.text import guess

_BY_NAME = {item.name: item for item in ENTRIES}


def names() -> tuple[str, ...]:
    """Names of all environments, in the catalogue's order."""
    return tuple(_BY_NAME)


def entry(name: str) -> Entry:
    """The catalogue's entry of that name.

    Parameters
    ----------
    name : str
        A name of `names`.

    Raises
    ------
    ModelError
        When there is none; it suggests the closest name.
    """
    if name not in _BY_NAME:
        raise ModelError(_unknown(f"environment {name!r}", "environments", name, list(_BY_NAME)))
    return _BY_NAME[name]


def build(name: str, **parameters: Any) -> CMDP:
    """The model of that name.

    Parameters
    ----------
    name : str
        A name of `names`.
    **parameters
        Parameters of its builder; what is left out has its default.

    Raises
    ------
    ModelError
        When the name, a parameter or a value is unknown or wrong; it says which.
    """
    return entry(name).builder(**_checked(name, parameters))


def completed(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of an environment: those given, checked, and the defaults of the others.

    Parameters
    ----------
    name : str
        A name of `names`.
    parameters : mapping of str to value
        As for `build`.

    Raises
    ------
    ModelError
        When the name, a parameter or a value is unknown or wrong; it says which.
    """
    return {**entry(name).defaults, **_checked(name, parameters)}


def _checked(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    found = entry(name)
    hints = get_type_hints(found.builder)
    return {
        key: as_annotated(key, value, _annotation(found, hints, key))
        for key, value in parameters.items()
    }


def parse(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Parameters for `build` from words such as ``slip=0.2``.

    Parameters
    ----------
    name : str
        A name of `names`.
    words : sequence of str
        One ``parameter=value`` each; commas separate the members of a sequence.

    Raises
    ------
    ModelError
        When a word cannot be understood or gives a parameter twice.
    """
    found = entry(name)
    hints = get_type_hints(found.builder)
    parameters: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise ModelError(f"parameter {word!r}: expected NAME=VALUE, as in horizon=20")
        if key in parameters:
            raise ModelError(f"parameter {key!r} of {name}: given twice")
        parameters[key] = from_text(key, text, _annotation(found, hints, key))
    return parameters


def _annotation(found: Entry, hints: Mapping[str, Any], key: str) -> Any:
    known = list(found.defaults)
    if key not in known:
        what = f"parameter {key!r} of {found.name}"
        raise ModelError(_unknown(what, "parameters", key, known))
    return hints[key]


def _unknown(what: str, kind: str, word: str, known: Sequence[str]) -> str:
    return f"{what} is unknown{guess(word, known) or ';'} {kind}: {', '.join(known)}"
