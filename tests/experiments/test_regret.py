"""Which episodes are recorded, and the four regrets of a record made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope.experiments.regret import new_regret_record, record_episode, recorded_episodes


@pytest.mark.parametrize("K", [1, 2, 3, 50, 1999, 2000, 2001, 100_000, 10**7])
def test_recorded_episodes_rise_from_one_to_the_last_and_are_not_many(K):
    recorded = recorded_episodes(K)
    assert (recorded[0], recorded[-1]) == (1, K)
    assert (np.diff(recorded) > 0).all()
    assert recorded.size <= min(K, 2002)


def test_early_episodes_are_all_recorded():
    np.testing.assert_array_equal(recorded_episodes(10**6)[:100], np.arange(1, 101))


def recorded(points, budget, optimum=0.0, n=None):
    """The record after the first n of these episodes, given by their exact values."""
    K, I = len(points), len(budget)
    record = new_regret_record(np.arange(1, K + 1), 1, 1, 1, I)
    for point in points[:n]:
        record.point[:] = point
        values = record.point, optimum, np.asarray(budget, dtype=float), np.zeros(I), 0.0
        record_episode(record, *values)
    return record


def test_constraints_violated_in_turn_count_half_as_much_as_the_sum_of_the_worst():
    points = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] * 5
    record = recorded(points, [0.0, 0.0])
    assert record.regrets["constraint_plus"][-1].max() == 5.0
    assert sum(max(point[1:]) for point in points) == 10.0
    np.testing.assert_array_equal(record.violation_curve, np.arange(1, 11))


def test_regrets_equal_those_computed_by_hand():
    # optimum 1, budget 0.5: excess of cost +1, -0.5, 0; of the budget -0.5, +0.25, 0
    record = recorded([[2.0, 0.0], [0.5, 0.75], [1.0, 0.5]], [0.5], optimum=1.0)
    regrets = record.regrets
    np.testing.assert_array_equal(regrets["cost"], [1.0, 0.5, 0.5])
    np.testing.assert_array_equal(regrets["cost_plus"], [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(regrets["constraint"][:, 0], [-0.5, -0.25, -0.25])
    np.testing.assert_array_equal(regrets["constraint_plus"][:, 0], [0.0, 0.25, 0.25])
    np.testing.assert_array_equal(record.violation_curve, [0, 1, 1])
    np.testing.assert_array_equal(record.worst, [0.25])
    np.testing.assert_array_equal(record.excess_curve[:, 0], [1.0, -0.5, 0.0])


def test_regrets_of_a_part_are_the_first_part_of_the_regrets():
    points = np.random.default_rng(0).random((9, 3))
    whole, part = (recorded(points, [0.5, 0.5], 0.5, n).regrets for n in (9, 4))
    for name, curve in part.items():
        assert len(curve) == 4
        np.testing.assert_array_equal(curve, whole[name][:4])
