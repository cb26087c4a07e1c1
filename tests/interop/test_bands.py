"""Confidence bands: by hand, by simulation of policies that change, and by their rate."""

from __future__ import annotations

import numpy as np

from tightrope.interop.gym.realised import TILTS, mean_and_radius


def test_the_radius_is_the_formula():
    values, delta = np.array([1.0, 0.0, 1.0, 1.0]), 0.1
    mean, radius = mean_and_radius(values, 0.0, 1.0, delta)
    np.testing.assert_allclose(mean, [1.0, 0.5, 2 / 3, 0.75])
    # guesses 1/2, 1, 1/2, 2/3 leave 1/4 + 1 + 1/4 + 1/9
    spread = 0.25 + 1.0 + 0.25 + 1 / 9
    by_hand = min(
        (np.log(2 * len(TILTS) / delta) + (-np.log(1 - t) - t) * spread) / (4 * t) for t in TILTS
    )
    np.testing.assert_allclose(radius[-1], by_hand)


def test_bands_move_with_the_units():
    values = np.random.default_rng(0).random(50)
    mean, radius = mean_and_radius(values, 0.0, 1.0, 0.1)
    other_mean, other_radius = mean_and_radius(-100 + 30 * values, -100.0, -70.0, 0.1)
    np.testing.assert_allclose(other_mean, -100 + 30 * mean)
    np.testing.assert_allclose(other_radius, 30 * radius)


def test_bands_hold_at_every_episode_while_what_is_expected_reacts_to_the_past():
    # a mean that flees from what was seen, as a learner's policies do; 400 runs, of which at most
    # a tenth may miss: more than 60 would be three standard deviations too many
    rng = np.random.default_rng(1)
    K, runs, misses = 300, 400, 0
    for _ in range(runs):
        expected, seen = np.zeros(K), np.zeros(K)
        average = 0.5
        for k in range(K):
            expected[k] = 0.1 if average > 0.3 else 0.6
            seen[k] = rng.random() < expected[k]
            average += (seen[k] - average) / (k + 1)
        mean, radius = mean_and_radius(seen, 0.0, 1.0, 0.1)
        truth = np.cumsum(expected) / np.arange(1, K + 1)
        misses += bool((np.abs(mean - truth) > radius).any())
    assert misses <= 60


def test_little_spread_makes_bands_far_narrower_than_the_range_alone():
    # Hoeffding's radius is sqrt(log(2/delta)/(2 n)); rare events need much less
    n, delta = 5000, 0.1
    rare = (np.random.default_rng(2).random(n) < 0.01).astype(float)
    _, radius = mean_and_radius(rare, 0.0, 1.0, delta)
    assert radius[-1] < 0.45 * np.sqrt(np.log(2 / delta) / (2 * n))
