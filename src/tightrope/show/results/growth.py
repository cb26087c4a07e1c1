"""The paper's table: how the four regrets grow with the constants of the theorems."""

from __future__ import annotations

import numpy as np

from tightrope.show.figures import regret_figure
from tightrope.show.regret import RegretCurves
from tightrope.show.report.findings import KINDS, Chapter, Findings, Group
from tightrope.show.report.words import conditions_of
from tightrope.show.results.bounds import below_trivial, leading_terms
from tightrope.show.results.section import (
    Section,
    banded,
    called,
    counted_in,
    mean_and_band,
    rows_of,
)
from tightrope.show.statistics import Resamples, band_of, slope_of

__all__ = ["curves_of", "growth_section"]

LINEAR, ROOT = 0.9, 0.65  # slopes above the first are linear still, below the second a root's
PROMISED = {
    "OptCMDP": ("cost_plus", "constraint_plus"),
    "OptCMDP-bonus": ("cost_plus", "constraint_plus"),
    "OptDual": ("cost", "constraint"),
    "OptPrimalDual": ("cost", "constraint"),
}


def growth_section(findings: Findings, resamples: Resamples) -> Section:
    """Figures, fitted exponents and the corrected bounds, problem by problem.

    Parameters
    ----------
    findings : Findings
        All four learners, constants as in the theorems.
    resamples : Resamples
        For every band.
    """
    section = Section("The four regrets, with the constants of the theorems")
    section.say(
        "Exponents are slopes of log mean regret against log episode over the last tenfold of "
        "episodes, with 95 % bootstrap intervals over seeds; 0.5 is a square root, 1 a constant "
        "loss an episode, and below 0.5 a regret that is levelling off. Each learner is measured "
        "by what its theorem bounds: Reg\N{SUBSCRIPT PLUS SIGN} for OptCMDP and OptCMDP-bonus, "
        "Reg for OptDual and OptPrimalDual. A dash stands where a mean in the last tenfold is not "
        "positive, so that no power fits: the signed regret is then at or below zero."
    )
    for k, chapter in enumerate(findings.chapters):
        _add(section, k, chapter, resamples)
    return section


def curves_of(group: Group, resamples: Resamples) -> RegretCurves:
    """A group as curves with their bands.

    Parameters
    ----------
    group : Group
    resamples : Resamples
    """
    return RegretCurves(
        group.name,
        group.episode,
        group.regret["cost"],
        group.regret["cost_plus"],
        group.regret.get("constraint"),
        group.regret.get("constraint_plus"),
        group.is_heuristic,
        tuple(band_of([values], "mean", resamples)[1:] for values in group.regret.values()),
    )


def _add(section: Section, k: int, chapter: Chapter, resamples: Resamples) -> None:
    cmdp, name = chapter.cmdp, called(chapter.environment, chapter.cmdp)
    section.say(f"### {name}")
    cost, constraint = counted_in(cmdp)
    figure = regret_figure(
        [curves_of(group, resamples) for group in chapter.groups],
        f"Regret on {name}, {chapter.n_episodes:,} episodes",
        f"mean; {conditions_of(chapter)}",
        cost,
        constraint,
        has_reference=True,
    )
    section.show(f"growth-{k}", figure, f"the four regrets on {name}")
    known = [group for group in chapter.groups if group.algorithm in PROMISED]
    section.say(
        rows_of(
            ["exponent", *KINDS.values()],
            [
                [
                    group.name,
                    *(
                        banded(slope_of(group.episode, group.regret[kind], resamples))
                        for kind in KINDS
                    ),
                ]
                for group in known
            ],
        )
    )
    section.say(
        rows_of(
            ["learner", "what its theorem bounds", "at the end", "leading term", "share of it"],
            [row for group in known for row in _against(chapter, group, resamples)],
        )
    )
    section.say(_plainly(chapter, known, resamples))


def _against(chapter: Chapter, group: Group, resamples: Resamples) -> list[list[str]]:
    """What a theorem bounds beside its leading term, on the model's scale."""
    cmdp = chapter.cmdp
    bounds = leading_terms(group.algorithm, cmdp, chapter.n_episodes, group.rho)
    scales = (
        abs(cmdp.cost_unit.factor),
        max(abs(unit.factor) for unit in cmdp.constraint_units),
    )
    rows = []
    for kind, bound, scale in zip(PROMISED[group.algorithm], bounds, scales, strict=True):
        band = band_of([group.regret[kind][:, -1]], "mean", resamples)
        share = float(band.middle) / scale / bound
        rows.append(
            [group.name, KINDS[kind], mean_and_band(band), f"{bound * scale:,.4g}", f"{share:.2g}"]
        )
    return rows


def _plainly(chapter: Chapter, known: list[Group], resamples: Resamples) -> str:
    """Where curves are still in their burn-in, and from where the bound says anything."""
    found = {}
    for group in known:
        kind = PROMISED[group.algorithm][0]
        found[group.name] = float(slope_of(group.episode, group.regret[kind], resamples).middle)
    linear = [name for name, slope in found.items() if slope > LINEAR]
    root = [name for name, slope in found.items() if slope <= ROOT or np.isnan(slope)]
    between = [name for name in found if name not in (*linear, *root)]
    words = []
    if linear:
        words.append(f"still in their burn-in (exponent above {LINEAR}): {', '.join(linear)}")
    if between:
        words.append(f"on their way down: {', '.join(between)}")
    if root:
        words.append(f"a square root or less: {', '.join(root)}")
    start = below_trivial(chapter.cmdp, chapter.n_episodes, chapter.delta)
    reached = "is reached here" if start <= chapter.n_episodes else "is not reached here"
    return (
        f"Cost, by what each theorem bounds: {'; '.join(words)}. With its constants the bound of "
        f"OptCMDP is below the trivial one, H an episode, only from about {start:,.2g} episodes, "
        f"which {reached}."
    )
