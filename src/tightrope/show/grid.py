"""Drawings of grid worlds: terrain, occupancy and policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch, Rectangle

from tightrope.arrays import Bools, Floats, Ints
from tightrope.errors import ConfigError
from tightrope.model import Layout, Model, Plan
from tightrope.show.style import (
    EDGE,
    GREEN,
    INK,
    ORANGE,
    RED,
    WALL,
    fit_legend,
    occupancy_colors,
    plain,
    stroke,
)

FREE = "#SG. "
HATCHES = ("////", "\\\\\\\\", "xxxx", "....")
FAINT = 0.02  # less likely actions have no arrow
REACH = 0.46  # length of the arrow of an action with probability 1, in cells
SELDOM = 0.05  # arrows in cells with a smaller share of the most visits are fainter
MANY_CELLS = 4000  # a larger map is drawn without lines between its cells
LEGEND = 0.85  # largest width of the legend, relative to that of the figure
CORNER = 0.34  # distance of a letter from the center of its cell


class Visits(NamedTuple):
    """Visits and actions of a plan by cell."""

    often: Floats  # (R, C) expected visits, or the probability at one stage
    share: Floats  # (R, C, A) share of each action in these visits
    is_end: Bools  # (R, C) whether the cell is absorbing

    @property
    def most(self) -> float:
        """The most visits of a cell that is not absorbing; of any cell if all are."""
        on_the_way = float(self.often[~self.is_end].max(initial=0.0))
        return on_the_way or float(self.often.max()) or 1.0


def grid_size(layout: Layout) -> tuple[int, int]:
    """Return the numbers of rows and columns of a map."""
    return len(layout.rows), max(map(len, layout.rows))


def draw_grid(axes: Axes, cmdp: Model, plan: Plan, stage: int | None) -> tuple[QuadMesh, bool]:
    """Draw the map, the occupancy as color and the policy as arrows.

    Return the color image, and whether some cell has more visits than its scale.
    """
    layout = cmdp.layout
    if layout is None:
        raise ConfigError.about(
            "layout", more="the model has no map; see policy_figure for such models"
        )
    visits = visits_of(cmdp, plan, stage, layout)
    rows, columns = grid_size(layout)
    few = rows * columns <= MANY_CELLS
    colors = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        visits.often,
        cmap=occupancy_colors(),
        vmin=0.0,
        vmax=visits.most,
        edgecolors=EDGE if few else "none",
        linewidth=stroke(0.6),
        rasterized=not few,
    )
    axes.set_aspect("equal")
    axes.set_xlim(-0.55, columns - 0.45)
    axes.set_ylim(rows - 0.45, -0.55)
    plain(axes)
    handles = [*_ground(axes, layout), *_ends(axes, cmdp, layout)]
    _arrows(axes, visits, layout.moves)
    if handles:
        how = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.01)}
        room = LEGEND * axes.figure.bbox.width
        fit_legend(axes, handles, 4, room, handlelength=1.4, columnspacing=1.4, **how)
    return colors, float(visits.often.max()) > visits.most


def visits_of(cmdp: Model, plan: Plan, stage: int | None, layout: Layout) -> Visits:
    """Return visits and shares of actions by cell, at one stage or over all."""
    q = plan.occupancies.sum(axis=0) if stage is None else plan.occupancies[stage]
    rows, columns = grid_size(layout)
    cells = np.asarray(layout.cells)
    shown = cells[:, 0] >= 0
    r, c = cells[shown].T
    flow = np.zeros((rows, columns, cmdp.n_actions))
    np.add.at(flow, (r, c), q[shown])
    is_end = np.zeros((rows, columns), dtype=np.bool_)
    is_end[r, c] = _keeps(cmdp)[shown]
    often = flow.sum(axis=2)
    share = np.divide(flow, often[:, :, None], out=np.zeros_like(flow), where=flow > 0)
    return Visits(often, share, is_end)


def _keeps(cmdp: Model) -> Bools:
    """Return which states no action leaves, (S,)."""
    p, A = cmdp.transitions, cmdp.n_actions
    leaves = np.zeros(cmdp.n_states, dtype=np.bool_)
    for indptr, indices, data in zip(*p, strict=True):
        source = np.repeat(np.arange(indptr.size - 1), np.diff(indptr)) // A
        target = indices[: source.size]
        leaves[source[(target != source) & (data[: source.size] > 0)]] = True
    return ~leaves


def _ground(axes: Axes, layout: Layout) -> list[Patch]:
    """Draw walls, and ground with its letter."""
    letters = sorted({letter for row in layout.rows for letter in row if letter not in FREE})
    size = _letter_size(layout)
    for r, row in enumerate(layout.rows):
        for c, letter in enumerate(row):
            if letter == "#":
                axes.add_patch(_cell(r, c, facecolor=WALL, edgecolor=WALL))
            elif letter in letters:
                hatch = HATCHES[letters.index(letter) % len(HATCHES)]
                axes.add_patch(
                    _cell(r, c, facecolor="none", edgecolor=to_rgba(RED, 0.55), hatch=hatch)
                )
                _letter(axes, r, c, letter, size)
    handles = [
        Patch(
            facecolor="none",
            edgecolor=to_rgba(RED, 0.8),
            hatch=HATCHES[k % len(HATCHES)],
            label=f"ground {letter!r}",
        )
        for k, letter in enumerate(letters)
    ]
    has_wall = any("#" in row for row in layout.rows)
    return [*handles, *([Patch(facecolor=WALL, label="wall")] if has_wall else [])]


def _ends(axes: Axes, cmdp: Model, layout: Layout) -> list[Patch]:
    """Draw start cells and goals."""
    starts = [layout.cells[s] for s in np.flatnonzero(cmdp.initial > 0)]
    goals = [(r, c) for r, row in enumerate(layout.rows) for c, x in enumerate(row) if x == "G"]
    size = _letter_size(layout)
    handles = []
    for word, letter, color, cells in (
        ("start", "S", ORANGE, [(int(r), int(c)) for r, c in starts if r >= 0]),
        ("goal", "G", GREEN, goals),
    ):
        for r, c in cells if len(cells) <= MANY_CELLS else ():
            axes.add_patch(
                _cell(r, c, inset=0.06, facecolor="none", edgecolor=color, linewidth=stroke(2.0))
            )
            _letter(axes, r, c, letter, size, weight="bold")
        if cells:
            handles.append(
                Patch(facecolor="none", edgecolor=color, linewidth=stroke(2.0), label=word)
            )
    return handles


def _arrows(axes: Axes, visits: Visits, moves: tuple[tuple[int, int], ...]) -> None:
    """Draw an arrow per action, longer and darker the more likely it is."""
    r, c, a = np.nonzero(visits.share >= FAINT)
    share = visits.share[r, c, a]
    step: Ints = np.array(moves).reshape(-1, 2)[a]
    goes = step.any(axis=1) & ~visits.is_end[r, c]
    stays = ~step.any(axis=1) & ~visits.is_end[r, c]
    color = np.tile(to_rgba(INK), (len(share), 1))
    known = np.minimum(1.0, visits.often[r, c] / (SELDOM * visits.most))
    color[:, 3] = (0.25 + 0.75 * share) * (0.3 + 0.7 * known)
    way = step / np.maximum(1.0, np.hypot(*step.T))[:, None]
    length = REACH * (0.4 + 0.6 * share)
    # an arrow of probability 1 crosses the center, others start there
    tail = np.where(share > 1 - FAINT, -REACH / 2, 0.07)
    if goes.any():
        axes.quiver(
            (c + way[:, 1] * tail)[goes],
            (r + way[:, 0] * tail)[goes],
            (way[:, 1] * length)[goes],
            (way[:, 0] * length)[goes],
            color=color[goes],
            angles="xy",
            scale_units="xy",
            scale=1.0,
            units="xy",
            width=0.055,
            headwidth=3.6,
            headlength=3.6,
            headaxislength=3.2,
            minlength=0.0,
            zorder=4,
        )
    if stays.any():
        axes.scatter(
            c[stays], r[stays], s=stroke(7.75) ** 2 * share[stays], color=color[stays], zorder=4
        )


def _cell(r: int, c: int, inset: float = 0.0, **look: object) -> Rectangle:
    width = 1 - 2 * inset
    return Rectangle((c - 0.5 + inset, r - 0.5 + inset), width, width, **look)  # type: ignore[arg-type]


def _letter(axes: Axes, r: int, c: int, letter: str, size: float, weight: str = "normal") -> None:
    if size >= 4:
        axes.text(
            c - CORNER,
            r - CORNER,
            letter,
            ha="center",
            va="center",
            fontsize=size,
            fontweight=weight,
            zorder=5,
        )


def _letter_size(layout: Layout) -> float:
    """Return the font size that fits the corner of a cell."""
    return stroke(min(8.0, 90.0 / max(grid_size(layout))))
