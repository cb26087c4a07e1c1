"""Episode and Episodes: what happened, as a learner is told it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from tightrope.arrays import Floats


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


@final
@dataclass(frozen=True)
class Episodes:
    """K episodes of H steps each, in the order in which they happened.

    Parameters
    ----------
    states : (K, H+1) whole numbers
        The states visited, the one after the last step included.
    actions : (K, H) whole numbers
        The actions taken.
    cost : (K, H) array
        Observed costs, in [0, 1].
    constraint_cost : (K, I, H) array
        Observed constraint costs, in [0, 1].
    """

    states: Any  # (K, H+1)
    actions: Any  # (K, H)
    cost: Any  # (K, H)
    constraint_cost: Any  # (K, I, H)

    def __len__(self) -> int:
        return len(self.states)

    def __iter__(self) -> Iterator[Episode]:
        for episode in zip(self.states, self.actions, self.cost, self.constraint_cost, strict=True):
            yield Episode(*episode)


class End(NamedTuple):
    """The state that an episode which is over stays in, by its first action: known, not learned."""

    state: int
    cost: Floats  # (I+1,) cost and constraint costs of a step in it, in [0, 1]
