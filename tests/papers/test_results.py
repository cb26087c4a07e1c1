"""What the page of results computes: bounds, limits and first times, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from bounds import (
    ORDERS,
    PROMISED,
    bounds_of,
    cost_term,
    early_bounds,
    informative_from,
    most_successors,
    transition_term,
)
from cancellation import period_of, swing_of
from family import SIZES, slope_over, spreads, whole_ladder
from growth import has_theorem, ladder_slope, not_exceeded, upper_limit
from league import _best, over_problems
from page import TABLE_FROM, TABLE_TO, with_table
from records import cells_of, collect
from section import Section, about, band_words, duration, mean_and_band, rows_of, signed, span
from tightrope import envs
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.statistics import Band, Resamples


def full(S, A, H):
    """A random model in which every state may follow."""
    sizes = {"n_states": S, "n_actions": A, "horizon": H, "n_constraints": 1}
    return envs.build("random", branching=S, **sizes)


@pytest.mark.parametrize(
    ("sizes", "K", "expected"),
    [((3, 2, 3), 1e4, 3e5), ((5, 3, 5), 1e5, 5e6), ((10, 5, 10), 1e4, 1.3e8)],
)
def test_the_bound_is_informative_from_where_the_theory_states(sizes, K, expected):
    # known to one or two digits
    cmdp = full(*sizes)
    bound = transition_term(cmdp, K, 0.1)
    assert informative_from(bound, cmdp, K) == pytest.approx(expected, rel=0.15)


def test_bounds_are_those_of_the_corrected_theorems():
    cmdp = full(3, 2, 3)
    assert most_successors(cmdp) == 3
    known = 8 * np.sqrt(2) * 9 * np.sqrt(3 * 6 * 100 * np.log(6 * 18 * 100 / 0.1))
    assert transition_term(cmdp, 100, 0.1) == pytest.approx(known)
    error = known + cost_term(cmdp, 100, 0.1)
    assert bounds_of("OptCMDP", cmdp, 100, 0.1) == pytest.approx((error, error))
    assert bounds_of("OptCMDP", cmdp, 100, 0.1, known_costs=True) == pytest.approx((known, known))
    bonus = error * np.exp(0.25)
    assert bounds_of("OptCMDP-bonus", cmdp, 100, 0.1) == pytest.approx((bonus, bonus))
    # H sqrt(I K) = 30 and H^2 sqrt(2 K ln A) = 90 sqrt(2 ln 2)
    found = bounds_of("OptDual", cmdp, 100, 0.1, rho=2.0)
    assert found == pytest.approx((error + 30, 3 * error + 60))
    mirror = 90 * np.sqrt(2 * np.log(2))
    found = bounds_of("OptPrimalDual", cmdp, 100, 0.1, rho=2.0)
    assert found == pytest.approx((bonus + 30 + 3 * mirror, 3 * bonus + 60 + 3 * mirror))


def test_bounds_of_the_duals_are_what_their_steps_give():
    # the sum bounded by the analysis, at lambda = 0 and at length rho, with the steps of the boxes
    cmdp, K, rho, I, H, A = full(3, 2, 3), 1000, 3.0, 1, 3, 2
    dual_step = H * np.sqrt(I * K) / rho
    primal_step = np.sqrt(2 * np.log(A) / K) / (H * (1 + I * rho))
    error = bounds_of("OptCMDP-bonus", cmdp, K, 0.1)[0]
    mirror = H * (np.log(A) / primal_step + primal_step * K * (H * (1 + I * rho)) ** 2 / 2)

    def bounded(length):
        dual = dual_step * length**2 / 2 + I * H**2 * K / (2 * dual_step)
        return error * (1 + np.sqrt(I) * length) + mirror + dual

    expected = (bounded(0.0), bounded(rho) / (rho / 2))
    assert bounds_of("OptPrimalDual", cmdp, K, 0.1, rho) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_early_bounds_are_below_what_the_analysis_gives_at_every_episode(share):
    # the sum of the analysis after k episodes, with the steps of K, at multiplier 0 and rho
    cmdp, K, rho, I, H, A = full(3, 2, 3), 1000, 3.0, 1, 3, 2
    dual_step = H * np.sqrt(I * K) / rho
    primal_step = np.sqrt(2 * np.log(A) / K) / (H * (1 + I * rho))
    error = bounds_of("OptCMDP-bonus", cmdp, K, 0.1)[0] * np.sqrt(share)
    mirror = H * (np.log(A) / primal_step + primal_step * share * K * (H * (1 + I * rho)) ** 2 / 2)

    def bounded(length):
        dual = dual_step * length**2 / 2 + I * H**2 * share * K / (2 * dual_step)
        return error * (1 + np.sqrt(I) * length) + mirror + dual

    found = np.sqrt(share) * np.array(early_bounds("OptPrimalDual", cmdp, K, 0.1, rho))
    assert (found <= np.array([bounded(0.0), bounded(rho) / (rho / 2)]) * (1 + 1e-12)).all()
    # the whole bound times the root would be above, where the term of the multipliers is large
    sizes = full(3, 2, 3), K, 0.1, 1e6
    whole, early = (f("OptDual", *sizes)[0] for f in (bounds_of, early_bounds))
    assert whole - early == pytest.approx(1e6 / 2 * 3 * np.sqrt(K))


def test_orders_are_there_for_every_bound_and_quantity():
    assert set(ORDERS) == set(PROMISED)
    assert all(len(row) == len(SIZES) for rows in ORDERS.values() for row in rows)


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 50), (49, 50)])
def test_the_upper_limit_is_the_probability_at_which_so_few_are_rare(count, n):
    assert binom.cdf(count, n, upper_limit(count, n)) == pytest.approx(0.05)


def test_nothing_limits_a_probability_when_all_failed():
    assert upper_limit(7, 7) == 1.0


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    found = Experiment(tmp_path_factory.mktemp("runs"))
    found.add("ring", ["OptCMDP", "OptDual"], episodes=100, seeds=2)
    found.add("ring", ["OptDual"], episodes=100, seeds=1, rho=0.1)  # below 2 |lambda*|
    found.run(engine="here", progress=False)
    return collect(found, found.specs(), "growth")


def test_bounds_are_compared_at_every_recorded_episode(records):
    # 100 episodes are too few for a bound of tens of thousands to be below 3 per episode
    words = (
        "in 4 runs the bound with its constants was {} at any recorded episode (only 0 of the runs"
    )
    assert not_exceeded(cells_of(records)).startswith(words.format("never exceeded"))
    changed = next(each for each in records if each.spec.algorithm == "OptCMDP")
    changed.table["peak_cost_plus"] *= 1e6
    assert not_exceeded(cells_of(records)).startswith(words.format("exceeded in 1 of them"))
    assert not_exceeded([]) == ""


def test_runs_that_are_long_enough_to_exceed_a_bound_are_counted(records, monkeypatch):
    monkeypatch.setattr("growth.early_bounds", lambda *_: (299.0, 301.0))  # H K = 300
    assert "only 4 of the runs" in not_exceeded(cells_of(records))


def test_a_small_rho_breaks_the_theorem_on_the_constraints_only(records):
    found = {(c.algorithm, c.n_seeds): c for c in cells_of(records)}
    small, usual = found["OptDual", 1], found["OptDual", 2]
    assert [has_theorem(small, kind) for kind in ("cost", "constraint")] == [True, False]
    assert has_theorem(usual, "constraint")


def test_powers_over_instances_have_their_exponents():
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 8, size=(500, 8))
    sizes = np.tile([2.0, 4.0, 8.0], (8, 1))
    level = rng.uniform(1.0, 3.0, size=(8, 1))
    # instances are resampled together at all sizes, so that their levels do not matter
    assert np.allclose(slope_over(sizes, level * sizes**1.5, drawn), 1.5)
    noisy = sizes**0.5 * rng.uniform(0.5, 1.5, size=sizes.shape)
    middle, low, high = slope_over(sizes, noisy, drawn)
    assert low < middle < high
    x, y = np.log(sizes[0]), np.log(np.sort(noisy, axis=0)[2:6].mean(axis=0))
    assert middle == pytest.approx(np.polyfit(x, y, 1)[0])
    assert np.isnan(slope_over(sizes, noisy - 10.0, drawn)).all()


def test_spreads_between_and_within_instances_are_those_of_their_draws():
    rng = np.random.default_rng(0)
    groups = [10 + 2 * rng.normal() + rng.normal(size=3) for _ in range(20_000)]
    assert spreads(groups) == pytest.approx((0.2, 0.1), rel=0.03)
    assert spreads([np.array([1.0, 3.0]), np.array([2.0, 2.0])])[0] == 0.0


def test_the_best_are_those_within_ten_percent_of_the_least():
    assert _best({"a": 2.1, "b": 2.0, "c": 2.3}) == ["b", "a"]
    assert _best({"a": 0.0, "b": 1e-9, "c": 0.1}) == ["a", "b"]
    assert _best({}) == []


def test_a_mean_over_problems_leaves_no_problem_out():
    rng = np.random.default_rng(0)
    # the outer quarter of each problem is trimmed, not the problem with large values
    problems = [np.array([0.0, 1.0, 3.0, 50.0]), np.array([100.0, 101.0, 103.0, 900.0])]
    middle, low, high = over_problems(problems, rng)
    assert middle == (2.0 + 102.0) / 2
    assert low < middle < high
    assert np.isnan(over_problems([each[:1] for each in problems], rng).low)


def test_the_front_page_gets_the_table_of_experiments():
    section = Section("Time")
    section.answer("fast")
    section.answer("cheap")
    before = f"a\n{TABLE_FROM}\nold\n{TABLE_TO}\nb\n"
    after = with_table(before, {"speed": [section]})
    assert after.startswith(f"a\n{TABLE_FROM}\n\n| experiment ")
    assert after.endswith(f" |\n\n{TABLE_TO}\nb\n")
    lines = after.splitlines()[3:6]
    assert lines[2] == "| time of an episode | fast; cheap |"
    assert len({len(line) for line in lines}) == 1
    assert with_table(after, {"speed": [section]}) == after


def test_tables_and_intervals_are_markdown():
    table = rows_of(["a", "b"], [["x", "1"]])
    assert table == "| a | b |\n| --- | ---: |\n| x | 1 |"
    assert rows_of(["a", "b", "c"], [], n_last=1).endswith("| --- | ---: | --- |")
    assert span([0.5, 0.25]) == "0.25 to 0.50"
    assert span([0.5, 0.501]) == "0.50"
    assert signed(-0.25) == "\N{MINUS SIGN}0.250"
    assert about(348_123.0) == "350,000"
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
    level = {1: 0.5, 2: 1.5, 3: 1.0}
    ends = [{seed: a * np.sqrt(K) for seed, a in level.items()} for K in episodes]
    # a seed is drawn with its runs of every K, so that its level does not matter
    assert np.allclose(ladder_slope(episodes, ends, rng), 0.5)
    draws = rng.uniform(0.5, 1.5, size=(3, 3))
    noisy = [{s: draws[k, s - 1] * each[s] for s in each} for k, each in enumerate(ends)]
    middle, low, high = ladder_slope(episodes, noisy, rng)
    means = [np.mean(list(each.values())) for each in noisy]
    assert middle == pytest.approx(np.polyfit(np.log(episodes), np.log(means), 1)[0])
    assert low < middle < high
    negative = [{seed: -value for seed, value in each.items()} for each in ends]
    assert np.isnan(ladder_slope(episodes, negative, rng)).all()
    assert np.isnan(ladder_slope([100], ends[:1], rng)).all()


def test_a_ladder_may_have_fewer_seeds_at_its_largest_k():
    rng = np.random.default_rng(0)
    episodes = [100, 1_000, 10_000]
    ends = [{seed: np.sqrt(K) for seed in range(1, 21)} for K in episodes]
    ends[-1] = {seed: 2 * ends[-1][seed] for seed in range(1, 6)}
    # every draw has five runs at the largest K
    assert np.allclose(ladder_slope(episodes, ends, rng), 0.5 + np.log10(2) / 2)


def test_a_sine_oscillates_by_its_quantiles_with_its_period():
    episode = np.arange(0, 100_000, 50)
    values = 3.0 + 0.6 * np.sin(2 * np.pi * episode / 15_000)
    # a sine is below its 95 % quantile sin(0.45 pi) for 95 % of a period
    assert swing_of(values) == pytest.approx(1.2 * np.sin(0.45 * np.pi), rel=0.02)
    assert period_of(episode, values) == pytest.approx(15_000, rel=0.01)


def test_what_turns_faster_than_it_was_recorded_has_no_period():
    episode = np.arange(0, 10_000, 100)
    assert np.isnan(period_of(episode, np.where(np.arange(100) % 4 < 2, 1.0, -1.0)))
    assert np.isnan(period_of(episode, np.zeros(100)))
    # but one of two episodes is known where every episode is recorded
    assert period_of(np.arange(100), np.where(np.arange(100) % 2, 1.0, -1.0)) == 2.0
    assert np.isnan(period_of(episode, np.arange(100.0)))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1.5e-6, "1.5 \u00b5s"),
        (9.994e-4, "999 \u00b5s"),
        (0.00773, "7.73 ms"),
        (2.5, "2.5 s"),
        (137.0, "2.28 min"),
        (9e3, "2.5 h"),
    ],
)
def test_times_are_shown_in_a_suitable_unit(seconds, said):
    assert duration(seconds) == said


def test_a_ladder_of_instances_leaves_out_what_has_not_been_run_for_all():
    cell = object()
    full = {1: cell, 2: cell}
    found = {
        ("OptDual", True, 100): full,
        ("OptDual", False, 100): full,
        ("OptDual", True, 300): full,
        ("OptDual", False, 300): {1: cell},
    }
    assert set(whole_ladder(found, [1, 2])) == {("OptDual", True, 100), ("OptDual", False, 100)}
