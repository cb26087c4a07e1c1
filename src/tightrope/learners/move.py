"""Move: what a learner's step decides for one episode, as the compiled drivers read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints

# places in Move.facts
GAP = 0  # certified gap of the plan
BOUND = 1  # what optimism promises to be at most the optimum; infinite where it promises nothing
IS_RELAXED = 2  # whether the optimistic problem was infeasible and violation was minimised instead
HAS_CHANGED = 3  # whether the policy differs from the last one
IS_DETERMINISTIC = 4  # whether ``choice`` says it all
SWEEPS = 5  # dynamic programming sweeps that the plan took


class Move(NamedTuple):
    """The policy of an episode and what its planner believes of it."""

    pi: Floats  # (H, S, A)
    choice: Ints  # (H, S) actions where the policy is deterministic
    value: Floats  # (I+1,) planned cost, then planned constraint values
    lam: Floats  # (I,) multipliers that the policy answers
    facts: Floats  # (6,) see the places above


def new_move(H: int, S: int, A: int, I: int) -> Move:
    """Room for the move of a learner."""
    return Move(
        np.zeros((H, S, A)),
        np.full((H, S), -1, dtype=np.int16),  # no action yet, so that the first policy is new
        np.zeros(I + 1),
        np.zeros(I),
        np.zeros(6),
    )


def policy_of(move: Move) -> Floats:
    """The policy of a move, (H, S, A), as a copy."""
    if move.facts[IS_DETERMINISTIC] > 0:
        return np.asarray(np.eye(move.pi.shape[2])[move.choice])
    return move.pi.copy()
