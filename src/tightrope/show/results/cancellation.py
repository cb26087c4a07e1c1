"""The cancelling of errors: Reg against Reg+, and the swings that hide behind a small Reg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tightrope.arrays import Floats, Ints
from tightrope.show.regret import looks_of
from tightrope.show.report.findings import KINDS, Findings
from tightrope.show.results.section import Section, banded, called, mean_and_band, rows_of
from tightrope.show.statistics import Resamples, band_of, slope_of
from tightrope.show.style import GREY, house_style, sheet

__all__ = ["Trace", "cancellation_section"]

LATE = 0.25  # share of the episodes, the last ones, that a trace shows


@dataclass(frozen=True)
class Trace:
    """One run, episode by episode as recorded, in shown units.

    Parameters
    ----------
    name : str
        Who learned.
    episode : (P,) array
    cost, constraint : (P,) arrays
        Excess of the episodes' policies; of the constraint nearest to being broken most.
    multiplier : (P,) array
        Largest over the constraints, on the model's scale.
    price : float
        Largest multiplier of the optimum.
    """

    name: str
    episode: Ints  # (P,)
    cost: Floats  # (P,)
    constraint: Floats  # (P,)
    multiplier: Floats  # (P,)
    price: float


def cancellation_section(
    findings: Findings, traces: Sequence[Trace], about: str, resamples: Resamples
) -> Section:
    """Reg beside Reg+ for every learner, and traces of single runs.

    Parameters
    ----------
    findings : Findings
        Of the growth of regret.
    traces : sequence of Trace
        Of one problem.
    about : str
        Which problem, and with which constants.
    resamples : Resamples
        For every band.
    """
    section = Section("The cancelling of errors")
    section.say(
        "The theorems of the dual learners bound Reg, in which an episode that saves makes up for "
        "one that overspends; that of OptCMDP bounds Reg\N{SUBSCRIPT PLUS SIGN}, in which nothing "
        "makes up for anything. The paper warns of the difference; here it is."
    )
    rows = []
    for chapter in findings.chapters:
        for group in chapter.learners:
            ends = [group.regret[kind][:, -1] for kind in KINDS]
            slopes = [
                slope_of(group.episode, group.regret[kind], resamples)
                for kind in ("cost_plus", "constraint_plus")
            ]
            rows.append(
                [
                    called(chapter.environment, chapter.cmdp),
                    group.name,
                    *(mean_and_band(band_of([end], "mean", resamples)) for end in ends),
                    *map(banded, slopes),
                ]
            )
    plus = "\N{SUBSCRIPT PLUS SIGN}"
    columns = ["problem", "learner", *KINDS.values()]
    section.say(
        rows_of([*columns, f"exponent of Reg{plus} cost", f"of Reg{plus} constraint"], rows)
    )
    section.show(
        "oscillation", _traces_figure(traces, about), "excess and multipliers of single runs"
    )
    section.say(
        f"Single runs of {about}, last quarter of the episodes: excess of each episode's policy "
        "over the optimal cost and over the budget, and the multiplier (dotted: its price at the "
        "optimum)."
    )
    section.say(
        rows_of(
            ["learner", "swing of cost", "swing of constraint", "swing of multiplier"],
            [
                [
                    trace.name,
                    *(
                        f"{_swing(trace, values):.3g}"
                        for values in (trace.cost, trace.constraint, trace.multiplier)
                    ),
                ]
                for trace in traces
            ],
        )
    )
    section.say("Swing: distance between the 5 % and the 95 % quantile over that last quarter.")
    return section


def _late(trace: Trace) -> Floats:
    return np.asarray(trace.episode >= (1 - LATE) * trace.episode[-1])


def _swing(trace: Trace, values: Floats) -> float:
    low, high = np.quantile(values[_late(trace)], [0.05, 0.95])
    return float(high - low)


def _traces_figure(traces: Sequence[Trace], about: str) -> Figure:
    with house_style():
        figure = sheet(9.0, 1.0 + 1.7 * len(traces))
        panels = figure.subplots(len(traces), 3, sharex=True, squeeze=False)
        titles = ("excess cost", "excess of constraint", "multiplier")
        looks = looks_of([trace.name for trace in traces])
        for row, trace, (colour, _) in zip(panels, traces, looks, strict=True):
            late = _late(trace)
            for axes, values in zip(
                row, (trace.cost, trace.constraint, trace.multiplier), strict=True
            ):
                axes.plot(trace.episode[late], values[late], color=colour, linewidth=0.8)
                axes.xaxis.set_major_locator(MaxNLocator(3))
                axes.grid()
            for axes in row[:2]:
                axes.axhline(0.0, color=GREY, linewidth=1.0)
            row[2].axhline(trace.price, color=GREY, linewidth=1.0, linestyle=":")
            row[0].set_ylabel(trace.name)
        for axes, title in zip(panels[0], titles, strict=True):
            axes.set_title(title)
        for axes in panels[-1]:
            axes.set_xlabel("episode")
        figure.suptitle(f"Single runs of {about}", x=0.012, ha="left", fontsize=10.5)
    return figure
