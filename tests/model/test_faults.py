"""What cannot be a model is refused by argument and entry."""

from __future__ import annotations

import numpy as np
import pytest
from model_samples import FORMS, shop
from scipy.sparse import csr_array

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP, Unit

forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def refused(**changes):
    """The message for the shop with some arguments changed."""
    with pytest.raises(ModelError) as caught:
        CMDP(**{**shop(), **changes})
    assert caught.type is ModelError
    assert str(caught.value).startswith(caught.value.argument)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": np.zeros((2, 2))},
            "transition: shape (2, 2), expected (S, A, S) or (H, S,",
        ),
        ({"transition": np.zeros((2, 2, 3))}, "transition: shape (2, 2, 3), expected (S, A, S) or"),
        (
            {"transition": np.zeros((2, 3, 3))},
            "; for (A, S, S) pass np.moveaxis(transition, -3, -2)",
        ),
        ({"transition": np.zeros((0, 2, 0))}, "transition: no states, expected at least one"),
        ({"transition": np.zeros((2, 0, 2))}, "transition: no actions, expected at least one"),
        ({"transition": np.zeros((0, 2, 2, 2))}, "transition: no stages, expected at least one"),
        ({"transition": []}, "transition: shape (0,), expected (S, A, S)"),
        ({"transition": "x"}, "transition: expected an array of real numbers, got dtype <U1"),
        ({"transition": np.zeros((2, 2, 2)) * 1j}, "transition: expected an array of real numbers"),
        ({"transition": [[[1], [1, 2]]]}, "transition: expected an array of real numbers, got set"),
        (
            {"transition": csr_array((5, 2))},
            "transition: sparse of shape (5, 2), expected (S*A, S)",
        ),
        (
            {"transition": csr_array((2, 4))},
            "transition: sparse of shape (2, 4), expected (S*A, S)",
        ),
        ({"transition": csr_array((0, 2))}, "transition: no actions, expected at least one"),
        (
            {"transition": csr_array((4, 2)) * 1j},
            "transition: dtype complex128, expected real numb",
        ),
        (
            {"transition": [csr_array((4, 2)), csr_array((6, 2)), csr_array((4, 2))]},
            "transition[1]: shape (6, 2), expected a sparse matrix of shape (4, 2)",
        ),
        (
            {"transition": [[[1.0]], csr_array((4, 2)), csr_array((4, 2))]},
            "transition[0]: list, expected a sparse matrix of shape (4, 2)",
        ),
        (
            {"transition": [csr_array((4, 2))] * 2},
            "horizon: 3, but transition has 2 stages",
        ),
        ({"transition": np.zeros((2, 2, 2, 2))}, "horizon: 3, but transition has 2 stages"),
        (
            {"horizon": None},
            "horizon: missing; a stationary transition needs horizon=H, a time-dep",
        ),
        ({"horizon": 0}, "horizon: 0, expected a whole number of at least 1"),
        ({"horizon": 2.0}, "horizon: 2.0, expected a whole number of at least 1"),
        ({"horizon": True}, "horizon: True, expected a whole number of at least 1"),
        ({"horizon": 2**31}, "horizon: 2147483648, expected a whole number of at most 2147483647"),
        (
            {"cost": np.zeros((2, 3))},
            "cost: shape (2, 3), expected (2, 2) over (S, A) or (3, 2, 2)",
        ),
        ({"cost": np.zeros((2, 2, 2))}, "cost: shape (2, 2, 2), expected (2, 2) over (S, A) or (3"),
        (
            {"cost": np.full((2, 2), None)},
            "cost: expected an array of real numbers, got dtype obje",
        ),
        (
            {"constraint_cost": np.zeros((2, 2))},
            "constraint_cost: shape (2, 2), expected (1, 2, 2)",
        ),
        (
            {"constraint_cost": np.zeros((2, 2, 2))},
            "constraint_cost: shape (2, 2, 2), expected (1,",
        ),
        ({"constraint_cost": None}, "constraint_cost: missing, expected costs for 1 budgets"),
        ({"budget": None}, "budget: missing, expected one number for each constraint cost"),
        ({"budget": [[1.0]]}, "budget: shape (1, 1), expected (I,), one number a constraint"),
        (
            {"budget": [1.0, 1.0]},
            "constraint_cost: shape (1, 2, 2), expected (2, 2, 2) over (I, S,",
        ),
        ({"budget": ["much"]}, "budget: expected an array of real numbers, got dtype <U4"),
        ({"initial": [1.0]}, "initial: shape (1,), expected a state or shape (2,)"),
        ({"initial": 2}, "initial: state 2, expected a state from 0 to 1"),
        ({"initial": -1}, "initial: state -1, expected a state from 0 to 1"),
        ({"initial": True}, "initial: True, expected a state or a distribution over states"),
        ({"initial": 0.0}, "initial: 0.0, expected a state or a distribution over states"),
        ({"initial": None}, "initial: None, expected a state or a distribution over states"),
        ({"initial": "bsuy"}, "initial: no state is named 'bsuy', did you mean 'busy'?"),
        (
            {"allowed": np.ones((3, 2))},
            "allowed: shape (3, 2), expected (2, 2) over (S, A) or (3, 2,",
        ),
        ({"allowed": [[0, 2], [1, 1]]}, "allowed: has values other than True and False, expected"),
        (
            {"allowed": [["y", "n"]] * 2},
            "allowed: expected an array of real numbers, got dtype <U1",
        ),
        ({"noise": "gauss"}, "noise: 'gauss', expected one of 'bernoulli', 'none', 'beta'"),
        ({"state_names": ["a"]}, "state_names: 1 names, expected 2"),
        ({"state_names": 3}, "state_names: 3, expected a list of 2 names"),
        (
            {"action_names": ["a", "a"]},
            "action_names: 'a' appears more than once, expected distinct",
        ),
        ({"constraint_names": ["a", "b"]}, "constraint_names: 2 names, expected 1"),
        ({"constraint_units": [Unit(), Unit()]}, "constraint_units: 2, expected 1"),
        ({"constraint_units": []}, "constraint_units: 0, expected 1"),
    ],
)
def test_arguments_of_the_wrong_shape_are_named(changes, message):
    assert message in refused(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"cost": [[0.2, 0.0], [np.nan, np.inf]]},
            "cost[s='busy', a='wait'] is nan, expected a finite number; 2 such entries",
        ),
        (
            {"cost": [[-0.5, 0.0], [1.0, 0.4]]},
            "cost[s='idle', a='wait'] is -0.5, expected a number in [0, 1]",
        ),
        (
            {"cost": np.full((3, 2, 2), 2.0)},
            "cost[h=0, s='idle', a='wait'] is 2, expected a number in [0, 1]; 9 such entries",
        ),
        (
            {"cost": [[0.2, 0.0], [1.0 + 2**-52, 0.4]]},
            "cost[s='busy', a='wait'] is 1.0000000000000002, expected a number in [0, 1]",
        ),
        (
            {"constraint_cost": [[[0.0, 0.0], [0.0, 3.0]]]},
            "constraint_cost[i='energy', s='busy', a='serve'] is 3, expected a number in [0, 1]",
        ),
        (
            {"constraint_cost": np.full((1, 3, 2, 2), np.inf)},
            "constraint_cost[i='energy', h=0, s='idle', a='wait'] is inf, expected a finite numb",
        ),
        ({"budget": [np.nan]}, "budget[i='energy'] is nan, expected a finite number"),
        ({"budget": [-0.1]}, "budget[i='energy'] is -0.1, expected a number in [0, 3]"),
        ({"budget": [3.5]}, "budget[i='energy'] is 3.5, expected a number in [0, 3]"),
        ({"initial": [np.nan, 1.0]}, "initial[s='idle'] is nan, expected a finite number"),
        ({"initial": [1.5, -0.5]}, "initial[s='idle'] is 1.5, expected a number in [0, 1]; 2 such"),
        ({"initial": [0.5, 0.4]}, "initial sums to 0.9, expected 1 within 1e-06"),
        (
            {"allowed": [[False, False], [True, True]]},
            "allowed[s='idle'] allows no action, expected at least one",
        ),
        (
            {"allowed": [[[1, 0], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [1, 1]]]},
            "allowed[h=1, s='busy'] allows no action, expected at least one; 2 such states",
        ),
    ],
)
def test_values_that_cannot_be_are_named_and_counted(changes, message):
    assert message in refused(**changes)


def test_an_error_has_the_remedy_where_one_is_known():
    assert "cost_range=(0, 4)) does it" in refused(cost=[[4, 0], [0, 0]])
    assert "divide it by its sum, 0.9" in refused(initial=[0.5, 0.4])
    bad = {"constraint_cost": [[[0.0, 0.0], [0.0, 3.0]]], "constraint_units": [Unit()] * 2}
    assert "constraint_range=[(0, 3)]" in refused(**bad)


@forms
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            [np.nan, 1.0],
            "transition[s='busy', a='wait', t='idle'] is nan, expected a finite number",
        ),
        (
            [0.0, np.inf],
            "transition[s='busy', a='wait', t='busy'] is inf, expected a finite number",
        ),
        ([-0.5, 1.5], "transition[s='busy', a='wait', t='idle'] is -0.5, expected a probability"),
        ([0.2, 0.3], "transition[s='busy', a='wait'] sums to 0.5, expected 1 within 1e-06"),
        ([0.0, 0.0], "transition[s='busy', a='wait'] sums to 0, expected 1 within 1e-06"),
        ([0.5, 0.5 + 2e-6], "transition[s='busy', a='wait'] sums to 1.000002, expected 1 within"),
        ([1e308, 1.5e308], "transition[s='busy', a='wait'] sums to inf, expected 1"),
    ],
)
def test_rows_that_are_no_distribution_are_named(form, row, message):
    p = np.array(shop()["transition"])
    p[1, 0] = row

    assert refused(transition=form(p)).startswith(message)


def test_bad_rows_are_counted_over_all_stages():
    p = np.full((3, 2, 2, 2), 0.5)
    p[1:, 1, 0] = 0.25
    p[2, 0, 0, 0] = -0.5

    with refuses(
        ModelError,
        argument="transition",
        entry="h=2, s=0, a=0, t=0",
        found=-0.5,
        expected="a probability of at least 0",
    ):
        CMDP(p, np.zeros((2, 2)))
    p[2, 0, 0, 0] = 0.5
    with refuses(
        ModelError,
        "; 2 such rows",
        argument="transition",
        entry="h=1, s=1, a=0",
        found=0.5,
        expected="1 within 1e-06",
    ):
        CMDP(p, np.zeros((2, 2)))


def test_a_row_off_by_less_than_the_tolerance_is_accepted():
    p = np.array(shop()["transition"])
    p[1, 0] = [0.5, 0.5 + 5e-7]

    assert CMDP(**{**shop(), "transition": p}).transition[1, 0].sum() == pytest.approx(1, abs=1e-15)


def test_too_many_actions_are_refused():
    with refuses(
        ModelError, argument="transition", found="32768 actions", expected="at most 32767"
    ):
        CMDP(np.ones((1, 32_768, 1)), np.zeros((1, 32_768)), horizon=1)
