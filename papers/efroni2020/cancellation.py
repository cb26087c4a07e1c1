"""The canceling of errors: Reg against Reg+, and the swings that hide behind a small Reg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from section import Section, mean_and_band, problem_name, rows_of
from tightrope.arrays import Floats, Ints
from tightrope.experiments.statistics import Resamples, slope_of
from tightrope.experiments.summary import Findings, Group
from tightrope.show.regret import KINDS, looks_of
from tightrope.show.report.words import format_number, hundredths, percent
from tightrope.show.style import GRAY, house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
SLIGHT = 0.05  # of the widest swing
POSITIVE = ("cost_plus", "constraint_plus")
LATE = 0.25  # share of the episodes, the last ones, that is looked at
SEEN = 8  # recorded episodes in a period, at least, for the period to be known
SWING = (
    "Swing: distance between the 5 % and the 95 % quantile over the last quarter of the episodes. "
    "Period: mean distance between rises from below the lower to above the upper quartile."
)


@dataclass(frozen=True)
class Trace:
    """One run, episode by episode as recorded, in shown units."""

    name: str  # of the learner
    episode: Ints  # (P,)
    cost: Floats  # (P,) excess of the episodes' policies
    constraint: Floats  # (P,) the largest excess over the constraints
    multiplier: Floats  # (P,) largest over the constraints, on the model's scale
    price: float  # largest multiplier of the optimum

    @property
    def late(self) -> Trace:
        """The last quarter of the episodes."""
        kept = self.episode >= (1 - LATE) * self.episode[-1]
        columns = (self.episode, self.cost, self.constraint, self.multiplier)
        episode, cost, constraint, multiplier = (column[kept] for column in columns)
        return Trace(self.name, episode, cost, constraint, multiplier, self.price)


def swing_of(values: Floats) -> float:
    """Distance between the 5 % and the 95 % quantile."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low)


def period_of(episode: Ints, values: Floats) -> float:
    """Mean distance between rises from below the lower to above the upper quartile.

    NaN where there are fewer than two such rises, or they follow too fast for what was recorded.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    side = np.where(values >= high, 1, np.where(values <= low, -1, 0))
    outside = np.flatnonzero(side)
    rises = outside[1:][np.diff(side[outside]) == 2]
    if len(rises) < 2 or rises[-1] - rises[0] < SEEN * (len(rises) - 1):
        return float("nan")
    return float((episode[rises[-1]] - episode[rises[0]]) / (len(rises) - 1))


def traces_figure(traces: Sequence[Trace], title: str) -> Figure:
    """The last quarter of each run: excess cost, excess of the constraint, multiplier."""
    with house_style():
        figure = sheet(9.0, 1.0 + 1.7 * len(traces))
        panels = figure.subplots(len(traces), 3, sharex="row", sharey="col", squeeze=False)
        looks = looks_of([trace.name for trace in traces])
        for row, trace, (color, _) in zip(panels, traces, looks, strict=True):
            late = trace.late
            for axes, values in zip(
                row, (late.cost, late.constraint, late.multiplier), strict=True
            ):
                axes.plot(late.episode, values, color=color, linewidth=0.8)
                axes.xaxis.set_major_locator(MaxNLocator(3))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
                axes.grid()
            for axes in row[:2]:
                axes.axhline(0.0, color=GRAY, linewidth=1.0)
            row[2].axhline(trace.price, color=GRAY, linewidth=1.0, linestyle=":")
            row[0].set_ylabel(f"{trace.name}\nK = {trace.episode[-1]:,}")
        titles = ("excess cost", "excess of constraint", "multiplier")
        for axes, name in zip(panels[0], titles, strict=True):
            axes.set_title(name)
        for axes in panels[-1]:
            axes.set_xlabel("episode")
        figure.suptitle(title, x=0.012, ha="left", fontsize=10.5)
    return figure


def cancellation_section(
    findings: Findings, traces: Sequence[Trace], about: str, resamples: Resamples
) -> Section:
    """Reg beside Reg+ for every learner, and traces of single runs."""
    section = Section("The canceling of errors")
    section.say(
        "The theorems of the dual learners bound Reg, in which an episode that saves makes up for "
        f"one that overspends; that of OptCMDP bounds Reg{PLUS}, in which nothing makes up for "
        "anything. The paper warns of the difference; here it is."
    )
    for chapter in findings.chapters:
        name = problem_name(chapter.environment, chapter.cmdp)
        section.say(f"**{name}**, {chapter.n_episodes:,} episodes")
        rows = [
            [
                group.name,
                *(mean_and_band(group.regret[kind][:, -1], resamples) for kind in KINDS),
                percent(round(_canceled(group), 4)),
            ]
            for group in chapter.learners
        ]
        section.say(rows_of(["at the end", *KINDS.values(), "canceled"], rows))
    section.say(
        "Canceled: the share of what was overspent that other episodes saved again, "
        f"1 - Reg / Reg{PLUS} of the constraint."
    )
    section.conclude(_growth_in_words(findings, resamples))
    section.conclude(_canceled_in_words(findings))
    title = f"Single runs of {about}"
    widest = max(swing_of(trace.late.cost) for trace in traces)
    section.show("oscillation", traces_figure(traces, title), "excess and multipliers")
    section.say(
        f"{title}, last quarter of the episodes: excess of each episode's policy over the optimal "
        "cost and over the budget, and the multiplier (dotted: its price at the optimum). Scales "
        "are shared down the columns. OptDual swings faster than the recorded episodes, so that it "
        "fills its panels."
    )
    section.say(
        rows_of(
            ["learner", "swing of cost", "its period", "swing of constraint", "of multiplier"],
            [_swings(trace, widest) for trace in traces],
        )
    )
    section.say(f"{SWING} A dash: hardly any swing, or one faster than the recorded episodes.")
    return section


def _swings(trace: Trace, widest: float) -> list[str]:
    """Swings in words; what hardly swings beside the widest has no period worth telling."""
    late = trace.late
    swings = [swing_of(values) for values in (late.cost, late.constraint, late.multiplier)]
    period = period_of(late.episode, late.cost) if swings[0] > SLIGHT * widest else float("nan")
    told = [f"{swing:.3g}" for swing in swings]
    return [trace.name, told[0], format_number(period, 6), *told[1:]]


def _canceled(group: Group) -> float:
    """Share of the overspending that savings of other episodes took off again."""
    ends = (group.regret[kind][:, -1].mean() for kind in ("constraint", "constraint_plus"))
    signed, positive = ends
    return float(1 - signed / positive) if positive > 0 else float("nan")


def _by_learner(findings: Findings, words: Callable[[Group], str]) -> str:
    """Something about each group, learner by learner in the order of the experiments."""
    told: dict[str, list[str]] = {}
    for chapter in findings.chapters:
        for group in chapter.learners:
            told.setdefault(group.algorithm, []).append(words(group))
    return "; ".join(f"{name} {', '.join(mine)}" for name, mine in told.items())


def _growth_in_words(findings: Findings, resamples: Resamples) -> str:
    def exponent(group: Group) -> str:
        fits = [slope_of(group.episode, group.regret[kind], resamples) for kind in POSITIVE]
        return hundredths(max(float(fit.middle) for fit in fits))

    return (
        f"Reg{PLUS}, in which nothing cancels, grew with these exponents (the larger of cost and "
        "constraint), experiment by experiment in the order below: "
        f"{_by_learner(findings, exponent)}. 1 is a constant loss an episode."
    )


def _canceled_in_words(findings: Findings) -> str:
    told = _by_learner(findings, lambda group: f"{100 * _canceled(group):.0f} %")
    return (
        f"Of what was overspent, other episodes saved again, in the same order: {told}. Where that "
        "is nothing, a dual learner has not begun to swing: it has only overspent so far."
    )
