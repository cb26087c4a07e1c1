"""What cannot be a model is refused by argument and entry."""

from __future__ import annotations

import numpy as np
import pytest
from model_samples import FORMS, shop
from scipy.sparse import csr_array

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP, Unit

KERNEL = "(S, A, S) or (H, S, A, S)"
COSTS = "(2, 2) over (S, A) or (3, 2, 2) over (H, S, A)"
LIMITED = "(1, 2, 2) over (I, S, A) or (1, 3, 2, 2) over (I, H, S, A)"
REAL = "an array of real numbers"
NAN = pytest.approx(np.nan, nan_ok=True)
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def refused(**changes):
    """The message for the shop with some arguments changed."""
    with pytest.raises(ModelError) as caught:
        CMDP(**{**shop(), **changes})
    assert caught.type is ModelError
    assert str(caught.value).startswith(caught.value.argument)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transition": np.zeros((2, 2))}, ("transition", (2, 2), KERNEL)),
        ({"transition": np.zeros((2, 2, 3))}, ("transition", (2, 2, 3), KERNEL)),
        ({"transition": np.zeros((2, 3, 3))}, r"pass np.moveaxis\(tr"),
        ({"transition": np.zeros((0, 2, 0))}, ("transition", "no states", "at least one")),
        ({"transition": np.zeros((2, 0, 2))}, ("transition", "no actions", "at least one")),
        ({"transition": np.zeros((0, 2, 2, 2))}, ("transition", "no stages", "at least one")),
        ({"transition": []}, ("transition", (0,), KERNEL)),
        ({"transition": "x"}, ("transition", None, REAL)),
        ({"transition": np.zeros((2, 2, 2)) * 1j}, ("transition", None, REAL)),
        ({"transition": [[[1], [1, 2]]]}, ("transition", None, REAL)),
        ({"transition": csr_array((5, 2))}, ("transition", (5, 2), "(S*A, S)")),
        ({"transition": csr_array((2, 4))}, ("transition", (2, 4), "(S*A, S)")),
        ({"transition": csr_array((0, 2))}, ("transition", "no actions", "at least one")),
        (
            {"transition": csr_array((4, 2)) * 1j},
            ("transition", "dtype complex128", "real numbers"),
        ),
        (
            {"transition": [csr_array((4, 2)), csr_array((6, 2)), csr_array((4, 2))]},
            ("transition[1]", "shape (6, 2)", "a sparse matrix of shape (4, 2)"),
        ),
        (
            {"transition": [[[1.0]], csr_array((4, 2)), csr_array((4, 2))]},
            ("transition[0]", "list", "a sparse matrix of shape (4, 2)"),
        ),
        ({"transition": [csr_array((4, 2))] * 2}, ("horizon", 3, None)),
        ({"transition": np.zeros((2, 2, 2, 2))}, ("horizon", 3, None)),
        ({"horizon": None}, ("horizon", "missing", None)),
        ({"horizon": 0}, ("horizon", 0, "a whole number of at least 1")),
        ({"horizon": 2.0}, ("horizon", 2.0, "a whole number of at least 1")),
        ({"horizon": True}, ("horizon", True, "a whole number of at least 1")),
        ({"horizon": 2**31}, ("horizon", 2147483648, "a whole number of at most 2147483647")),
        ({"cost": np.zeros((2, 3))}, ("cost", (2, 3), COSTS)),
        ({"cost": np.zeros((2, 2, 2))}, ("cost", (2, 2, 2), COSTS)),
        ({"cost": np.full((2, 2), None)}, ("cost", None, REAL)),
        (
            {"constraint_cost": np.zeros((2, 2))},
            (
                "constraint_cost",
                (2, 2),
                LIMITED,
            ),
        ),
        (
            {"constraint_cost": np.zeros((2, 2, 2))},
            (
                "constraint_cost",
                (2, 2, 2),
                LIMITED,
            ),
        ),
        ({"constraint_cost": None}, ("constraint_cost", "missing", "costs for 1 budgets")),
        ({"budget": None}, ("budget", "missing", "one number for each constraint cost")),
        ({"budget": [[1.0]]}, ("budget", (1, 1), "(I,), one number a constraint")),
        (
            {"budget": [1.0, 1.0]},
            (
                "constraint_cost",
                (1, 2, 2),
                "(2, 2, 2) over (I, S, A) or (2, 3, 2, 2) over (I, H, S, A)",
            ),
        ),
        ({"budget": ["much"]}, ("budget", None, REAL)),
        ({"initial": [1.0]}, ("initial", (1,), "a state or shape (2,)")),
        ({"initial": 2}, ("initial", 2, "a state from 0 to 1")),
        ({"initial": -1}, ("initial", -1, "a state from 0 to 1")),
        ({"initial": True}, ("initial", True, "a state or a distribution over states")),
        ({"initial": 0.0}, ("initial", 0.0, "a state or a distribution over states")),
        ({"initial": None}, ("initial", "None", "a state or a distribution over states")),
        ({"initial": "bsuy"}, "initial: no state is named 'bsuy', did you mean 'busy'?"),
        ({"allowed": np.ones((3, 2))}, ("allowed", (3, 2), COSTS)),
        (
            {"allowed": [[0, 2], [1, 1]]},
            ("allowed", "has values other than True and False", "booleans"),
        ),
        ({"allowed": [["y", "n"]] * 2}, ("allowed", None, REAL)),
        ({"noise": "gauss"}, ("noise", "gauss", "one of 'bernoulli', 'none', 'beta'")),
        ({"state_names": ["a"]}, ("state_names", "1 names", "2")),
        ({"state_names": 3}, ("state_names", 3, "a list of 2 names")),
        (
            {"action_names": ["a", "a"]},
            ("action_names", "'a' appears more than once", "distinct names"),
        ),
        ({"constraint_names": ["a", "b"]}, ("constraint_names", "2 names", "1")),
        ({"constraint_units": [Unit(), Unit()]}, ("constraint_units", 2, "1")),
        ({"constraint_units": []}, ("constraint_units", 0, "1")),
    ],
)
def test_arguments_of_the_wrong_shape_are_named(changes, said):
    with refuses(ModelError, said) as caught:
        CMDP(**{**shop(), **changes})
    assert str(caught.value).startswith(f"{caught.value.argument}")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"cost": [[0.2, 0.0], [np.nan, np.inf]]},
            ("cost[s='busy', a='wait']", NAN, "a finite number"),
        ),
        (
            {"cost": [[-0.5, 0.0], [1.0, 0.4]]},
            ("cost[s='idle', a='wait']", -0.5, "a number in [0, 1]"),
        ),
        (
            {"cost": np.full((3, 2, 2), 2.0)},
            ("cost[h=0, s='idle', a='wait']", 2.0, "a number in [0, 1]"),
        ),
        (
            {"cost": [[0.2, 0.0], [1.0 + 2**-52, 0.4]]},
            ("cost[s='busy', a='wait']", 1.0000000000000002, "a number in [0, 1]"),
        ),
        (
            {"constraint_cost": [[[0.0, 0.0], [0.0, 3.0]]]},
            ("constraint_cost[i='energy', s='busy', a='serve']", 3.0, "a number in [0, 1]"),
        ),
        (
            {"constraint_cost": np.full((1, 3, 2, 2), np.inf)},
            ("constraint_cost[i='energy', h=0, s='idle', a='wait']", np.inf, "a finite number"),
        ),
        ({"budget": [np.nan]}, ("budget[i='energy']", NAN, "a finite number")),
        ({"budget": [-0.1]}, ("budget[i='energy']", -0.1, "a number in [0, 3]")),
        ({"budget": [3.5]}, ("budget[i='energy']", 3.5, "a number in [0, 3]")),
        ({"initial": [np.nan, 1.0]}, ("initial[s='idle']", NAN, "a finite number")),
        ({"initial": [1.5, -0.5]}, ("initial[s='idle']", 1.5, "a number in [0, 1]")),
        ({"initial": [0.5, 0.4]}, ("initial", 0.9, "1 within 1e-06")),
        (
            {"allowed": [[False, False], [True, True]]},
            ("allowed[s='idle']", "no action", "at least one"),
        ),
        (
            {"allowed": [[[1, 0], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [1, 1]]]},
            ("allowed[h=1, s='busy']", "no action", "at least one"),
        ),
    ],
)
def test_values_that_cannot_be_are_named(changes, said):
    with refuses(ModelError, said):
        CMDP(**{**shop(), **changes})


def test_bad_values_are_counted():
    assert "; 2 such entries; " in refused(cost=[[0.2, 0.0], [np.nan, np.inf]])
    assert "; 9 such entries" in refused(cost=np.full((3, 2, 2), 2.0))
    empty = [[[1, 0], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [1, 1]]]
    assert "; 2 such states; " in refused(allowed=empty)


def test_an_error_has_the_remedy_where_one_is_known():
    assert "cost_range=(0, 4)) does it" in refused(cost=[[4, 0], [0, 0]])
    assert "divide it by its sum, 0.9" in refused(initial=[0.5, 0.4])
    bad = {"constraint_cost": [[[0.0, 0.0], [0.0, 3.0]]], "constraint_units": [Unit()] * 2}
    assert "constraint_range=[(0, 3)]" in refused(**bad)


@forms
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([np.nan, 1.0], ("transition[s='busy', a='wait', t='idle']", NAN, "a finite number")),
        ([0.0, np.inf], ("transition[s='busy', a='wait', t='busy']", np.inf, "a finite number")),
        (
            [-0.5, 1.5],
            ("transition[s='busy', a='wait', t='idle']", -0.5, "a probability of at least 0"),
        ),
        ([0.2, 0.3], ("transition[s='busy', a='wait']", 0.5, "1 within 1e-06")),
        ([0.0, 0.0], ("transition[s='busy', a='wait']", 0.0, "1 within 1e-06")),
        (
            [0.5, 0.5 + 2e-6],
            ("transition[s='busy', a='wait']", 0.5 + (0.5 + 2e-6), "1 within 1e-06"),
        ),
        ([1e308, 1.5e308], ("transition[s='busy', a='wait']", np.inf, "1 within 1e-06")),
    ],
)
def test_rows_that_are_no_distribution_are_named(form, row, said):
    p = np.array(shop()["transition"])
    p[1, 0] = row

    with refuses(ModelError, said):
        CMDP(**{**shop(), "transition": form(p)})


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
