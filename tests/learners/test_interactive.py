"""The learner that is told what happens: same data, same policies; bad data change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from driven import ALGORITHMS, SCALES, driven, instance, own_options, successors_of, told, walk
from refusals import refuses
from tightrope.arrays import is_set

K = 40


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
@pytest.mark.parametrize("is_stationary", [True, False])
def test_the_same_data_give_the_same_policies_to_the_last_bit(algorithm, replan, is_stationary):
    cmdp = instance(5, I=2, is_sparse=is_stationary, is_stationary=is_stationary)
    confidence = {"scale": SCALES[algorithm], "replan": replan}
    learner = told(cmdp, algorithm, K, confidence, successors=successors_of(cmdp))
    for k, step in enumerate(walk(driven(cmdp, algorithm, K, confidence=confidence), K)):
        assert learner.n_observed == k
        plan = learner.plan()
        np.testing.assert_array_equal(plan.policy, step.policy)
        np.testing.assert_array_equal(plan.multiplier, step.lam)
        np.testing.assert_array_equal([plan.value, *plan.constraint_value], step.value)
        learner.observe(step.episode)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_a_pattern_that_grows_as_successors_appear_plans_the_same_values(algorithm, replan):
    cmdp = instance(2, I=2, is_sparse=True)
    confidence = {"scale": SCALES[algorithm], "replan": replan}
    learner = told(cmdp, algorithm, K, confidence)
    for step in walk(driven(cmdp, algorithm, K, confidence=confidence), K):
        plan = learner.plan()
        planned = [plan.value, *plan.constraint_value]
        # planners stop at a relative gap of 1e-8, the others have no tolerance
        has_tolerance = "tolerance" in learner.learner.options
        slack = 1e-7 if has_tolerance else 1e-9
        assert plan.value == pytest.approx(step.value[0], rel=slack, abs=slack)
        if not has_tolerance:
            np.testing.assert_allclose(planned, step.value, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(plan.multiplier, step.lam, rtol=0, atol=1e-9)
            np.testing.assert_allclose(plan.policy, step.policy, rtol=0, atol=1e-9)
        learner.observe(step.episode)


def test_pooled_counts_grow_too():
    cmdp = instance(5, is_sparse=True, is_stationary=True)
    confidence = {"scale": 0.02, "pool": True}
    learner = told(cmdp, "OptDual", K, confidence, stationary=True)
    for step in walk(driven(cmdp, "OptDual", K, confidence=confidence), K):
        plan = learner.plan()
        planned = [plan.value, *plan.constraint_value]
        np.testing.assert_allclose(planned, step.value, rtol=1e-9, atol=1e-9)
        learner.observe(step.episode)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_plan_shows_its_expected_state_visits(algorithm):
    cmdp = instance(2, is_sparse=True)
    simulation = driven(cmdp, algorithm, K, confidence={"scale": 0.01})
    learner = told(cmdp, algorithm, K, {"scale": 0.01})
    for step in walk(simulation, 20):
        plan = learner.plan()
        q = plan.occupancy
        np.testing.assert_allclose(q.sum(axis=(1, 2)), 1.0, atol=1e-9)
        np.testing.assert_allclose(q[0].sum(axis=1), cmdp.initial, atol=1e-9)
        reached = q.sum(axis=2)
        shares = q / np.where(reached > 0, reached, 1.0)[..., None]
        is_reached = reached > 1e-9
        np.testing.assert_allclose(shares[is_reached], plan.policy[is_reached], atol=1e-7)
        learner.observe(step.episode)


def test_a_plan_stays_until_an_episode_is_observed():
    cmdp = instance(1)
    learner = told(cmdp, "OptPrimalDual", K, {"scale": 0.0005})
    for step in walk(driven(cmdp, "OptPrimalDual", K, confidence={"scale": 0.0005}), 10):
        plans = [learner.plan() for _ in range(3)]
        for plan in plans[1:]:
            np.testing.assert_array_equal(plan.policy, plans[0].policy)
            np.testing.assert_array_equal(plan.multiplier, plans[0].multiplier)
        np.testing.assert_allclose(plans[0].policy, step.policy, rtol=0, atol=1e-12)
        learner.observe(step.episode)


def small(**more):
    """A learner of three states, two actions, two steps and one budget; it starts in state 0."""
    algorithm = more.pop("algorithm", "OptDual")
    rho = own_options(algorithm, {"rho": 2.0})
    given = {"budget": [1.0], "episodes": 3, "confidence": {"scale": 0.02}, **rho} | more
    return tr.learner(algorithm, 3, 2, 2, **given)


GOOD = {
    "states": [0, 1, 2],
    "actions": [0, 1],
    "cost": [0.5, 0.25],
    "constraint_cost": [[0.0, 1.0]],
}
BAD = {
    "too few states": ({"states": [0, 1]}, r"episode\.states: .*expected 3 whole numbers"),
    "too many states": ({"states": [0, 1, 2, 0]}, r"episode\.states: .*expected 3 whole numbers"),
    "no such state": ({"states": [0, 3, 2]}, r"episode\.states\[h=1\] is 3, expected a number in"),
    "negative state": ({"states": [0, 1, -1]}, r"episode\.states\[h=2\] is -1"),
    "half a state": ({"states": [0.0, 1.0, 2.0]}, r"episode\.states: float64"),
    "other start": ({"states": [1, 1, 2]}, r"states\[h=0\] is 1, which is not a start state"),
    "too few actions": ({"actions": [0]}, r"episode\.actions: .*expected 2 whole numbers"),
    "no such action": ({"actions": [0, 2]}, r"episode\.actions\[h=1\] is 2, expected a number in"),
    "negative action": ({"actions": [-1, 0]}, r"episode\.actions\[h=0\] is -1"),
    "words": ({"actions": ["left", "right"]}, r"episode\.actions: .*expected 2 whole numbers"),
    "short cost": ({"cost": [0.5]}, r"episode\.cost: shape \(1,\), expected \(2,\)"),
    "large cost": ({"cost": [0.5, 1.5]}, r"episode\.cost\[h=1\] is 1\.5, expected .*\[0, 1\]"),
    "negative cost": ({"cost": [-0.5, 0.5]}, r"episode\.cost\[h=0\] is -0\.5"),
    "NaN cost": ({"cost": [0.5, np.nan]}, r"episode\.cost\[h=1\] is nan, expected a finite"),
    "flat constraint": (
        {"constraint_cost": [0.0, 1.0]},
        r"episode\.constraint_cost: shape \(2,\), expected \(1, 2\)",
    ),
    "large constraint": (
        {"constraint_cost": [[0.0, 2.0]]},
        r"episode\.constraint_cost\[i=0, h=1\] is 2, expected",
    ),
    "infinite constraint": (
        {"constraint_cost": [[np.inf, 0.0]]},
        r"episode\.constraint_cost\[i=0, h=0\] is inf, expected a finite",
    ),
    "forbidden action": (
        {"states": [0, 2, 2], "actions": [0, 1]},
        r"episode\.actions\[h=1\] is 1, not allowed in state 2",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_an_episode_that_cannot_be_right_is_refused_and_changes_nothing(change, message):
    allowed = np.ones((3, 2), dtype=bool)
    allowed[2, 1] = False
    learner, other = small(allowed=allowed), small(allowed=allowed)
    learner.plan()
    with pytest.raises(tr.DataError, match=message):
        learner.observe(tr.Episode(**(GOOD | change)))
    assert learner.n_observed == 0
    for _ in range(3):
        plan, same = learner.plan(), other.plan()
        np.testing.assert_array_equal(plan.policy, same.policy)
        np.testing.assert_array_equal(plan.multiplier, same.multiplier)
        assert plan.value == same.value
        for each in (learner, other):
            each.observe(tr.Episode(**GOOD))


@pytest.mark.parametrize("given", [None, (0, 1), GOOD], ids=["nothing", "a tuple", "a table"])
def test_what_is_no_episode_is_refused(given):
    learner = small()
    learner.plan()
    with refuses(tr.DataError, argument="episode", expected="an Episode"):
        learner.observe(given)
    with refuses(
        tr.DataError, argument="episode.states", found="ragged", expected="3 whole numbers"
    ):
        learner.observe(tr.Episode(**(GOOD | {"states": [0, [1], 2]})))
    assert learner.n_observed == 0


def test_without_constraints_an_episode_has_no_constraint_costs():
    learner = tr.learner("OptCMDP", 3, 2, 2, [], 5)
    learner.plan()
    learner.observe(tr.Episode(**(GOOD | {"constraint_cost": []})))
    assert learner.n_observed == 1


def test_an_infeasible_plan_is_marked_and_counted():
    learner = tr.learner("OptCMDP", 2, 1, 1, [0.1], 50, confidence={"scale": 0.0})
    assert learner.plan().is_feasible
    learner.observe(tr.Episode([0, 1], [0], [0.5], [[1.0]]))
    assert learner.n_infeasible == 0
    plan = learner.plan()
    assert not plan.is_feasible
    assert plan.constraint_value == pytest.approx([1.0])
    assert learner.n_infeasible == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(12))
def test_a_pattern_that_grows_plays_what_a_lent_one_plays_also_among_ties(algorithm, seed):
    # costs of zero and one tie often: the last bit of a radius would decide between actions
    rng = np.random.default_rng(seed)
    cmdp = instance(seed, S=4, A=2, H=int(rng.integers(1, 4)), is_sparse=True, noise="bernoulli")
    confidence = {"scale": 1.0 if seed % 2 else SCALES[algorithm]}
    learner = told(cmdp, algorithm, K, confidence)
    for step in walk(driven(cmdp, algorithm, K, confidence=confidence, seed=seed), K):
        plan = learner.plan()
        np.testing.assert_allclose(plan.policy, step.policy, atol=1e-9)
        if not is_set(learner._agent.problem.kernels):  # over sets, sums may round apart
            np.testing.assert_array_equal([plan.value, *plan.constraint_value], step.value)
        learner.observe(step.episode)


def test_a_successor_that_was_ruled_out_is_refused_and_changes_nothing():
    successors = np.ones((3, 2, 3))
    successors[1, 1, 2] = 0
    learner, other = small(successors=successors), small(successors=successors)
    learner.plan()
    message = (
        r"episode\.states\[h=2\] is 2, a successor that .* rule out after state 1 and action 1"
    )
    with pytest.raises(tr.DataError, match=message):
        learner.observe(tr.Episode(**GOOD))
    other.plan()
    for each in (learner, other):
        each.observe(tr.Episode(**(GOOD | {"states": [0, 1, 1]})))
    assert learner.plan().value == other.plan().value
    assert learner.n_observed == 1


def test_observing_without_a_plan_is_refused():
    learner = small()
    with refuses(tr.DataError, r"call plan\(\) first", argument="observe"):
        learner.observe(tr.Episode(**GOOD))
    learner.plan()
    learner.observe(tr.Episode(**GOOD))
    with refuses(tr.DataError, r"call plan\(\) first", argument="observe"):
        learner.observe(tr.Episode(**GOOD))
    assert learner.n_observed == 1


def test_planning_after_the_last_episode_is_refused():
    learner = small(episodes=2)
    for _ in range(2):
        learner.plan()
        learner.observe(tr.Episode(**GOOD))
    with refuses(tr.ConfigError, argument="episodes", found=2, expected="less than 2"):
        learner.plan()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_number_of_episodes_up_to_the_limit_can_be_planned_for(algorithm):
    rho = own_options(algorithm, {"rho": 2.0})
    learner = tr.learner(algorithm, 3, 2, 2, [1.0], 2**63 - 1, **rho)
    np.testing.assert_allclose(learner.plan().policy.sum(axis=2), 1.0)
    with refuses(
        tr.ConfigError,
        argument="episodes",
        found=9223372036854775808,
        expected="a whole number of at most 9223372036854775807",
    ):
        tr.learner(algorithm, 3, 2, 2, [1.0], 2**63, **rho)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
def test_dual_learners_require_rho(algorithm):
    with pytest.raises(tr.ConfigError, match=f"rho: missing; {algorithm} needs a bound"):
        tr.learner(algorithm, 3, 2, 2, [1.0], 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rho": 0.0}, ("rho", 0.0, "a positive number")),
        ({"rho": np.nan}, ("rho", pytest.approx(np.nan, nan_ok=True), "a positive number")),
        ({"rho": "paper"}, ("rho", "missing", None)),
        ({"rho": True}, ("rho", True, "a positive number")),
        ({"stationary": "no"}, ("stationary", "no", "true or false")),
        ({"delta": None}, ("delta", "None", "a number in (0, 1)")),
        (
            {"dual_step": np.nan},
            ("dual_step", pytest.approx(np.nan, nan_ok=True), "a positive number"),
        ),
        ({"tolerance": 1e-6}, "tolerance: OptDual has no such"),
        (
            {"algorithm": "OptCMDP", "tolerance": "x"},
            ("tolerance", "x", "a positive number"),
        ),
        (
            {"successors": np.zeros((3, 2, 3))},
            ("successors[s=0, a=0]", "no successor is possible", "at least one"),
        ),
        (
            {"cost": np.zeros((3, 2)), "constraint_cost": np.zeros((1, 3, 2))},
            "^cost: given, .*known_costs",
        ),
        ({"episodes": 0}, ("episodes", 0, "a whole number of at least 1")),
        ({"budget": [[1.0], [1.0, 2.0]]}, ("budget", None, "an array of real numbers")),
        ({"episodes": True}, ("episodes", True, "a whole number of at least 1")),
        ({"episodes": 2.5}, ("episodes", 2.5, "a whole number of at least 1")),
        ({"delta": 0.0}, ("delta", 0.0, "a number in (0, 1)")),
        ({"delta": 1}, ("delta", 1, "a number in (0, 1)")),
        ({"confidence": {"known_support": True}}, "known_support is set"),
        ({"confidence": {"known_costs": True}}, ("confidence", "known_costs", None)),
        ({"confidence": {"pool": True}}, ("confidence", "pool", None)),
        ({"cost": np.zeros((3, 2))}, ("constraint_cost", "missing", None)),
        ({"successors": np.ones((3, 2))}, ("successors", (3, 2), "(3, 2, 3)")),
    ],
)
def test_invalid_arguments_are_refused(change, said):
    with refuses((tr.ModelError, tr.ConfigError), said):
        small(**change)


def test_an_unknown_algorithm_is_refused_with_the_nearest_name():
    with refuses(tr.ConfigError, "did you mean 'OptDual'", argument="algorithm", found="optdul"):
        tr.learner("optdul", 3, 2, 2, [1.0], 5)
    with refuses(tr.ConfigError, argument="algorithm", found="['OptDual']"):
        tr.learner(["OptDual"], 3, 2, 2, [1.0], 5)
    with refuses(tr.ConfigError, "for simulations", argument="algorithm", found="uniform"):
        tr.learner("uniform", 3, 2, 2, [1.0], 5)
