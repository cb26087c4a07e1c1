"""Units: the affine maps between the user's numbers and the internal scale.

Inside, costs lie in [0, 1] per step and are minimized; kernels, planners and learners see nothing
else. A quantity x on [lo, hi] becomes (x - lo)/(hi - lo), or (hi - x)/(hi - lo) when more is
better, and the bound on its sum over H steps moves along. A `Unit` is the map back. With f its
factor::

    total        shift + f * total            values, budgets, bounds
    step         shift / H + f * cost         costs of one step
    difference   |f| * difference             regrets, gaps, slack: positive is worse
    price        |f of the cost| / |f of the constraint| * multiplier

Every public result is converted once, where it is made; the internal scale is not public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    as_floats,
    check_kind,
    check_list,
    check_names,
    is_number,
    positive,
    require_entries,
)
from tightrope.errors import ModelError, describe
from tightrope.text import guess, number

if TYPE_CHECKING:
    from tightrope.model.base import Model

T = TypeVar("T", float, Floats)
EPSILON = 2.0**-52
MOST_DIGITS = 9  # of a text that may be the number of a constraint


@dataclass(frozen=True)
class Unit:
    """What a total is called and the affine map from the internal scale, [0, 1] per step.

    Parameters
    ----------
    name : str
        What is counted, for example ``"reward"`` or ``"hours of downtime"``.
    factor : float
        Width of the range of one step; negative when the quantity is maximized.
    shift : float
        Total of an episode whose steps all have the best value of the range.

    Examples
    --------
    The internal cost of a step is in [0, 1]; a step that earns 0 to 10 dollars of reward:

    >>> import tightrope as tr
    >>> dollars = tr.Unit.of_reward("dollars", 0.0, 10.0, horizon=3)
    >>> dollars.show(0.5)
    25.0
    >>> dollars.read(25.0)
    0.5
    """

    name: str = "cost"
    factor: float = 1.0
    shift: float = 0.0

    def show(self, total: T) -> T:
        """Convert a total on the internal scale to the user's unit.

        Parameters
        ----------
        total : float or array
            Sums over an episode on the internal scale.

        Returns
        -------
        float or array
            The same sums in the user's unit.

        Examples
        --------
        >>> import tightrope as tr
        >>> hours = tr.Unit.of_range("hours", 2.0, 10.0, horizon=5)
        >>> hours.show(2.5)
        30.0
        """
        return self.shift + self.factor * total

    def read(self, shown: T) -> T:
        """Convert a total in the user's unit to the internal scale.

        Parameters
        ----------
        shown : float or array
            Sums over an episode in the user's unit.

        Returns
        -------
        float or array
            The same sums on the internal scale.

        Examples
        --------
        >>> import tightrope as tr
        >>> hours = tr.Unit.of_range("hours", 2.0, 10.0, horizon=5)
        >>> hours.read(30.0)
        2.5
        """
        return (shown - self.shift) / self.factor

    def show_step(self, cost: Floats, horizon: float) -> Floats:
        """Convert costs of one step on the internal scale to the user's unit.

        Parameters
        ----------
        cost : array
            In [0, 1].
        horizon : float
            Number of steps of an episode; `Model.n_steps` for an infinite horizon.

        Returns
        -------
        array
            The same costs in the user's unit.

        Examples
        --------
        >>> import numpy as np
        >>> import tightrope as tr
        >>> hours = tr.Unit.of_range("hours", 2.0, 10.0, horizon=5)
        >>> hours.show_step(np.array([0.0, 0.5, 1.0]), horizon=5)
        array([ 2.,  6., 10.])
        """
        return self.shift / horizon + self.factor * cost

    def read_step(self, values: Floats, horizon: float) -> Floats:
        """Convert values of one step in the user's unit to costs; values out of range stay so.

        Parameters
        ----------
        values : array
            In the user's unit.
        horizon : float
            Number of steps of an episode; `Model.n_steps` for an infinite horizon.

        Returns
        -------
        array
            Costs on the internal scale.

        Examples
        --------
        >>> import numpy as np
        >>> import tightrope as tr
        >>> hours = tr.Unit.of_range("hours", 2.0, 10.0, horizon=5)
        >>> hours.read_step(np.array([2.0, 6.0, 10.0]), horizon=5)
        array([0. , 0.5, 1. ])
        """
        if self.is_plain:
            return values
        low, high = sorted((self.shift / horizon, self.shift / horizon + self.factor))
        return onto_unit_interval(values, low, high, self.is_maximized)

    @property
    def size(self) -> float:
        """Units of the user per unit of the internal scale, for differences."""
        return abs(self.factor)

    @property
    def is_plain(self) -> bool:
        """Whether the user's scale is the internal one."""
        return self.factor == 1.0 and self.shift == 0.0

    @property
    def is_maximized(self) -> bool:
        """Whether more of the quantity is better."""
        return self.factor < 0

    @classmethod
    def of_range(cls, name: str, low: float, high: float, horizon: float) -> Unit:
        """Return the unit of a cost that lay in ``[low, high]`` per step before it was scaled.

        Parameters
        ----------
        name : str
            What is counted.
        low, high : float
            Least and greatest value of one step.
        horizon : float
            Number of steps of an episode; `Model.n_steps` for an infinite horizon.

        Returns
        -------
        Unit
            The unit of the totals.

        Examples
        --------
        >>> import tightrope as tr
        >>> hours = tr.Unit.of_range("hours", 0.0, 8.0, horizon=5)
        >>> hours.show(2.0), hours.read(16.0)
        (16.0, 2.0)
        """
        low, high = _check_ends(low, high)
        return cls(name, factor=high - low, shift=positive("horizon", horizon, ModelError) * low)

    @classmethod
    def of_reward(cls, name: str, low: float, high: float, horizon: float) -> Unit:
        """Return the unit of a reward r in ``[low, high]`` scaled to ``(high - r)/(high - low)``.

        Parameters
        ----------
        name, low, high, horizon
            As for `of_range`.

        Returns
        -------
        Unit
            The unit of the totals; more of it is better.

        Examples
        --------
        >>> import tightrope as tr
        >>> tr.Unit.of_reward("points", 0.0, 2.0, horizon=5).show(0.0)
        10.0
        """
        low, high = _check_ends(low, high)
        return cls(name, factor=low - high, shift=positive("horizon", horizon, ModelError) * high)

    def __post_init__(self) -> None:
        check_names("unit", [self.name], ModelError)
        if not (is_number(self.factor) and is_number(self.shift)) or self.factor == 0:
            raise ModelError.about(
                f"unit {self.name!r}",
                shown=f"factor {describe(self.factor)} and shift {describe(self.shift)}",
                expected="finite numbers and a factor that is not zero",
            )
        object.__setattr__(self, "factor", float(self.factor))
        object.__setattr__(self, "shift", float(self.shift))


@dataclass(frozen=True)
class Units:
    """Units of a model.

    Parameters
    ----------
    cost : Unit
        Of the cost.
    constraints : tuple of Unit
        Of each constraint.
    """

    cost: Unit
    constraints: tuple[Unit, ...]

    @classmethod
    def plain(cls, n_constraints: int) -> Units:
        """Return units of a model whose costs are given in [0, 1]."""
        return cls(Unit(), (Unit(),) * n_constraints)

    @property
    def sizes(self) -> Floats:
        """Units of the user per unit of the internal scale, (I,), for differences."""
        return np.array([unit.size for unit in self.constraints])

    @property
    def are_floors(self) -> Bools:
        """Which constraints are "at least" constraints, (I,)."""
        return np.array([unit.is_maximized for unit in self.constraints], dtype=np.bool_)

    @property
    def are_alike(self) -> bool:
        """Whether all constraints have units of one size."""
        return len(set(self.sizes.tolist())) < 2

    def largest(self, excess: Floats) -> Floats:
        """Return the largest over the constraints, (..., I) to (...).

        In their unit, if they have one; else relative to the range of one step, so that it does
        not depend on the units. Zero if there are no constraints.
        """
        if not self.constraints:
            return np.zeros(excess.shape[:-1])
        relative = excess if self.are_alike else excess / self.sizes
        return np.asarray(relative.max(axis=-1))

    def show_totals(self, totals: Any) -> Floats:
        """Convert totals of the constraints, (I,), to the user's units."""
        pairs = zip(self.constraints, totals, strict=True)
        return np.array([unit.show(float(total)) for unit, total in pairs])

    def show_prices(self, multiplier: Floats) -> Floats:
        """Convert multipliers (..., I) to prices: units of the cost per unit of each constraint."""
        return np.asarray(multiplier * (self.cost.size / self.sizes))

    def show_excess(self, excess: Floats) -> Floats:
        """Convert differences (..., I+1) of cost and constraints to the user's units."""
        return np.asarray(excess * np.append(self.cost.size, self.sizes))


Range = tuple[float, float]
Bounded = tuple[Floats, Floats, tuple[Unit, ...]]
"""Constraint costs and budgets on the internal scale, and their units."""


def _check_ends(low: float, high: float) -> Range:
    for end in (low, high):
        if not is_number(end):
            raise ModelError.about("range of a unit", found=end, expected="a finite number")
    return float(low), float(high)


def check_units(
    cost_unit: Unit | None, constraint_units: Sequence[Unit] | None
) -> tuple[Unit | None, tuple[Unit, ...] | None]:
    """Return the units of a model, or raise a `ModelError`."""
    if cost_unit is not None:
        check_kind("cost_unit", cost_unit, Unit, ModelError)
    if constraint_units is None:
        return cost_unit, None
    units = check_list("constraint_units", constraint_units, "units", ModelError)
    return cost_unit, tuple(
        check_kind(f"constraint_units[{i}]", unit, Unit, ModelError) for i, unit in enumerate(units)
    )


def units_or_plain(given: Sequence[Unit] | None, count: int) -> tuple[Unit, ...]:
    """Return the units if there are ``count`` of them, plain ones otherwise."""
    return tuple(given) if given is not None and len(given) == count else (Unit(),) * count


def onto_unit_interval(values: Floats, low: float, high: float, maximized: bool = False) -> Floats:
    """Map values on ``[low, high]`` to costs on [0, 1]; values outside stay outside."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (high - values if maximized else values - low) / (high - low)
    return np.where(_is_inside(values, low, high), np.clip(scaled, 0.0, 1.0), scaled)


def _is_inside(values: Floats, low: float, high: float) -> Any:
    """Whether values lie in a range, up to the rounding error of their computation."""
    rounding = 4.0 * EPSILON * (abs(low) + abs(high))
    return (values >= low - rounding) & (values <= high + rounding)


def onto_budget(bound: float, unit: Unit, horizon: float) -> float:
    """Map the bound on a total to an internal budget; an impossible bound stays impossible."""
    scaled = unit.read(bound)
    rounding = 4.0 * EPSILON * (horizon + abs(unit.shift / unit.factor))
    inside = -rounding <= scaled <= horizon + rounding
    return min(max(scaled, 0.0), float(horizon)) if inside else scaled


def required_budget(
    name: str, bound: float, unit: Unit, horizon: float, verb: str = "", shown: str = ""
) -> float:
    """Map a bound like `onto_budget`, or raise a `ModelError` about the argument ``name``."""
    budget = onto_budget(bound, unit, horizon)
    if not 0.0 <= budget <= horizon:
        least, most = sorted((unit.show(0.0), unit.show(float(horizon))))
        expected = f"a number in [{least:g}, {most:g}]"
        more = f", the possible sums over {horizon:.9g} steps"
        shown = shown or f"{bound:g}"
        raise ModelError.about(
            name, verb=verb, found=bound, shown=shown, expected=expected, more=more
        )
    return budget


def required_range(word: str, given: Any) -> Range:
    """Return a range as two floats, or raise a `ModelError`."""
    ends = as_floats(word, given)
    low, high = ends.tolist() if ends.shape == (2,) else (np.nan, np.nan)
    if not (low < high and np.isfinite(high - low)):
        raise ModelError.about(
            word, found=given, expected="two finite numbers, the lower one first"
        )
    return low, high


def scale(name: str, values: Floats, ends: Range, H: float, maximized: bool) -> tuple[Floats, Unit]:
    """Map values on a range to costs on [0, 1]; return them with the unit that converts back."""
    unit = Unit.of_reward(name, *ends, H) if maximized else Unit.of_range(name, *ends, H)
    return onto_unit_interval(values, *ends, maximized), unit


def rescale(
    name: str, values: Any, given: Range | None, word: str, H: float, allowed: Any, maximized: bool
) -> tuple[Floats, Unit]:
    """Scale the values of existing actions, which must lie in the given range."""
    values = as_floats(name, values)
    return scale(name, values, _find_range(name, values, given, word, allowed), H, maximized)


def rescale_bounded(
    names: tuple[str, str, str],
    quantity: Any,
    bound: Any,
    ranges: Sequence[Range] | None,
    H: float,
    allowed: Any,
) -> Bounded:
    """Scale bounded quantities and their bounds; the names are theirs and that of the ranges."""
    name, bound_name, word = names
    values = as_floats(name, [] if quantity is None else quantity)
    limits = np.atleast_1d(as_floats(bound_name, [] if bound is None else bound))
    if values.size == 0 and limits.size == 0:
        return np.zeros((0, 1, 1)), np.zeros(0), ()
    if values.ndim not in (3, 4) or limits.shape != values.shape[:1]:
        raise ModelError.about(
            bound_name,
            shown=f"shape {limits.shape} for {name} of shape {values.shape}",
            expected=f"one number for each leading entry of {name} over (I, S, A) or (I, H, S, A)",
        )
    if ranges is not None and as_floats(word, ranges).shape != (len(values), 2):
        raise ModelError.about(
            word, found=ranges, shown=str(ranges), expected=f"{len(values)} pairs of numbers"
        )
    scaled, budgets, units = np.empty_like(values), np.empty(len(values)), []
    for i, block in enumerate(values):
        given = None if ranges is None else ranges[i]
        scaled[i], unit = rescale(
            f"{name}[{i}]", block, given, f"{word}[{i}]", H, allowed, bound_name == "floor"
        )
        place, limit = f"{bound_name}[i={i}]", float(limits[i])
        budgets[i] = required_budget(place, limit, unit, H, "is", number(limit))
        units.append(unit)
    return scaled, budgets, tuple(units)


def join_bounded(first: Bounded, second: Bounded, H: int) -> Bounded:
    """Join two stacks of bounded quantities, by stage if either is."""
    costs = [costs for costs, _, _ in (first, second) if len(costs)] or [first[0]]
    if len({each.ndim for each in costs}) == 2:
        costs = [x if x.ndim == 4 else np.repeat(x[:, None], H, axis=1) for x in costs]
    if costs[0].shape[1:] != costs[-1].shape[1:]:
        raise ModelError.about(
            "utility",
            shown=f"over {costs[0].shape[1:]} but constraint_cost over {costs[-1].shape[1:]}",
            expected="the same states and actions",
        )
    budgets = np.concatenate((first[1], second[1]))
    return np.concatenate(costs), budgets, first[2] + second[2]


def _find_range(name: str, values: Floats, given: Range | None, word: str, allowed: Any) -> Range:
    """Return the range in force, after a check of the values of existing actions."""
    if values.ndim not in (2, 3):
        raise ModelError.about(name, shape=values.shape, expected="(S, A) or (H, S, A)")
    exists = _find_existing(values, allowed)
    finite = values[np.isfinite(values) & exists]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if given is None:
        if least < 0 or most > 1:
            ends = f"from {least:g} to {most:g}"
            more = (
                f"; give {word}=({least:g}, {most:g}) or wider, the least and greatest value of "
                "one step"
            )
            raise ModelError.about(name, verb="runs", shown=ends, more=more)
        return 0.0, 1.0
    low, high = required_range(word, given)
    outside = exists & ~_is_inside(values, low, high)
    expected = f"a number in {word}=({number(low)}, {number(high)})"
    require_entries(name, values, outside, "hsa"[-values.ndim :], expected)
    return low, high


def _find_existing(values: Floats, allowed: Any) -> Any:
    """Where the action exists, over the axes of ``values``.

    A mask of the wrong shape is ignored here; the constructor of the model rejects it.
    """
    if allowed is None:
        return True
    mask = as_floats("allowed", allowed) != 0.0
    mask = mask.any(axis=0) if mask.ndim > values.ndim else mask
    fits = mask.shape in (values.shape, values.shape[-2:], (1, *values.shape[-2:]))
    return np.broadcast_to(mask, values.shape) if fits else True


def read_named(bounds: Mapping[str, float], names: Sequence[str]) -> dict[int, float]:
    """Return bounds by number of the constraint, from names or numbers without duplicates."""
    found: dict[int, float] = {}
    for word, bound in bounds.items():
        i = constraint_at(names, word)
        if i in found:
            raise ModelError(f"a budget for {names[i]!r} twice", argument="budget", found=names[i])
        if not is_number(bound):
            raise ModelError.about(f"budget of {names[i]!r}", found=bound, expected="a number")
        found[i] = bound
    return found


def constraint_at(names: Sequence[str], word: str) -> int:
    """Return the number of a constraint given by name or by number from 0."""
    word = word.strip()
    if word in names:
        return names.index(word)
    if word.isdecimal() and len(word) <= MOST_DIGITS and int(word) < len(names):
        return int(word)
    known = f"constraints: {', '.join(map(repr, names))}" if names else "the model has none"
    words = f"constraint {describe(word)} is unknown{guess(word, names)}; {known}"
    raise ModelError(words, argument="constraint", found=word)


def label_of(cmdp: Model, constraint: int) -> str:
    """Return the name of a constraint, with its unit if that has another name."""
    name, unit = cmdp.constraint_names[constraint], cmdp.constraint_units[constraint].name
    return name if name == unit else f"{name} ({unit})"
