"""Copies of arrays: into one that is there, without allocation, and to every stage."""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled


@compiled
def copy(source: Floats | Ints, out: Floats | Ints) -> None:
    """Copy an array into another of the same shape; assigning a slice might make a temporary."""
    for k in range(source.size):
        out.flat[k] = source.flat[k]


def repeated(array: Floats | Ints, stages: int) -> Floats | Ints:
    """A copy with that many stages of an array that has as many, or one for all.

    Stage after stage in memory, which copies of broadcast arrays are not unless told: they keep the
    stages of an entry side by side, so that kernels stride through every row, and are compiled for
    that layout beside the usual one.
    """
    return np.array(np.broadcast_to(array, (stages, *array.shape[1:])), order="C")
