"""The record of realized sums: its bands, by hand and by simulation, and its files."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from small_envs import bridge

import tightrope as tr
from refusals import refuses
from tightrope.belief.intervals import TILTS, average_band
from tightrope.errors import ConfigError, ModelError, StoreError

RUN = np.array([[[0.5, 0.5], [0.5, 0.5]]] * 2)


@pytest.fixture
def record():
    return tr.rehearse(
        bridge(), RUN, budget=1.0, episodes=60, reward_range=(0, 10), cost_range=(0, 5), delta=0.2
    )


def test_a_band_shares_its_chance_to_miss_among_the_quantities(record):
    mean, radius = average_band(record.totals[:, 1], 0.0, 10.0, 0.1)
    band = record.band("cost")
    np.testing.assert_allclose(band.mean, mean)
    np.testing.assert_allclose(band.high, np.minimum(mean + radius, 10.0))
    np.testing.assert_allclose(band.low, np.maximum(mean - radius, 0.0))


def test_a_band_may_begin_late(record):
    late, again = record.band("reward", last=10), record.band("reward", last=600)
    assert late.mean.shape == (10,)
    np.testing.assert_allclose(late.mean[-1], record.totals[-10:, 0].mean())
    np.testing.assert_allclose(again.mean, record.band("reward").mean)
    assert (record.band("reward", delta=0.01).high >= record.band("reward").high).all()


def test_bands_refuse_by_name(record):
    with refuses(ModelError, "there are reward, cost", argument="name", found="costs"):
        record.band("costs")
    with refuses(ConfigError, argument="last", found=0, expected="a whole number of at least 1"):
        record.band("cost", last=0)
    with refuses(ConfigError, argument="delta", found=1.5, expected="a number in (0, 1)"):
        record.band("cost", delta=1.5)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_read_is_what_was_written(record, tmp_path, kind):
    path = tmp_path / f"episodes.{kind}"
    record.save(path)
    read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.parquet.read_table
    table = read(path)
    assert table.column_names[:5] == ["algorithm", "seed", "episode", "steps", "is_feasible"]
    np.testing.assert_allclose(table["reward"].to_numpy(), record.totals[:, 0])
    np.testing.assert_allclose(table["cost"].to_numpy(), record.totals[:, 1])
    assert table["episode"].to_pylist() == list(range(1, 61))


def test_other_files_and_folders_that_are_not_there_are_refused(record, tmp_path):
    with pytest.raises(ModelError, match=r"ends in \.csv or \.parquet"):
        record.save(tmp_path / "episodes.txt")
    with pytest.raises(StoreError, match="cannot be written"):
        record.save(tmp_path / "nowhere" / "episodes.csv")


def test_the_radius_is_the_formula():
    values, delta = np.array([1.0, 0.0, 1.0, 1.0]), 0.1
    mean, radius = average_band(values, 0.0, 1.0, delta)
    np.testing.assert_allclose(mean, [1.0, 0.5, 2 / 3, 0.75])
    # guesses 1/2, 1, 1/2, 2/3 leave 1/4 + 1 + 1/4 + 1/9
    spread = 0.25 + 1.0 + 0.25 + 1 / 9
    by_hand = min(
        (np.log(2 * len(TILTS) / delta) + (-np.log(1 - t) - t) * spread) / (4 * t) for t in TILTS
    )
    np.testing.assert_allclose(radius[-1], by_hand)


def test_bands_move_with_the_units():
    values = np.random.default_rng(0).random(50)
    mean, radius = average_band(values, 0.0, 1.0, 0.1)
    other_mean, other_radius = average_band(-100 + 30 * values, -100.0, -70.0, 0.1)
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
        mean, radius = average_band(seen, 0.0, 1.0, 0.1)
        true = np.cumsum(expected) / np.arange(1, K + 1)
        misses += bool((np.abs(mean - true) > radius).any())
    assert misses <= 60


def test_little_spread_makes_bands_far_narrower_than_the_range_alone():
    # Hoeffding's radius is sqrt(log(2/delta)/(2 n)); rare events need much less
    n, delta = 5000, 0.1
    rare = (np.random.default_rng(2).random(n) < 0.01).astype(float)
    _, radius = average_band(rare, 0.0, 1.0, delta)
    assert radius[-1] < 0.45 * np.sqrt(np.log(2 / delta) / (2 * n))
