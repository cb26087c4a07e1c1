"""Pieces of HTML: lengths, colours and ends by hand; well-formed also when there is nothing."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from tightrope.model.html import bar, card, heat, spark, table

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("used", "limit", "width", "is_red"),
    [(0.5, 1.0, 50, False), (1.0, 1.0, 100, False), (1.5, 1.0, 100, True), (0.0, 0.0, 0, False)],
)
def test_a_bar_is_as_long_as_the_share_and_red_beyond(used, limit, width, is_red):
    filled = ElementTree.fromstring(bar(used, limit)).findall(f"{SVG}rect")[1]
    assert float(filled.get("width")) == width
    assert (filled.get("fill") == "#d55e00") == is_red


def test_a_line_keeps_its_ends_and_leaves_out_what_is_not_finite():
    x = np.arange(5000.0)
    y = np.where(x == 7, np.nan, np.sqrt(x))
    line = ElementTree.fromstring(spark(x, y, "root")).find(f"{SVG}polyline")
    points = [tuple(map(float, word.split(","))) for word in line.get("points").split()]
    assert points[0] == (2.0, 38.0)
    assert points[-1] == (148.0, 2.0)
    assert len(points) < 300


def test_pieces_of_nothing_are_well_formed():
    pieces = (spark(np.zeros(0), np.zeros(0), ""), heat(np.zeros((2, 0)), ""), table([""], []))
    ElementTree.fromstring(card("", [], *pieces))


def test_a_heat_by_hand():
    # shares 1, 1/4 and 0 of the most have the shades 1, half way from 0.12 to 1, and none;
    # equal neighbours share a box
    picture = ElementTree.fromstring(heat(np.array([[4.0, 4.0, 1.0], [0.0, 1.0, 0.0]]), "by hand"))
    drawn = {path.get("fill-opacity"): path.get("d") for path in picture.iter(f"{SVG}path")}
    assert drawn == {
        "0.05": "M0 0h3v2h-3z",
        "0.56": "M2 0h1v1h-1zM1 1h1v1h-1z",
        "1": "M0 0h2v1h-2z",
    }
