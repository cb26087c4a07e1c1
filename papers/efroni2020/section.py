"""A section of the results: Markdown and the figures that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from records import model_and_plan
from tightrope.arrays import Floats
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.statistics import Band, Resamples, band_of
from tightrope.model import CMDP
from tightrope.show.report.words import MINUS, format_number, hundredths

UNITS = (  # of times, their seconds, and below how many seconds each is used
    ("\u00b5s", 1e-6, 999.5e-6),
    ("ms", 1e-3, 0.9995),
    ("s", 1.0, 120.0),
    ("min", 60.0, 7_200.0),
)


@dataclass(frozen=True)
class Section:
    """One claim and what came of it."""

    title: str
    blocks: list[str] = field(default_factory=list)  # Markdown; one with ![ shows a figure
    findings: list[str] = field(default_factory=list)  # sentences for the top of the page
    answers: list[str] = field(default_factory=list)  # plain words for the table of experiments
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

    def answer(self, words: str) -> None:
        """State the result in plain words, for the table of experiments."""
        self.answers.append(words)

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


def rows_of(
    columns: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1, n_last: int = 0
) -> str:
    """A table in Markdown; the first and the last columns are words, the others numbers."""
    n_numbers = len(columns) - n_words - n_last
    lines = [columns, [*["---"] * n_words, *["---:"] * n_numbers, *["---"] * n_last], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def span(values: Iterable[float], words: Callable[[float], str] = hundredths) -> str:
    """Least and largest of some numbers; one where both are told alike."""
    found = [float(value) for value in values]
    least, most = words(min(found)), words(max(found))
    return least if least == most else f"{least} to {most}"


def ranges(found: Mapping[str, Sequence[float]]) -> str:
    """Least and largest of the numbers under each name; one number where there is one."""
    return ", ".join(f"{name} {span(mine)}" for name, mine in found.items())


def band_words(band: Band, words: Callable[[float], str] = hundredths) -> str:
    """A middle and its interval in brackets, where there is one."""
    middle, low, high = (float(part) for part in band)
    if np.isnan(low) or np.isnan(middle):
        return words(middle)
    return f"{words(middle)} [{words(low)}, {words(high)}]"


def signed(value: float, form: str = ".3f") -> str:
    """A number with its sign."""
    return format(value + 0.0, f"+{form}").replace("-", MINUS)


def about(value: float) -> str:
    """A number in two digits, with thousands separators."""
    return format_number(float(f"{value:.2g}"), 2)


def ratio_words(value: float) -> str:
    """A ratio in two digits."""
    words = f"{abs(value):.2g}"
    return f"{MINUS}{words}" if value < 0 else words


def mean_and_band(values: Floats, resamples: Resamples) -> str:
    """The mean over runs, and its interval in brackets where there is one."""
    return band_words(band_of([values], "mean", resamples), format_number)


def duration(seconds: float) -> str:
    """A time in the unit that suits it, in three digits."""
    for unit, size, most in UNITS:
        if seconds < most:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 3600:,.1f} h"
