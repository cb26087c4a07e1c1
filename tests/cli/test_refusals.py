"""What is refused: one line on stderr, nothing on stdout, exit status 2."""

from __future__ import annotations

import pytest
from shop import shop_at

from tightrope.cli import app as front
from tightrope.cli.app import status


def refused(capsys, *words):
    assert status(words) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith("tightrope: ")
    assert caught.err.count("\n") == 1
    return caught.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("solve gird", "environment 'gird' is unknown, did you mean 'grid'?"),
        ("envs gird", "environment 'gird' is unknown, did you mean 'grid'?"),
        ("check gird", "environment 'gird' is unknown"),
        ("solve nowhere.npz", "nowhere.npz: no such file"),
        ("check nowhere.toml", "nowhere.toml: no such file"),
        ("solve model.json", "a model file ends in .npz or .toml"),
        ("solve ./grid", "a model file ends in .npz or .toml"),
        ("solve grid --set slop=1", "parameter 'slop' of grid is unknown, did you mean 'slip'?"),
        ("solve grid --set slip", "expected NAME=VALUE"),
        ("solve a.npz --set slip=1", "a.npz is a file; only environments"),
        ("solve grid --budget hazrd=1", "constraint 'hazrd' is unknown, did you mean 'hazard'?"),
        ("solve grid --budget hazard=much", "--budget hazard: 'much'"),
        ("solve grid --budget hazard=nan", "budget"),
        ("solve grid --budget hazard=-1", "budget"),
        ("solve grid --budget hazard=1 --budget 0=2", "'hazard' is given twice"),
        ("solve queue --budget 3", "expected CONSTRAINT=VALUE"),
        ("solve grid --stage 36", "expected 'average' or a stage from 0 to 35"),
        ("solve grid --stage x", "expected 'average' or a stage from 0 to 35"),
        ("solve queue --stage 0", "--stage: 0, but the model has no map"),
        ("solve grid --tolerance 2", "tolerance: 2.0, expected a number in (0, 1)"),
        ("solve grid --tolerance x", "'--tolerance'"),
        ("solve grid --method simplex", "'simplex', expected one of 'columns', 'lp'"),
        ("solve grid --figure a.gif", "a.gif: a figure ends in .png, .pdf or .svg"),
        ("solve grid --figure nowhere/a.png", "nowhere is not a directory"),
        ("solve grid --save a.npy", "a plan is saved as .npz"),
        ("solve grid --save nowhere/a.npz", "nowhere is not a directory"),
        ("solve grid --figure .", "a figure ends in"),
        ("solve", "Missing argument 'ENV|FILE'"),
        ("solve grid cliff", "unexpected extra argument"),
        ("solve grid --nope", "No such option: --nope"),
        ("slove grid", "No such command 'slove'"),
        ("frontier grid --constraint hazrd", "'hazrd' is unknown, did you mean 'hazard'?"),
        ("frontier grid --constraint 1", "constraint '1' is unknown; constraints: 'hazard'"),
        ("frontier grid --most 1", "most: 1, expected a whole number of at least 2"),
        ("frontier grid --figure a.jpg", "a figure ends in .png, .pdf or .svg"),
    ],
)
def test_a_mistake_is_named_on_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *words.split())
    assert list(tmp_path.iterdir()) == []


def test_conflicting_budgets_are_reported_in_the_units_of_the_file(capsys, tmp_path):
    # without the slow way, two days take eight hours
    path = shop_at(tmp_path, '["shop", "slow", "shop", 1.0],\n', "")
    message = refused(capsys, "solve", path)
    assert "budget 2 and needs at least 8" in message
    assert "raising 'hours' by 6 is" in message


def test_a_floor_out_of_reach_is_reported_as_a_floor(capsys):
    message = refused(capsys, "solve", "upac-random", "--budget", "utility=9.9")
    assert "'utility' has floor 9.9 " in message
    assert "lowering 'utility' by" in message


def test_the_frontier_of_one_budget_names_the_others_that_clash(capsys, tmp_path):
    # without the slow way, noise cannot be avoided, however many hours there are
    path = shop_at(tmp_path, '["shop", "slow", "shop", 1.0],\n', "")
    with (tmp_path / "shop.toml").open("a") as file:
        file.write('\n[[constraint]]\nname = "noise"\nrange = [0, 3]\n')
        file.write('cost = [["shop", "fast", 3.0]]\nbudget = 1.5\n')
    message = refused(capsys, "frontier", path, "--constraint", "hours")
    assert "least 6 alone; raising 'noise' by 4.5" in message
    assert "hours" not in message


def test_a_faulty_file_is_refused_by_solve_with_its_first_fault(capsys, tmp_path):
    path = shop_at(tmp_path, '"fast", "shop", 1.0', '"fast", "shop", 0.9')
    message = refused(capsys, "solve", path)
    assert "shop.toml" in message
    assert "sums to 0.9" in message


def test_a_folder_for_the_demo_that_cannot_be_made_is_named(capsys, tmp_path):
    (tmp_path / "taken").touch()
    assert "taken: cannot be made" in refused(capsys, "demo", "--out", str(tmp_path / "taken"))


def test_a_folder_named_like_an_environment_does_not_hide_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring").mkdir()
    assert status(["solve", "ring"]) == 0


def test_a_file_in_the_way_of_a_picture_is_named(capsys, tmp_path):
    (tmp_path / "a.png").mkdir()
    message = refused(capsys, "solve", "ring", "--figure", str(tmp_path / "a.png"))
    assert "it is a directory" in message


def test_a_lack_of_memory_is_one_line(capsys, monkeypatch):
    def burst(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 PiB")

    monkeypatch.setattr(front, "app", burst)
    assert "not enough memory: Unable" in refused(capsys, "solve", "ring")


def test_an_interrupt_is_one_line_and_the_status_of_a_signal(capsys, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tightrope.plan.solve.generate", interrupted)
    assert status(["solve", "ring"]) == 130
    assert capsys.readouterr().err == "tightrope: interrupted\n"
