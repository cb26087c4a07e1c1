"""The figures show the plan's own numbers."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from refusals import refuses
from tightrope import envs
from tightrope.errors import ConfigError
from tightrope.model import CMDP
from tightrope.plan.frontier import frontier
from tightrope.plan.solve import solve
from tightrope.show.figures import (
    frontier_figure,
    grid_figure,
    plan_figure,
    policy_figure,
    running_total,
    save,
    shown_constraints,
    use_figure,
)
from tightrope.show.policy import picture_of

MAP = ["S.G", ".H."]


@pytest.fixture(scope="module")
def grid():
    cmdp = envs.build("grid", rows=MAP, slip=0.2, horizon=6, budget=0.1)
    return cmdp, solve(cmdp, tolerance=1e-12)


@pytest.fixture(scope="module")
def streaming():
    cmdp = envs.build("streaming")
    return cmdp, solve(cmdp, tolerance=1e-12)


def collection(axes, kind):
    (found,) = [artist for artist in axes.collections if isinstance(artist, kind)]
    return found


@pytest.mark.parametrize("stage", [None, 0, 3])
def test_the_colors_of_a_grid_are_its_occupancy(grid, stage):
    cmdp, plan = grid
    axes = grid_figure(cmdp, plan, stage).axes[0]
    shown = np.asarray(collection(axes, QuadMesh).get_array()).reshape(2, 3)
    reached = plan.occupancy.sum(axis=2)
    expected = reached.sum(axis=0) if stage is None else reached[stage]
    np.testing.assert_allclose(shown, expected.reshape(2, 3))


def test_an_arrow_of_a_grid_points_where_its_action_goes(grid):
    cmdp, plan = grid
    arrows = collection(grid_figure(cmdp, plan, 0).axes[0], Quiver)
    start = plan.policy[0, 0]
    moves = np.array(cmdp.layout.moves)[np.flatnonzero(start)]
    drawn = np.sign(np.column_stack((arrows.V, arrows.U))).astype(int)
    np.testing.assert_array_equal(drawn, moves)


def test_a_likelier_action_has_a_longer_and_darker_arrow(grid):
    cmdp, _ = grid
    plan = solve(cmdp, tolerance=1e-12)
    mixed = np.zeros_like(plan.policy)
    mixed[:, :, 1], mixed[:, :, 2] = 0.7, 0.3
    occupancy = plan.occupancy.sum(axis=2, keepdims=True) * mixed
    plan = replace(plan, policy=mixed, occupancy=occupancy)
    arrows = collection(grid_figure(cmdp, plan, 0).axes[0], Quiver)
    right, down = arrows.U.max(), arrows.V.max()
    assert right > down > 0
    assert arrows.get_facecolor()[0, 3] > arrows.get_facecolor()[1, 3]


def test_nothing_is_drawn_in_an_absorbing_cell(grid):
    cmdp, plan = grid
    arrows = collection(grid_figure(cmdp, plan).axes[0], Quiver)
    goal = np.array([2.0, 0.0])
    assert np.abs(arrows.get_offsets() - goal).sum(axis=1).min() > 0.5


def test_hazards_start_and_goal_are_named_in_the_legend_of_a_grid(grid):
    legend = grid_figure(*grid).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["ground 'H'", "start", "goal"]


def test_a_grid_figure_needs_a_map_and_a_stage_of_the_model(grid, streaming):
    with pytest.raises(ConfigError, match="no map"):
        grid_figure(*streaming)
    with refuses(ConfigError, argument="stage", found=6, expected="0 to 5"):
        grid_figure(*grid, stage=6)


def test_running_totals_end_at_the_values_of_the_plan_in_shown_units(streaming):
    cmdp, plan = streaming
    used = running_total(plan.occupancy, cmdp.constraint_cost[0])
    assert used.shape == (cmdp.horizon + 1,)
    assert used[0] == 0.0
    assert used[-1] == pytest.approx(plan.constraint_value[0])
    earned = running_total(plan.occupancy, cmdp.cost)
    assert earned[-1] == pytest.approx(plan.value)


def test_the_use_figure_shows_each_constraint_against_its_bound_and_then_the_cost(streaming):
    cmdp, plan = streaming
    constraint, cost = use_figure(cmdp, plan).axes
    used, bound = (line.get_ydata() for line in constraint.lines)
    np.testing.assert_allclose(used, running_total(plan.occupancy, cmdp.constraint_cost[0]))
    np.testing.assert_allclose(bound, cmdp.budget[0])
    assert constraint.texts[1].get_text() == "at least 2.4"
    np.testing.assert_allclose(cost.lines[0].get_ydata(), running_total(plan.occupancy, cmdp.cost))


def test_of_many_constraints_those_with_the_highest_prices_are_drawn():
    cmdp = envs.build("random", n_constraints=7)
    plan = solve(cmdp)
    chosen = shown_constraints(cmdp, plan)
    assert len(chosen) == 5
    left_out = set(range(7)) - set(chosen)
    assert min(plan.multiplier[chosen]) >= max(plan.multiplier[list(left_out)])
    assert len(use_figure(cmdp, plan).axes) == 6


def test_the_policy_figure_marks_exactly_the_mixed_places(streaming):
    cmdp, plan = streaming
    axes = policy_figure(cmdp, plan).axes[0]
    picture = picture_of(plan)
    marks = next(found for found in axes.collections if isinstance(found, PathCollection))
    stages, rows = np.asarray(marks.get_offsets()).T.astype(int)
    np.testing.assert_array_equal(plan.policy[stages, picture.states[rows]].max(axis=1) < 1, True)
    assert len(stages) == plan.n_randomized


def test_the_policy_figure_is_see_through_where_a_state_is_never_reached(streaming):
    cmdp, plan = streaming
    image = np.asarray(policy_figure(cmdp, plan).axes[0].images[0].get_array())
    reached = plan.occupancy.sum(axis=2)[:, picture_of(plan).states].T
    np.testing.assert_array_equal(image[:, :, 3] > 0, reached > 0)


def test_a_large_model_is_drawn_by_its_most_visited_states():
    cmdp = envs.build("random", n_states=90, horizon=8)
    plan = solve(cmdp)
    picture = picture_of(plan, 10)
    visits = plan.occupancy.sum(axis=(0, 2))
    assert len(picture.states) == 10
    others = np.setdiff1d(np.arange(90), picture.states)
    assert visits[picture.states].min() >= visits[others].max()
    assert "40 of 90" in policy_figure(cmdp, plan).axes[0].get_ylabel()


def test_the_frontier_figure_shows_breakpoints_and_the_present_budget_in_shown_units(streaming):
    cmdp, plan = streaming
    found = frontier(cmdp)
    axes = frontier_figure(found, cmdp).axes[0]
    line, corners, _, now = axes.lines
    np.testing.assert_allclose(corners.get_xdata(), found.budget)
    np.testing.assert_allclose(corners.get_ydata(), found.value)
    np.testing.assert_allclose(line.get_xdata()[:-1], corners.get_xdata())
    assert now.get_xdata()[0] == pytest.approx(cmdp.budget[0])
    assert now.get_ydata()[0] == pytest.approx(plan.value)
    assert axes.get_xlabel() == "floor of uses of the slow server"
    assert axes.get_ylabel() == "greatest expected reward"


def test_a_present_budget_that_cannot_be_met_is_marked_without_a_value():
    cmdp = CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], [[[0.5, 1.0]]], [0.25], horizon=1)
    axes = frontier_figure(frontier(cmdp), cmdp).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "cannot be met" in labels
    assert "now: 0.25" in labels
    assert axes.get_xlim()[0] < 0.25


@pytest.mark.parametrize("name", envs.names())
def test_the_parts_of_a_drawing_stay_apart_for_every_environment(name):
    cmdp = envs.build(name)
    figure = plan_figure(cmdp, solve(cmdp))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [axes.get_tightbbox(canvas.get_renderer()) for axes in figure.axes]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 + 1
        assert box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 <= box.y0 + 1
        assert box.y1 <= figure.bbox.y1 + 1
    overlaps = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k] if a.overlaps(b)]
    assert overlaps == []


@pytest.mark.parametrize("constraints", [0, 1])
def test_the_smallest_model_with_odd_names_can_be_drawn(constraints, tmp_path):
    cmdp = CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        np.array([[[0.0, 1.0]]])[:constraints],
        [0.25][:constraints],
        horizon=1,
        state_names=["a $x^2$ \N{SNOWMAN} \u6c34"],
        action_names=["$\\nope$", "[b]"],
    )
    save(plan_figure(cmdp, solve(cmdp)), tmp_path / "small.svg")
    assert "$x^2$" in (tmp_path / "small.svg").read_text(encoding="utf-8")


def test_drawing_leaves_the_settings_of_matplotlib_alone(grid):
    before = dict(mpl.rcParams)
    plan_figure(*grid)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["grid", "streaming"])
def test_figures_are_drawn_into_given_axes_and_their_figure_is_returned(name):
    cmdp = envs.build(name)
    plan = solve(cmdp)
    n_panels = 1 + len(shown_constraints(cmdp, plan))
    pictures = {
        "policy": (1, lambda ax: policy_figure(cmdp, plan, ax=ax)),
        "use": (n_panels, lambda ax: use_figure(cmdp, plan, ax=ax)),
        "plan": (1 + n_panels, lambda ax: plan_figure(cmdp, plan, ax=ax)),
        "frontier": (1, lambda ax: frontier_figure(frontier(cmdp, 0), cmdp, ax=ax)),
    }
    if cmdp.layout is not None:
        pictures["grid"] = (1, lambda ax: grid_figure(cmdp, plan, 0, ax=ax))
    for n, draw in pictures.values():
        whole = Figure()
        for place in (whole, whole.subfigures(1, 2)[1]):
            given = place.subplots(1, n, squeeze=False)[0]
            assert draw(given if n > 1 else given[0]) is whole
            assert all(axes.has_data() for axes in given)


def test_too_few_axes_are_refused(streaming):
    with refuses(
        ConfigError,
        argument="ax",
        found="1 axes",
        expected="2, one for each panel ('uses of the slow server', 'cost')",
    ):
        use_figure(*streaming, ax=Figure().subplots())


def test_a_notebook_draws_a_figure_where_pyplot_was_not_imported(grid):
    picture = plan_figure(*grid)._repr_png_()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", envs.lasting_names())
def test_without_a_horizon_bars_show_the_use_of_each_budget(name):
    model = envs.build(name)
    plan = solve(model)
    figure = use_figure(model, plan)
    panels = figure.axes
    lengths = [axes.patches[0].get_width() for axes in panels]
    np.testing.assert_allclose(lengths, [*plan.constraint_value, plan.value])
    bounds = [axes.lines[0].get_xdata()[0] for axes in panels[:-1]]
    np.testing.assert_allclose(bounds, model.budget)
    words = " ".join(text.get_text() for axes in panels for text in axes.texts)
    assert "stage" not in words
    assert panels[0].get_title("left") in (
        "Expected discounted totals",
        "Long-run averages per step",
    )
    assert len(plan_figure(model, plan).axes) >= len(panels) + 1


@pytest.mark.parametrize("name", ["replacement", "admission"])
def test_without_a_horizon_a_policy_is_bars_as_long_as_its_visits(name):
    model = envs.build(name)
    plan = solve(model)
    axes = policy_figure(model, plan).axes[0]
    assert axes.get_xlabel() == model.visits
    states = np.flatnonzero(plan.occupancy.sum(axis=1) > 0)
    used = np.flatnonzero(plan.occupancy.sum(axis=0) > 0)
    widths = np.array([bar.get_width() for bar in axes.patches]).reshape(len(used), len(states))
    np.testing.assert_allclose(widths, plan.occupancy[states][:, used].T)


def test_the_colors_of_a_map_are_shares_of_time():
    model = envs.build("patrol")
    figure = grid_figure(model, solve(model))
    assert figure.axes[1].get_ylabel() == "share of time"
    assert figure.axes[0].get_title("left") == "Policy and occupancy, long-run averages"
