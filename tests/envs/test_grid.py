"""Grid worlds from maps: rows of the kernel by hand, and what is said about bad maps."""

from __future__ import annotations

import numpy as np
import pytest

from refusals import refuses
from tightrope.envs.grid import DEFAULT_MAP, grid
from tightrope.errors import ConfigError

UP, RIGHT, DOWN, LEFT = range(4)


def test_a_move_slips_to_its_sides_and_walls_hold_back():
    cmdp = grid(["S.", "#G"], slip=0.2, horizon=3, budget=0.0)
    start, corner, goal = range(3)
    p = cmdp.transition
    np.testing.assert_allclose(p[start, RIGHT], [0.2, 0.8, 0.0])  # both sides are edge or wall
    np.testing.assert_allclose(p[corner, DOWN], [0.1, 0.1, 0.8])  # left slips back, right stays
    np.testing.assert_allclose(p[corner, LEFT], [0.8, 0.1, 0.1])  # down slips into the goal
    np.testing.assert_allclose(p[start, DOWN], [0.9, 0.1, 0.0])
    np.testing.assert_allclose(p[goal], np.eye(3)[[goal] * 4])
    np.testing.assert_array_equal(cmdp.cost[0], [[1.0] * 4, [1.0] * 4, [0.0] * 4])
    assert cmdp.n_constraints == 0
    assert cmdp.state_names == ("r0c0", "r0c1", "r1c1")


def test_each_kind_of_hazard_has_its_own_constraint():
    cmdp = grid("S2X/H1G", budget=[0.1, 0.2, 0.3], horizon=4)
    assert cmdp.constraint_names == ("hazard", "hazard 1", "hazard 2")
    np.testing.assert_array_equal(cmdp.constraint_cost[0, 0, :, 0], [0, 0, 1, 1, 0, 0])
    np.testing.assert_array_equal(cmdp.constraint_cost[1, 0, :, 0], [0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(cmdp.constraint_cost[2, 0, :, 0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(cmdp.budget, [0.1, 0.2, 0.3])


def test_several_starts_are_equally_likely():
    cmdp = grid(["SGS"], budget=0.0)
    np.testing.assert_allclose(cmdp.initial, [0.5, 0.0, 0.5])


def test_text_indented_text_slashes_and_rows_are_one_map():
    text = """
        S.H
        .#G
    """
    layouts = [grid(form).layout for form in (text, "S.H/.#G", ["S H", " #G"], ("S.X", ".#G"))]
    for layout in layouts:
        assert layout.rows == ("S.H", ".#G")
        np.testing.assert_array_equal(layout.cells, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)])
        assert layout.moves == ((-1, 0), (0, 1), (1, 0), (0, -1))


def test_the_default_map_is_its_layout():
    assert "\n".join(grid().layout.rows) == DEFAULT_MAP.strip()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "S..\n.z.\n..G",
            (
                "rows",
                "letter 'z' at row 1, column 1",
                "one of S, G, #, H, X, a digit from 1 to 9, or . for a free cell",
            ),
        ),
        (
            "S..\n..\n..G",
            ("rows", "row 1 has 2 columns", "3 as in row 0 (write free cells at the edge as .)"),
        ),
        ("..G\n...", ("rows", "no start in 2 rows of 3 columns", "a letter S")),
        ("S..", ("rows", "no goal in 1 rows of 3 columns", "a letter G")),
        ("", ("rows", "no start in 1 rows of 0 columns", "a letter S")),
        ([], ("rows", "no start in an empty map", "a letter S")),
    ],
)
def test_a_bad_map_is_named_by_row_and_column(rows, said):
    with refuses(ConfigError, said):
        grid(rows)


def test_budgets_must_fit_the_kinds_of_hazard():
    with refuses(
        ConfigError, argument="budget", found="2 numbers", expected="1, one a kind of hazard"
    ):
        grid("SHG", budget=[0.1, 0.2])
