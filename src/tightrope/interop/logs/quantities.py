"""The quantities of a log: what is minimised or maximised, what has a budget, in which units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tightrope.errors import ModelError
from tightrope.interop.logs.blocks import PREFIX, Steps
from tightrope.model.units import Range, Unit, required_range
from tightrope.text import guess

NEEDED = ("episode", "step", "state", "action", "next_state")


class Quantity(NamedTuple):
    """A column of numbers and the least and greatest value of one step."""

    name: str
    column: str
    low: float
    high: float
    is_reward: bool = False

    def unit(self, horizon: int) -> Unit:
        """How a total over an episode is shown."""
        rule = Unit.of_reward if self.is_reward else Unit.of_range
        return rule(self.name, self.low, self.high, horizon)

    def complaint(self, value: Any) -> str:
        """Why a value is no use."""
        if value == "":
            return f"{self.column} is missing"
        found = value if isinstance(value, str) else f"{value:g}"
        return f"{self.column} {found}, expected a number in [{self.low:g}, {self.high:g}]"


def quantities(
    steps: Steps,
    constraints: Sequence[str] | None,
    ranges: Mapping[str, Range],
) -> tuple[Quantity, ...]:
    """The objective and the constraints of a log, after a look whether its columns are there.

    Parameters
    ----------
    steps : Steps
        The opened log.
    constraints : sequence of str, optional
        Names of the constraints; all columns that begin with ``cost_`` when not given.
    ranges : mapping of str to (float, float)
        Least and greatest value of one step by name; (0, 1) for the others.
    """
    for name in NEEDED:
        _require(steps, name)
    objectives = [name for name in ("cost", "reward") if name in steps.columns]
    if len(objectives) != 1:
        found = "both cost and reward" if objectives else "neither cost nor reward"
        raise ModelError(f"{found} among the columns, expected one of them; {_listed(steps)}")
    if constraints is None:
        constraints = [name.removeprefix(PREFIX) for name in steps.columns if _is_bounded(name)]
    columns: dict[str, str] = {objectives[0]: objectives[0]}
    for name in constraints:
        if name in columns:
            raise ModelError(f"constraint {name!r}: named twice, or the name of the objective")
        with_prefix = PREFIX + name
        columns[name] = with_prefix if with_prefix in steps.columns else name
        _require(steps, columns[name])
    for name in ranges:
        if name not in columns:
            hint = guess(name, columns)
            known = ", ".join(columns)
            raise ModelError(f"range of {name!r}: no such quantity{hint}; there are {known}")
    return tuple(
        Quantity(
            name,
            column,
            *required_range(f"range of {name!r}", ranges.get(name, (0.0, 1.0))),
            is_reward=column == "reward",
        )
        for name, column in columns.items()
    )


def _is_bounded(column: str) -> bool:
    return column.startswith(PREFIX) and column != PREFIX


def _require(steps: Steps, column: str) -> None:
    if column not in steps.columns:
        hint = guess(column, [name for name in steps.columns if name not in NEEDED])
        raise ModelError(f"column {column!r}: missing{hint}; {_listed(steps)}")


def _listed(steps: Steps) -> str:
    return f"the log has {', '.join(map(repr, steps.columns))}"
