"""``tightrope convert`` and models of Storm on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from shop import data, said, shop_at

import tightrope as tr
from storm import by_storm
from tightrope.cli.app import status


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ring", []),
        ("ring", ["--unroll"]),
        ("queue", []),
        ("inventory", []),
        ("marsrover", []),
        ("grid", []),
    ],
)
def test_storm_answers_the_question_it_is_given_as_we_do(tmp_path, name, options):
    path = tmp_path / "model.drn"
    query = data("convert", name, str(path), *options)["query"]
    ours = data("solve", name)["value"]
    # Storm's precision, relative to what it adds up
    assert by_storm(path, query, "1/1000000") == pytest.approx(ours, rel=1e-4, abs=1e-4)


def test_a_model_goes_through_every_kind_of_file(tmp_path):
    shop = shop_at(tmp_path)
    drn, npz, toml = (str(tmp_path / f"copy.{kind}") for kind in ("drn", "npz", "toml"))
    said("convert", shop, npz)
    said("convert", npz, drn)
    words = ["--horizon", "2", "--cost", "euros", "--budget", "hours=2"]
    assert "2 actions" in said("convert", drn, toml, *words)
    assert data("solve", toml)["value"] == pytest.approx(15.0)
    np.testing.assert_allclose(tr.CMDP.load(toml).budget, tr.CMDP.load(npz).budget)


def test_a_drn_file_with_a_horizon_is_a_model(tmp_path):
    path = str(tmp_path / "shop.drn")
    said("convert", shop_at(tmp_path), path)
    settings = ("--set", "horizon=2", "--budget", "hours=2")
    assert data("solve", path, *settings)["value"] == pytest.approx(15.0)
    assert data("solve", path, *settings, "--set", "initial=shop")["value"] == pytest.approx(15.0)
    assert data("check", path, *settings)["usable"]
    greedy = ["--horizon", "2", "--reward", "euros"]
    assert data("solve", path, *greedy)["value"] == pytest.approx(20.0)
    assert data("solve", path, "--set", "horizon=2", "--set", "reward=euros")["value"] == 20.0
    least = ["--horizon", "2", "--cost", "euros", "--budget", "hours=2"]
    assert data("solve", path, *least)["value"] == pytest.approx(15.0)
    assert data("frontier", path, *least)["breakpoints"][0]["value"] == pytest.approx(20.0)
    told = data("learn", path, *least, "--algorithm", "uniform", "--episodes", "2")
    assert told["optimum"] == pytest.approx(15.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["convert", "SHOP", "x.txt"], "expected a name that ends in .npz, .toml, .drn"),
        (["convert", "SHOP", "x.npz", "--unroll"], "--unroll: for .drn files only"),
        (["convert", "SHOP", "nowhere/x.npz"], "nowhere is not a directory"),
        (["convert", "SHOP", "x.drn", "--horizon", "3"], "only environments of the catalog"),
        (["convert", "SHOP", "x.drn", "--cost", "euros"], "--cost: SHOP is a file; only env"),
        (["solve", "ring", "--reward", "x"], "--reward: only for .drn files; ring determines it"),
        (["solve", "DRN", "--cost", "a", "--set", "cost=b"], "'cost' is given twice"),
        (["fit", "log.csv", "--model", "DRN"], "--model: shop.drn has no horizon"),
        (["study", "new", "x", "--model", "gym:Taxi-v3"], "tightrope convert makes a model file"),
        (["solve", "DRN"], "horizon: missing; shop.drn has none"),
        (["solve", "DRN", "--set", "horizon=x"], "horizon: 'x'"),
        (["solve", "DRN", "--set", "horizn=2"], "did you mean 'horizon'?"),
        (["solve", "DRN", "--set", "horizon=2"], "cost: say which to minimize"),
        (["solve", "DRN", "--set", "horizon=2", "--budget", "hrs=1"], "did you mean 'hours'?"),
        (["check", "nowhere.drn", "--set", "horizon=2"], "nowhere.drn: no such file"),
    ],
)
def test_invalid_input_is_a_one_line_error(tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    shop = shop_at(tmp_path)
    said("convert", shop, "shop.drn")
    known = {"SHOP": shop, "DRN": "shop.drn"}
    assert status([known.get(word, word) for word in words]) == 2
    caught = capsys.readouterr()
    assert (caught.out, caught.err.count("\n")) == ("", 1)
    assert message.replace("SHOP", shop) in caught.err


def test_a_drn_file_can_be_learned_with_a_floor_and_as_a_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said("convert", "streaming", "s.drn")
    own = ["s.drn", "--horizon", "4", "--set", "reward=reward"]
    own += ["--budget", "uses_of_the_slow_server>=2.4"]
    assert data("solve", *own)["value"] == pytest.approx(1.900172, abs=1e-6)
    words = ["--algorithm", "uniform", "--episodes", "5"]
    told = data("learn", *own, *words)
    assert told["optimum"] == pytest.approx(1.900172, abs=1e-6)
    kept = data("learn", *own, *words, "--out", "study", "--engine", "here")
    assert kept["finished"] == 1
