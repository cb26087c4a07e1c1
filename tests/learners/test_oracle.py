"""References that use the true model, and the bound on the multipliers by rule."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import tightrope as tr
import zoo
from driven import curves, instance
from refusals import refuses


def test_the_optimal_policy_has_no_regret():
    cmdp = instance(5, I=2)
    run = tr.learn(cmdp, "optimal", 1000)
    assert np.abs(run.regret["cost"]).max() <= 1e-9 * 1000
    assert run.regret["cost_plus"].max() <= 1e-9 * 1000
    assert run.regret["constraint"].max() <= 1e-9 * 1000
    assert run.n_violations == 0
    assert run.first_feasible == 1
    assert (run.rho, run.rho_rule) == (1.0, "none")


def test_a_feasible_policy_has_regret_in_cost_only():
    base = instance(5, I=2)
    even = np.full((3, 3, 2), 0.5)
    cmdp = base.with_budget(brute.values(base, even)[1:] + 0.01)
    run = tr.learn(cmdp, "uniform", 50)
    gap = brute.values(cmdp, even)[0] - run.optimum
    assert gap > 0
    np.testing.assert_allclose(run.regret["cost"], gap * run.episode, rtol=1e-9)
    assert not run.regret["constraint_plus"].any()
    np.testing.assert_array_equal(run.policy, even)


def test_uniform_plays_only_what_is_allowed():
    cmdp = instance(4, A=3, S=2, H=2, is_masked=True)
    run = tr.learn(cmdp, "uniform", 20)
    assert not cmdp.allowed.all()
    np.testing.assert_allclose(run.policy, cmdp.allowed / cmdp.allowed.sum(axis=2, keepdims=True))


def test_the_unconstrained_policy_saves_cost_and_overspends():
    cmdp = instance(5)
    run = tr.learn(cmdp, "unconstrained", 50)
    assert run.regret["cost"][-1] < 0
    assert run.regret["cost_plus"][-1] == 0
    assert run.n_violations == 50
    assert run.first_feasible == 51


def test_certainty_equivalence_has_no_radii_and_keeps_the_other_options():
    cmdp = instance(5, is_stationary=True)
    given = ("faithful", {"scale_cost": 0.3}, {"pool": True, "scale": 2.0})
    runs = [tr.learn(cmdp, "certainty-equivalence", 100, confidence=c) for c in given]
    np.testing.assert_array_equal(curves(runs[0]), curves(runs[1]))
    assert not np.array_equal(curves(runs[0]), curves(runs[2]))
    assert runs[2].confidence.pool
    assert all(run.confidence.is_heuristic for run in runs)


def test_a_run_keeps_what_was_chosen():
    run = tr.learn(
        instance(5), "OptPrimalDual", 5, delta=0.2, rho=3, dual_step=2.0, primal_step=0.5
    )
    assert (run.delta, run.rho, run.rho_rule) == (0.2, 3.0, "number")
    assert run.learner == tr.learners.OptPrimalDual(rho=3.0, dual_step=2.0, primal_step=0.5)
    assert (run.learner.dual_step, run.learner.primal_step) == (2.0, 0.5)
    run = tr.learn(instance(5), "OptCMDP", 5, tolerance=1e-6)
    assert (run.learner.tolerance, run.algorithm) == (1e-6, "OptCMDP")
    given = tr.learn(instance(5), tr.learners.OptCMDP(tolerance=1e-6), 5)
    np.testing.assert_array_equal(curves(given), curves(run))


def test_rho_shows_whether_its_rule_or_the_floor_applied():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0, 1]]], [0.5], 1)
    assert tr.learn(cmdp, "OptDual", 2, rho="paper").rho_rule == "paper (floor)"


def test_no_rule_for_rho_applies_where_no_policy_has_positive_slack():
    cmdp = zoo.seesaw(0.4, 0.6)
    with refuses(tr.ConfigError, argument="rho", found="paper_x2"):
        tr.learn(cmdp, "OptDual", 5)
    run = tr.learn(cmdp, "OptDual", 5, rho=3)
    assert (run.rho, run.rho_rule) == (3.0, "number")


@pytest.mark.parametrize("rule", ["paper", "paper_x2", "bound"])
def test_rho_follows_its_rule(rule):
    # the coin's ratio is 1, its slack the budget 0.25, and 2 H / slack = 8
    run = tr.learn(zoo.coin(), "OptDual", 5, rho=rule)
    assert run.rho == pytest.approx({"paper": 1, "paper_x2": 2, "bound": 8}[rule], rel=1e-6)
    assert run.rho_rule == rule
