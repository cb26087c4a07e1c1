"""Statistics across seeds, against SciPy, by hand and by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.experiments.statistics import (
    STATISTICS,
    Resamples,
    band_of,
    compare_pairs,
    middle_of,
    reference_of,
    slope_of,
)

EPISODE = np.unique(np.geomspace(1, 10_000, 200).round().astype(int))
SAMPLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


def rng():
    return np.random.default_rng(7)


def draws(n=1000):
    return Resamples(rng(), n)


@given(SAMPLES)
def test_middles_are_those_of_numpy_and_scipy(values):
    np.testing.assert_allclose(middle_of(values, "mean"), values.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(middle_of(values, "median"), np.median(values, axis=0), atol=1e-9)
    trimmed = stats.trim_mean(values, 0.25, axis=0)
    np.testing.assert_allclose(middle_of(values, "IQM"), trimmed, atol=1e-9)


@given(SAMPLES, st.sampled_from(STATISTICS))
def test_a_band_lies_between_the_extremes(values, statistic):
    found = band_of([values], statistic, draws(20))
    if len(values) == 1:
        assert np.isnan(found.low).all()
        assert np.isnan(found.high).all()
        return
    slack = 1e-9 * (1 + np.abs(values).max())
    assert (found.low <= found.high).all()
    assert (found.low >= values.min(axis=0) - slack).all()
    assert (found.high <= values.max(axis=0) + slack).all()


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_band_is_the_quantiles_over_all_resamples(statistic):
    values = np.array([0.0, 1.0, 3.0, 10.0, 4.0])
    every = [middle_of(values[list(drawn)], statistic) for drawn in product(range(5), repeat=5)]
    # quantiles of a discrete law jump; at these levels no jump is near
    found = band_of([values], statistic, draws(40_000), level=0.5)
    exact = np.quantile(every, [0.25, 0.75])
    spread = np.ptp(exact)
    np.testing.assert_allclose([found.low, found.high], exact, atol=0.1 * spread)


def test_resampled_middles_by_parts_are_those_of_the_drawn_values(monkeypatch):
    values = rng().normal(size=(7, 5))
    for statistic in STATISTICS:
        whole = band_of([values], statistic, draws(50))
        monkeypatch.setattr("tightrope.experiments.statistics.AT_ONCE", 400)
        parts = band_of([values], statistic, draws(50))
        drawn = draws(50).counts(7).astype(int)
        plain = [middle_of(np.repeat(values, counts, axis=0), statistic) for counts in drawn]
        low, high = np.quantile(plain, [0.025, 0.975], axis=0)
        for found in (whole, parts):
            np.testing.assert_allclose(found.low, low, rtol=1e-12)
            np.testing.assert_allclose(found.high, high, rtol=1e-12)


def test_the_band_of_a_mean_has_the_width_that_theory_gives():
    values = rng().normal(size=400)
    found = band_of([values], "mean", draws(4000))
    width = 2 * 1.96 * values.std() / np.sqrt(400)
    # a quantile of 4000 resamples is known to about 3 percent of the width
    assert found.high - found.low == pytest.approx(width, rel=0.1)


def test_strata_keep_their_share_so_what_differs_between_them_is_no_noise():
    first, second = np.zeros(6), np.full(6, 100.0)
    apart = band_of([first, second], "mean", draws())
    assert (apart.middle, apart.low, apart.high) == (50.0, 50.0, 50.0)
    together = band_of([np.concatenate((first, second))], "mean", draws())
    assert together.high - together.low > 20


def test_paired_differences_count_ties_as_half():
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 5.0, 3.0])
    found = compare_pairs(first, second, draws())
    assert found.n_seeds == 4
    assert found.difference.middle == pytest.approx((-1 + 0 - 2 + 1) / 4)
    assert found.improvement.middle == pytest.approx((1 + 0.5 + 1 + 0) / 4)
    assert found.difference.low <= found.difference.middle <= found.difference.high
    other = compare_pairs(second, first, draws())
    assert other.difference.middle == -found.difference.middle
    assert other.improvement.middle == 1 - found.improvement.middle


def test_what_all_seeds_share_cancels_in_a_paired_difference():
    common = rng().normal(scale=1000.0, size=30)
    found = compare_pairs(common, common + 1.0, draws())
    np.testing.assert_allclose(found.difference, -1.0)
    assert tuple(found.improvement) == (1.0, 1.0, 1.0)


def test_runs_that_do_not_pair_are_refused():
    with refuses(
        ConfigError,
        argument="paired",
        found="3 and 2 runs",
        expected="equal numbers of runs, at least one",
    ):
        compare_pairs(np.zeros(3), np.zeros(2), draws())
    with refuses(
        ConfigError, argument="statistic", found="mode", expected="one of mean, median, IQM"
    ):
        middle_of(np.zeros(3), "mode")


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_the_slope_of_a_power_is_its_exponent(power):
    curves = np.outer([1.0, 2.0, 7.0], EPISODE**power)
    np.testing.assert_allclose(slope_of(EPISODE, curves, draws()), power, rtol=1e-9)


def test_the_slope_is_that_of_scipy_over_the_last_decade_of_the_mean():
    curves = np.abs(rng().normal(size=(5, len(EPISODE)))).cumsum(axis=1) + 1
    found = slope_of(EPISODE, curves, draws())
    late = EPISODE >= 1000
    line = stats.linregress(np.log(EPISODE[late]), np.log(curves.mean(axis=0)[late]))
    assert found.middle == pytest.approx(line.slope)
    assert found.low <= found.middle <= found.high


def test_a_regret_that_is_not_positive_and_a_single_point_have_no_slope():
    assert np.isnan(slope_of(EPISODE, -np.ones((3, len(EPISODE))), draws())).all()
    assert np.isnan(slope_of(np.array([1]), np.ones((3, 1)), draws())).all()
    alone = slope_of(EPISODE, np.sqrt(EPISODE)[None], draws())
    assert alone.middle == pytest.approx(0.5)
    assert np.isnan(alone.low)


def test_the_reference_meets_the_curve_at_its_end():
    assert reference_of(np.array([1, 100]), np.array([3.0, 20.0])) == 2.0


def test_resamples_do_not_depend_on_what_was_drawn_before():
    first, second = draws(), draws()
    first.counts(4)
    np.testing.assert_array_equal(first.counts(3, 5), second.counts(3, 5))
    assert (first.counts(3, 5)[:, :3].sum(axis=1) == 3).all()
    assert (first.counts(3, 5)[:, 3:].sum(axis=1) == 5).all()
    assert not np.array_equal(first.counts(4), Resamples(np.random.default_rng(8), 1000).counts(4))
