"""Plans from logged episodes: what they believe, what they keep to, and whether bounds hold."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from driven import driven, instance, walk
from refusals import refuses
from tightrope.belief.episode import End, Episodes
from tightrope.model import Unit
from tightrope.offline.fit import empirical_model
from tightrope.offline.log import Log


def log_of(cmdp, n, policy=None, seed=0):
    """Episodes of a policy, uniform by default, as if they had been read."""
    H, S, A, I = cmdp.horizon, cmdp.n_states, cmdp.n_actions, cmdp.n_constraints
    policy = np.full((H, S, A), 1 / A) if policy is None else policy
    steps = [step.episode for step in walk(driven(cmdp, "uniform", n, policy=policy, seed=seed), n)]
    fields = ("states", "actions", "cost", "constraint_cost")
    return Log(
        _scaled=Episodes(*(np.stack([getattr(e, field) for e in steps]) for field in fields)),
        episode_names=tuple(map(str, range(n))),
        state_names=tuple(f"s{s}" for s in range(S)),
        action_names=tuple(f"a{a}" for a in range(A)),
        constraint_names=tuple(f"d{i}" for i in range(I)),
        cost_unit=Unit("cost"),
        constraint_units=tuple(Unit(f"d{i}") for i in range(I)),
        _end=None,
        faults=(),
        n_left_out=0,
        place="line",
        layout="rows",
    )


def budgets(cmdp):
    return {f"d{i}": float(bound) for i, bound in enumerate(cmdp.budget)}


@pytest.mark.parametrize("stationary", [False, True])
def test_the_averages_of_many_episodes_come_to_the_model_and_its_optimum(stationary):
    cmdp = instance(2, I=1, is_stationary=stationary, noise="none")
    log = log_of(cmdp, 20_000)
    model = empirical_model(log, cmdp.budget, cmdp.initial, stationary=stationary)
    assert model.is_stationary == stationary
    reached = tr.occupancy(cmdp, np.full((3, 3, 2), 0.5)) > 0
    # 20,000 episodes visit the rarest reached pair some hundred times: four deviations of a share
    fewest = log.visits[reached].min()
    off = np.abs(np.broadcast_to(model.transition - cmdp.transition, (3, 3, 2, 3)))
    assert off[reached].max() < 4 * 0.5 / np.sqrt(fewest)
    np.testing.assert_allclose(model.cost[reached], cmdp.cost[reached], atol=1e-9)
    plan = tr.fit(
        log, budgets(cmdp), "certainty-equivalence", initial=cmdp.initial, stationary=stationary
    ).plan
    # a kernel that is off by e in L1 moves a sum over H steps by at most H^2 e / 2, and the plan
    # pays at its prices for what that takes of the budget
    optimum = tr.solve(cmdp)
    prices = 1 + max(optimum.multiplier[0], plan.multiplier[0])
    moved = 9 / 2 * off[reached].sum(axis=-1).max()
    assert plan.value == pytest.approx(optimum.value, abs=prices * moved)
    assert prices * moved < 1.0


@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus", "certainty-equivalence"])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_the_true_values_of_the_policy_and_optimism_the_optimum(algorithm, seed):
    cmdp = instance(seed, I=2)
    found = tr.fit(log_of(cmdp, 300, seed=seed), budgets(cmdp), algorithm, initial=cmdp.initial)
    true = tr.evaluate(cmdp, found.plan.policy)
    values = np.array([true.value, *true.constraint_value])
    ends = np.vstack((found.bounds.cost, found.bounds.constraint_cost))
    assert (ends[:, 0] <= values).all()
    assert (values <= ends[:, 1]).all()
    if algorithm != "certainty-equivalence":
        assert found.plan.value <= tr.solve(cmdp).value + 1e-7
    assert found.learner.n_observed == 300


def test_certainty_equivalence_does_only_what_was_done():
    cmdp = instance(7, I=1)
    timid = np.zeros((3, 3, 2))
    timid[..., 0] = 1.0
    log = log_of(cmdp, 50, timid)
    values = tr.evaluate(cmdp, timid)
    roomy = {"d0": min(3.0, float(values.constraint_value[0]) + 1.0)}
    careful = tr.fit(log, roomy, "certainty-equivalence", initial=cmdp.initial)
    reached = careful.plan.occupancy.sum(axis=2) > 0
    np.testing.assert_array_equal(careful.plan.policy[reached], timid[reached])
    curious = tr.fit(log, roomy, "OptCMDP", initial=cmdp.initial)
    assert curious.plan.occupancy[..., 1].sum() > 0.1


def test_what_was_never_seen_is_listed():
    cmdp = instance(7, I=0)
    timid = np.zeros((3, 3, 2))
    timid[..., 0] = 1.0
    found = tr.fit(log_of(cmdp, 50, timid), initial=cmdp.initial)
    seen = found.coverage
    states = np.flatnonzero(found.log.visits.any(axis=(0, 2))).tolist()
    assert seen.unseen_pairs == [(s, 1) for s in states]
    assert seen.unseen_states == [s for s in range(3) if s not in states]
    np.testing.assert_array_equal(seen.pairs_seen, seen.states_seen)
    np.testing.assert_array_equal(seen.untried, seen.states_seen)


def ended():
    """Two episodes: one is over after its first step, which cost 0.5, the other waits twice."""
    return Log(
        _scaled=Episodes(
            np.array([[0, 1, 1], [0, 0, 0]]),
            np.array([[1, 0], [0, 0]]),
            np.array([[0.5, 0.0], [1.0, 1.0]]),
            np.zeros((2, 0, 2)),
        ),
        episode_names=("a", "b"),
        state_names=("here", "(end)"),
        action_names=("stay", "leave"),
        constraint_names=(),
        cost_unit=Unit("cost"),
        constraint_units=(),
        _end=End(1, np.zeros(1)),
        faults=(),
        n_left_out=0,
        place="line",
        layout="rows",
    )


@pytest.mark.parametrize("stationary", [False, True])
def test_an_episode_that_is_over_costs_no_more(stationary):
    found = tr.fit(ended(), algorithm="certainty-equivalence", stationary=stationary)
    assert found.plan.value == pytest.approx(0.5)
    assert found.plan.policy[0, 0].tolist() == [0.0, 1.0]
    assert found.coverage.unseen_states == []
    assert found.coverage.visits.sum() == 3
    # waiting is known to be free: even the upper bound on two steps does not charge it
    stays = np.zeros((2, 2, 2))
    stays[..., 0] = 1.0
    stays[0, 0] = [0.0, 1.0]
    assert found.learner.bound(stays).cost[1] <= 2.0


def test_what_a_broken_machine_is_called_changes_nothing(tmp_path):
    # on: breaks with probability 0.2, which ends the episode; 0.5 a step, four steps at most
    rng = np.random.default_rng(3)
    lengths = np.minimum(rng.geometric(0.2, 400), 5)
    found = []
    for name in ("broken", ""):
        rows = ["episode,step,state,action,next_state,cost,done"]
        for k, n in enumerate(lengths):
            for h in range(min(n, 4)):
                is_over = h == n - 1
                after = name if is_over else "on"
                rows.append(f"{k},{h},on,run,{after},0.5,{str(is_over).lower()}")
        (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
        for options in ({}, {"terminal": ["broken"]}):
            log = tr.read_log(tmp_path / "log.csv", **options)
            for rule in ("certainty-equivalence", "OptCMDP"):
                found.append((rule, tr.fit(log, algorithm=rule, stationary=True)))
    assert (lengths == 4).any()
    assert (lengths < 4).any()
    for rule in ("certainty-equivalence", "OptCMDP"):
        one, *others = [fitted for name, fitted in found if name == rule]
        for other in others:
            assert other.plan.value == one.plan.value
            np.testing.assert_array_equal(other.bounds.cost, one.bounds.cost)
    # by hand: each step is taken with probability stays^h, stays the share of steps that did
    steps = np.minimum(lengths, 4).sum()
    stays = 1 - (lengths <= 4).sum() / steps
    by_hand = 0.5 * sum(stays**h for h in range(4))
    assert found[0][1].plan.value == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
def test_dual_rules_plan_too_and_need_rho(algorithm):
    cmdp = instance(1)
    log = log_of(cmdp, 100)
    found = tr.fit(log, budgets(cmdp), algorithm, rho=2.0, initial=cmdp.initial, steps=50)
    np.testing.assert_allclose(found.plan.policy.sum(axis=2), 1.0)
    assert found.plan.value <= tr.solve(cmdp).value
    with refuses(tr.ConfigError, argument="rho", found="missing"):
        tr.fit(log, budgets(cmdp), algorithm, initial=cmdp.initial)


def test_the_learner_continues_after_the_log_and_can_be_saved(tmp_path):
    found = tr.fit(ended(), more=3)
    found.learner.save(tmp_path / "learner.npz")
    kept = tr.InteractiveLearner.load(tmp_path / "learner.npz")
    for _ in range(3):
        plan = kept.plan()
        np.testing.assert_array_equal(plan.policy, found.learner.plan().policy)
        np.testing.assert_array_equal(
            kept.bound(plan.policy).cost, found.learner.bound(plan.policy).cost
        )
        episode = tr.Episode([0, 1, 1], [1, 0], [0.5, 0.0], np.zeros((0, 2)))
        kept.observe(episode)
        found.learner.observe(episode)
    assert kept.n_observed == 5


def test_what_cannot_be_fitted_is_named():
    cmdp = instance(1)
    log = log_of(cmdp, 20)
    for options, message in (
        ({"algorithm": "optimal"}, "'optimal' does not plan from data"),
        ({"algorithm": "OptCDMP"}, "did you mean 'OptCMDP'"),
        ({"algorithm": "Safe-OptCMDP"}, "algorithm: Safe-OptCMDP chooses between its plan and"),
        ({"initial": "s9"}, "no state is named 's9'"),
        ({"steps": 0}, "steps: 0, expected"),
        ({"more": 0}, "more: 0, expected"),
        ({"allowed": np.ones((2, 2), dtype=bool)}, r"allowed: bool of shape \(2, 2\)"),
        ({"delta": 2}, "delta: 2, expected"),
    ):
        with pytest.raises(tr.ModelError, match=message):
            tr.fit(log, budgets(cmdp), **{"initial": cmdp.initial, **options})
    start = int(np.flatnonzero(cmdp.initial == 0)[0]) if (cmdp.initial == 0).any() else None
    if start is not None:
        with refuses(tr.DataError, "no start state", argument="initial"):
            tr.fit(log, budgets(cmdp), initial=start)


def test_starts_are_by_default_the_shares_of_the_log():
    found = tr.fit(ended())
    np.testing.assert_array_equal(found.model.initial, [1.0, 0.0])
    assert found.start_radius == 0.0


def test_a_single_observed_start_is_uncertain_unless_it_is_given():
    cmdp = instance(1)
    fixed = tr.CMDP(cmdp.transition, cmdp.cost, cmdp.constraint_cost, cmdp.budget, initial=0)
    log = log_of(fixed, 400)
    np.testing.assert_array_equal(log.starts, [1.0, 0.0, 0.0])
    seen = tr.fit(log, budgets(cmdp))
    given = tr.fit(log, budgets(cmdp), initial=0)
    # by hand, as for several starts: e = sqrt(2 (3 ln 2 + ln 30) / 400)
    assert seen.start_radius == pytest.approx(0.1655, abs=1e-4)
    assert given.start_radius == 0.0
    room = 1.5 * seen.start_radius
    np.testing.assert_allclose(seen.bounds.cost[1], min(3.0, given.bounds.cost[1] + room))
    np.testing.assert_allclose(seen.bounds.cost[0], max(0.0, given.bounds.cost[0] - room))


def test_radii_without_the_number_of_episodes_widen_the_doubt_of_the_start_too():
    cmdp = instance(1)
    log = log_of(cmdp, 400)
    found = tr.fit(log, budgets(cmdp), confidence={"mode": "tight", "any_time": True})
    # by hand: sqrt(2 (3 ln 2 + ln(30 * 400 * 401)) / 400)
    assert found.start_radius == pytest.approx(0.2955, abs=1e-4)


def test_bounds_allow_for_what_the_shares_of_several_starts_may_be_off():
    cmdp = instance(1)
    several = tr.CMDP(
        cmdp.transition, cmdp.cost, cmdp.constraint_cost, cmdp.budget, initial=[0.5, 0.3, 0.2]
    )
    log = log_of(several, 400)
    guessed = tr.fit(log, budgets(cmdp))
    told = tr.fit(log, budgets(cmdp), initial=log.starts)
    # by hand: e = sqrt(2 (3 ln 2 + ln 30) / 400) = 0.1655; half of it may move, each by 3 at most
    assert guessed.start_radius == pytest.approx(0.1655, abs=1e-4)
    room = 1.5 * guessed.start_radius
    np.testing.assert_allclose(guessed.bounds.cost[1], min(3.0, told.bounds.cost[1] + room))
    np.testing.assert_allclose(guessed.bounds.cost[0], max(0.0, told.bounds.cost[0] - room))
    assert told.start_radius == 0.0
    assert np.abs(log.starts - several.initial).sum() < guessed.start_radius
