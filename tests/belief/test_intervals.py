"""Confidence intervals of expected totals: by hand, against slow loops, and how often they fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tightrope.belief.intervals import average_band, least_mean

TOTALS = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


def wealth(totals, m, delta):
    """The largest wealth of the gambler who bets that the mean exceeds m, in a loop."""
    mean, square, most, now = 0.5, 0.25, 0.0, 0.0
    for k, x in enumerate(totals, 1):
        stake = np.sqrt(2 * np.log(1 / delta) / (square / k * k * np.log1p(k)))
        now += np.log1p(min(stake, 0.99 / m) * (x - m))
        most = max(most, now)
        mean = (mean * k + x) / (k + 1)
        square += (x - mean) ** 2
    return most


def test_the_first_bet_by_hand():
    # the stake is sqrt(2 ln 5 / (1/4 ln 2)) = 4.3097; with one total of 1 the wealth is
    # 1 + 4.3097 (1 - m), which is 5 at m = 1 - 4/4.3097
    assert least_mean(np.ones(1), 0.2) == pytest.approx(1 - 4 / 4.3097, abs=1e-4)
    assert least_mean(np.zeros(5), 0.1) == 0.0


@settings(deadline=None)
@given(TOTALS, st.floats(0.01, 0.5))
def test_the_bound_is_where_the_wealth_of_a_slow_loop_reaches_its_goal(totals, delta):
    found = least_mean(totals, delta)
    goal = np.log(1 / delta)
    if found > 0:
        assert wealth(totals, found, delta) >= goal - 1e-6
    if found < 1 - 1e-6:
        assert wealth(totals, found + 1e-6, delta) < goal + 1e-6


@settings(deadline=None)
@given(TOTALS, st.data())
def test_smaller_totals_never_raise_the_bound_of_a_given_sequence_of_stakes(totals, data):
    # what replay relies on: with the stakes of the smaller totals, larger ones win at least as much
    shares = data.draw(st.lists(st.floats(0, 1), min_size=totals.size, max_size=totals.size))
    smaller = totals * np.array(shares)
    m = least_mean(smaller, 0.1)
    if m == 0.0:
        return
    n = np.arange(1, totals.size + 1)
    mean = (0.5 + np.cumsum(smaller)) / (n + 1)
    variance = (0.25 + np.cumsum((smaller - mean) ** 2)) / (n + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    stake = np.minimum(np.sqrt(2 * np.log(10) / (before * n * np.log1p(n))), 0.99 / m)
    assert np.cumsum(np.log1p(stake * (totals - m))).max() >= np.log(10) - 1e-9


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_bounds_fail_at_no_time_more_often_than_delta(mean):
    rng = np.random.default_rng(1)
    delta, runs = 0.1, 400
    # the largest bound over all times, because `least_mean` is the largest so far
    failed = sum(
        least_mean((rng.random(300) < mean).astype(float), delta) > mean for _ in range(runs)
    )
    assert failed <= binom.ppf(1 - 1e-6, runs, delta)


def test_more_totals_give_narrower_bounds():
    rng = np.random.default_rng(0)
    totals = rng.beta(2, 8, 2000)
    found = [least_mean(totals[:n], 0.05) for n in (20, 200, 2000)]
    assert found == sorted(found)
    assert found[-1] < 0.2
    assert 0.2 - found[-1] < 0.015


def test_few_totals_give_more_than_the_band_for_changing_policies():
    totals = np.random.default_rng(0).beta(2, 8, 60)
    mean, radius = average_band(1 - totals, 0.0, 1.0, 0.1)
    assert least_mean(1 - totals, 0.05) > mean[-1] - radius[-1]
