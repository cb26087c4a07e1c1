"""Several problems at once: each learner over all of them, on the models' own scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Floats
from tightrope.experiments.statistics import Resamples, band_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.model.words import listed
from tightrope.show.report.numbers import Cell, band_cell
from tightrope.show.report.tables import Table


def overview_of(findings: Findings, resamples: Resamples) -> Table | None:
    """Learners that met every problem, by the IQM of their regrets a step; None for one problem.

    Parameters
    ----------
    findings : Findings
    resamples : Resamples
        For every band.
    """
    chapters = findings.chapters
    everywhere = [
        group.name
        for group in chapters[0].groups
        if all(group.name in {each.name for each in chapter.groups} for chapter in chapters)
    ]
    if len(chapters) < 2 or not everywhere:
        return None
    has_budgets = all(chapter.cmdp.n_constraints for chapter in chapters)
    kinds = ["cost", "constraint"] if has_budgets else ["cost"]
    rows = []
    for name in everywhere:
        mine = [(chapter, _named(chapter, name)) for chapter in chapters]
        bands = [
            band_of([_a_step(chapter, group, kind) for chapter, group in mine], "IQM", resamples)
            for kind in kinds
        ]
        n_runs = sum(group.n_seeds for _, group in mine)
        rows.append((name, [Cell(f"{n_runs}", n_runs), _radii(mine), *map(band_cell, bands)]))
    plus = "Reg\N{SUBSCRIPT PLUS SIGN}"
    columns = ["learner", "n runs", "confidence", *(f"{plus} {kind}" for kind in kinds)]
    return Table("overview", _caption(chapters), columns, rows)


def _caption(chapters: Sequence[Chapter]) -> str:
    has_bands = any(group.n_seeds > 1 for chapter in chapters for group in chapter.groups)
    bands = "with 95 % bootstrap bands stratified by problem" if has_bands else "no bands (n = 1)"
    deltas = listed([f"{delta:g}" for delta in sorted({chapter.delta for chapter in chapters})])
    return (
        f"All {len(chapters)} problems together: interquartile mean over runs of the regret a "
        f"step, on the models' own scale from 0 to 1, {bands}; delta {deltas}"
    )


def _radii(mine: Sequence[tuple[Chapter, Group]]) -> Cell:
    """Which constants a learner used in all problems, marked where some are heuristic."""
    words = dict.fromkeys(group.constants for _, group in mine)
    return Cell(" | ".join(words), None, "", any(group.is_heuristic for _, group in mine))


def _named(chapter: Chapter, name: str) -> Group:
    return next(group for group in chapter.groups if group.name == name)


def _a_step(chapter: Chapter, group: Group, kind: str) -> Floats:
    """Final positive regret of each run divided by its steps, on the model's scale."""
    cmdp = chapter.cmdp
    n_steps = chapter.n_episodes * cmdp.horizon
    if kind == "cost":
        return group.regret["cost_plus"][:, -1] / abs(cmdp.cost_unit.factor) / n_steps
    scale = np.array([abs(unit.factor) for unit in cmdp.constraint_units])
    return np.asarray((group.constraint_ends[1] / scale).max(axis=1) / n_steps)
