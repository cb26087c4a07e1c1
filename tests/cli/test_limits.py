"""Numbers that no computer can serve are refused at once, with the limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from shop import shop_at

from tightrope.cli.app import status

LONG, LONGER = "9" * 400, "9" * 5000
STUDY = ["study", "new", "pump", "--budget", "wear=1"]
SIZES = {"--states": "2", "--actions": "2", "--horizon": "3"}
GYM = ["learn", "gym:FrozenLake-v1", "--horizon", "5", "--budget", "holes=0.1"]


def sizes(**change: str) -> list[str]:
    given = SIZES | {f"--{name}": value for name, value in change.items()}
    return [word for pair in given.items() for word in pair]


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert status(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("number", [LONG, LONGER, "2000000000"])
@pytest.mark.parametrize("option", ["states", "actions"])
def test_a_study_of_too_many_names_is_refused(tmp_path, monkeypatch, capsys, option, number):
    monkeypatch.chdir(tmp_path)
    assert "at most 1000000" in refused([*STUDY, *sizes(**{option: number})], capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ([*STUDY, *sizes(horizon=LONG)], 2**31 - 1),
        ([*STUDY, *sizes(), "--episodes", LONG], 2**63 - 1),
        (["learn", "ring", "--episodes", LONG], 2**63 - 1),
        (["learn", "ring", "--points", LONG], 2**63 - 1),
        (["learn", "ring", "--out", "runs", "--workers", LONG], 1024),
        (["learn", "ring", "--seeds", LONG], 100_000),
        (["learn", "ring", "--seeds", LONGER], 100_000),
        (["learn", "ring", "--seeds", f"1-{LONG}"], 100_000),
        (["learn", "ring", "--algorithm", "OptDual", "--seeds", "1-1000000"], 100_000),
        (["learn", "ring", "--seeds", "1-60000,70000-120000"], 100_000),
        (["solve", "ring", "--horizon", LONG], 2**31 - 1),
        (["solve", "ring", "--set", f"horizon={LONG}"], 2**31 - 1),
        (["solve", "ring", "--set", f"horizon={LONGER}"], 2**31 - 1),
        (["solve", "random", "--set", f"n_states={LONG}"], 2**31 - 1),
        (["solve", "random", "--set", "n_states=2147483648"], 2**31 - 1),
        ([*GYM, "--episodes", LONG], 2**63 - 1),
        (["frontier", "ring", "--most", LONG], 2**63 - 1),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else str(value),
)
def test_a_number_beyond_its_limit_is_refused(tmp_path, monkeypatch, capsys, words, limit):
    monkeypatch.chdir(tmp_path)
    assert f"at most {limit}" in refused(words, capsys)


@pytest.mark.parametrize(
    ("environment", "setting", "limit"),
    [
        ("random", "horizon=2147483647", "[1, 1e+06]"),
        ("cliff", "n_columns=2147483647", "[3, 100000]"),
        ("perishable", "customers=2147483647", "[1, 1000]"),
    ],
)
def test_a_model_that_would_take_for_ever_to_build_is_refused(capsys, environment, setting, limit):
    words = ["solve", environment, "--set", setting]
    assert f"expected a number in {limit}" in refused(words, capsys)


def test_a_model_with_a_very_long_horizon_is_checked(tmp_path: Path, capsys) -> None:
    path = shop_at(tmp_path, "horizon = 2", f"horizon = {2**31 - 1}")
    assert status(["check", path]) == 0
    assert capsys.readouterr().out == "shop.toml: no problems found\n"
