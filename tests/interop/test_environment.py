"""A CMDP as a Gymnasium environment: its convention, its draws, its refusals, its pictures."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tightrope as tr
from refusals import refuses
from tightrope import envs
from tightrope.errors import ConfigError, ModelError
from tightrope.interop.gymnasium import IDS, CMDPEnv

# action 0 leads from state 0 to state 1, action 1 stays; state 1 keeps whoever enters it
CHAIN = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])


def chain(n_constraints: int = 1, **options):
    """Two states, two steps, nothing random: costs 0.25 and 0.5, constraint costs (i + 1)/8."""
    cost = np.array([[0.25, 0.5], [0.5, 0.5]])
    bounded = np.ones((n_constraints, 2, 2)) * (np.arange(n_constraints)[:, None, None] + 1) / 8
    return tr.CMDP(CHAIN, cost, bounded, np.ones(n_constraints), 2, noise="none", **options)


@pytest.mark.parametrize("its_id", IDS)
def test_every_id_of_the_catalog_passes_gymnasiums_checker(its_id):
    check_env(gymnasium.make(its_id).unwrapped)


def test_every_name_of_the_catalog_has_an_id():
    assert tuple(f"tightrope/{name}-v0" for name in envs.names()) == IDS


def test_parameters_reach_the_model_and_the_latest_version_needs_no_number():
    env = gymnasium.make("tightrope/grid-v0", budget=0.25, horizon=20)
    assert env.unwrapped.cmdp.budget == [0.25]
    with pytest.warns(UserWarning, match="latest versioned environment"):
        gymnasium.make("tightrope/grid")
    with pytest.raises(ConfigError, match="'slop' of grid is unknown"):
        gymnasium.make("tightrope/grid-v0", slop=0.1)


def test_a_step_gives_five_things_and_the_reward_is_one_minus_the_cost():
    env = tr.to_gymnasium(chain())
    state, info = env.reset(seed=0)
    assert (state, info["stage"]) == (0, 0)
    state, reward, terminated, truncated, info = env.step(0)
    assert (state, reward, terminated, truncated) == (1, 0.75, False, False)
    assert isinstance(info["cost"], float)
    assert info["cost"] == info["cost_constraint 0"] == 0.125
    state, reward, terminated, truncated, info = env.step(1)
    assert (state, reward, terminated, truncated, info["stage"]) == (1, 0.5, False, True, 2)


def hours(**options):
    """One state; a step costs 15 of at most 60 euros and takes 2 of 8 hours."""
    sizes = {"budget": [6.0], "horizon": 3, "noise": "none"}
    units = {"cost_range": (0.0, 60.0), "constraint_range": [(0.0, 8.0)]}
    return tr.CMDP.from_costs(np.ones((1, 1, 1)), [[15.0]], [[[2.0]]], **sizes, **units, **options)


def test_a_step_is_in_the_units_of_the_model():
    env = tr.to_gymnasium(hours())
    env.reset(seed=0)
    _, reward, _, _, info = env.step(0)
    assert (reward, info["cost"], info["cost_constraint 0"]) == (-15.0, 2.0, 2.0)

    batch = tr.to_gymnasium(hours(), num_envs=2)
    batch.reset(seed=0)
    _, rewards, _, _, infos = batch.step(np.zeros(2, dtype=int))
    assert (rewards.tolist(), infos["cost"].tolist()) == ([-15.0, -15.0], [2.0, 2.0])

    floors = {"utility": [[[2.0]]], "floor": [6.0], "utility_range": [(0.0, 5.0)]}
    earned = tr.CMDP.from_rewards(
        np.ones((1, 1, 1)), [[7.0]], horizon=4, reward_range=(-10.0, 10.0), noise="none", **floors
    )
    env = tr.to_gymnasium(earned)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(0)
    assert (reward, info["cost"]) == pytest.approx((7.0, 2.0))


def test_costs_are_an_array_for_several_constraints_and_zero_for_none():
    env = tr.to_gymnasium(chain(2, constraint_names=["heat", "noise"]))
    env.reset(seed=0)
    info = env.step(0)[4]
    np.testing.assert_array_equal(info["cost"], [0.125, 0.25])
    assert (info["cost_heat"], info["cost_noise"]) == (0.125, 0.25)
    env = tr.to_gymnasium(chain(0))
    env.reset(seed=0)
    assert env.step(0)[4]["cost"] == 0.0


def test_the_same_seed_gives_the_same_episode():
    def episode(seed):
        env = gymnasium.make("tightrope/random-v0")
        seen = [env.reset(seed=seed)[0]]
        for _ in range(10):
            state, reward, _, _, info = env.step(1)
            seen += [state, reward, *info["cost"]]
        return seen

    assert episode(3) == episode(3)
    assert episode(3) != episode(4)


@pytest.mark.parametrize("noise", ["none", "bernoulli", "beta"])
def test_costs_keep_their_means_under_every_noise(noise):
    # 500 episodes of 4 steps in [0, 1]: by Hoeffding a mean is off by 0.06 once in 600,000 seeds
    cmdp = tr.CMDP(np.ones((1, 1, 1)), [[0.3]], [[[0.8]]], [4.0], 4, noise=noise)
    env = tr.to_gymnasium(cmdp)
    rewards, costs = [], []
    env.reset(seed=1)
    for _ in range(500):
        env.reset()
        for _ in range(4):
            _, reward, _, _, info = env.step(0)
            rewards.append(reward)
            costs.append(info["cost"])
    assert abs(np.mean(rewards) - 0.7) < 0.06
    assert abs(np.mean(costs) - 0.8) < 0.06


def test_an_action_that_does_not_exist_is_refused_by_name_and_masked():
    cmdp = chain(
        allowed=[[True, False], [True, True]],
        state_names=["shore", "sea"],
        action_names=["swim", "wait"],
    )
    env = tr.to_gymnasium(cmdp)
    _, info = env.reset(seed=0)
    np.testing.assert_array_equal(info["action_mask"], [1, 0])
    assert {int(env.action_space.sample()) for _ in range(20)} == {0}
    with refuses(ModelError, "in state 'shore'", argument="action", found=1):
        env.step(1)
    info = env.step(0)[4]
    np.testing.assert_array_equal(info["action_mask"], [1, 1])
    assert {int(env.action_space.sample()) for _ in range(50)} == {0, 1}


def test_steps_outside_an_episode_and_strange_arguments_are_refused():
    env = tr.to_gymnasium(chain())
    with pytest.raises(ModelError, match="none was started; call"):
        env.step(0)
    env.reset(seed=0)
    with refuses(ModelError, argument="action", found=2, expected="0 to 1"):
        env.step(2)
    env.step(0)
    env.step(0)
    with pytest.raises(ModelError, match="episode of 2 steps has ended"):
        env.step(0)
    with refuses(ConfigError, argument="render_mode", found="rgb_array", expected="one of 'ansi'"):
        tr.to_gymnasium(chain(), render_mode="rgb_array")
    with refuses(ModelError, argument="cmdp", found=3, expected="an object of type CMDP"):
        tr.to_gymnasium(3)
    assert tr.to_gymnasium("grid").cmdp.n_states == 67


def test_a_grid_is_drawn_as_text_and_as_a_picture():
    rows = ["S.G", "#H."]
    env = gymnasium.make("tightrope/grid-v0", rows=rows, slip=0.0, horizon=3, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "step 0 of 3: r0c0\n@.G\n#H.\n"
    env.step(1)
    assert env.render() == "step 1 of 3: r0c1 after 'right'\nS@G\n#H.\n"
    env = gymnasium.make(
        "tightrope/grid-v0", rows=rows, slip=0.0, horizon=3, render_mode="rgb_array"
    )
    env.reset(seed=0)
    before = env.render()
    env.step(1)
    after = env.render()
    assert before.shape == after.shape == (48, 72, 3)
    assert before.dtype == np.uint8
    changed = (before != after).any(axis=2)
    assert changed[:24, :48].any()
    assert not changed[24:].any()
    assert not changed[:, 48:].any()
    middles = {tuple(before[12, 60]), tuple(before[36, 12]), tuple(before[36, 36])}
    assert len(middles) == 3, "goal, wall and hazard look different"


def test_a_model_without_a_map_is_written_and_none_is_rendered_unasked():
    env = tr.to_gymnasium(chain(state_names=["shore", "sea"]), render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "step 0 of 2: shore\n"
    with pytest.warns(UserWarning, match="no render_mode was given"):
        assert CMDPEnv(chain()).render() is None
