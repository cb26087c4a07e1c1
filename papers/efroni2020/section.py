"""A section of the results: Markdown and the figures that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from records import model_and_plan
from tightrope.arrays import Floats
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.statistics import Band, Resamples, band_of
from tightrope.model import CMDP
from tightrope.show.report.words import format_number, hundredths


@dataclass(frozen=True)
class Section:
    """One claim and what came of it."""

    title: str
    blocks: list[str] = field(default_factory=list)  # Markdown; one with ![ shows a figure
    findings: list[str] = field(default_factory=list)  # sentences for the top of the page
    figures: dict[str, Figure] = field(default_factory=dict)  # by name of file, without its end

    def ask(self, question: str, method: str) -> None:
        """Begin with the question and how it is answered."""
        self.blocks.extend([f"*Question.* {question}", f"*Method.* {method}"])

    def limit(self, words: str) -> None:
        """End with what the section does not show."""
        self.blocks.append(f"*Limits.* {words}")

    def say(self, words: str) -> None:
        """Add a paragraph or a table."""
        self.blocks.append(words)

    def conclude(self, words: str) -> None:
        """Add a paragraph that also stands at the top of the page."""
        self.findings.append(words)
        self.blocks.append(words)

    def show(self, name: str, figure: Figure, words: str) -> None:
        """Add a figure with what it shows."""
        self.figures[name] = figure
        self.blocks.append(f"![{words}]({name}.png)")


def spec_name(spec: RunSpec) -> str:
    """The problem of a run by its environment and sizes."""
    return problem_name(spec.environment, model_and_plan(spec)[0])


def problem_name(environment: str, cmdp: CMDP) -> str:
    """A problem by its environment and sizes."""
    sizes = f"S={cmdp.n_states}, A={cmdp.n_actions}, H={cmdp.horizon}, I={cmdp.n_constraints}"
    return f"{environment} ({sizes})"


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1) -> str:
    """A table in Markdown; the first columns are words, the others numbers."""
    lines = [columns, [*["---"] * n_words, *["---:"] * (len(columns) - n_words)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ranges(found: Mapping[str, Sequence[float]]) -> str:
    """Least and largest of the numbers under each name; one number where there is one."""
    words = []
    for name, mine in found.items():
        least, most = hundredths(min(mine)), hundredths(max(mine))
        words.append(f"{name} {least}" if least == most else f"{name} {least} to {most}")
    return ", ".join(words)


def band_words(band: Band, words: Callable[[float], str] = hundredths) -> str:
    """A middle and its interval in brackets, where there is one."""
    middle, low, high = (float(part) for part in band)
    if np.isnan(low) or np.isnan(middle):
        return words(middle)
    return f"{words(middle)} [{words(low)}, {words(high)}]"


def mean_and_band(values: Floats, resamples: Resamples) -> str:
    """The mean over runs, and its interval in brackets where there is one."""
    return band_words(band_of([values], "mean", resamples), format_number)


def duration(seconds: float) -> str:
    """A time in microseconds, milliseconds or seconds, in three digits."""
    for unit, size in (("\u00b5s", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:,.3g} s"
