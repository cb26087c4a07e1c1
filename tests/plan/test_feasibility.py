"""What budgets allow: least values alone and jointly, clashes and relaxations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import brute
import tightrope as tr
import zoo
from draws import FEW, MANY, cases, models


def require_right(case, found):
    points, budget = case.points, case.cmdp.budget
    np.testing.assert_allclose(found.alone, points[:, 1:].min(axis=0), atol=1e-12)
    for i, least in enumerate(found.jointly):
        expected = brute.least_joint(points, budget, i)
        assert least == (np.inf if expected is None else pytest.approx(expected, abs=1e-7))
    assert found.relaxation == pytest.approx(max(0.0, -case.slack), abs=1e-8)
    assert found.is_feasible == (not found.clash)


@MANY
@given(cases())
def test_budgets_that_can_be_kept_are_feasible(case):
    found = tr.feasibility(case.cmdp)

    require_right(case, found)
    assert found.is_feasible
    assert found.relaxation == 0.0


@MANY
@given(cases(margin=-0.05))
def test_budgets_that_cannot_be_kept_clash(case):
    found = tr.feasibility(case.cmdp)

    require_right(case, found)
    if case.slack < -1e-6:
        assert not found.is_feasible
        clash = list(found.clash)
        only = case.points[:, [0, *(1 + i for i in clash)]]
        assert brute.best_mixture(only, case.cmdp.budget[clash]) is None


@pytest.mark.parametrize(
    ("first", "second", "relaxation"), [(0.7, 0.6, 0.0), (0.5, 0.5, 0.0), (0.2, 0.4, 0.2)]
)
def test_by_hand_a_seesaw(first, second, relaxation):
    found = tr.feasibility(zoo.seesaw(first, second))

    np.testing.assert_allclose(found.alone, [0, 0], atol=1e-15)
    np.testing.assert_allclose(found.jointly, [1 - second, 1 - first], atol=1e-9)
    assert found.relaxation == pytest.approx(relaxation, abs=1e-9)
    assert found.clash == (() if relaxation == 0 else (0, 1))


def test_jointly_is_infinite_where_the_others_cannot_be_kept():
    cmdp = tr.CMDP(np.ones((1, 1, 1)), [[0]], [[[0.5]], [[0.25]]], [0.1, 1.0], 1)

    found = tr.feasibility(cmdp)

    assert found.jointly[0] == pytest.approx(0.5)
    assert found.jointly[1] == np.inf
    assert found.clash == (0,)
    assert found.relaxation == pytest.approx(0.4)


@FEW
@given(models(0, 0))
def test_without_constraints_there_is_nothing_to_clash(cmdp):
    found = tr.feasibility(cmdp)

    assert found.is_feasible
    assert found.alone.shape == found.jointly.shape == (0,)


@pytest.mark.parametrize("tolerance", [0.0, 2, -1.0, np.nan, "x", None])
def test_a_tolerance_that_cannot_be_right_is_refused(tolerance):
    with pytest.raises(tr.ModelError, match=r"tolerance: .*, expected a number in \(0, 1\)"):
        tr.feasibility(zoo.coin(), tolerance=tolerance)
