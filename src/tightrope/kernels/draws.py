"""Draws of the simulator: every one is a call of `uniform`, and the generators it may draw from."""

from __future__ import annotations

import numpy as np

from tightrope.arrays import check_choice
from tightrope.kernels.compiled import inlined

GENERATORS = {"pcg64": np.random.PCG64, "philox": np.random.Philox}
DEFAULT = "pcg64"


@inlined
def uniform(rng: np.random.Generator) -> float:
    """Draw a number from [0, 1)."""
    return rng.random()


def new_generator(seed: np.random.SeedSequence, kind: str = DEFAULT) -> np.random.Generator:
    """Return a generator: PCG64, as NumPy's default, or the counter-based Philox.

    The n-th draw of Philox is a function of the key and n alone, so that it can be computed without
    the draws before it.
    """
    check_choice("generator", kind, tuple(GENERATORS))
    return np.random.Generator(GENERATORS[kind](seed))
