"""A section of the results: Markdown and the figures that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from tightrope.arrays import Floats
from tightrope.experiments.statistics import Band, Resamples, band_of
from tightrope.experiments.summary import Group
from tightrope.model import CMDP
from tightrope.show.report.numbers import hundredths, said


@dataclass(frozen=True)
class Section:
    """One claim and what came of it.

    Parameters
    ----------
    title : str
    blocks : list of str
        Markdown; a block that begins with ``![`` shows a figure.
    findings : list of str
        What came out, a sentence each, for the top of the page.
    figures : dict of str to Figure
        By the name of their file, without its end.
    """

    title: str
    blocks: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)

    def say(self, words: str) -> None:
        """Add a paragraph or a table.

        Parameters
        ----------
        words : str
        """
        self.blocks.append(words)

    def conclude(self, words: str) -> None:
        """Add a paragraph that also stands at the top of the page.

        Parameters
        ----------
        words : str
        """
        self.findings.append(words)
        self.blocks.append(words)

    def show(self, name: str, figure: Figure, words: str) -> None:
        """Add a figure with what it shows.

        Parameters
        ----------
        name : str
            Of its file.
        figure : Figure
        words : str
            Said in its place to those who cannot see it.
        """
        self.figures[name] = figure
        self.blocks.append(f"![{words}]({name}.png)")


def called(environment: str, cmdp: CMDP) -> str:
    """A problem by its environment and sizes."""
    sizes = f"S={cmdp.n_states}, A={cmdp.n_actions}, H={cmdp.horizon}, I={cmdp.n_constraints}"
    return f"{environment} ({sizes})"


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1) -> str:
    """A table in Markdown; the first columns are words, the others numbers."""
    lines = [columns, [*["---"] * n_words, *["---:"] * (len(columns) - n_words)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def at_episode(group: Group, curves: Floats, episode: int) -> Floats:
    """A cumulative sum after so many episodes, (N,); on straight lines between recorded ones.

    Parameters
    ----------
    group : Group
        Recorded at P episodes.
    curves : (N, P) array
    episode : int
        At most the last.
    """
    return np.array([np.interp(episode, group.episode, curve) for curve in curves])


def ranges(found: Mapping[str, Sequence[float]]) -> str:
    """Least and largest of the numbers under each name; one number where there is one."""
    words = []
    for name, mine in found.items():
        least, most = hundredths(min(mine)), hundredths(max(mine))
        words.append(f"{name} {least}" if least == most else f"{name} {least} to {most}")
    return ", ".join(words)


def banded(band: Band, words: Callable[[float], str] = hundredths) -> str:
    """A middle and its interval in brackets, where there is one."""
    middle, low, high = (float(part) for part in band)
    if np.isnan(low) or np.isnan(middle):
        return words(middle)
    return f"{words(middle)} [{words(low)}, {words(high)}]"


def mean_and_band(values: Floats, resamples: Resamples) -> str:
    """The mean over runs, and its interval in brackets where there is one."""
    return banded(band_of([values], "mean", resamples), said)


def duration(seconds: float) -> str:
    """A time in microseconds, milliseconds or seconds, in three digits."""
    for unit, size in (("\u00b5s", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:,.3g} s"
