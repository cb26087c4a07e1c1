"""Common style of all figures: colors, font sizes, blank figures and axes checks.

Colors are those of Okabe and Ito (2008), distinct for color-blind readers. No global state of
Matplotlib is read or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from tightrope.arrays import Floats, check_choice, is_number
from tightrope.errors import ConfigError

AxesLike = Axes | Sequence[Axes] | NDArray[Any]
INK, GRAY, EDGE, PALE, WALL = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#efefef", "#595959"
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
    "axes.edgecolor": GRAY,
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
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "pdf.fonttype": 42,  # text stays text in PDF and SVG
    "svg.fonttype": "none",
}
PAPER = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlepad": 4.0,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "savefig.dpi": 300,
}
LOOKS = ("screen", "paper")
STROKE = {"screen": 1.0, "paper": 0.6}  # factors of line widths and marker sizes
GENERIC = ("serif", "sans-serif", "monospace")
FLATTEST = 0.85  # height of a figure of a paper, at least, relative to its width


class Look(NamedTuple):
    """How figures are drawn: for the screen, or for a paper in small type without a heading."""

    style: str = "screen"
    width: float | None = None  # inches
    font: str | None = None  # family
    font_size: float | None = None  # points, of labels; titles and ticks keep their proportion


SCREEN = Look()
LOOK: ContextVar[Look] = ContextVar("LOOK", default=SCREEN)


@contextmanager
def figure_look(
    style: str = "screen",
    width: float | None = None,
    font: str | None = None,
    font_size: float | None = None,
) -> Iterator[None]:
    """Draw the figures of a context in a style, a width and a font.

    Parameters
    ----------
    style : {"screen", "paper"}
        For the screen, or for a paper: in small type with thinner lines, without the title and
        the conditions above the panels.
    width : float, optional
        Inches, from 1 to 40; as the figure needs by default.
    font : str, optional
        Family of an installed font, or ``"serif"``, ``"sans-serif"``, ``"monospace"``.
    font_size : float, optional
        Size of labels in points, from 2 to 40; titles and ticks keep their proportion to it.

    Returns
    -------
    context manager
        For a ``with`` statement.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.figures import frontier_figure
    >>> from tightrope.show.style import figure_look
    >>> cmdp = tr.envs.build("ring")
    >>> with figure_look("paper", width=3.25, font="serif"):
    ...     figure = frontier_figure(tr.frontier(cmdp, 0), cmdp)
    >>> float(figure.get_figwidth())
    3.25
    """
    check_choice("style", style, LOOKS)
    if width is not None and not (is_number(width) and 1.0 <= width <= 40.0):
        raise ConfigError.about("width", found=width, expected="a number of inches from 1 to 40")
    if font is not None and (not isinstance(font, str) or not _is_installed(font)):
        raise ConfigError.about("font", found=font, expected="the family of an installed font")
    if font_size is not None and not (is_number(font_size) and 2.0 <= font_size <= 40.0):
        raise ConfigError.about("font_size", found=font_size, expected="points from 2 to 40")
    numbers = (None if each is None else float(each) for each in (width, font_size))
    token = LOOK.set(Look(style, next(numbers), font, next(numbers)))
    try:
        yield
    finally:
        LOOK.reset(token)


@contextmanager
def house_style() -> Iterator[None]:
    """Apply our Matplotlib settings within a context."""
    settings: dict[str, Any] = dict(STYLE)
    look = LOOK.get()
    if look.style == "paper":
        settings |= PAPER
    if look.font is not None:
        settings["font.family"] = look.font
    if look.font_size is not None:
        scale = look.font_size / settings["font.size"]
        sizes = [name for name in settings if name.endswith("size")]
        settings |= {name: scale * settings[name] for name in sizes}
    with mpl.rc_context(settings):  # type: ignore[arg-type]
        yield


def _is_installed(font: str) -> bool:
    """Whether Matplotlib finds a font of this family, rather than taking another."""
    from matplotlib.font_manager import FontProperties, fontManager

    if font in GENERIC:
        return True
    try:
        fontManager.findfont(FontProperties(family=font), fallback_to_default=False)
    except ValueError:
        return False
    return True


class Sheet(Figure):
    """A figure that notebooks display even without pyplot, saved in the look it was drawn in."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._look = LOOK.get()

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Write the figure as `matplotlib.figure.Figure.savefig` does; text stays text."""
        token = LOOK.set(self._look)
        try:
            with house_style():
                super().savefig(fname, **settings)
        finally:
            LOOK.reset(token)

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi="figure")
        return file.getvalue()


def sheet(width: float, height: float) -> Figure:
    """Return a blank figure of that size in inches, or as wide as the look says."""
    look, pad = LOOK.get(), 0.1
    if look.width is not None:
        width, height = look.width, height * look.width / width
    if look.style == "paper":
        height, pad = max(height, FLATTEST * width), 0.03
    room = ConstrainedLayoutEngine(h_pad=pad, w_pad=pad)
    return Sheet(figsize=(width, height), layout=room, facecolor="white")


def figure_of(axes: Axes) -> Figure:
    """Return the top-level figure of the axes."""
    figure = axes.figure
    return figure if isinstance(figure, Figure) else figure.figure


def panels_in(axes: AxesLike, panels: Sequence[str], can_choose: bool = False) -> list[Axes]:
    """Return the given axes as a list, or raise `ConfigError` if they are not one per panel.

    With ``can_choose`` the caller has an argument ``panel``, which the error names.
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
    """Return the panels to draw: the chosen one or all; raise `ConfigError` if unknown."""
    if panel is None:
        return list(panels)
    if panel not in panels:
        raise ConfigError.about(
            "panel", found=panel, expected=f"one of {', '.join(map(repr, panels))}"
        )
    return [panel]


def fit_legend(
    owner: Axes | Figure, handles: Sequence[Any], n_columns: int, room: float, **how: Any
) -> None:
    """Add a legend of as many columns as fit into ``room`` pixels, and ``n_columns`` at most."""
    for columns in range(min(len(handles), n_columns), 0, -1):
        legend = owner.legend(handles=handles, ncols=columns, **how)
        if columns == 1 or legend.get_window_extent().width <= room:
            return
        legend.remove()


def plain(axes: Axes) -> None:
    """Remove the frame and the ticks."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def stroke(points: float) -> float:
    """Return the width of a line, or the size of a marker, in the look of the figure."""
    return points * STROKE[LOOK.get().style]


def marks(n_points: int) -> float:
    """Return the marker size for a line of that many points."""
    return stroke(5.0 if n_points <= 40 else max(1.2, 5.0 * (40 / n_points) ** 0.6))


def action_colors(n_actions: int) -> Floats:
    """Return a color for each action as RGBA rows: distinct ones, or a scale for many."""
    if n_actions <= len(CATEGORIES):
        return np.array([to_rgba(color) for color in CATEGORIES[:n_actions]])
    return np.asarray(mpl.colormaps["viridis"](np.linspace(0.0, 0.95, n_actions)))


def occupancy_colors() -> Colormap:
    """Return a color map from white to blue, light enough for dark arrows."""
    return LinearSegmentedColormap.from_list(
        "occupancy", ["#ffffff", "#dcebf7", "#a9cfe8", "#62a8d6", "#2f7fb8"]
    )


def count_stages(axes: Axes, last: int) -> None:
    """Set integer ticks from 0 to at most ``last`` on the axis of stages."""
    axes.set_xticks(range(0, last + 1, max(1, -(-last // 9))))


def spread(n: int, most: int) -> list[int]:
    """Return all indices below n, or ``most`` evenly spread ones including first and last."""
    if n <= most:
        return list(range(n))
    return sorted({int(k) for k in np.linspace(0, n - 1, most).round()})


def digits(value: float) -> str:
    """Return a number in four digits, with a typographic minus sign."""
    return f"{value + 0.0:.4g}".replace("-", "\N{MINUS SIGN}")


def short(text: str, most: int = 28) -> str:
    """Return the text, truncated with dots to ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."
