"""Figures of learning against episodes: the four regrets, and realized sums.

Each returns a Matplotlib `Figure`: a new one, or that of the axes given by ``ax``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from textwrap import fill
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tightrope.arrays import Floats, Ints
from tightrope.show.style import (
    BLUE,
    GRAY,
    GREEN,
    INK,
    LOOK,
    ORANGE,
    RED,
    AxesLike,
    check_panel,
    digits,
    figure_of,
    fit_legend,
    house_style,
    panels_in,
    plain,
    sheet,
    short,
    stroke,
)

Look = tuple[str, tuple[float, tuple[float, ...]]]

SOLID, DASHED, DOTTED = (0.0, ()), (0.0, (5.0, 1.6)), (0.0, (1.2, 1.4))
DASHES = {SOLID: "solid", DASHED: "dash", DOTTED: "dot"}
PAPER_COLORS = (BLUE, ORANGE, GREEN, "#cc79a7")
OTHERS = ("#555555", "#56b4e9", "#8c6d31", "#9c7fd1", "#d55e00", "#0f8b8d", "#b5446e", "#6a994e")
KINDS = {
    "cost": "Reg cost",
    "cost_plus": "Reg\N{SUBSCRIPT PLUS SIGN} cost",
    "constraint": "Reg constraint",
    "constraint_plus": "Reg\N{SUBSCRIPT PLUS SIGN} constraint",
}
LINE = 11.2  # characters of a title per inch
MOST_POINTS = 2000  # of a curve of realized sums
DECADES = 2  # of a symmetric logarithmic scale, on either side of its linear part
MOST_DECADES = 5  # of one whose values are not negative
MOST_TICKS = 6  # of a logarithmic scale
LINEAR_PART = 0.6  # length of half the linear part, in decades
NOTHING = 1e-9  # regrets below this are rounding
SUPERSCRIPT = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


@dataclass(frozen=True)
class RegretCurves:
    """Regrets of one learner over N seeds, recorded at P episodes, in shown units."""

    name: str  # of the learner
    episode: Ints  # (P,)
    cost: Floats  # (N, P) cumulative excess of cost
    cost_plus: Floats  # (N, P) the same of its positive parts
    constraint: Floats | None  # (N, P) largest over the constraints; None for a model without any
    constraint_plus: Floats | None  # (N, P)
    is_heuristic: bool = False  # whether its confidence has no guarantee
    bands: tuple[tuple[Floats, Floats], ...] = ()  # (P,) for each regret; least and greatest if ()


class Named(Protocol):
    """Curves of a learner."""

    @property
    def name(self) -> str:
        """Name of the learner."""

    @property
    def is_heuristic(self) -> bool:
        """Whether its constants have no guarantee."""


def regret_figure(
    curves: Sequence[RegretCurves],
    title: str,
    conditions: str,
    cost: str = "cost",
    constraint: str = "constraint",
    has_reference: bool = False,
    ax: AxesLike | None = None,
    panel: str | None = None,
) -> Figure:
    """Draw the four regrets against episodes: a color for each learner, a band over its seeds.

    Parameters
    ----------
    curves : sequence of RegretCurves
        One for each learner.
    title : str
        What was learned.
    conditions : str
        Seeds, delta, confidence and rho, in a line under the title.
    cost : str
        Unit of the cost.
    constraint : str
        Unit of the constraints.
    has_reference : bool
        Whether to draw square-root growth through the highest end of each panel.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: four, or one for a single ``panel``. The title and
        the conditions are then left to the caller, and the legend goes into the first.
    panel : {"cost", "cost_plus", "constraint", "constraint_plus"}, optional
        The only regret to draw; all four by default.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.show.regret import RegretCurves, regret_figure
    >>> regrets = np.array([[1.0, 2.0, 2.5], [1.0, 1.5, 2.0]])  # two seeds
    >>> curves = RegretCurves("OptCMDP", np.array([1, 10, 20]), *[regrets] * 4)
    >>> len(regret_figure([curves], "ring", "2 seeds").axes)
    4
    """
    kinds = check_panel(panel, list(KINDS))
    labels = dict(zip(KINDS, [short(cost)] * 2 + [short(constraint)] * 2, strict=True))
    with house_style():
        given = None if ax is None else panels_in(ax, kinds, panel is None)
        if given:
            panels = given
        elif panel is None:
            panels = sheet(8.6, 6.6).subplots(2, 2, sharex=True).ravel().tolist()
        else:
            panels = [sheet(8.6, 4.8).add_subplot()]
        lines = draw_regrets(panels, curves, {kind: labels[kind] for kind in kinds})
        if has_reference:
            lines += draw_references(panels, curves, kinds)
        for axes in panels[-2:]:
            axes.set_xlabel("episode")
        if any(each.is_heuristic for each in curves):
            place = panels[min(1, len(panels) - 1)]
            words = place.set_title("heuristic: no guarantee", loc="right", color=RED)
            words.set(fontsize="small", fontweight="normal")
        if given:
            panels[0].legend(handles=lines)
        else:
            head_panels(panels, title, conditions, lines, 4)
    return figure_of(panels[0])


def head_panels(
    panels: Sequence[Axes], title: str, conditions: str, lines: Sequence[Line2D], n_columns: int
) -> None:
    """Add a title above the panels, except in papers, and a legend below."""
    figure = figure_of(panels[0])
    figure.align_ylabels(panels)
    is_paper = LOOK.get().style == "paper"
    if not is_paper:
        words = f"{title}\n{fill(conditions, int(LINE * figure.get_figwidth()))}"
        figure.suptitle(words, x=0.012, ha="left", fontsize=10.5)
    fit_legend(figure, lines, n_columns, 0.98 * figure.bbox.width, loc="outside lower center")


def draw_regrets(
    panels: Sequence[Axes], curves: Sequence[RegretCurves], labels: Mapping[str, str]
) -> list[Line2D]:
    """Fill a panel for each kind in ``labels``; return a line for each learner, for the legend."""
    looks = looks_for([each.name for each in curves])
    for axes, (kind, label) in zip(panels, labels.items(), strict=True):
        axes.set_title(KINDS[kind])
        found = [getattr(each, kind) for each in curves]
        if any(values is None for values in found):
            plain(axes)
            axes.text(0.5, 0.5, "no constraints", color=GRAY, ha="center", va="center")
            continue
        for each, values, look in zip(curves, found, looks, strict=True):
            band = values.min(axis=0), values.max(axis=0)
            if each.bands:
                band = each.bands[list(KINDS).index(kind)]
            draw_curves(axes, each.episode, values, band, look)
        axes.set_ylabel(regret_label(label))
        _scale_regrets(axes, np.concatenate([np.ravel(values) for values in found]))
        scale_episodes(axes, max(int(each.episode[-1]) for each in curves))
        axes.grid()
    return [
        Line2D(
            [],
            [],
            color=color,
            linestyle=dashes,
            linewidth=stroke(2.0),
            label=label_of_learner(each),
        )
        for each, (color, dashes) in zip(curves, looks, strict=True)
    ]


def draw_references(
    panels: Sequence[Axes], curves: Sequence[RegretCurves], kinds: Sequence[str]
) -> list[Line2D]:
    """Draw ``c * sqrt(episode)`` through the highest end of each panel; return the legend."""
    for axes, kind in zip(panels, kinds, strict=True):
        ends = [
            (float(values[:, -1].mean()), each.episode)
            for each in curves
            if (values := getattr(each, kind)) is not None
        ]
        highest, episode = max(ends, key=lambda end: end[0], default=(0.0, None))
        if episode is not None and highest > NOTHING:
            growth = highest * np.sqrt(episode / episode[-1])
            axes.plot(
                episode, growth, color=GRAY, linestyle=DOTTED, linewidth=stroke(1.4), zorder=2
            )
    label = "c\N{SQUARE ROOT}K"
    return [Line2D([], [], color=GRAY, linestyle=DOTTED, linewidth=stroke(1.4), label=label)]


def looks_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return color and line style ("solid", "dash" or "dot") of each learner."""
    return [(color, DASHES[dashes]) for color, dashes in looks_for(names)]


def label_of_learner(curves: Named) -> str:
    """Return the name of a learner for a legend, marked if its constants are heuristic."""
    return f"{curves.name} (heuristic)" if curves.is_heuristic else curves.name


def paperlooks_for() -> dict[str, Look]:
    """Return color and line style, one per kind of belief, of the paper's learners."""
    from tightrope.learners import LEARNERS

    learners = [each for each in LEARNERS.values() if each.group == "paper"]
    lines = dict(zip(dict.fromkeys(each.belief for each in learners), cycle(DASHES), strict=False))
    return {
        each.name: (color, lines[each.belief])
        for each, color in zip(learners, PAPER_COLORS, strict=False)
    }


def looks_for(names: Sequence[str]) -> list[Look]:
    """Return color and dashes of each learner; those of the paper are the same in every figure."""
    known = paperlooks_for()
    strangers = [name for name in names if name not in known]
    all_others = [(color, dashes) for dashes in DASHES for color in OTHERS]
    rest: dict[str, Look] = {n: all_others[k % len(all_others)] for k, n in enumerate(strangers)}
    return [known.get(name) or rest[name] for name in names]


def draw_curves(
    axes: Axes, episode: Ints, values: Floats, band: tuple[Floats, Floats], look: Look
) -> None:
    """Draw the mean over seeds of (N, P) values with a band."""
    color, dashes = look
    if len(values) > 1:
        axes.fill_between(episode, *band, color=color, alpha=0.18, linewidth=0, zorder=2)
    mean, marker = values.mean(axis=0), "o" if len(episode) == 1 else ""
    axes.plot(
        episode, mean, color=color, linestyle=dashes, marker=marker, linewidth=stroke(1.8), zorder=3
    )


def regret_label(unit: str) -> str:
    """Return the title of an axis of regret, on two lines if it is long."""
    text = f"cumulative regret ({unit})"
    return text if len(text) <= 34 else text.replace(" (", "\n(")


def regret_scale(values: Floats) -> tuple[str, float]:
    """Return the scale of an axis of regret: its kind, and the end of its linear part.

    Positive values have a logarithmic scale, others a symmetric logarithmic one.
    """
    sizes = np.abs(values)
    largest = float(sizes.max())
    if largest <= NOTHING:
        return "linear", 0.0
    if values.min() > 0:
        return "log", 0.0
    most = float(np.floor(np.log10(largest)))
    least = most - DECADES
    if values.min() >= 0:
        smallest = float(np.floor(np.log10(sizes[sizes > NOTHING].min())))
        least = min(least, max(smallest, most - MOST_DECADES))
    return "symlog", 10.0**least


def _scale_regrets(axes: Axes, values: Floats) -> None:
    kind, threshold = regret_scale(values)
    if kind == "log":
        axes.set_yscale("log")
        axes.set_yticks(log_ticks(float(values.min()), float(values.max())))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif kind == "symlog":
        axes.set_yscale("symlog", linthresh=threshold, linscale=LINEAR_PART)
        axes.set_yticks(regret_ticks(float(values.min()), float(values.max()), threshold))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.axhline(0.0, color=GRAY, linewidth=stroke(1.0), zorder=1)
    else:
        axes.set_ylim(-1.0, 1.0)
        axes.axhline(0.0, color=GRAY, linewidth=stroke(1.0), zorder=1)
    axes.yaxis.set_major_formatter(FuncFormatter(power))


def log_ticks(low: float, high: float) -> list[float]:
    """Return at most six powers of ten in a range; two and five times them if there are too few."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.floor(np.log10(high)) + 1)
    inside = powers[(powers >= low) & (powers <= high)]
    if inside.size > 1:
        return list(map(float, inside[:: -(-inside.size // MOST_TICKS)]))
    steps = np.outer(powers, (1.0, 2.0, 5.0)).ravel()
    found = steps[(steps >= low) & (steps <= high)].tolist()
    return found if len(found) > 1 else [low, high]


def regret_ticks(low: float, high: float, least: float) -> list[float]:
    """Return zero and the positive and negative powers of ten from `least` on in the range."""
    exponents = np.arange(np.log10(least), np.log10(max(-low, high, least)) + 1e-9)
    powers = 10.0**exponents
    return [*(-powers[powers <= -low][::-1]), 0.0, *powers[powers <= high]]


def scale_episodes(axes: Axes, last: int, most_ticks: int = 8) -> None:
    """Use a logarithmic scale of episodes up to the last."""
    axes.set_xscale("log")
    axes.set_xlim(1.0, max(last, 2))
    axes.xaxis.set_major_locator(LogLocator(numticks=most_ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(power))
    axes.xaxis.set_minor_formatter(NullFormatter())


def power(value: float, _: object = None) -> str:
    """Return a number in digits, or as a power of ten if that is shorter."""
    size = abs(value)
    if size == 0 or 1e-3 < size < 1e4:
        return digits(value)
    exponent = int(np.floor(np.log10(size) + 1e-9))
    lead = digits(value / 10.0**exponent)
    factor = lead[:-1] if lead in ("1", "\N{MINUS SIGN}1") else f"{lead}\N{MULTIPLICATION SIGN}"
    return f"{factor}10{str(exponent).translate(SUPERSCRIPT)}"


@dataclass(frozen=True)
class Course:
    """Realized sums of the episodes of one learner."""

    name: str  # of the learner
    totals: Floats  # (K,)
    mean: Floats  # (K,) of the first n episodes
    low: Floats  # (K,) band of the mean
    high: Floats  # (K,)


@dataclass(frozen=True)
class RealizedPanel:
    """A panel for one quantity."""

    name: str  # what is summed
    budget: float | None  # largest allowed expected sum; None for the reward
    courses: Sequence[Course]  # one for each learner and seed


def realized_figure(
    panels: Sequence[RealizedPanel],
    title: str,
    conditions: str,
    window: int,
    ax: AxesLike | None = None,
) -> Figure:
    """Draw realized sums against episodes, a panel for each quantity.

    ``conditions`` is a line under the title, ``window`` the number of episodes of a trailing mean.
    With ``ax``, one for each panel, the title and the conditions are left to the caller, and the
    legend goes into the first.
    """
    n = len(panels)
    with house_style():
        given = None if ax is None else panels_in(ax, [panel.name for panel in panels])
        axes = (
            given
            or sheet(7.6, 1.4 + 2.3 * n).subplots(n, 1, sharex=True, squeeze=False)[:, 0].tolist()
        )
        names = [course.name.partition(",")[0] for course in panels[0].courses]
        looks = [color for color, _ in looks_of(names)]
        for each, panel in zip(axes, panels, strict=True):
            for course, color in zip(panel.courses, looks, strict=True):
                _draw_course(each, course, color, window)
            if panel.budget is not None:
                each.axhline(panel.budget, color=RED, linestyle=(0, (5, 2)), linewidth=stroke(1.2))
            each.set_ylabel(short(panel.name))
            each.grid()
        axes[-1].set_xlabel("episode")
        lines = _course_lines(dict(zip(names, looks, strict=True)), window)
        if any(panel.budget is not None for panel in panels):
            lines.append(Line2D([], [], color=RED, linestyle=(0, (5, 2)), label="budget"))
        if given:
            axes[0].legend(handles=lines)
        else:
            head_panels(axes, title, conditions, lines, 3)
    return figure_of(axes[0])


def _draw_course(axes: Axes, course: Course, color: str, window: int) -> None:
    K = course.totals.size
    points = np.unique(np.linspace(0, K - 1, MOST_POINTS).round().astype(int))
    episode = points + 1
    upto = np.concatenate(([0.0], np.cumsum(course.totals)))
    n = np.minimum(episode, window)
    trailing = (upto[episode] - upto[episode - n]) / n
    marker = "o" if K == 1 else ""

    axes.fill_between(
        episode, course.low[points], course.high[points], color=color, alpha=0.14, linewidth=0
    )
    axes.plot(episode, course.mean[points], color=color, linewidth=stroke(1.8), marker=marker)
    axes.plot(episode, trailing, color=color, linewidth=stroke(1.0), linestyle=(0, (1.2, 1.2)))


def _course_lines(looks: dict[str, str], window: int) -> list[Line2D]:
    found = [
        Line2D([], [], color=color, linewidth=stroke(1.8), label=f"{name}: mean so far, and band")
        for name, color in looks.items()
    ]
    dots = (0.0, (1.2, 1.2))
    last = f"mean of the last {window}" if window > 1 else "each episode"
    return [*found, Line2D([], [], color=INK, linestyle=dots, linewidth=stroke(1.0), label=last)]
