"""Gymnasium is optional: without it the library says what to install, and nothing else breaks."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

import tightrope as tr
from tightrope import envs
from tightrope.errors import ModelError
from tightrope.interop.gym import made

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
def test_without_gymnasium_every_door_says_what_to_install(use, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ModelError, match=r"pip install 'tightrope\[gym\]'"):
        use()


def test_an_environment_is_taken_as_it_is_and_an_id_is_made():
    env = gymnasium.make("FrozenLake-v1")
    assert made(env) is env
    assert made("FrozenLake-v1", is_slippery=False).spec.kwargs["is_slippery"] is False
    with pytest.raises(ModelError, match="is_slippery: given, but the environment is made already"):
        made(env, is_slippery=False)
    with pytest.raises(ModelError, match="FrozenLake-v1: Gymnasium cannot make it"):
        made("FrozenLake-v1", slippery=False)


def test_ids_of_the_catalogue_need_no_import_with_us_and_one_word_without():
    assert made("tightrope/ring-v0").unwrapped.cmdp.n_states == 3
    code = "import gymnasium; gymnasium.make('tightrope.interop.gymnasium:tightrope/ring-v0')"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
