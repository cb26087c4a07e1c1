"""What all pictures share: colours that everyone can tell apart, type sizes, and a blank sheet.

Colours are those of Okabe and Ito (2008). Figures are objects of their own; no global state of
Matplotlib is read or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from tightrope.arrays import Floats
from tightrope.errors import ConfigError

AxesLike = Axes | Sequence[Axes] | NDArray[Any]
INK, GREY, EDGE, PALE, WALL = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#efefef", "#595959"
BLUE, RED, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
CATEGORIES = (BLUE, ORANGE, GREEN, "#cc79a7", "#56b4e9", RED, "#f0e442", "#555555")
STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9.0,
    "axes.labelsize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fontsize": 9,
    "text.color": INK,
    "text.parse_math": False,  # names may hold dollar signs
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "pdf.fonttype": 42,  # text stays text in PDF and SVG
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """The settings of our pictures, for as long as one is drawn or written."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        yield


class Sheet(Figure):
    """A figure that notebooks draw, whether or not pyplot was imported."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        with house_style():
            self.savefig(file, format="png", dpi="figure")
        return file.getvalue()


def sheet(width: float, height: float) -> Figure:
    """A blank figure of that size in inches, whose parts do not overlap."""
    room = ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1)
    return Sheet(figsize=(width, height), layout=room, facecolor="white")


def figure_of(axes: Axes) -> Figure:
    """The figure that the axes are in, through any subfigures."""
    figure = axes.figure
    return figure if isinstance(figure, Figure) else figure.figure


def panels_in(axes: AxesLike, panels: Sequence[str], can_choose: bool = False) -> list[Axes]:
    """Given axes as a list, or a `ConfigError` when they are not one for each panel.

    ``can_choose`` says that the caller has an argument ``panel``, which the error then names.
    """
    found: list[Any] = np.ravel(np.asarray(axes, dtype=object)).tolist()
    names = ", ".join(map(repr, panels))
    choice = f", or one with panel={panels[0]!r} or another of these" if can_choose else ""
    for each in found:
        if not isinstance(each, Axes):
            raise ConfigError.about("ax", found=each, expected="Matplotlib axes")
    if len(found) != len(panels):
        raise ConfigError.about(
            "ax",
            shown=f"{len(found)} axes",
            expected=f"{len(panels)}, one for each panel ({names})",
            more=choice,
        )
    return found


def check_panel(panel: str | None, panels: Sequence[str]) -> list[str]:
    """The panels to draw: the one that was chosen, or all; else a `ConfigError`."""
    if panel is None:
        return list(panels)
    if panel not in panels:
        raise ConfigError.about(
            "panel", found=panel, expected=f"one of {', '.join(map(repr, panels))}"
        )
    return [panel]


def plain(axes: Axes) -> None:
    """Take away the frame and the ticks."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def marks(n_points: int) -> float:
    """Size of the marks on a line of so many points: crowded ones are smaller."""
    return 5.0 if n_points <= 40 else max(1.2, 5.0 * (40 / n_points) ** 0.6)


def action_colours(n_actions: int) -> Floats:
    """A colour for each action as RGBA rows: distinct ones, or a scale when there are many."""
    if n_actions <= len(CATEGORIES):
        return np.array([to_rgba(colour) for colour in CATEGORIES[:n_actions]])
    return np.asarray(mpl.colormaps["viridis"](np.linspace(0.0, 0.95, n_actions)))


def occupancy_colours() -> Colormap:
    """From white through blue, light enough for dark arrows to stay readable."""
    return LinearSegmentedColormap.from_list(
        "occupancy", ["#ffffff", "#dcebf7", "#a9cfe8", "#62a8d6", "#2f7fb8"]
    )


def count_stages(axes: Axes, last: int) -> None:
    """Whole numbers from 0 to at most ``last`` on the axis of stages."""
    axes.set_xticks(range(0, last + 1, max(1, -(-last // 9))))


def spread(n: int, most: int) -> list[int]:
    """All places of n, or ``most`` of them evenly spread, first and last included."""
    if n <= most:
        return list(range(n))
    return sorted({int(k) for k in np.linspace(0, n - 1, most).round()})


def digits(value: float) -> str:
    """A number in four digits, with a minus sign like that of the axes."""
    return f"{value + 0.0:.4g}".replace("-", "\N{MINUS SIGN}")


def short(text: str, most: int = 28) -> str:
    """The text, cut with dots where it is longer than ``most`` letters."""
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."
