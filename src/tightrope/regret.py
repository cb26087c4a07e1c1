"""Regret: which episodes are recorded, and the four regrets of a book (SPEC A9).

The book holds exact signed excess; positive parts are summed beside it because they cannot be had
from sums. The regret in constraints is the largest over the constraints, taken after summing.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.regret import Ledger


class Regrets(TypedDict):
    """Cumulative regrets at the recorded episodes."""

    cost: Floats  # (P,) sum of excess cost, may be negative
    cost_plus: Floats  # (P,) sum of its positive parts
    constraint: Floats  # (P, I) sums of excess over each budget
    constraint_plus: Floats  # (P, I)


def recorded_episodes(n_episodes: int, most: int = 2_000) -> Ints:
    """Episodes to record: all of them at first, then evenly on a logarithmic scale.

    Parameters
    ----------
    n_episodes : int
        Number of episodes K; 1 and K are always recorded.
    most : int
        About how many to record.
    """
    if n_episodes <= most:
        return np.arange(1, n_episodes + 1)
    # rounding merges the first points of a logarithmic scale: take as many more as it costs
    spaced = np.geomspace(1, n_episodes, num=2 * most)
    recorded = np.unique(np.round(spaced).astype(np.int64))
    if recorded.size > most:
        recorded = np.unique(np.round(np.geomspace(1, n_episodes, num=most)).astype(np.int64))
    return recorded


def regrets_of(book: Ledger, n_recorded: int) -> Regrets:
    """The four regrets of the first recorded episodes of a book."""
    return {
        "cost": book.signed_curve[:n_recorded, 0].copy(),
        "cost_plus": book.positive_curve[:n_recorded, 0].copy(),
        "constraint": book.signed_curve[:n_recorded, 1:].copy(),
        "constraint_plus": book.positive_curve[:n_recorded, 1:].copy(),
    }
