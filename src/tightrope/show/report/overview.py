"""Several problems at once: each learner over all of them, on the models' own scale."""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats
from tightrope.show.report.findings import Chapter, Findings, Group
from tightrope.show.report.numbers import band_cell
from tightrope.show.report.tables import Table
from tightrope.show.statistics import Resamples, band_of

__all__ = ["overview_of"]


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
        rows.append((name, [band_cell(band) for band in bands]))
    plus = "Reg\N{SUBSCRIPT PLUS SIGN}"
    caption = (
        f"All {len(chapters)} problems together: interquartile mean over runs of the regret a "
        "step, on the models' own scale from 0 to 1, with 95 % bootstrap bands stratified by "
        "problem"
    )
    return Table("overview", caption, ["learner", *(f"{plus} {kind}" for kind in kinds)], rows)


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
