"""Runs: their books against dense evaluation, their audits, limits with known answers, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import brute
import tightrope as tr
import zoo
from driven import driven, instance, policy_of, walk
from tightrope.learners.move import IS_RELAXED
from tightrope.plan.extended_lp import extended_lp, full_box
from tightrope.run.programme import plan_by_lp

ALGORITHMS = ["OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"]
SCALES = {"OptCMDP": 0.02, "OptCMDP-bonus": 0.0005, "OptDual": 0.02, "OptPrimalDual": 0.0005}


def curves(run):
    """All of a run that has an entry for each recorded episode, as one array."""
    r = run.regret
    each = [run.episode, r["cost"], r["cost_plus"], run.violations]
    wide = [r["constraint"], r["constraint_plus"], run.excess, run.multiplier]
    return np.column_stack((*each, *wide))


# books


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_book_equals_a_dense_evaluation_of_every_policy(algorithm):
    K = 60
    cmdp = instance(2, I=2, is_sparse=True)
    best = tr.solve(cmdp, tolerance=1e-12).value
    confidence = {"scale": SCALES[algorithm]}
    run = tr.learn(cmdp, algorithm, K, confidence=confidence, rho=2.0, seed=3)
    steps = walk(driven(cmdp, algorithm, K, confidence=confidence, seed=3), K)
    policies = [step.policy for step in steps]
    excess = np.array([brute.values(cmdp, pi) for pi in policies]) - [best, *cmdp.budget]
    at = run.episode - 1
    np.testing.assert_allclose(run.excess, excess[at], atol=1e-10)
    signed, positive = excess.cumsum(axis=0), np.maximum(excess, 0).cumsum(axis=0)
    np.testing.assert_allclose(run.regret["cost"], signed[at, 0], atol=1e-9)
    np.testing.assert_allclose(run.regret["cost_plus"], positive[at, 0], atol=1e-9)
    np.testing.assert_allclose(run.regret["constraint"], signed[at, 1:], atol=1e-9)
    np.testing.assert_allclose(run.regret["constraint_plus"], positive[at, 1:], atol=1e-9)
    is_violated = (excess[:, 1:] > 1e-9).any(axis=1)
    np.testing.assert_array_equal(run.violations, is_violated.cumsum()[at])
    assert run.n_violations == is_violated.sum()
    np.testing.assert_allclose(run.worst_violation, excess[:, 1:].max(axis=0), atol=1e-10)
    last = np.flatnonzero(is_violated)
    assert run.first_feasible == (last[-1] + 2 if last.size else 1)
    np.testing.assert_array_equal(run.policy, policies[-1])
    assert run.optimum == pytest.approx(best, abs=1e-12)


def test_a_first_policy_of_first_actions_is_entered_with_its_own_values():
    # heads (action 0) costs 1 and spends nothing; the optimum is 0.75, the budget 0.25
    run = tr.learn(zoo.coin(), "OptDual", 1, rho=2.0)
    np.testing.assert_array_equal(run.policy, [[[1.0, 0.0]]])
    np.testing.assert_allclose(run.excess, [[0.25, -0.25]], atol=1e-12)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "uniform", "certainty-equivalence"])
def test_signed_regret_never_exceeds_positive_regret_which_never_falls(algorithm):
    run = tr.learn(instance(5, I=2), algorithm, 300, confidence={"scale": 0.01}, rho=2.0)
    r = run.regret
    assert (r["cost"] <= r["cost_plus"] + 1e-12).all()
    assert (r["constraint"] <= r["constraint_plus"] + 1e-12).all()
    assert (np.diff(r["cost_plus"]) >= 0).all()
    assert (np.diff(r["constraint_plus"], axis=0) >= 0).all()
    assert (run.episode[0], run.episode[-1]) == (1, 300)
    assert (np.diff(run.episode) > 0).all()


# references


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
        instance(5), "OptDual", 5, delta=0.2, rho=3, dual_step=2.0, primal_step=0.5, tolerance=1e-6
    )
    assert (run.delta, run.rho, run.rho_rule) == (0.2, 3.0, "number")
    assert (run.options.dual_step, run.options.primal_step) == (2.0, 0.5)
    assert (run.options.tolerance, run.options.method) == (1e-6, "columns")


def test_rho_says_when_its_rule_gave_nothing_and_the_floor_did():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0, 1]]], [0.5], 1)
    assert tr.learn(cmdp, "OptDual", 2, rho="paper").rho_rule == "paper (floor)"


# determinism


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(algorithm):
    cmdp = instance(5, I=2)
    confidence = {"scale": SCALES[algorithm]}
    a, b, c = (
        tr.learn(cmdp, algorithm, 200, seed=seed, confidence=confidence, rho=2.0)
        for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(curves(a), curves(b))
    np.testing.assert_array_equal(a.policy, b.policy)
    assert not np.array_equal(curves(a), curves(c))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_a_run_in_pieces_equals_a_run_in_one_go_bit_for_bit(algorithm, replan):
    cmdp = instance(5, I=2)
    confidence = {"scale": SCALES[algorithm], "replan": replan}
    whole, pieces = (driven(cmdp, algorithm, 120, confidence=confidence) for _ in range(2))
    whole.advance(120)
    for n in (1, 2, 40, 0, 77):
        pieces.advance(n)
    for name in ("signed_curve", "positive_curve", "multiplier_curve", "violation_curve"):
        np.testing.assert_array_equal(
            getattr(whole.world.book, name), getattr(pieces.world.book, name)
        )
    np.testing.assert_array_equal(whole.world.counts.visits, pieces.world.counts.visits)
    np.testing.assert_array_equal(policy_of(whole.move), policy_of(pieces.move))
    assert whole.rng.bit_generator.state == pieces.rng.bit_generator.state


def test_progress_is_reported_up_to_the_last_episode():
    seen = []
    tr.learn(instance(5), "OptDual", 300, progress=seen.append)
    assert seen[-1] == 300
    assert (np.diff(seen) > 0).all()


# limits with known answers


def test_without_information_optprimaldual_stays_exactly_uniform_and_its_prices_zero():
    cmdp = instance(5, I=2)
    run = tr.learn(cmdp, "OptPrimalDual", 500)
    np.testing.assert_array_equal(run.policy, np.full((3, 3, 2), 0.5))
    assert not run.multiplier.any()
    np.testing.assert_array_equal(run.audit.multiplier_range, 0.0)
    even = tr.learn(cmdp, "uniform", 500)
    np.testing.assert_array_equal(run.regret["cost"], even.regret["cost"])


KNOWN = {"scale": 0.0, "known_costs": True}


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
@pytest.mark.parametrize(
    "cmdp", [zoo.coin(), zoo.stairs(), zoo.seesaw(0.7, 0.6)], ids=["coin", "stairs", "seesaw"]
)
def test_planners_that_know_the_model_play_an_optimal_policy_at_once(algorithm, cmdp):
    K = 50
    run = tr.learn(cmdp, algorithm, K, confidence=KNOWN)
    assert run.regret["cost_plus"][-1] <= 1e-7 * K
    assert run.regret["constraint_plus"].max() <= 1e-7 * K
    assert run.audit.infeasible_plans == 0


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_a_deterministic_world_with_known_costs_is_learned_exactly(algorithm):
    # without radii a plan errs only while it counts on a pair that was never visited
    rng = np.random.default_rng(3)
    p = np.eye(3)[rng.integers(3, size=(3, 2))]
    base = tr.CMDP(p, rng.random((3, 2)), rng.random((1, 3, 2)), [3.0], 3)
    found = brute.points(base)
    cmdp = base.with_budget([(found[found[:, 0].argmin(), 1] + found[:, 1].min()) / 2])
    run = tr.learn(cmdp, algorithm, 400, confidence=KNOWN | {"known_support": True})
    assert np.abs(run.excess[-1, 0]) <= 1e-7
    assert run.excess[-1, 1] <= 1e-7
    assert run.audit.good_event


@pytest.mark.parametrize("K", [1000, 4000, 16000])
def test_optdual_that_knows_the_model_nears_the_optimum_like_one_over_the_root_of_k(K):
    # stairs at budget 1 have price 1; the paper's ratio bounds it, and steps are rho / (H sqrt K)
    run = tr.learn(zoo.stairs(), "OptDual", K, confidence=KNOWN, rho=4.0)
    # sum of excess <= t_lam lam, and lam stays below rho here; H = 3, t_lam = 3 sqrt(K) / 4
    assert run.regret["constraint"][-1, 0] <= 3 * np.sqrt(K)
    assert run.regret["cost"][-1] <= 3 * 4 * np.sqrt(K)
    assert run.regret["cost"][-1] >= -4 * 3 * np.sqrt(K)
    late = run.multiplier[run.episode > K // 2, 0]
    assert late.mean() == pytest.approx(1.0, abs=0.2)


def test_optprimaldual_that_knows_the_model_keeps_its_inequality():
    cmdp, K, rho = zoo.stairs(), 600, 4.0
    H, A, I = 3, 3, 1
    best = tr.solve(cmdp).value
    squares, gaps = 0.0, 0.0
    t_lam = H * np.sqrt(I * K) / rho
    for step in walk(driven(cmdp, "OptPrimalDual", K, confidence=KNOWN, rho=rho), K):
        value = brute.values(cmdp, step.policy)
        np.testing.assert_allclose(step.value, value, atol=1e-10)
        gaps += value[0] - best
        squares += ((value[1:] - cmdp.budget) ** 2).sum()
    assert gaps <= squares / (2 * t_lam) + H**2 * (1 + I * rho) * np.sqrt(2 * K * np.log(A))


# prices


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
@pytest.mark.parametrize("dual_step", [1.0, 5.0])
def test_prices_keep_the_inequalities_of_their_recursion(algorithm, dual_step):
    K, rho, H, I = 150, 3.0, 3, 2
    cmdp = instance(2, I=I)
    t_lam = H * np.sqrt(I * K) / rho / dual_step
    rng = np.random.default_rng(0)
    corners = [np.zeros(I), *(rho * np.eye(I)), *(rho * rng.random((5, I)))]
    simulation = driven(
        cmdp,
        algorithm,
        K,
        confidence={"scale": SCALES[algorithm] / 2},
        rho=rho,
        dual_step=dual_step,
    )
    left, squares = np.zeros(len(corners)), 0.0
    old, excess = np.zeros(I), np.zeros(I)
    largest = 0.0
    for step in walk(simulation, K):
        lam = step.lam
        assert (lam >= 0).all()
        assert algorithm == "OptDual" or (lam <= rho).all()
        assert (np.abs(lam - old) <= np.abs(excess) / t_lam + 1e-12).all()
        excess = step.value[1:] - cmdp.budget
        left += [excess @ (corner - lam) for corner in corners]
        squares += excess @ excess
        right = [t_lam / 2 * corner @ corner + squares / (2 * t_lam) for corner in corners]
        assert (left <= np.array(right) + 1e-9).all()
        old, largest = lam, max(largest, lam.max())
    assert largest > 0


def test_optdual_may_cancel_violations_that_its_positive_regret_counts():
    # deterministic policies on both sides of a binding budget take turns
    cmdp = instance(5, noise="bernoulli")
    run = tr.learn(cmdp, "OptDual", 20_000, confidence={"scale": 0.01})
    half = np.searchsorted(run.episode, 10_000)
    signed, positive = run.regret["constraint"][:, 0], run.regret["constraint_plus"][:, 0]
    assert abs(signed[-1]) <= 4 * np.sqrt(20_000)
    assert positive[-1] >= 2000
    assert positive[-1] >= 1.8 * positive[half]


# audits


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("confidence", ["faithful", "tight"])
@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_guaranteed_radii_hold_the_truth_and_every_plan_is_optimistic(
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
def test_balls_and_intersections_hold_the_truth_and_plan_optimistically(algorithm, transition):
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
    # its estimate is even, the truth is not, and nothing is paid for the difference
    p = np.zeros((3, 2, 3))
    p[:, 0, 0] = p[:, 1, 2] = 1
    cost = [[0.9, 0], [0.5, 0.5], [1, 0]]
    cmdp = tr.CMDP(p, cost, np.zeros((1, 3, 2)), [1.0], 3, noise="none")
    run = tr.learn(cmdp, algorithm, 50, confidence={"known_costs": True, factor: 0.0}, rho=1.0)
    assert run.audit.first_bad["transition"] == 1
    assert run.audit.not_optimistic == 0


@pytest.mark.parametrize("algorithm", ["OptCMDP-bonus", "OptPrimalDual"])
@pytest.mark.parametrize("mode", ["faithful", "tight"])
@pytest.mark.parametrize("scale", [0.3, 0.03, 0.003])
def test_a_scaled_bonus_is_audited_as_it_is(algorithm, mode, scale):
    # whenever the narrowed beliefs hold, optimism follows, whatever the factor
    for seed in range(4):
        cmdp = instance(seed, is_sparse=seed > 1, noise="bernoulli")
        confidence = {"mode": mode, "scale_bonus": scale}
        run = tr.learn(cmdp, algorithm, 400, seed=seed, confidence=confidence, rho=2.0)
        assert run.audit.not_optimistic == 0


def test_costs_that_depend_on_the_stage_are_replanned_though_the_kernel_is_pooled():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(6, 0.3), size=(6, 2))
    cmdp = tr.CMDP(p, rng.random((5, 6, 2)), rng.random((1, 5, 6, 2)), [2.0], 5)
    confidence = {"pool": True, "replan": "doubling", "scale": 0.05}
    simulation = driven(cmdp, "OptDual", 1000, confidence=confidence)
    for _ in range(50):
        simulation.advance(20)
        w = simulation.world
        seen, planned = w.counts.cost_visits, w.planned_cost_visits
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
        for name, episodes in zip(failed, simulation.world.audit.bad_episodes, strict=True):
            failed[name] += episodes > 0
    assert max(failed.values()) <= most


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_radii_that_are_too_small_fail_and_the_audit_says_when(algorithm):
    cmdp = instance(5, tightness=0.95, noise="bernoulli")
    run = tr.learn(cmdp, algorithm, 200, confidence={"scale": 1e-5})
    assert not run.audit.good_event
    assert run.audit.infeasible_plans > 0
    assert run.audit.first_bad["cost"] == 2  # nothing is believed wrongly before the first episode
    assert 0 < run.audit.bad_episodes["cost"] <= 199
    assert set(run.audit.bad_episodes) == {"transition", "cost", "constraint"}


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_rare_replanning_plans_rarely(algorithm):
    cmdp = instance(5)
    K, pairs = 2000, 3 * 2 * 3
    often = tr.learn(cmdp, algorithm, K, confidence={"scale": 0.01})
    seldom = tr.learn(cmdp, algorithm, K, confidence={"scale": 0.01, "replan": "doubling"})
    assert often.audit.plans == K
    assert seldom.audit.plans <= pairs * (1 + np.log2(K))


# the linear programme


def test_column_generation_plans_the_values_of_the_extended_programme():
    cmdp = instance(2, is_sparse=True)
    simulation = driven(cmdp, "OptCMDP", 30, confidence={"scale": 0.02})
    n_feasible = 0
    for _ in range(30):
        problem = simulation.world.problem
        boxed = problem._replace(kernels=full_box(problem.kernels, 3))
        answer = extended_lp(boxed, 3)
        simulation.advance(1)
        if answer is not None:
            n_feasible += 1
            assert simulation.move.value[0] == pytest.approx(answer.objective, abs=1e-7)
    assert n_feasible > 5


def test_optcmdp_runs_by_linear_programmes_too():
    for cmdp in (zoo.coin(), zoo.stairs()):
        run = tr.learn(cmdp, "OptCMDP", 5, confidence=KNOWN, method="lp")
        assert run.regret["cost_plus"][-1] <= 1e-6
        assert run.regret["constraint_plus"].max() <= 1e-6
    cmdp = instance(2, tightness=0.9)
    runs = [
        tr.learn(cmdp, "OptCMDP", 40, confidence={"scale": 0.01}, method="lp", seed=1)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(curves(runs[0]), curves(runs[1]))
    np.testing.assert_allclose(runs[0].policy.sum(axis=2), 1.0)


def test_infeasible_programmes_are_counted_like_infeasible_columns():
    cmdp = instance(5, tightness=0.95, noise="bernoulli")
    simulation = driven(cmdp, "OptCMDP", 200, confidence={"scale": 1e-3})
    n_relaxed = 0
    for _ in range(200):
        plan = plan_by_lp(simulation.world.problem, 3)
        simulation.advance(1)
        assert plan.is_relaxed == (simulation.move.facts[IS_RELAXED] > 0)
        # at the least violation the cost is steep in what rounding allows, the violation is not
        agreed = 1 if plan.is_relaxed else 0
        np.testing.assert_allclose(plan.value[agreed], simulation.move.value[agreed], atol=1e-6)
        n_relaxed += plan.is_relaxed
    assert 0 < n_relaxed < 200
    run = tr.learn(cmdp, "OptCMDP", 40, confidence={"scale": 1e-3}, method="lp")
    assert run.audit.plans == 40
    assert 0 < run.audit.infeasible_plans < 40
    assert run.multiplier.any()
    rare = tr.learn(cmdp, "OptCMDP", 40, confidence={"replan": "doubling"}, method="lp")
    assert rare.audit.plans < 40


# arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episodes": 0}, "episodes: 0, expected a whole number of at least 1"),
        ({"episodes": 10.0}, r"episodes: 10\.0, expected a whole number"),
        ({"episodes": True}, "episodes: True, expected a whole number"),
        ({"delta": 0.0}, r"delta: 0\.0, expected a number in \(0, 1\)"),
        ({"delta": 1.0}, r"delta: 1\.0, expected a number in \(0, 1\)"),
        ({"method": "simplex"}, "method: 'simplex', expected 'columns' or 'lp'"),
        ({"method": "lp"}, "method: 'lp' is for OptCMDP, not for OptDual"),
        ({"rho": "papers"}, "rho: 'papers', expected a number or one of 'paper', 'paper_x2'"),
        ({"rho": 0.0}, r"rho: 0\.0, expected a positive number"),
        ({"rho": -1}, "rho: -1, expected a positive number"),
        ({"rho": np.inf}, "rho: inf, expected a positive number"),
        ({"rho": True}, "rho: True, expected a positive number"),
        ({"rho": None}, "rho: None, expected a positive number"),
        ({"rho": [1.0]}, r"rho: \[1\.0\], expected a positive number"),
        ({"delta": "a"}, r"delta: 'a', expected a number in \(0, 1\)"),
        ({"delta": None}, "delta: None, expected a number"),
        ({"seed": -1}, "seed: -1, expected a whole number of at least 0"),
        ({"seed": 1.5}, r"seed: 1\.5, expected a whole number"),
        ({"seed": "a"}, "seed: 'a', expected a whole number"),
        ({"dual_step": -1}, "dual_step: -1, expected a positive number"),
        ({"dual_step": "a"}, "dual_step: 'a', expected a positive number"),
        ({"primal_step": np.nan}, "primal_step: nan, expected a positive number"),
        ({"tolerance": -1.0}, r"tolerance: -1\.0, expected a positive number"),
        ({"tolerance": None}, "tolerance: None, expected a positive number"),
        ({"audit_visits": 1}, "audit_visits: 1, expected true or false"),
        ({"confidence": "lose"}, "confidence: 'lose', expected 'faithful' or 'tight'"),
        ({"confidence": {"pool": True}}, "pool is set, but neither kernel nor costs are"),
        ({"algorithm": "OptDaul"}, "algorithm: 'OptDaul' is none of .*did you mean 'OptDual'"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused(change, message):
    given = {"algorithm": "OptDual", "episodes": 5} | change
    with pytest.raises(tr.ModelError, match=message):
        tr.learn(instance(5), **given)


def test_an_infeasible_model_is_refused():
    with pytest.raises(tr.InfeasibleError):
        tr.learn(zoo.seesaw(0.2, 0.3), "OptCMDP", 5)


def test_no_rule_for_rho_applies_where_no_policy_has_room_to_spare():
    cmdp = zoo.seesaw(0.4, 0.6)
    with pytest.raises(tr.ModelError, match="rho: no policy keeps every budget with room"):
        tr.learn(cmdp, "OptDual", 5)
    run = tr.learn(cmdp, "OptDual", 5, rho=3)
    assert (run.rho, run.rho_rule) == (3.0, "number")


@pytest.mark.parametrize("rule", ["paper", "paper_x2", "bound"])
def test_rho_follows_its_rule(rule):
    # the coin's ratio is 1, its slack the budget 0.25, and 2 H / slack = 8
    run = tr.learn(zoo.coin(), "OptDual", 5, rho=rule)
    assert run.rho == pytest.approx({"paper": 1, "paper_x2": 2, "bound": 8}[rule], rel=1e-6)
    assert run.rho_rule == rule
