"""Compact records: what they keep, that they cannot be changed unnoticed, and that runs repeat."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from cancellation import Trace
from records import (
    KINDS,
    SUMS,
    cells_of,
    collect,
    digest_of,
    kept,
    model_and_plan,
    read_records,
    turns_of,
    write_records,
)
from tightrope.errors import StoreError
from tightrope.experiments.experiment import Experiment


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    found = Experiment(tmp_path_factory.mktemp("runs"))
    found.add("ring", ["OptDual", "uniform"], episodes=200, seeds=3, average=True)
    found.run(engine="here", progress=False)
    return found


@pytest.fixture
def records(experiment):
    return collect(experiment, experiment.specs(), "dope")


def ids_of(records):
    return {each.table["run"] for each in records}


def test_records_hold_the_regrets_of_the_runs(experiment, records):
    for record, stored in zip(records, experiment.runs(), strict=True):
        run = stored.load()
        assert record.spec == stored.spec
        assert record.table["digest"] == digest_of(run)
        for kind in KINDS:
            curve = np.asarray(run.regret[kind]).reshape(200, -1).max(axis=1)
            assert record.table[f"end_{kind}"] == curve[-1]
            peak = max(curve[k] / np.sqrt(k + 1) for k in range(200))
            assert record.table[f"peak_{kind}"] == pytest.approx(peak, abs=1e-12)
            assert record.at(kind, 100) == pytest.approx(curve[99], rel=1e-6)
        assert record.table["worst"] == run.worst_violation.max()
        assert record.table["cpu_seconds"] > 0
        assert len(record.table["processor"]) > 0


def test_the_average_policy_of_uniform_play_is_uniform_play(records):
    uniform = next(r for r in records if r.spec.algorithm == "uniform")
    for name in ("cost", "constraint"):
        excess = np.diff(uniform.curve(name)) / np.diff(uniform.episode)
        np.testing.assert_allclose(uniform.table[f"average_{name}"], excess, rtol=1e-4)
    cmdp, plan = model_and_plan(uniform.spec)
    assert plan.value == pytest.approx(2.0)
    assert cmdp.n_states == 3


def test_records_of_several_sessions_add_up_and_replace_each_other(tmp_path, records):
    write_records(tmp_path, "part", records[:2], ids_of(records))
    write_records(tmp_path, "part", records[1:], ids_of(records))
    ((part, found),) = read_records(tmp_path, ["other", "part"])
    assert part == "part"
    assert ids_of(found) == ids_of(records)
    assert len(found) == len(records)
    by_run = {each.table["run"]: each for each in records}
    for each in found:
        mine = by_run[each.table["run"]].table
        assert each.table["end_cost"] == mine["end_cost"]
        assert each.table["episode"] == mine["episode"]
        np.testing.assert_allclose(each.table["cost"], mine["cost"], rtol=1e-6)


def test_records_of_runs_that_are_no_longer_listed_are_dropped(tmp_path, records):
    write_records(tmp_path, "part", records, ids_of(records))
    write_records(tmp_path, "part", records[:1], ids_of(records[:2]))
    ((_, found),) = read_records(tmp_path, ["part"])
    assert ids_of(found) == ids_of(records[:2])


def test_runs_that_differ_in_their_seed_are_one_cell(records):
    cells = cells_of(reversed(records))
    assert sorted(cell.algorithm for cell in cells) == ["OptDual", "uniform"]
    for cell in cells:
        assert [each.table["seed"] for each in cell.records] == [1, 2, 3]
        assert cell.curves("cost").shape == (3, len(cell.episode))


def test_a_changed_file_is_refused(tmp_path, records):
    write_records(tmp_path, "part", records, ids_of(records))
    path = tmp_path / "part.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError, match=f"does not fit {SUMS}"):
        list(read_records(tmp_path, ["part"]))


def test_parts_whose_figures_show_no_curves_keep_numbers_only(experiment, tmp_path):
    found = collect(experiment, experiment.specs(), "league")
    assert not {"episode", *KINDS} & set(found[0].table)
    write_records(tmp_path, "league", found, ids_of(found))
    ((_, again),) = read_records(tmp_path, ["league"])
    for cell in cells_of(again):
        mine = [run.load() for run in experiment.runs() if run.spec.algorithm == cell.algorithm]
        assert cell.share == pytest.approx(np.mean([run.violations[-1] / 200 for run in mine]))


def test_single_runs_keep_their_last_quarter_and_how_often_prices_turn(tmp_path):
    found = Experiment(tmp_path)
    found.add("ring", ["OptDual"], episodes=400, seeds=1, confidence="tight")
    found.run(engine="here", progress=False)
    (record,) = collect(found, found.specs(), "oscillation")
    run = found.runs()[0].load()
    np.testing.assert_array_equal(record.episode[record.episode >= 300], np.arange(300, 401))
    price = run.multiplier[run.episode >= 40, 0]
    assert record.table["turns"] == turns_of(price) > 0
    assert record.table["late_constraint"] == pytest.approx(run.excess[40:, 1].mean())
    trace = Trace.of(record)
    assert trace.is_whole
    assert trace.price == pytest.approx(float(tr.solve("ring").multiplier[0]))
    np.testing.assert_allclose(trace.constraint, run.excess[299:, 1], rtol=1e-6)


def test_turns_of_a_multiplier_are_counted_without_its_flat_parts():
    assert turns_of(np.array([0.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0])) == 2
    assert turns_of(np.array([0.0, 0.0, 0.0])) == 0


def test_kept_episodes_have_the_powers_of_ten_and_both_ends():
    episode = np.arange(1, 2001)
    found = episode[kept(episode, 3)]
    assert {1, 10, 100, 1000, 2000} <= set(found)
    assert len(found) < 40
    assert list(kept(np.array([1]), 3)) == [0]


def test_the_digest_is_of_the_numbers(experiment):
    first, second = (stored.load() for stored in experiment.runs()[:2])
    assert digest_of(first) != digest_of(second)
    again = Experiment(experiment.path).runs()[0].load()
    assert digest_of(again) == digest_of(first)
