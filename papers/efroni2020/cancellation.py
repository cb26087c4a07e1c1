"""The canceling of errors: Reg against Reg+, and the swings that a small Reg hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from records import QUARTER, Cell, Record, model_and_plan, problems_of
from section import Section, mean_and_band, rows_of, spec_name
from tightrope.arrays import Floats, Ints
from tightrope.experiments.statistics import Resamples
from tightrope.show.regret import KINDS, looks_of
from tightrope.show.report.words import format_number, percent
from tightrope.show.style import GRAY, house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
SLIGHT = 0.05  # of the widest swing
SEEN = 8  # recorded episodes in a period, at least, for the period to be known
SHOWN = 120  # recorded episodes of a run that swings fast
SWING = (
    "Swing: distance between the 5 % and the 95 % quantile over the last quarter of the episodes. "
    "Period: mean distance between rises from below the lower to above the upper quartile."
)


@dataclass(frozen=True)
class Trace:
    """One run over its last quarter, as recorded, in shown units."""

    name: str  # of the learner
    problem: str
    episode: Ints  # (P,)
    cost: Floats  # (P,) excess of the episodes' policies
    constraint: Floats  # (P,) the largest excess over the constraints
    multiplier: Floats  # (P,) largest over the constraints
    price: float  # largest multiplier of the optimum

    @classmethod
    def of(cls, record: Record) -> Trace:
        """The last quarter of a run."""
        late = record.episode >= QUARTER * record.episode[-1]
        names = ("cost_excess", "constraint_excess", "multiplier")
        cost, constraint, multiplier = (record.curve(name)[late] for name in names)
        price = float(np.max(model_and_plan(record.spec)[1].multiplier))
        return cls(
            record.spec.algorithm,
            record.spec.environment,
            record.episode[late],
            cost,
            constraint,
            multiplier,
            price,
        )


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


def turns_of(multiplier: Floats) -> int:
    """How often a multiplier turns from rising to falling or back; flat parts do not count."""
    steps = np.sign(np.diff(multiplier))
    moving = steps[steps != 0]
    return int((np.diff(moving) != 0).sum())


def traces_figure(traces: Sequence[Trace], title: str) -> Figure:
    """Excess cost, excess of the constraint and multiplier of each run, each on its own scale."""
    with house_style():
        figure = sheet(9.0, 1.0 + 1.7 * len(traces))
        panels = figure.subplots(len(traces), 3, sharex="row", squeeze=False)
        looks = looks_of([trace.name for trace in traces])
        for row, trace, (color, _) in zip(panels, traces, looks, strict=True):
            is_fast = np.isnan(period_of(trace.episode, trace.cost))
            shown = slice(-SHOWN, None) if is_fast else slice(None)
            columns = (trace.cost, trace.constraint, trace.multiplier)
            for axes, values in zip(row, columns, strict=True):
                style = "o-" if is_fast else "-"
                axes.plot(trace.episode[shown], values[shown], style, color=color, lw=0.7, ms=2)
                axes.xaxis.set_major_locator(MaxNLocator(3))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
                axes.grid()
            for axes in row[:2]:
                axes.axhline(0.0, color=GRAY, linewidth=1.0)
            row[2].axhline(trace.price, color=GRAY, linewidth=1.0, linestyle=":")
            row[0].set_ylabel(f"{trace.name}\n{trace.problem}")
        titles = ("excess cost", "excess over the budget", "multiplier")
        for axes, name in zip(panels[0], titles, strict=True):
            axes.set_title(name)
        for axes in panels[-1]:
            axes.set_xlabel("episode")
        figure.suptitle(title, x=0.012, ha="left", fontsize=10.5)
    return figure


def cancellation_section(cells: Sequence[Cell], resamples: Resamples) -> Section:
    """Reg beside Reg+ for every learner, after the largest K."""
    section = Section("Errors that cancel")
    section.ask(
        "The theorems of the dual learners bound Reg, in which cheaper episodes offset more "
        f"expensive ones; that of OptCMDP bounds Reg{PLUS}, in which nothing offsets anything. How "
        "large is the difference?",
        "The longest runs of the previous section. Canceled: the share of the overspending that "
        f"other episodes saved again, 1 - Reg / Reg{PLUS} of the constraint.",
    )
    told = []
    for _, mine in problems_of(cells):
        K = max(c.spec.episodes for c in mine)
        rows = []
        for cell in (c for c in mine if c.spec.episodes == K):
            share = _canceled(cell)
            told.append(f"{cell.algorithm} on {cell.spec.environment} {100 * share:.0f} %")
            rows.append(
                [
                    cell.algorithm,
                    *(mean_and_band(cell.ends(kind), resamples) for kind in KINDS),
                    percent(round(share, 4)),
                ]
            )
        section.say(f"**{spec_name(mine[0].spec)}**, K = {K:,}")
        section.say(rows_of(["learner", *KINDS.values(), "canceled"], rows))
    section.say(f"Canceled share of the overspending: {'; '.join(told)}.")
    section.limit(
        "A share of zero does not mean that a learner does not swing: OptPrimalDual may swing "
        "around a mean above its budget, because its bonuses bias the constraint value that moves "
        "its multiplier. The next section shows this on the random instance."
    )
    return section


def oscillation_section(cells: Sequence[Cell]) -> Section:
    """Traces of single runs."""
    section = Section("Oscillation")
    spec = cells[0].spec
    section.ask(
        "Which learners keep swinging, how far and how fast?",
        f"One run of each on {' and '.join(dict.fromkeys(spec_name(c.spec) for c in cells))}, K = "
        f"{spec.episodes:,}, faithful constants, the last quarter of the episodes: excess of each "
        "episode's policy over the optimal cost and over the budget, and the multiplier (dotted: "
        "its price at the optimum). Every panel has its own scale. Where a run swings faster than "
        f"about {SEEN} recorded episodes, the last {SHOWN} recorded episodes are shown as points, "
        "and what happens between them is not seen.",
    )
    traces = [Trace.of(cell.records[0]) for cell in cells]
    section.show("oscillation", traces_figure(traces, ""), "excess and multipliers of single runs")
    widest = max(swing_of(trace.cost) for trace in traces)
    rows = [_swings(trace, widest) for trace in traces]
    columns = [
        "learner",
        "swing of cost",
        "its period",
        "swing of constraint",
        "of multiplier",
        "its turns",
        "mean excess over the budget",
    ]
    section.say(rows_of(columns, rows))
    section.say(f"{SWING} A dash: hardly any swing, or one faster than the recorded episodes.")
    section.limit(
        "One run each; the ring is deterministic. Turns are counted between recorded episodes, "
        "so faster ones are missed."
    )
    return section


def _swings(trace: Trace, widest: float) -> list[str]:
    """Swings in words; what hardly swings beside the widest has no period worth reporting."""
    swings = [swing_of(values) for values in (trace.cost, trace.constraint, trace.multiplier)]
    period = period_of(trace.episode, trace.cost) if swings[0] > SLIGHT * widest else float("nan")
    told = [f"{swing:.3g}" for swing in swings]
    mean, turns = f"{float(trace.constraint.mean()):+.3g}", f"{turns_of(trace.multiplier)}"
    return [
        f"{trace.name}, {trace.problem}",
        told[0],
        format_number(period, 6),
        *told[1:],
        turns,
        mean,
    ]


def _canceled(cell: Cell) -> float:
    """Share of the overspending that savings of other episodes took off again."""
    signed, positive = (float(cell.ends(kind).mean()) for kind in ("constraint", "constraint_plus"))
    return 1 - signed / positive if positive > 0 else float("nan")
