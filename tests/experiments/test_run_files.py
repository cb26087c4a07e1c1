"""Runs as files and as tables."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope.envs import build
from tightrope.experiments.run_files import load_run, run_table, save_run
from tightrope.files import packed, unpacked


@pytest.fixture(scope="module")
def run():
    return tr.learn(build("queue"), "OptDual", 30, seed=3, confidence={"scale": 0.5})


def test_a_saved_run_is_loaded_as_it_was(run, tmp_path):
    save_run(run, tmp_path / "run.npz")
    found = load_run(tmp_path / "run.npz")
    assert repr(found) == repr(run)
    names = ("learner", "seed", "delta", "confidence", "rho_rule", "seconds", "constraint_names")
    for name in names:
        assert getattr(found, name) == getattr(run, name)
    for name in ("episode", "excess", "multiplier", "violations", "worst_violation", "policy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name))
        assert getattr(found, name).dtype == getattr(run, name).dtype
    for kind, curve in run.regret.items():
        np.testing.assert_array_equal(found.regret[kind], curve)
    assert found.audit.bad_episodes == run.audit.bad_episodes
    np.testing.assert_array_equal(found.audit.multiplier_range, run.audit.multiplier_range)


def test_a_run_of_an_older_format_has_the_names_and_prices_of_a_new_one(run, tmp_path):
    save_run(run, tmp_path / "run.npz")
    about, arrays = unpacked((tmp_path / "run.npz").read_bytes())
    del about["run"]["constraint_names"]
    inside = arrays["audit.multiplier_range"] / run.units.show_prices(np.ones(2))
    old = {**about, "format": "tightrope-run 2"}
    (tmp_path / "old.npz").write_bytes(packed(old, {**arrays, "audit.multiplier_range": inside}))
    found = load_run(tmp_path / "old.npz")
    np.testing.assert_allclose(found.audit.multiplier_range, run.audit.multiplier_range)
    assert found.constraint_names == ("constraint 0", "constraint 1")


def test_what_is_no_run_is_refused(run, tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(tr.ConfigError, match=r"a run is saved as \.npz"):
        save_run(run, tmp_path / "run.csv")
    with refuses(tr.StoreError, "No such file", argument=str(path)):
        load_run(path)
    save_run(run, path)
    whole = path.read_bytes()
    about, arrays = unpacked(whole)
    for broken in (
        whole[:-100],
        packed({**about, "format": "other"}, arrays),
        packed({**about, "run": 3}, arrays),
        packed(about, {name: array for name, array in arrays.items() if name != "policy"}),
        packed(about, {**arrays, "confidence.color": arrays["policy"]}),
    ):
        path.write_bytes(broken)
        with pytest.raises(tr.StoreError, match="cannot be read as a run"):
            load_run(path)


def test_a_table_has_a_row_for_each_episode_and_constraint(run):
    table = run_table(run)
    assert table.num_rows == 60
    assert table["constraint"].to_pylist()[:2] == ["refused jobs", "energy"]
    assert set(table["algorithm"].to_pylist()) == {"OptDual"}
    regret = np.array(table["constraint_regret"]).reshape(30, 2)
    np.testing.assert_array_equal(regret, run.regret["constraint"])
