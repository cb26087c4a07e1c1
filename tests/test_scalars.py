from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tightrope.arrays import factor, positive, share
from tightrope.errors import ModelError

NUMBERS = {
    positive: "expected a positive number",
    factor: "expected a number of at least 0",
    share: r"expected a number in \(0, 1\)",
}


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_any_kind_of_number_will_do(check, value):
    assert check("x", value) == 0.5


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, 10**400, True, "0.5", None, [0.5]])
def test_what_is_no_such_number_is_named(check, value):
    with pytest.raises(ModelError, match=f"^x: .*, {NUMBERS[check]}$"):
        check("x", value)
