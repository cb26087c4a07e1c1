"""Labels: what a learner's numbers are called and how they are shown, kept with it in its file.

A learner counts states and actions from 0 and costs in [0, 1]. Where it was made from a log of
named things in euros or hours, whoever reads its file later must not have to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from tightrope.arrays import factor
from tightrope.errors import ModelError, StoreError
from tightrope.model.task import Task
from tightrope.model.units import Unit


@final
@dataclass(frozen=True)
class Labels:
    """Names, units, and what is not known of the start.

    Parameters
    ----------
    states, actions : tuple of str
        What they are called.
    units : tuple of Unit
        How sums over an episode are shown: of the cost, then of each constraint.
    start_doubt : float
        How far, in L1, the true distribution of the start may be from the learner's.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    units: tuple[Unit, ...]
    start_doubt: float = 0.0

    def as_table(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], task: Task) -> Labels:
        """What `as_table` gave, or a `StoreError`.

        Parameters
        ----------
        table : mapping of str to value
        task : Task
            Whose states, actions and costs they are the labels of.
        """
        try:
            labels = cls(
                tuple(map(str, table["states"])),
                tuple(map(str, table["actions"])),
                tuple(
                    Unit(str(each["name"]), float(each["factor"]), float(each["shift"]))
                    for each in table["units"]
                ),
                factor("start_doubt", table["start_doubt"]),
            )
            found = len(labels.states), len(labels.actions), len(labels.units)
            expected = task.n_states, task.n_actions, task.n_constraints + 1
            if found != expected:
                raise ModelError(f"states, actions and units: {found}, expected {expected}")
        except (KeyError, TypeError, ValueError, ModelError) as error:
            raise StoreError(f"damaged: its labels are none: {error}") from error
        return labels
