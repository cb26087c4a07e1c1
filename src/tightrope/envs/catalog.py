"""The catalog of environments: names and their builders.

The annotations of a builder give the types of its parameters: ``int``, ``float``, ``bool``,
``str``, or one of these or a sequence of them (``float | Sequence[float]``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from tightrope.arrays import is_number, whole
from tightrope.envs.admission import admission
from tightrope.envs.cliff import cliff
from tightrope.envs.dosing import dosing
from tightrope.envs.grid import grid
from tightrope.envs.inventory import inventory
from tightrope.envs.maintenance import maintenance
from tightrope.envs.marsrover import marsrover
from tightrope.envs.patrol import patrol
from tightrope.envs.perishable import perishable
from tightrope.envs.queue import queue
from tightrope.envs.random import random_cmdp
from tightrope.envs.replacement import replacement
from tightrope.envs.ring import ring, ring_uniform
from tightrope.envs.riverswim import riverswim
from tightrope.envs.service_level import service_level
from tightrope.envs.streaming import media, streaming
from tightrope.envs.upac_random import upac_random
from tightrope.errors import ConfigError
from tightrope.model import Model
from tightrope.text import guess

MOST_WHOLE = 2**31 - 1
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Entry:
    """An environment of the catalog.

    Parameters
    ----------
    name : str
        Its name.
    builder : callable
        Function that makes the model; every parameter has a default.
    summary : str
        The decision problem, in a line.
    constraint : str
        Meaning of the constraints.
    source : str
        Where it comes from: a reference, or ``"tightrope"``.
    units : str
        Units of cost (or reward) and constraints.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.envs.entry("queue").defaults["horizon"]
    40
    """

    name: str
    builder: Callable[..., Model]
    summary: str
    constraint: str
    source: str
    units: str

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The builder's parameters and their default values."""
        parameters = inspect.signature(self.builder).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def __repr__(self) -> str:
        return f"Entry({self.name!r}: {self.summary}; {self.constraint})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = [self.summary, self.constraint, f"units: {self.units}", f"source: {self.source}"]
        rows = [(name, str(value)) for name, value in self.defaults.items()]
        return listing(self.name, facts, ["parameter", "default"], rows)


OURS = "tightrope"
DOPE = "Bura et al. 2022 (DOPE)"
ALWAYS_SAFE = "Simao et al. 2021 (AlwaysSafe)"

ENTRIES = (
    Entry(
        "grid",
        grid,
        "which way to walk on a slippery map with hazards",
        "few steps on hazardous ground",
        OURS,
        "steps; steps on each kind of hazard",
    ),
    Entry(
        "riverswim",
        riverswim,
        "when to swim against the current for the far bank",
        "few strokes",
        "Strehl and Littman 2008; Osband et al. 2013; the budget is ours",
        "reward; strokes",
    ),
    Entry(
        "queue",
        queue,
        "which jobs to admit to a queue and how fast to serve",
        "few refusals, and little energy for fast service",
        "after Altman 1999",
        "job-slots of waiting; refused jobs, energy",
    ),
    Entry(
        "perishable",
        perishable,
        "how much to order of perishable goods",
        "few units thrown away",
        OURS,
        "money; units wasted",
    ),
    Entry(
        "maintenance",
        maintenance,
        "when to service a machine, and how to repair it",
        "few shifts of downtime",
        OURS,
        "money; shifts of downtime",
    ),
    Entry(
        "dosing",
        dosing,
        "how strong a dose to give each week",
        "few weeks of severe toxicity",
        OURS,
        "weeks of full tumor burden; weeks of severe toxicity",
    ),
    Entry(
        "random",
        random_cmdp,
        "random sparse kernels and costs of any size",
        "budgets of a given tightness",
        OURS,
        "cost; constraint cost",
    ),
    Entry(
        "media",
        media,
        "which server fills a playback buffer",
        "few uses of the fast server",
        f"{DOPE}, media control",
        "reward; uses of the fast server",
    ),
    Entry(
        "ring",
        ring,
        "whether to move on around three states",
        "few moves",
        "Zheng and Ratliff 2020; Bura et al. 2022",
        "reward; moves",
    ),
    Entry(
        "inventory",
        inventory,
        "how much to order",
        "little money for ordering and holding",
        DOPE,
        "sales in days of mean demand; most expensive days",
    ),
    Entry(
        "ring-uniform",
        ring_uniform,
        "whether to move on around three states, entered anywhere",
        "few moves",
        f"{ALWAYS_SAFE}, simple",
        "reward; moves",
    ),
    Entry(
        "cliff",
        cliff,
        "how close to the edge to walk",
        "little closeness to the edge",
        f"{ALWAYS_SAFE}, cliff with costs",
        "reward; row numbers",
    ),
    Entry(
        "marsrover",
        marsrover,
        "which way to drive between pits",
        "seldom in a pit",
        "Brantley et al. 2020 (ConRL)",
        "reward; cost of pits",
    ),
    Entry(
        "streaming",
        streaming,
        "which server fills a playback buffer",
        "the slow server is used often enough",
        "Kitamura et al. 2025",
        "reward; uses of the slow server",
    ),
    Entry(
        "upac-random",
        upac_random,
        "a published random instance",
        "enough utility, which is one minus the reward",
        "Kitamura et al. 2024",
        "reward; utility",
    ),
)
# infinite-horizon models: for planning only
LASTING_ENTRIES = (
    Entry(
        "admission",
        admission,
        "which jobs to admit to a queue that never closes",
        "a short average delay, and few jobs lost",
        "after Altman 1999",
        "cost of service per slot; jobs in the system, jobs lost per slot",
    ),
    Entry(
        "replacement",
        replacement,
        "when to replace an aging machine",
        "a discounted number of failures",
        "after Ross 1983",
        "money; failures",
    ),
    Entry(
        "service-level",
        service_level,
        "how much to order, forever",
        "a least average share of demand that is served",
        OURS,
        "money per day; units of demand per day",
    ),
    Entry(
        "patrol",
        patrol,
        "which rounds to walk on a slippery map with hazards",
        "a small average share of time on hazardous ground",
        OURS,
        "share of time away from the post; share of time on hazards",
    ),
)
_BY_NAME = {item.name: item for item in (*ENTRIES, *LASTING_ENTRIES)}


def names() -> tuple[str, ...]:
    """Return the names of all environments with a horizon, in catalog order.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> import tightrope as tr
    >>> "ring" in tr.envs.names()
    True
    """
    return tuple(item.name for item in ENTRIES)


def lasting_names() -> tuple[str, ...]:
    """Return the names of the infinite-horizon environments, which are for planning.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.envs.lasting_names()
    ('admission', 'replacement', 'service-level', 'patrol')
    """
    return tuple(item.name for item in LASTING_ENTRIES)


def entry(name: str) -> Entry:
    """Return the catalog entry of that name.

    Parameters
    ----------
    name : str
        A name of `names`.

    Returns
    -------
    Entry
        The entry.

    Raises
    ------
    ConfigError
        If there is none; it suggests the closest name.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.envs.entry("ring").summary
    'whether to move on around three states'
    """
    if name not in _BY_NAME:
        raise _unknown(f"environment {name!r}", "environments", name, list(_BY_NAME))
    return _BY_NAME[name]


def build(name: str, **parameters: Any) -> Model:
    """Build the model of that name.

    Parameters
    ----------
    name : str
        A name of `names`.
    **parameters
        Parameters of its builder; the others have their defaults.

    Returns
    -------
    CMDP, DiscountedCMDP or AverageCMDP
        The model.

    Raises
    ------
    ConfigError
        If the name, a parameter or a value is unknown or invalid; it says which.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.envs.build("ring", horizon=12)
    CMDP(3 states, 2 actions, horizon 12, 1 constraint, stationary)
    """
    return entry(name).builder(**_check(name, parameters))


def complete_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of an environment: the given ones, checked, and defaults."""
    return {**entry(name).defaults, **_check(name, parameters)}


def _check(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    entry(name)
    return {key: _cast_all(key, value, _annotation(name, key)) for key, value in parameters.items()}


def parse(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Parse parameters for `build` such as ``slip=0.2``; commas separate a sequence."""
    entry(name)
    parameters: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise ConfigError.about(f"parameter {word!r}", expected="NAME=VALUE, as in horizon=20")
        if key in parameters:
            raise ConfigError(f"parameter {key!r} of {name}: given twice", argument=key)
        parameters[key] = _read_all(key, text, _annotation(name, key))
    return parameters


def _annotation(name: str, key: str) -> Any:
    known = list(entry(name).defaults)
    if key not in known:
        raise _unknown(f"parameter {key!r} of {name}", "parameters", key, known)
    return get_type_hints(entry(name).builder)[key]


def _unknown(what: str, kind: str, word: str, known: Sequence[str]) -> ConfigError:
    words = f"{what} is unknown{guess(word, known) or ';'} {kind}: {', '.join(known)}"
    return ConfigError(words, argument=word)


def _read_all(name: str, text: str, annotation: Any) -> Any:
    """Convert text to the annotated type; commas separate a sequence."""
    scalar, element = _accepted_types(annotation)
    if element in (int, float) and "," in text:
        return [_read(name, word.strip(), element) for word in text.split(",")]
    return _read(name, text, scalar)


def _cast_all(name: str, value: Any, annotation: Any) -> Any:
    """Return the value in the annotated type, or raise a `ConfigError`."""
    scalar, element = _accepted_types(annotation)
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if element is not None and isinstance(items, Sequence) and not isinstance(items, str):
        return [_cast(f"{name}[{i}]", item, element) for i, item in enumerate(items)]
    return _cast(name, value, scalar, WORDS[element] if element else "")


def _accepted_types(annotation: Any) -> tuple[type, type | None]:
    """Return the type of a single value, and of the elements if a sequence is accepted."""
    options = [annotation] if isinstance(annotation, type) else list(get_args(annotation))
    elements = [get_args(option)[0] for option in options if get_origin(option) is Sequence]
    return options[0], (elements[0] if elements else None)


def _read(name: str, text: str, kind: type) -> Any:
    readers: dict[type, Callable[[str], Any]] = {
        int: _whole,
        float: float,
        bool: lambda word: TRUTHS[word.lower()],
        str: str,
    }
    try:
        return _cast(name, readers[kind](text), kind)
    except (ValueError, KeyError, OverflowError) as error:
        is_too_long = kind is int and text.strip().isdecimal()
        limit = f" of at most {MOST_WHOLE}" if is_too_long else ""
        raise ConfigError.about(
            name, verb="is", found=text, expected=f"{WORDS[kind]}{limit}"
        ) from error


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e5 is a whole number too
        if not number.is_integer():
            raise
        return int(number)


def _cast(name: str, value: Any, kind: type, of_sequence: str = "") -> Any:
    is_bool = isinstance(value, (bool, np.bool_))
    fits = {
        int: isinstance(value, Integral) and not is_bool,
        float: is_number(value),
        bool: is_bool,
        str: isinstance(value, str),
    }
    if not fits[kind]:
        or_several = f", or a sequence where each is {of_sequence}" if of_sequence else ""
        raise ConfigError.about(
            name, verb="is", found=value, shown=repr(value), expected=f"{WORDS[kind]}{or_several}"
        )
    if kind is int:
        return whole(name, int(value), -MOST_WHOLE, MOST_WHOLE)
    return kind(value)
