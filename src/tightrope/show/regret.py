"""The four regrets drawn: mean over seeds as a line, and a band, least to greatest by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tightrope.arrays import Floats, Ints
from tightrope.show.style import BLUE, GREEN, GREY, ORANGE, digits, plain

Look = tuple[str, tuple[float, tuple[float, ...]]]

SOLID, DASHED, DOTTED = (0.0, ()), (0.0, (5.0, 1.6)), (0.0, (1.2, 1.4))
DASHES = {SOLID: "solid", DASHED: "dash", DOTTED: "dot"}
# learners over sets of kernels are drawn through, those with bonuses dashed
LOOKS: dict[str, Look] = {
    "OptCMDP": (BLUE, SOLID),
    "OptCMDP-bonus": (ORANGE, DASHED),
    "OptDual": (GREEN, SOLID),
    "OptPrimalDual": ("#cc79a7", DASHED),
}
OTHERS = ("#555555", "#56b4e9", "#8c6d31", "#9c7fd1", "#d55e00", "#0f8b8d", "#b5446e", "#6a994e")
KINDS = {
    "cost": "Reg cost",
    "cost_plus": "Reg\N{SUBSCRIPT PLUS SIGN} cost",
    "constraint": "Reg constraint",
    "constraint_plus": "Reg\N{SUBSCRIPT PLUS SIGN} constraint",
}
DECADES = 2  # of a symmetric logarithmic scale, on either side of its linear middle
NOTHING = 1e-9  # regrets below this are rounding
SUPERSCRIPT = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


@dataclass(frozen=True)
class RegretCurves:
    """Regrets of one learner over several seeds, in shown units.

    Parameters
    ----------
    name : str
        Who learned.
    episode : (P,) array
        Recorded episodes.
    cost, cost_plus : (N, P) arrays
        Cumulative excess of cost and of its positive parts, a row for each of N seeds.
    constraint, constraint_plus : (N, P) arrays or None
        Largest over the constraints; None for a model without any.
    is_heuristic : bool
        Whether its confidence gives the guarantees up, which the picture then says.
    bands : tuple of pairs of (P,) arrays
        Low and high for each regret that is not None; least and greatest when not given.
    """

    name: str
    episode: Ints  # (P,)
    cost: Floats  # (N, P)
    cost_plus: Floats  # (N, P)
    constraint: Floats | None  # (N, P)
    constraint_plus: Floats | None  # (N, P)
    is_heuristic: bool = False
    bands: tuple[tuple[Floats, Floats], ...] = ()


def draw_regrets(
    panels: Sequence[Axes], curves: Sequence[RegretCurves], labels: Sequence[str]
) -> list[Line2D]:
    """Fill four panels, cost first; return a line for each learner, for the legend.

    Parameters
    ----------
    panels : sequence of Axes
        Four of them.
    curves : sequence of RegretCurves
        One for each learner.
    labels : sequence of str
        What is counted in each panel.
    """
    looks = _looks([each.name for each in curves])
    for k, (axes, (kind, title), label) in enumerate(
        zip(panels, KINDS.items(), labels, strict=True)
    ):
        axes.set_title(title)
        found = [getattr(each, kind) for each in curves]
        if any(values is None for values in found):
            plain(axes)
            axes.text(0.5, 0.5, "no constraints", color=GREY, ha="center", va="center")
            continue
        for each, values, look in zip(curves, found, looks, strict=True):
            band = each.bands[k] if each.bands else (values.min(axis=0), values.max(axis=0))
            _draw_band(axes, each.episode, values, band, look)
        axes.set_ylabel(label)
        _scale_regrets(axes, np.concatenate([np.ravel(values) for values in found]))
        _scale_episodes(axes, max(int(each.episode[-1]) for each in curves))
        axes.grid()
    return [
        Line2D([], [], color=colour, linestyle=dashes, linewidth=2.0, label=_label(each))
        for each, (colour, dashes) in zip(curves, looks, strict=True)
    ]


def draw_references(panels: Sequence[Axes], curves: Sequence[RegretCurves]) -> list[Line2D]:
    """Draw ``c * sqrt(episode)`` through the highest positive end of each panel; its legend.

    Parameters
    ----------
    panels : sequence of Axes
        Four of them, filled.
    curves : sequence of RegretCurves
        One for each learner.
    """
    for axes, kind in zip(panels, KINDS, strict=True):
        ends = [
            (float(values[:, -1].mean()), each.episode)
            for each in curves
            if (values := getattr(each, kind)) is not None
        ]
        highest, episode = max(ends, key=lambda end: end[0], default=(0.0, None))
        if episode is not None and highest > NOTHING:
            growth = highest * np.sqrt(episode / episode[-1])
            axes.plot(episode, growth, color=GREY, linestyle=DOTTED, linewidth=1.4, zorder=2)
    label = "c\N{SQUARE ROOT}K"
    return [Line2D([], [], color=GREY, linestyle=DOTTED, linewidth=1.4, label=label)]


def looks_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Colour of each learner, and "solid", "dash" or "dot", for those who draw by other means."""
    return [(colour, DASHES[dashes]) for colour, dashes in _looks(names)]


def _label(curves: RegretCurves) -> str:
    return f"{curves.name} (heuristic)" if curves.is_heuristic else curves.name


def _looks(names: Sequence[str]) -> list[Look]:
    """Colour and dashes of each learner; those of the paper look the same in every picture."""
    strangers = [name for name in names if name not in LOOKS]
    all_others = [(colour, dashes) for dashes in DASHES for colour in OTHERS]
    rest: dict[str, Look] = {n: all_others[k % len(all_others)] for k, n in enumerate(strangers)}
    return [LOOKS.get(name) or rest[name] for name in names]


def _draw_band(
    axes: Axes, episode: Ints, values: Floats, band: tuple[Floats, Floats], look: Look
) -> None:
    colour, dashes = look
    if len(values) > 1:
        axes.fill_between(episode, *band, color=colour, alpha=0.18, linewidth=0, zorder=2)
    mean, marker = values.mean(axis=0), "o" if len(episode) == 1 else ""
    axes.plot(episode, mean, color=colour, linestyle=dashes, marker=marker, linewidth=1.8, zorder=3)


def _scale_regrets(axes: Axes, values: Floats) -> None:
    """Logarithmic where all is positive; else linear around zero, logarithmic beyond."""
    largest = float(np.abs(values).max())
    if values.min() > 0 and largest > NOTHING:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        if largest < 10 * values.min():  # too few powers of ten to read
            axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
            axes.yaxis.set_minor_formatter(FuncFormatter(power))
        else:
            axes.yaxis.set_minor_formatter(NullFormatter())
    elif largest > NOTHING:
        middle = 10.0 ** (np.floor(np.log10(largest)) - DECADES)
        axes.set_yscale("symlog", linthresh=middle, linscale=0.6)
        axes.set_yticks(_powers(float(values.min()), float(values.max()), middle))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.axhline(0.0, color=GREY, linewidth=1.0, zorder=1)
    else:
        axes.set_ylim(-1.0, 1.0)
        axes.axhline(0.0, color=GREY, linewidth=1.0, zorder=1)
    axes.yaxis.set_major_formatter(FuncFormatter(power))


def _powers(low: float, high: float, least: float) -> list[float]:
    """Zero and the powers of ten from `least` on that lie between low and high, on either side."""
    exponents = np.arange(np.log10(least), np.log10(max(-low, high, least)) + 1e-9)
    powers = 10.0**exponents
    return [*(-powers[powers <= -low][::-1]), 0.0, *powers[powers <= high]]


def _scale_episodes(axes: Axes, last: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1.0, max(last, 2))
    axes.xaxis.set_major_locator(LogLocator(numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(power))
    axes.xaxis.set_minor_formatter(NullFormatter())


def power(value: float, _: object = None) -> str:
    """A number in digits, or as a power of ten where it is one that has many."""
    size = abs(value)
    if size == 0 or 1e-3 < size < 1e4:
        return digits(value)
    exponent = int(np.floor(np.log10(size) + 1e-9))
    lead = digits(value / 10.0**exponent)
    factor = lead[:-1] if lead in ("1", "\N{MINUS SIGN}1") else f"{lead}\N{MULTIPLICATION SIGN}"
    return f"{factor}10{str(exponent).translate(SUPERSCRIPT)}"
