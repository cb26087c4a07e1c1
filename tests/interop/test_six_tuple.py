"""The six-tuple convention."""

from __future__ import annotations

import gymnasium
import pytest

from tightrope.errors import ModelError
from tightrope.interop.gymnasium import SixTuple


def test_the_cost_stands_between_reward_and_termination():
    five, six = (gymnasium.make("tightrope/queue-v0") for _ in range(2))
    five.reset(seed=4)
    wrapped = SixTuple(six)
    wrapped.reset(seed=4)
    for action in (0, 1, 2, 3):
        state, reward, terminated, truncated, info = five.step(action)
        found = wrapped.step(action)
        assert len(found) == 6
        assert found[2].tolist() == info["cost"].tolist()
        assert (found[0], found[1], found[3], found[4]) == (state, reward, terminated, truncated)


def test_an_environment_without_costs_has_none_to_hand_on():
    wrapped = SixTuple(gymnasium.make("FrozenLake-v1"))
    wrapped.reset(seed=0)
    with pytest.raises(ModelError, match='info has no "cost"'):
        wrapped.step(0)
