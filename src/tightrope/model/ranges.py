"""From the user's ranges, rewards and floors to costs in [0, 1] and budgets (SPEC A1).

A quantity x on [lo, hi] becomes (x - lo)/(hi - lo), or (hi - x)/(hi - lo) when more is better; the
bound on its sum over H steps moves along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Floats, as_floats, require_entries
from tightrope.errors import ModelError, describe
from tightrope.model.arguments import required_horizon
from tightrope.model.csr import is_sparse
from tightrope.model.unit import Unit
from tightrope.text import number

Range = tuple[float, float]


class Rescaled(NamedTuple):
    """Costs and budgets on the model's scale, with the units that lead back."""

    cost: Floats
    constraint_cost: Floats
    budget: Floats
    cost_unit: Unit
    constraint_units: tuple[Unit, ...]


def rescale_costs(
    transition: Any,
    cost: Any,
    constraint_cost: Any,
    budget: Any,
    horizon: int | None,
    cost_range: Range | None,
    constraint_range: Sequence[Range] | None,
    allowed: Any = None,
) -> Rescaled:
    """Costs on any range as costs on [0, 1]; those of forbidden actions may be anything."""
    H = _horizon_of(transition, horizon)
    values = as_floats("cost", cost)
    low, high = _range("cost", values, cost_range, "cost_range", allowed)
    bounded, limits, units = _bounds(
        "constraint_cost", constraint_cost, "budget", budget, constraint_range, H, allowed
    )
    unit = Unit.of_range("cost", low, high, H)
    return Rescaled(onto_unit_interval(values, low, high), bounded, limits, unit, units)


def rescale_rewards(
    transition: Any,
    reward: Any,
    utility: Any,
    floor: Any,
    horizon: int | None,
    constraint_cost: Any,
    budget: Any,
    reward_range: Range | None,
    utility_range: Sequence[Range] | None,
    constraint_range: Sequence[Range] | None,
    allowed: Any = None,
) -> Rescaled:
    """Rewards and floors as costs and budgets; floors first, then budgets."""
    H = _horizon_of(transition, horizon)
    values = as_floats("reward", reward)
    low, high = _range("reward", values, reward_range, "reward_range", allowed)
    floored, floor_limits, floor_units = _bounds(
        "utility", utility, "floor", floor, utility_range, H, allowed
    )
    capped, cap_limits, cap_units = _bounds(
        "constraint_cost", constraint_cost, "budget", budget, constraint_range, H, allowed
    )
    return Rescaled(
        onto_unit_interval(values, low, high, maximised=True),
        _joined(floored, capped, H),
        np.concatenate((floor_limits, cap_limits)),
        Unit.of_reward("reward", low, high, H),
        floor_units + cap_units,
    )


def onto_unit_interval(values: Floats, low: float, high: float, maximised: bool = False) -> Floats:
    """Values on ``[low, high]`` as costs on [0, 1]; values outside stay outside."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (high - values if maximised else values - low) / (high - low)
    return np.where(_is_inside(values, low, high), np.clip(scaled, 0.0, 1.0), scaled)


def _is_inside(values: Floats, low: float, high: float) -> Any:
    """Whether values lie in a range, but for the rounding of whoever computed them."""
    rounding = 4.0 * np.finfo(float).eps * (abs(low) + abs(high))
    return (values >= low - rounding) & (values <= high + rounding)


def onto_budget(bound: float, unit: Unit, horizon: int) -> float:
    """The bound on a shown total as a budget on the model's scale; an impossible one stays so."""
    scaled = (bound - unit.shift) / unit.factor
    rounding = 4.0 * np.finfo(float).eps * (horizon + abs(unit.shift / unit.factor))
    inside = -rounding <= scaled <= horizon + rounding
    return min(max(scaled, 0.0), float(horizon)) if inside else scaled


def required_budget(found: str, bound: float, unit: Unit, horizon: int) -> float:
    """The bound on a shown total as a budget, or a `ModelError` that begins with what was found."""
    budget = onto_budget(bound, unit, horizon)
    if not 0.0 <= budget <= horizon:
        least, most = sorted((unit.show(0.0), unit.show(float(horizon))))
        raise ModelError(
            f"{found}, expected a number in [{least:g}, {most:g}], "
            f"the possible sums over {horizon} steps"
        )
    return budget


def required_range(word: str, given: Any) -> Range:
    """A range as two floats, or a `ModelError`."""
    ends = as_floats(word, given)
    low, high = ends.tolist() if ends.shape == (2,) else (np.nan, np.nan)
    if not (low < high and np.isfinite(high - low)):
        raise ModelError(
            f"{word}: {describe(given)}, expected two finite numbers, the lower one first"
        )
    return low, high


def _bounds(
    name: str,
    quantity: Any,
    bound_name: str,
    bound: Any,
    ranges: Sequence[Range] | None,
    H: int,
    allowed: Any,
) -> tuple[Floats, Floats, tuple[Unit, ...]]:
    """Bounded quantities and their bounds on the model's scale, with their units."""
    values = as_floats(name, [] if quantity is None else quantity)
    limits = np.atleast_1d(as_floats(bound_name, [] if bound is None else bound))
    if values.size == 0 and limits.size == 0:
        return np.zeros((0, 1, 1)), np.zeros(0), ()
    if values.ndim not in (3, 4) or limits.shape != values.shape[:1]:
        raise ModelError(
            f"{bound_name}: shape {limits.shape} for {name} of shape {values.shape}, "
            f"expected one number for each leading entry of {name} over (I, S, A) or (I, H, S, A)"
        )
    floors = bound_name == "floor"
    word = "utility_range" if floors else "constraint_range"
    if ranges is not None and as_floats(word, ranges).shape != (len(values), 2):
        raise ModelError(f"{word}: {ranges}, expected {len(values)} pairs of numbers")
    scaled, own, units = np.empty_like(values), np.empty(len(values)), []
    for i, block in enumerate(values):
        given = None if ranges is None else ranges[i]
        low, high = _range(f"{name}[{i}]", block, given, f"{word}[{i}]", allowed)
        scaled[i] = onto_unit_interval(block, low, high, maximised=floors)
        rule = Unit.of_reward if floors else Unit.of_range
        units.append(rule(name, low, high, H))
        found = f"{bound_name}[i={i}] is {number(limits[i])}"
        own[i] = required_budget(found, float(limits[i]), units[i], H)
    return scaled, own, tuple(units)


def _range(name: str, values: Floats, given: Range | None, word: str, allowed: Any) -> Range:
    """The range in force, after a look whether the values of existing actions lie in it."""
    if values.ndim not in (2, 3):
        raise ModelError(f"{name}: shape {values.shape}, expected (S, A) or (H, S, A)")
    exists = _exists(values, allowed)
    finite = values[np.isfinite(values) & exists]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if given is None:
        if least < 0 or most > 1:
            raise ModelError(
                f"{name} runs from {least:g} to {most:g}; give {word}=({least:g}, {most:g}) "
                "or wider, the least and greatest value of one step"
            )
        return 0.0, 1.0
    low, high = required_range(word, given)
    outside = exists & ~_is_inside(values, low, high)
    expected = f"a number in {word}=({number(low)}, {number(high)})"
    require_entries(name, values, outside, "hsa"[-values.ndim :], expected)
    return low, high


def _exists(values: Floats, allowed: Any) -> Any:
    """Where the action exists, over the axes of ``values``; everywhere if the mask cannot be read.

    A mask of the wrong shape is left for the constructor to name.
    """
    if allowed is None:
        return True
    mask = as_floats("allowed", allowed) != 0.0
    mask = mask.any(axis=0) if mask.ndim > values.ndim else mask
    fits = mask.shape in (values.shape, values.shape[-2:], (1, *values.shape[-2:]))
    return np.broadcast_to(mask, values.shape) if fits else True


def _joined(first: Floats, second: Floats, H: int) -> Floats:
    """Two stacks of bounded quantities as one, by stage if either is."""
    if len(first) == 0 or len(second) == 0:
        return first if len(second) == 0 else second
    if first.ndim != second.ndim:
        first, second = (
            x if x.ndim == 4 else np.repeat(x[:, None], H, axis=1) for x in (first, second)
        )
    if first.shape[1:] != second.shape[1:]:
        raise ModelError(
            f"utility: over {first.shape[1:]} but constraint_cost over {second.shape[1:]}, "
            "expected the same states and actions"
        )
    return np.concatenate((first, second))


def _horizon_of(transition: Any, horizon: int | None) -> int:
    if horizon is not None:
        return required_horizon(horizon)
    by_stage = isinstance(transition, (list, tuple)) if is_sparse(transition) else None
    if by_stage or (by_stage is None and as_floats("transition", transition).ndim == 4):
        return len(transition)
    raise ModelError("horizon: missing; a stationary transition needs horizon=H")
