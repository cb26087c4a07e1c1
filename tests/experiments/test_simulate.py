"""Simulations: pieces and whole runs, limits with known answers, distributions of costs."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import tightrope as tr
import zoo
from driven import ALGORITHMS, KNOWN, SCALES, driven, instance, walk


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
            getattr(whole.world.record, name), getattr(pieces.world.record, name)
        )
    np.testing.assert_array_equal(
        whole.agent.beliefs.counts.visits, pieces.agent.beliefs.counts.visits
    )
    np.testing.assert_array_equal(whole.agent.decision.policy, pieces.agent.decision.policy)
    assert whole.rng.bit_generator.state == pieces.rng.bit_generator.state


def test_without_information_optprimaldual_stays_exactly_uniform_and_its_prices_zero():
    cmdp = instance(5, I=2)
    run = tr.learn(cmdp, "OptPrimalDual", 500)
    np.testing.assert_array_equal(run.policy, np.full((3, 3, 2), 0.5))
    assert not run.multiplier.any()
    np.testing.assert_array_equal(run.audit.multiplier_range, 0.0)
    even = tr.learn(cmdp, "uniform", 500)
    np.testing.assert_array_equal(run.regret["cost"], even.regret["cost"])


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


def test_optprimaldual_with_the_true_model_satisfies_its_inequality():
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
