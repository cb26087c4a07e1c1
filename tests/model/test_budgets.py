from __future__ import annotations

import numpy as np
import pytest
from model_samples import same

from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.units import constraint_at, with_named_budgets

H = 4


def tram():
    """Riders are a floor on [0, 10] a step, energy a budget on [-1, 1] a step; four steps."""
    return CMDP.from_rewards(
        np.ones((1, 1, 1)),
        [[0.5]],
        [[[5.0]]],
        [10.0],
        H,
        constraint_cost=[[[0.0]]],
        budget=[2.0],
        utility_range=[(0, 10)],
        constraint_range=[(-1, 1)],
        constraint_names=["riders", "energy"],
    )


def test_bounds_are_in_the_units_of_their_constraints():
    # 30 riders of 40 leave 10 of 40 to miss, a quarter of 4; energy 0 is the middle of [-4, 4]
    assert with_named_budgets(tram(), {"riders": 30.0}).budget.tolist() == [1.0, 3.0]
    assert with_named_budgets(tram(), {"1": 0.0, " riders ": 40.0}).budget.tolist() == [0.0, 2.0]


def test_without_bounds_the_model_stays_as_it_is():
    assert same(with_named_budgets(tram(), {}), tram())


def test_a_name_goes_before_a_number():
    named = CMDP(
        np.ones((1, 1, 1)), [[0.0]], np.zeros((2, 1, 1)), [1, 1], 2, constraint_names=["1", "x"]
    )
    assert [constraint_at(named, word) for word in ("0", "1", "x")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            {"rider": 1.0},
            r"constraint 'rider' is unknown, did you mean 'riders'\?; constraints: 'ri",
        ),
        ({"2": 1.0}, "constraint '2' is unknown"),
        ({"9" * 5000: 1.0}, r"constraint '9+\.\.\. \(5002 characters\) is unknown"),
        ({"riders": 1.0, "0": 2.0}, "a budget for 'riders' twice"),
        ({"energy": 9.0}, r"budget\[i='energy'\] .*; as energy: 9, expected a number in \[-4, 4\]"),
    ],
)
def test_bounds_that_cannot_be_are_named(bounds, message):
    with pytest.raises(ModelError, match=message):
        with_named_budgets(tram(), bounds)


def test_a_model_without_constraints_says_so():
    free = CMDP(np.ones((1, 1, 1)), [[0.0]], horizon=1)
    with pytest.raises(ModelError, match="constraint 'x' is unknown; the model has none"):
        constraint_at(free, "x")
