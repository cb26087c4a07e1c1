"""The record of realised sums: its bands, and its files."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from small_envs import bridge

import tightrope as tr
from tightrope.errors import ModelError, StoreError
from tightrope.interop.gym.realised import mean_and_radius

RUN = np.array([[[0.5, 0.5], [0.5, 0.5]]] * 2)


@pytest.fixture
def record():
    return tr.rehearse(
        bridge(), RUN, budget=1.0, episodes=60, reward_range=(0, 10), cost_range=(0, 5), delta=0.2
    )


def test_a_band_shares_its_chance_to_miss_among_the_quantities(record):
    mean, radius = mean_and_radius(record.totals[:, 1], 0.0, 10.0, 0.1)
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
    with pytest.raises(ModelError, match="'costs' is unknown; there are reward, cost"):
        record.band("costs")
    with pytest.raises(ModelError, match="last: 0"):
        record.band("cost", last=0)
    with pytest.raises(ModelError, match=r"delta: 1\.5"):
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
    with pytest.raises(ModelError, match=r"kept as \.csv or \.parquet"):
        record.save(tmp_path / "episodes.txt")
    with pytest.raises(StoreError, match="cannot be written"):
        record.save(tmp_path / "nowhere" / "episodes.csv")
