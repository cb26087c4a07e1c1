"""What notebooks show of a model and a plan: well-formed, escaped, with the numbers of the plan."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import eye_array

from tightrope.envs import build
from tightrope.envs.catalogue import names
from tightrope.model import CMDP, Layout, Plan
from tightrope.model.html import number
from tightrope.plan.solve import solve

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
    assert f"job-slots of waiting {number(cmdp.cost_unit.show(plan.value))}" in text_of(html)
    for i, row in enumerate(cells_of(html)[1:]):
        unit = cmdp.constraint_units[i]
        assert row[0] == cmdp.constraint_names[i]
        assert float(row[1]) == pytest.approx(unit.show(plan.constraint_value[i]), rel=1e-4)
        assert float(row[2].removeprefix("≤ ")) == pytest.approx(unit.show(cmdp.budget[i]))
        # capacity 10 makes a unit of cost ten job-slots; both constraints have factor 1
        assert float(row[4]) == pytest.approx(10 * plan.multiplier[i], rel=1e-4)


def test_a_plan_without_a_model_shows_its_own_numbers():
    plan = solve(build("queue"))
    bare = replace(plan, model=None)
    html = bare._repr_html_()
    used, price = plan.constraint_value[0], plan.multiplier[0]
    assert cells_of(html)[1] == ["constraint 0", number(used), number(price)]
    assert f"planned cost {number(plan.value)}" in text_of(html)
    assert "certified" not in text_of(html)


def test_floors_are_shown_as_floors():
    cmdp = build("streaming")
    assert "≥" in text_of(cmdp._repr_html_())
    assert "maximise expected" in text_of(cmdp._repr_html_())


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
