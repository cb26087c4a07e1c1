"""Spaces as numbers from 0, and back."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from tightrope.errors import ModelError
from tightrope.interop.gym.process import numbering

SPACES = [
    spaces.Discrete(5),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3, 2]),
    spaces.MultiDiscrete([2, 2], start=[0, 5]),
    spaces.Tuple((spaces.Discrete(4), spaces.Discrete(2, start=7))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_point_has_its_own_number_and_comes_back(space):
    found = numbering(space, "space")
    points = [found.point(k) for k in range(found.n)]
    assert all(point in space for point in points)
    assert [found.number(point, "it") for point in points] == list(range(found.n))
    space.seed(0)
    assert {found.number(space.sample(), "it") for _ in range(200)} == set(range(found.n))


def test_the_last_coordinate_runs_fastest():
    found = numbering(spaces.MultiDiscrete([2, 3]), "space")
    assert [found.number(np.array(p), "it") for p in [(0, 0), (0, 2), (1, 0)]] == [0, 2, 3]


@pytest.mark.parametrize("point", [5, -1, 1.0, "1", None, [0, 1], [[0], [1, 2]]])
def test_a_point_outside_is_named(point):
    with pytest.raises(ModelError, match=r"step 2: the observation is .*expected 0 to 4"):
        numbering(spaces.Discrete(5), "space").number(point, "step 2: the observation")


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0.0, 1.0),
        spaces.Tuple((spaces.Discrete(2), spaces.Box(0.0, 1.0))),
        spaces.MultiDiscrete([[2, 2], [2, 2]]),
        spaces.MultiDiscrete([10_000, 10_000]),
    ],
    ids=str,
)
def test_spaces_that_cannot_be_counted_are_refused(space):
    with pytest.raises(ModelError, match="observation_space: "):
        numbering(space, "observation_space")
