"""Figures of violations and multipliers, and the look of figures for papers."""

from __future__ import annotations

from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope.show.figures import plan_figure, save
from tightrope.show.panels import PanelCurves, budget_figure
from tightrope.show.style import LOOK, Look, figure_look, house_style, sheet

EPISODE = np.array([1, 10, 100])


def curves(name="OptDual", I=2, **more):
    """Two seeds; the share falls to a half, multiplier i rises to 2 (i + 1)."""
    share = np.array([[1.0, 0.75, 0.5], [1.0, 0.75, 0.4]])
    multipliers = [np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]) * (i + 1) for i in range(I)]
    found = [share, *multipliers]
    return PanelCurves(
        name, EPISODE, found, [(each.min(axis=0), each.max(axis=0)) for each in found], **more
    )


def drawn(*given, I=2, **more):
    names = [f"limit {i}" for i in range(I)]
    return budget_figure(given, names, 1.5 * np.arange(1, I + 1), "title", "n = 2", **more)


def test_panels_hold_violations_in_percent_and_each_multiplier_with_its_price():
    figure = drawn(curves(), curves("uniform", is_heuristic=True))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Episodes in violation", "Multiplier of limit 0", "Multiplier of limit 1"]
    share, first, second = figure.axes
    np.testing.assert_allclose(share.lines[0].get_ydata(), [100.0, 75.0, 45.0])
    for axes, price in ((first, 1.5), (second, 3.0)):
        line, _, optimum = axes.lines
        np.testing.assert_allclose(line.get_ydata(), [0.0, price / 1.5, 2 * price / 1.5])
        assert set(optimum.get_ydata()) == {price}
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.texts]
    assert labels == ["OptDual", "uniform (heuristic)", "price at the optimum"]


def test_one_panel_is_drawn_alone_and_into_given_axes():
    (axes,) = drawn(curves(), panel="limit 1").axes
    assert axes.get_title(loc="left") == "Multiplier of limit 1"
    home = sheet(3, 3).add_subplot()
    assert drawn(curves(), panel="violations", ax=home) is home.figure
    assert home.get_legend() is not None
    with refuses(tr.ConfigError, argument="panel", found="limit 9"):
        drawn(curves(), panel="limit 9")
    with refuses(tr.ConfigError, argument="ax"):
        drawn(curves(), ax=home)


def test_of_many_constraints_five_multipliers_are_drawn():
    assert len(drawn(curves(I=9), I=9).axes) == 6


def test_a_figure_for_a_paper_has_its_width_small_type_and_no_title():
    with figure_look("paper", 3.25):
        figure = drawn(curves(), panel="violations")
    plain = drawn(curves(), panel="violations")
    assert figure.get_figwidth() == pytest.approx(3.25)
    assert figure.get_figheight() >= 0.8 * 3.25
    assert figure.get_suptitle() == ""
    assert plain.get_suptitle() == "title\nn = 2"
    sizes = [each.axes[0].xaxis.label.get_fontsize() for each in (figure, plain)]
    assert sizes == [8, 10]
    assert LOOK.get() == Look()


@pytest.mark.parametrize("width", [0.5, 41, "3in", float("nan"), True])
def test_widths_that_cannot_be_drawn_are_refused(width):
    with refuses(tr.ConfigError, argument="width"), figure_look("screen", width):
        pass


def test_a_style_that_does_not_exist_is_refused_and_nothing_stays_changed():
    with refuses(tr.ConfigError, argument="style", found="poster"), figure_look("poster"):
        pass
    with pytest.raises(KeyError), figure_look("paper", 2.0):
        raise KeyError
    with house_style():
        assert sheet(5.0, 3.0).get_figwidth() == 5.0


def test_the_figure_of_an_experiment_shows_what_its_runs_recorded(study, findings):
    (group, *_) = findings.chapters[0].groups
    figure = study.figure("budgets", problem="ring", panel="violations", style="paper", width=4)
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), group.episode)
    np.testing.assert_allclose(line.get_ydata(), 100 * group.share.mean(axis=0))
    assert figure.get_figwidth() == 4.0


def test_the_price_is_within_the_panel_also_where_all_multipliers_are_zero():
    flat = [np.zeros((2, 3))] * 3
    zero = PanelCurves("OptDual", EPISODE, flat, [(each[0], each[0]) for each in flat])
    for axes, price in zip(drawn(zero).axes[1:], (1.5, 3.0), strict=True):
        low, high = axes.get_ylim()
        assert low == 0.0 < price < high


@pytest.mark.parametrize("look", [{}, {"font": "serif"}, {"font_size": 10.0}])
def test_the_legend_of_a_column_of_a_paper_is_within_the_figure(look):
    names = ["OptCMDP-bonus", "certainty-equivalence", "OptPrimalDual"]
    with figure_look("paper", width=3.25, **look):
        figure = drawn(*[curves(name, is_heuristic=True) for name in names], panel="violations")
    with house_style():
        (legend,) = figure.legends
        assert legend.get_window_extent().width < 325


def test_the_legend_of_a_map_is_within_a_column_of_a_paper():
    cmdp = tr.envs.build("grid")
    plan = tr.solve(cmdp)
    with figure_look("paper", width=3.25, font_size=10.0):
        figure = plan_figure(cmdp, plan, panel="policy")
    with house_style():
        figure.savefig(BytesIO(), format="png", dpi="figure")
        box = figure.axes[0].get_legend().get_window_extent()
        assert 0 <= box.x0 < box.x1 <= 325


def test_lines_are_thinner_in_papers():
    def width_of(style):
        with figure_look(style):
            return drawn(curves(), panel="violations").axes[0].lines[0].get_linewidth()

    assert width_of("paper") == pytest.approx(0.6 * width_of("screen"))


def test_text_stays_text_however_a_figure_is_saved(tmp_path):
    with figure_look("paper", width=3.25, font="serif"):
        figure = drawn(curves(), panel="violations")
    assert mpl.rcParams["svg.fonttype"] == "path"
    figure.savefig(tmp_path / "own.svg")
    figure.savefig(tmp_path / "own.pdf")
    save(figure, tmp_path / "saved.svg")
    for name in ("own.svg", "saved.svg"):
        assert ">Episodes in violation<" in (tmp_path / name).read_text()
        assert "DejaVu Serif" in (tmp_path / name).read_text()
    content = (tmp_path / "own.pdf").read_bytes()
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content
