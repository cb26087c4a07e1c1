"""Costs of a Gymnasium environment, which has only rewards of its own.

A rule gives the cost of a step from what was seen of it. It comes from ``info``, from a function,
from an array, or from a hazard that the environment is known for (`toy_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import as_floats, is_number
from tightrope.errors import ModelError, describe
from tightrope.interop.toy_text import hazards_of
from tightrope.model.csr import is_sparse
from tightrope.model.units import required_range
from tightrope.text import guess

ANY_HAZARD = "hazard"


class Step(NamedTuple):
    """A step as it was seen; states and actions as numbers from 0."""

    state: int
    action: int
    next_state: int
    reward: float
    terminated: bool
    info: Mapping[str, Any]


@dataclass(frozen=True)
class CostRule:
    """A constraint: what it is called, what a step costs, and what an episode may.

    Parameters
    ----------
    name : str
        Of the constraint.
    of : callable
        Cost of a `Step`.
    low, high : float
        Least and greatest cost of one step.
    budget : float
        Largest allowed expected sum over an episode, in the same units.
    """

    name: str
    of: Callable[[Step], Any]
    low: float
    high: float
    budget: float

    def cost(self, step: Step, where: str) -> float:
        """The cost of a step, or a `ModelError` that names the place.

        Parameters
        ----------
        step : Step
            What was seen.
        where : str
            Which step it is, in words.
        """
        try:
            value = self.of(step)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"{where}: {self.name} is {value!r}, expected a number") from None
        if not self.low <= number <= self.high:
            raise ModelError(
                f"{where}: {self.name} is {number:g}, expected a number in "
                f"[{self.low:g}, {self.high:g}]; cost_range (--range NAME=LOW:HIGH) says "
                "otherwise where it must"
            )
        return number


def cost_rules(
    env: Any, n_states: int, n_actions: int, costs: Any, budget: Any, cost_range: Any = None
) -> tuple[CostRule, ...]:
    """The constraints that ``costs`` and ``budget`` mean.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; its hazards may be named.
    n_states, n_actions : int
        Sizes of arrays.
    costs : mapping, callable, array, str or None
        By constraint, or of the only one; None for what ``info`` holds.
    budget : float, sequence, mapping or None
        A number for the only constraint, one each, or by name.
    cost_range : pair, or mapping of pairs, optional
        Least and greatest cost of a step; (0, 1) when not given.
    """
    if budget is None and costs is None:
        _require_known(cost_range, [])
        return ()
    if budget is None:
        raise ModelError("budget: missing; costs were given, so how much may they add up to?")
    sources = _sources(costs, budget)
    budgets = _budgets(list(sources), budget)
    _require_known(cost_range, list(sources))
    rules = []
    for name, source in sources.items():
        word, own = "cost_range", cost_range
        if isinstance(cost_range, Mapping):
            word, own = f"cost_range[{name!r}]", cost_range.get(name)
        low, high = (0.0, 1.0) if own is None else required_range(word, own)
        of = _function(env, n_states, n_actions, name, source)
        rules.append(CostRule(name, of, low, high, budgets[name]))
    return tuple(rules)


def _sources(costs: Any, budget: Any) -> dict[str, Any]:
    """Where each constraint's cost comes from, by name."""
    if isinstance(costs, Mapping) and not is_sparse(costs):  # one sparse format is a dict
        if not costs:
            raise ModelError("costs: empty, expected a cost for each name")
        return {str(name): source for name, source in costs.items()}
    if costs is not None:
        return {costs if isinstance(costs, str) else "cost": costs}
    if isinstance(budget, Mapping):
        return {str(name): str(name) for name in budget}
    size = as_floats("budget", budget).size
    if size == 1:
        return {"cost": "cost"}
    return {f"cost {i}": _InArray(i, size) for i in range(size)}


def _budgets(names: Sequence[str], budget: Any) -> dict[str, float]:
    if isinstance(budget, Mapping):
        given = {str(name): value for name, value in budget.items()}
        for name in given:
            if name not in names:
                raise ModelError(
                    f"budget: {name!r} is unknown{guess(name, names)}; costs: {', '.join(names)}"
                )
        for name in names:
            if name not in given:
                raise ModelError(f"budget: none for {name!r}")
        for name, value in given.items():
            if not is_number(value):
                raise ModelError(f"budget of {name!r}: {describe(value)}, expected a finite number")
        return {name: float(value) for name, value in given.items()}
    values = np.atleast_1d(as_floats("budget", budget))
    if values.shape != (len(names),):
        raise ModelError(
            f"budget: {values.size} numbers, expected {len(names)}: {', '.join(names)}"
        )
    return dict(zip(names, values.tolist(), strict=True))


def _require_known(cost_range: Any, names: Sequence[str]) -> None:
    for name in cost_range if isinstance(cost_range, Mapping) else ():
        if name not in names:
            raise ModelError(
                f"cost_range: {name!r} is unknown{guess(str(name), names)}; "
                f"costs: {', '.join(names) or 'none'}"
            )


def _function(
    env: Any, n_states: int, n_actions: int, name: str, source: Any
) -> Callable[[Step], Any]:
    if callable(source):
        return source  # type: ignore[no-any-return]
    if isinstance(source, str):
        hazards = hazards_of(env)
        if source == ANY_HAZARD and hazards:
            return next(iter(hazards.values()))
        return hazards.get(source) or _InInfo(source, tuple(hazards))
    values = as_floats(f"costs[{name!r}]", source)
    picks: dict[tuple[int, ...], Callable[[Step], Any]] = {
        (n_states,): lambda step: values[step.next_state],
        (n_states, n_actions): lambda step: values[step.state, step.action],
        (n_states, n_actions, n_states): lambda step: values[
            step.state, step.action, step.next_state
        ],
    }
    if values.shape not in picks:
        expected = ", ".join(map(str, picks))
        raise ModelError(f"costs[{name!r}]: shape {values.shape}, expected one of {expected}")
    return picks[values.shape]


@dataclass(frozen=True)
class _InInfo:
    """A cost that the environment reports by name."""

    name: str
    hazards: tuple[str, ...]

    def __call__(self, step: Step) -> Any:
        keys = [self.name] if self.name == "cost" else [f"cost_{self.name}", self.name]
        for key in keys:
            if key in step.info:
                value = step.info[key]
                return value if np.ndim(value) == 0 or np.size(value) != 1 else np.ravel(value)[0]
        found = ", ".join(map(repr, step.info)) or "nothing"
        known = f"; hazards of this environment: {', '.join(self.hazards)}" if self.hazards else ""
        raise ModelError(
            f"info has no {' or '.join(map(repr, keys))}, it holds {found}; "
            f"costs= says where a cost comes from{known}"
        )


@dataclass(frozen=True)
class _InArray:
    """One of several costs that the environment reports together."""

    i: int
    size: int

    def __call__(self, step: Step) -> Any:
        if "cost" not in step.info:
            raise ModelError("info has no 'cost'; costs= says where a cost comes from")
        values = np.ravel(step.info["cost"])
        if values.size != self.size:
            raise ModelError(
                f"info['cost'] holds {values.size} numbers, expected {self.size}, one a budget"
            )
        return values[self.i]
