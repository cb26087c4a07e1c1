"""Sweeps: lists become grids, ranges become seeds, and every run appears once."""

from __future__ import annotations

import pytest

from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.experiments.spec import spec_of
from tightrope.experiments.sweep import read_sweep, seeds_of, specs_of

TEXT = """
environment = "ring"
algorithm = ["OptCMDP", "OptDual"]
episodes = 50
seeds = "1-3"
confidence = ["tight", { scale = 0.1 }]

[parameters]
horizon = [6, 8]
"""


def test_every_list_makes_a_grid_with_seeds_innermost(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    specs = specs_of(read_sweep(path))
    assert len(specs) == 2 * 3 * 2 * 2
    assert [spec.seed for spec in specs[:4]] == [1, 2, 3, 1]
    assert {spec.parameters["horizon"] for spec in specs} == {6, 8}
    assert {spec.confidence.scale for spec in specs} == {1.0, 0.1}
    assert len({spec.id for spec in specs}) == len(specs)
    assert len({spec.group for spec in specs}) == 8


def test_lists_inside_a_confidence_make_a_grid_too():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9}
    inner = {"mode": "tight", "scale": [0.1, 1.0], "clip": [True, False]}
    one = specs_of(table | {"confidence": inner})
    assert {(s.confidence.scale, s.confidence.clip) for s in one} == {
        (0.1, True),
        (0.1, False),
        (1.0, True),
        (1.0, False),
    }
    assert len(specs_of(table | {"confidence": ["faithful", inner]})) == 5


def test_more_seeds_keep_the_runs_that_there_are():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9}
    few = specs_of(table | {"seeds": 30})
    more = specs_of(table | {"seeds": "31-100"})
    both = specs_of(table | {"seeds": "1-100"})
    assert [spec.seed for spec in few] == list(range(1, 31))
    assert {s.id for s in both} == {s.id for s in few} | {s.id for s in more}


def test_a_table_without_lists_is_one_run():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9}
    assert specs_of(table) == [spec_of(table)]


def test_the_same_run_named_twice_is_there_once():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9, "delta": [0.1, 0.1]}
    assert len(specs_of(table)) == 1


def test_a_parameter_that_is_a_sequence_is_a_list_in_a_list():
    table = {"environment": "grid", "algorithm": "OptDual", "episodes": 9}
    one = specs_of(table | {"parameters": {"budget": [[0.2]]}})
    assert [spec.parameters["budget"] for spec in one] == [[0.2]]


@pytest.mark.parametrize(
    ("word", "seeds"),
    [(3, [1, 2, 3]), ("2", [1, 2]), ("4-6", [4, 5, 6]), ("0-1, 9,1", [0, 1, 9]), ("7-7", [7])],
)
def test_seeds_are_read_from_numbers_and_ranges(word, seeds):
    assert seeds_of(word) == seeds


def test_a_list_of_seeds_may_hold_ranges():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9}
    specs = specs_of(table | {"seeds": [7, "1-3"]})
    assert [spec.seed for spec in specs] == [7, 1, 2, 3]


@pytest.mark.parametrize("word", ["", "3-1", "a", "1-", "-3", "1.5", True])
def test_seeds_that_make_no_sense_are_refused(word):
    with refuses(
        ConfigError, argument="seeds", expected="a number or ranges, as in 1-30 or 1-10,41"
    ):
        seeds_of(word)


@pytest.mark.parametrize(
    "word",
    ["1-99999999", "1-60000, 70000-120000", "9" * 400, 10**5000],
    ids=["range", "two ranges", "400 digits", "5001 digits"],
)
def test_more_seeds_than_can_be_planned_are_refused_with_the_limit(word):
    with refuses(
        ConfigError, argument="seeds", expected="at most 100000 seeds of at most 19 digits"
    ):
        seeds_of(word)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episodes": []}, ("episodes", "an empty list", "at least one value")),
        (
            {"parameters": {"horizon": []}},
            ("parameters.horizon", "an empty list", "at least one value"),
        ),
        ({"seeds": []}, ("seeds", "an empty list", "at least one value")),
        ({"seed": 1, "seeds": 3}, "study: seed and seeds: give one of them"),
        ({"algoritm": "OptDual"}, "study: unknown field 'algoritm', did you mean 'algorithm'"),
        ({"episodes": [10, "many"]}, ("episodes", "many", "a whole number of at least 1")),
        (
            {"seed": list(range(1001)), "delta": [0.1] * 1000},
            ("study", "1001000 runs", "at most 100000"),
        ),
    ],
)
def test_faults_of_a_sweep_are_named(change, message):
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 9}
    with refuses(ConfigError, message):
        specs_of(table | change, "study")


def test_files_that_are_no_sweeps_are_refused(tmp_path):
    with refuses(ConfigError, "No such file", argument=str(tmp_path / "none.toml")):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("episodes = = 3")
    with pytest.raises(ConfigError, match=r"bad\.toml: not TOML: .*line 1"):
        read_sweep(tmp_path / "bad.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"odd\.toml: cannot be read"):
        read_sweep(tmp_path / "odd.toml")
