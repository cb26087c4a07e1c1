"""Plans as files."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from tightrope.cli.app import status
from tightrope.envs import build


@pytest.fixture(scope="module")
def plan():
    return tr.solve(build("queue"), tolerance=1e-10)


def test_a_saved_plan_is_loaded_as_it_was(plan, tmp_path):
    plan.save(tmp_path / "plan.npz")
    found = tr.Plan.load(tmp_path / "plan.npz")
    for name in ("policy", "occupancy", "constraint_value", "multiplier", "saving"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plan, name))
    assert (found.value, found.gap, found.method) == (plan.value, plan.gap, "file")


def test_the_file_is_that_of_the_command(plan, tmp_path):
    plan.save(str(tmp_path / "a.npz"))
    assert status(["solve", "queue", "--save", str(tmp_path / "b.npz")]) == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as a:
        assert list(a["constraint_names"]) == ["refused jobs", "energy"]
        np.testing.assert_array_equal(a["budget"], build("queue").budget)


def test_a_plan_without_its_model_has_no_names(plan, tmp_path):
    plan.save(tmp_path / "a.npz")
    tr.Plan.load(tmp_path / "a.npz").save(tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as file:
        assert file["state_names"].size == 0
        assert np.isnan(file["budget"]).all()


def test_what_is_no_plan_is_refused(plan, tmp_path):
    with pytest.raises(tr.ModelError, match=r"a plan is saved as \.npz"):
        plan.save(tmp_path / "plan.txt")
    with pytest.raises(tr.StoreError, match="cannot be read: No such file"):
        tr.Plan.load(tmp_path / "plan.npz")
    np.savez(tmp_path / "other.npz", policy=plan.policy)
    with pytest.raises(tr.StoreError, match="not a plan"):
        tr.Plan.load(tmp_path / "other.npz")
    plan.save(tmp_path / "plan.json")
    with pytest.raises(tr.StoreError, match=r"loaded from \.npz files only"):
        tr.Plan.load(tmp_path / "plan.json")
    plan.save(tmp_path / "plan.npz")
    with np.load(tmp_path / "plan.npz") as file:
        arrays = dict(file)
    for change in (
        {"occupancy": plan.occupancy[:1]},
        {"saving": np.zeros(5)},
        {"value": np.array("much")},
        {"policy": plan.policy[0]},
        {"policy": np.array(1.0)},
    ):
        np.savez(tmp_path / "plan.npz", **(arrays | change))
        with pytest.raises(tr.StoreError, match=next(iter(change)) + "|occupancy"):
            tr.Plan.load(tmp_path / "plan.npz")


def test_a_file_of_another_kind_is_named(tmp_path):
    cmdp = tr.envs.build("ring")
    run = tr.learn(cmdp, "OptCMDP", episodes=20)
    learner = tr.learner("OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1], episodes=9)
    written = {"model": cmdp, "plan": tr.solve(cmdp), "run": run, "learner": learner}
    loaders = {"model": tr.CMDP, "plan": tr.Plan, "run": tr.Run, "learner": tr.InteractiveLearner}
    for kind, result in written.items():
        path = tmp_path / f"{kind}.npz"
        result.save(path)
        for other, loader in loaders.items():
            if other == kind:
                loader.load(path)
                continue
            with pytest.raises(tr.TightropeError) as caught:
                loader.load(path)
            assert (caught.value.argument, caught.value.found) == (str(path), f"a {kind}")
            assert str(caught.value.expected).startswith(f"a {other} as ")
            assert str(path) in str(caught.value)
