"""The terms of a study: checked when it is made, and read back as they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from telling import shape
from tightrope.study.terms import MOST_NAMES, names_of, position


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": ["a", "a"]}, r"states\[1\]: 'a' is there twice"),
        ({"states": ["a", " b"]}, r"states\[1\]: ' b', expected 1 to 200 printable"),
        ({"actions": []}, "n_actions: 0, expected a whole number"),
        ({"budget": {"wear": 4.0}}, "budget"),
        ({"budget": {"": 1.0}}, "budget: '', expected"),
        ({"episodes": 0}, "episodes: 0"),
        ({"confidence": "bold"}, "confidence: 'bold'"),
        ({"initial": 3}, "initial"),
        ({"options": [2.0]}, "options"),
        ({"options": {"rho": [2.0]}}, r"options\['rho'\]: \[2\.0\], expected a number, a string"),
        ({"options": {"rho": slice(3)}}, r"options\['rho'\]: slice"),
        ({"options": {"rho": None}}, r"options\['rho'\]: None"),
    ],
)
def test_invalid_terms_are_refused(change, message):
    with pytest.raises(tr.ModelError, match=message):
        shape(**change)


def test_a_study_is_not_made_when_its_learner_is_refused(where):
    with refuses(tr.ConfigError, argument="rho", found="missing"):
        tr.Study.new(where, "pump", shape(algorithm="OptDual"))
    with refuses(tr.ConfigError, argument="algorithm", found="OptDul"):
        tr.Study.new(where, "pump", shape(algorithm="OptDul"))
    with pytest.raises(tr.ConfigError, match="rho: OptCMDP has no such option"):
        tr.Study.new(where, "pump", shape(options={"rho": 2.0}))


def test_terms_are_read_back_as_they_were():
    terms = shape(
        algorithm="OptDual",
        options={"rho": 2.0},
        initial=[0.5, 0.25, 0.25],
        allowed=[[True, True]] * 3,
        stationary=True,
    )
    again = tr.Terms.from_json(terms.as_json())
    assert again.as_json() == terms.as_json()
    assert again.learner().to_bytes() == terms.learner().to_bytes()


# as version 0.1 wrote it, with the options of all learners
OLD = (
    '{"states": ["fine", "worn", "down"], "actions": ["hard", "gentle"], "horizon": 3, '
    '"budget": {"wear": 1.5, "noise": 1.0}, "episodes": 40, "ranges": {}, '
    '"algorithm": "OptPrimalDual", "delta": 0.1, "confidence": {"transition": "kl", '
    '"tight_costs": true, "clip": true, "tight_bonus": true, "replan": "always", "pool": false, '
    '"known_costs": false, "known_support": false, "any_time": false, "scale": 0.05, '
    '"scale_cost": null, "scale_transition": null, "scale_bonus": 1.0}, "rho": 2.5, '
    '"initial": [0.5, 0.25, 0.25], "allowed": null, "stationary": true, "dual_step": 1.5, '
    '"primal_step": 0.5, "tolerance": 1e-08}'
)


def test_terms_of_version_0_1_are_read():
    terms = tr.Terms.from_json(OLD)
    steps = {"rho": 2.5, "dual_step": 1.5, "primal_step": 0.5}
    expected = shape(
        algorithm="OptPrimalDual",
        options=steps,
        episodes=40,
        initial=[0.5, 0.25, 0.25],
        stationary=True,
    )
    assert terms == expected
    assert tr.Terms.from_json(terms.as_json()) == expected
    assert terms.learner().learner == tr.learners.OptPrimalDual(**steps)


def test_terms_of_version_0_1_keep_the_options_of_their_own_learner():
    for algorithm, options in (
        ("OptCMDP", {"tolerance": 1e-8}),
        ("OptCMDP-bonus", {"tolerance": 1e-8}),
        ("OptDual", {"rho": 2.5, "dual_step": 1.5}),
    ):
        terms = tr.Terms.from_json(OLD.replace("OptPrimalDual", algorithm))
        assert terms.options == options
        assert terms.learner().learner.options == options
    without = tr.Terms.from_json(OLD.replace("OptPrimalDual", "OptCMDP").replace("2.5", "null"))
    assert without.options == {"tolerance": 1e-8}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "3",
        "null",
        "{",
        '{"algorithm": "OptDual"}',
        OLD.replace('"rho"', '"roh"'),
        OLD.replace("OptPrimalDual", "OptDul"),
        OLD.replace("OptPrimalDual", "antigravity:Learner"),
        OLD.replace('"OptPrimalDual"', "[]"),
        OLD.replace('"rho": 2.5', '"options": 3'),
    ],
)
def test_terms_that_are_corrupt_are_refused(text):
    with pytest.raises(tr.StoreError, match="the study's terms are corrupt"):
        tr.Terms.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranges": {"wera": [0, 8]}}, r"ranges: 'wera' is unknown, did you mean 'wear'\?"),
        (
            {"budget": {"cost": 1.0}, "ranges": {"cost": [0, 8]}},
            "ranges: 'cost' is the name of the cost",
        ),
        ({"ranges": {"wear": [8, 0]}}, r"ranges\['wear'\]: \[8, 0\], expected two finite numbers"),
        ({"budget": {"wear": 99.0, "noise": 1.0}}, r"budget\['wear'\]: 99, expected a number in "),
    ],
)
def test_invalid_units_are_refused_by_name(change, message):
    with pytest.raises(tr.ModelError, match=message):
        replace(shape(), **change)


def test_a_number_is_a_name_where_names_are_numbers_and_a_position_elsewhere():
    names, words = names_of(("1", "2", "3")), names_of(("fine", "worn"))
    assert [position("x", each, names) for each in (1, "1", np.int64(3), 2)] == [0, 0, 2, 1]
    assert position("x", 1, words) == 1
    assert position("x", -1, names_of(("-1", "0", "1"))) == 0
    with refuses(tr.ConfigError, argument="x", found="0"):
        position("x", 0, names)


def test_terms_with_many_names_are_made_without_comparing_all_pairs():
    terms = shape(states=[f"state {k}" for k in range(300_000)])
    assert position("x", "state 299999", terms.state_names) == 299_999
    with refuses(tr.ConfigError, argument="states", entry="300000", found="state 7"):
        shape(states=[*terms.states, "state 7"])


def test_terms_with_more_names_than_can_be_are_refused():
    with refuses(
        tr.ConfigError,
        argument="actions",
        found=1000001,
        expected="a whole number of at most 1000000",
    ):
        shape(actions=[str(k) for k in range(MOST_NAMES + 1)])


def test_a_baseline_is_stored_with_the_terms_and_its_use_is_in_their_units(tmp_path):
    rest = np.tile([1.0, 0.0], (3, 3, 1))
    plain = shape(ranges={"wear": (0, 10)}, budget={"wear": 20.0})
    file = tmp_path / "rest.npz"
    np.savez(file, policy=rest)
    options = {"baseline": str(file), "bound": 5.0}
    terms = replace(plain, algorithm="Safe-OptCMDP", options=options)
    file.unlink()
    given = replace(terms, options={"baseline": rest, "bound": 5.0})
    assert given.as_json() == terms.as_json()
    learner = tr.Terms.from_json(terms.as_json()).learner()
    np.testing.assert_allclose(learner._agent.state.use, [0.5])
    np.testing.assert_array_equal(learner._agent.decision.baseline, rest)
    with pytest.raises(tr.ConfigError) as refused:
        replace(terms, options={"baseline": rest, "bound": 20.0})
    assert (refused.value.argument, refused.value.entry) == ("bound", "'wear'")
    assert refused.value.found == 20.0
