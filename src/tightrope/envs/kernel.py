"""A transition kernel from what may happen: next states with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def kernel(n_states: int, n_actions: int, outcomes: Iterable[tuple[ArrayLike, ArrayLike]]) -> Any:
    """Sparse kernel of shape (S*A, S).

    Parameters
    ----------
    n_states, n_actions : int
        Sizes S and A.
    outcomes : iterable of (next state, probability)
        Each member broadcasts to (S, A). The probabilities of a pair add up to one over the
        outcomes; outcomes that lead to the same state are added.
    """
    from scipy.sparse import csr_array

    shape = (n_states, n_actions)
    targets, chances = zip(*outcomes, strict=True)
    columns = np.concatenate([np.broadcast_to(target, shape).ravel() for target in targets])
    data = np.concatenate(
        [np.broadcast_to(np.asarray(chance, dtype=np.float64), shape).ravel() for chance in chances]
    )
    rows = np.tile(np.arange(n_states * n_actions), len(targets))
    return csr_array((data, (rows, columns)), shape=(n_states * n_actions, n_states))
