"""Beside the DOPE repository: OptCMDP with the same knowledge on the same problems."""

from __future__ import annotations

from matplotlib.figure import Figure

from tightrope.arrays import Floats
from tightrope.experiments.statistics import Resamples, band_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.show.report.numbers import DASH
from tightrope.show.results.section import Section, at_episode, duration, mean_and_band, rows_of
from tightrope.show.style import BLUE, GREEN, INK, house_style, sheet

# OptCMDP in the DOPE repository, Bura et al. (2022): episodes, sum of |V - V*|, violation;
# on inventory only its speed was measured
SUMS = {"media": ((1_000, 690.8, 1526.1), (2_000, 723.7, 1565.0))}
EPISODES = (1_000, 2_000)
SECONDS = {"media": (0.11, 0.14), "inventory": (0.155, 0.168)}  # an episode, least and most


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
        "guarantees, so the curves need not agree. No bound says anything after 2,000 episodes: "
        "this is a comparison of burn-ins."
    )
    rows = [row for chapter in findings.chapters for row in _rows(chapter, resamples)]
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
    section.show("dope", _figure(findings, resamples), "our curves and their points")
    section.say(
        "Why they differ: with the theorems' constants the box says nothing for about "
        "(14/3) ln(6SAHK/delta) visits of each pair, and until then every budget looks free; "
        "tight radii shorten exactly that, and radii of one's own choice more or less; which of "
        "its choices makes the DOPE repository's sums larger than ours is not known. Where "
        "violation stays flat and Reg cost is positive, a learner plays too safely for now; why "
        "was not taken apart. Nothing was tuned towards the other curve. Theirs plans by PuLP and "
        "CBC from Python, one seed; its violation is taken to be a sum of positive parts. On "
        "inventory only its time is known."
    )
    section.conclude(_faster(findings))
    return section


def _rows(chapter: Chapter, resamples: Resamples) -> list[list[str]]:
    rows = []
    for group in chapter.groups:
        for episodes in EPISODES:
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
    least, most = SECONDS[chapter.environment]
    theirs = SUMS.get(chapter.environment)
    said = [[f"{n:,}", DASH, f"{gap:,}", f"{over:,}"] for n, gap, over in theirs or ()]
    for sums_of in said or [[DASH] * 4]:
        rows.append([chapter.environment, "DOPE repository", *sums_of, f"{least:g} to {most:g} s"])
    return rows


def _faster(findings: Findings) -> str:
    """How many times as fast, from the slower of ours and the faster of theirs."""
    words = []
    for chapter in findings.chapters:
        slowest = max(_seconds(chapter, group) for group in chapter.groups)
        words.append(f"{SECONDS[chapter.environment][0] / slowest:,.0f} ({chapter.environment})")
    return (
        f"An episode of OptCMDP takes the DOPE repository at least {' and '.join(words)} times as "
        "long as it takes us, exact regret and audit included."
    )


def _figure(findings: Findings, resamples: Resamples) -> Figure:
    with house_style():
        figure = sheet(8.6, 0.8 + 2.6 * len(findings.chapters))
        panels = figure.subplots(len(findings.chapters), 2, squeeze=False)
        for row, chapter in zip(panels, findings.chapters, strict=True):
            for group, colour in zip(chapter.groups, (BLUE, GREEN), strict=True):
                curves = (_distance(group), group.regret["constraint_plus"])
                for axes, values in zip(row, curves, strict=True):
                    band = band_of([values], "mean", resamples)
                    axes.fill_between(group.episode, *band[1:], color=colour, alpha=0.2, lw=0)
                    axes.plot(group.episode, band.middle, color=colour, label=_mode(group))
            for k, axes in enumerate(row):
                for point in SUMS.get(chapter.environment, ()):
                    label = "DOPE repository" if point[0] == EPISODES[0] else None
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
