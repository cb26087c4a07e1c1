"""``tightrope learn``: what it prints, in words and as JSON, what it draws, what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from shop import CALL, data, said, shop_at

import tightrope as tr
from driven import simulate_spec
from refusals import refuses
from tightrope import envs, progress
from tightrope.cli.app import status
from tightrope.cli.learner_options import algorithm_names, confidence_of
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.curves import MOST_POINTS
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.storage import read_columns
from tightrope.experiments.sweep import specs_of
from tightrope.learners import LEARNERS, PAPER
from tightrope.text import vector


def test_regrets_are_those_known_by_hand_in_the_files_units(tmp_path):
    # the optimum is 15 euros and 2 hours an episode. Half of both days fast is 10 euros and
    # 4 hours; both days fast is 0 euros and 8 hours
    words = ["learn", shop_at(tmp_path), "--episodes", "20", "--seeds", "2"]
    told = data(*words, "--algorithm", "uniform", "--algorithm", "unconstrained")
    assert told["optimum"] == pytest.approx(15.0)
    ends = {each["algorithm"]: each["regret"] for each in told["learners"]}
    for who, cost, hours in (("uniform", -100.0, 40.0), ("unconstrained", -300.0, 120.0)):
        for statistic in ("mean", "min", "max"):
            assert ends[who]["cost"][statistic] == pytest.approx(cost)
            assert ends[who]["cost_plus"][statistic] == 0.0
            assert ends[who]["constraint"][statistic] == pytest.approx(hours)
            assert ends[who]["constraint_plus"][statistic] == pytest.approx(hours)
    for run in told["runs"]:
        hours = {"uniform": 2.0, "unconstrained": 6.0}[run["algorithm"]]
        assert run["worst_violation"] == pytest.approx([hours])
        assert run["episodes_in_violation"] == 20
        assert run["first_feasible"] is None
        sums = [[hours * k] for k in run["episode"]]
        np.testing.assert_allclose(run["regret"]["constraint"], sums)


def test_the_tables_say_regrets_budgets_audit_and_confidence(tmp_path):
    words = said("learn", shop_at(tmp_path), "--algorithm", "uniform", "--episodes", "20")
    assert "shop.toml: 20 episodes, seed 1, delta 0.1" in words
    assert "against the optimum, 15 euros" in words
    rows = [line.split() for line in words.splitlines() if line.strip().startswith("uniform")]
    assert rows[0] == ["uniform", "-100", "0", "40", "40"]
    assert rows[1][:4] == ["uniform", "20", "2", "never"]
    assert rows[2][:4] == ["uniform", "-", "-", "0"]
    assert "confidence:" not in words  # who always plays the same policy has none
    assert "[!]" not in words


def test_json_is_what_the_library_computes_in_shown_units():
    words = ["learn", "streaming", "--algorithm", "OptDual", "--episodes", "40", "--seeds", "2"]
    told = data(*words, "--delta", "0.2", "--confidence", "tight", "--rho", "bound")
    cmdp = envs.build("streaming")
    table = {"environment": "streaming", "algorithm": "OptDual", "episodes": 40, "delta": 0.2}
    specs = specs_of({**table, "confidence": "tight", "rho": "bound", "seeds": 2})
    assert [run["seed"] for run in told["runs"]] == [1, 2]
    for spec, found in zip(specs, told["runs"], strict=True):
        run = simulate_spec(spec, cmdp)
        assert (found["rho"], found["rho_rule"]) == (run.rho, "bound")
        assert found["episode"] == run.episode.tolist()
        np.testing.assert_allclose(found["regret"]["cost"], run.regret["cost"])
        np.testing.assert_allclose(found["regret"]["constraint"], run.regret["constraint"])
        np.testing.assert_allclose(found["worst_violation"], run.worst_violation)
        np.testing.assert_allclose(found["multiplier"], run.multiplier)
        assert found["audit"]["bad_episodes"] == run.audit.bad_episodes
        assert found["confidence"]["words"] == "tight"
        assert found["confidence"]["heuristic"] is False


def test_the_same_words_give_the_same_numbers_with_a_folder_and_without(tmp_path):
    words = ["learn", "ring", "--algorithm", "OptDual", "--episodes", "50", "--seeds", "2"]
    told = data(*words)
    data(*words, "--out", str(tmp_path / "s"), "--engine", "here")
    study = Experiment(tmp_path / "s")
    for spec, found in zip(study.specs(), told["runs"], strict=True):
        ends = read_columns(study.folder(spec).record, ["cost_regret"])["cost_regret"]
        scale = abs(envs.build("ring").cost_unit.factor)
        assert found["regret"]["cost"][-1] == pytest.approx(scale * ends[-1], rel=1e-12)


def test_the_same_words_print_the_same_tables_with_a_folder_and_without(tmp_path):
    words = ["learn", "ring", "--algorithm", "OptDual", "--episodes", "50", "--seeds", "2"]
    folder = tmp_path / "s"
    alone, kept = said(*words), said(*words, "--out", str(folder), "--engine", "here")
    tables, text = kept.split(f"\n{folder}: ")
    for told in (alone, tables):
        assert told.partition("episodes in")[0] == alone.partition("episodes in")[0]
        assert told.partition("audit")[2].strip() == alone.partition("audit")[2].strip()
    assert text.startswith("2 of 2 runs finished\nnext: tightrope report")
    more = said(*words, "--algorithm", "uniform", "--out", str(folder), "--engine", "here")
    assert "4 of 4 runs finished" in more
    again = said(*words, "--out", str(folder), "--engine", "here")
    assert "uniform" in more
    assert "uniform" not in again


def test_curves_in_json_are_thin_and_keep_both_ends(tmp_path):
    told = data("learn", shop_at(tmp_path), "--algorithm", "optimal", "--episodes", "5000")
    (run,) = told["runs"]
    assert len(run["episode"]) <= MOST_POINTS
    assert (run["episode"][0], run["episode"][-1]) == (1, 5000)
    assert len(run["regret"]["cost"]) == len(run["violations"]) == len(run["episode"])
    assert run["first_feasible"] == 1
    assert run["rho"] is None


def test_several_seeds_show_their_spread_and_heuristics_are_marked(tmp_path):
    words = ["learn", shop_at(tmp_path), "--algorithm", "OptDual", "--episodes", "60"]
    words += ["--confidence", "tight", "--confidence", "scale=0.1", "--rho", "3"]
    shown = said(*words, "--seeds", "3")
    assert "seeds 1 to 3" in shown
    assert "rho 3, given" in shown
    assert "least to greatest over the seeds" in shown
    assert "[!] confidence: " in shown
    assert "scale=0.1 (heuristic): no guarantee holds" in shown
    ends = data(*words, "--seeds", "3")["learners"][0]["regret"]["cost"]
    assert ends["min"] <= ends["mean"] <= ends["max"]


def test_each_of_several_constraints_has_its_own_row():
    shown = said("learn", "queue", "--algorithm", "uniform", "--episodes", "5")
    assert "refused jobs" in shown
    assert "energy" in shown


def test_constraints_of_different_units_are_not_compared(tmp_path):
    model = tr.CMDP.from_costs(
        np.ones((1, 2, 1)),
        [[0.0, 1.0]],
        [[[0.0, 12.0]], [[1.0, 0.0]]],
        [20.0, 3.0],
        horizon=4,
        constraint_range=[(0, 12), (0, 1)],
        constraint_names=["hours", "jobs"],
    )
    model.save(tmp_path / "two.npz")
    words = ["learn", str(tmp_path / "two.npz"), "--algorithm", "uniform", "--episodes", "10"]
    shown = said(*words)
    assert "Reg" in shown
    assert shown.count("violation") == 2  # a share of episodes, and one for each constraint
    run = tr.learn(model, "uniform", episodes=10)
    ends = run.regret["constraint"][-1]
    assert ends == pytest.approx([40.0, -10.0])
    assert f"constraint {vector(ends)}" in repr(run)
    (found,) = data(*words)["learners"]
    assert found["regret"]["constraint"]["mean"] == pytest.approx(40.0 / 12.0)


def test_a_model_without_constraints_can_be_learned(tmp_path):
    path = shop_at(tmp_path)
    text = (tmp_path / "shop.toml").read_text()
    (tmp_path / "shop.toml").write_text(text[: text.index("[[constraint]]")])
    picture = tmp_path / "free.svg"
    shown = said(
        "learn", path, "--algorithm", "OptDual", "--episodes", "9", "--figure", str(picture)
    )
    assert "constraint" not in shown
    assert "no constraints" in picture.read_text(encoding="utf-8")
    (run,) = data("learn", path, "--algorithm", "OptDual", "--episodes", "9")["runs"]
    assert run["worst_violation"] == []


def test_the_picture_names_model_seeds_delta_and_confidence(tmp_path):
    path, picture = shop_at(tmp_path), tmp_path / "regret.svg"
    words = ["--algorithm", "OptCMDP", "--episodes", "30", "--seeds", "2"]
    words += ["--confidence", "scale=0.5", "--figure", str(picture)]
    assert f"written: {picture}" in said("learn", path, *words).replace("\n", "")
    drawn = picture.read_text(encoding="utf-8")
    assert "Regret on shop.toml, 30 episodes" in drawn
    assert "2 seeds; delta 0.1; confidence: faithful, scale=0.5 (heuristic)" in drawn
    assert "heuristic: no guarantee" in drawn


def test_learners_with_different_radii_are_labeled_differently(tmp_path):
    path, picture = shop_at(tmp_path), tmp_path / "regret.svg"
    words = ["learn", path, "--algorithm", "OptDual", "--algorithm", "certainty-equivalence"]
    words += ["--episodes", "9", "--confidence", "tight", "--rho", "3", "--figure", str(picture)]
    shown = said(*words)
    drawn = " ".join(re.sub("<[^>]+>", " ", picture.read_text(encoding="utf-8")).split())
    for text in (shown, drawn):
        assert "confidence of OptDual: tight" in text
        assert "confidence of certainty-equivalence: tight, scale=0.0" in text
    assert "rho 3, given" in drawn
    assert "certainty-equivalence (heuristic)" in drawn


def test_method_and_visits_reach_the_learner_and_options_of_others_are_refused(tmp_path):
    words = ["learn", shop_at(tmp_path), "--algorithm", "OptCMDP", "--episodes", "9"]
    words += ["--method", "lp", "--audit-visits"]
    with refuses(ConfigError, "none of OptCMDP-lp", argument="--dual-step"):
        data(*words, "--dual-step", "2")
    bonus, run = data(*words, "--algorithm", "OptCMDP-bonus")["runs"][::-1]
    assert bonus["algorithm"] == "OptCMDP-bonus-lp"
    assert run["algorithm"] == "OptCMDP-lp"
    assert run["options"] == {}
    assert run["audit"]["bad_episodes"]["visits"] == 0


def test_only_learners_with_a_baseline_have_bounds_that_can_fail(tmp_path):
    words = ["learn", shop_at(tmp_path), "--episodes", "20", "--margin-search"]
    told = said(*words, "--algorithm", "Safe-OptCMDP", "--algorithm", "OptCMDP")
    rows = [line.split() for line in told.splitlines()]
    found = {row[0]: row[-1] for row in rows if row[1:2] == ["yes"]}
    assert found == {"Safe-OptCMDP": "0", "OptCMDP": "-"}


def test_a_safe_learner_takes_its_baseline_from_a_rule_or_a_file(tmp_path):
    words = ["learn", "ring", "--episodes", "30", "--confidence", "tight"]
    words += ["--algorithm", "Safe-OptCMDP", "--baseline"]
    plan = tmp_path / "plan.npz"
    said("solve", "ring", "--budget", "moves=0.6", "--save", str(plan))
    assert "bound" in said(*words, "share:0.2")
    runs = [data(*words, each)["runs"][0] for each in ("share:0.2", str(plan))]
    np.testing.assert_allclose(runs[0]["regret"]["cost"], runs[1]["regret"]["cost"], rtol=1e-9)
    assert runs[0]["episodes_in_violation"] == runs[0]["audit"]["bound_failures"] == 0
    assert 0 < runs[0]["baseline"][-1] < 1


def test_all_means_the_four_learners_each_once():
    assert algorithm_names(["all", "OptDual"]) == PAPER
    assert len(PAPER) == 4
    assert algorithm_names(["OptDual", "uniform"]) == ["OptDual", "uniform"]
    by_lp = {"OptCMDP-lp", "OptCMDP-bonus-lp"}
    assert set(LEARNERS) - set(algorithm_names(["every"])) == by_lp
    assert set(LEARNERS) - set(algorithm_names(["every"], 2)) == {"Triple-Q"} | by_lp


def test_words_about_confidence_start_from_a_name_and_change_options():
    found = confidence_of(["scale=0.1", "tight", "pool=true", "replan=doubling"])
    assert (found.transition, found.scale, found.pool) == ("kl", 0.1, True)
    assert found.replan == "doubling"
    assert confidence_of([]).words == "faithful"
    assert confidence_of(["scale-cost=2"]).scale_cost == 2.0


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "much"])
def test_a_bound_on_the_multipliers_is_a_rule_or_positive(word):
    words = ["learn", "ring", "--algorithm", "OptDual", "--episodes", "3", "--rho"]
    assert data(*words, "bound")["runs"][0]["rho_rule"] == "bound"
    assert data(*words, "2.5")["runs"][0]["rho"] == 2.5
    with pytest.raises(ModelError, match=r"rho: .*expected a"):
        data(*words, word)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--algorithm OptDul", "did you mean 'OptDual'?"),
        ("--episodes 0", "'--episodes'"),
        ("--episodes many", "'--episodes'"),
        ("--seeds 0", "seeds: '0', expected a number or ranges"),
        ("--delta 1", "delta: 1.0, expected a number in (0, 1)"),
        ("--confidence scal=1", "unknown option 'scal', did you mean 'scale'?"),
        ("--confidence tigth", "expected 'faithful' or 'tight' or KEY=VALUE"),
        ("--confidence tigth", "did you mean 'tight'?"),
        ("--confidence pool=3", "pool: 3, expected true or false"),
        ("--confidence scale=1 --confidence scale=2", "'scale' is given twice"),
        ("--confidence tight --confidence faithful", "'mode' is given twice"),
        ("--confidence transition=cube", "transition: 'cube'"),
        ("--rho papr", "did you mean 'paper'?"),
        ("--dual-step 0", "dual_step: 0, expected a positive number"),
        ("--algorithm OptCMDP --method simplex", "method: 'simplex', expected one of 'columns'"),
        ("--method lp", "'lp' is for OptCMDP and OptCMDP-bonus, not for OptDual"),
        ("--figure a.gif", "a figure ends in .png, .pdf or .svg"),
        ("--figure nowhere/a.png", "nowhere is not a directory"),
        ("--set slip", "expected NAME=VALUE"),
    ],
)
def test_a_mistake_is_named_on_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, "ring", *words.split())
    assert list(tmp_path.iterdir()) == []


def refused(capsys, *words):
    assert status(["learn", *words]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith("tightrope: ")
    assert caught.err.count("\n") == 1
    return caught.err


def test_infeasible_budgets_are_reported_in_the_units_of_the_model(capsys):
    message = refused(capsys, "upac-random", "--budget", "utility=9.9")
    assert "'utility' has floor 9.9 " in message


def test_without_slack_in_the_budgets_a_dual_learner_requires_rho(capsys, tmp_path):
    path = shop_at(tmp_path, "budget = 2.0", "budget = 0.0")
    message = refused(capsys, path, "--algorithm", "all")
    assert "--rho: 'paper_x2' gives OptDual" in message
    assert "--rho 10" in message
    words = ["--algorithm", "OptDual", "--episodes", "5"]
    assert data("learn", path, *words, "--rho", "10")["runs"][0]["rho"] == 10.0


def test_the_help_has_an_example():
    assert "Example: tightrope learn ring" in said("learn", "--help")


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_ends_a_long_run_with_one_line_and_no_words():
    words = ["learn", "ring", "--algorithm", "uniform", "--episodes", "100000000", "--json"]
    with subprocess.Popen(
        [*CALL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stderr is not None
        lines = [command.stderr.readline()]
        while " episodes, " not in lines[-1] and len(lines) < 200:
            lines.append(command.stderr.readline())
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=120)
    assert "uniform on ring, seed 1: " in lines[-1]
    assert "/s" in lines[-1]
    assert (command.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "tightrope: interrupted"


def test_json_is_all_there_is_on_stdout(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert status(["learn", "ring", "--algorithm", "uniform", "--episodes", "3", "--json"]) == 0
    caught = capsys.readouterr()
    assert json.loads(caught.out)["model"] == "ring"
    assert all(line.startswith("tightrope: ") for line in caught.err.splitlines())


def test_a_start_that_is_learned_gives_other_runs_of_the_same_model(tmp_path):
    words = ["learn", "ring", "--algorithm", "OptDual", "--episodes", "30", "--confidence", "tight"]
    said(*words, "--out", str(tmp_path / "known"))
    said(*words, "--initial", "learned", "--out", str(tmp_path / "learned"))
    known, learned = (Experiment(tmp_path / word).runs()[0].load() for word in ("known", "learned"))
    assert learned.policy.shape == known.policy.shape
    assert learned.optimum == pytest.approx(known.optimum)
    assert not np.array_equal(learned.regret["cost"], known.regret["cost"])


@pytest.mark.parametrize("word", ["learnt", "3"])
def test_other_starts_are_refused_for_models(word, capsys):
    assert status(["learn", "ring", "--episodes", "5", "--initial", word]) == 2
    assert "--initial: " in capsys.readouterr().err
