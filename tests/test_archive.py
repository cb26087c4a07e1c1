"""Archives: what went in comes out, and nothing else does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tightrope.archive import leaves, packed, put_back, unpacked
from tightrope.errors import StoreError


class Inner(NamedTuple):
    x: np.ndarray
    rate: float


class Outer(NamedTuple):
    inner: Inner
    y: np.ndarray


def record(x, y):
    return Outer(Inner(np.array(x), 0.5), np.array(y))


def test_a_record_goes_in_by_dotted_names_and_comes_back_in_place():
    first, second = record([1.0, 2.0], [3]), record([0.0, 0.0], [0])
    content = packed({"what": "test"}, dict(leaves("r", first)))
    about, arrays = unpacked(content)
    assert about == {"what": "test"}
    assert set(arrays) == {"r.inner.x", "r.y"}
    put_back(dict(leaves("r", second)), arrays, "state")
    np.testing.assert_array_equal(second.inner.x, [1.0, 2.0])
    np.testing.assert_array_equal(second.y, [3])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0], [3], r"state: r\.inner\.x is float64 of shape \(1,\), expected .* \(2,\)"),
        ([1.0, 2.0], [3.0], r"state: r\.y is float64"),
    ],
)
def test_what_does_not_fit_changes_nothing(x, y, message):
    mine = record([0.0, 0.0], [0])
    with pytest.raises(StoreError, match=message):
        put_back(dict(leaves("r", mine)), dict(leaves("r", record(x, y))), "state")
    np.testing.assert_array_equal(mine.inner.x, [0.0, 0.0])
    np.testing.assert_array_equal(mine.y, [0])


def test_an_array_too_many_is_named():
    mine = dict(leaves("r", record([0.0], [0])))
    with pytest.raises(StoreError, match=r"another kind of run \(extra is in only one"):
        put_back(mine, {**mine, "extra": np.zeros(1)}, "state")
