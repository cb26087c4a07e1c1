"""Spaces with finitely many points, numbered from 0: Discrete, MultiDiscrete, tuples of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import ModelError

MOST = 10_000_000  # points of a space that a table of counts may still hold


@dataclass(frozen=True)
class Numbering:
    """The points of a space in order, the last coordinate running fastest.

    Parameters
    ----------
    sizes : tuple of int
        Number of values of each coordinate.
    starts : tuple of int
        Least value of each.
    shape : str
        What a point is: ``"number"``, ``"array"`` or ``"tuple"``.
    """

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    shape: str

    @property
    def n(self) -> int:
        """Number of points."""
        return int(np.prod(self.sizes, dtype=object))

    def number(self, point: Any, where: str) -> int:
        """The number of a point, or a `ModelError` that names the place.

        Parameters
        ----------
        point : int, array or tuple
            As the environment gave it.
        where : str
            What it is, in words.
        """
        try:
            values = np.asarray(point)
            is_whole = values.dtype.kind in "iu" and values.size == len(self.sizes)
        except ValueError:
            is_whole = False
        if not is_whole:
            raise ModelError(f"{where} is {point!r}, expected {self._expected}")
        offsets = values.ravel().astype(np.int64) - np.array(self.starts)
        if ((offsets < 0) | (offsets >= self.sizes)).any():
            raise ModelError(f"{where} is {point!r}, expected {self._expected}")
        return int(np.ravel_multi_index(tuple(offsets), self.sizes))

    def point(self, number: int) -> Any:
        """The point of a number, as the environment wants it.

        Parameters
        ----------
        number : int
            From 0.
        """
        offsets = np.unravel_index(number, self.sizes)
        values = [int(k) + start for k, start in zip(offsets, self.starts, strict=True)]
        if self.shape == "number":
            return values[0]
        return np.array(values) if self.shape == "array" else tuple(values)

    @property
    def _expected(self) -> str:
        ends = [f"{low} to {low + n - 1}" for low, n in zip(self.starts, self.sizes, strict=True)]
        return ends[0] if self.shape == "number" else f"whole numbers in {', '.join(ends)}"


def numbering(space: Any, what: str) -> Numbering:
    """The numbering of a space.

    Parameters
    ----------
    space : gymnasium.Space
        Discrete, MultiDiscrete, or a Tuple of Discretes.
    what : str
        Whose space it is, for errors.

    Raises
    ------
    ModelError
        When it has infinitely many points, or too many to count visits to.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        found = Numbering((int(space.n),), (int(space.start),), "number")
    elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        starts = np.broadcast_to(space.start, space.nvec.shape)
        found = Numbering(tuple(space.nvec.tolist()), tuple(starts.tolist()), "array")
    elif isinstance(space, spaces.Tuple) and all(
        isinstance(part, spaces.Discrete) for part in space.spaces
    ):
        parts: Any = space.spaces
        sizes = tuple(int(part.n) for part in parts)
        found = Numbering(sizes, tuple(int(part.start) for part in parts), "tuple")
    else:
        raise ModelError(
            f"{what}: {space}, expected Discrete, MultiDiscrete, or a Tuple of Discrete spaces"
        )
    if found.n > MOST:
        raise ModelError(f"{what}: {space} has {found.n} points, expected at most {MOST}")
    return found
