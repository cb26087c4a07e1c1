"""Runs in Gymnasium environments: the fields of their specs, and the code that runs them.

That code is in `tightrope.interop.gym`, which builds on experiments; it is imported when a run
needs it. Reading a spec never imports a module or makes an environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from tightrope.arrays import flag, is_number, whole
from tightrope.errors import ConfigError
from tightrope.text import guess

GYM = "gym:"
RUNS = "tightrope.interop.gym.runs"


def is_gym(environment: str) -> bool:
    """Whether the name of an environment is ``gym:ID``."""
    return environment.startswith(GYM)


def gym_runs() -> Any:
    """Return the module that begins, stores and reads runs in Gymnasium environments."""
    return import_module(RUNS)


def gymnasium_settings(name: str, value: Any) -> dict[str, Any]:
    """Return what is known of an environment, checked; values that are defaults are left out.

    The keys are arguments of `learn_gymnasium`: ``horizon``, which is needed, ``costs`` (names),
    ``reward_range``, ``cost_range``, ``total_range``, ``initial`` (a number or probabilities) and
    ``stationary``.
    """
    if not isinstance(value, Mapping):
        raise ConfigError.about(name, found=value, expected="a table with the horizon")
    for key in value:
        if key not in CHECKS:
            more = f"unknown{guess(str(key), list(CHECKS))} (fields: {', '.join(CHECKS)})"
            raise ConfigError.about(f"{name}.{key}", more=more)
    found = {
        key: check(f"{name}.{key}", value[key]) for key, check in CHECKS.items() if key in value
    }
    return {key: each for key, each in found.items() if each != USUAL.get(key)}


def require_gym_fields(given: Mapping[str, Any]) -> None:
    """Raise for fields of a spec that need a model, or if the horizon is missing."""
    if "horizon" not in given.get("gymnasium", {}):
        more = "give the number of steps of an episode, as in gymnasium = { horizon = 20 }"
        raise ConfigError.about("gymnasium.horizon", shown="missing", more=f"; {more}")
    for name in ("audit_visits", "average"):
        if given.get(name):
            raise ConfigError.about(name, more="needs the true model, which gym:ID does not have")
    if given.get("initial", "known") != "known":
        raise ConfigError.about(
            "initial", more="always learned for gym:ID, unless gymnasium.initial is given"
        )


def plain_table(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of values that JSON can hold."""
    try:
        found = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigError.about(
            name, more=f"a value that JSON cannot represent: {error}"
        ) from error
    return dict(found)


def _range(name: str, value: Any) -> list[float]:
    is_pair = isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value))
    if not is_pair or not value[0] < value[1]:
        raise ConfigError.about(name, found=value, expected="two numbers, the lower one first")
    return [float(end) for end in value]


def _ranges(name: str, value: Any) -> dict[str, list[float]]:
    if not isinstance(value, Mapping):
        raise ConfigError.about(name, found=value, expected="a table of ranges by name")
    return {str(key): _range(f"{name}.{key}", each) for key, each in value.items()}


def _cost_range(name: str, value: Any) -> Any:
    return _ranges(name, value) if isinstance(value, Mapping) else _range(name, value)


def _costs(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):
        return {str(key): each for key, each in value.items()}
    raise ConfigError.about(
        name,
        found=value,
        expected="names of costs; a function that makes the environment can report others in info",
    )


def _initial(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        if not all(map(is_number, value)):
            raise ConfigError.about(name, found=value, expected="probabilities")
        return [float(each) for each in value]
    return whole(name, value, 0)


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "horizon": whole,
    "costs": _costs,
    "reward_range": _range,
    "cost_range": _cost_range,
    "total_range": _ranges,
    "initial": _initial,
    "stationary": flag,
}
USUAL: dict[str, Any] = {"reward_range": [0.0, 1.0], "total_range": {}, "stationary": False}
