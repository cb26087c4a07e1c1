"""Learning through steps alone, and a given policy in practice."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from small_envs import Scripted, bridge

import tightrope as tr
from refusals import refuses
from tightrope import envs
from tightrope.errors import ConfigError, ModelError
from tightrope.interop.gym.costs import cost_rules
from tightrope.interop.gym.process import Process
from tightrope.learners.interactive import observe_scaled

BOLD = {"mode": "tight", "scale": 0.05}


def test_the_learner_observes_the_same_as_one_fed_by_hand():
    record = tr.learn_gymnasium(
        "FrozenLake-v1", horizon=5, budget={"holes": 0.2}, episodes=30, seed=3, confidence=BOLD
    )
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=5)
    outside = Process(env, 5, cost_rules(env, 16, 4, "holes", 0.2), (0.0, 1.0))
    student = tr.learner(
        "OptCMDP",
        n_states=17,
        n_actions=4,
        horizon=5,
        budget=[0.2],
        episodes=30,
        confidence=BOLD,
        initial="learned",
        allowed=outside.allowed,
    )
    rng = np.random.default_rng(np.random.SeedSequence(3))
    for k in range(30):
        plan = student.plan()
        played = outside.play(plan.policy, rng)
        observe_scaled(student, played.episode)
        assert record.totals[k].tolist() == [played.reward, *played.costs]
        assert record.planned[k, 1] == pytest.approx(plan.constraint_value[0])
        # 5 steps of reward at most 1 each, less the planned cost
        assert record.planned[k, 0] == pytest.approx(5 - plan.value)
    np.testing.assert_array_equal(record.policy, plan.policy[:, :16])


def test_the_budget_and_the_optimum_are_found_through_steps_alone():
    # by hand (small_envs): run a third of the time, for 6 at a cost of 1
    record = tr.learn_gymnasium(
        bridge(),
        horizon=2,
        budget=1.0,
        episodes=400,
        confidence={"mode": "tight", "scale": 0.01},
        reward_range=(0.0, 10.0),
        cost_range=(0.0, 5.0),
        initial=0,
    )
    assert record.names == ("reward", "cost")
    np.testing.assert_array_equal(record.steps, 1)
    share = record.policy[0, 0, 0]
    assert abs(share - 1 / 3) < 0.07
    # the last 200 sums of 10 and 3 or 4 and 0: the standard error of the reward's mean is 0.2
    last = record.totals[-200:].mean(axis=0)
    assert abs(last[0] - 6.0) < 1.0
    assert abs(last[1] - 1.0) < 0.5


def test_what_was_learned_through_steps_is_nearly_optimal_in_the_table():
    # the optimum reaches the goal in 0.199 of the games; the first 50 fall in most of them
    record = tr.learn_gymnasium(
        "FrozenLake-v1",
        horizon=20,
        budget={"holes": 0.2},
        episodes=400,
        confidence={"mode": "tight", "pool": True, "scale": 0.01},
        stationary=True,
    )
    cmdp, scaling = tr.from_gymnasium("FrozenLake-v1", 20, {"holes": 0.2})
    exact = scaling.undo(tr.evaluate(cmdp, record.policy))
    assert exact["reward"] > 0.75 * scaling.undo(tr.solve(cmdp))["reward"]
    assert exact["holes"] < 0.25
    assert record.totals[:50, 1].mean() > 0.5


def test_the_same_seed_gives_the_same_record():
    def learned(seed):
        return tr.learn_gymnasium(
            "tightrope/ring-uniform-v0", horizon=6, budget=2.0, episodes=20, seed=seed
        )

    assert learned(1).totals.tolist() == learned(1).totals.tolist()
    assert learned(1).totals.tolist() != learned(2).totals.tolist()


def test_rewards_of_a_model_made_an_environment_are_its_costs_upside_down():
    cmdp = tr.CMDP(np.ones((1, 1, 1)), [[0.25]], [[[0.5]]], [2.0], 4, noise="none")
    record = tr.learn_gymnasium(tr.to_gymnasium(cmdp), horizon=4, budget=2.0, episodes=3)
    np.testing.assert_allclose(record.totals, [[3.0, 2.0]] * 3)


def test_environments_of_models_know_the_ranges_of_their_units():
    sizes = {"horizon": 3, "noise": "none"}
    units = {"cost_range": (0.0, 60.0), "constraint_range": [(0.0, 8.0), (1.0, 3.0)]}
    two = [[[2.0]], [[3.0]]]
    cmdp = tr.CMDP.from_costs(np.ones((1, 1, 1)), [[15.0]], two, [24.0, 9.0], **sizes, **units)
    for budget in ([24.0, 9.0], {"constraint 0": 24.0, "constraint 1": 9.0}):
        env = tr.to_gymnasium(cmdp)
        record = tr.learn_gymnasium(env, horizon=3, budget=budget, episodes=2)
        np.testing.assert_allclose(record.totals, [[-45.0, 6.0, 9.0]] * 2)
        np.testing.assert_allclose(record.budget, [24.0, 9.0])
    record = tr.rehearse(env, np.ones((3, 1, 1)), budget=[24.0, 9.0], episodes=2)
    np.testing.assert_allclose(record.totals, [[-45.0, 6.0, 9.0]] * 2)
    with refuses(ModelError, argument="the reward", found=-15.0, expected="a number in [0, 1]"):
        tr.learn_gymnasium(env, horizon=3, episodes=1, reward_range=(0, 1))
    own = {"wear": lambda step: 1.5}
    with refuses(ModelError, argument="wear", found=1.5, expected="a number in [0, 1]"):
        tr.learn_gymnasium(env, horizon=3, budget={"wear": 2.0}, costs=own, episodes=1)


def test_forbidden_actions_are_never_taken():
    cmdp = tr.CMDP(
        np.ones((1, 2, 1)), [[0.5, 0.0]], horizon=3, allowed=[[True, False]], noise="none"
    )
    env = tr.to_gymnasium(cmdp)
    record = tr.learn_gymnasium(env, horizon=3, episodes=3, allowed=[[1, 0]])
    np.testing.assert_allclose(record.totals, 1.5)
    for known in (None, [[[1, 0]]] * 3):
        again = tr.learn_gymnasium(env, horizon=3, episodes=3, allowed=known, initial=0)
        np.testing.assert_allclose(again.totals, 1.5)
    with refuses(ModelError, "at stage 0", argument="action"):
        tr.learn_gymnasium(env, horizon=3, episodes=3, allowed=[[1, 1]])
    with refuses(ModelError, argument="allowed", found=(2,), expected="(1, 2) or (3, 1, 2)"):
        tr.learn_gymnasium(env, horizon=3, episodes=3, allowed=[1, 0])


def test_tuples_and_arrays_are_flattened():
    record = tr.learn_gymnasium("Blackjack-v1", horizon=3, episodes=4, reward_range=(-1.0, 1.0))
    assert record.policy.shape == (3, 32 * 11 * 2, 2)
    script = [((1, 2), 0.5, False, False, {"cost": [0.25, 1.0]})] * 2
    record = tr.learn_gymnasium(Scripted(script), horizon=2, budget=[1.0, 2.0], episodes=3)
    assert record.names == ("reward", "cost 0", "cost 1")
    np.testing.assert_allclose(record.totals, [[1.0, 0.5, 2.0]] * 3)


def test_dual_learners_run_with_a_bound_and_require_it_otherwise():
    options = {"horizon": 3, "budget": {"holes": 0.2}, "episodes": 5}
    record = tr.learn_gymnasium("FrozenLake-v1", "OptDual", rho=4.0, **options)
    assert record.algorithm == "OptDual"
    with refuses(ConfigError, argument="rho", found="missing"):
        tr.learn_gymnasium("FrozenLake-v1", "OptDual", **options)


def test_progress_counts_the_episodes():
    seen = []
    tr.learn_gymnasium(bridge(), horizon=1, episodes=3, reward_range=(0, 10), progress=seen.append)
    assert seen == [1, 2, 3]


def test_a_range_of_totals_narrows_the_bands_and_is_checked():
    options = {"horizon": 4, "budget": {"holes": 0.2}, "episodes": 10}
    wide = tr.learn_gymnasium("FrozenLake-v1", **options)
    narrow = tr.learn_gymnasium("FrozenLake-v1", total_range={"holes": (0.0, 1.0)}, **options)
    assert wide.ranges.tolist() == [[0.0, 4.0], [0.0, 4.0]]
    assert narrow.ranges.tolist() == [[0.0, 4.0], [0.0, 1.0]]
    with refuses(ModelError, "did you mean 'holes'", argument="total_range", found="hole"):
        tr.learn_gymnasium("FrozenLake-v1", total_range={"hole": (0.0, 1.0)}, **options)
    with refuses(
        ModelError, argument="reward", found=10.0, expected="a number in total_range=(0, 5)"
    ):
        tr.learn_gymnasium(
            bridge(),
            horizon=1,
            budget=1.0,
            costs=[0.0, 0.0],
            reward_range=(0, 10),
            total_range={"reward": (0, 5)},
            episodes=2,
        )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((0, None, False, False, {}), ("the reward", "None", "a number")),
        ((0, 0.5, False, False, None), ("info", "NoneType", "a dict")),
        ((0, 0.5), "step 1 of episode 1: the environment failed: ValueError"),
    ],
)
def test_an_invalid_step_is_reported_by_episode_and_step(told, said):
    class Odd(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(1)
        action_space = gymnasium.spaces.Discrete(1)

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            return told

    with refuses(tr.ModelError, said):
        tr.learn_gymnasium(Odd(), horizon=2, episodes=1)


def test_a_constraint_may_not_be_called_like_a_column_of_the_record():
    with refuses(tr.ModelError, argument="costs", found="steps"):
        tr.learn_gymnasium(
            "FrozenLake-v1", horizon=3, budget={"steps": 0.5}, costs={"steps": "holes"}, episodes=2
        )


def test_masks_of_our_models_apply_to_shorter_horizons():
    env = tr.to_gymnasium(envs.build("inventory"))
    record = tr.learn_gymnasium(env, horizon=5, budget={"cost": 4.0}, episodes=3)
    assert record.n_episodes == 3


RUN = np.array([[[1.0, 0.0], [1.0, 0.0]]] * 2)


def test_sums_are_those_of_the_policy():
    record = tr.rehearse(
        bridge(), RUN, budget=1.0, episodes=5, reward_range=(0, 10), cost_range=(0, 5)
    )
    np.testing.assert_array_equal(record.totals, [[10.0, 3.0]] * 5)
    assert np.isnan(record.planned).all()
    assert record.algorithm == "given policy"


def test_a_plan_of_the_imported_model_can_be_run_with_any_added_states():
    cmdp, _ = tr.from_gymnasium("FrozenLake-v1", 6, {"holes": 0.2})
    record = tr.rehearse("FrozenLake-v1", tr.solve(cmdp), budget={"holes": 0.2}, episodes=3)
    assert record.policy.shape == (6, 16, 4)
    from small_envs import revolving_door

    cmdp, _ = tr.from_gymnasium(revolving_door(), 4)
    record = tr.rehearse(revolving_door(), tr.solve(cmdp), episodes=2000, seed=2)
    # a geometric sum cut at 4 has mean 1.875 and variance below 2
    assert abs(record.totals.mean() - 1.875) < 5 * np.sqrt(2 / 2000)


def test_a_chance_that_cannot_be_is_named_before_anything_is_played():
    def fail(k):
        raise AssertionError(f"episode {k} was played")

    with refuses(ConfigError, argument="delta", found=2, expected="a number in (0, 1)"):
        tr.rehearse(bridge(), RUN, episodes=2, reward_range=(0, 10), delta=2, progress=fail)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (RUN[0], ("policy", (2, 2), "(H, S, A)")),
        (RUN[:, :1], ("policy", (2, 1, 2), "(2, 2, 2), further states ignored")),
        (RUN / 2, "must be probabilities"),
        (RUN - 1, "must be probabilities"),
    ],
)
def test_what_is_no_policy_is_named(policy, message):
    with refuses(ModelError, message):
        tr.rehearse(bridge(), policy, episodes=2, reward_range=(0, 10))
