"""Slater's slack and the bounds on prices, by hand and by a program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import brute
import tightrope as tr
import zoo
from draws import MANY, SOME, cases
from refusals import refuses
from tightrope.envs.catalog import build
from tightrope.plan.solve import FLOOR


@pytest.mark.parametrize("budget", [0.25, 1.0])
def test_by_hand_a_coin_leaves_its_whole_budget(budget):
    found = tr.slater(zoo.coin(budget))

    assert found.slack == pytest.approx(budget, abs=1e-12)
    assert found.value == pytest.approx(1.0)
    np.testing.assert_allclose(found.policy[0, 0], [1, 0], atol=1e-12)
    assert found.rho["paper"] == pytest.approx(1.0)
    assert found.rho["paper_x2"] == pytest.approx(2.0)
    assert found.rho["bound"] == pytest.approx(2 / budget)


@pytest.mark.parametrize(("first", "second"), [(0.7, 0.6), (0.5, 0.5), (0.2, 0.4)])
def test_by_hand_a_seesaw_is_balanced(first, second):
    found = tr.slater(zoo.seesaw(first, second))

    x = (1 + first - second) / 2
    assert found.slack == pytest.approx((first + second - 1) / 2, abs=1e-12)
    np.testing.assert_allclose(found.constraint_value, [x, 1 - x], atol=1e-12)
    assert found.value == pytest.approx(1 - x)
    if first + second > 1:
        ratio = (1 - x - (1 - first)) / found.slack
        assert found.rho["paper"] == pytest.approx(ratio, rel=1e-6)


@MANY
@given(cases(margin=0.05))
def test_the_slack_is_the_largest_common_one(case):
    found = tr.slater(case.cmdp)

    assert found.slack == pytest.approx(case.slack, abs=1e-9)
    values = brute.values(case.cmdp, found.policy)
    assert found.value == pytest.approx(values[0], abs=1e-12)
    np.testing.assert_allclose(found.constraint_value, values[1:], atol=1e-12)
    assert (case.cmdp.budget - values[1:]).min() == pytest.approx(found.slack, abs=1e-12)


@pytest.mark.parametrize("horizon", [1, 10, 60])
def test_by_hand_an_expensive_policy_leaves_the_most_slack(horizon):
    """What policies cost says nothing about the slack, however much it is."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0.9, 1.0]], [[[0.5, 0.0]]], [horizon / 5], horizon)

    found = tr.slater(cmdp)

    assert found.slack == pytest.approx(horizon / 5, rel=1e-9)
    assert found.value == pytest.approx(horizon)


@pytest.mark.parametrize("seed", range(20))
def test_one_budget_leaves_what_its_least_use_does_not_take(seed):
    rng = np.random.default_rng(seed)
    base = zoo.random_cmdp(rng, 4, 3, 12, 1)
    dear = tr.CMDP(
        base.transition, (1 + base.cost) / 2, base.constraint_cost, [6.0], 12, base.initial
    )
    least = tr.feasibility(dear).alone[0]

    assert tr.slater(dear).slack == pytest.approx(6.0 - least, abs=1e-8)


@SOME
@given(cases(margin=-0.05))
def test_a_negative_slack_has_no_bound_on_prices(case):
    found = tr.slater(case.cmdp)

    assert found.slack == pytest.approx(case.slack, abs=1e-9)
    if case.slack < -1e-9:
        assert set(found.rho.values()) == {np.inf}


@MANY
@given(cases(margin=0.05))
def test_prices_keep_the_bounds_that_slack_gives_them(case):
    """The sum of the prices is at most the ratio; the rules only enlarge it."""
    assume(case.slack > 1e-3)  # a budget above H was lowered to H, which may leave no slack
    found, plan = tr.slater(case.cmdp), tr.solve(case.cmdp, tolerance=1e-10)

    assert plan.multiplier.sum() <= found.rho["paper"] + 1e-6
    assert found.rho["paper_x2"] >= found.rho["paper"]
    assert found.rho["bound"] == pytest.approx(2 * case.cmdp.horizon / found.slack)
    assert found.rho["bound"] >= 2 * plan.multiplier.sum() - 1e-6


def test_rho_has_a_floor_where_the_free_optimum_has_the_most_slack():
    """Erratum E22: the ratio is zero, and rho divides step sizes."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0, 1]]], [0.5], 1)

    assert tr.slater(cmdp).rho["paper"] == FLOOR > 0


def test_without_constraints_the_slack_is_infinite():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 0)

    found = tr.slater(cmdp)

    assert found.slack == np.inf
    assert found.value == pytest.approx(brute.points(cmdp)[:, 0].min())


@pytest.mark.parametrize("tolerance", [0.0, 2, -1.0, np.nan, "x", None])
def test_a_tolerance_that_cannot_be_right_is_refused(tolerance):
    with refuses(tr.ConfigError, argument="tolerance", expected="a number in (0, 1)"):
        tr.slater(zoo.coin(), tolerance=tolerance)


def test_a_slack_of_one_rounding_error_is_none():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0.7, 0.3]]], [np.nextafter(0.3, 1)], horizon=1)
    found = tr.slater(cmdp)
    assert found.slack == 0.0
    assert found.rho == dict.fromkeys(("paper", "paper_x2", "bound"), np.inf)
    with refuses(tr.ConfigError, argument="rho", found="paper_x2"):
        tr.learn(cmdp, "OptDual", episodes=10)


def test_no_slack_at_the_least_budget_of_a_frontier():
    cmdp = build("queue")
    budget = cmdp.budget
    budget[0] = tr.frontier(cmdp).budget[0]
    assert tr.slater(cmdp.with_budget(budget)).slack == 0.0


@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("name", ["ring", "grid", "media", "inventory"])
def test_rho_bounds_the_multipliers_close_to_the_least_budget(name, step):
    cmdp = build(name)
    least = tr.frontier(cmdp).budget[0]
    cmdp = cmdp.with_budget([least + step * max(least, 1.0)])
    rho = tr.slater(cmdp).rho
    assert rho["paper"] >= tr.solve(cmdp, tolerance=1e-13).multiplier.sum() * (1 - 1e-9)
    assert rho["paper"] <= rho["bound"] / 2 * (1 + 1e-6)


@pytest.mark.parametrize("horizon", [1, 30, 300, 3000])
def test_rho_is_never_below_the_price_a_few_rounding_errors_above_the_least_budget(horizon):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scale = 10.0 ** rng.integers(-6, 1)
        spent, cost = scale * np.sort(rng.random(2))[::-1], np.sort(rng.random(2))
        cmdp = tr.CMDP(np.ones((1, 2, 1)), [cost], [[spent]], [horizon * spent[0]], horizon=horizon)
        budget = tr.feasibility(cmdp).alone
        for _ in range(int(rng.integers(1, 9))):
            budget = np.nextafter(budget, np.inf)
        exact = (cost[1] - cost[0]) / (spent[0] - spent[1])  # of share, for both costs
        assert tr.slater(cmdp.with_budget(budget)).rho["paper"] >= exact * (1 - 1e-9)


def test_slack_is_measured_by_its_own_row():
    cmdp = tr.CMDP(
        np.ones((1, 2, 1)), [[0, 1]], [[[2e-12, 1e-12]], [[0.5, 0.5]]], [1.001e-12, 0.6], horizon=1
    )
    assert tr.slater(cmdp).slack == pytest.approx(1e-15, rel=1e-6)
    assert tr.slater(cmdp).rho["paper"] == pytest.approx(1e12, rel=1e-6)
