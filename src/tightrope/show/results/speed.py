"""Cost of an episode against the number of states: the paper's reason for dual learners."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter

from tightrope.show.regret import looks_of, power
from tightrope.show.report.findings import Findings
from tightrope.show.results.section import Section, duration, rows_of
from tightrope.show.style import house_style, sheet

__all__ = ["speed_section"]

BY_LP = "OptCMDP by linear programme"
Times = Mapping[str, Mapping[int, float]]


def speed_section(findings: Findings) -> Section:
    """Seconds an episode for every learner and size.

    Parameters
    ----------
    findings : Findings
        Random models of several sizes; OptCMDP by columns and by the linear programme.
    """
    times = _times(findings)
    sizes = sorted({size for mine in times.values() for size in mine})
    section = Section("Cost of an episode")
    section.say(
        "The paper prefers dual learners because OptCMDP solves a linear programme with S\u00b2AH "
        "variables in each episode. By column generation it does not: seconds an episode, least "
        "over seeds, exact regret and audit included, compilation not."
    )
    section.say(
        rows_of(
            ["S", *times],
            [[f"{size}", *(_said(mine.get(size)) for mine in times.values())] for size in sizes],
        )
    )
    section.conclude(_ratios(times))
    section.show("speed", _figure(times), "seconds an episode against the number of states")
    return section


def _times(findings: Findings) -> Times:
    found: dict[str, dict[int, float]] = {}
    for chapter in findings.chapters:
        for group in chapter.groups:
            by_lp = group.spec["method"] == "lp"
            name = BY_LP if by_lp else group.algorithm
            best = float(group.seconds.min()) / chapter.n_episodes
            found.setdefault(name, {})[chapter.cmdp.n_states] = best
    return {name: found[name] for name in sorted(found, key=lambda each: each == BY_LP)}


def _said(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


def _ratios(times: Times) -> str:
    words = []
    columns, programme = times.get("OptCMDP", {}), times.get(BY_LP, {})
    common = sorted(set(columns) & set(programme))
    if common:
        ratio = programme[common[-1]] / columns[common[-1]]
        words.append(
            f"At S = {common[-1]} column generation is {ratio:,.0f} times as fast as the linear "
            "programme through HiGHS."
        )
    dual = times.get("OptDual", {})
    both = sorted(set(columns) & set(dual))
    if both:
        ratio = columns[both[-1]] / dual[both[-1]]
        words.append(
            f"At S = {both[-1]} OptCMDP takes {ratio:.2g} times the time of OptDual: the price of "
            "its stronger guarantee."
        )
    return " ".join(words)


def _figure(times: Times) -> Figure:
    with house_style():
        figure = sheet(6.4, 4.2)
        axes = figure.subplots()
        looks = looks_of(list(times))
        dashes = {"solid": "-", "dash": "--", "dot": ":"}
        for (name, mine), (colour, dash) in zip(times.items(), looks, strict=True):
            sizes = np.array(sorted(mine))
            axes.plot(
                sizes,
                [mine[size] for size in sizes],
                color=colour,
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
