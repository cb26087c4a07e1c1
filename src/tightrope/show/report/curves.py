"""Curves of a chapter for the page: every statistic with its band, ready to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.show.regret import looks_of
from tightrope.show.report.findings import KINDS, Chapter, Group
from tightrope.show.report.numbers import packed_numbers
from tightrope.show.statistics import STATISTICS, Band, band_of, reference_of

__all__ = ["curves_data"]

RESAMPLES = 400  # of a band along a curve
IN_THE_DARK = {"#0072b2": "#4da6e0", "#555555": "#b0b0b0", "#8c6d31": "#c9a760"}


def curves_data(chapter: Chapter, rng: np.random.Generator) -> dict[str, Any]:
    """All curves of a chapter as plain data.

    Parameters
    ----------
    chapter : Chapter
    rng : Generator
        Draws the resamples of the bands.
    """
    looks = looks_of([group.name for group in chapter.groups])
    return {
        "kinds": list(KINDS) if chapter.cmdp.n_constraints else list(KINDS)[:2],
        "constraints": list(chapter.cmdp.constraint_names),
        "prices": packed_numbers(chapter.optimum.multiplier),
        "groups": [
            _group(group, *look, rng) for group, look in zip(chapter.groups, looks, strict=True)
        ],
    }


def _group(group: Group, colour: str, dash: str, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "name": group.name,
        "n": group.n_seeds,
        "heuristic": group.is_heuristic,
        "colour": [colour, IN_THE_DARK.get(colour, colour)],
        "dash": dash,
        "rho": None if np.isnan(group.rho) else group.rho,
        "episode": group.episode.tolist(),
        "regret": {kind: _statistics(values, rng) for kind, values in group.regret.items()},
        "reference": {
            kind: reference_of(group.episode, values.mean(axis=0))
            for kind, values in group.regret.items()
        },
        "share": _statistics(group.share, rng),
        "multiplier": [
            _statistics(group.multiplier[:, :, i], rng) for i in range(group.multiplier.shape[2])
        ],
    }


def _statistics(values: Floats, rng: np.random.Generator) -> dict[str, list[list[float | None]]]:
    """Middle, low and high of each statistic, (N, P) to three rows of P."""
    return {name: _rows(band_of([values], name, rng, n_resamples=RESAMPLES)) for name in STATISTICS}


def _rows(band: Band) -> list[list[float | None]]:
    return [packed_numbers(part) for part in band]
