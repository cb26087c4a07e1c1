"""Episode: what happened in one episode, as a learner is told it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

__all__ = ["Episode"]


@final
@dataclass(frozen=True)
class Episode:
    """One episode of H steps.

    Parameters
    ----------
    states : (H+1,) whole numbers
        The states visited, the one after the last step included.
    actions : (H,) whole numbers
        The actions taken.
    cost : (H,) array
        Observed costs, in [0, 1].
    constraint_cost : (I, H) array
        Observed constraint costs, in [0, 1].
    """

    states: Any  # (H+1,)
    actions: Any  # (H,)
    cost: Any  # (H,)
    constraint_cost: Any  # (I, H)
