from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_samples import FORMS, random_kernel, shop

from tightrope.model.draft import draft, settle
from tightrope.model.lint import find_faults


def test_a_draft_keeps_bad_values_and_reports_every_kind_of_fault_once():
    model = draft(
        np.array([[[np.nan, 1.0]], [[0.2, 0.3]]]),
        [[2.0], [3.0]],
        [[[-1.0], [0.5]]],
        [9.0],
        horizon=2,
        initial=[0.5, 0.6],
    )

    found = {kind: fault for kind, fault, _ in find_faults(model)}

    assert list(found) == ["probability", "row", "cost", "constraint cost", "budget", "start"]
    assert "t=0] is nan" in str(found["probability"])
    assert "transition[s=1, a=0] sums to 0.5" in str(found["row"])
    assert str(found["cost"]).endswith(
        "cost[s=0, a=0] is 2, expected a number in [0, 1]; 2 such entries"
    )


def test_a_good_draft_has_no_faults():
    assert list(find_faults(draft(**shop()))) == []


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@settings(deadline=None)
@given(seed=st.integers(0, 10_000))
def test_settling_twice_is_settling_once(form, seed):
    rng = np.random.default_rng(seed)
    p = random_kernel(rng, S=6, A=2).astype(np.float32).astype(float)
    start = rng.dirichlet(np.ones(6)).astype(np.float32).astype(float)

    once = settle(draft(form(p), np.zeros((6, 2)), horizon=1, initial=start))
    twice = settle(once)

    np.testing.assert_array_equal(twice.transitions.data, once.transitions.data)
    np.testing.assert_array_equal(twice.initial, once.initial)


def test_settling_leaves_the_draft_itself_alone():
    p = np.full((2, 1, 2), 0.5) * (1 + 1e-7)
    model = draft(p, np.zeros((2, 1)), horizon=1)

    assert settle(model).transitions.data[0, 0] == 0.5
    assert model.transitions.data[0, 0] == p[0, 0, 0]


def test_stages_of_different_density_are_padded_with_zeros():
    p = np.array([[[[1.0, 0.0]], [[1.0, 0.0]]], [[[0.5, 0.5]], [[0.5, 0.5]]]])
    transitions = draft(p, np.zeros((2, 1))).transitions

    assert transitions.indptr.tolist() == [[0, 1, 2], [0, 2, 4]]
    assert transitions.indices.tolist() == [[0, 0, 0, 0], [0, 1, 0, 1]]
    assert transitions.data.tolist() == [[1, 1, 0, 0], [0.5] * 4]


def test_forbidden_rows_are_empty_and_the_rest_moves_up():
    model = draft(**shop())

    assert model.transitions.indptr.tolist() == [[0, 2, 2, 3, 4]]
    assert model.transitions.indices.tolist() == [[0, 1, 1, 0]]
    assert model.allowed.tolist() == [[[True, False], [True, True]]]


def test_planners_see_the_arrays_of_the_draft():
    model = draft(**shop())
    problem = model.problem

    assert problem.cost is model.cost
    assert problem.budget is model.budget
    assert problem.allowed is model.allowed
