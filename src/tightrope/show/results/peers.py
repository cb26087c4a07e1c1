"""Beside the peers: the same problem, the same knowledge, their published or measured figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats
from tightrope.show.report.findings import Findings, Group
from tightrope.show.results.section import Section, called, mean_and_band, rows_of
from tightrope.show.statistics import Band, Resamples, band_of

__all__ = ["dope_section", "upac_section"]


class Sums(NamedTuple):
    """Sums over episodes that a peer's code gives, by the number of episodes."""

    episodes: int
    cost: float
    cost_plus: float
    over: float
    over_plus: float


# OptCMDP in the DOPE repository: sum of |V - V*|, and violation; Bura et al. (2022)
# on media; on inventory only its speed was measured
DOPE_SUMS = ((1_000, 690.8, 1526.1), (2_000, 723.7, 1565.0))
DOPE_SECONDS = {"media": "0.11 to 0.14", "inventory": "0.155 to 0.168"}
# reward gap signed and positive, violation signed and positive; Kitamura et al. (2024)
UPAC = (
    Sums(10_000, -1563, 1487, 1563, 3050),
    Sums(100_000, -58084, 4624, 58085, 62709),
    Sums(300_000, -90147, 31749, 90147, 121896),
)
UPAC_SECONDS = 0.00043
UPAC_SWING, UPAC_PERIOD = 0.6, 15_000


def dope_section(findings: Findings, resamples: Resamples) -> Section:
    """OptCMDP with known costs, known support and pooled counts.

    Parameters
    ----------
    findings : Findings
        Media and inventory.
    resamples : Resamples
        For every band.
    """
    section = Section("Beside the DOPE repository")
    section.say(
        "OptCMDP with what that code knows: costs, which successors are possible, and that stages "
        "are alike. It reports the sum of |V - V*|, which is 2 Reg\N{SUBSCRIPT PLUS SIGN} - Reg. "
        "Its radii are its own; ours are those of the paper and the tight ones that keep the "
        "guarantees, so the curves need not agree."
    )
    rows = []
    for chapter in findings.chapters:
        for group in chapter.groups:
            for episodes in (1_000, 2_000):
                if episodes <= chapter.n_episodes:
                    at = int(np.searchsorted(group.episode, episodes, side="right")) - 1
                    gap = 2 * group.regret["cost_plus"][:, at] - group.regret["cost"][:, at]
                    rows.append(
                        [
                            chapter.environment,
                            f"ours, {_mode(group)}",
                            f"{group.episode[at]:,}",
                            _said(gap, resamples),
                            _said(group.regret["constraint_plus"][:, at], resamples),
                            f"{group.seconds.mean() / chapter.n_episodes:.2g}",
                        ]
                    )
        seconds = DOPE_SECONDS.get(chapter.environment, "-")
        theirs = [(f"{n:,}", f"{gap:,}", f"{over:,}") for n, gap, over in DOPE_SUMS]
        known = theirs if chapter.environment == "media" else [("-", "-", "-")]
        rows += [[chapter.environment, "DOPE repository", *sums, seconds] for sums in known]
    columns = ["problem", "code", "episodes", "sum of abs(V - V*)", "violation", "s an episode"]
    section.say(rows_of(columns, rows))
    section.say(
        "Why they differ: with the theorems' constants the box says nothing for about "
        "(14/3) ln(6SAHK/delta) visits of each pair, and until then every budget looks free; "
        "tight radii shorten exactly that, and radii of one's own choice more. Nothing was tuned "
        "towards the other curve."
    )
    return section


def upac_section(findings: Findings, resamples: Resamples) -> Section:
    """OptPrimalDual on the published instance.

    Parameters
    ----------
    findings : Findings
        Of upac-random, for one or more numbers of episodes.
    resamples : Resamples
        For every band.
    """
    section = Section("Beside the published OptPrimalDual")
    section.say(
        "Kitamura et al. (2024) run OptPrimalDual on a random instance with S = 30, A = 3, H = 10, "
        "known rewards and the bonus times 0.001, which gives its guarantee up. Theirs caps no "
        "multiplier and takes its dual step with the new policy; ours caps multipliers at rho and "
        "follows the corrected box. Sums over episodes, in their units: reward gap signed and "
        "positive part, violation signed and positive part."
    )
    rows = [["theirs, K = 100,000", f"{s.episodes:,}", *(f"{v:,.0f}" for v in s[1:])] for s in UPAC]
    for chapter in findings.chapters:
        (group,) = chapter.groups
        for sums in UPAC:
            if sums.episodes <= chapter.n_episodes:
                at = int(np.searchsorted(group.episode, sums.episodes, side="right")) - 1
                ends = [
                    group.regret[kind][:, at]
                    for kind in ("cost", "cost_plus", "constraint", "constraint_plus")
                ]
                rows.append(
                    [
                        f"ours, K = {chapter.n_episodes:,}",
                        f"{group.episode[at]:,}",
                        *(_said(end, resamples) for end in ends),
                    ]
                )
    section.say(
        rows_of(
            ["code", "episodes", "gap", "gap, positive", "violation", "violation, positive"], rows
        )
    )
    chapter = findings.chapters[-1]
    seconds = chapter.groups[0].seconds.mean() / chapter.n_episodes
    section.say(
        f"Theirs swings undamped with amplitude about {UPAC_SWING} and a period of about "
        f"{UPAC_PERIOD:,} episodes. Seconds an episode on {called('it', chapter.cmdp)}: theirs "
        f"{UPAC_SECONDS:.2g} (compiled by JAX), ours {seconds:.2g}, "
        f"{UPAC_SECONDS / seconds:.1f} times as fast, exact regret and audit included."
    )
    return section


def _mode(group: Group) -> str:
    return group.radii.split(",")[0]


def _said(values: Floats, resamples: Resamples) -> str:
    band: Band = band_of([values], "mean", resamples)
    return mean_and_band(band)
