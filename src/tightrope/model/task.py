"""Task: what a learner knows of the model; the true model stays with the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.arrays import Bools, Floats, Transitions


@dataclass(frozen=True)
class Task:
    """What a learner knows before the first episode.

    Parameters
    ----------
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums.
    initial : (S,) array
        Distribution of the start state.
    allowed : (0 or 1 or H, S, A) array
        Actions that exist; no stages when all do.
    n_episodes : int
        Number of episodes K, which radii and step sizes need.
    delta : float
        Probability with which the guarantees may fail.
    pattern : Transitions
        Successors that counts have room for. Storage, not knowledge: one that was never seen is
        treated like any other, unless the support is declared known.
    known_cost : (I+1, G, S*A) array
        Cost and constraint costs where they are known; no stages otherwise.
    is_stationary_kernel, is_stationary_cost : bool
        Whether stages may be pooled.
    """

    n_states: int
    n_actions: int
    horizon: int
    budget: Floats  # (I,)
    initial: Floats  # (S,)
    allowed: Bools  # (0 or 1 or H, S, A)
    n_episodes: int
    delta: float
    pattern: Transitions
    known_cost: Floats  # (I+1, G, S*A)
    is_stationary_kernel: bool
    is_stationary_cost: bool

    @property
    def n_constraints(self) -> int:
        """Number of constraints I."""
        return self.budget.size
