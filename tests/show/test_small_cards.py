"""Short representations and notebook cards of the smaller results."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import tightrope as tr

ROWS = """episode,step,state,action,next_state,cost,wear
a,0,x,go,y,1,0
a,1,y,stay,x,0,1
b,0,x,go,x,0,0
b,1,x,go,y,1,1
"""


@pytest.fixture
def fitted(tmp_path):
    (tmp_path / "log.csv").write_text(ROWS)
    log = tr.read_log(tmp_path / "log.csv", constraints=["wear"])
    return tr.fit(log, {"wear": 2.0}, algorithm="certainty-equivalence")


def learner():
    return tr.learner("OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=5)


def results(fitted):
    made = learner()
    bounds = made.bound(np.full((2, 2, 2), 0.5))
    return [tr.frontier("ring"), made, bounds, fitted.log, fitted]


def test_representations_are_short_and_say_what_it_is(fitted):
    found = [repr(each) for each in results(fitted)]
    assert found[0] == "Frontier(moves: 2 breakpoints, budget 0 to 6, value 0 to 4)"
    assert found[1] == (
        "InteractiveLearner(OptCMDP, 2 states, 2 actions, horizon 2, 1 constraint, "
        "0 of 5 episodes observed)"
    )
    assert found[2] == "Bounds(cost 0 to 2, 0 to 2 (budget 1, undecided); delta 0.1)"
    assert found[3] == "Log(2 episodes of 2 steps, 2 states, 2 actions)"
    assert all(len(each) < 300 and "\n" not in each for each in found)


def test_cards_are_well_formed_html(fitted):
    for each in results(fitted):
        text = "".join(ElementTree.fromstring(each._repr_html_()).itertext())
        assert type(each).__name__.removeprefix("Interactive") in text


def test_only_public_names_are_listed():
    assert set(dir(tr)) == {*tr.__all__, "envs", "learners", "__version__"}
