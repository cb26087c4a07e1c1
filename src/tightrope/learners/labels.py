"""Labels: what a learner's numbers are called and how they are shown, kept with it in its file.

A learner counts states and actions from 0 and costs in [0, 1]. Where it was made from a log of
named things in euros or hours, whoever reads its file later must not have to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from tightrope.errors import StoreError
from tightrope.model.unit import Unit

__all__ = ["Labels"]


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
    def from_table(cls, table: Mapping[str, Any]) -> Labels:
        """What `as_table` gave, or a `StoreError`.

        Parameters
        ----------
        table : mapping of str to value
        """
        try:
            return cls(
                tuple(map(str, table["states"])),
                tuple(map(str, table["actions"])),
                tuple(Unit(**each) for each in table["units"]),
                float(table["start_doubt"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"damaged: its labels are none: {error}") from error
