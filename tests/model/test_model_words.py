from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from tightrope.model.words import ROUNDING, apart, round_up

numbers = st.floats(-1e6, 1e6)


@given(numbers)
@example(0.6500000000000001)
def test_what_is_enough_falls_short_by_no_more_than_rounding_and_is_short(value):
    told = float(round_up(value, value))

    rounding = ROUNDING * max(1.0, abs(value))
    assert value - 2 * rounding <= told <= value + 1e-5 * abs(value) + rounding
    assert len(round_up(value, value).lstrip("-0.").replace(".", "").split("e")[0]) <= 6


def test_what_is_enough_is_rounded_up():
    assert round_up(0.1234561, 0.1) == "0.123457"
    assert round_up(0.65 + 1e-16, 1.0) == "0.65"
    assert round_up(-2.0000001, 2.0) == "-2"
    assert round_up(2.0000001, 2.0) == "2.00001"
    assert round_up(1.2345678e-9, 1e-9) == "1.23457e-09"


@given(numbers, numbers)
def test_different_numbers_are_told_apart_and_equal_ones_are_not(first, second):
    near = math.nextafter(first, math.inf)

    assert len(set(apart(first, near))) == 2
    assert (len(set(apart(first, second))) == 2) == (first != second)
    assert apart(0.25, 0.5) == ("0.25", "0.5")
