"""The cancelling of errors: Reg against Reg+, and the swings that hide behind a small Reg."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tightrope.experiments.statistics import Resamples, slope_of
from tightrope.experiments.summary import Findings, Group
from tightrope.show.regret import KINDS
from tightrope.show.report.numbers import hundredths, percent, said
from tightrope.show.results.section import Section, called, mean_and_band, rows_of
from tightrope.show.results.traces import SWING, Trace, period_of, swing_of, traces_figure

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
SLIGHT = 0.05  # of the widest swing
POSITIVE = ("cost_plus", "constraint_plus")


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
        f"one that overspends; that of OptCMDP bounds Reg{PLUS}, in which nothing makes up for "
        "anything. The paper warns of the difference; here it is."
    )
    for chapter in findings.chapters:
        section.say(
            f"**{called(chapter.environment, chapter.cmdp)}**, {chapter.n_episodes:,} episodes"
        )
        rows = [
            [
                group.name,
                *(mean_and_band(group.regret[kind][:, -1], resamples) for kind in KINDS),
                percent(round(_cancelled(group), 4)),
            ]
            for group in chapter.learners
        ]
        section.say(rows_of(["at the end", *KINDS.values(), "cancelled"], rows))
    section.say(
        "Cancelled: the share of what was overspent that other episodes saved again, "
        f"1 - Reg / Reg{PLUS} of the constraint."
    )
    section.conclude(_growth_in_words(findings, resamples))
    section.conclude(_cancelled_in_words(findings))
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
    return [trace.name, told[0], said(period, 6), *told[1:]]


def _cancelled(group: Group) -> float:
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


def _cancelled_in_words(findings: Findings) -> str:
    told = _by_learner(findings, lambda group: f"{100 * _cancelled(group):.0f} %")
    return (
        f"Of what was overspent, other episodes saved again, in the same order: {told}. Where that "
        "is nothing, a dual learner has not begun to swing: it has only overspent so far."
    )
