"""Processes known through steps: by hand, step by step; spaces as numbers, and back."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from small_envs import Scripted

from refusals import refuses
from tightrope.errors import ConfigError, ModelError
from tightrope.interop.gym.costs import cost_rules
from tightrope.interop.gym.process import Process, numbering, open_process

GOES_ON = [((0, 1), 1.0, False, False, {"cost": 0.5})] * 3
ENDS = [((0, 1), 1.0, False, False, {"cost": 0.5}), ((1, 2), -1.0, True, False, {"cost": 1.0})]


def outside(script, horizon=3, initial=None, reward_range=(-1.0, 1.0), cost_range=None, budget=1.0):
    env = Scripted(script)
    rules = cost_rules(env, 6, 4, None, budget, cost_range)
    return Process(env, horizon, rules, reward_range, initial)


def always(process, action):
    policy = np.zeros((process.n_steps, process.n_states, process.n_actions))
    policy[:, :, action] = 1.0
    return policy


def test_an_episode_is_converted_to_the_scale_of_the_learner():
    process = outside(GOES_ON, initial=0)
    played = process.play(always(process, 3), np.random.default_rng(0))
    assert process.env.taken == [(1, 6)] * 3, "the fourth action, counted from (0, 5)"
    assert (process.n_states, process.n_actions, process.n_steps) == (7, 4, 3)
    np.testing.assert_array_equal(played.episode.states, [0, 1, 1, 1])
    np.testing.assert_array_equal(played.episode.actions, [3, 3, 3])
    np.testing.assert_array_equal(played.episode.cost, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(played.episode.constraint_cost, [[0.5, 0.5, 0.5]])
    assert (played.reward, played.costs.tolist(), played.steps) == (3.0, [1.5], 3)


def test_an_episode_that_ends_early_stays_in_an_extra_state_without_cost():
    process = outside(ENDS, initial=0)
    played = process.play(always(process, 3), np.random.default_rng(0))
    np.testing.assert_array_equal(played.episode.states, [0, 1, 6, 6])
    # rewards 1, -1 and the rest 0 on [-1, 1] are costs 0, 1 and one half
    np.testing.assert_array_equal(played.episode.cost, [0.0, 1.0, 0.5])
    np.testing.assert_array_equal(played.episode.constraint_cost, [[0.5, 1.0, 0.0]])
    assert (played.reward, played.costs.tolist(), played.steps) == (0.0, [1.5], 2)


def test_an_end_at_the_last_step_is_an_end_too():
    process = outside(ENDS, horizon=2, initial=0)
    played = process.play(always(process, 0), np.random.default_rng(0))
    np.testing.assert_array_equal(played.episode.states, [0, 1, 6])


def test_a_start_that_is_not_given_is_learned():
    process = outside(ENDS)
    assert (process.n_states, process.n_steps, process.initial) == (7, 3, "learned")
    assert outside(ENDS, initial="learned").initial == "learned"
    played = process.play(always(process, 3), np.random.default_rng(0))
    np.testing.assert_array_equal(played.episode.states, [0, 1, 6, 6])
    np.testing.assert_array_equal(process.allowed[6], [True] + [False] * 3)
    assert process.allowed[:6].all()


def test_budgets_move_onto_the_learners_scale():
    # costs on [-1, 1] over 3 steps sum to [-3, 3]; 0 lies in the middle, 1.5 of 3
    process = outside(GOES_ON, cost_range=(-1.0, 1.0), budget=0.0)
    np.testing.assert_allclose(process.budget, [1.5])
    with refuses(ModelError, argument="budget", found=4.0, expected="a number in [0, 3]"):
        _ = outside(GOES_ON, budget=4.0).budget


def script(**change):
    usual = {"observation": (0, 1), "reward": 1.0, "info": {"cost": 0.5}, "truncated": False}
    found = {**usual, **change}
    bad = (found["observation"], found["reward"], False, found["truncated"], found["info"])
    return [GOES_ON[0], bad, GOES_ON[0]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"observation": (0, 3)},
            (
                "step 2 of episode 1: the observation",
                "array([0, 3])",
                "whole numbers in 0 to 1, 0 to 2",
            ),
        ),
        ({"reward": 1.5}, ("the reward", 1.5, "a number in [-1, 1]")),
        ({"reward": float("nan")}, "step 2 of episode 1: the reward is nan"),
        ({"info": {"cost": 2.0}}, ("cost", 2.0, "a number in [0, 1]")),
        ({"info": {}}, "step 2 of episode 1: info has no 'cost'"),
        (
            {"truncated": True},
            "step 2 of episode 1: truncated by the environment",
        ),
    ],
)
def test_invalid_steps_are_refused_with_step_and_value(change, said):
    process = outside(script(**change))
    with refuses(ModelError, said):
        process.play(always(process, 0), np.random.default_rng(0))


def test_an_early_end_needs_ranges_that_hold_nothing():
    process = outside([((0, 1), 1.0, True, False, {"cost": 0.5})], reward_range=(1.0, 2.0))
    with refuses(
        ModelError,
        "1 of 3 steps",
        argument="reward_range",
        found=(1.0, 2.0),
        expected="a range with 0",
    ):
        process.play(always(process, 0), np.random.default_rng(0))


def test_an_environment_that_stops_sooner_than_the_horizon_is_refused_at_once():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=10)
    with refuses(ModelError, argument="horizon", found=20, expected="at most 10"):
        open_process(env, 20, None, None, (0.0, 1.0), None, None, None)


def test_the_last_of_all_steps_may_be_truncated():
    process = outside([GOES_ON[0], ((0, 1), 1.0, False, True, {"cost": 0.5})], horizon=2)
    assert process.play(always(process, 0), np.random.default_rng(0)).steps == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"initial": 6}, ("initial", 6, "0 to 5")),
        ({"initial": [1.0]}, ("initial", (1,), "(6,)")),
        (
            {"reward_range": (1.0, 0.0)},
            ("reward_range", (1.0, 0.0), "two finite numbers, the lower one first"),
        ),
    ],
)
def test_bad_arguments_are_named(arguments, said):
    with refuses(ModelError, said):
        outside(GOES_ON, **arguments)


def test_a_horizon_of_no_steps_is_refused():
    with refuses(ConfigError, argument="horizon", found=0):
        outside(GOES_ON, horizon=0)


SPACES = [
    spaces.Discrete(5),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3, 2]),
    spaces.MultiDiscrete([2, 2], start=[0, 5]),
    spaces.Tuple((spaces.Discrete(4), spaces.Discrete(2, start=7))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_point_has_its_own_number_and_comes_back(space):
    found = numbering(space, "space")
    points = [found.point(k) for k in range(found.n)]
    assert all(point in space for point in points)
    assert [found.number(point, "it") for point in points] == list(range(found.n))
    space.seed(0)
    assert {found.number(space.sample(), "it") for _ in range(200)} == set(range(found.n))


def test_the_last_coordinate_runs_fastest():
    found = numbering(spaces.MultiDiscrete([2, 3]), "space")
    assert [found.number(np.array(p), "it") for p in [(0, 0), (0, 2), (1, 0)]] == [0, 2, 3]


@pytest.mark.parametrize("point", [5, -1, 1.0, "1", None, [0, 1], [[0], [1, 2]]])
def test_a_point_outside_is_named(point):
    with refuses(ModelError, argument="step 2: the observation", expected="0 to 4"):
        numbering(spaces.Discrete(5), "space").number(point, "step 2: the observation")


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0.0, 1.0),
        spaces.Tuple((spaces.Discrete(2), spaces.Box(0.0, 1.0))),
        spaces.MultiDiscrete([[2, 2], [2, 2]]),
        spaces.MultiDiscrete([10_000, 10_000]),
    ],
    ids=str,
)
def test_spaces_that_cannot_be_counted_are_refused(space):
    with refuses(ModelError, argument="observation_space"):
        numbering(space, "observation_space")
