"""Fonts of figures, in a context and from an experiment."""

from __future__ import annotations

import pytest

import tightrope as tr
from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.show.figures import frontier_figure
from tightrope.show.style import figure_look


def texts(**look):
    cmdp = tr.envs.build("ring")
    with figure_look(**look):
        figure = frontier_figure(tr.frontier(cmdp, 0), cmdp)
    (axes,) = figure.axes
    return axes.xaxis.label, axes.get_xticklabels()[0]


def test_a_font_and_its_size_apply_to_all_text():
    label, tick = texts(font="DejaVu Serif", font_size=20.0)
    assert label.get_fontfamily() == ["DejaVu Serif"]
    assert (label.get_fontsize(), tick.get_fontsize()) == (20.0, 18.0)
    label, tick = texts(style="paper", font="serif", font_size=16.0)
    assert label.get_fontfamily() == ["serif"]
    assert (label.get_fontsize(), tick.get_fontsize()) == (16.0, 14.0)
    assert texts()[0].get_fontsize() == 10.0


@pytest.mark.parametrize(
    ("look", "argument"),
    [({"font": "No Such Font"}, "font"), ({"font": 3}, "font"), ({"font_size": 1}, "font_size")],
)
def test_fonts_that_are_not_there_are_refused(look, argument):
    with refuses(ConfigError, argument=argument):
        texts(**look)
