"""What notebooks show of a run."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from tightrope.envs import build
from tightrope.experiments.learn import learn
from tightrope.model import CMDP
from tightrope.model.html import number


def text_of(html: str) -> str:
    return " ".join("".join(ElementTree.fromstring(html).itertext()).split())


def test_the_card_of_a_run_has_its_four_regrets_and_its_audit():
    run = learn(build("queue"), "OptDual", episodes=40, confidence="tight")
    words = text_of(run._repr_html_())
    assert f"cost, signed: {number(run.regret['cost'][-1])}" in words
    assert f"cost, positive parts: {number(run.regret['cost_plus'][-1])}" in words
    largest = run.regret["constraint"][-1].max()
    assert f"budgets, signed: {number(largest)}" in words
    assert f"budgets, positive parts: {number(run.regret['constraint_plus'][-1].max())}" in words
    assert "Every policy kept the budgets." in words
    assert run.n_violations == 0
    assert "the truth stayed inside" in words
    assert "heuristic" not in words


def test_a_heuristic_run_says_so_on_its_card():
    run = learn(build("ring"), "OptDual", episodes=40, confidence={"scale": 0.001})
    words = text_of(run._repr_html_())
    assert "heuristic: no guarantee" in words
    bad = run.audit.bad_episodes["cost"]
    assert f"cost {bad}" in words


def test_the_card_counts_the_episodes_that_broke_a_budget():
    run = learn(build("ring"), "unconstrained", episodes=40)
    assert run.n_violations == 40
    words = text_of(run._repr_html_())
    assert "Budgets broken in 40 of 40 episodes, the last policy broke them too." in words


@pytest.mark.parametrize("algorithm", ["OptCMDP", "optimal"])
def test_a_model_without_constraints_has_a_card_too(algorithm):
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.5, 0.2]], horizon=2)
    words = text_of(learn(cmdp, algorithm, episodes=5)._repr_html_())
    assert "budgets, signed: 0" in words
    assert "Every policy kept the budgets." in words
