"""Beside the code of others: OptCMDP of the DOPE repository, and a published OptPrimalDual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cancellation import SWING, Trace, period_of, swing_of, traces_figure
from section import Section, at_episode, duration, mean_and_band, problem_name, rows_of
from tightrope.arrays import Floats
from tightrope.experiments.statistics import Resamples, band_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.show.report.words import DASH, format_number
from tightrope.show.style import BLUE, GREEN, INK, house_style, sheet

# OptCMDP in the DOPE repository, Bura et al. (2022): episodes, sum of |V - V*|, violation;
# on inventory only its speed was measured
DOPE_SUMS = {"media": ((1_000, 690.8, 1526.1), (2_000, 723.7, 1565.0))}
DOPE_EPISODES = (1_000, 2_000)
DOPE_SECONDS = {"media": (0.11, 0.14), "inventory": (0.155, 0.168)}  # an episode, least and most


class Sums(NamedTuple):
    """Reward gap signed and positive, violation signed and positive, after a number of episodes."""

    episodes: int
    gap: float
    gap_plus: float
    over: float
    over_plus: float


# Kitamura et al. (2024)
UPAC_K = 100_000
UPAC_SUMS = (
    Sums(10_000, -1563, 1487, 1563, 3050),
    Sums(100_000, -58084, 4624, 58085, 62709),
    Sums(300_000, -90147, 31749, 90147, 121896),
)
UPAC_SECONDS = 0.00043  # an episode
AMPLITUDE, PERIOD = 0.6, 15_000
SUMMED = ("cost", "cost_plus", "constraint", "constraint_plus")


def dope_section(findings: Findings, resamples: Resamples) -> Section:
    """OptCMDP with known costs, known support and pooled counts."""
    section = Section("Beside the DOPE repository")
    section.say(
        "OptCMDP with what that code knows: costs, which successors are possible, and that stages "
        "are alike. It reports the sum of |V - V*|, which is 2 Reg\N{SUBSCRIPT PLUS SIGN} - Reg. "
        "Its radii are its own; ours are those of the paper and the tight ones that keep the "
        "guarantees, so the curves need not agree. No bound says anything after 2,000 episodes: "
        "this is a comparison of burn-ins."
    )
    rows = [row for chapter in findings.chapters for row in _dope_rows(chapter, resamples)]
    columns = [
        "problem",
        "code",
        "episodes",
        "Reg cost",
        "sum of abs(V - V*)",
        "violation",
        "an episode",
    ]
    section.say(rows_of(columns, rows, n_words=2))
    section.show("dope", _dope_figure(findings, resamples), "our curves and their points")
    section.say(
        "Why they differ: with the theorems' constants the box says nothing for about "
        "(14/3) ln(6SAHK/delta) visits of each pair, and until then every budget looks free; "
        "tight radii shorten exactly that, and radii of one's own choice more or less; which of "
        "its choices makes the DOPE repository's sums larger than ours is not known. Where "
        "violation stays flat and Reg cost is positive, a learner plays too safely for now; why "
        "was not taken apart. Nothing was tuned toward the other curve. Theirs plans by PuLP and "
        "CBC from Python, one seed; its violation is taken to be a sum of positive parts. On "
        "inventory only its time is known."
    )
    section.conclude(_faster(findings))
    return section


def _dope_rows(chapter: Chapter, resamples: Resamples) -> list[list[str]]:
    rows = []
    for group in chapter.groups:
        for episodes in DOPE_EPISODES:
            if episodes <= chapter.n_episodes:
                sums = (
                    at_episode(group, values, episodes)
                    for values in (
                        group.regret["cost"],
                        _distance(group),
                        group.regret["constraint_plus"],
                    )
                )
                rows.append(
                    [
                        chapter.environment,
                        f"ours, {_mode(group)}",
                        f"{episodes:,}",
                        *(mean_and_band(each, resamples) for each in sums),
                        duration(_seconds(chapter, group)),
                    ]
                )
    least, most = DOPE_SECONDS[chapter.environment]
    theirs = DOPE_SUMS.get(chapter.environment)
    told = [[f"{n:,}", DASH, f"{gap:,}", f"{over:,}"] for n, gap, over in theirs or ()]
    for sums_of in told or [[DASH] * 4]:
        rows.append([chapter.environment, "DOPE repository", *sums_of, f"{least:g} to {most:g} s"])
    return rows


def _faster(findings: Findings) -> str:
    """How many times as fast, from the slower of ours and the faster of theirs."""
    words = []
    for chapter in findings.chapters:
        slowest = max(_seconds(chapter, group) for group in chapter.groups)
        words.append(
            f"{DOPE_SECONDS[chapter.environment][0] / slowest:,.0f} ({chapter.environment})"
        )
    return (
        f"An episode of OptCMDP takes the DOPE repository at least {' and '.join(words)} times as "
        "long as it takes us, exact regret and audit included."
    )


def _dope_figure(findings: Findings, resamples: Resamples) -> Figure:
    with house_style():
        figure = sheet(8.6, 0.8 + 2.6 * len(findings.chapters))
        panels = figure.subplots(len(findings.chapters), 2, squeeze=False)
        for row, chapter in zip(panels, findings.chapters, strict=True):
            for group, color in zip(chapter.groups, (BLUE, GREEN), strict=True):
                curves = (_distance(group), group.regret["constraint_plus"])
                for axes, values in zip(row, curves, strict=True):
                    band = band_of([values], "mean", resamples)
                    axes.fill_between(group.episode, *band[1:], color=color, alpha=0.2, lw=0)
                    axes.plot(group.episode, band.middle, color=color, label=_mode(group))
            for k, axes in enumerate(row):
                for point in DOPE_SUMS.get(chapter.environment, ()):
                    label = "DOPE repository" if point[0] == DOPE_EPISODES[0] else None
                    axes.plot(point[0], point[1 + k], "x", color=INK, label=label)
                axes.set_xlabel("episode")
                axes.grid()
            row[0].set_title(f"{chapter.environment}: sum of |V - V*|")
            row[1].set_title(f"{chapter.environment}: violation")
            row[0].legend()
    return figure


def _distance(group: Group) -> Floats:
    """Sum of |V - V*|."""
    return 2 * group.regret["cost_plus"] - group.regret["cost"]


def _seconds(chapter: Chapter, group: Group) -> float:
    return float(group.seconds.mean()) / chapter.n_episodes


def _mode(group: Group) -> str:
    return group.radii.split(",")[0]


def upac_section(findings: Findings, traces: Sequence[Trace], resamples: Resamples) -> Section:
    """OptPrimalDual on the published instance."""
    section = Section("Beside the published OptPrimalDual")
    section.say(
        "Kitamura et al. (2024) run OptPrimalDual on a random instance with S = 30, A = 3, H = 10, "
        "known rewards and the bonus times 0.001, which gives its guarantee up. Theirs caps no "
        "multiplier, takes its dual step with the new policy and keeps the steps of K = 100,000 "
        "for 300,000 episodes; ours caps multipliers at rho, follows the corrected box, and has "
        "steps of the K it runs for. Sums over episodes, in their units."
    )
    rows = [
        [f"theirs, K = {UPAC_K:,}", f"{sums.episodes:,}", *(f"{value:,.0f}" for value in sums[1:])]
        for sums in UPAC_SUMS
    ]
    rows += [row for chapter in findings.chapters for row in _upac_rows(chapter, resamples)]
    columns = ["code", "episodes", "gap", "gap, positive", "violation", "violation, positive"]
    section.say(rows_of(columns, rows))
    by_length = {
        chapter.n_episodes: [t for t in traces if t.episode[-1] == chapter.n_episodes]
        for chapter in findings.chapters
    }
    shown = traces_figure([mine[0] for mine in by_length.values()], "Single runs on upac-random")
    section.show("upac", shown, "our swings")
    swings = [[f"theirs, K = {UPAC_K:,}", f"about {2 * AMPLITUDE:g}", f"about {PERIOD:,}"]]
    swings += [[f"ours, K = {n:,}", *_swing_and_period(mine)] for n, mine in by_length.items()]
    section.say(rows_of(["code", "swing of the gap", "period, episodes"], swings))
    section.say(
        f"{SWING} Means over seeds; theirs is twice the amplitude that was read off their curve. "
        "Sums between drawn episodes lie on straight lines, which is right to about a percent. How "
        "much of the difference each of the changes above makes was not taken apart."
    )
    section.conclude(_compared(findings, by_length, resamples))
    return section


def _upac_rows(chapter: Chapter, resamples: Resamples) -> list[list[str]]:
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
        for sums in UPAC_SUMS
        if sums.episodes <= chapter.n_episodes
    ]


def _swing_and_period(traces: Sequence[Trace]) -> tuple[str, str]:
    """Of the gap, means over runs."""
    late = [trace.late for trace in traces]
    swing = float(np.mean([swing_of(each.cost) for each in late]))
    period = float(np.mean([period_of(each.episode, each.cost) for each in late]))
    return format_number(swing, 3), format_number(period, 3)


def _compared(
    findings: Findings, traces: Mapping[int, Sequence[Trace]], resamples: Resamples
) -> str:
    """Their sums and ours where K is the same, and seconds an episode."""
    words = []
    for chapter in findings.chapters:
        (group,) = chapter.groups
        if chapter.n_episodes == UPAC_K:
            ours = mean_and_band(group.regret["constraint_plus"][:, -1], resamples)
            theirs = next(sums for sums in UPAC_SUMS if sums.episodes == UPAC_K)
            swing, period = _swing_and_period(traces[UPAC_K])
            words.append(
                f"After {UPAC_K:,} episodes OptPrimalDual has overspent {ours} in positive parts, "
                f"the published code {theirs.over_plus:,.0f}; its gap swings by {swing} with a "
                f"period of {period} episodes, theirs by about {2 * AMPLITUDE:g} with one of about "
                f"{PERIOD:,}."
            )
    chapter = findings.chapters[-1]
    seconds = float(chapter.groups[0].seconds.mean()) / chapter.n_episodes
    words.append(
        f"An episode on {problem_name('upac-random', chapter.cmdp)} takes {duration(seconds)}, "
        f"exact regret and audit included; theirs, compiled by JAX, {duration(UPAC_SECONDS)}, "
        f"{UPAC_SECONDS / seconds:.1f} times as long."
    )
    return " ".join(words)
