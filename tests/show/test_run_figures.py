"""Figures of finished runs show their numbers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.show.runs import record_figure, run_figure
from tightrope.show.style import RED


@pytest.fixture(scope="module")
def runs():
    return [tr.learn("ring", "uniform", episodes=30, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def record():
    env = tr.to_gymnasium("ring")
    return tr.learn_gymnasium(env, horizon=6, budget=[3.0], episodes=25, seed=1)


def test_the_curve_of_a_learner_is_its_mean_over_seeds(runs):
    figure = run_figure(runs, panel="cost_plus", title="ring")
    (axes,) = figure.axes
    expected = np.mean([run.regret["cost_plus"] for run in runs], axis=0)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), expected)
    assert figure.get_suptitle().startswith("Regret on ring, 30 episodes\n2 seeds; delta 0.1")


def test_a_single_run_is_drawn_into_given_axes(runs, record):
    figure, axes = plt.subplots(1, 2)
    assert run_figure(runs[0], ax=axes[0], panel="constraint") is figure
    assert record_figure(record, ax=axes[1], panel="cost") is figure
    np.testing.assert_allclose(axes[0].lines[0].get_ydata(), runs[0].regret["constraint"][:, 0])
    np.testing.assert_allclose(axes[1].lines[0].get_ydata(), record.band("cost").mean)
    assert [line.get_ydata()[0] for line in axes[1].lines if line.get_color() == RED] == [3.0]
    plt.close(figure)


@pytest.mark.parametrize("given", [[], 3, ["a"]])
def test_other_things_are_refused(given):
    for draw, argument in ((run_figure, "runs"), (record_figure, "records")):
        with refuses(ConfigError, argument=argument):
            draw(given)
