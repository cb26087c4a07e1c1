"""What a report is told of a study, against the records."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from studies import finished, silent
from tightrope.errors import StoreError
from tightrope.experiments.engines import Here
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.storage import read_columns
from tightrope.experiments.summary import thin
from tightrope.files import unpacked


def test_findings_are_the_records_in_shown_units(queue):
    study, found = queue
    (chapter,) = found.chapters
    scale = chapter.cmdp.units.sizes
    for group in chapter.groups:
        for k, seed in enumerate(group.seeds):
            (spec,) = (
                s
                for s in study.specs()
                if s.seed == seed
                and {k: v for k, v in s.to_table().items() if k != "seed"} == group.spec
            )
            column = read_columns(
                study.folder(spec).record,
                ["episode", "cost_regret_plus", "constraint_regret", "violations"],
            )
            column = {name: values.reshape(-1, 2) for name, values in column.items()}
            places = np.searchsorted(column["episode"][:, 0], group.episode)
            column = {name: values[places] for name, values in column.items()}
            np.testing.assert_array_equal(group.episode, column["episode"][:, 0])
            cost = column["cost_regret_plus"][:, 0] * abs(chapter.cmdp.cost_unit.factor)
            np.testing.assert_allclose(group.regret["cost_plus"][k], cost)
            largest = (column["constraint_regret"] * scale).max(axis=1)
            np.testing.assert_allclose(group.regret["constraint"][k], largest)
            np.testing.assert_array_equal(group.violations[k], column["violations"][:, 0])
            about, arrays = unpacked(study.folder(spec).result.read_bytes())
            np.testing.assert_allclose(group.worst[k], arrays["worst_violation"] * scale)
            assert group.seconds[k] == about["seconds"]


def test_groups_that_share_a_learner_are_labeled_by_what_differs(queue):
    names = [group.name for group in queue[1].chapters[0].groups]
    assert len(set(names)) == 4
    assert [name.split(",")[0] for name in names] == ["OptDual", "OptDual", "uniform", "uniform"]
    assert names[:2] == ["OptDual, faithful", "OptDual, tight, scale=0.1"]


def test_problems_that_share_an_environment_are_labeled_by_what_differs(tmp_path):
    study = finished(
        tmp_path,
        environment="ring",
        algorithm="uniform",
        episodes=[5, 6],
        delta=[0.1, 0.2],
        seeds=1,
    )
    names = [chapter.name for chapter in study.findings(silent).chapters]
    assert names == [
        f"ring, {episodes} episodes, delta {delta}" for episodes in (5, 6) for delta in (0.1, 0.2)
    ]


def test_the_mean_plan_has_the_mean_values_of_the_last_policies(findings):
    for chapter in findings.chapters:
        for group in chapter.groups:
            again = tr.evaluate(chapter.cmdp, group.plan.policy)
            assert again.value == pytest.approx(group.plan.value)
            np.testing.assert_allclose(again.constraint_value, group.plan.constraint_value)
            worse = -1 if chapter.cmdp.cost_unit.is_maximized else 1
            lost = worse * (group.plan.value - chapter.optimum.value)
            assert lost == pytest.approx(group.last_excess[:, 0].mean(), abs=1e-7)


def test_a_corrupt_record_or_result_is_named(tmp_path):
    study = finished(tmp_path, environment="ring", algorithm="uniform", episodes=5, seeds=2)
    folder = study.folder(study.specs()[1])
    whole = folder.record.read_bytes()
    folder.record.write_bytes(whole[:100])
    with refuses(StoreError, "remove it and resume", argument=str(folder.record)):
        study.findings(silent)
    folder.record.unlink()
    finish_runs(study, Here())
    assert folder.record.read_bytes() == whole
    folder.result.write_bytes(folder.result.read_bytes()[:50])
    with refuses(StoreError, "corrupt.* them again", argument=str(folder.result)):
        study.findings(silent)


def test_a_record_of_another_run_is_refused(tmp_path):
    study = finished(tmp_path, environment="ring", algorithm="uniform", episodes=5, seeds=2)
    first, second = (study.folder(spec) for spec in study.specs())
    second.record.write_bytes(first.record.read_bytes())
    second.result.write_bytes(first.result.read_bytes())
    with pytest.raises(StoreError, match="is of another run"):
        study.findings(silent)


def test_versions_of_all_runs_are_shown(findings):
    ((versions, count),) = findings.versions
    assert count == findings.n_finished == 24
    assert versions["tightrope"] == tr.__version__


def test_thinning_keeps_both_ends_and_as_many_points_in_each_tenfold():
    episode = np.unique(np.geomspace(1, 1e6, 2000).astype(int))
    places = thin(episode)
    assert (places[0], places[-1]) == (0, len(episode) - 1)
    assert (np.diff(places) > 0).all()
    for decade in (1e3, 1e4, 1e5):
        kept = episode[places]
        assert 38 <= np.sum((kept >= decade) & (kept < 10 * decade)) <= 42
    np.testing.assert_array_equal(thin(np.arange(1, 5)), np.arange(4))
    np.testing.assert_array_equal(thin(np.array([1])), [0])
