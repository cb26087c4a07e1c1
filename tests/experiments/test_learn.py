"""Runs: records against dense evaluation, the same bits from the same seed, bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import tightrope as tr
import zoo
from driven import ALGORITHMS, SCALES, curves, driven, instance, own_options, walk
from refusals import refuses
from tightrope.learners import OptDual


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_record_equals_a_dense_evaluation_of_every_policy(algorithm):
    K = 60
    cmdp = instance(2, I=2, is_sparse=True)
    best = tr.solve(cmdp, tolerance=1e-12).value
    confidence = {"scale": SCALES[algorithm]}
    rho = own_options(algorithm, {"rho": 2.0})
    run = tr.learn(cmdp, algorithm, K, confidence=confidence, seed=3, **rho)
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
    rho = own_options(algorithm, {"rho": 2.0})
    run = tr.learn(instance(5, I=2), algorithm, 300, confidence={"scale": 0.01}, **rho)
    r = run.regret
    assert (r["cost"] <= r["cost_plus"] + 1e-12).all()
    assert (r["constraint"] <= r["constraint_plus"] + 1e-12).all()
    assert (np.diff(r["cost_plus"]) >= 0).all()
    assert (np.diff(r["constraint_plus"], axis=0) >= 0).all()
    assert (run.episode[0], run.episode[-1]) == (1, 300)
    assert (np.diff(run.episode) > 0).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(algorithm):
    cmdp = instance(5, I=2)
    given = {"confidence": {"scale": SCALES[algorithm]}, **own_options(algorithm, {"rho": 2.0})}
    a, b, c = (tr.learn(cmdp, algorithm, 200, seed=seed, **given) for seed in (7, 7, 8))
    np.testing.assert_array_equal(curves(a), curves(b))
    np.testing.assert_array_equal(a.policy, b.policy)
    assert not np.array_equal(curves(a), curves(c))


def test_progress_is_reported_up_to_the_last_episode():
    seen = []
    tr.learn(instance(5), "OptDual", 300, progress=seen.append)
    assert seen[-1] == 300
    assert (np.diff(seen) > 0).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"episodes": 0}, ("episodes", 0, "a whole number of at least 1")),
        ({"episodes": 10.0}, ("episodes", 10.0, "a whole number of at least 1")),
        ({"episodes": True}, ("episodes", True, "a whole number of at least 1")),
        ({"delta": 0.0}, ("delta", 0.0, "a number in (0, 1)")),
        ({"delta": 1.0}, ("delta", 1.0, "a number in (0, 1)")),
        ({"method": "lp"}, "method: OptDual has no such option; its options: rho, dual_step"),
        ({"tolerance": 1e-6}, "tolerance: OptDual has no such option"),
        ({"dual_stepp": 2.0}, "dual_stepp: OptDual has no such option, did you mean 'dual_step'"),
        ({"algorithm": "uniform", "rho": 2.0}, "rho: uniform has no such option; it has no opt"),
        ({"algorithm": OptDual(), "rho": 2.0}, r"rho: give options to OptDual\(\.\.\.\)"),
        ({"rho": "papers"}, ("rho", "papers", "a number or one of 'paper', 'paper_x2', 'bound'")),
        ({"rho": 0.0}, ("rho", 0.0, "a positive number")),
        ({"rho": -1}, ("rho", -1, "a positive number")),
        ({"rho": np.inf}, "rho: inf, expected a positive number"),
        ({"rho": True}, ("rho", True, "a positive number")),
        ({"rho": None}, ("rho", "None", "a positive number")),
        ({"rho": [1.0]}, ("rho", "[1.0]", "a positive number")),
        ({"delta": "a"}, ("delta", "a", "a number in (0, 1)")),
        ({"delta": None}, ("delta", "None", "a number in (0, 1)")),
        ({"seed": -1}, ("seed", -1, "a whole number of at least 0")),
        ({"seed": 1.5}, ("seed", 1.5, "a whole number of at least 0")),
        ({"seed": "a"}, ("seed", "a", "a whole number of at least 0")),
        ({"dual_step": -1}, ("dual_step", -1, "a positive number")),
        ({"dual_step": "a"}, ("dual_step", "a", "a positive number")),
        (
            {"algorithm": "OptPrimalDual", "primal_step": np.nan},
            "primal_step: nan, expected a positive number",
        ),
        (
            {"algorithm": "OptCMDP", "tolerance": -1.0},
            ("tolerance", -1.0, "a positive number"),
        ),
        (
            {"algorithm": "OptCMDP", "tolerance": None},
            ("tolerance", "None", "a positive number"),
        ),
        ({"audit_visits": 1}, ("audit_visits", 1, "true or false")),
        (
            {"confidence": "lose"},
            ("confidence", "lose", "'faithful' or 'tight' or a table of options"),
        ),
        ({"confidence": {"pool": True}}, "pool is set, but neither kernel nor costs are"),
        ({"algorithm": "OptDaul"}, "algorithm: 'OptDaul' is none of .*did you mean 'OptDual'"),
    ],
)
def test_invalid_arguments_are_refused(change, said):
    given = {"algorithm": "OptDual", "episodes": 5} | change
    with refuses(tr.ConfigError, said):
        tr.learn(instance(5), **given)


def test_an_infeasible_model_is_refused():
    with pytest.raises(tr.InfeasibleError):
        tr.learn(zoo.seesaw(0.2, 0.3), "OptCMDP", 5)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual", "OptCMDP", "uniform"])
def test_the_average_policy_has_the_mean_values_of_all_episodes(algorithm):
    cmdp = instance(5, I=2)
    run = tr.learn(cmdp, algorithm, 40, confidence={"scale": 0.01}, average=True)
    plain = tr.learn(cmdp, algorithm, 40, confidence={"scale": 0.01})
    np.testing.assert_array_equal(run.excess, plain.excess)
    mean = run.excess.mean(axis=0)  # every episode is recorded
    found = tr.evaluate(cmdp, run.average_policy)
    np.testing.assert_allclose(found.value - run.optimum, mean[0], atol=1e-12)
    np.testing.assert_allclose(found.constraint_value - cmdp.budget, mean[1:], atol=1e-12)
    with pytest.raises(tr.ConfigError, match="average_policy: not recorded"):
        _ = plain.average_policy


def test_a_stored_run_keeps_its_average_policy(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "OptDual", 30, [1], average=True, confidence={"scale": 0.05})
    experiment.run("here", progress=False)
    run = experiment.runs()[0].load()
    run.save(tmp_path / "run.npz")
    policy = tr.Run.load(tmp_path / "run.npz").average_policy
    np.testing.assert_array_equal(policy, run.average_policy)
    np.testing.assert_allclose(policy.sum(axis=2), 1.0)


def test_points_thin_the_record_and_change_nothing_else():
    cmdp = tr.envs.build("ring")
    full, thin = (tr.learn(cmdp, "uniform", 200, points=points) for points in (2000, 20))
    assert len(full.episode) == 200
    assert len(thin.episode) < 60
    places = np.searchsorted(full.episode, thin.episode)
    np.testing.assert_array_equal(thin.regret["cost"], full.regret["cost"][places])
    with refuses(
        tr.ConfigError, argument="points", found=0, expected="a whole number of at least 1"
    ):
        tr.learn(cmdp, "uniform", 5, points=0)
