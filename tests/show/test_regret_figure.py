"""The figure of regrets shows the numbers it is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tightrope.show.figures import save
from tightrope.show.regret import (
    Course,
    RealizedPanel,
    RegretCurves,
    log_ticks,
    power,
    realized_figure,
    regret_figure,
)
from tightrope.show.style import BLUE, GREEN

EPISODE = np.arange(1, 101)


def curves(name, cost_sign=1.0, n_seeds=3, is_heuristic=False):
    growth = np.outer(np.arange(1, n_seeds + 1), np.sqrt(EPISODE))
    found = cost_sign * growth, growth, 2 * growth, 3 * growth
    return RegretCurves(name, EPISODE, *found, is_heuristic)


def drawn(*found, **options):
    return regret_figure(found, "Regret on ring", "3 seeds, delta 0.1", **options)


def test_each_panel_has_the_mean_as_a_line_and_the_extremes_as_a_band():
    found = curves("OptCMDP")
    for axes, factor in zip(drawn(found).axes, (1, 1, 2, 3), strict=True):
        (line,) = axes.lines
        np.testing.assert_allclose(line.get_xdata(), EPISODE)
        np.testing.assert_allclose(line.get_ydata(), factor * 2 * np.sqrt(EPISODE))
        (band,) = axes.collections
        corners = band.get_paths()[0].vertices
        assert corners[:, 1].min() == pytest.approx(factor * 1.0)
        assert corners[:, 1].max() == pytest.approx(factor * 30.0)


def test_panels_are_the_four_regrets_in_order_with_their_units():
    figure = drawn(curves("OptDual"), cost="euros", constraint="hours")
    assert [
        axes.get_title(loc="left").replace("\N{SUBSCRIPT PLUS SIGN}", "+") for axes in figure.axes
    ] == [
        "Reg cost",
        "Reg+ cost",
        "Reg constraint",
        "Reg+ constraint",
    ]
    units = ["euros", "euros", "hours", "hours"]
    titles = [f"cumulative regret ({unit})" for unit in units]
    assert [axes.get_ylabel() for axes in figure.axes] == titles


def test_a_learner_has_the_same_color_in_any_company():
    alone = drawn(curves("OptDual")).axes[0].lines[0].get_color()
    first, second = drawn(curves("OptCMDP"), curves("OptDual")).axes[0].lines
    assert to_hex(alone) == to_hex(second.get_color()) == GREEN
    assert to_hex(first.get_color()) == BLUE


def test_learners_besides_the_four_are_labeled_differently():
    lines = drawn(*map(curves, ("uniform", "optimal", "OptCMDP"))).axes[0].lines
    assert len({to_hex(line.get_color()) for line in lines}) == 3


def test_scales_are_logarithmic_and_symmetric_with_a_zero_line_where_regrets_are_negative():
    figure = drawn(curves("OptCMDP"), curves("OptDual", cost_sign=-1.0))
    assert [axes.get_yscale() for axes in figure.axes] == ["symlog", "log", "log", "log"]
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    assert list(figure.axes[0].lines[-1].get_ydata()) == [0.0, 0.0]
    assert len(figure.axes[1].lines) == 2


def test_no_regret_at_all_is_a_line_at_zero():
    nothing = np.zeros((2, 100))
    flat = RegretCurves("optimal", EPISODE, nothing, nothing, nothing + 1e-15, nothing)
    for axes in drawn(flat).axes:
        assert axes.get_yscale() == "linear"
        assert axes.get_ylim() == (-1.0, 1.0)


def test_heuristic_confidence_is_marked_and_only_then():
    bold = drawn(curves("OptCMDP"), curves("OptDual", is_heuristic=True))
    assert bold.axes[1].get_title(loc="right") == "heuristic: no guarantee"
    (legend,) = bold.legends
    assert [text.get_text() for text in legend.texts] == ["OptCMDP", "OptDual (heuristic)"]
    assert all(axes.get_title(loc="right") == "" for axes in drawn(curves("OptCMDP")).axes)


def test_a_model_without_constraints_is_an_error():
    growth = np.sqrt(EPISODE)[None]
    figure = drawn(RegretCurves("OptCMDP", EPISODE, growth, growth, None, None))
    assert [axes.texts[0].get_text() for axes in figure.axes[2:]] == ["no constraints"] * 2


def test_long_conditions_are_broken_into_lines_that_fit(tmp_path):
    words = "3 seeds, delta 0.1, confidence " + ", ".join(f"option_{k}=True" for k in range(12))
    figure = regret_figure([curves("OptCMDP", 1.0, 1, True)], "Regret", words)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.get_suptitle() and figure._suptitle.get_window_extent(canvas.get_renderer())
    assert box.x1 <= figure.bbox.x1
    save(figure, tmp_path / "long.png")
    assert (tmp_path / "long.png").stat().st_size > 0


def test_one_episode_can_be_drawn(tmp_path):
    one = np.ones((1, 1))
    figure = drawn(RegretCurves("OptCMDP", np.array([1]), one, one, -one, 0 * one))
    save(figure, tmp_path / "one.svg")
    assert figure.axes[0].lines[0].get_marker() == "o"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (-10.0, "\N{MINUS SIGN}10"),
        (1e4, "10\u2074"),
        (-1e5, "\N{MINUS SIGN}10\u2075"),
        (2e4, "2\u00d710\u2074"),
        (1e-3, "10\u207b\u00b3"),
    ],
)
def test_ticks_are_plain_numbers_or_powers_of_ten(value, word):
    assert power(value) == word


def test_references_grow_like_a_square_root_through_the_highest_mean_end():
    figure = drawn(curves("OptCMDP"), curves("OptDual", cost_sign=-1.0), has_reference=True)
    for axes, factor in zip(figure.axes, (1, 1, 2, 3), strict=True):
        np.testing.assert_allclose(axes.lines[-1].get_ydata(), factor * 2 * np.sqrt(EPISODE))
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "c\N{SQUARE ROOT}K"


def test_regrets_are_drawn_into_given_axes_whose_heading_is_left_alone():
    figure = Figure()
    panels = figure.subplots(2, 2)
    found = curves("OptDual")
    assert drawn(found, ax=panels) is figure
    for axes, factor in zip(panels.ravel(), (1, 1, 2, 3), strict=True):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), factor * 2 * np.sqrt(EPISODE))
    assert figure.get_suptitle() == ""
    assert figure.legends == []
    assert [text.get_text() for text in panels[0, 0].get_legend().get_texts()] == ["OptDual"]


def panel(name, budget, totals):
    mean = np.cumsum(totals) / np.arange(1, totals.size + 1)
    return RealizedPanel(name, budget, [Course("OptCMDP, 1", totals, mean, mean - 1, mean + 1)])


def test_each_quantity_has_a_panel_with_mean_band_trailing_mean_and_budget():
    totals = np.array([4.0, 2.0, 0.0, 0.0])
    panels = [panel("reward", None, totals), panel("holes", 0.5, totals)]
    figure = realized_figure(panels, "a", "b", 2)
    reward, holes = figure.axes
    assert (reward.get_ylabel(), holes.get_ylabel()) == ("reward", "holes")
    mean, trailing = reward.lines
    np.testing.assert_allclose(mean.get_ydata(), [4.0, 3.0, 2.0, 1.5])
    np.testing.assert_allclose(trailing.get_ydata(), [4.0, 3.0, 1.0, 0.0])
    assert len(holes.lines) == 3, "the budget is drawn"
    assert len(reward.collections) == 1, "the band is drawn"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["OptCMDP: mean so far, and band", "mean of the last 2", "budget"]


def test_one_episode_of_realized_sums_is_a_picture_too():
    figure = realized_figure([panel("reward", None, np.array([1.0]))], "a", "b", 1)
    assert figure.axes[0].lines[0].get_marker() == "o"


def test_realized_sums_are_drawn_into_given_axes():
    figure = Figure()
    given = figure.subplots(2)
    totals = np.array([4.0, 2.0])
    panels = [panel("reward", None, totals), panel("holes", 0.5, totals)]
    assert realized_figure(panels, "a", "b", 2, ax=given) is figure
    assert [len(axes.lines) for axes in given] == [2, 3]
    assert figure.legends == []


@given(st.floats(1e-9, 1e9), st.floats(1.0, 1e12))
def test_ticks_of_a_logarithmic_scale_are_few_and_in_its_range(low, factor):
    ticks = log_ticks(low, low * factor)
    assert 2 <= len(ticks) <= 7
    assert min(ticks) >= low
    assert max(ticks) <= low * factor
    assert ticks == sorted(ticks)
