"""The commands: what they print, in words and as JSON, and what they write."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shop import data, said, shop_at
from typer.testing import CliRunner

from tightrope import __version__, envs
from tightrope.cli import experiments
from tightrope.cli.app import app, status
from tightrope.plan.frontier import frontier
from tightrope.plan.solve import solve


def test_the_command_without_arguments_shows_the_help():
    assert said() == said("--help")
    assert "frontier" in said()


def test_the_version_is_the_librarys():
    assert said("--version") == f"tightrope {__version__}\n"


def test_the_catalog_lists_every_environment_with_its_sizes():
    listed = {row["name"]: row for row in data("envs")}
    assert tuple(listed) == (*envs.names(), *envs.lasting_names())
    assert (listed["grid"]["states"], listed["grid"]["actions"]) == (67, 4)
    assert listed["queue"]["constraints"] == ["refused jobs", "energy"]
    words = said("envs")
    assert all(name in words for name in envs.names())


def test_details_of_an_environment_have_parameters_descriptions_and_the_optimum():
    words = said("envs", "media")
    assert "two servers fill a playback buffer" in words
    assert "departure" in words
    assert "Probability that a packet is played." in words
    assert "greatest expected reward" in words
    told = data("envs", "media")
    assert told["parameters"]["buffer"] == 9
    plan = solve(envs.build("media"), tolerance=1e-12)
    assert told["optimum"]["value"] == pytest.approx(plan.value)


def test_solve_shows_value_budget_price_and_mixture_in_the_units_of_the_file(tmp_path):
    words = said("solve", shop_at(tmp_path))
    assert "shop.toml: least expected euros 15" in words
    assert "certified: no feasible policy is better by more than" in words
    assert "one more unit of 'hours' saves 2.5 euros" in words
    mixed = next(line for line in words.splitlines() if "slow 50% / fast 50%" in line)
    assert mixed.split()[-1] == "hours", "the mixture is forced by the hours"
    assert words.splitlines()[-2].split() == ["shop", "1", "slow", "50%", "/", "fast", "50%", "1"]
    told = data("solve", shop_at(tmp_path))
    assert told["value"] == pytest.approx(15.0)
    (hours,) = told["constraints"]
    assert hours["value"] == pytest.approx(2.0)
    assert (hours["budget"], hours["slack"], hours["binding"]) == (2.0, 0.0, True)
    assert hours["multiplier"] == pytest.approx(2.5)
    assert told["gap"] <= 1e-10
    assert [place["forced_by"] for place in told["randomized"]] == ["hours"]
    assert sum(told["randomized"][0]["actions"].values()) == pytest.approx(1.0)


def test_both_methods_agree():
    columns, lp = (data("solve", "queue", "--method", method) for method in ("columns", "lp"))
    assert columns["value"] == pytest.approx(lp["value"], rel=1e-6)
    assert (columns["method"], lp["method"]) == ("columns", "lp")


def test_a_budget_is_given_in_shown_units_by_name_by_number_or_alone(tmp_path):
    path = shop_at(tmp_path)
    for budget in ("hours=4", "0=4", "4"):
        assert data("solve", path, "--budget", budget)["value"] == pytest.approx(10.0)
    floor = data("solve", "streaming", "--budget", "uses of the slow server=3")
    assert floor["constraints"][0]["budget"] == pytest.approx(3.0)
    assert floor["constraints"][0]["kind"] == "floor"


def test_a_budget_that_does_not_bind_is_reported_as_slack(tmp_path):
    words = said("solve", shop_at(tmp_path), "--budget", "hours=8")
    assert "'hours' is used up, but more of it would save nothing" in words
    words = said("solve", "cliff", "--budget", "30")
    assert "'closeness to the edge' is not binding: more of it would earn nothing" in words
    assert "does not randomize" in words


def test_parameters_of_an_environment_are_set_by_words():
    assert data("solve", "ring", "--set", "horizon=3", "--budget", "1")["value"] == pytest.approx(
        solve(envs.build("ring", horizon=3, budget=1.0)).value
    )


def test_a_model_without_constraints_is_solved_and_shown_without_any(tmp_path):
    cut = "[[constraint]]"
    path = shop_at(tmp_path)
    text = (tmp_path / "shop.toml").read_text()
    (tmp_path / "shop.toml").write_text(text[: text.index(cut)])
    assert "no constraints" in said("solve", path)
    assert data("solve", path)["constraints"] == []
    assert "no problems found" in said("check", path)


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_solve_writes_a_picture(kind, tmp_path):
    picture = tmp_path / f"plan.{kind}"
    assert f"written: {picture}" in said("solve", "ring", "--figure", str(picture))
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize("stage", ["0", "average"])
def test_the_picture_of_a_map_shows_a_stage_or_their_average(stage, tmp_path):
    picture = tmp_path / "plan.svg"
    said("solve", "cliff", "--figure", str(picture), "--stage", stage)
    expected = "all 15 stages" if stage == "average" else "stage 0"
    assert expected in picture.read_text(encoding="utf-8")


def test_a_saved_plan_holds_the_policy_without_any_code(tmp_path):
    path = tmp_path / "plan.npz"
    told = data("solve", "ring", "--save", str(path))
    assert told["saved"] == str(path)
    plan = solve(envs.build("ring"), tolerance=1e-12)
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_allclose(arrays["policy"], plan.policy)
        np.testing.assert_allclose(arrays["multiplier"], plan.multiplier)
        assert str(arrays["format"]) == "tightrope-plan 2"
        assert arrays["constraint_names"].tolist() == ["moves"]


def test_the_frontier_lists_every_breakpoint_as_json_and_marks_the_present_budget():
    told = data("frontier", "streaming")
    found = frontier("streaming")
    np.testing.assert_allclose([point["budget"] for point in told["breakpoints"]], found.budget)
    np.testing.assert_allclose([point["value"] for point in told["breakpoints"]], found.value)
    assert told["breakpoints"][-1]["multiplier"] == 0.0
    assert told["now"]["budget"] == pytest.approx(2.4)
    words = said("frontier", "streaming")
    (now,) = [line.split() for line in words.splitlines() if "now ->" in line]
    assert float(now[2]) == pytest.approx(2.4)
    assert float(now[3]) == pytest.approx(told["now"]["value"], rel=1e-5)


def test_the_frontier_shows_the_cost_of_a_tighter_budget(tmp_path):
    # the frontier of the shop is one line from (0 hours, 20 euros) to (8 hours, nothing)
    words = said("frontier", shop_at(tmp_path))
    assert "tightening the budget from 2 to 1.8 costs 0.5 euros" in words
    assert "the least budget that can be kept is 0, with 20 euros" in words
    assert "beyond 8 a larger budget saves nothing" in words


def test_a_long_frontier_is_cut_short_in_words_only():
    words = said("frontier", "riverswim")
    assert "more ..." in words
    assert len(words.splitlines()) < 25
    assert len(data("frontier", "riverswim")["breakpoints"]) > 25


def test_a_frontier_with_too_many_breakpoints_reports_it():
    assert "there are more; --most N computes more" in said("frontier", "riverswim", "--most", "5")
    assert data("frontier", "riverswim", "--most", "5")["complete"] is False


@pytest.mark.parametrize("constraint", ["energy", "1"])
def test_the_frontier_of_another_constraint_is_chosen_by_name_or_number(constraint, tmp_path):
    picture = tmp_path / "frontier.svg"
    told = data("frontier", "queue", "--constraint", constraint, "--figure", str(picture))
    assert told["constraint"] == "energy"
    assert "budget of energy" in picture.read_text(encoding="utf-8")


def test_a_present_budget_below_the_frontier_has_no_value(tmp_path):
    path = shop_at(tmp_path, '["shop", "slow", "shop", 1.0],\n', "")
    told = data("frontier", path, "--budget", "hours=1")
    assert told["now"]["value"] is None
    assert "the current budget, 1, cannot be kept" in said("frontier", path, "--budget", "1")


def test_check_finds_nothing_wrong_with_the_catalog():
    for name in envs.names():
        told = data("check", name)
        assert told["usable"] is True
        assert all(finding["level"] != "error" for finding in told["findings"])


def test_check_lists_all_faults_of_a_file_with_their_remedies(tmp_path):
    path = shop_at(tmp_path, '"fast", "shop", 1.0', '"fast", "shop", 0.9')
    text = (tmp_path / "shop.toml").read_text().replace("budget = 2.0", "budget = 2000.0")
    (tmp_path / "shop.toml").write_text(text)
    done = CliRunner().invoke(app, ["check", path, "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["usable"] is False
    assert {finding["subject"] for finding in told["findings"]} >= {"row", "budget"}
    assert all(finding["remedy"] for finding in told["findings"])
    assert CliRunner().invoke(app, ["check", path]).stdout.startswith("shop.toml: 2 errors")


def test_check_calls_a_file_that_is_no_model_an_error_of_the_file(tmp_path):
    path = shop_at(tmp_path, "horizon = 2", "horzon = 2")
    done = CliRunner().invoke(app, ["check", path, "--json"])
    assert done.exit_code == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["subject"] == "file"
    assert "horizon" in finding["message"]


def test_check_finds_budgets_that_clash_only_together(tmp_path):
    other = '\n[[constraint]]\nname = "noise"\ncost = [["shop", "slow", 1.0]]\nbudget = 1.0\n'
    path = shop_at(tmp_path)
    with (tmp_path / "shop.toml").open("a") as file:
        file.write(other)
    done = CliRunner().invoke(app, ["check", path, "--json"])
    assert done.exit_code == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["message"].startswith("no policy keeps 'hours' and 'noise' together")
    # half a day fast leaves 1.5 of noise; with t more of each on the model's scale, 4t hours:
    # (2 + 4t)/4 + 1 + t = 2 gives t = 0.25
    assert "raising 'hours' by 1 and raising 'noise' by 0.25" in finding["remedy"]


def test_check_warns_of_budgets_that_leave_no_slack_together(tmp_path):
    other = '\n[[constraint]]\nname = "noise"\ncost = [["shop", "slow", 1.0]]\nbudget = 1.5\n'
    path = shop_at(tmp_path)
    with (tmp_path / "shop.toml").open("a") as file:
        file.write(other)
    told = data("check", path)
    assert [finding["level"] for finding in told["findings"]] == ["warning", "warning"]
    assert "leaves no slack" in told["findings"][0]["message"]


def test_the_demo_lets_six_learners_run_and_writes_their_report(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "DEMO", experiments.DEMO | {"episodes": 30, "seeds": 2})
    words = said("demo", "--out", str(tmp_path / "new" / "demo"))
    assert "S.H.G" in words
    assert "Six learners ran for 30 episodes of grid with 2 seeds each" in words.replace("\n", " ")
    assert (tmp_path / "new" / "demo" / "report.html").stat().st_size > 1e6
    again = data("demo", "--out", str(tmp_path / "new" / "demo"))
    assert again["finished"] == 12


def test_names_are_never_taken_for_markup_or_terminal_codes(tmp_path):
    path = shop_at(tmp_path, 'name = "hours"', 'name = "[red]hours[/red] \\u001b[31m:smile:"')
    words = said("solve", path)
    assert "[red]hours[/red] ?[31m:smile:" in words
    assert "\x1b" not in words


def test_an_answer_has_the_status_zero_and_leaves_stderr_alone(tmp_path, capsys):
    assert status(["solve", shop_at(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", envs.names())
def test_the_description_of_an_environment_is_plain_text(name):
    lines = [line.strip() for line in said("envs", name).splitlines()]
    assert ":" not in lines
    assert not any("``" in line or "::" in line for line in lines)
