"""The terms of a study: checked when it is made, and read back as they were."""

from __future__ import annotations

import pytest

import tightrope as tr
from telling import shape


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
    ],
)
def test_terms_that_cannot_be_right_are_refused(change, message):
    with pytest.raises(tr.ModelError, match=message):
        shape(**change)


def test_a_study_is_not_made_when_its_learner_is_refused(where):
    with pytest.raises(tr.ModelError, match="rho: missing"):
        tr.Study.new(where, "pump", shape(algorithm="OptDual"))
    with pytest.raises(tr.ModelError, match="algorithm: 'OptDul'"):
        tr.Study.new(where, "pump", shape(algorithm="OptDul"))


def test_terms_are_read_back_as_they_were():
    terms = shape(rho=2.0, initial=[0.5, 0.25, 0.25], allowed=[[True, True]] * 3, stationary=True)
    again = tr.Terms.from_json(terms.as_json())
    assert again.as_json() == terms.as_json()
    assert again.learner().to_bytes() == terms.learner().to_bytes()
