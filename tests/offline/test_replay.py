"""Bounds on one policy from replayed episodes: by hand, by a slow loop, how often they fail."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_samples import ROWS, csv_at, read
from scipy.stats import binom
from test_fit import budgets, ended, log_of

import tightrope as tr
from driven import instance
from tightrope.belief.episode import Episodes
from tightrope.belief.intervals import least_mean
from tightrope.envs.maintenance import maintenance
from tightrope.offline.log import scaled_end, scaled_episodes
from tightrope.offline.replay import replay_log
from tightrope.plan.bound import AVERAGE, EVERY, ONE

DELTA = 0.1


def replayed(log, policy, draws, stationary):
    """Least and greatest totals of the replayed episodes, (K, I+1) each, step by step."""
    H, waiting = log.horizon, defaultdict(list)
    lows, stages = [], []

    def wait(j, s):
        h = stages[j]
        if log.end is not None and s == log.end.state:
            lows[j] += (H - h) * np.asarray(scaled_end(log).cost)
            stages[j] = H
        elif h < H:
            # by the sums of the policy's probabilities, over the actions it may take
            used = np.flatnonzero(policy[h, s])
            passed = (np.cumsum(policy[h, s][used])[:-1] <= draws[j, h]).sum()
            waiting[0 if stationary else h, s, used[passed]].append(j)

    steps = scaled_episodes(log)
    for k, states in enumerate(steps.states):
        lows.append(np.zeros(1 + len(log.constraint_names)))
        stages.append(0)
        wait(k, states[0])
        for h in range(H):
            if log.end is not None and states[h] == log.end.state:
                break
            there = waiting[0 if stationary else h, states[h], steps.actions[k, h]]
            if there:
                j = min(there)
                there.remove(j)
                lows[j] += [steps.cost[k, h], *steps.constraint_cost[k, :, h]]
                stages[j] += 1
                wait(j, states[h + 1])
    return np.array(lows), np.array(lows) + (H - np.array(stages))[:, None]


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


def test_bounds_of_three_episodes_equal_those_computed_by_hand(tmp_path):
    # always "go" in "idle"
    log = read(csv_at(tmp_path, ROWS))
    policy = np.zeros((2, log.n_states, log.n_actions))
    policy[..., log.action_names.index("go")] = 1.0
    policy[1, log.state_names.index("busy")] = (
        [0.0, 1.0] if log.action_names[1] == "wait" else [1.0, 0.0]
    )
    low, high = replayed(log, policy, np.zeros((3, 2)), stationary=False)
    # the first goes to busy and waits there, as "a" did; the second takes the outcomes of "c", and
    # not that of "b" in its last step, which came before; none is left for the third
    np.testing.assert_allclose(low[:, 0], [0.5, 0.25 + 0.75, 0.0])
    np.testing.assert_allclose(high[:, 0], [0.5, 0.25 + 0.75, 2.0])
    found = log.bound(policy, {"risk": 1.0})
    assert found.cost[1] == pytest.approx(20 - 20 * least_mean(1 - high[:, 0] / 2, DELTA / 4))


def every_log(play, starts, coin):
    """All logs of a process with fair coins as outcomes, which are equally likely.

    ``play(history, h, s)`` is the action, which may depend on all outcomes before;
    ``coin(h, s, a, heads)`` is the cost and the next state.
    """
    H, K = 2, len(starts)
    for flips in itertools.product([0, 1], repeat=H * K):
        states, actions, cost = np.zeros((K, H + 1), int), np.zeros((K, H), int), np.zeros((K, H))
        for k, h in np.ndindex(K, H):
            if h == 0:
                states[k, 0] = starts[k]
            at = k * H + h
            s = states[k, h]
            actions[k, h] = a = play(flips[:at], h, s)
            cost[k, h], states[k, h + 1] = coin(h, s, a, flips[at])
        yield replace(
            ended(),
            _scaled=Episodes(states, actions, cost, np.zeros((K, 0, H))),
            state_names=("s", "u", "t"),
            action_names=("x", "y"),
            _end=None,
        )


def expected_totals(play, starts, coin, policy, stationary=False):
    """Exact expectations of the least and greatest totals, and of products of pairs of them."""
    logs = list(every_log(play, starts, coin))
    draws = np.zeros((len(starts), 2))
    start = np.array(starts, dtype=np.int64)
    found = np.array([replay_log(log, policy, start, draws, stationary) for log in logs])[..., 0]
    low, high = found[:, 0], found[:, 1]
    return low.mean(axis=0), high.mean(axis=0), low.T @ low / len(logs)


def test_a_log_that_withholds_outcomes_does_not_bias_replayed_episodes():
    # From s and u the process goes to t, where a coin is the cost. In the third episode, the log
    # takes the policy's action in s only if the first coin was 0. If outcomes were kept for later
    # use, the first replayed episode would use up this 0, but leave a 1 to the second: mean 3/4.
    def play(flips, h, s):
        return int(h == 0 and s == 0 and (len(flips) < 2 or flips[1] == 1))

    def coin(h, s, a, heads):
        return (float(heads) if h == 1 else 0.0), 2

    always_x = np.zeros((2, 3, 2))
    always_x[..., 0] = 1.0
    low, high, pairs = expected_totals(play, [0, 1, 0], coin, always_x)
    # the first waits in s until the third episode, and is over if the first coin was 0
    np.testing.assert_allclose(low, [0.25, 0.5, 0.0])
    assert high.min() >= 0.5
    assert pairs[0, 1] <= 0.25


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_expectations_are_on_their_side_of_the_value_for_any_log(seed, stationary):
    rng = np.random.default_rng(seed)
    salt = rng.integers(1, 1000, 4)
    table = rng.choice([0.0, 0.5, 1.0], (1 if stationary else 2, 3, 2, 2))
    following = rng.integers(0, 3, table.shape)
    choice = rng.integers(0, 2, (2, 3))

    def play(flips, h, s):  # depends on all outcomes so far
        word = "".join(map(str, flips))
        return int(salt[0] * int(f"1{word}", 2) + salt[1] * h + salt[2] * s) // 7 % 2

    def coin(h, s, a, heads):
        at = (0 if stationary else h, s, a, heads)
        return table[at], following[at]

    starts = rng.integers(0, 3, 3)
    values = np.zeros((3, 3))
    for h in (1, 0):
        for s in range(3):
            ends = [coin(h, s, choice[h, s], heads) for heads in (0, 1)]
            values[h, s] = np.mean([cost + values[h + 1, t] for cost, t in ends])
    low, high, pairs = expected_totals(play, starts, coin, np.eye(2)[choice], stationary)
    true = values[0, starts]
    assert (low <= true + 1e-12).all()
    assert (high >= true - 1e-12).all()
    off = ~np.eye(3, dtype=bool)  # as if different episodes were independent, or smaller
    assert (pairs <= np.outer(true, true) + 1e-12)[off].all()


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
        totals = scaled_episodes(log).cost.sum(axis=1)
        cheap = np.flatnonzero((totals < 0.8) & (np.arange(K) > K // 4))
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
        assert found.scope == AVERAGE


def test_held_out_episodes_bound_the_plan_of_the_others_more_narrowly():
    cmdp = instance(2, I=1, is_stationary=True)
    log = log_of(cmdp, 400, seed=3)
    options = {"initial": cmdp.initial, "stationary": True}
    every = tr.fit(log, budgets(cmdp), **options)
    one = tr.fit(log, budgets(cmdp), hold_out=0.5, **options)
    assert (every.bounds.scope, one.bounds.scope) == (EVERY, ONE)
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
