"""The catalog: names to models, words to parameters, and what is said when that fails."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from refusals import refuses
from tightrope import envs
from tightrope.envs import catalog
from tightrope.errors import ConfigError, ModelError
from tightrope.model import CMDP
from tightrope.plan.solve import solve


@pytest.mark.parametrize("name", envs.names())
def test_every_entry_builds_by_default_and_is_named_throughout(name):
    entry = envs.entry(name)
    cmdp = envs.build(name)
    assert isinstance(cmdp, CMDP)
    assert cmdp.n_constraints >= 1
    assert entry.name == name
    for words in (entry.summary, entry.constraint, entry.source, entry.units):
        assert words
        assert "\n" not in words


@pytest.mark.parametrize("name", envs.names())
def test_every_parameter_of_every_builder_survives_a_round_trip_through_words(name):
    defaults = {key: value for key, value in envs.entry(name).defaults.items() if key != "rows"}
    words = [f"{key}={value}" for key, value in defaults.items()]
    assert catalog.parse(name, words) == defaults


@pytest.mark.parametrize("name", envs.names())
def test_building_twice_gives_the_same_model(name):
    first, second = envs.build(name), envs.build(name)
    for ours, theirs in zip(first.transitions, second.transitions, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(first.cost, second.cost)
    np.testing.assert_array_equal(first.budget, second.budget)


def test_parse_converts_by_the_builders_annotations():
    words = ["slip=0.2", "horizon=1e2", "budget=0.1, 0.2", "rows=S1/.G"]
    assert catalog.parse("grid", words) == {
        "slip": 0.2,
        "horizon": 100,
        "budget": [0.1, 0.2],
        "rows": "S1/.G",
    }
    assert catalog.parse("random", ["time-dependent=yes"]) == {"time_dependent": True}


def test_build_takes_numpy_numbers_and_sequences():
    cmdp = envs.build("grid", rows=["S1", "HG"], budget=np.array([0.5, 0.25]), horizon=np.int64(5))
    np.testing.assert_array_equal(cmdp.budget, [0.5, 0.25])
    assert cmdp.horizon == 5


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("gird", {}, r"did you mean 'grid'\? env"),
        ("zzz", {}, "'zzz' is unknown; environments"),
        ("grid", {"slp": 0.1}, r"did you mean 'slip'\? param"),
        ("grid", {"slip": "much"}, ("slip", "much", "a number")),
        ("grid", {"slip": True}, ("slip", True, "a number")),
        ("grid", {"slip": float("nan")}, ("slip", pytest.approx(np.nan, nan_ok=True), "a number")),
        ("grid", {"horizon": 2.5}, ("horizon", 2.5, "a whole number")),
        ("grid", {"budget": [0.1, "x"]}, ("budget[1]", "x", "a number")),
        ("grid", {"rows": 3}, ("rows", 3, "a text, or a sequence where each is a text")),
        ("random", {"time_dependent": 1}, ("time_dependent", 1, "true or false")),
        ("queue", {"arrival": 1.5}, ("arrival", 1.5, "a number in [0, 1]")),
        ("riverswim", {"n_states": 1}, ("n_states", 1, "at least 2")),
        ("grid", {"slip": 10**400}, ("slip", "a number of about 400 digits", "a number")),
        ("grid", {"budget": [[0.1], [0.1, 0.2]]}, ("budget[0]", "[0.1]", "a number")),
        ("perishable", {"lifetime": 9}, r"make some 10\*\*6\.2 states"),
        (
            "perishable",
            {"lifetime": 10**9},
            r"make some 10\*\*\d+\.\d states",
        ),
        ("ring", {"budget": 9}, ("budget[i=0]", 9.0, "a number in [0, 6]")),
    ],
)
def test_build_names_what_is_wrong(name, parameters, said):
    with refuses((ModelError, ConfigError), said):
        envs.build(name, **parameters)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slip"], r"'slip': expected NAME=VALUE"),
        (["slip=x"], ("slip", "x", "a number")),
        (["slip=inf"], r"^slip is inf, expected a number$"),
        (["horizon=2.5"], ("horizon", "2.5", "a whole number")),
        (["budget=0.1,x"], ("budget", "x", "a number")),
        (["slip=0.1", "slip=0.2"], r"'slip' of grid: given twice"),
        (["slop=1"], r"did you mean 'slip'"),
    ],
)
def test_parse_names_what_is_wrong(words, message):
    with refuses(ConfigError, message):
        catalog.parse("grid", words)


def test_importing_the_catalog_is_light():
    heavy = "{'scipy', 'numba', 'matplotlib', 'highspy'}"
    code = f"import sys, tightrope.envs; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "reader"),
    [("ward.toml", "tr.CMDP.load"), ("x/ward.NPZ", "tr.CMDP.load"), ("m.drn", "tr.read_drn")],
)
def test_the_name_of_a_file_in_place_of_a_model_refers_to_its_reader(name, reader):
    with pytest.raises(ConfigError, match=f"for a file use {reader}$") as caught:
        solve(name)
    assert (caught.value.argument, caught.value.found) == ("cmdp", name)
