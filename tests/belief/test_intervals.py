"""Confidence intervals of expected totals: by hand, against slow loops, and how often they fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tightrope.belief.intervals import average_band, least_mean

TOTALS = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


def largest(totals, m):
    """The largest mixture of products of bets that the mean exceeds m, in a loop."""
    parts = [(0.99 / 2**j, 0.5**j) for j in range(12)]
    products, most = [1.0] * 12, 0.0
    for x in totals:
        products = [p * (1 + c * (x / m - 1)) for p, (c, _) in zip(products, parts, strict=True)]
        mixture = sum(w * p for p, (_, w) in zip(products, parts, strict=True))
        most = max(most, mixture / sum(w for _, w in parts))
    return np.log(max(most, 1.0))


def test_the_first_bets_equal_those_computed_by_hand():
    # one total of 1: 1 + (1/m - 1) sum_j w_j c_j, where sum_j w_j c_j is, with 12 of the stakes,
    # 0.99 * (0.5 / 0.75) * (1 - 0.25^12) / (1 - 0.5^12) = 0.660161; it is 5 at 1/m = 1 + 4/0.660161
    assert least_mean(np.ones(1), 0.2) == pytest.approx(1 / (1 + 4 / 0.660161), abs=1e-6)
    assert least_mean(np.zeros(5), 0.1) == 0.0


@settings(deadline=None)
@given(TOTALS, st.floats(0.01, 0.5))
def test_the_bound_is_where_a_slow_loop_reaches_its_goal(totals, delta):
    found = least_mean(totals, delta)
    goal = np.log(1 / delta)
    if found > 0:
        assert largest(totals, found) >= goal - 1e-6
    if found < 1 - 1e-6:
        assert largest(totals, found + 1e-6) < goal + 1e-6


@settings(deadline=None)
@given(TOTALS, st.data())
def test_smaller_totals_never_raise_the_bound(totals, data):
    # what incomplete replayed episodes need, whatever makes them incomplete
    shares = data.draw(st.lists(st.floats(0, 1), min_size=totals.size, max_size=totals.size))
    assert least_mean(totals * np.array(shares), 0.1) <= least_mean(totals, 0.1) + 1e-12


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


@pytest.mark.parametrize("n", [20, 60, 2000])
def test_one_policy_has_narrower_bounds_than_the_band_for_changing_policies(n):
    totals = np.random.default_rng(0).beta(2, 8, n)
    for each in (totals, 1 - totals):
        mean, radius = average_band(each, 0.0, 1.0, 0.1)
        assert least_mean(each, 0.05) > mean[-1] - radius[-1]
