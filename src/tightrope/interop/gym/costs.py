"""Costs of a Gymnasium environment, which itself has only rewards.

A rule gives the cost of an observed step: from ``info``, a function, an array, or a known hazard of
one of Gymnasium's small environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import as_floats, is_number
from tightrope.errors import ModelError
from tightrope.model import Layout
from tightrope.model.csr import is_sparse
from tightrope.model.units import Range, required_range
from tightrope.text import counted, guess

ANY_HAZARD = "hazard"
FALL, ILLEGAL = (
    -100.0,
    -10.0,
)  # rewards of these events in CliffWalking and Taxi
LEFT, DOWN, RIGHT, UP = (0, -1), (1, 0), (0, 1), (-1, 0)


class Step(NamedTuple):
    """An observed step; states and actions as numbers from 0."""

    state: int
    action: int
    next_state: int
    reward: float
    terminated: bool
    info: Mapping[str, Any]


class Known(NamedTuple):
    """Known facts about an environment beyond its attributes."""

    actions: tuple[str, ...] | None = None
    hazards: Callable[[Any], dict[str, Callable[[Step], float]]] = lambda _: {}
    layout: Callable[[Any], Layout | None] = lambda _: None


def known_of(env: Any) -> Known:
    """Return names of actions, hazards and map of FrozenLake, CliffWalking or Taxi.

    The hazards ``holes`` of FrozenLake and ``cliff`` of CliffWalking cost 1 for a fall, ``illegal``
    of Taxi 1 for a passenger picked up or dropped where that is not possible.
    """
    return KNOWN.get(type(env.unwrapped).__name__, Known())


def _find_holes(lake: Any) -> dict[str, Callable[[Step], float]]:
    is_hole = np.asarray(lake.desc == b"H").ravel()
    return {"holes": lambda step: float(is_hole[step.next_state])}


def _map_lake(lake: Any) -> Layout:
    rows = tuple(b"".join(row).decode().replace("F", ".") for row in lake.desc)
    return Layout(rows, _cells(lake.desc.shape), (LEFT, DOWN, RIGHT, UP))


def _map_cliff(walk: Any) -> Layout:
    letters = np.where(walk._cliff, "X", ".")
    letters.flat[int(walk.start_state_index)], letters.flat[-1] = "S", "G"
    return Layout(tuple(map("".join, letters)), _cells(walk.shape), (UP, RIGHT, DOWN, LEFT))


def _cells(shape: tuple[int, int]) -> Any:
    return np.argwhere(np.ones(shape, dtype=np.bool_))


KNOWN = {
    "FrozenLakeEnv": Known(("left", "down", "right", "up"), _find_holes, _map_lake),
    "CliffWalkingEnv": Known(
        ("up", "right", "down", "left"),
        lambda _: {"cliff": lambda step: float(step.reward <= FALL)},
        _map_cliff,
    ),
    "TaxiEnv": Known(
        ("south", "north", "east", "west", "pick up", "drop off"),
        lambda _: {"illegal": lambda step: float(step.reward <= ILLEGAL)},
    ),
}


@dataclass(frozen=True)
class CostRule:
    """A constraint: its name, the cost of a step, and its budget over an episode."""

    name: str
    of: Callable[[Step], Any]
    low: float  # least and greatest cost of one step
    high: float
    budget: float  # largest allowed expected sum over an episode, in the same units

    def cost(self, step: Step, where: str) -> float:
        """Return the cost of a step, or raise a `ModelError` that begins with the place."""
        try:
            value = self.of(step)
        except ModelError as error:
            raise error.with_message(f"{where}: {error}") from None
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError.about(
                self.name,
                where=where,
                verb="is",
                found=value,
                shown=repr(value),
                expected="a number",
            ) from None
        if not self.low <= number <= self.high:
            raise ModelError.about(
                self.name,
                where=where,
                verb="is",
                found=number,
                shown=f"{number:g}",
                expected=f"a number in [{self.low:g}, {self.high:g}]",
                more="; cost_range sets another range",
            )
        return number


def cost_rules(
    env: Any,
    n_states: int,
    n_actions: int,
    costs: Any,
    budget: Any,
    cost_range: Any = None,
    own_ranges: Mapping[str, Range] | None = None,
) -> tuple[CostRule, ...]:
    """Return the constraints of ``costs``, ``budget`` and ``cost_range`` of `from_gymnasium`.

    ``own_ranges`` are those of costs that the environment reports under these names.
    """
    if budget is None and costs is None:
        _require_known("cost_range", cost_range, [])
        return ()
    if budget is None:
        raise ModelError.about(
            "budget",
            shown="missing",
            more="; the costs need budgets, limits on their sums over an episode",
        )
    sources = _find_sources(costs, budget)
    budgets = _find_budgets(list(sources), budget)
    _require_known("cost_range", cost_range, list(sources))
    rules = []
    for name, source in sources.items():
        word, own = "cost_range", cost_range
        if isinstance(cost_range, Mapping):
            word, own = f"cost_range[{name!r}]", cost_range.get(name)
        if own is None and own_ranges:
            own = own_ranges.get(
                source if isinstance(source, str) else name if costs is None else ""
            )
        low, high = (0.0, 1.0) if own is None else required_range(word, own)
        of = _make_function(env, n_states, n_actions, name, source)
        rules.append(CostRule(name, of, low, high, budgets[name]))
    return tuple(rules)


def _find_sources(costs: Any, budget: Any) -> dict[str, Any]:
    """Return the source of each constraint's cost, by name."""
    if isinstance(costs, Mapping) and not is_sparse(costs):  # one sparse format is a dict
        if not costs:
            raise ModelError.about("costs", shown="empty", expected="a cost for each name")
        return {str(name): source for name, source in costs.items()}
    if costs is not None:
        return {costs if isinstance(costs, str) else "cost": costs}
    if isinstance(budget, Mapping):
        return {str(name): str(name) for name in budget}
    size = as_floats("budget", budget).size
    if size == 1:
        return {"cost": "cost"}
    return {f"cost {i}": _read_array(i, size) for i in range(size)}


def _find_budgets(names: Sequence[str], budget: Any) -> dict[str, float]:
    if isinstance(budget, Mapping):
        given = {str(name): value for name, value in budget.items()}
        _require_known("budget", given, names)
        for name in names:
            if name not in given:
                raise ModelError.about("budget", more=f"none for {name!r}")
        for name, value in given.items():
            if not is_number(value):
                raise ModelError.about(
                    f"budget of {name!r}", found=value, expected="a finite number"
                )
        return {name: float(value) for name, value in given.items()}
    values = np.atleast_1d(as_floats("budget", budget))
    if values.shape != (len(names),):
        raise ModelError.about(
            "budget",
            shown=counted(values.size, "number"),
            expected=f"{len(names)}: {', '.join(names)}",
        )
    return dict(zip(names, values.tolist(), strict=True))


def _require_known(word: str, given: Any, names: Sequence[str]) -> None:
    for name in given if isinstance(given, Mapping) else ():
        if name not in names:
            known = f"costs: {', '.join(names) or 'none'}"
            more = f"{guess(str(name), names)}; {known}"
            raise ModelError.about(word, found=name, shown=f"{name!r} is unknown", more=more)


def _make_function(
    env: Any, n_states: int, n_actions: int, name: str, source: Any
) -> Callable[[Step], Any]:
    if callable(source):
        return source  # type: ignore[no-any-return]
    if isinstance(source, str):
        hazards = known_of(env).hazards(env.unwrapped)
        if source == ANY_HAZARD and hazards:
            return next(iter(hazards.values()))
        return hazards.get(source) or _read_info(source, tuple(hazards))
    values = as_floats(f"costs[{name!r}]", source)
    picks: dict[tuple[int, ...], Callable[[Step], Any]] = {
        (n_states,): lambda step: values[step.next_state],
        (n_states, n_actions): lambda step: values[step.state, step.action],
        (n_states, n_actions, n_states): lambda step: values[step[:3]],
    }
    if values.shape not in picks:
        expected = ", ".join(map(str, picks))
        raise ModelError.about(
            f"costs[{name!r}]", shape=values.shape, expected=f"one of {expected}"
        )
    return picks[values.shape]


def _read_info(name: str, hazards: Sequence[str]) -> Callable[[Step], Any]:
    """Return a rule for a cost that the environment reports by name."""
    keys = [name] if name == "cost" else [f"cost_{name}", name]

    def of(step: Step) -> Any:
        for key in keys:
            if key in step.info:
                value = step.info[key]
                return value if np.ndim(value) == 0 or np.size(value) != 1 else np.ravel(value)[0]
        found = ", ".join(map(repr, step.info)) or "nothing"
        known = f"; hazards of this environment: {', '.join(hazards)}" if hazards else ""
        raise ModelError(
            f"info has no {' or '.join(map(repr, keys))}, it holds {found}; "
            f"costs= gives the source of a cost{known}",
            argument="costs",
            found=found,
            expected=" or ".join(map(repr, keys)),
        )

    return of


def _read_array(i: int, size: int) -> Callable[[Step], Any]:
    """Return a rule for one of several costs that the environment reports as an array."""

    def of(step: Step) -> Any:
        if "cost" not in step.info:
            raise ModelError(
                "info has no 'cost'; costs= gives the source of a cost",
                argument="costs",
                expected="'cost'",
            )
        values = np.ravel(step.info["cost"])
        if values.size != size:
            raise ModelError.about(
                "info['cost']",
                verb="holds",
                shown=counted(values.size, "number"),
                expected=f"{size}, one a budget",
            )
        return values[i]

    return of
