"""What budgets allow: least values alone and jointly, clashes and relaxations, and their words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given

import brute
import tightrope as tr
import zoo
from draws import FEW, MANY, cases, models
from refusals import refuses

both = pytest.mark.parametrize("method", ["columns", "lp"])


def require_least(relaxation, case):
    """A relaxation is enough, and nothing less in the same proportion is."""
    budget = case.cmdp.budget
    assert brute.least_excess(case.points, budget + relaxation) <= 1e-8
    if relaxation.max(initial=0) > 1e-6:
        less = budget + (1 - 1e-3) * relaxation
        assert brute.least_excess(case.points, less) > 1e-4 * relaxation.max()


def require_right(case, found):
    points, budget = case.points, case.cmdp.budget
    np.testing.assert_allclose(found.alone, points[:, 1:].min(axis=0), atol=1e-12)
    for i, least in enumerate(found.jointly):
        expected = brute.least_joint(points, budget, i)
        assert least == (np.inf if expected is None else pytest.approx(expected, abs=1e-7))
    require_least(found.relaxation, case)
    assert found.is_feasible == (not found.clash)


@MANY
@given(cases())
def test_budgets_that_can_be_kept_are_feasible(case):
    found = tr.feasibility(case.cmdp)

    require_right(case, found)
    assert found.is_feasible
    assert np.all(found.relaxation == 0.0)


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
def test_budgets_of_a_seesaw_clash_where_computed_by_hand(first, second, relaxation):
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
    assert found.relaxation == pytest.approx([0.4, 0.0])


@FEW
@given(models(0, 0))
def test_without_constraints_there_is_nothing_to_clash(cmdp):
    found = tr.feasibility(cmdp)

    assert found.is_feasible
    assert found.alone.shape == found.jointly.shape == (0,)


@pytest.mark.parametrize("tolerance", [0.0, 2, -1.0, np.nan, "x", None])
def test_a_tolerance_that_cannot_be_right_is_refused(tolerance):
    with refuses(tr.ConfigError, argument="tolerance", expected="a number in (0, 1)"):
        tr.feasibility(zoo.coin(), tolerance=tolerance)


@both
@pytest.mark.parametrize(
    ("first", "second", "relaxation", "words"),
    [
        (0.3, 0.5, 0.1, "'left' and 'right' together"),
        (0.0, 0.0, 0.5, "by 0.5 and raising 'right'"),
    ],
)
def test_clashing_budgets_are_named(method, first, second, relaxation, words):
    with pytest.raises(tr.InfeasibleError, match="together") as caught:
        tr.solve(zoo.seesaw(first, second), method)

    error = caught.value
    assert words in str(error)
    assert error.clash == (0, 1)
    assert error.relaxation == pytest.approx((relaxation, relaxation), abs=1e-9)
    assert error.alone == pytest.approx((0, 0), abs=1e-12)


def test_one_budget_out_of_reach_is_named_alone():
    cmdp = tr.CMDP(np.ones((1, 1, 1)), [[0]], [[[0.5]]], [0.2], 1, constraint_names=["fuel"])

    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(cmdp)

    assert caught.value.facts == ((0,), *(pytest.approx((x,)) for x in (0.3, 0.5, 0.3)))
    assert str(caught.value).startswith("no policy keeps 'fuel': ")
    assert "; raising 'fuel' by 0.3 is" in str(caught.value)


def test_every_budget_that_must_rise_is_named_with_its_increase():
    """Raising 'a' alone by 0.3 leaves only action 0, which breaks 'b'; raising both is enough.

    A share x of action 0 exceeds 'a' by 0.8 - 0.5 x and 'b' by 0.3 x - 0.1; their largest costs
    are 1 and 0.3, so x = 1/3 + t and t = 0.4222.
    """
    cmdp = tr.CMDP(
        np.ones((1, 2, 1)),
        [[0, 1]],
        [[[0.5, 1]], [[0.3, 0]]],
        [0.2, 0.1],
        1,
        constraint_names=["a", "b"],
    )

    with pytest.raises(tr.InfeasibleError, match=r"'a' by 0\.422223 .*'b' by 0\.1") as caught:
        tr.solve(cmdp)

    assert caught.value.clash == (0,)
    assert caught.value.relaxation == pytest.approx((0.422222, 0.126667), abs=1e-6)
    with pytest.raises(tr.InfeasibleError):
        tr.solve(cmdp.with_budget([0.5, 0.1]))
    tr.solve(cmdp.with_budget([0.2 + 0.422223, 0.1 + 0.126667]))
    tr.solve(cmdp.with_budget([0.5, 0.3]))


def test_the_remedy_raises_only_budgets_that_must_rise():
    one = np.ones((1, 2, 1))
    roomy = tr.CMDP(one, [[0, 0]], [[[0.5, 0.9]], [[0, 0.5]]], [4, 9], 10)
    with pytest.raises(tr.InfeasibleError, match="; raising 'constraint 0' by 1 ") as caught:
        tr.solve(roomy)
    assert caught.value.relaxation == pytest.approx((1, 0))
    both = tr.CMDP(one, [[0, 0]], [[[0.5, 0.9]], [[0.5, 0.5]]], [1, 4], 10)
    with pytest.raises(tr.InfeasibleError, match=r"by 4 and raising .* by 1 ") as caught:
        tr.solve(both)
    assert caught.value.clash == (0, 1)
    assert caught.value.excess == pytest.approx((4, 1))


def test_the_reported_change_of_the_budget_is_enough():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 0]], [[[1 / 3, 1]]], [0.2], 1)
    with pytest.raises(tr.InfeasibleError) as caught:
        tr.solve(cmdp)
    told = float(re.search(r"by (\S+) is the least", str(caught.value))[1])
    assert 1 / 3 - 0.2 <= told <= 1 / 3 - 0.2 + 1e-6
    tr.solve(cmdp.with_budget([0.2 + told]))
    (remedy,) = [found.remedy for found in cmdp.check() if found.level == "error"]
    tr.solve(cmdp.with_budget([float(re.search(r"budget of (\S+) can", remedy)[1])]))


@both
def test_an_error_is_in_the_units_of_the_model(method):
    """At most one unit of a utility over [0, 5] can be had in two steps of 0.5, a floor asks 9."""
    cmdp = tr.CMDP.from_rewards(
        np.ones((1, 1, 1)),
        [[0.5]],
        [[[0.5]]],
        [9.0],
        horizon=2,
        utility_range=[(0.0, 5.0)],
        constraint_names=["work"],
    )

    with pytest.raises(tr.InfeasibleError, match=r"floor 9 .*lowering 'work' by 8 ") as caught:
        tr.solve(cmdp, method)

    assert caught.value.facts == ((0,), *(pytest.approx((x,)) for x in (8, 1, 8)))
