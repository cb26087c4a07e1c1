"""The frontier: exact breakpoints by hand, a solve at every budget, and its shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
import tightrope as tr
import zoo
from draws import MANY, SOME, cases
from refusals import refuses


@pytest.mark.parametrize(
    ("cmdp", "budget", "value", "price"),
    [
        (zoo.coin(), [0, 1], [1, 0], [1]),
        (zoo.stairs(), [0, 0.25, 2.25, 3], [3, 2.25, 0.25, 0], [3, 1, 1 / 3]),
        (zoo.detour(), [0, 0.2, 0.8], [1, 0.4, 0], [3, 2 / 3]),
        (zoo.seesaw(0.5, 0.75), [0.25, 1], [0.75, 0], [1]),
    ],
    ids=["coin", "stairs", "detour", "seesaw"],
)
def test_breakpoints_equal_those_computed_by_hand(cmdp, budget, value, price):
    found = tr.frontier(cmdp)

    np.testing.assert_allclose(found.budget, budget, atol=1e-12)
    np.testing.assert_allclose(found.value, value, atol=1e-12)
    np.testing.assert_allclose(found.multiplier, price, atol=1e-12)
    assert found.is_complete
    assert found.constraint == 0


def swept(case, i):
    """Frontier of one constraint, and the optimum at a budget of it by enumeration."""
    cmdp = case.cmdp

    def optimum(b):
        budget = cmdp.budget
        budget[i] = b
        return brute.best_mixture(case.points, budget)

    return tr.frontier(cmdp, i), optimum


@MANY
@given(cases(), st.integers(0, 2), st.integers(0, 99))
def test_the_frontier_is_the_optimum_at_every_budget(case, i, seed):
    i %= case.cmdp.n_constraints
    found, optimum = swept(case, i)
    rng = np.random.default_rng(seed)
    width = found.budget[-1] - found.budget[0]
    inside = found.budget[0] + 1e-7 + rng.random(4) * width
    middles = (found.budget[1:] + found.budget[:-1]) / 2
    beyond = found.budget[-1] + 0.5

    for b in (*inside, *middles, *found.budget[1:], beyond):
        assert found.at(b) == pytest.approx(optimum(b), abs=1e-8)
    least = optimum(found.budget[0] + 1e-9)
    steepest = found.multiplier[0] if found.multiplier.size else 0.0
    assert found.value[0] == pytest.approx(least, abs=1e-8 + 2e-9 * steepest)
    assert optimum(found.budget[0] - 1e-6) is None
    assert found.at(found.budget[0] - 1e-6) == np.inf


@MANY
@given(cases(), st.integers(0, 2))
def test_the_frontier_is_convex_and_falls(case, i):
    found = tr.frontier(case.cmdp, i % case.cmdp.n_constraints)

    assert (np.diff(found.budget) > 0).all()
    assert (np.diff(found.value) < 0).all()
    assert (found.multiplier > 0).all()
    assert (np.diff(found.multiplier) < 0).all()
    slopes = -np.diff(found.value) / np.diff(found.budget)
    np.testing.assert_allclose(found.multiplier, slopes)


@SOME
@given(cases(most=2), st.integers(0, 1))
def test_multipliers_of_plans_are_slopes_of_the_frontier(case, i):
    i %= case.cmdp.n_constraints
    found = tr.frontier(case.cmdp, i)
    for k, price in enumerate(found.multiplier):
        if found.budget[k + 1] - found.budget[k] < 1e-3:
            continue
        budget = case.cmdp.budget
        budget[i] = (found.budget[k] + found.budget[k + 1]) / 2
        plan = tr.solve(case.cmdp.with_budget(budget), tolerance=1e-12)
        assert plan.multiplier[i] == pytest.approx(price, rel=1e-5, abs=1e-6)
        assert plan.value == pytest.approx(found.at(budget[i]), abs=1e-9)


@pytest.mark.parametrize("cost", [0.0, 0.5])
def test_a_budget_that_never_binds_has_one_breakpoint(cost):
    """All policies cost the same, so that the least spending costs nothing extra."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[cost, cost]], [[[0.25, 1]]], [1.0], 2)

    found = tr.frontier(cmdp)

    np.testing.assert_allclose(found.budget, [0.5])
    np.testing.assert_allclose(found.value, [2 * cost], atol=1e-12)
    assert found.multiplier.shape == (0,)
    assert found.at(0.4) == np.inf
    assert found.at(2.0) == pytest.approx(2 * cost)


def test_a_constraint_that_no_policy_can_change_has_one_breakpoint():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0.5, 0.5]]], [1.0], 2)

    found = tr.frontier(cmdp)

    np.testing.assert_allclose(found.budget, [1.0])
    assert found.at(1.0) == 0.0


def test_the_number_of_breakpoints_can_be_limited():
    whole, some = tr.frontier(zoo.stairs()), tr.frontier(zoo.stairs(), most=3)

    assert not some.is_complete
    assert len(some.budget) <= 3
    for b in np.linspace(0, 3, 13):
        assert some.at(b) >= whole.at(b) - 1e-12  # chords lie above a convex function
    with refuses(tr.ConfigError, argument="most", found=1, expected="a whole number of at least 2"):
        tr.frontier(zoo.stairs(), most=1)


def test_a_constraint_is_found_by_number_or_name():
    cmdp = zoo.seesaw(0.5, 0.75)

    by_name, by_number, by_text = (tr.frontier(cmdp, which) for which in ("right", 1, "1"))

    assert by_name.constraint == by_number.constraint == by_text.constraint == 1
    np.testing.assert_array_equal(by_name.budget, by_number.budget)
    # the left end is free up to its budget of 0.5, and the rest must sit right: 0.5 at least
    np.testing.assert_allclose(by_name.budget, [0.5])


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("up", ("constraint", "up", "one of 'left', 'right'")),
        (2, "constraint: 2, expected a number from 0 to 1"),
        (-1, "constraint: -1, expected a number from 0 to 1"),
        ("7", "constraint: 7, expected a number from 0 to 1"),
    ],
)
def test_an_unknown_constraint_is_refused(which, message):
    with refuses(tr.ConfigError, message):
        tr.frontier(zoo.seesaw(0.5, 0.75), which)


def test_a_model_without_constraints_has_no_frontier():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 0)

    with pytest.raises(tr.ConfigError, match="the model has none"):
        tr.frontier(cmdp)


def test_other_budgets_out_of_reach_are_named_by_their_own_numbers():
    cmdp = tr.CMDP(
        np.ones((1, 2, 1)),
        [[0, 1]],
        [[[0, 1]], [[0.5, 0.5]], [[0, 0]]],
        [1.0, 0.2, 0.0],
        1,
        constraint_names=["varied", "broken", "idle"],
    )

    with pytest.raises(tr.InfeasibleError, match="no policy keeps 'broken'") as caught:
        tr.frontier(cmdp, "varied")

    assert caught.value.clash == (1,)
    assert caught.value.alone == pytest.approx((0.0, 0.5, 0.0))
    assert caught.value.relaxation == pytest.approx((0.0, 0.3, 0.0))
    assert "varied" not in str(caught.value)


def test_progress_reports_breakpoints_and_remaining_chords():
    calls = []

    found = tr.frontier(zoo.stairs(), progress=lambda *what: calls.append(what))

    assert calls[-1][1] == 0
    assert calls[-1][0] >= len(found.budget)


@pytest.mark.parametrize("tolerance", [0.0, 2, -1.0, np.nan, "x", None])
def test_a_tolerance_that_cannot_be_right_is_refused(tolerance):
    with refuses(tr.ConfigError, argument="tolerance", expected="a number in (0, 1)"):
        tr.frontier(zoo.coin(), tolerance=tolerance)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"constraint": 0.7}, ("constraint", 0.7, "a whole number or a name")),
        ({"constraint": None}, ("constraint", "None", "a whole number or a name")),
        ({"most": "x"}, ("most", "x", "a whole number of at least 2")),
        ({"most": 1}, ("most", 1, "a whole number of at least 2")),
    ],
)
def test_invalid_arguments_are_refused(given, said):
    with refuses(tr.ConfigError, said):
        tr.frontier(zoo.coin(), **given)


@pytest.mark.parametrize("seed", range(8))
def test_the_frontier_is_exact_close_to_a_steep_left_end(seed):
    rng = np.random.default_rng(seed)
    S, A, H = 6, 3, 20
    p, cost = rng.dirichlet(np.ones(S), (H, S, A)), rng.random((S, A))
    spent = rng.random((1, H, S, A)) * (rng.random((1, H, S, A)) < 0.2)
    cmdp = tr.CMDP(p, cost, spent, [H], H)
    front = tr.frontier(cmdp)
    height = front.value[0] - front.value[-1]
    for step in (1e-6, 1e-5, 1e-3, 0.1):
        budget = front.budget[0] + step
        exact = tr.solve(cmdp.with_budget([budget]), tolerance=1e-12).value
        assert front.at(budget) == pytest.approx(exact, abs=1e-6 * max(1.0, height))


def test_a_constraint_given_by_a_number_is_checked_and_plain():
    assert type(tr.frontier(zoo.coin(0.25), np.int64(0)).constraint) is int
    with refuses(
        tr.ConfigError,
        argument="constraint",
        found="'99999999999999999999999999999999999999999999999999999999999... (5002 characters)",
        expected="one of 'tails'",
    ):
        tr.frontier(zoo.coin(0.25), "9" * 5000)


@pytest.mark.parametrize("name", tr.envs.names())
def test_every_constraint_of_the_catalog_has_a_frontier_through_its_optimum(name):
    cmdp = tr.envs.build(name)
    best = tr.solve(cmdp).value
    for i in range(cmdp.n_constraints):
        found = tr.frontier(cmdp, i).at(float(cmdp.budget[i]))
        assert found == pytest.approx(best, rel=1e-6, abs=1e-7 * cmdp.n_steps)


def test_the_value_at_an_array_of_budgets_is_that_at_each():
    found = tr.frontier("ring")
    budgets = np.array([[-1.0, 0.0, 2.5], [6.0, 9.0, np.inf]])
    values = found.at(budgets)
    assert values.shape == budgets.shape
    assert values.ravel().tolist() == [found.at(budget) for budget in budgets.ravel().tolist()]


@pytest.mark.parametrize("budget", ["a", None, np.nan, [1.0, np.nan], [[1.0], "b"]])
def test_a_budget_that_is_no_number_has_no_value(budget):
    with pytest.raises(tr.ConfigError) as caught:
        tr.frontier("ring").at(budget)
    assert caught.value.argument == "budget"
    assert caught.value.expected is not None
