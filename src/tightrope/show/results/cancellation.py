"""The cancelling of errors: Reg against Reg+, and the swings that hide behind a small Reg."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.show.regret import KINDS
from tightrope.show.report.findings import Findings
from tightrope.show.results.bounds import tested
from tightrope.show.results.section import Section, called, mean_and_band, ranges, rows_of
from tightrope.show.results.traces import SWING, Trace, swing_and_period, swing_of, traces_figure
from tightrope.show.statistics import Resamples, slope_of

__all__ = ["cancellation_section"]

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
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
            ]
            for group in chapter.learners
        ]
        section.say(rows_of(["at the end", *KINDS.values()], rows))
    section.conclude(_in_words(findings, resamples))
    title = f"Single runs of {about}"
    section.show("oscillation", traces_figure(traces, title), "excess and multipliers")
    section.say(
        f"{title}, last quarter of the episodes: excess of each episode's policy over the optimal "
        "cost and over the budget, and the multiplier (dotted: its price at the optimum). Scales "
        "are shared down the columns."
    )
    section.say(
        rows_of(
            ["learner", "swing of cost", "its period", "swing of constraint", "of multiplier"],
            [_swings(trace) for trace in traces],
        )
    )
    section.say(f"{SWING} A dash: none, or faster than the recorded episodes show.")
    return section


def _swings(trace: Trace) -> list[str]:
    late = trace.late
    others = (f"{swing_of(values):.3g}" for values in (late.constraint, late.multiplier))
    return [trace.name, *swing_and_period(trace), *others]


def _in_words(findings: Findings, resamples: Resamples) -> str:
    """The larger exponent of Reg+ for each learner, over the experiments that test the theorems."""
    found: dict[str, list[float]] = {}
    for chapter in tested(findings):
        for group in chapter.learners:
            fits = [slope_of(group.episode, group.regret[kind], resamples) for kind in POSITIVE]
            found.setdefault(group.algorithm, []).append(max(float(fit.middle) for fit in fits))
    if not found:
        return f"No experiment had enough episodes to speak of the growth of Reg{PLUS}."
    return (
        f"Reg{PLUS}, in which nothing cancels, grew in the same experiments with exponents (the "
        f"larger of cost and constraint) of {ranges(found)}; 1 is a constant loss an episode."
    )
