"""Archives: what went in comes out, and nothing else does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.files import leaves, packed, unpacked


class Inner(NamedTuple):
    x: np.ndarray
    rate: float


class Outer(NamedTuple):
    inner: Inner
    y: np.ndarray


def record(x, y):
    return Outer(Inner(np.array(x), 0.5), np.array(y))


def test_a_record_is_stored_by_dotted_names():
    first = record([1.0, 2.0], [3])
    content = packed({"what": "test"}, dict(leaves("r", first)))
    about, arrays = unpacked(content)
    assert about == {"what": "test"}
    assert set(arrays) == {"r.inner.x", "r.y"}
    np.testing.assert_array_equal(arrays["r.inner.x"], [1.0, 2.0])
    np.testing.assert_array_equal(arrays["r.y"], [3])
