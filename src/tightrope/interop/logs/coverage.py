"""What a log shows and what it does not: visits by stage, pairs and states that never occurred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tightrope.arrays import Bools, Ints
from tightrope.interop.logs.log import Log


@final
@dataclass(frozen=True)
class Coverage:
    """Where a log has data; the state of ended episodes is left out.

    Parameters
    ----------
    visits : (H, S, A) array
        How often each action was taken in each state at each stage.
    exists : (H, S, A) booleans
        Which of them could have been.
    """

    visits: Ints  # (H, S, A)
    exists: Bools  # (H, S, A)

    @property
    def states_seen(self) -> Ints:
        """Number of states that occurred at each stage, (H,)."""
        return np.asarray(self.visits.any(axis=2).sum(axis=1))

    @property
    def pairs_seen(self) -> Ints:
        """Number of pairs (state, action) that occurred at each stage, (H,)."""
        return np.asarray((self.visits > 0).sum(axis=(1, 2)))

    @property
    def untried(self) -> Ints:
        """Number of actions never taken in a state that occurred, by stage, (H,)."""
        occurred = self.visits.any(axis=2, keepdims=True)
        return np.asarray((occurred & self.exists & (self.visits == 0)).sum(axis=(1, 2)))

    @property
    def unseen_states(self) -> list[int]:
        """States in which no action was ever taken: unreachable, or missed."""
        is_possible = self.exists.any(axis=(0, 2))
        return [int(s) for s in np.flatnonzero(is_possible & ~self.visits.any(axis=(0, 2)))]

    @property
    def unseen_pairs(self) -> list[tuple[int, int]]:
        """Actions never taken, at any stage, in a state that occurred."""
        occurred: Bools = np.asarray(self.visits.any(axis=(0, 2)))
        never = occurred[:, None] & self.exists.any(axis=0) & ~self.visits.any(axis=0)
        return [(int(s), int(a)) for s, a in np.argwhere(never)]


def coverage(log: Log, allowed: Bools | None = None) -> Coverage:
    """What the log shows.

    Parameters
    ----------
    log : Log
        The episodes.
    allowed : (H, S, A) booleans, optional
        Actions that exist in a state; all of them when not given.
    """
    visits = log.visits
    exists = np.ones(visits.shape, dtype=np.bool_) if allowed is None else np.array(allowed)
    if log.end is not None:
        visits[:, log.end.state] = 0
        exists[:, log.end.state] = False
    return Coverage(visits, exists)
