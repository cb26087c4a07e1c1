"""What the page of results computes: bounds, limits and first times, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from cancellation import period_of, swing_of, turns_of
from growth import (
    below_trivial,
    cost_term,
    ladder_slope,
    leading_terms,
    most_successors,
    transition_term,
    upper_limit,
)
from section import band_words, duration, mean_and_band, rows_of
from tightrope import envs
from tightrope.experiments.statistics import Band, Resamples


def full(S, A, H):
    """A random model in which every state may follow."""
    sizes = {"n_states": S, "n_actions": A, "horizon": H, "n_constraints": 1}
    return envs.build("random", branching=S, **sizes)


@pytest.mark.parametrize(
    ("sizes", "K", "expected"),
    [((3, 2, 3), 1e4, 3e5), ((5, 3, 5), 1e5, 5e6), ((10, 5, 10), 1e4, 1.3e8)],
)
def test_the_bound_says_something_from_where_the_theory_says(sizes, K, expected):
    # known to one or two digits
    assert below_trivial(full(*sizes), K, 0.1) == pytest.approx(expected, rel=0.15)


def test_leading_terms_are_those_of_the_corrected_theorems():
    cmdp = full(3, 2, 3)
    assert most_successors(cmdp) == 3
    plain = np.sqrt(3 * 2 * 3 * 3**4 * 100)
    assert leading_terms("OptCMDP", cmdp, 100, np.nan) == pytest.approx((plain, plain))
    assert leading_terms("OptDual", cmdp, 100, 2.0) == pytest.approx((plain + 60.0, 1.5 * plain))
    mirror = np.sqrt(3**4 * 100 * np.log(2))
    expected = (plain + 3 * mirror, 1.5 * plain + mirror)
    assert leading_terms("OptPrimalDual", cmdp, 100, 2.0) == pytest.approx(expected)


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 50), (49, 50)])
def test_the_upper_limit_is_the_probability_at_which_so_few_are_rare(count, n):
    assert binom.cdf(count, n, upper_limit(count, n)) == pytest.approx(0.05)


def test_nothing_limits_a_probability_when_all_failed():
    assert upper_limit(7, 7) == 1.0


def test_with_constants_the_bound_meets_the_trivial_one_where_it_says():
    cmdp = full(3, 2, 3)
    start = below_trivial(cmdp, 10**6, 0.1)
    # both at K = start, the radii still those of 10^6 episodes
    assert transition_term(cmdp, 10**6, 0.1) * np.sqrt(start / 10**6) == pytest.approx(3 * start)
    assert below_trivial(cmdp, 10**6, 0.1, rho=2.0) == pytest.approx(2.25 * start)


def test_tables_and_intervals_are_markdown():
    table = rows_of(["a", "b"], [["x", "1"]])
    assert table == "| a | b |\n| --- | ---: |\n| x | 1 |"
    nothing = np.asarray(np.nan)
    assert (
        band_words(Band(np.asarray(0.5), np.asarray(0.25), np.asarray(0.75))) == "0.50 [0.25, 0.75]"
    )
    assert band_words(Band(np.asarray(0.5), nothing, nothing)) == "0.50"
    assert band_words(Band(nothing, nothing, nothing)) == "\N{EN DASH}"


def test_one_run_has_a_mean_and_no_interval():
    resamples = Resamples(np.random.default_rng(0), 100)
    assert mean_and_band(np.array([2.5]), resamples) == "2.5"
    assert mean_and_band(np.array([2.0, 2.0]), resamples) == "2 [2, 2]"


def test_the_cost_term_is_that_of_the_worked_case():
    cmdp = full(3, 2, 3)
    log = 2 * np.log(6 * 3 * 2 * 3 * 2 * 100 / 0.1)
    assert cost_term(cmdp, 100, 0.1) == pytest.approx(4 * np.sqrt(2) * 3 * np.sqrt(600 * log))


def test_a_ladder_of_square_roots_has_exponent_one_half():
    rng = np.random.default_rng(0)
    episodes = [100, 1_000, 10_000]
    ends = [7.0 * np.sqrt(K) * np.ones(4) for K in episodes]
    assert np.allclose(ladder_slope(episodes, ends, rng), 0.5)
    noisy = [np.sqrt(K) * np.array([0.5, 1.5, 1.0]) for K in episodes]
    middle, low, high = ladder_slope(episodes, noisy, rng)
    assert middle == pytest.approx(0.5)
    assert low < 0.5 < high
    assert np.isnan(ladder_slope(episodes, [-1.0 * each for each in ends], rng)).all()
    assert np.isnan(ladder_slope([100], ends[:1], rng)).all()


def test_turns_of_a_multiplier_are_counted_without_its_flat_parts():
    assert turns_of(np.array([0.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0])) == 2
    assert turns_of(np.array([0.0, 0.0, 0.0])) == 0


def test_a_sine_swings_by_its_quantiles_with_its_period():
    episode = np.arange(0, 100_000, 50)
    values = 3.0 + 0.6 * np.sin(2 * np.pi * episode / 15_000)
    # a sine is below its 95 % quantile sin(0.45 pi) for 95 % of a period
    assert swing_of(values) == pytest.approx(1.2 * np.sin(0.45 * np.pi), rel=0.02)
    assert period_of(episode, values) == pytest.approx(15_000, rel=0.01)


def test_what_turns_faster_than_it_was_recorded_has_no_period():
    episode = np.arange(0, 10_000, 100)
    assert np.isnan(period_of(episode, np.where(np.arange(100) % 4 < 2, 1.0, -1.0)))
    assert np.isnan(period_of(episode, np.zeros(100)))
    assert np.isnan(period_of(episode, np.arange(100.0)))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1.5e-6, "1.5 \u00b5s"), (9.994e-4, "999 \u00b5s"), (0.00773, "7.73 ms"), (2.5, "2.5 s")],
)
def test_times_are_said_in_the_unit_that_suits_them(seconds, said):
    assert duration(seconds) == said
