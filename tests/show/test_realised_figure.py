"""Realised sums as a picture."""

from __future__ import annotations

import numpy as np

from tightrope.show.realised import Course, RealisedPanel, realised_figure


def panel(name, budget, totals):
    mean = np.cumsum(totals) / np.arange(1, totals.size + 1)
    return RealisedPanel(name, budget, [Course("OptCMDP, 1", totals, mean, mean - 1, mean + 1)])


def test_each_quantity_has_a_panel_with_mean_band_trailing_mean_and_budget():
    totals = np.array([4.0, 2.0, 0.0, 0.0])
    figure = realised_figure(
        [panel("reward", None, totals), panel("holes", 0.5, totals)], "a", "b", 2
    )
    reward, holes = figure.axes
    assert (reward.get_ylabel(), holes.get_ylabel()) == ("reward", "holes")
    mean, trailing = reward.lines
    np.testing.assert_allclose(mean.get_ydata(), [4.0, 3.0, 2.0, 1.5])
    np.testing.assert_allclose(trailing.get_ydata(), [4.0, 3.0, 1.0, 0.0])
    assert len(holes.lines) == 3, "the budget is drawn"
    assert len(reward.collections) == 1, "the band is drawn"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["OptCMDP: mean so far, and band", "mean of the last 2", "budget"]


def test_one_episode_is_a_picture_too():
    figure = realised_figure([panel("reward", None, np.array([1.0]))], "a", "b", 1)
    assert figure.axes[0].lines[0].get_marker() == "o"
