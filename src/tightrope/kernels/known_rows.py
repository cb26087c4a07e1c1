"""Rows of kernels that are fixed: known ones, and estimated ones with mass spread evenly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.desk import Desk


class KnownStage(NamedTuple):
    """One stage of `Transitions`; stages are taken out of the loops over states."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    data: Floats  # (E,)


class EmpiricalStage(NamedTuple):
    """One stage of `Empirical`."""

    indptr: Ints  # (S*A + 1,)
    indices: Ints  # (E,)
    data: Floats  # (E,)
    even: Floats  # (S*A,)


def known_expect(
    at: KnownStage | EmpiricalStage, row: int, order: Ints, work: Desk, V: Floats
) -> float:
    """Expected ``V`` over the listed successors of a row."""
    expected = 0.0
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)  # a signed index costs a branch: it might count from the end
        expected += at.data[k] * V[at.indices[k]]
    return expected


def known_spread(
    at: KnownStage | EmpiricalStage,
    row: int,
    order: Ints,
    work: Desk,
    mass: float,
    reach: Floats,
    flow: Floats,
) -> None:
    """Add ``mass`` times the listed part of a row to ``reach`` and ``flow``."""
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]
    if flow.size > 0:
        for e in range(at.indptr[row], at.indptr[row + 1]):
            flow[e] += mass * at.data[e]


def empirical_arrange(at: EmpiricalStage, V: Floats, sign: float, order: Ints, work: Desk) -> None:
    """The mean of the values, which evenly spread mass expects."""
    total = 0.0
    for s in range(V.size):
        total += V[s]
    work.prefix[0] = total / V.size


def empirical_expect(at: EmpiricalStage, row: int, order: Ints, work: Desk, V: Floats) -> float:
    """Expected ``V`` after a row of an estimated kernel."""
    expected = float(at.even[row] * work.prefix[0])
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        expected += at.data[k] * V[at.indices[k]]
    return expected


def empirical_spread(
    at: EmpiricalStage,
    row: int,
    order: Ints,
    work: Desk,
    mass: float,
    reach: Floats,
    flow: Floats,
) -> None:
    """Add ``mass`` times a row to ``reach``; the even part waits for `empirical_settle`."""
    work.steps[0] += mass * at.even[row]
    for e in range(at.indptr[row], at.indptr[row + 1]):
        k = np.uint64(e)
        reach[at.indices[k]] += mass * at.data[k]


def empirical_settle(at: EmpiricalStage, order: Ints, work: Desk, reach: Floats) -> None:
    """Add the evenly spread mass of a stage."""
    share = work.steps[0] / reach.size
    work.steps[0] = 0.0
    if share > 0.0:
        for s in range(reach.size):
            reach[s] += share
