"""The canceling of errors: Reg against Reg+, and the oscillation that a small Reg hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from records import MOST_LATE, QUARTER, SWINGS, Cell, Record, model_and_plan, problems_of
from section import Section, mean_and_band, rows_of, signed, spec_name
from tightrope.arrays import Floats, Ints
from tightrope.experiments.statistics import Resamples
from tightrope.show.regret import KINDS, looks_of
from tightrope.show.report.words import DASH, format_number, percent
from tightrope.show.style import GRAY, house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
SLIGHT = 0.01  # of the widest oscillation
SEEN = 8  # recorded episodes in a period, at least, for it to be known where some are missing
SHOWN = 40  # episodes of a run of which every episode is kept
SWING = (
    "Oscillation: distance between the 5 % and the 95 % quantile. Period: mean distance between "
    "rises from below the lower to above the upper quartile."
)


@dataclass(frozen=True)
class Trace:
    """The end of one run, as recorded, in shown units: at most its last quarter."""

    name: str  # of the learner
    problem: str
    episode: Ints  # (P,)
    cost: Floats  # (P,) excess of the episodes' policies
    constraint: Floats  # (P,) the largest excess over the constraints
    multiplier: Floats  # (P,) largest over the constraints
    price: float  # largest multiplier of the optimum
    turns: int  # of the multiplier, over the last 90 % of the recorded episodes
    mean: float  # excess over the budget, over the last 90 % of all episodes

    @classmethod
    def of(cls, record: Record) -> Trace:
        """The end of a run."""
        late = np.flatnonzero(record.episode >= QUARTER * record.episode[-1])[-MOST_LATE:]
        cost, constraint, multiplier = (record.curve(name)[late] for name in SWINGS)
        return cls(
            record.spec.algorithm,
            record.spec.environment,
            record.episode[late],
            cost,
            constraint,
            multiplier,
            price=float(np.max(model_and_plan(record.spec)[1].multiplier)),
            turns=int(record.table["turns"]),
            mean=float(record.table["late_constraint"]),
        )

    @property
    def is_whole(self) -> bool:
        """Whether every episode is recorded."""
        return has_every(self.episode)

    @property
    def period(self) -> float:
        """Mean period of the cost, in episodes."""
        return period_of(self.episode, self.cost)


def has_every(episode: Ints) -> bool:
    """Whether no episode is missing."""
    return bool((np.diff(episode) == 1).all())


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
    if len(rises) < 2:
        return float("nan")
    is_seen = has_every(episode) or rises[-1] - rises[0] >= SEEN * (len(rises) - 1)
    distance = float((episode[rises[-1]] - episode[rises[0]]) / (len(rises) - 1))
    return distance if is_seen else float("nan")


def traces_figure(traces: Sequence[Trace]) -> Figure:
    """Excess cost, excess of the constraint and multiplier of each run, each on its own scale."""
    with house_style():
        figure = sheet(9.0, 1.0 + 1.7 * len(traces))
        panels = figure.subplots(len(traces), 3, sharex="row", squeeze=False)
        looks = looks_of([trace.name for trace in traces])
        for row, trace, (color, _) in zip(panels, traces, looks, strict=True):
            shown = slice(-SHOWN, None) if trace.is_whole else slice(None)
            columns = (trace.cost, trace.constraint, trace.multiplier)
            for axes, values in zip(row, columns, strict=True):
                style = "o-" if trace.is_whole else "-"
                axes.plot(trace.episode[shown], values[shown], style, color=color, lw=0.8, ms=2.5)
                axes.xaxis.set_major_locator(MaxNLocator(3))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
                axes.grid()
            for axes in row[:2]:
                axes.axhline(0.0, color=GRAY, linewidth=1.0)
            row[2].axhline(trace.price, color=GRAY, linewidth=1.0, linestyle=":")
            row[0].set_ylabel("\n".join(_label(trace, traces)))
        titles = ("excess cost", "excess over the budget", "multiplier")
        for axes, name in zip(panels[0], titles, strict=True):
            axes.set_title(name)
        for axes in panels[-1]:
            axes.set_xlabel("episode")
    return figure


def _label(trace: Trace, traces: Sequence[Trace]) -> list[str]:
    """Learner and problem, and the number of episodes where that differs."""
    lengths = {each.episode[-1] for each in traces}
    return [
        trace.name,
        trace.problem,
        *([f"K = {trace.episode[-1]:,}"] if len(lengths) > 1 else []),
    ]


def cancellation_section(cells: Sequence[Cell], resamples: Resamples) -> Section:
    """Reg and Reg+ of every learner, after the largest K."""
    section = Section("Errors that cancel")
    section.ask(
        "The theorems of the dual learners bound Reg, in which cheaper episodes offset more "
        f"expensive ones; that of OptCMDP bounds Reg{PLUS}, in which nothing offsets anything. How "
        "large is the difference?",
        "The longest runs of the previous section. Canceled: the share of the overspending that "
        f"other episodes saved again, 1 - Reg / Reg{PLUS} of the constraint.",
    )
    told: dict[str, list[str]] = {}
    shares_of: dict[str, float] = {}  # the largest of each learner
    problems = problems_of(cells)
    for _, mine in problems:
        K = max(c.spec.episodes for c in mine)
        rows = []
        for cell in (c for c in mine if c.spec.episodes == K):
            share = _canceled(cell)
            shares_of[cell.algorithm] = max(share, shares_of.get(cell.algorithm, 0.0))
            told.setdefault(cell.algorithm, []).append(f"{100 * share:.0f} %")
            rows.append(
                [
                    cell.algorithm,
                    *(mean_and_band(cell.ends(kind), resamples) for kind in KINDS),
                    percent(round(share, 4)),
                ]
            )
        section.say(f"**{spec_name(mine[0].spec)}**, K = {K:,}")
        section.say(rows_of(["learner", *KINDS.values(), "canceled"], rows))
    where = " and ".join(mine[0].spec.environment for _, mine in problems)
    words = ", ".join(f"{name} {' and '.join(shares)}" for name, shares in told.items())
    section.say(f"Canceled share of the overspending ({where}): {words}.")
    most = max(shares_of, key=lambda name: shares_of[name])
    saved = f"{100 * shares_of[most]:.0f} %"
    section.answer(f"cheaper episodes offset up to {saved} of the overspending of others ({most})")
    section.limit(
        "A share of zero does not mean that a learner does not oscillate: OptPrimalDual may "
        "oscillate around a mean above its budget, because its bonuses bias the constraint value "
        "that changes its multiplier. The section on oscillation shows this on the random instance."
    )
    return section


def oscillation_section(cells: Sequence[Cell]) -> Section:
    """Traces of single runs."""
    section = Section("Oscillation")
    spec = cells[0].spec
    traces = [Trace.of(cell.records[0]) for cell in cells]
    whole = [f"{t.name} on {t.problem}, {len(t.episode):,}" for t in traces if t.is_whole]
    exception = (
        f" Of learners that may oscillate from one episode to the next, every one of the last "
        f"episodes ({'; '.join(whole)}), the last {SHOWN} of them in the figure."
        if whole
        else ""
    )
    section.ask(
        "Which learners continue to oscillate, how far and how fast?",
        f"One run of each on {' and '.join(dict.fromkeys(spec_name(c.spec) for c in cells))}, K = "
        f"{spec.episodes:,}, delta = {spec.delta:g}, faithful constants: excess of an episode's "
        "policy over the optimal cost and over the budget, and the multiplier (dotted: its price "
        "at the optimum), at the recorded ones of the last quarter of the episodes."
        f"{exception} Every panel has its own scale.",
    )
    section.show("oscillation", traces_figure(traces), "excess and multipliers of single runs")
    widest = max(swing_of(trace.cost) for trace in traces)
    columns = [
        "learner",
        "recorded",
        "oscillation of cost",
        "its period",
        "of constraint",
        "of multiplier",
        "turns of multiplier",
        "mean excess over the budget",
    ]
    section.say(rows_of(columns, [_swings(trace, widest) for trace in traces]))
    section.say(
        f"Recorded: number of recorded episodes shown or used. {SWING} Turns of the multiplier, "
        "from rising to falling or back, between recorded episodes, and mean excess: over the last "
        "90 % of the episodes. A dash: almost no oscillation, or one faster than the recorded "
        "episodes."
    )
    section.say(" ".join(_told(trace, widest) for trace in traces))
    section.answer(_short(traces, widest))
    section.limit("One run each; the ring is deterministic.")
    return section


def _swings(trace: Trace, widest: float) -> list[str]:
    """Oscillations in words; one that is narrow compared with the widest is given no period."""
    swings = [swing_of(values) for values in (trace.cost, trace.constraint, trace.multiplier)]
    told = [f"{swing:.3g}" for swing in swings]
    return [
        f"{trace.name}, {trace.problem}",
        f"{len(trace.episode):,}",
        told[0],
        format_number(trace.period, 3) if _swung(trace, widest) else DASH,
        *told[1:],
        f"{trace.turns:,}",
        signed(trace.mean, ".2g"),
    ]


def _swung(trace: Trace, widest: float) -> bool:
    return swing_of(trace.cost) > SLIGHT * widest


def _told(trace: Trace, widest: float) -> str:
    """What a run does at its end, in a sentence."""
    who = f"{trace.name} on {trace.problem}"
    edges = [float(edge) for edge in np.quantile(trace.constraint, [0.05, 0.95])]
    low, high, mean = (signed(value, ".2g") for value in (*edges, trace.mean))
    if not _swung(trace, widest):
        return f"{who} hardly oscillates: its excess over the budget is {low} to {high}."
    words = f"{who} oscillates between {low} and {high} from the budget{_every(trace)}"
    if edges[0] > 0:
        return (
            f"{words}, around a mean above the budget: its multiplier turns {trace.turns:,} times "
            f"in the last 90 % of the episodes, but the mean excess is {mean}, because its bonuses "
            "make the constraint value that changes the multiplier too optimistic."
        )
    return f"{words}; its mean excess in the last 90 % of the episodes is {mean}."


def _every(trace: Trace) -> str:
    period = trace.period
    return "" if np.isnan(period) else f" every {format_number(period, 3)} episodes"


def _short(traces: Sequence[Trace], widest: float) -> str:
    """Learners that oscillate, how fast, and learners that do not."""
    words, still = [], []
    for trace in traces:
        if _swung(trace, widest):
            where = "above" if np.quantile(trace.constraint, 0.05) > 0 else "around"
            words.append(
                f"{trace.name} oscillates {where} the budget of {trace.problem}{_every(trace)}"
            )
        else:
            still.append(trace.name)
    if still:
        words.append(f"{' and '.join(dict.fromkeys(still))} hardly oscillate")
    return "; ".join(words)


def _canceled(cell: Cell) -> float:
    """Share of the overspending that savings of other episodes took off again."""
    signed, positive = (float(cell.ends(kind).mean()) for kind in ("constraint", "constraint_plus"))
    return 1 - signed / positive if positive > 0 else float("nan")
