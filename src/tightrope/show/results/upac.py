"""Beside the published OptPrimalDual: the same instance, bonus factor and number of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tightrope.experiments.statistics import Resamples
from tightrope.experiments.summary import Chapter, Findings
from tightrope.show.report.numbers import said
from tightrope.show.results.section import (
    Section,
    at_episode,
    called,
    duration,
    mean_and_band,
    rows_of,
)
from tightrope.show.results.traces import SWING, Trace, period_of, swing_of, traces_figure

SUMMED = ("cost", "cost_plus", "constraint", "constraint_plus")


class Sums(NamedTuple):
    """Reward gap signed and positive, violation signed and positive, after so many episodes."""

    episodes: int
    gap: float
    gap_plus: float
    over: float
    over_plus: float


# Kitamura et al. (2024)
THEIR_K = 100_000
THEIRS = (
    Sums(10_000, -1563, 1487, 1563, 3050),
    Sums(100_000, -58084, 4624, 58085, 62709),
    Sums(300_000, -90147, 31749, 90147, 121896),
)
SECONDS = 0.00043  # an episode
AMPLITUDE, PERIOD = 0.6, 15_000


def upac_section(findings: Findings, traces: Sequence[Trace], resamples: Resamples) -> Section:
    """OptPrimalDual on the published instance.

    Parameters
    ----------
    findings : Findings
        Of upac-random, for one or more numbers of episodes.
    traces : sequence of Trace
        All runs.
    resamples : Resamples
        For every band.
    """
    section = Section("Beside the published OptPrimalDual")
    section.say(
        "Kitamura et al. (2024) run OptPrimalDual on a random instance with S = 30, A = 3, H = 10, "
        "known rewards and the bonus times 0.001, which gives its guarantee up. Theirs caps no "
        "multiplier, takes its dual step with the new policy and keeps the steps of K = 100,000 "
        "for 300,000 episodes; ours caps multipliers at rho, follows the corrected box, and has "
        "steps of the K it runs for. Sums over episodes, in their units."
    )
    rows = [
        [f"theirs, K = {THEIR_K:,}", f"{sums.episodes:,}", *(f"{value:,.0f}" for value in sums[1:])]
        for sums in THEIRS
    ]
    rows += [row for chapter in findings.chapters for row in _rows(chapter, resamples)]
    columns = ["code", "episodes", "gap", "gap, positive", "violation", "violation, positive"]
    section.say(rows_of(columns, rows))
    by_length = {
        chapter.n_episodes: [t for t in traces if t.episode[-1] == chapter.n_episodes]
        for chapter in findings.chapters
    }
    shown = traces_figure([mine[0] for mine in by_length.values()], "Single runs on upac-random")
    section.show("upac", shown, "our swings")
    swings = [[f"theirs, K = {THEIR_K:,}", f"about {2 * AMPLITUDE:g}", f"about {PERIOD:,}"]]
    swings += [[f"ours, K = {n:,}", *_swing_and_period(mine)] for n, mine in by_length.items()]
    section.say(rows_of(["code", "swing of the gap", "period, episodes"], swings))
    section.say(
        f"{SWING} Means over seeds; theirs is twice the amplitude that was read off their curve. "
        "Sums between drawn episodes lie on straight lines, which is right to about a percent. How "
        "much of the difference each of the changes above makes was not taken apart."
    )
    section.conclude(_compared(findings, by_length, resamples))
    return section


def _rows(chapter: Chapter, resamples: Resamples) -> list[list[str]]:
    (group,) = chapter.groups
    return [
        [
            f"ours, K = {chapter.n_episodes:,}",
            f"{sums.episodes:,}",
            *(
                mean_and_band(at_episode(group, group.regret[kind], sums.episodes), resamples)
                for kind in SUMMED
            ),
        ]
        for sums in THEIRS
        if sums.episodes <= chapter.n_episodes
    ]


def _swing_and_period(traces: Sequence[Trace]) -> tuple[str, str]:
    """Of the gap, means over runs."""
    late = [trace.late for trace in traces]
    swing = float(np.mean([swing_of(each.cost) for each in late]))
    period = float(np.mean([period_of(each.episode, each.cost) for each in late]))
    return said(swing, 3), said(period, 3)


def _compared(
    findings: Findings, traces: Mapping[int, Sequence[Trace]], resamples: Resamples
) -> str:
    """Their sums and ours where K is the same, and seconds an episode."""
    words = []
    for chapter in findings.chapters:
        (group,) = chapter.groups
        if chapter.n_episodes == THEIR_K:
            ours = mean_and_band(group.regret["constraint_plus"][:, -1], resamples)
            theirs = next(sums for sums in THEIRS if sums.episodes == THEIR_K)
            swing, period = _swing_and_period(traces[THEIR_K])
            words.append(
                f"After {THEIR_K:,} episodes OptPrimalDual has overspent {ours} in positive parts, "
                f"the published code {theirs.over_plus:,.0f}; its gap swings by {swing} with a "
                f"period of {period} episodes, theirs by about {2 * AMPLITUDE:g} with one of about "
                f"{PERIOD:,}."
            )
    chapter = findings.chapters[-1]
    seconds = float(chapter.groups[0].seconds.mean()) / chapter.n_episodes
    words.append(
        f"An episode on {called('upac-random', chapter.cmdp)} takes {duration(seconds)}, exact "
        f"regret and audit included; theirs, compiled by JAX, {duration(SECONDS)}, "
        f"{SECONDS / seconds:.1f} times as long."
    )
    return " ".join(words)
