"""``tightrope fit``: what it says, what it writes, what it refuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from shop import data, said, shop_at

import tightrope as tr
from tightrope.cli.app import status

HEADER = "episode,step,state,action,next_state,cost,hours\n"
DAY = {"slow": (10.0, 0.0), "fast": (0.0, 4.0)}


def log_at(folder, actions=("slow", "fast"), episodes=40, extra=""):
    """The shop of two days, whose costs are known to the cent."""
    lines = [HEADER]
    for k in range(episodes):
        for step in range(2):
            action = actions[(k + step) % len(actions)]
            cost, hours = DAY[action]
            lines.append(f"{k},{step},shop,{action},shop,{cost},{hours}\n")
    path = folder / "log.csv"
    path.write_text("".join(lines) + extra)
    return str(path)


UNITS = ("--range", "cost=0:10", "--range", "hours=0:4", "--budget", "hours=2")


def test_the_averages_of_the_shop_give_its_plan_by_hand(tmp_path):
    found = data("fit", log_at(tmp_path), *UNITS, "--algorithm", "certainty-equivalence")
    cost, hours = found["sums"]
    assert cost["planned"] == pytest.approx(15.0)
    assert hours["planned"] == pytest.approx(2.0)
    assert hours["budget"] == pytest.approx(2.0)
    assert cost["lower"] <= 15.0 <= cost["upper"] <= 20.0
    assert hours["verdict"] == "undecided"
    assert found["guaranteed"]
    assert (found["episodes"], found["horizon"], found["starts"]) == (40, 2, {"shop": 1.0})
    rows = found["policy"]
    assert [(row["stage"], row["state"]) for row in rows] == [(0, "shop"), (1, "shop")]
    assert [row["reached"] for row in rows] == pytest.approx([1.0, 1.0])
    assert all(sum(row["actions"].values()) == pytest.approx(1.0) for row in rows)


def test_everything_is_written_and_can_be_read_back(tmp_path):
    out = tmp_path / "a" / "fitted"
    words = said("fit", log_at(tmp_path), *UNITS, "--out", str(out))
    assert "40 episodes of 2 steps" in words
    assert "not decided by the log" in words
    assert {path.name for path in out.iterdir()} == {
        "policy.npz",
        "policy.csv",
        "learner.npz",
        "fit.json",
    }
    policy = np.load(out / "policy.npz")["policy"]
    with (out / "policy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["state"] for row in rows} == {"shop"}
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(2.0)
    assert all(int(row["visits_in_log"]) == 20 and float(row["reached"]) == 1 for row in rows)
    summary = json.loads((out / "fit.json").read_text())
    assert summary["algorithm"] == "OptCMDP"
    learner = tr.InteractiveLearner.load(out / "learner.npz")
    assert learner.n_observed == 40
    bounds = learner.bound(policy)
    assert summary["sums"][0]["upper"] == pytest.approx(bounds.cost[1])
    assert "40 episodes" in said("bound", str(out / "learner.npz"), str(out / "policy.npz"))


def test_names_units_and_budgets_come_from_a_model(tmp_path):
    log = log_at(tmp_path)
    found = data("fit", log, "--model", shop_at(tmp_path))
    assert found["sums"][1]["budget"] == pytest.approx(2.0)
    assert found["actions"] == ["slow", "fast"]
    assert found["never_tried"] == []
    timid = data("fit", log_at(tmp_path, ["slow"]), "--model", shop_at(tmp_path))
    assert timid["never_tried"] == [["shop", "fast"]]
    assert [stage["untried"] for stage in timid["stages"]] == [1, 1]


def test_unvisited_pairs_are_reported(tmp_path):
    words = said("fit", log_at(tmp_path, ["slow"]), "--model", shop_at(tmp_path))
    assert "never tried at any stage: fast in shop" in words


def test_names_may_come_from_files(tmp_path):
    (tmp_path / "states").write_text("shop\nhome\n\n")
    words = said("fit", log_at(tmp_path), *UNITS, "--states", str(tmp_path / "states"))
    assert "no action taken in (unreachable, or never visited): home" in words


def test_bad_rows_are_reported_by_line_listed_and_left_out(tmp_path, capsys):
    log = log_at(tmp_path, extra="x,0,shop,slow,shop,11,0\ny,0,shop,slow,shop,1,0\n")
    bad = tmp_path / "bad.csv"
    assert status(["fit", log, *UNITS, "--bad", str(bad)]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.count("\n") == 1
    assert "2 faults: line 82 (episode x): " in caught.err
    assert "line 83 (episode y): " in caught.err
    assert "--skip-bad" in caught.err
    assert [line.split(",")[0] for line in bad.read_text().splitlines()] == ["place", "82", "83"]
    words = said("fit", log, *UNITS, "--skip-bad")
    assert "left out: 2 episodes for 2 faults" in words
    assert "line 82 (episode x)" in words


@pytest.mark.parametrize("value", ["n/a", "1.00 EUR"])
def test_ranges_are_advised_for_numbers_only(tmp_path, capsys, value):
    log = log_at(tmp_path, extra=f"x,0,shop,slow,shop,{value},0\nx,1,shop,slow,shop,1,0\n")
    assert status(["fit", log, *UNITS]) == 2
    said_wrong = capsys.readouterr().err
    assert f"cost {value}, expected a number" in said_wrong
    assert "--range" not in said_wrong


def test_lower_limits_of_logs_are_refused(tmp_path, capsys):
    assert status(["fit", log_at(tmp_path), "--budget", "hours>=2.5"]) == 2
    assert "--budget: hours>=2.5, expected" in capsys.readouterr().err


def test_budgets_that_nothing_keeps_still_show_the_log_and_leave_no_folder(tmp_path, capsys):
    log = log_at(tmp_path, ["fast"])
    (tmp_path / "names").write_text("slow\nfast\n")
    out = tmp_path / "a" / "inf"
    words = ["fit", log, *UNITS, "--actions", str(tmp_path / "names"), "--out", str(out)]
    words += ["--algorithm", "certainty-equivalence"]
    assert status(words) == 2
    caught = capsys.readouterr()
    assert "40 episodes of 2 steps" in caught.out
    assert "never tried at any stage: slow in shop" in caught.out
    assert caught.err.count("\n") == 1
    assert "no policy keeps 'hours'" in caught.err
    assert not out.parent.exists()
    assert status([*words, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["feasible"], told["never_tried"]) == (False, [["shop", "slow"]])


def test_a_folder_that_was_there_stays_when_nothing_comes_of_it(tmp_path, capsys):
    out = tmp_path / "kept"
    out.mkdir()
    words = ["fit", log_at(tmp_path), *UNITS, "--algorithm", "OptDual"]
    assert status([*words, "--out", str(out / "new")]) == 2
    assert "rho: missing" in capsys.readouterr().err
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("rule", ["OptCMDP", "OptCMDP-bonus", "certainty-equivalence"])
def test_a_hope_is_called_a_hope_and_an_estimate_is_not(tmp_path, rule):
    log = log_at(tmp_path)
    words = said("fit", log, *UNITS, "--algorithm", rule)
    is_optimistic = rule != "certainty-equivalence"
    assert ("are no estimates" in words) == is_optimistic
    assert data("fit", log, *UNITS, "--algorithm", rule)["planned_is_optimistic"] == is_optimistic


def test_the_only_possible_start_is_certain(tmp_path):
    assert "starts: shop 100%\n" in said("fit", log_at(tmp_path), *UNITS)


def test_a_single_observed_start_is_shown_with_its_error_and_the_remedy(tmp_path):
    (tmp_path / "states.txt").write_text("shop\nyard\n")
    words = ["fit", log_at(tmp_path), *UNITS, "--states", str(tmp_path / "states.txt")]
    assert "starts: shop 100%; the bounds allow for 0.49 in L1 (none with --initial)" in said(
        *words
    )
    assert "starts: shop 100%\n" in said(*words, "--initial", "shop")
    several = log_at(tmp_path, extra="x,0,home,slow,shop,1,0\nx,1,shop,slow,shop,1,0\n")
    words = said("fit", several, *UNITS)
    assert "as certain" not in words
    assert "the bounds allow for" in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["LOG", "--budget", "hours"], "--budget: hours, expected NAME=VALUE"),
        (["LOG", "--budget", "hors=1"], "column 'hors': missing, did you mean 'hours'?"),
        (["LOG", "--range", "cost=10"], "--range: cost=10, expected"),
        (["LOG", "--range", "cost=0:1", "--range", "cost=0:1"], "'cost' is given twice"),
        (["LOG", *UNITS, "--budget", "hours=3"], "'hours' is given twice"),
        (["LOG", *UNITS[:4], "--budget", "hours=9"], "budget of 'hours': 9, expected a number in"),
        (["LOG", *UNITS, "--algorithm", "magic"], "algorithm: 'magic' is none of"),
        (["LOG", *UNITS, "--algorithm", "OptDual"], "rho: missing"),
        (["LOG", *UNITS, "--initial", "shp"], "no state is named 'shp', did you mean 'shop'"),
        (["LOG", *UNITS, "--states", "nowhere"], "--states: nowhere cannot be read"),
        (["LOG", *UNITS, "--confidence", "tigt"], "did you mean 'tight'"),
        (["LOG", *UNITS, "--out", "LOG"], "it is not a directory"),
        (["LOG", "--budget", "hors=1", "--bad", "x.txt"], "--bad: x.txt, expected a .csv"),
        (
            ["LOG", *UNITS, "--range", "x=0:1"],
            "range of 'x': no such quantity",
        ),
    ],
)
def test_invalid_input_is_a_one_line_error(tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    log = log_at(tmp_path)
    assert status(["fit", *(log if word == "LOG" else word for word in words)]) == 2
    caught = capsys.readouterr()
    assert (caught.out, caught.err.count("\n")) == ("", 1)
    assert message in caught.err


def test_the_averages_of_the_log_stand_beside_the_plan(tmp_path):
    found = data("fit", log_at(tmp_path), *UNITS)
    cost, hours = found["sums"]
    # by hand: every second day is slow for 20 euros, the others fast for 8 hours
    assert cost["now"] == pytest.approx(10.0)
    assert hours["now"] == pytest.approx(4.0)
    assert cost["now_lower"] < 10.0 < cost["now_upper"]
    words = said("fit", log_at(tmp_path), *UNITS).replace("\n", " ")
    assert "now 10 cost and 4 hours per episode" in words


def test_stationary_logs_are_planned_by_certainty_equivalence_unless_another_is_named(tmp_path):
    log = log_at(tmp_path)
    assert data("fit", log, *UNITS, "--stationary")["algorithm"] == "certainty-equivalence"
    named = data("fit", log, *UNITS, "--stationary", "--algorithm", "OptCMDP")
    assert named["algorithm"] == "OptCMDP"
    assert data("fit", log, *UNITS)["algorithm"] == "OptCMDP"


def test_bounds_that_say_nothing_are_named_with_what_helps(tmp_path):
    words = said("fit", log_at(tmp_path, episodes=4), *UNITS).replace("\n", " ")
    assert "the data do not narrow the bounds" in words
    assert "--hold-out 0.5" in words
    held = data("fit", log_at(tmp_path), *UNITS, "--stationary", "--hold-out", "0.5")
    assert held["scope"] == "one policy"
    assert held["planned_from"] == 20


def test_nothing_is_certain_with_heuristic_radii(tmp_path):
    words = said("fit", log_at(tmp_path), *UNITS, "--confidence", "scale=0.001")
    assert "certainly" not in words
    assert "by heuristic radii" in words


def test_skipping_is_no_advice_when_most_episodes_are_bad(tmp_path, capsys):
    rows = "".join(f"x{k},0,shop,odd,shop,none,0\n" for k in range(100))
    assert status(["fit", log_at(tmp_path, extra=rows), *UNITS]) == 2
    caught = capsys.readouterr().err
    assert "--skip-bad" not in caught
    assert "100 of 140 episodes have faults" in caught


def test_columns_that_are_missing_are_listed_with_the_option_that_names_them(tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("Week,step,Ort,Action,Next state,Cost\n1,0,a,go,a,0.5\n")
    assert status(["fit", str(path)]) == 2
    caught = capsys.readouterr().err
    assert "column 'episode': missing, as 'state'" in caught
    assert "--column NAME=COLUMN" in caught


def test_ranges_are_proposed_for_all_quantities_as_options(tmp_path, capsys):
    rows = ["episode,step,state,action,next_state,cost,hours"]
    rows += [f"{k},0,shop,slow,shop,{6 * k + 5},{1.5 + k}" for k in range(8)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    assert status(["fit", str(path), "--budget", "hours<=9"]) == 2
    caught = capsys.readouterr().err
    assert "such as --range cost=0:50 --range hours=0:10 if these are all" in caught


def test_the_start_distribution_is_given_or_that_of_the_log(tmp_path):
    rows = ["episode,step,state,action,next_state,cost"]
    rows += [f"{k},0,{'ab'[k % 4 == 0]},go,a,{k % 4 == 0:d}" for k in range(8)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    words = ["fit", str(path), "--stationary"]
    given = data(*words, "--initial", "a=0.5,b=0.5")
    assert given["starts"] == {"a": 0.5, "b": 0.5}
    assert given["start_radius"] == 0
    assert given["sums"][0]["planned"] == pytest.approx(0.5)
    learned = data(*words, "--initial", "learned")
    assert learned == data(*words)
    assert learned["starts"] == {"a": 0.75, "b": 0.25}
    assert learned["start_radius"] > 0


def test_stages_are_pooled_in_the_coverage_of_a_stationary_process(tmp_path):
    words = ["fit", log_at(tmp_path), *UNITS]
    found = [line.split() for line in said(*words, "--stationary").splitlines()]
    row = next(line for line in found if line[:1] == ["all"])
    by_stage = [line.split() for line in said(*words).splitlines()]
    stages = [line for line in by_stage if line[:1] and line[0].isdecimal() and len(line) == 5]
    assert len(stages) > 1
    assert int(row[2]) >= max(int(line[2]) for line in stages)


def test_the_averages_of_the_log_have_bounds(tmp_path):
    words = ["fit", log_at(tmp_path), *UNITS]
    shown = " ".join(said(*words).split())
    cost = data(*words)["sums"][0]
    assert cost["now_lower"] <= cost["now"] <= cost["now_upper"]
    assert "the policies of the log:" in shown
    assert "for the average of the policies that were played" in shown


def test_a_spreadsheet_with_other_columns_and_decimal_commas_is_read(tmp_path, capsys):
    rows = ["Episode;Step;Ort;Action;Next state;Cost;Hours"]
    rows += [f"{k};{h};shop;slow;shop;5,5;0" for k in range(8) for h in (1, 2)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    words = ["fit", str(path), *UNITS, "--column", "state=Ort"]
    assert status(words) == 2
    assert "--decimal ," in capsys.readouterr().err
    found = data(*words, "--decimal", ",")
    assert found["sums"][0]["now"] == pytest.approx(11.0)
    shown = said(*words, "--decimal", ",")
    assert "stages count from 1" in shown.replace("\n", " ")
    for bad in ("state", "=x", "state="):
        assert status([*words, "--column", bad]) == 2


def test_the_two_statements_of_a_fit_are_not_joint_and_it_says_so(tmp_path):
    words = said("fit", log_at(tmp_path), *UNITS, "--hold-out", "0.5").replace("\n", " ")
    assert "both statements together are true with probability at least 0.8" in words
    assert "the process is Markov, and the log has all episodes in the order" in words
