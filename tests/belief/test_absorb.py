"""A log taken in at once is the same as its episodes one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from driven import driven, instance, own_options, successors_of, told, walk
from refusals import refuses
from tightrope.belief.counts import CERTAIN
from tightrope.belief.episode import End, Episodes

K = 30


def stacked(episodes):
    fields = ("states", "actions", "cost", "constraint_cost")
    return Episodes(*(np.stack([getattr(e, field) for e in episodes]) for field in fields))


def played(cmdp, n=K):
    return [step.episode for step in walk(driven(cmdp, "uniform", n, policy=evenly(cmdp)), n)]


def evenly(cmdp):
    return np.full((cmdp.horizon, cmdp.n_states, cmdp.n_actions), 1 / cmdp.n_actions)


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("lends", [False, True], ids=["grows", "lent"])
@pytest.mark.parametrize("algorithm", ["OptCMDP", "OptCMDP-bonus"])
def test_absorbing_a_log_gives_the_same_beliefs_as_observing_it(algorithm, lends, pool):
    cmdp = instance(3, I=2, is_sparse=True, is_stationary=True)
    episodes = played(cmdp)
    options = {"successors": successors_of(cmdp) if lends else None, "stationary": True}
    confidence = {"mode": "tight", "pool": pool}
    watching = told(cmdp, algorithm, K + 1, confidence, **options)
    for episode in episodes:
        watching.plan()
        watching.observe(episode)
    at_once, in_parts = (told(cmdp, algorithm, K + 1, confidence, **options) for _ in range(2))
    at_once.absorb(stacked(episodes))
    in_parts.absorb(stacked(episodes[:7]))
    in_parts.absorb(stacked(episodes[7:]))
    expected = watching._agent.beliefs
    for learner in (at_once, in_parts):
        assert learner.n_observed == K
        found = learner._agent.beliefs
        for mine, theirs in zip(found.counts, expected.counts, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        seen = expected.counts.indptr[0, -1]
        assert found.belief.rules == expected.belief.rules
        for name in set(expected.belief._fields) - {"rules"}:
            mine, theirs = getattr(found.belief, name), getattr(expected.belief, name)
            np.testing.assert_array_equal(mine[..., :seen], theirs[..., :seen], err_msg=name)
        np.testing.assert_allclose(learner.plan().value, watching.plan().value, atol=1e-7)


def test_the_end_of_episodes_is_known_and_not_learned():
    learner = tr.learner("OptCMDP", 2, 1, 3, [], 3, confidence="tight")
    episodes = Episodes([[0, 1, 1, 1]] * 2, [[0, 0, 0]] * 2, [[0.5, 0, 0]] * 2, np.zeros((2, 0, 3)))
    learner.absorb(episodes, End(1, np.array([0.25])))
    believed, counts = learner._agent.beliefs.belief, learner._agent.beliefs.counts
    assert (counts.visits[:, 1] >= CERTAIN).all()
    np.testing.assert_allclose(believed.cost_low[:, 1, 0], 0.25, atol=1e-5)
    np.testing.assert_allclose(believed.rest[:, 1], 0.0, atol=1e-9)
    # one unknown step that may be free, then two known ones if the process ends at once
    assert learner.plan().value >= 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"states": [[0, 9, 0]]}, ("episodes.states[k=0, h=1]", 9, "a number in [0, 1]")),
        (
            {"states": [[0, 0]]},
            ("episodes.states", "int64 of shape (1, 2)", "whole numbers of shape (1, 3)"),
        ),
        (
            {"states": 0},
            ("episodes.states", "object of type 'int' has no len()", "one row an episode"),
        ),
        ({"states": [[0, [1], 0]]}, ("episodes.states", "ragged", "whole numbers of shape (1, 3)")),
        ({"states": [[1, 0, 0]]}, r"episodes.states\[k=0, h=0\] is 1, which is not a start"),
        ({"actions": [[0, -1]]}, ("episodes.actions[k=0, h=1]", -1, "a number in [0, 1]")),
        ({"actions": [[1, 0]]}, r"episodes.actions\[k=0, h=0\] is 1, not allowed in state 0"),
        ({"cost": [[0.0, 1.5]]}, ("episodes.cost[k=0, h=1]", 1.5, "a number in [0, 1]")),
        ({"cost": [[0.0, np.nan]]}, r"episodes.cost\[k=0, h=1\] is nan"),
        ({"constraint_cost": [[0.0, 0.0]]}, ("episodes.constraint_cost", (1, 2), "(1, 1, 2)")),
    ],
)
def test_an_episode_that_cannot_be_right_is_named_and_changes_nothing(change, said):
    allowed = [[True, False], [True, True]]
    learner = tr.learner("OptCMDP", 2, 2, 2, [1.0], 5, allowed=allowed)
    good = {
        "states": [[0, 1, 0]],
        "actions": [[0, 1]],
        "cost": [[0.0, 1.0]],
        "constraint_cost": [[[0.0, 0.0]]],
    }
    with refuses(tr.DataError, said):
        learner.absorb(Episodes(**{**good, **change}))
    assert learner.n_observed == 0
    assert not learner._agent.beliefs.counts.visits.any()
    learner.absorb(Episodes(**good))
    assert learner.n_observed == 1


def test_no_more_episodes_are_absorbed_than_radii_were_made_for():
    cmdp = instance(0)
    learner = told(cmdp, "OptCMDP", K + 1, "tight")
    learner.absorb(stacked(played(cmdp)))
    with refuses(
        tr.DataError, argument="absorb", found="60 episodes with these", expected="at most 31"
    ):
        learner.absorb(stacked(played(cmdp)))


def test_a_successor_that_was_ruled_out_is_refused():
    learner = tr.learner("OptCMDP", 2, 1, 1, [], 5, successors=[[[True, False]], [[False, True]]])
    message = r"episodes.states\[k=1, h=1\] is 1, .* rule out after state 0 and action 0"
    with pytest.raises(tr.DataError, match=message):
        learner.absorb(Episodes([[0, 0], [0, 1]], [[0]] * 2, [[0.0]] * 2, np.zeros((2, 0, 1))))
    moves = tr.learner("OptCMDP", 2, 1, 1, [], 5, successors=[[[True, True]], [[True, False]]])
    with refuses(tr.DataError, "rule out that it stays", argument="end.state"):
        moves.absorb(
            Episodes([[0, 1]], [[0]], [[0.0]], np.zeros((1, 0, 1))), End(1, np.array([0.0]))
        )


@pytest.mark.parametrize(
    ("dual", "planner"), [("OptDual", "OptCMDP"), ("OptPrimalDual", "OptCMDP-bonus")]
)
def test_the_average_of_a_dual_rule_comes_to_the_plan_of_its_planner(dual, planner):
    cmdp = instance(1)
    episodes = stacked(played(cmdp))
    # radii so small that budgets bind and no estimate is cut off
    confidence = {"mode": "tight", "scale": 1e-3, "scale_bonus": 1e-3}
    plans = {}
    for algorithm in (dual, planner):
        steps = own_options(algorithm, {"primal_step": 30.0})
        learner = told(cmdp, algorithm, K + 1, confidence, **steps)
        learner.absorb(episodes)
        plans[algorithm] = learner.settle(3000)
    assert plans[planner].multiplier.max() > 0.05
    np.testing.assert_allclose(plans[dual].value, plans[planner].value, atol=0.02)
    np.testing.assert_allclose(
        plans[dual].constraint_value, plans[planner].constraint_value, atol=0.02
    )
    np.testing.assert_allclose(plans[dual].policy.sum(axis=2), 1.0)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
def test_settling_leaves_the_plan_of_the_next_episode_as_it_was(algorithm):
    cmdp = instance(1)
    learner = told(cmdp, algorithm, K + 1, {"mode": "tight", "scale": 1e-3, "scale_bonus": 1e-3})
    learner.absorb(stacked(played(cmdp)))
    before = learner.plan()
    settled = learner.settle(50)
    after = learner.plan()
    assert not np.array_equal(settled.policy, before.policy)
    for name in ("policy", "occupancy", "multiplier", "constraint_value"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


@pytest.mark.parametrize("algorithm", ["Safe-OptCMDP", "Safe-OptDual", "DOPE"])
def test_no_single_policy_is_the_result_of_a_learner_with_a_baseline(algorithm):
    cmdp = instance(1)
    learner = told(cmdp, algorithm, K, "tight")
    before = learner.to_bytes()
    with refuses(tr.ConfigError, argument="settle"):
        learner.settle(50)
    assert learner.to_bytes() == before


def test_a_learner_that_only_absorbed_has_no_last_plan():
    cmdp = instance(3, I=1, is_sparse=True, is_stationary=True)
    learner = told(cmdp, "OptCMDP", K + 1, "tight")
    learner.absorb(stacked(played(cmdp)))
    with pytest.raises(tr.ConfigError, match="nothing was planned yet"):
        _ = learner.last_plan
    learner.plan()
    assert learner.last_plan.policy.sum() > 0
