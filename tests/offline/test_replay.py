"""Bounds on one policy from replayed episodes: by hand, by a slow loop, how often they fail."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_samples import ROWS, csv_at, read
from scipy.stats import binom
from test_fit import budgets, ended, log_of

import tightrope as tr
from driven import instance
from tightrope.belief.intervals import least_mean
from tightrope.envs.maintenance import maintenance
from tightrope.plan.bound import AVERAGE, EVERY, ONE

DELTA = 0.1


def replayed(log, policy, draws, stationary):
    """Least and greatest totals of the replayed episodes, (K, I+1) each, step by step."""
    H, lists = log.horizon, defaultdict(list)
    for states, actions, cost, bounded in zip(
        log.scaled.states,
        log.scaled.actions,
        log.scaled.cost,
        log.scaled.constraint_cost,
        strict=True,
    ):
        for h in range(H):
            if log.end is not None and states[h] == log.end.state:
                break
            key = (0 if stationary else h, states[h], actions[h])
            lists[key].append((np.array([cost[h], *bounded[:, h]]), states[h + 1]))
    lows, highs = [], []
    for k, s in enumerate(log.scaled.states[:, 0]):
        low, rest = np.zeros(1 + len(log.constraint_names)), 0.0
        for h in range(H):
            if log.end is not None and s == log.end.state:
                low = low + (H - h) * log.end.cost
                break
            # by the sums of the policy's probabilities, over the actions it may take
            used = np.flatnonzero(policy[h, s])
            passed = (np.cumsum(policy[h, s][used])[:-1] <= draws[k, h]).sum()
            outcomes = lists[0 if stationary else h, s, used[passed]]
            if not outcomes:
                rest = H - h
                break
            cost, s = outcomes.pop(0)
            low = low + cost
        lows.append(low)
        highs.append(low + rest)
    return np.array(lows), np.array(highs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.integers(1, 30))
def test_replayed_episodes_are_those_of_a_slow_reading(seed, stationary, episodes):
    cmdp = instance(seed % 5, I=1, is_stationary=stationary)
    log = log_of(cmdp, episodes, seed=seed)
    policy = np.random.default_rng(seed).dirichlet([0.5] * 2, size=(3, 3))
    draws = np.random.default_rng(7).random((episodes, 3))
    low, high = replayed(log, policy, draws, stationary)
    found = log.bound(policy, budgets(cmdp), DELTA, stationary=stationary, seed=7)
    for c, ends in enumerate((found.cost, *found.constraint_cost)):
        chance = DELTA / 4
        assert ends[0] == pytest.approx(3 * least_mean(low[:, c] / 3, chance))
        assert ends[1] == pytest.approx(3 - 3 * least_mean(1 - high[:, c] / 3, chance))


def test_a_policy_that_the_log_followed_is_replayed_episode_by_episode(tmp_path):
    # always "go" in "idle": the steps of the log at stage 0 are used in order, and so on
    log = read(csv_at(tmp_path, ROWS))
    policy = np.zeros((2, log.n_states, log.n_actions))
    policy[..., log.action_names.index("go")] = 1.0
    policy[1, log.state_names.index("busy")] = (
        [0.0, 1.0] if log.action_names[1] == "wait" else [1.0, 0.0]
    )
    low, high = replayed(log, policy, np.zeros((3, 2)), stationary=False)
    # a: go to busy, wait there; b: go to idle (the outcome of c), go (that of b); c: none is left
    np.testing.assert_allclose(low[:, 0], [0.5, 0.25 + 0.5, 0.0])
    np.testing.assert_allclose(high[:, 0], [0.5, 0.25 + 0.5, 2.0])
    found = log.bound(policy, {"risk": 1.0})
    assert found.cost[1] == pytest.approx(20 - 20 * least_mean(1 - high[:, 0] / 2, DELTA / 4))


def test_finished_episodes_cost_what_is_known():
    log = ended()
    low, high = replayed(log, np.eye(2)[np.array([[1, 0], [0, 0]])], np.zeros((2, 2)), False)
    np.testing.assert_array_equal(low[0], high[0])
    assert low[0] == 0.5
    with_row = log.bound(np.eye(2)[[[1, 0], [0, 0]]])
    without = log.bound(np.array([[1], [0]]))
    np.testing.assert_array_equal(with_row.cost, without.cost)


def test_actions_that_were_never_taken_leave_the_limits_without_data():
    cmdp = instance(7, I=1)
    timid = np.zeros((3, 3, 2))
    timid[..., 0] = 1.0
    log = log_of(cmdp, 50, timid)
    found = log.bound(timid[..., ::-1], budgets(cmdp))
    np.testing.assert_array_equal(found.cost, [0.0, 3.0])
    np.testing.assert_array_equal(found.constraint_cost, [[0.0, 3.0]])


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("K", [20, 200])
def test_bounds_of_one_policy_fail_no_more_often_than_delta(K, stationary):
    # the log stops taking the second action once it had a cheap outcome: it depends on outcomes
    cmdp = instance(3, I=1, is_stationary=stationary)
    policy = np.random.default_rng(3).dirichlet([1, 1], size=(3, 3))
    values = tr.evaluate(cmdp, policy)
    rng, runs, failed = np.random.default_rng(0), 300, 0
    logs = log_of(cmdp, runs * K, seed=5)
    for k in range(runs):
        log = logs.part(k * K, (k + 1) * K)
        cheap = np.flatnonzero((log.scaled.cost.sum(axis=1) < 0.8) & (np.arange(K) > K // 4))
        log = log.part(0, int(cheap[0]) + 1 if cheap.size else K)
        found = log.bound(
            policy, budgets(cmdp), DELTA, stationary=stationary, seed=int(rng.integers(99))
        )
        inside = found.cost[0] <= values.value <= found.cost[1]
        low, high = found.constraint_cost[0]
        failed += not (inside and low <= values.constraint_value[0] <= high)
    assert failed <= binom.ppf(1 - 1e-6, runs, DELTA)


def week():
    """A machine over the seven days of a week, and a policy that stops it for 4.7 of 56 hours."""
    cmdp = maintenance(levels=4, wear=0.3, fragility=0.2, repair=0.6, horizon=7, budget=2.0)
    rarely, always = tr.solve(cmdp).policy, np.where(cmdp.allowed[0], [[0.0, 1, 1, 0]], 0.0)
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        share = (low + high) / 2
        policy = (1 - share) * rarely + share * always
        hours = 8 * tr.evaluate(cmdp, policy).constraint_value[0]
        low, high = (share, high) if hours < 4.7 else (low, share)
    assert hours == pytest.approx(4.7)
    return cmdp, policy


@pytest.mark.slow
def test_in_2000_logs_of_150_weeks_4_7_hours_are_certified_below_16_and_bounds_hold():
    cmdp, policy = week()
    true = tr.evaluate(cmdp, policy)
    runs, K = 2000, 150
    weeks = log_of(cmdp, runs * K, policy, seed=11)
    certified, failed = np.zeros(2), np.zeros(2)
    for k in range(runs):
        log = weeks.part(k * K, (k + 1) * K)
        for j, found in enumerate(
            (log.bound(policy, budgets(cmdp), stationary=True), log.bound_average(budgets(cmdp)))
        ):
            low, high = found.constraint_cost[0]
            certified[j] += found.verdicts == ("kept",)
            failed[j] += not low <= true.constraint_value[0] <= high
    assert (certified >= 0.99 * runs).all()
    assert (failed <= binom.ppf(1 - 1e-6, runs, DELTA)).all()


def test_the_average_of_the_policies_is_bounded_while_they_change():
    cmdp = instance(1, I=1)
    lazy, busy = np.zeros((2, 3, 3, 2))
    lazy[..., 0] = busy[..., 1] = 1.0
    one, other = log_of(cmdp, 300, lazy, 1), log_of(cmdp, 300, busy, 2)
    for log, policy in ((one, lazy), (other, busy)):
        found, true = log.bound_average(budgets(cmdp)), tr.evaluate(cmdp, policy)
        assert found.cost[0] <= true.value <= found.cost[1]
        assert found.promise == AVERAGE


def test_held_out_episodes_bound_the_plan_of_the_others_more_narrowly():
    cmdp = instance(2, I=1, is_stationary=True)
    log = log_of(cmdp, 400, seed=3)
    options = {"initial": cmdp.initial, "stationary": True}
    every = tr.fit(log, budgets(cmdp), **options)
    one = tr.fit(log, budgets(cmdp), hold_out=0.5, **options)
    assert (every.bounds.promise, one.bounds.promise) == (EVERY, ONE)
    assert every.plan.method == "certainty-equivalence"
    assert one.n_planned == 200
    first = tr.fit(log.part(0, 200), budgets(cmdp), **options)
    np.testing.assert_array_equal(one.plan.policy, first.plan.policy)
    by_hand = log.part(200, 400).bound(one.plan.policy, budgets(cmdp), **options)
    np.testing.assert_array_equal(one.bounds.cost, by_hand.cost)
    width = np.ptp(one.bounds.constraint_cost[0])
    assert width < 0.5 * np.ptp(every.bounds.constraint_cost[0])
    true = tr.evaluate(cmdp, one.plan.policy)
    assert one.bounds.cost[0] <= true.value <= one.bounds.cost[1]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"delta": 0}, "delta"),
        ({"seed": -1}, "seed"),
        ({"stationary": 2}, "stationary"),
        ({"initial": "s9"}, "initial"),
        ({"initial": [0.5, 0.6, 0.0]}, "initial"),
        ({"budget": {}}, "budget of 'd0'"),
        ({"policy": np.ones((3, 3, 2))}, "policy"),
    ],
)
def test_bad_arguments_are_named(options, argument):
    cmdp = instance(1, I=1)
    log = log_of(cmdp, 5)
    given = {"policy": np.full((3, 3, 2), 0.5), "budget": budgets(cmdp), **options}
    with pytest.raises(tr.ModelError) as caught:
        log.bound(**given)
    assert caught.value.argument == argument


@pytest.mark.parametrize("hold_out", [0.999, -0.1, 1, "half"])
def test_a_share_that_leaves_no_episodes_is_refused(hold_out):
    cmdp = instance(1, I=1)
    with pytest.raises(tr.ConfigError) as caught:
        tr.fit(log_of(cmdp, 5), budgets(cmdp), hold_out=hold_out)
    assert caught.value.argument == "hold_out"
