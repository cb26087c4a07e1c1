"""Audits of runs: beliefs that contain the true model, optimism, and reports of failures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import tightrope as tr
from driven import ALGORITHMS, driven, instance, own_options


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("confidence", ["faithful", "tight"])
@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_guaranteed_radii_contain_the_true_model_and_every_plan_is_optimistic(
    algorithm, confidence, replan
):
    for seed in range(3):
        cmdp = instance(seed, I=2, is_sparse=seed > 0, noise="bernoulli")
        run = tr.learn(
            cmdp,
            algorithm,
            1500,
            seed=seed,
            confidence={"mode": confidence, "replan": replan},
            audit_visits=True,
        )
        audit = run.audit
        assert audit.good_event
        assert set(audit.bad_episodes) == {"transition", "cost", "constraint", "visits"}
        assert not any(audit.first_bad.values())
        assert audit.not_optimistic == 0
        assert audit.infeasible_plans == 0
        assert audit.largest_gap <= 1e-5


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptDual"])
@pytest.mark.parametrize("transition", ["l1", "bernstein+l1", "kl+l1"])
def test_balls_and_intersections_contain_the_true_model_and_plan_optimistically(
    algorithm, transition
):
    cmdp = instance(3, is_sparse=True, noise="bernoulli")
    confidence = {"mode": "tight", "transition": transition}
    run = tr.learn(cmdp, algorithm, 1500, confidence=confidence)
    assert run.audit.good_event
    assert run.audit.not_optimistic == 0
    assert run.audit.infeasible_plans == 0
    if algorithm == "OptCMDP":
        bold = tr.learn(cmdp, algorithm, 1500, confidence=confidence | {"scale": 0.05})
        assert 0 < bold.regret["cost_plus"][-1] < run.regret["cost_plus"][-1] / 2


def test_a_bonus_that_counts_on_the_l1_distance_is_audited_for_it():
    # 0.02 times Weissman's radius is soon too small, while the boxes' slack still covers
    cmdp = instance(3, noise="bernoulli")
    wide = {"scale_transition": 0.02, "transition": "bernstein"}
    failed = {
        is_tight: tr.learn(
            cmdp, "OptPrimalDual", 300, confidence=wide | {"tight_bonus": is_tight}
        ).audit.bad_episodes["transition"]
        for is_tight in (False, True)
    }
    assert failed[True] > failed[False]


def test_the_audit_of_pooled_counts_covers_the_costs_of_every_stage():
    # the kernel is the same at every stage, the costs are not; only the last stage is uncertain
    cost = np.zeros((3, 2, 2))
    cost[2] = 0.5
    p = np.full((2, 2, 2), 0.5)
    cmdp = tr.CMDP(p, cost, np.zeros((1, 2, 2)), [3.0], 3, noise="bernoulli")
    for replan in ("always", "doubling"):
        confidence = {"pool": True, "replan": replan, "scale_cost": 1e-3}
        run = tr.learn(cmdp, "OptCMDP", 100, confidence=confidence)
        assert run.audit.bad_episodes["cost"] > 0, replan


def test_pooled_visits_are_audited_against_what_all_stages_expect():
    cmdp = instance(5, is_stationary=True, noise="bernoulli")
    confidence = {"mode": "tight", "pool": True}
    runs = [
        tr.learn(cmdp, "OptDual", 300, confidence=confidence, audit_visits=True) for _ in range(3)
    ]
    assert [run.audit.bad_episodes["visits"] for run in runs] == [0, 0, 0]


@pytest.mark.parametrize("algorithm", ["OptCMDP-bonus", "OptPrimalDual"])
@pytest.mark.parametrize("factor", ["scale_transition", "scale_bonus"])
def test_an_unseen_pair_is_a_belief_too(algorithm, factor):
    # its estimate is even, the true model is not, and nothing is paid for the difference
    p = np.zeros((3, 2, 3))
    p[:, 0, 0] = p[:, 1, 2] = 1
    cost = [[0.9, 0], [0.5, 0.5], [1, 0]]
    cmdp = tr.CMDP(p, cost, np.zeros((1, 3, 2)), [1.0], 3, noise="none")
    rho = own_options(algorithm, {"rho": 1.0})
    run = tr.learn(cmdp, algorithm, 50, confidence={"known_costs": True, factor: 0.0}, **rho)
    assert run.audit.first_bad["transition"] == 1
    assert run.audit.not_optimistic == 0


@pytest.mark.parametrize("algorithm", ["OptCMDP-bonus", "OptPrimalDual"])
@pytest.mark.parametrize("mode", ["faithful", "tight"])
@pytest.mark.parametrize("scale", [0.3, 0.03, 0.003])
def test_a_scaled_bonus_is_audited_as_it_is(algorithm, mode, scale):
    # whenever the narrowed beliefs hold, optimism follows, whatever the factor
    for seed in range(4):
        cmdp = instance(seed, is_sparse=seed > 1, noise="bernoulli")
        confidence, rho = {"mode": mode, "scale_bonus": scale}, own_options(algorithm, {"rho": 2.0})
        run = tr.learn(cmdp, algorithm, 400, seed=seed, confidence=confidence, **rho)
        assert run.audit.not_optimistic == 0


def test_costs_that_depend_on_the_stage_are_replanned_though_the_kernel_is_pooled():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(6, 0.3), size=(6, 2))
    cmdp = tr.CMDP(p, rng.random((5, 6, 2)), rng.random((1, 5, 6, 2)), [2.0], 5)
    confidence = {"pool": True, "replan": "doubling", "scale": 0.05}
    simulation = driven(cmdp, "OptDual", 1000, confidence=confidence)
    for _ in range(50):
        simulation.advance(20)
        beliefs = simulation.agent.beliefs
        seen, planned = beliefs.counts.cost_visits, beliefs.planned_cost_visits
        assert ((seen < 2 * planned) | (seen == 0)).all()


def test_tight_radii_fail_no_more_often_than_they_may():
    # each family may fail with probability delta / 3 = 1/30; more than 14 of 120 runs have 1e-4
    n = 120
    most = binom.isf(1e-4, n, 1 / 30)
    assert most <= 14
    cmdp = instance(1, is_sparse=True, noise="bernoulli")
    failed = dict.fromkeys(("transition", "cost", "constraint", "visits"), 0)
    for seed in range(n):
        simulation = driven(cmdp, "OptDual", 150, confidence="tight", seed=seed, audits_visits=True)
        simulation.advance(150)
        for name, event in zip(failed, simulation.world.watch.audit.events, strict=True):
            failed[name] += event.bad_episodes > 0
    assert max(failed.values()) <= most


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_radii_that_are_too_small_fail_and_the_audit_shows_when(algorithm):
    cmdp = instance(5, tightness=0.95, noise="bernoulli")
    run = tr.learn(cmdp, algorithm, 200, confidence={"scale": 1e-5})
    assert not run.audit.good_event
    assert run.audit.infeasible_plans > 0
    assert run.audit.first_bad["cost"] == 2  # nothing is believed wrongly before the first episode
    assert 0 < run.audit.bad_episodes["cost"] <= 199
    assert set(run.audit.bad_episodes) == {"transition", "cost", "constraint"}


@pytest.mark.parametrize("algorithm", ["uniform", "optimal", "unconstrained"])
def test_a_reference_has_no_confidence_sets_to_audit(algorithm):
    run = tr.learn(instance(5), algorithm, 50, audit_visits=True)
    assert (run.audit.bad_episodes, run.audit.first_bad) == ({}, {})
    assert run.audit.good_event is None
    assert run.audit.not_optimistic == 0


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_rare_replanning_plans_rarely(algorithm):
    cmdp = instance(5)
    K, pairs = 2000, 3 * 2 * 3
    often = tr.learn(cmdp, algorithm, K, confidence={"scale": 0.01})
    seldom = tr.learn(cmdp, algorithm, K, confidence={"scale": 0.01, "replan": "doubling"})
    assert often.audit.plans == K
    assert seldom.audit.plans <= pairs * (1 + np.log2(K))


def test_a_run_and_a_plan_say_in_a_line_what_they_are():
    cmdp = instance(0)
    run = tr.learn(cmdp, "OptDual", 20, confidence="tight")
    ends = [float(run.regret[kind][-1].max()) for kind in ("cost", "constraint_plus")]
    words = repr(run)
    assert words.startswith("Run(OptDual, 20 episodes, seed 0, regret at the end: cost ")
    assert f"cost {ends[0]:.6g}, " in words
    assert words.endswith(f"constraint_plus {ends[1]:.6g})")
    free = tr.CMDP(cmdp.transition, cmdp.cost, np.zeros((0, 3, 3, 2)), [], horizon=3)
    assert "constraint" not in repr(tr.learn(free, "OptDual", 20, confidence="tight"))
    plan = tr.solve(cmdp)
    assert repr(plan).startswith("Plan(")
    assert f"value {plan.value:.6g}, constraint_value [" in repr(plan)
    assert "\n" not in repr(run) + repr(plan)
