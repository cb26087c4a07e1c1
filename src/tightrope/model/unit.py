"""Units: how a total in the model's own scale reads in the user's.

Costs inside a model lie in [0, 1] a step and are minimised (SPEC A1). A `Unit` remembers the affine
map back to what the user spoke of, so that results are shown in rewards, euros or hours::

    shown = shift + factor * total
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tightrope.arrays import Floats, check_kind, check_list, check_names, is_number, whole
from tightrope.errors import ModelError, describe

T = TypeVar("T", float, Floats)


@dataclass(frozen=True)
class Unit:
    """What a total is called and the affine map from the model's scale to the shown one.

    Parameters
    ----------
    name : str
        What is counted, for example ``"reward"`` or ``"hours of downtime"``.
    factor : float
        Shown units per model unit; negative when the shown quantity is maximised.
    shift : float
        What is shown for a model total of zero.
    """

    name: str = "cost"
    factor: float = 1.0
    shift: float = 0.0

    def show(self, total: T) -> T:
        """A total of the model in shown units."""
        return self.shift + self.factor * total

    @property
    def is_maximised(self) -> bool:
        """Whether more of the shown quantity is better."""
        return self.factor < 0

    @classmethod
    def of_range(cls, name: str, low: float, high: float, horizon: int) -> Unit:
        """The unit of a cost that ran over ``[low, high]`` a step before it was scaled.

        Parameters
        ----------
        name : str
            What is counted.
        low, high : float
            Least and greatest value of one step.
        horizon : int
            Number of steps of an episode.
        """
        low, high = _ends(low, high)
        return cls(name, factor=high - low, shift=whole("horizon", horizon) * low)

    @classmethod
    def of_reward(cls, name: str, low: float, high: float, horizon: int) -> Unit:
        """The unit of a reward r over ``[low, high]`` that became ``(high - r)/(high - low)``.

        Parameters
        ----------
        name, low, high, horizon
            As for `of_range`.
        """
        low, high = _ends(low, high)
        return cls(name, factor=low - high, shift=whole("horizon", horizon) * high)

    def __post_init__(self) -> None:
        check_names("unit", [self.name])
        if not (is_number(self.factor) and is_number(self.shift)) or self.factor == 0:
            raise ModelError(
                f"unit {self.name!r}: factor {describe(self.factor)} and shift "
                f"{describe(self.shift)}, expected finite numbers and a factor that is not zero"
            )
        object.__setattr__(self, "factor", float(self.factor))
        object.__setattr__(self, "shift", float(self.shift))


def _ends(low: float, high: float) -> tuple[float, float]:
    for end in (low, high):
        if not is_number(end):
            raise ModelError(f"range of a unit: {describe(end)}, expected a finite number")
    return float(low), float(high)


def check_units(
    cost_unit: Unit | None, constraint_units: Sequence[Unit] | None
) -> tuple[Unit | None, tuple[Unit, ...] | None]:
    """Return the units of a model, or raise a `ModelError` where something else was given."""
    if cost_unit is not None:
        check_kind("cost_unit", cost_unit, Unit)
    if constraint_units is None:
        return cost_unit, None
    units = check_list("constraint_units", constraint_units, "units")
    return cost_unit, tuple(
        check_kind(f"constraint_units[{i}]", unit, Unit) for i, unit in enumerate(units)
    )


def units_or_plain(given: Sequence[Unit] | None, count: int) -> tuple[Unit, ...]:
    """So many units: those given, or the model's own scale when they are not as many."""
    return tuple(given) if given is not None and len(given) == count else (Unit(),) * count
