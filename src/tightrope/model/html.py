"""Pieces of HTML for notebooks: a card, a table, and small pictures as inline SVG.

Titles, facts, heads and captions are escaped here; what is said to be HTML already is not. The
pictures take the colour of the text around them, so that they read on light and on dark pages; what
comes out is well-formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.text import digits

BLUE, RED = "#2f86c1", "#d55e00"
CARD = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:62em"
CELL = "padding:1px 12px 1px 0;text-align:{side};border:0;background:none;white-space:nowrap"
SHADES, FAINTEST, WALL = 16, 0.12, 0.6
ROUNDING = 1e-9  # of a budget, beyond which a use is an excess


def card(title: str, facts: Sequence[str], *parts: str) -> str:
    """A heading, a line of facts under it, and parts that are HTML already."""
    line = escape(", ".join(facts))
    head = f'<div><strong>{escape(title)}</strong> <span style="opacity:.75">{line}</span></div>'
    return f'<div style="{CARD}">{head}{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are HTML already; the first column is words, the others numbers."""
    sides = ("left", *["right"] * (len(heads) - 1))
    top = "".join(
        f'<th style="{CELL.format(side=side)};font-weight:normal;opacity:.75">{escape(head)}</th>'
        for head, side in zip(heads, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{CELL.format(side=side)}">{cell}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    look = "border-collapse:collapse;margin:4px 0;font-variant-numeric:tabular-nums"
    return f'<table style="{look}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def number(value: float) -> str:
    """A number as people read it."""
    return digits(float(value), 5)


def figure(picture: str, caption: str) -> str:
    """A small picture with words under it, beside others of its kind."""
    words = f'<div style="opacity:.75;font-size:12px">{escape(caption)}</div>'
    return f'<div style="display:inline-block;margin:4px 16px 4px 0">{picture}{words}</div>'


def bar(used: float, limit: float) -> str:
    """How much of a limit is used: full at the limit, red beyond it."""
    exceeds = used > limit + ROUNDING * abs(limit) + 1e-14
    share = min(used / limit, 1.0) if limit > 0 else float(exceeds)
    colour = RED if exceeds else BLUE
    inside = (
        '<rect width="100" height="8" rx="2" fill="currentColor" fill-opacity="0.15"/>'
        f'<rect width="{100 * max(share, 0.0):.2f}" height="8" rx="2" fill="{colour}"/>'
    )
    return _svg(100, 8, f"{number(used)} of {number(limit)}", inside)


def spark(x: Floats, y: Floats, name: str) -> str:
    """A line without axes, and a faint one at zero.

    Parameters
    ----------
    x : (P,) array
        Increasing.
    y : (P,) array
        What is drawn; infinite or missing points are left out.
    name : str
        Said to those who do not see it.
    """
    width, height = 150, 40
    is_drawn = np.isfinite(y)
    x, y = np.asarray(x, dtype=np.float64)[is_drawn], np.asarray(y)[is_drawn]
    if not x.size:
        return _svg(width, height, name, "")
    low, high = min(float(y.min()), 0.0), max(float(y.max()), 0.0)
    up = height - 2 - (height - 4) * (y - low) / ((high - low) or 1.0)
    right = 2 + (width - 4) * (x - x[0]) / (float(x[-1] - x[0]) or 1.0)
    zero = height - 2 + (height - 4) * low / ((high - low) or 1.0)
    kept = _few(right)
    points = " ".join(f"{r:.1f},{u:.1f}" for r, u in zip(right[kept], up[kept], strict=True))
    inside = (
        f'<path d="M2 {zero:.1f}H{width - 2}" stroke="currentColor" stroke-opacity="0.35"/>'
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.6"/>'
    )
    return _svg(width, height, name, inside)


def heat(values: Floats, name: str, blocked: Floats | None = None) -> str:
    """A picture of a matrix: stronger where it is larger.

    Parameters
    ----------
    values : (R, C) array
        At least zero; zero is left empty.
    name : str
        Said to those who do not see it.
    blocked : (R, C) array, optional
        Cells that are not zero here are drawn as walls.
    """
    R, C = values.shape
    side = int(np.clip(240 // max(R, C, 1), 4, 14))
    most = float(values.max(initial=0.0)) or 1.0
    # the root, and a faintest shade, keep one in a hundred visible, on dark pages too
    shades = np.rint(SHADES * np.sqrt(np.clip(values / most, 0.0, 1.0)))
    parts = [f'<path d="M0 0h{C}v{R}h-{C}z" fill="currentColor" fill-opacity="0.05"/>']
    for shade in range(1, SHADES + 1):
        opacity = FAINTEST + (1.0 - FAINTEST) * shade / SHADES
        parts.append(_area(shades == shade, BLUE, opacity))
    if blocked is not None:
        parts.append(_area(blocked != 0, "currentColor", WALL))
    scaled = f'<g transform="scale({side})">{"".join(parts)}</g>'
    return _svg(C * side, R * side, name, scaled)


def _area(is_inside: Bools, colour: str, shade: float) -> str:
    """All cells of one colour as one path: a box for each run of cells in a row."""
    boxes = []
    for r, row in enumerate(is_inside):
        edges = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0))
        for start, end in edges.reshape(-1, 2).tolist():
            boxes.append(f"M{start} {r}h{end - start}v1h-{end - start}z")
    if not boxes:
        return ""
    return f'<path d="{"".join(boxes)}" fill="{colour}" fill-opacity="{shade:.2g}"/>'


def _few(right: Floats) -> list[int]:
    """Points at least half a pixel apart, and always the last."""
    kept = [0]
    for k, _ in enumerate(pairwise(right), start=1):
        if right[k] - right[kept[-1]] >= 0.5:
            kept.append(k)
    return kept if kept[-1] == len(right) - 1 else [*kept, len(right) - 1]


def _svg(width: int, height: int, name: str, inside: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}" '
        f'style="vertical-align:middle">{inside}</svg>'
    )
