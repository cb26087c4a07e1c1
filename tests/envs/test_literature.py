"""Environments of the literature: entries of their tensors worked out from the papers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope import envs
from tightrope.envs.cliff import cliff

UP, RIGHT, DOWN, LEFT = range(4)


def original(cmdp):
    """Reward and constraint quantity of one step in the paper's own numbers, (S, A) each."""
    return cmdp.cost[0], cmdp.constraint_cost[0, 0]


def budget_of(cmdp):
    return cmdp.budget[0]


def test_media_fills_and_drains_the_buffer():
    cmdp = envs.build("media")
    p, (reward, uses) = cmdp.transition, original(cmdp)
    np.testing.assert_allclose(p[4, 0, 3:6], [0.08, 0.74, 0.18])
    np.testing.assert_allclose(p[4, 1, 3:6], [0.72, 0.26, 0.02])
    np.testing.assert_allclose(p[0, 0, :2], [0.82, 0.18])
    np.testing.assert_allclose(p[9, 1, 8:], [0.72, 0.28])
    np.testing.assert_allclose(reward, np.repeat([[-1.0]] + [[0.0]] * 9, 2, axis=1), atol=1e-15)
    np.testing.assert_array_equal(uses, [[1, 0]] * 10)
    assert budget_of(cmdp) == 5


@pytest.mark.parametrize(
    ("name", "scale", "initial"), [("ring", 1 / 3, [1, 0, 0]), ("ring-uniform", 1, [1 / 3] * 3)]
)
def test_rings_move_on_for_reward_and_cost(name, scale, initial):
    cmdp = envs.build(name)
    reward, moves = original(cmdp)
    np.testing.assert_array_equal(cmdp.transition[:, 0], np.eye(3))
    np.testing.assert_array_equal(cmdp.transition[:, 1], np.roll(np.eye(3), 1, axis=1))
    np.testing.assert_allclose(reward, [[0, scale], [0, 2 * scale], [0, 3 * scale]], atol=1e-15)
    np.testing.assert_array_equal(moves, [[0, 1]] * 3)
    np.testing.assert_allclose(cmdp.initial, initial)


def test_inventory_orders_within_room_and_sells_what_there_is():
    cmdp = envs.build("inventory")
    reward, spent = original(cmdp)
    np.testing.assert_array_equal(cmdp.allowed[0].sum(axis=1), [6, 5, 4, 3, 2, 1])
    np.testing.assert_allclose(cmdp.transition[1, 2], [0.3, 0.2, 0.2, 0.3, 0, 0])
    np.testing.assert_allclose(cmdp.transition[0, 0], [1, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(reward[0] * 1.65, [0, 0.7, 1.2, 1.5, 1.6, 1.65])
    np.testing.assert_allclose(reward[2, 1] * 1.65, 1.5)
    np.testing.assert_allclose(spent[0] * 19, [0, 7, 10, 13, 16, 19])
    np.testing.assert_allclose(spent[3, :3] * 19, [3, 10, 13])


def test_cliff_returns_the_agent_after_a_fall_and_charges_by_the_row():
    cmdp = envs.build("cliff")
    reward, cost = original(cmdp)
    target = cmdp.transition.argmax(axis=2)
    start, goal = 18, 23
    assert cmdp.layout.rows == ("......", ".1111.", ".2222.", "SXXXXG")
    assert cmdp.initial[start] == 1
    assert target[start].tolist() == [12, start, start, start]  # right falls, down and left stay
    np.testing.assert_allclose(reward[start], [-1, -100, -1, -1])
    assert target[13].tolist() == [7, 14, start, 12]
    np.testing.assert_allclose(cost[13], [1, 2, 0, 0], atol=1e-15)
    assert target[17, DOWN] == goal
    np.testing.assert_array_equal(target[goal], goal)
    np.testing.assert_allclose([reward[goal], cost[goal]], 0, atol=1e-13)


def test_a_taller_cliff_charges_up_to_its_last_but_one_row():
    cmdp = cliff(n_rows=5, n_columns=4, horizon=15, budget=2.0)
    assert cmdp.layout.rows == ("....", ".11.", ".22.", ".33.", "SXXG")
    _, cost = original(cmdp)
    assert cost.max() == 3


def test_marsrover_pays_on_entering_and_for_sitting():
    cmdp = envs.build("marsrover")
    reward, cost = original(cmdp)
    p = cmdp.transition
    np.testing.assert_allclose(p[0, RIGHT, [0, 1, 8]], [0.05, 0.925, 0.025])
    np.testing.assert_allclose(p[9, DOWN, [1, 8, 10, 17]], [0.025, 0.025, 0.025, 0.925])
    above_pit, pit, goal = 11, 19, 63
    np.testing.assert_allclose([reward[above_pit, DOWN], cost[above_pit, DOWN]], 0.925)
    np.testing.assert_allclose([reward[above_pit, UP], cost[above_pit, UP]], 0.025)
    above_goal = 55  # with a pit on its left
    np.testing.assert_allclose(reward[above_goal, DOWN], 0.925 + 0.025)
    np.testing.assert_allclose(cost[above_goal, DOWN], 0.025)
    np.testing.assert_array_equal(p[pit], np.eye(64)[[pit] * 4])
    np.testing.assert_allclose(reward[[pit, goal]], 1 / 30)
    np.testing.assert_allclose(cost[[pit, goal], 0], [1 / 30, 0])


def test_streaming_has_a_floor_on_the_slow_server():
    cmdp = envs.build("streaming")
    p, (reward, utility) = cmdp.transition, original(cmdp)
    np.testing.assert_allclose(p[2, 0, 1:4], [0.25 * 0.3, 0.4, 0.75 * 0.7])
    np.testing.assert_allclose(p[0, 1, :2], [1 - 0.75 * 0.3, 0.75 * 0.3])
    np.testing.assert_array_equal(reward, [[0, 0]] + [[1, 1]] * 5)
    np.testing.assert_array_equal(utility, [[0, 1]] * 6)
    assert cmdp.constraint_units[0].is_maximized
    np.testing.assert_allclose(budget_of(cmdp), 2.4)


def test_upac_random_is_time_dependent_with_complementary_costs():
    cmdp = envs.build("upac-random")
    assert not cmdp.is_stationary
    assert cmdp.transition.shape == (10, 30, 3, 30)
    np.testing.assert_allclose(cmdp.transition.sum(axis=-1), 1, rtol=1e-14)
    np.testing.assert_allclose(cmdp.cost + cmdp.constraint_cost[0], 1, rtol=1e-14)
    np.testing.assert_allclose(budget_of(cmdp), 4.811600, atol=5e-7)
