"""Time of an episode against the number of states: the paper's reason for dual learners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter

from records import Cell
from section import Section, duration, rows_of
from tightrope.show.regret import looks_for, power
from tightrope.show.report.words import DASH, format_number
from tightrope.show.style import house_style, sheet

EARLY = 0.5  # of the episodes: the constraint binds in most of them


def speed_section(cells: Sequence[Cell]) -> Section:
    """CPU time per episode for every learner and size."""
    section = Section("Time of an episode")
    spec = cells[0].spec
    section.ask(
        "The paper prefers dual learners because OptCMDP solves a linear program with S\u00b2AH "
        "variables in every episode. How much more does it cost with column generation?",
        f"CPU time per episode on random problems, A = 4, H = 10, {spec.episodes:,} episodes, "
        "least over seeds, exact regret and audit included, compilation not. Radii are faithful "
        f"ones times {spec.confidence.scale:g}, bonuses times another "
        f"{spec.confidence.scale_bonus:g} (no guarantees), so that constraints bind early; delta = "
        f"{spec.delta:g}. The last column is the first recorded episode in which one "
        "does for OptCMDP.",
    )
    sizes = sorted({_size(cell) for cell in cells})
    names = list(dict.fromkeys(cell.algorithm for cell in cells))
    times = {
        (cell.algorithm, _size(cell)): float(cell.numbers("cpu_seconds").min()) / cell.spec.episodes
        for cell in cells
    }
    first = {
        _size(cell): float(np.median(cell.numbers("first_binding")))
        for cell in cells
        if cell.algorithm == "OptCMDP"
    }
    rows = [
        [
            f"{size}",
            *(duration(times[name, size]) if (name, size) in times else DASH for name in names),
            format_number(first.get(size, np.nan), 6),
        ]
        for size in sizes
    ]
    section.say(rows_of(["S", *names, "binds from"], rows))
    section.show("speed", _figure(times, names), "time of an episode against the number of states")
    binding = [s for s in sizes if first.get(s, np.inf) <= EARLY * spec.episodes]
    ratios = [times["OptCMDP", s] / times["OptDual", s] for s in binding if ("OptDual", s) in times]
    if ratios:
        words = (
            f"Between S = {binding[0]} and S = {binding[-1]}, where constraints bind, an episode "
            f"of OptCMDP takes {min(ratios):.2g} to {max(ratios):.2g} times the CPU time of one of "
            "OptDual"
        )
        section.say(f"{words}.")
        section.answer(f"{words[0].lower()}{words[1:]}")
    section.limit(
        "One constraint and ten stages; more of either cost OptCMDP more. The linear program "
        "itself, through HiGHS, is hundreds to thousands of times slower: see the benchmarks of "
        "learning."
    )
    return section


def _size(cell: Cell) -> int:
    return int(cell.spec.parameters["n_states"])


def _figure(times: dict[tuple[str, int], float], names: Sequence[str]) -> Figure:
    with house_style():
        figure = sheet(6.4, 3.6)
        axes = figure.subplots()
        for name, (color, style) in zip(names, looks_for(names), strict=True):
            points = sorted((s, t * 1e6) for (who, s), t in times.items() if who == name)
            axes.plot(
                *zip(*points, strict=True), ls=style, color=color, marker="o", ms=4, label=name
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(sorted({s for _, s in times}))
        axes.yaxis.set_major_formatter(FuncFormatter(power))
        axes.set_xlabel("states")
        axes.set_ylabel("\u00b5s per episode")
        axes.legend()
        axes.grid()
    return figure
