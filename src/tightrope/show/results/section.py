"""A section of the results: Markdown and the figures that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from tightrope.model import CMDP
from tightrope.show.statistics import Band

__all__ = ["Section", "banded", "called", "counted_in", "mean_and_band", "rows_of"]


@dataclass(frozen=True)
class Section:
    """One claim and what came of it.

    Parameters
    ----------
    title : str
    blocks : list of str
        Markdown; a block that begins with ``![`` shows a figure.
    figures : dict of str to Figure
        By the name of their file, without its end.
    """

    title: str
    blocks: list[str] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)

    def say(self, words: str) -> None:
        """Add a paragraph or a table.

        Parameters
        ----------
        words : str
        """
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


def counted_in(cmdp: CMDP) -> tuple[str, str]:
    """What cost and constraints are counted in."""
    units = {unit.name for unit in cmdp.constraint_units}
    one = "".join(units) if len(units) == 1 else "constraints"
    return cmdp.cost_unit.name, f"largest of {cmdp.n_constraints} {one}" if len(units) else one


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first column is text, the others are numbers."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def banded(band: Band, form: str = ".2f") -> str:
    """A middle and its interval in brackets, where there is one."""
    middle, low, high = (float(part) for part in band)
    if middle != middle:
        return "-"
    text = f"{middle:{form}}"
    return text if low != low else f"{text} [{low:{form}}, {high:{form}}]"


def mean_and_band(band: Band) -> str:
    """The same for large numbers."""
    return banded(band, ",.4g")
