"""Cost of an episode against the number of states: the paper's reason for dual learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter

from section import Section, duration, rows_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.show.regret import looks_of, power
from tightrope.show.report.words import format_number
from tightrope.show.style import house_style, sheet

METHODS = {"OptCMDP": "columns", "OptCMDP-lp": "lp"}
BY_LP = "OptCMDP by linear program"
EARLY = 0.5  # of the episodes: constraints bind in most of them
Times = Mapping[str, Mapping[int, float]]


def speed_section(findings: Findings) -> Section:
    """Seconds an episode for every learner and size."""
    programmed = [chapter for chapter in findings.chapters if "lp" in _by_method(chapter)]
    times = _times(findings)
    sizes = sorted({size for mine in times.values() for size in mine})
    first = {size: _first(_longest(findings, size)) for size in sizes}
    section = Section("Cost of an episode")
    section.say(
        "The paper prefers dual learners because OptCMDP solves a linear program with S\u00b2AH "
        "variables in each episode. By column generation it does not: time of an episode, least "
        "over seeds, exact regret and audit included, compilation not. Radii are scaled "
        f"({findings.chapters[0].groups[0].radii}) so that constraints bind early: the last "
        "column tells from which recorded episode on one does for OptCMDP (median over seeds)."
    )
    section.say(
        rows_of(
            ["S", *times, "binds from"],
            [
                [
                    f"{size}",
                    *(duration(mine[size]) for mine in times.values()),
                    format_number(first[size], 6),
                ]
                for size in sizes
            ],
        )
    )
    binding = [size for size in sizes if first[size] <= EARLY * _longest(findings, size).n_episodes]
    ratios = [times["OptCMDP"][size] / times["OptDual"][size] for size in binding]
    if ratios:
        section.conclude(
            f"Between S = {binding[0]} and S = {binding[-1]}, where constraints bind, an episode "
            f"of OptCMDP takes {min(ratios):.2g} to {max(ratios):.2g} times as long as one of "
            "OptDual, for ten stages and one constraint; with longer horizons and several "
            "constraints it takes more (the benchmarks of learning have those)."
        )
    section.say(
        "OptCMDP by either way to plan, as many episodes of the same problem with the same seed; "
        "plans that tie differ, and so do the episodes after them. The benchmarks of learning "
        "solve the same later plans by both, with larger ratios."
    )
    section.say(
        rows_of(["S", "episodes", "columns", "linear program", "ratio"], _both_ways(programmed))
    )
    section.conclude(_in_words(programmed[-1]))
    by_lp = {chapter.cmdp.n_states: _by_method(chapter)["lp"] for chapter in programmed}
    figure = _figure({**times, BY_LP: by_lp})
    section.show("speed", figure, "time of an episode against the number of states")
    return section


def _by_method(chapter: Chapter) -> dict[str, float]:
    """Seconds an episode of OptCMDP by the method that plans."""
    return {
        METHODS[group.algorithm]: _seconds(chapter, group)
        for group in chapter.groups
        if group.algorithm in METHODS
    }


def _times(findings: Findings) -> Times:
    """Seconds an episode by learner and number of states, from the longest runs by columns."""
    found: dict[str, dict[int, float]] = {}
    for chapter in sorted(findings.chapters, key=lambda each: each.n_episodes):
        for group in chapter.groups:
            if METHODS.get(group.algorithm) != "lp":
                mine = found.setdefault(group.algorithm, {})
                mine[chapter.cmdp.n_states] = _seconds(chapter, group)
    return found


def _seconds(chapter: Chapter, group: Group) -> float:
    return float(group.seconds.min()) / chapter.n_episodes


def _both_ways(chapters: Sequence[Chapter]) -> list[list[str]]:
    rows = []
    for chapter in chapters:
        times = _by_method(chapter)
        rows.append(
            [
                f"{chapter.cmdp.n_states}",
                f"{chapter.n_episodes:,}",
                duration(times["columns"]),
                duration(times["lp"]),
                f"{times['lp'] / times['columns']:,.0f}",
            ]
        )
    return rows


def _in_words(chapter: Chapter) -> str:
    times = _by_method(chapter)
    return (
        f"At S = {chapter.cmdp.n_states} the linear program through HiGHS takes "
        f"{times['lp'] / times['columns']:,.0f} times as long as column generation."
    )


def _longest(findings: Findings, size: int) -> Chapter:
    """The chapter with a number of states with the most episodes."""
    chapters = (each for each in findings.chapters if each.cmdp.n_states == size)
    return max(chapters, key=lambda each: each.n_episodes)


def _first(chapter: Chapter) -> float:
    """Median over seeds of OptCMDP's first recorded episode with a binding constraint."""
    (group,) = (each for each in chapter.groups if METHODS.get(each.algorithm) == "columns")
    return float(np.median(group.first_binding))


def _figure(times: Times) -> Figure:
    with house_style():
        figure = sheet(6.4, 4.2)
        axes = figure.subplots()
        looks = looks_of(list(times))
        dashes = {"solid": "-", "dash": "--", "dot": ":"}
        for (name, mine), (color, dash) in zip(times.items(), looks, strict=True):
            sizes = np.array(sorted(mine))
            axes.plot(
                sizes,
                [mine[size] for size in sizes],
                color=color,
                linestyle=dashes[dash],
                marker="o",
                label=name,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sorted({size for mine in times.values() for size in mine}))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(power))
        axes.set_xlabel("states S (A = 4, H = 10, 5 successors, one constraint)")
        axes.set_ylabel("seconds an episode")
        axes.grid()
        axes.legend()
    return figure
