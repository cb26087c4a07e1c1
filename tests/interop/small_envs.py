"""Small Gymnasium environments whose answers are known by hand."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Tabled(gymnasium.Env):
    """An environment that plays its own table P."""

    def __init__(self, table: Any, initial: Any = None) -> None:
        self.P = table
        self.observation_space = spaces.Discrete(len(table))
        self.action_space = spaces.Discrete(len(table[0]))
        if initial is not None:
            self.initial_state_distrib = np.asarray(initial)
        self.s = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(self.np_random.choice(len(self.P), p=self.initial_state_distrib))
        return self.s, {}

    def step(self, action):
        outcomes = self.P[self.s][int(action)]
        k = self.np_random.choice(len(outcomes), p=[outcome[0] for outcome in outcomes])
        _, self.s, reward, terminated, *rest = outcomes[k]
        return self.s, reward, terminated, False, dict(rest[0]) if rest else {}


def bridge() -> Tabled:
    """Cross by the bridge (5-tuples): run for 10 with info cost 3, or walk for 4 at no cost.

    Either ends the episode at once, in state 1; that state's own row goes on paying.
    """
    run = [(1.0, 1, 10.0, True, {"cost": 3.0})]
    walk = [(1.0, 1, 4.0, True, {"cost": 0.0})]
    on = [(1.0, 1, 7.0, False, {"cost": 5.0})]
    return Tabled({0: {0: run, 1: walk}, 1: {0: on, 1: on}}, [1.0, 0.0])


def revolving_door() -> Tabled:
    """One state. Half the time an episode goes on in it, half the time it ends in it; both pay 1.

    Over H steps the expected sum is 2 - 2^(1-H).
    """
    return Tabled({0: {0: [(0.5, 0, 1.0, False), (0.5, 0, 1.0, True)]}}, [1.0])


class Scripted(gymnasium.Env):
    """Pairs of numbers as observations and actions, and whatever a script says of each step.

    A script is a list of (observation, reward, terminated, truncated, info), one a step.
    """

    def __init__(self, script: list[Any], first: Any = (0, 0)) -> None:
        self.observation_space = spaces.MultiDiscrete([2, 3])
        self.action_space = spaces.MultiDiscrete([2, 2], start=[0, 5])
        self.script, self.first, self.taken = script, first, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.h = 0
        return np.array(self.first), {}

    def step(self, action):
        self.taken.append(tuple(np.asarray(action).tolist()))
        observation, *rest = self.script[self.h]
        self.h += 1
        return (np.array(observation), *rest)
