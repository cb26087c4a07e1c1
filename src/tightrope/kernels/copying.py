"""Copying arrays without allocation: assigning a slice might make a temporary."""

from __future__ import annotations

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled

__all__ = ["copy"]


@compiled
def copy(source: Floats | Ints, out: Floats | Ints) -> None:
    """Copy an array into another of the same shape."""
    for k in range(source.size):
        out.flat[k] = source.flat[k]
