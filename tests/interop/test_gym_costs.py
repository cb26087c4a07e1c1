"""Where costs come from, and under which names."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.interop.gym.costs import Step, cost_rules

PLAIN = gymnasium.make("CartPole-v1")


def step(info=None, reward=0.0, next_state=0):
    return Step(0, 0, next_state, reward, False, info or {})


def rules(costs=None, budget=None, cost_range=None, env=PLAIN):
    return cost_rules(env, 2, 2, costs, budget, cost_range)


def test_without_budgets_there_are_no_constraints():
    assert rules() == ()


def test_one_number_means_the_cost_of_info():
    (rule,) = rules(budget=0.5)
    assert (rule.name, rule.budget, rule.low, rule.high) == ("cost", 0.5, 0.0, 1.0)
    assert rule.cost(step({"cost": 0.25}), "here") == 0.25
    assert rule.cost(step({"cost": np.array([0.25])}), "here") == 0.25


def test_several_numbers_mean_the_array_of_info():
    found = rules(budget=[0.5, 0.7])
    assert [rule.name for rule in found] == ["cost 0", "cost 1"]
    info = {"cost": np.array([0.25, 0.75])}
    assert [rule.cost(step(info), "here") for rule in found] == [0.25, 0.75]
    with refuses(
        ModelError, argument="info", entry="'cost'", found="3 numbers", expected="2, one a budget"
    ):
        found[0].cost(step({"cost": np.zeros(3)}), "here")
    with pytest.raises(ModelError, match="here: info has no 'cost'"):
        found[0].cost(step(), "here")


def test_names_of_budgets_are_keys_of_info():
    heat, cost = rules(budget={"heat": 1.0, "cost": 2.0})
    assert heat.cost(step({"cost_heat": 0.5, "heat": 0.1}), "here") == 0.5
    assert heat.cost(step({"heat": 0.1}), "here") == 0.1
    assert cost.cost(step({"cost": 0.2}), "here") == 0.2
    with refuses(
        ModelError, "^step 3: ", argument="costs", found="'x'", expected="'cost_heat' or 'heat'"
    ):
        heat.cost(step({"x": 1}), "step 3")


def test_hazards_are_found_by_their_names_and_by_the_word_for_all_of_them():
    lake, cliff = gymnasium.make("FrozenLake-v1"), gymnasium.make("CliffWalking-v1")
    for word in ("holes", "hazard"):
        (rule,) = rules(budget={word: 0.1}, env=lake)
        assert rule.name == word
        assert [rule.cost(step(next_state=s), "here") for s in (4, 5)] == [0.0, 1.0]
    for word in ("cliff", "hazard"):
        (rule,) = rules(budget=0.1, costs=word, env=cliff)
        assert rule.name == word
        assert [rule.cost(step(reward=r), "here") for r in (-1.0, -100.0)] == [0.0, 1.0]
    (rule,) = rules(budget={"hole": 0.1}, env=lake)
    with refuses(
        ModelError,
        "environment: holes",
        argument="costs",
        found="nothing",
        expected="'cost_hole' or 'hole'",
    ):
        rule.cost(step(), "here")


def test_a_cost_outside_its_range_names_place_and_value():
    (rule,) = rules(costs=lambda step: step.reward, budget=3.0, cost_range=(0.0, 2.0))
    assert rule.cost(step(reward=2.0), "here") == 2.0
    with refuses(ModelError, argument="cost", found=2.5, expected="a number in [0, 2]") as caught:
        rule.cost(step(reward=2.5), "step 4 of episode 2")
    assert str(caught.value).startswith("step 4 of episode 2: ")
    with refuses(ModelError, argument="cost", expected="a number in [0, 2]"):
        rule.cost(step(reward=np.nan), "here")
    (rule,) = rules(costs=lambda step: "dear", budget=3.0)
    with refuses(ModelError, argument="cost", found="dear", expected="a number"):
        rule.cost(step(), "here")


def test_a_fault_inside_a_users_function_stays_the_users():
    (rule,) = rules(costs=lambda step: step.info["nope"], budget=3.0)
    with pytest.raises(KeyError):
        rule.cost(step(), "here")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": {}, "budget": 1.0}, ("costs", "empty", "a cost for each name")),
        (
            {"costs": {"a": [0, 0], "b": [0, 0]}, "budget": 1.0},
            ("budget", "1 number", "2: a, b"),
        ),
        ({"costs": {"a": [0, 0], "b": [0, 0]}, "budget": {"a": 1.0}}, "budget: none for 'b'"),
        ({"costs": {"heat": [0, 0]}, "budget": {"heta": 1.0}}, "did you mean 'heat'"),
        ({"budget": 1.0, "cost_range": {"heat": (0, 1)}}, "cost_range: 'heat' is unknown"),
        ({"budget": 1.0, "cost_range": (1, 0)}, "cost_range"),
        ({"budget": {"a": "much"}}, ("budget of 'a'", "much", "a finite number")),
    ],
)
def test_what_does_not_fit_together_is_named(arguments, message):
    with refuses(ModelError, message):
        rules(**arguments)
