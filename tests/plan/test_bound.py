"""Bounds on policies: exact over the set, by other methods, and true as often as they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import brute
import naive
import tightrope as tr
from driven import ALGORITHMS, driven, instance, told, walk
from refusals import refuses
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import as_confidence
from tightrope.belief.limits import find_limits
from tightrope.learners import LEARNERS
from tightrope.model.task import simulated_task
from tightrope.plan.bound import Bounds, bound_policy

K = 60


def experienced(cmdp, algorithm, confidence="faithful", n=40, **more):
    """A learner after n episodes of its own, and the episodes."""
    learner, episodes = told(cmdp, algorithm, K, confidence, **more), []
    for step in walk(driven(cmdp, algorithm, K, confidence={"scale": 0.01}), n):
        learner.plan()
        learner.observe(step.episode)
        episodes.append(step.episode)
    return learner, episodes


def dense_bounds(expect, low, high, initial, pi):
    """Both ends by dense backward sweeps; ``expect(h, s, a, V, sign)`` solves a row's program."""
    H, S, A = pi.shape
    ends = []
    for loss, sign in ((low, 1.0), (high, -1.0)):
        V = np.zeros(S)
        for h in range(H - 1, -1, -1):
            after = np.zeros((S, A))
            if h < H - 1:
                for s, a in np.ndindex(S, A):
                    after[s, a] = expect(h, s, a, V, sign)
            V = (pi[h] * (loss[h] + after)).sum(axis=1)
        ends.append(initial @ V)
    return ends


def some_policies(cmdp, n=4):
    rng = np.random.default_rng(7)
    for spread in np.geomspace(0.1, 5.0, n):
        pi = rng.dirichlet(np.full(cmdp.n_actions, spread), size=(cmdp.horizon, cmdp.n_states))
        pi = (pi + 1e-9) * cmdp.allowed
        yield pi / pi.sum(axis=2, keepdims=True)


def read(cmdp, episodes, scale):
    """The specification's own statistics of these episodes."""
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    seen = naive.Statistics(S, A, H, cmdp.n_constraints, K, scale=scale)
    for episode in episodes:
        seen.observe(episode)
    never = seen.n == 0
    means = [seen.cbar, *seen.dbar]
    low = [np.where(never, 0.0, np.clip(m - seen.beta_c, 0, 1)) for m in means]
    high = [np.where(never, 1.0, np.clip(m + seen.beta_c, 0, 1)) for m in means]
    return seen, low, high


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_bounds_are_those_of_the_specifications_box_by_row_programs(algorithm, scale):
    cmdp = instance(2, I=2, is_sparse=True)
    learner, episodes = experienced(cmdp, algorithm, {"scale": scale})
    seen, low, high = read(cmdp, episodes, scale)
    lower, upper = seen.box

    def expect(h, s, a, V, sign):
        return brute.best_row(V, lower[h, s, a], upper[h, s, a], sign)

    for pi in some_policies(cmdp, 2):
        found = learner.bound(pi)
        ends = [dense_bounds(expect, low[k], high[k], cmdp.initial, pi) for k in range(3)]
        np.testing.assert_allclose(found.cost, ends[0], atol=1e-9)
        np.testing.assert_allclose(found.constraint_cost, ends[1:], atol=1e-9)


def test_bound_policy_deterministic_policies_are_those_of_the_extended_program():
    # with only the policy's own actions allowed, the best over policies and kernels is over kernels
    cmdp = instance(4, S=3, A=2, H=2)
    learner, episodes = experienced(cmdp, "OptDual", {"scale": 0.05})
    seen, low, high = read(cmdp, episodes, 0.05)
    lower, upper = seen.box
    none = np.zeros((0, *low[0].shape)), np.zeros(0)
    for actions in brute.enumerated(cmdp.allowed)[::9]:
        only = np.eye(2, dtype=bool)[actions]
        least = brute.optimistic(cmdp.initial, lower, upper, low[1], *none, only)
        most = -brute.optimistic(cmdp.initial, lower, upper, -high[1], *none, only)
        found = learner.bound(actions)
        np.testing.assert_allclose(found.constraint_cost, [[least, most]], atol=1e-8)


def test_bounds_over_a_ball_are_those_of_its_programs():
    cmdp = instance(3, S=3, A=2, H=3)
    confidence = {"transition": "l1", "scale": 0.2}
    learner, episodes = experienced(cmdp, "OptCMDP", confidence)
    seen, low, high = read(cmdp, episodes, 0.2)
    # sqrt(2 (S ln 2 + ln(3SAHK/delta)) / n), at most 2
    term = 3 * np.log(2) + np.log(3 * 3 * 2 * 3 * K / 0.1)
    radius = np.minimum(2.0, 0.2 * np.sqrt(2 * term / seen.least_one))

    def expect(h, s, a, V, sign):
        if seen.n[h, s, a] == 0:
            return V.min() if sign > 0 else V.max()
        return brute.best_in_ball(V, seen.pbar[h, s, a], radius[h, s, a], sign)

    for pi in some_policies(cmdp, 2):
        ends = dense_bounds(expect, low[0], high[0], cmdp.initial, pi)
        np.testing.assert_allclose(learner.bound(pi).cost, ends, atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("confidence", ["faithful", "tight", {"scale": 0.01}], ids=str)
def test_before_the_first_episode_anything_may_be_true(algorithm, confidence):
    cmdp = instance(1, I=2)
    found = told(cmdp, algorithm, K, confidence).bound(np.full((3, 3, 2), 0.5))
    np.testing.assert_array_equal(found.cost, [0.0, 3.0])
    np.testing.assert_array_equal(found.constraint_cost, [[0.0, 3.0]] * 2)
    assert set(found.verdicts) == {"undecided"}


def test_known_costs_leave_only_the_way_unknown():
    # the policy may be sent to whichever state is cheapest or dearest after its first step
    cost = np.array([[0.25, 0.5], [0.125, 0.0], [1.0, 0.75]])
    learner = tr.learner(
        "OptCMDP",
        3,
        2,
        2,
        [1.0],
        5,
        confidence={"known_costs": True},
        cost=cost,
        constraint_cost=cost[None] / 2,
    )
    found = learner.bound(np.zeros((2, 3), dtype=int))
    np.testing.assert_array_equal(found.cost, [0.375, 1.25])
    np.testing.assert_array_equal(found.constraint_cost, [[0.1875, 0.625]])
    assert found.verdicts == ("kept",)


def test_a_budget_of_the_whole_horizon_is_certainly_kept():
    learner = tr.learner("OptDual", 3, 3, 7, [7.0], 5, rho=1.0)
    pi = np.random.default_rng(0).dirichlet(np.ones(3), size=(7, 3))
    assert learner.bound(pi).verdicts == ("kept",)


def test_verdicts_follow_from_the_ends():
    ends = np.array([[0.2, 0.5], [0.5, 0.7], [0.4, 0.6], [0.5, 0.5]])
    found = Bounds(np.array([0.0, 1.0]), ends, np.array([0.5, 0.4, 0.5, 0.5]), 0.1, False, 2)
    assert found.verdicts == ("kept", "exceeded", "undecided", "kept")
    assert not found.keeps_all
    assert "at least 0.9" in found.words


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_smaller_radii_mark_the_bounds_as_not_guaranteed(algorithm):
    cmdp = instance(1)
    pi = np.full((3, 3, 2), 0.5)
    assert not told(cmdp, algorithm, K, "tight").bound(pi).is_heuristic
    scaled = told(cmdp, algorithm, K, {"scale": 0.5}).bound(pi)
    assert scaled.is_heuristic
    assert "not guaranteed" in scaled.words
    # a factor on the bonus narrows the widths of those who have one, and of nobody else
    by_bonus = told(cmdp, algorithm, K, {"scale_bonus": 0.5}).bound(pi)
    assert by_bonus.is_heuristic == (LEARNERS[algorithm].belief is BonusBelief)


def test_a_bonus_based_learner_has_the_box_of_a_set_based_one():
    cmdp = instance(5, I=2)
    _, episodes = experienced(cmdp, "OptDual")
    learners = [told(cmdp, name, K, {"scale": 0.05}) for name in ("OptDual", "OptPrimalDual")]
    for learner in learners:
        for episode in episodes:
            learner.plan()
            learner.observe(episode)
    for pi in some_policies(cmdp):
        first, second = (learner.bound(pi) for learner in learners)
        np.testing.assert_array_equal(first.cost, second.cost)
        np.testing.assert_array_equal(first.constraint_cost, second.constraint_cost)


def test_a_learner_that_plans_rarely_bounds_with_all_that_it_saw():
    cmdp = instance(5)
    often, _ = experienced(cmdp, "OptDual", {"scale": 0.05})
    rarely, _ = experienced(cmdp, "OptDual", {"scale": 0.05, "replan": "doubling"})
    for pi in some_policies(cmdp):
        np.testing.assert_array_equal(often.bound(pi).cost, rarely.bound(pi).cost)


def test_bounding_changes_nothing():
    cmdp = instance(5)
    learners = [experienced(cmdp, "OptCMDP", {"scale": 0.02})[0] for _ in range(2)]
    for pi in some_policies(cmdp):
        learners[0].bound(pi)
    assert learners[0].to_bytes() == learners[1].to_bytes()


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (np.ones((3, 3, 2)), ("policy[h=0, s=0]", 2.0, "1")),
        (
            np.full((3, 2), 0.5)[:2],
            (
                "policy",
                (2, 2),
                "(3, 3, 2) over (H, S, A), (3, 2) over (S, A), or (3, 3) whole numbers over (H, S)",
            ),
        ),
        ("fast", "policy: expected an array of real numbers"),
        (np.full((3, 3), 2), ("policy[h=0, s=0]", 2.0, "a number in [0, 1]")),
    ],
)
def test_what_is_no_policy_is_refused(policy, said):
    with refuses(tr.ModelError, said):
        told(instance(1), "OptDual", K).bound(policy)


def test_a_forbidden_action_is_refused():
    cmdp = instance(4, A=3, S=2, H=2, is_masked=True)
    with refuses(tr.ModelError, argument="policy", entry="h=0, s=0, a=0", found="positive"):
        told(cmdp, "OptDual", K).bound(np.full((2, 2, 3), 1 / 3))


def after(simulation, cmdp, algorithm, confidence, n_episodes, delta):
    """What `bound_policy` asks for, of a simulation after so many episodes."""
    simulation.advance(n_episodes)
    radii = as_confidence(confidence)
    kind, counts = LEARNERS[algorithm].belief, simulation.agent.beliefs.counts
    return simulated_task(cmdp, n_episodes, delta), radii, kind, counts


@pytest.mark.parametrize("confidence", ["faithful", "tight", {"transition": "kl+l1"}], ids=str)
def test_the_intervals_shrink_toward_the_true_model(confidence):
    cmdp = instance(3, S=2, A=2, H=2, noise="bernoulli")
    pi = np.full((2, 2, 2), 0.5)
    true = brute.values(cmdp, pi)
    widths = []
    for n in (100, 10_000, 1_000_000):
        simulation = driven(cmdp, "uniform", n, policy=pi)
        found = bound_policy(*after(simulation, cmdp, "OptDual", confidence, n, 0.1), pi)
        ends = np.vstack((found.cost, found.constraint_cost))
        assert (ends[:, 0] <= true).all()
        assert (true <= ends[:, 1]).all()
        widths.append((ends[:, 1] - ends[:, 0]).max())
    # past the first visits radii fall like 1/sqrt(n): a hundredfold n makes them ten times smaller
    assert widths[0] > widths[1] > 5 * widths[2]
    assert widths[2] < 0.1


def test_pooled_steps_and_known_successors_only_narrow_the_bounds():
    cmdp = instance(6, S=4, A=2, H=3, is_sparse=True, is_stationary=True, noise="bernoulli")
    simulation = driven(cmdp, "OptDual", 2000)
    pooled = driven(cmdp, "OptDual", 2000, confidence={"pool": True})
    plain = after(simulation, cmdp, "OptDual", "faithful", 2000, 0.1)
    known = (plain[0], as_confidence({"known_support": True}), *plain[2:])
    pool = after(pooled, cmdp, "OptDual", {"pool": True}, 2000, 0.1)
    for pi in some_policies(cmdp):
        true = brute.values(cmdp, pi)
        found = [bound_policy(*each, pi) for each in (plain, known, pool)]
        for each in found:
            ends = np.vstack((each.cost, each.constraint_cost))
            assert (ends[:, 0] <= true).all()
            assert (true <= ends[:, 1]).all()
        widths = [np.ptp(each.cost) for each in found]
        assert widths[1] <= widths[0]
        assert widths[2] < widths[0]


def misses(algorithm, confidence, delta, n_runs, n_episodes):
    """Runs in which some policy's value lies outside its bounds: the learned one, or any other.

    An adversary who knows the true model picks the policy: all deterministic ones are tried, and
    some that randomize.
    """
    missed = 0
    for seed in range(n_runs):
        cmdp = instance(seed % 5, S=2, A=2, H=2, noise="bernoulli")
        simulation = driven(cmdp, algorithm, n_episodes, confidence=confidence, seed=seed)
        state = after(simulation, cmdp, algorithm, confidence, n_episodes, delta)
        learned = simulation.agent.decision.policy
        pure = (np.eye(2)[actions] for actions in brute.enumerated(cmdp.allowed))
        every = [learned, *pure, *some_policies(cmdp)]
        is_missed = False
        for pi in every:
            found = bound_policy(*state, pi)
            ends = np.vstack((found.cost, found.constraint_cost))
            true = brute.values(cmdp, pi)
            is_missed = is_missed or bool(
                (true < ends[:, 0] - 1e-12).any() or (true > ends[:, 1] + 1e-12).any()
            )
        missed += is_missed
    return missed


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("confidence", ["faithful", "tight"])
def test_bounds_fail_no_more_often_than_delta_for_the_worst_policy(algorithm, confidence):
    # If each run misses with probability at most delta, the number of misses in n independent runs
    # is at most a binomial(n, delta) in law; it exceeds that law's 1 - 1e-6 quantile in one test
    # run of a million.
    n, delta = 60, 0.1
    most = binom.ppf(1 - 1e-6, n, delta)
    assert misses(algorithm, confidence, delta, n, 400) <= most


def test_bounds_with_radii_far_too_small_do_fail():
    # so the simulation above would have seen bounds that are wrong
    n, delta = 60, 0.1
    most = binom.ppf(1 - 1e-6, n, delta)
    assert misses("OptDual", {"mode": "tight", "scale": 0.1}, delta, n, 400) > most


def test_limits_hold_the_estimate():
    cmdp = instance(5, I=2)
    simulation = driven(cmdp, "OptPrimalDual", 50)
    task, radii, kind, counts = after(simulation, cmdp, "OptPrimalDual", "tight", 50, 0.1)
    limits = find_limits(task, kind.as_set(radii), counts)
    seen = counts.cost_visits > 0
    mean = counts.cost_sum / np.maximum(counts.cost_visits, 1)
    low, high = (ends[0].reshape(mean.shape) for ends in (limits.low, limits.high))
    assert (low[seen] <= mean[seen]).all()
    assert (mean[seen] <= high[seen]).all()
    assert (high - low <= 1.0).all()
    np.testing.assert_array_equal((low[~seen], high[~seen]), (0 * low[~seen], 0 * low[~seen] + 1))
