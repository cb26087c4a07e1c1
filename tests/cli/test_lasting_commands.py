"""Commands on models without a horizon."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.app import app


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("name", ["replacement", "admission"])
def test_solve_frontier_and_check_take_models_without_a_horizon(name, tmp_path):
    model, picture = tmp_path / "model.toml", tmp_path / "plan.png"
    tr.envs.build(name).save(model)
    plan = tr.solve(name)
    for word in (name, model):
        result = invoke("solve", word, "--json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["value"] == pytest.approx(plan.value)
    assert invoke("solve", model, "--figure", picture).exit_code == 0
    assert picture.exists()
    assert invoke("frontier", name, "--constraint", "0").exit_code == 0
    assert invoke("check", model).exit_code == 0
    assert invoke("envs", name).exit_code == 0


def test_learning_needs_a_horizon():
    result = invoke("learn", "admission", "--algorithm", "OptCMDP", "--episodes", "5")
    assert isinstance(result.exception, tr.TightropeError)
