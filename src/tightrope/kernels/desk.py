"""Scratch space of the recursions over rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints

FEW = 48  # rows up to this length are sorted by insertion, longer ones through a table of states


class Desk(NamedTuple):
    """What filling rows needs, made once."""

    rank: Ints  # (S,) place of each state in the order
    spot: Ints  # (S,) entry + 1 of a state in the row at hand, else 0
    few: Ints  # (FEW,) entries of a short row in order
    buffer: Ints  # (S,) for the sort
    prefix: Floats  # (S+1,) running sums of the values in order; of an estimate, first their mean
    steps: Floats  # (S+1,) differences of mass still to be added in order; or first all even mass
    runs: Ints  # (S+1,) differences of the number of runs, to know where that mass is exactly zero


def desk(S: int) -> Desk:
    """Scratch space for S states."""
    return Desk(
        rank=np.zeros(S, dtype=np.uint32),
        spot=np.zeros(S, dtype=np.int64),
        few=np.zeros(FEW, dtype=np.int64),
        buffer=np.zeros(S, dtype=np.uint32),
        prefix=np.zeros(S + 1),
        steps=np.zeros(S + 1),
        runs=np.zeros(S + 1, dtype=np.int64),
    )
