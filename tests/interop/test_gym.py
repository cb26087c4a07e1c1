"""Gymnasium is optional: without it the library says what to install, and nothing else breaks."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

import tightrope as tr
from refusals import refuses
from tightrope import envs
from tightrope.errors import ConfigError, ModelError
from tightrope.interop.gym import make_env
from tightrope.interop.gymnasium import SixTuple

CMDP = envs.build("ring")


@pytest.mark.parametrize(
    "use",
    [
        lambda: tr.to_gymnasium(CMDP),
        lambda: tr.from_gymnasium("FrozenLake-v1", 3),
        lambda: tr.learn_gymnasium("FrozenLake-v1", horizon=3),
        lambda: tr.rehearse("FrozenLake-v1", [[[1.0]]]),
    ],
    ids=["to", "from", "learn", "rehearse"],
)
def test_without_gymnasium_every_entry_point_names_what_to_install(use, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(tr.DependencyError, match=r"pip install 'tightrope\[gym\]'"):
        use()


def test_an_environment_is_taken_as_it_is_and_an_id_is_made():
    env = gymnasium.make("FrozenLake-v1")
    assert make_env(env) is env
    assert make_env("FrozenLake-v1", is_slippery=False).spec.kwargs["is_slippery"] is False
    with refuses(ConfigError, argument="is_slippery", found=False):
        make_env(env, is_slippery=False)
    with refuses(ModelError, "cannot make it", argument="FrozenLake-v1"):
        make_env("FrozenLake-v1", slippery=False)


def test_ids_of_the_catalog_need_no_import_with_us_and_one_word_without():
    assert make_env("tightrope/ring-v0").unwrapped.cmdp.n_states == 3
    code = "import gymnasium; gymnasium.make('tightrope.interop.gymnasium:tightrope/ring-v0')"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


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
