"""Notebook cards of models, plans and runs: well-formed, escaped, with the right numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import eye_array

from tightrope.envs import build
from tightrope.envs.catalog import names
from tightrope.experiments.learn import learn
from tightrope.learners.files import Labels
from tightrope.learners.interactive import learner
from tightrope.model import CMDP, Layout, Plan, Unit
from tightrope.plan.solve import solve
from tightrope.show.cards import bar, card, heat, number, spark, table

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>alert('x')</script> & \"co\""


def text_of(html: str) -> str:
    return " ".join("".join(ElementTree.fromstring(html).itertext()).split())


def cells_of(html: str) -> list[list[str]]:
    rows = ElementTree.fromstring(html).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


@pytest.mark.parametrize("name", names())
def test_every_environment_and_its_plan_show_well_formed_html(name):
    cmdp = build(name)
    for thing in (cmdp, solve(cmdp)):
        ElementTree.fromstring(thing._repr_html_())


def test_names_from_outside_are_escaped():
    cmdp = CMDP(
        np.ones((1, 1, 1)),
        [[0.5]],
        [[[0.5]]],
        [1.0],
        horizon=2,
        state_names=[NASTY],
        action_names=[NASTY],
        constraint_names=[NASTY],
    )
    for thing in (cmdp, solve(cmdp)):
        html = thing._repr_html_()
        assert "<script" not in html
        assert " ".join(NASTY.split()) in text_of(html)


def test_the_card_of_a_plan_has_the_numbers_of_the_plan_in_shown_units():
    cmdp = build("queue")
    plan = solve(cmdp)
    html = plan._repr_html_()
    assert f"job-slots of waiting {number(plan.value)}" in text_of(html)
    for i, row in enumerate(cells_of(html)[1:]):
        assert row[0] == cmdp.constraint_names[i]
        assert float(row[1]) == pytest.approx(plan.constraint_value[i], rel=1e-4)
        assert float(row[2].removeprefix("≤ ")) == pytest.approx(cmdp.budget[i])
        assert float(row[4]) == pytest.approx(plan.multiplier[i], rel=1e-4)


def test_a_plan_without_a_model_shows_its_own_numbers():
    plan = solve(build("queue"))
    bare = replace(plan, model=None)
    html = bare._repr_html_()
    used, price = plan.constraint_value[0], plan.multiplier[0]
    assert cells_of(html)[1] == ["constraint 0", number(used), number(price)]
    assert f"planned cost {number(plan.value)}" in text_of(html)
    assert "certified" not in text_of(html)


def test_the_plan_of_a_learner_shows_the_names_that_it_has():
    sizes = {"n_states": 2, "n_actions": 2, "horizon": 2, "budget": [1.0], "episodes": 9}
    student = learner("OptCMDP", **sizes)
    html = student.plan()._repr_html_()
    assert cells_of(html)[1][0] == "constraint 0"
    assert "optimistic values" in text_of(html)
    student.labels = Labels((), (), (Unit("euros"), Unit("wear")))
    for plan in (student.plan(), student.last_plan, student.settle(2)):
        assert plan.model is None
        assert cells_of(plan._repr_html_())[1][0] == "wear"
    assert student.bound(student.plan().policy).constraint_names == ("wear",)


def test_floors_are_shown_as_floors():
    cmdp = build("streaming")
    assert "≥" in text_of(cmdp._repr_html_())
    assert "maximize expected" in text_of(cmdp._repr_html_())


def test_many_constraints_are_cut_and_counted():
    d = np.full((30, 1, 1), 0.5)
    cmdp = CMDP(np.ones((1, 1, 1)), [[0.5]], d, np.ones(30), horizon=2)
    assert "and 18 more constraints" in text_of(cmdp._repr_html_())
    assert len(cells_of(cmdp._repr_html_())) == 13


def test_a_model_without_constraints_has_no_table():
    cmdp = CMDP(np.ones((1, 1, 1)), [[0.5]], horizon=2)
    assert cells_of(cmdp._repr_html_()) == []
    assert cells_of(solve(cmdp)._repr_html_()) == []


def test_the_walls_of_a_map_are_drawn_cell_by_cell():
    cmdp = build("grid")
    walls = "".join(cmdp.layout.rows).count("#")
    paths = ElementTree.fromstring(cmdp._repr_html_()).iter(f"{SVG}path")
    (drawn,) = [path.get("d") for path in paths if path.get("fill-opacity") == "0.6"]
    assert sum(map(int, re.findall(r"h(\d+)", drawn))) == walls > 0


def test_large_models_have_cards_of_moderate_size():
    S, H = 3000, 400
    cmdp = CMDP(eye_array(S, format="csr"), np.full((S, 1), 0.5), horizon=H)
    assert len(cmdp._repr_html_()) < 50_000
    visits = np.full((H, S, 1), 1 / S)
    plan = Plan(np.ones((H, S, 1)), 200.0, np.zeros(0), np.zeros(0), 0.0, visits, "hand", 0)
    assert len(replace(plan, model=cmdp)._repr_html_()) < 100_000
    assert "80 visited most" in text_of(plan._repr_html_())


def test_a_long_horizon_costs_a_card_nothing():
    H = 10**9
    cmdp = CMDP(eye_array(4, format="csr"), np.full((4, 1), 0.5), horizon=H)
    assert f"horizon {H}" in text_of(cmdp._repr_html_())


def test_a_map_that_is_too_large_is_left_out():
    rows = tuple("." * 60 for _ in range(60))
    cells = np.stack(np.divmod(np.arange(3600), 60), axis=1)
    cmdp = CMDP(
        eye_array(3600, format="csr"),
        np.zeros((3600, 1)),
        horizon=2,
        layout=Layout(rows, cells, ((0, 0),)),
    )
    assert "map" not in text_of(cmdp._repr_html_())


def test_a_plan_remembers_its_model():
    cmdp = build("ring")
    assert solve(cmdp).model is cmdp
    assert solve(cmdp, method="lp").model is cmdp


def test_the_card_of_a_run_has_its_four_regrets_and_its_audit():
    run = learn(build("queue"), "OptDual", episodes=40, confidence="tight")
    words = text_of(run._repr_html_())
    assert f"cost, signed: {number(run.regret['cost'][-1])}" in words
    assert f"cost, positive parts: {number(run.regret['cost_plus'][-1])}" in words
    largest = run.regret["constraint"][-1].max()
    assert f"budgets, signed: {number(largest)}" in words
    assert f"budgets, positive parts: {number(run.regret['constraint_plus'][-1].max())}" in words
    assert "Every policy kept the budgets." in words
    assert run.n_violations == 0
    assert "the confidence sets contained the true model" in words
    assert "heuristic" not in words


def test_the_card_of_a_heuristic_run_shows_that_it_is_heuristic():
    run = learn(build("ring"), "OptDual", episodes=40, confidence={"scale": 0.001})
    words = text_of(run._repr_html_())
    assert "heuristic: no guarantee" in words
    bad = run.audit.bad_episodes["cost"]
    assert f"cost {bad}" in words


def test_the_card_of_a_safe_run_says_whether_its_upper_bounds_held():
    run = learn(build("ring"), "Safe-OptCMDP", episodes=20, confidence="tight")
    assert "Failed upper bounds: 0." in text_of(run._repr_html_())
    run = learn(build("ring"), "OptCMDP", episodes=20, confidence="tight")
    assert "upper bounds" not in text_of(run._repr_html_())


def test_the_card_counts_the_episodes_that_broke_a_budget():
    run = learn(build("ring"), "unconstrained", episodes=40)
    assert run.n_violations == 40
    words = text_of(run._repr_html_())
    assert "Budgets exceeded in 40 of 40 episodes, also by the last policy." in words


@pytest.mark.parametrize("algorithm", ["OptCMDP", "optimal"])
def test_a_model_without_constraints_has_a_card_too(algorithm):
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.5, 0.2]], horizon=2)
    words = text_of(learn(cmdp, algorithm, episodes=5)._repr_html_())
    assert "budgets, signed: 0" in words
    assert "Every policy kept the budgets." in words


@pytest.mark.parametrize(
    ("used", "limit", "width", "is_red"),
    [(0.5, 1.0, 50, False), (1.0, 1.0, 100, False), (1.5, 1.0, 100, True), (0.0, 0.0, 0, False)],
)
def test_a_bar_is_as_long_as_the_share_and_red_beyond(used, limit, width, is_red):
    filled = ElementTree.fromstring(bar(used, limit, "name")).findall(f"{SVG}rect")[1]
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


def test_equal_neighbors_of_a_heat_share_a_box():
    # shares 1, 1/4 and 0 of the most have the shades 1, half way from 0.12 to 1, and none;
    # equal neighbors share a box
    picture = ElementTree.fromstring(heat(np.array([[4.0, 4.0, 1.0], [0.0, 1.0, 0.0]]), "by hand"))
    drawn = {path.get("fill-opacity"): path.get("d") for path in picture.iter(f"{SVG}path")}
    assert drawn == {
        "0.05": "M0 0h3v2h-3z",
        "0.56": "M2 0h1v1h-1zM1 1h1v1h-1z",
        "1": "M0 0h2v1h-2z",
    }
