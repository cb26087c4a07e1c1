"""Commands on infinite-horizon models."""

from __future__ import annotations

import json

import pytest
from shop import data, said
from typer.testing import CliRunner

import tightrope as tr
from storm import by_storm
from tightrope.cli.app import app, status


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


@pytest.mark.parametrize("kind", ["npz", "toml"])
@pytest.mark.parametrize("name", ["replacement", "admission", "service-level", "patrol"])
def test_models_without_a_horizon_are_converted(name, kind, tmp_path):
    file = str(tmp_path / f"copy.{kind}")
    assert f"written: {file}" in said("convert", name, file)
    assert data("solve", file)["value"] == pytest.approx(data("solve", name)["value"])


def test_a_file_of_storm_is_solved_with_averages_and_gets_its_query(tmp_path):
    file = str(tmp_path / "admission.drn")
    query = data("convert", "admission", file)["query"]
    assert query.startswith('multi(R{"cost_of_service"}min=? [LRA], R{"jobs"}<=2 [LRA]')
    ours = data("solve", "admission")["value"]
    assert by_storm(file, query, "1/1000000") == pytest.approx(ours, abs=1e-4)
    words = ["--average", "--cost", "cost_of_service"]
    words += ["--budget", "jobs=2", "--budget", "lost_jobs=0.05"]
    assert data("solve", file, *words)["value"] == pytest.approx(ours)
    assert data("check", file, *words)["usable"]
    again = str(tmp_path / "again.toml")
    said("convert", file, again, *words)
    assert isinstance(tr.AverageCMDP.load(again), tr.AverageCMDP)


def test_a_file_of_storm_is_solved_with_a_discount(tmp_path):
    file = str(tmp_path / "machine.drn")
    assert data("convert", "replacement", file)["query"] is None, "Storm has no such budgets"
    words = ["--discount", "0.95", "--cost", "money", "--budget", "failures=1"]
    ours = data("solve", "replacement")["value"]
    assert data("solve", file, *words)["value"] == pytest.approx(ours)
    words[:2] = ["--set", "discount=0.95"]
    assert data("frontier", file, *words)["now"]["value"] == pytest.approx(ours)
    free = tr.DiscountedCMDP([[[1.0]]], [[0.5]], discount=0.9)
    free.save(tmp_path / "free.npz")
    query = data("convert", str(tmp_path / "free.npz"), file)["query"]
    assert by_storm(file, query) == pytest.approx(5.0, abs=1e-5)


def test_a_discount_is_a_parameter_of_the_catalog_and_of_gymnasium():
    found = data("solve", "replacement", "--discount", "0.9", "--budget", "2")
    model = tr.envs.build("replacement", discount=0.9).with_budget([2.0])
    assert found["value"] == pytest.approx(tr.solve(model).value)
    words = ["gym:FrozenLake-v1", "--discount", "0.9", "--budget", "holes=0.01"]
    lake, _ = tr.from_gymnasium("FrozenLake-v1", discount=0.9, budget={"holes": 0.01})
    assert data("solve", *words)["value"] == pytest.approx(tr.solve(lake).value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "solve admission --average",
            "--average: only for .drn files and gym:ID; admission determines",
        ),
        ("solve admission --discount 0.9", "parameter 'discount' of admission is unknown"),
        ("solve MODEL --discount 0.9", "--discount: MODEL is a file; only environments of the"),
        ("solve DRN --average --horizon 3", "expected one of --horizon, --discount and --average"),
        (
            "solve DRN",
            "give the steps of an episode, as in --horizon 20, or --discount 0.9, or --average",
        ),
        ("solve DRN --discount 2 --cost money", "discount: 2.0, expected a number in (0, 1)"),
        ("convert admission x.drn --unroll", "unroll: True, but the model has no horizon"),
        ("learn admission --average", "No such option: --average"),
        ("learn DRN --set discount=0.9 --cost money", "expected a model with a horizon"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    tr.envs.build("replacement").save("model.toml")
    tr.write_drn("replacement", "model.drn")
    known = {"MODEL": "model.toml", "DRN": "model.drn"}
    assert status([known.get(word, word) for word in words.split()]) == 2
    caught = capsys.readouterr()
    assert (caught.out, caught.err.count("\n")) == ("", 1)
    assert message.replace("MODEL", "model.toml") in caught.err


@pytest.mark.parametrize(
    ("name", "measure", "visits"),
    [
        ("replacement", "least expected discounted money", "discounted visits"),
        ("service-level", "greatest average profit without sales", "share of time"),
    ],
)
def test_the_output_has_no_stages_and_says_what_visits_are(name, measure, visits, tmp_path):
    table = tmp_path / "plan.csv"
    said("solve", name, "--save", str(table))
    text = said("solve", name)
    assert f"{name}: {measure} " in text
    assert text.count(visits) == 2  # where the policy randomizes, and in the policy itself
    assert "stage" not in text
    assert "places" not in text
    assert table.read_text().startswith("state,action,probability,visits\n")
    found = data("solve", name)
    plan = tr.solve(name)
    assert "stage" not in found["policy"][0]
    total = sum(row["visits"] for row in found["policy"])
    assert total == pytest.approx(plan.occupancy.sum())
    (place,) = found["randomized"]
    assert "stage" not in place
    s = tr.envs.build(name).state_names.index(place["state"])
    assert place["visits"] == pytest.approx(plan.occupancy[s].sum())


def test_a_frontier_says_how_costs_add_up():
    text = said("frontier", "replacement")
    assert "least expected discounted money against the budget of 'failures'" in text


def test_a_map_without_a_horizon_has_no_stage_to_draw(capsys):
    assert status(["solve", "patrol", "--stage", "0"]) == 2
    assert "--stage: 0, but the model" in capsys.readouterr().err
