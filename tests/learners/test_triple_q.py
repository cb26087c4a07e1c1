"""Triple-Q: updates by hand, what it refuses, and how heuristic constants are shown."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from driven import driven, instance, told, walk
from refusals import refuses
from tightrope.belief.episode import Episodes
from tightrope.errors import ConfigError


def test_a_first_visit_is_the_cost_less_the_bonus():
    """One step: the rate is 1 at the first visit and (chi + 1) / (chi + 2) at the second."""
    cmdp = tr.CMDP(np.ones((1, 1, 1)), [[0.75]], [[[0.25]]], [0.5], 1, noise="none")
    simulation = driven(cmdp, "Triple-Q", 1000, bonus_factor=0.01)
    state = simulation.agent.state
    bonus, chi = 0.01 * np.sqrt(128 * np.log(np.sqrt(2) * 1000)) / 4, 1000**0.2
    simulation.advance(1)
    assert state.cost[0, 0, 0] == pytest.approx(0.75 - bonus, abs=1e-12)
    assert state.constraint[0, 0, 0] == pytest.approx(0.25 - bonus, abs=1e-12)
    simulation.advance(1)
    rate = (chi + 1) / (chi + 2)
    expected = (1 - rate) * (0.75 - bonus) + rate * (0.75 - bonus * np.sqrt(rate))
    assert state.cost[0, 0, 0] == pytest.approx(expected, abs=1e-12)


def test_the_queue_moves_once_in_a_frame():
    simulation = driven(instance(1), "Triple-Q", 1000, bonus_factor=0.01, slack_factor=1e-6)
    frame = int(1000**0.6)
    prices = np.array([step.lam[0] for step in walk(simulation, 4 * frame)])
    moves = 1 + np.flatnonzero(np.diff(prices))
    assert moves.size > 0
    assert (moves % frame == 0).all()


def test_episodes_of_other_policies_are_refused():
    cmdp = instance(1)
    H = cmdp.horizon
    other = told(cmdp, "Triple-Q", 10)
    start = int(np.argmax(cmdp.initial))
    steps = np.full((1, H + 1), start), np.zeros((1, H), int), np.zeros((1, H))
    with refuses(ConfigError, argument="algorithm", found="Triple-Q"):
        other.absorb(Episodes(*steps, np.zeros((1, 1, H))))
    assert other.n_observed == 0


def test_smaller_constants_are_marked_as_heuristic():
    plain, changed = (
        tr.learn(instance(1), "Triple-Q", 5, **options)
        for options in ({}, {"bonus_factor": 0.01, "slack_factor": 0.5})
    )
    assert (plain.is_heuristic, plain.constants) == (False, "")
    assert changed.is_heuristic
    assert changed.constants == "bonus times 0.01 (heuristic), slack times 0.5 (heuristic)"
