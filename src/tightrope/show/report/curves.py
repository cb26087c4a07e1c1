"""Curves of a chapter for the page: every statistic with its band, ready to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.experiments.statistics import (
    STATISTICS,
    Band,
    Resamples,
    band_of,
    middle_of,
    reference_of,
)
from tightrope.experiments.summary import Chapter, Group
from tightrope.show.regret import KINDS, looks_of
from tightrope.show.report.numbers import packed_numbers

IN_THE_DARK = {"#0072b2": "#4da6e0", "#555555": "#b0b0b0", "#8c6d31": "#c9a760"}


def curves_data(chapter: Chapter, resamples: Resamples) -> dict[str, Any]:
    """All curves of a chapter as plain data.

    Parameters
    ----------
    chapter : Chapter
    resamples : Resamples
        For every band.
    """
    looks = looks_of([group.name for group in chapter.groups])
    return {
        "kinds": list(KINDS) if chapter.cmdp.n_constraints else list(KINDS)[:2],
        "constraints": list(chapter.cmdp.constraint_names),
        "prices": packed_numbers(chapter.optimum.multiplier),
        "groups": [
            _group(group, *look, resamples)
            for group, look in zip(chapter.groups, looks, strict=True)
        ],
    }


def _group(group: Group, colour: str, dash: str, resamples: Resamples) -> dict[str, Any]:
    return {
        "name": group.name,
        "n": group.n_seeds,
        "heuristic": group.is_heuristic,
        "colour": [colour, IN_THE_DARK.get(colour, colour)],
        "dash": dash,
        "rho": None if np.isnan(group.rho) else group.rho,
        "episode": group.episode.tolist(),
        "regret": {kind: _statistics(values, resamples) for kind, values in group.regret.items()},
        "reference": {
            kind: {
                name: reference_of(group.episode, middle_of(values, name)) for name in STATISTICS
            }
            for kind, values in group.regret.items()
        },
        "share": _statistics(group.share, resamples),
        "multiplier": [
            _statistics(group.multiplier[:, :, i], resamples)
            for i in range(group.multiplier.shape[2])
        ],
    }


def _statistics(values: Floats, resamples: Resamples) -> dict[str, list[list[float | None]]]:
    """Middle, low and high of each statistic, (N, P) to three rows of P."""
    return {name: _rows(band_of([values], name, resamples)) for name in STATISTICS}


def _rows(band: Band) -> list[list[float | None]]:
    return [packed_numbers(part) for part in band]
