from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from refusals import refuses
from tightrope.arrays import (
    as_floats,
    entry,
    factor,
    positive,
    require_finite,
    require_range,
    row_sums,
    share,
)
from tightrope.errors import ConfigError, ModelError


def test_an_entry_reads_with_names_where_there_are_any():
    names = {"s": ["idle", "busy"], "a": None}

    assert entry("p", (2, 0, 1, 1), "hsat", names) == "p[h=2, s='idle', a=1, t='busy']"
    assert entry("budget", (0,), "i") == "budget[i=0]"


@pytest.mark.parametrize("value", [[True, False], [1, 2], np.float32([0.5, 1.5])])
def test_anything_real_becomes_contiguous_floats(value):
    array = as_floats("cost", value)

    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.tolist() == [float(x) for x in value]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([1j], "dtype complex128"),
        (["a"], "dtype <U1"),
        ([None], "dtype object"),
        ([[1.0], [1.0, 2.0]], "inhomogeneous shape"),
        ({"a": 1}, "dtype object"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "dtype datetime64"),
    ],
)
def test_anything_else_is_an_error_that_names_the_argument(value, found):
    with refuses(ModelError, found, argument="cost", expected="an array of real numbers"):
        as_floats("cost", value)


def test_the_first_bad_entry_is_named_and_the_others_counted():
    values = np.array([[0.5, np.nan], [np.inf, 0.0]])

    found = {"argument": "cost", "entry": "s=0, a='go'", "expected": "a finite number"}
    with refuses(ModelError, "is nan, .*; 2 such entries$", **found):
        require_finite("cost", values, "sa", {"a": ["wait", "go"]})
    with refuses(ModelError, ("cost[s=1]", 1.5, "a number in [0, 1]")):
        require_range("cost", np.array([0.0, 1.5]), 0.0, 1.0, "s")


def test_empty_rows_sum_to_zero():
    indptr = np.array([0, 0, 2, 2, 3, 3])

    assert row_sums(indptr, np.array([1.0, 2.0, 4.0, 99.0])).tolist() == [0, 3, 0, 4, 0]
    assert row_sums(np.zeros(3, dtype=int), np.zeros(1)).tolist() == [0, 0]


NUMBERS = {
    positive: "expected a positive number",
    factor: "expected a number of at least 0",
    share: r"expected a number in \(0, 1\)",
}


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_any_kind_of_number_is_accepted(check, value):
    assert check("x", value) == 0.5


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, 10**400, True, "0.5", None, [0.5]])
def test_what_is_no_such_number_is_named(check, value):
    with pytest.raises(ConfigError, match=f"^x: .*, {NUMBERS[check]}$"):
        check("x", value)
