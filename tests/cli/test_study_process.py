"""``tightrope study``: a process from the first question to the last episode, in words."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
from contextlib import closing
from threading import Timer

import numpy as np
import pytest
from shop import CALL, data, said
from typer.testing import CliRunner

import tightrope as tr
from driven import instance
from telling import as_line, episode
from tightrope.cli.app import app, status
from tightrope.cli.study import db_words

NEW = ["--states", "fine,worn,down", "--actions", "hard,gentle", "--horizon", "3"]
BUDGETS = ["--budget", "wear=1.5", "--budget", "noise=1"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIGHTROPE_DB", raising=False)


@pytest.fixture
def pump():
    said("study", "new", "pump", *NEW, *BUDGETS, "--episodes", "50", "--confidence", "tight")


def lines(*told):
    return "".join(json.dumps(as_line(each)) + "\n" for each in told)


def tell(*told, words=("pump",)):
    return CliRunner().invoke(app, ["study", "tell", *words], input=lines(*told))


def refused(capsys, *words):
    """The one line that a command ends with."""
    assert status(["study", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_a_study_counts_episodes_from_the_first_question_to_its_status(pump):
    first = data("study", "ask", "pump", "--save", "first.npz")
    assert (first["number"], first["told"], first["episodes"]) == (1, 0, 50)
    assert first["bounds"]["cost"] == {"lower": 0.0, "upper": 3.0}
    with np.load("first.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["policy"], first["probabilities"])
        assert list(file["constraint_names"]) == ["wear", "noise"]

    assert "2 episodes recorded" in tell(episode(1, policy=1), episode(2)).stdout
    assert "0 episodes recorded, 1 were told before" in tell(episode(2)).stdout

    told = data("study", "status", "pump")
    sums = np.array([np.sum(episode(k).cost) for k in (1, 2)])
    assert told["totals"][0]["mean"] == pytest.approx(sums.mean())
    # two episodes leave the limits of a sum over three steps
    assert (told["totals"][0]["lower"], told["totals"][0]["upper"]) == (0.0, 3.0)
    assert told["last"]["episode"] == "day 2"
    assert told["next_policy"]["number"] == 3
    assert [each["name"] for each in told["totals"]] == ["cost", "wear", "noise"]
    words = said("study", "status", "pump")
    assert "2 of 50 episodes told" in words
    assert "next: tightrope study ask pump, play policy 3, tell what happened" in words


def test_the_policy_is_the_learners(pump):
    tell(*(episode(k) for k in range(20)))
    told, study = data("study", "ask", "pump"), tr.Study("tightrope.sqlite", "pump")
    learner = study.learner()
    policy = learner.plan().policy
    np.testing.assert_array_equal(told["probabilities"], policy)
    for row in told["policy"]:
        state = told["states"].index(row["state"])
        of_row = [row["actions"].get(action, 0.0) for action in told["actions"]]
        np.testing.assert_array_equal(policy[row["stage"], state], of_row)
    bounds = learner.bound(learner.plan().policy)
    assert told["bounds"]["constraints"][1]["upper"] == bounds.constraint_cost[1, 1]
    assert told["planned"]["cost"] == learner.plan().value
    words = said("study", "ask", "pump")
    assert "policy 21, after 20 episodes" in words
    assert "not decided yet" in words
    assert 'Tell its episode with "policy": 21.' in words


def test_files_are_one_batch(pump, tmp_path, capsys):
    (tmp_path / "good.jsonl").write_text(lines(episode(1)))
    (tmp_path / "bad.jsonl").write_text(lines(episode(2)) + "nonsense\n")
    error = refused(capsys, "tell", "pump", "good.jsonl", "bad.jsonl")
    assert "bad.jsonl, line 2: no JSON" in error
    assert data("study", "status", "pump")["told"] == 0
    assert data("study", "tell", "pump", "good.jsonl")["new"] == 1


def test_a_spreadsheet_in_another_style_is_read_as_written(pump, tmp_path, capsys):
    told = [as_line(episode(k, f"Schicht é{k}")) for k in range(4)]
    states, actions = ("fine", "worn", "down"), ("hard", "gentle")
    rows = ["Episode;Step;Maschine;Action;Next State;Cost;Wear;Noise"]
    for each in told:
        s, a, bounded = each["states"], each["actions"], each["constraint_cost"]
        for h in range(3):
            step = each["episode"], h, states[s[h]], actions[a[h]], states[s[h + 1]]
            costs = each["cost"][h], bounded["wear"][h], bounded["noise"][h]
            rows.append(";".join([*map(str, step), *(str(x).replace(".", ",") for x in costs)]))
    (tmp_path / "log.csv").write_bytes("\n".join(rows).encode("cp1252"))
    words = ["tell", "pump", "log.csv"]
    for option in ("--encoding=cp1252", "--column=state=maschine", "--decimal=,"):
        assert option[:8] in refused(capsys, *words)
        words.append(option)
    assert data("study", *words)["new"] == 4
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))
    assert data("study", "tell", "pump", "log.jsonl")["known"] == 4


def test_what_cannot_be_told_is_a_one_line_error(pump, tmp_path, capsys):
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    tell(episode(1))
    (tmp_path / "other.jsonl").write_text(lines(episode(2, "day 1")))
    assert "missing.jsonl: cannot be read" in refused(capsys, "tell", "pump", "missing.jsonl")
    assert "binary.jsonl: cannot be read" in refused(capsys, "tell", "pump", "binary.jsonl")
    assert "other.jsonl, line 1: episode" in refused(capsys, "tell", "pump", "other.jsonl")
    assert "no study 'pomp'; there are: " in refused(capsys, "ask", "pomp")
    assert "none.sqlite: no such database" in refused(capsys, "ask", "x", "--db", "none.sqlite")
    assert "saved as .npz" in refused(capsys, "ask", "pump", "--save", "policy.txt")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--states", "2"], "--actions: missing"),
        ([*NEW, "--budget", "wear"], "--budget: wear, expected NAME=VALUE"),
        ([*NEW, "--budget", "wear=much"], "--budget wear: 'much'"),
        ([*NEW, "--budget", "wear=1", "--budget", "wear=2"], "'wear' is given twice"),
        ([*NEW, "--budget", "wear=9"], "budget"),
        ([*NEW, "--initial", "lost"], "--initial: 'lost' is none of fine, worn, down"),
        ([*NEW, "--states", "a,,b"], "--states: a,,b, expected distinct names"),
        ([*NEW, "--states", "0"], "--states: 0, expected a whole number of at least 1"),
        ([*NEW, "--states", "fine"], "--states: fine cannot be read (No such file"),
        ([*NEW, "--algorithm", "OptDual"], "rho: missing; OptDual needs a bound"),
        ([*NEW, "--confidence", "brave"], "--confidence: brave"),
        ([*NEW, "--model", "ring"], "--states: given by --model already"),
        (["--model", "inventory"], "--model: 'sales in days of mean demand' is"),
    ],
)
def test_a_study_that_cannot_be_right_is_not_made(words, message, capsys, tmp_path):
    assert message in refused(capsys, "new", "pump", *words)
    assert not (tmp_path / "tightrope.sqlite").exists()


def test_a_study_takes_its_shape_from_a_model():
    cmdp = instance(4, A=3, S=2, H=2, is_masked=True)
    cmdp.save("model.npz")
    told = data("study", "new", "same", "--model", "model.npz", "--budget", "constraint 0=0.75")
    assert told["budgets"] == {"constraint 0": 0.75}
    assert (told["horizon"], told["states"], told["actions"]) == (2, ["0", "1"], ["0", "1", "2"])
    policy = np.array(data("study", "ask", "same")["probabilities"])
    assert not policy[~cmdp.allowed].any()
    np.testing.assert_array_equal(
        tr.Study("tightrope.sqlite", "same").learner().task.initial, cmdp.initial
    )


def test_numbers_will_do_for_names_and_the_start_is_chosen():
    words = ["--states", "2", "--actions", "2", "--horizon", "1", "--initial", "1"]
    said("study", "new", "plain", *words)
    told = tr.Told("a", [1, 0], ["0"], [0.5], {})
    assert tell(told, words=("plain",)).exit_code == 0
    assert tr.Study("tightrope.sqlite", "plain").terms.initial == 1


def test_a_process_that_is_the_same_at_every_step_is_counted_together():
    said("study", "new", "same", *NEW, *BUDGETS, "--stationary")
    said("study", "new", "plain", *NEW, *BUDGETS)
    same, plain = (tr.Study("tightrope.sqlite", name) for name in ("same", "plain"))
    for study in (same, plain):
        study.tell([episode(0, f"day {k}") for k in range(100)])  # never leaves the first state
    policy = np.zeros((3, 3), dtype=int)
    narrow, wide = (study.learner().bound(policy).cost for study in (same, plain))
    assert np.ptp(narrow) < np.ptp(wide)


def test_the_word_alone_shows_its_help():
    assert said("study") == said("study", "--help")


def test_the_database_comes_from_the_environment_too(pump, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_DB", "other.sqlite")
    said("study", "new", "two", *NEW, *BUDGETS)
    assert [row["study"] for row in data("study", "status")] == ["two"]
    assert [row["study"] for row in data("study", "status", "--db", "tightrope.sqlite")] == ["pump"]
    assert "two" in said("study", "status")


def test_after_the_last_episode_the_policy_stays_and_is_marked_final():
    said("study", "new", "short", *NEW, *BUDGETS, "--episodes", "1")
    tell(episode(1), words=("short",))
    assert "this is the last policy" in said("study", "ask", "short")
    assert data("study", "status", "short")["next"].startswith("all episodes were told")


def test_telling_loads_no_compiled_code(pump):
    code = (
        "import sys; sys.argv = ['tightrope', 'study', 'tell', 'pump']\n"
        "from tightrope.cli import main\n"
        "try:\n    main()\nfinally:\n    sys.exit('numba' in sys.modules)"
    )
    done = subprocess.run([*CALL[:1], "-c", code], input=lines(episode(1)), text=True)
    assert done.returncode == 0


def test_names_that_look_like_commands_are_only_names(tmp_path):
    nasty = "$(touch injected); '; DROP TABLE tightrope_studies; --"
    said("study", "new", nasty, *NEW, "--budget", f"{nasty}=1")
    told = episode(1, nasty, constraint_cost={nasty: [0, 0, 0]})
    assert tell(told, words=(nasty,)).exit_code == 0
    assert data("study", "status", nasty)["last"]["episode"] == nasty
    # what is said to be typed next means the same name to a shell
    assert shlex.split(data("study", "status", nasty)["next"])[3] == f"{nasty},"
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"tightrope"}


def test_a_study_that_cannot_be_read_does_not_hide_the_others(pump):
    said("study", "new", "newer", *NEW, *BUDGETS)
    with closing(sqlite3.connect("tightrope.sqlite")) as connection, connection:
        connection.execute("UPDATE tightrope_studies SET form = 2 WHERE name = 'newer'")
    first, second = data("study", "status")
    assert (first["study"], first["told"]) == ("pump", 0)
    assert second["study"] == "newer"
    assert "has format 2, this version of tightrope reads format 1" in second["error"]
    words = said("study", "status")
    assert "OptCMDP" in words
    assert "newer cannot be read: tightrope.sqlite: study 'newer' has format 2" in words


def test_the_next_command_names_the_same_database(monkeypatch):
    place = ["--db", "my studies.sqlite"]
    words = said("study", "new", "pump", *NEW, *BUDGETS, *place)
    assert "next: tightrope study ask pump --db 'my studies.sqlite'" in words
    told = data("study", "status", "pump", *place)["next"]
    assert shlex.split(told)[:6] == [
        "tightrope",
        "study",
        "ask",
        "pump",
        *place[:1],
        f"{place[1]},",
    ]
    monkeypatch.setenv("TIGHTROPE_DB", place[1])
    assert "--db" not in data("study", "status", "pump")["next"]


def test_passwords_are_not_part_of_what_to_type_next():
    assert db_words("postgresql://me:secret@host/x") == " --db 'postgresql://me:***@host/x'"


def test_status_saves_the_next_one_its_work(pump):
    tell(episode(1), episode(2))
    data("study", "status", "pump")
    seen = []
    tr.Study("tightrope.sqlite", "pump").learner(seen.append)
    assert seen == []


def test_waiting_for_another_writer_is_reported(pump, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tightrope.progress.PATIENCE", 0.01)
    (tmp_path / "told.jsonl").write_text(lines(episode(1)))
    with closing(
        sqlite3.connect("tightrope.sqlite", isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        end = Timer(1.0, other.execute, ["ROLLBACK"])
        end.start()
        assert status(["study", "tell", "pump", "told.jsonl"]) == 0
        end.join()
    assert "waiting for other writers" in capsys.readouterr().err


# safe studies

SAFE = ["--safe", "own.npz", "--baseline-use", "wear=0.5", "--baseline-use", "noise=0.25"]


@pytest.fixture
def own():
    """A policy of one's own: gentle, whatever the state."""
    policy = np.tile([0.0, 1.0], (3, 3, 1))
    np.savez("own.npz", policy=policy)
    return policy


def test_a_safe_study_shows_which_policy_to_follow_and_why(own):
    said("study", "new", "pump", *NEW, *BUDGETS, "--episodes", "50", *SAFE)
    played = set()
    for k in range(8):
        told = data("study", "ask", "pump", "--save", "next.npz")
        advice = told["advice"]
        assert data("study", "ask", "pump") == {**told, "saved": None}
        assert data("study", "status", "pump")["next_policy"]["advice"] == advice
        is_own = advice["play"] == "baseline"
        assert np.array_equal(told["probabilities"], own) == is_own
        assert all(("reached" in row) == (not is_own) for row in told["policy"])
        assert (told["planned"] is None) == (told["multipliers"] is None) == is_own
        # by hand: no step is known yet to cost less than 1, and 0.6 * 0.5 + 0.4 * 3 = 1.5
        if k == 0:
            assert advice["probability"] == pytest.approx(max(1.5 / 2.5, 2 / 2.75))
        with np.load("next.npz", allow_pickle=False) as file:
            np.testing.assert_array_equal(file["policy"], told["probabilities"])
        words = said("study", "ask", "pump")
        lead = "Play your own policy this time:" if is_own else "Play the new policy: it could use"
        assert lead in words
        assert f"had probability {advice['probability']:.3g}" in words.replace("\n", " ")
        assert ("planned" in words) == ("expected visits" in words) == (not is_own)
        played.add(is_own)
        tell(episode(k, policy=told["number"] if k % 2 else None))
    assert played == {True, False}
    plays = data("study", "status", "pump")["plays"]
    assert (plays["n_asked"], plays["n_credited"], plays["n_other"]) == (8, 8, 0)
    assert 0 < plays["n_baseline"] == plays["n_played"] < 8
    n = plays["n_played"]
    words = f"your own policy: recommended {n} of 8 times, played in {n} of 8 episodes"
    assert words in said("study", "status", "pump")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--safe", "own.npz"], "--baseline-use: missing for 'wear', 'noise'; state what"),
        (["--baseline-use", "wear=0.5"], "--baseline-use: give --safe"),
        ([*SAFE[:4]], "--baseline-use: missing for 'noise'; state what"),
        ([*SAFE, "--baseline-use", "wear=0.5"], "--baseline-use: 'wear' is given twice"),
        ([*SAFE[:2], "--baseline-use", "wear"], "--baseline-use: wear, expected"),
        ([*SAFE, "--baseline-use", "heat=1"], "--baseline-use: 'heat' is no budget"),
        ([*SAFE[:4], "--baseline-use", "noise=1"], "--baseline-use['noise']: 1, expected at least"),
        ([*SAFE, "--algorithm", "Triple-Q"], "--safe: Triple-Q cannot use a baseline"),
        ([*SAFE, "--algorithm", "OptDual"], "rho: missing"),
        (["--safe", "none.npz", *SAFE[2:]], "--safe none.npz: none.npz: cannot be read"),
        (["--safe", "least-use", *SAFE[2:]], "--safe: least-use, expected"),
        (["--safe", "named.npz", *SAFE[2:]], "--safe named.npz: state names: expected 'down'"),
        (["--algorithm", "DOPE"], "--safe: missing; DOPE needs a policy of yours"),
        ([*SAFE, "--baseline", "uniform"], "No such option: --baseline"),
    ],
)
def test_a_safe_study_that_cannot_be_right_is_not_made(own, words, message, capsys, tmp_path):
    names = {"state_names": ["fine", "worn", "lost"], "action_names": ["hard", "gentle"]}
    np.savez("named.npz", policy=own, constraint_names=["wear", "noise"], **names)
    assert message in refused(capsys, "new", "pump", *NEW, *BUDGETS, *words)
    assert not (tmp_path / "tightrope.sqlite").exists()


def test_a_baseline_is_read_by_the_names_of_its_file(own):
    names = {"state_names": ["down", "fine", "worn"], "action_names": ["gentle", "hard"]}
    other = np.zeros((3, 3, 2))
    other[:, 0, 1] = other[:, 1:, 0] = 1.0  # hard when down, else gentle
    np.savez("own.npz", policy=other, constraint_names=["wear", "noise"], **names)
    said("study", "new", "pump", *NEW, *BUDGETS, *SAFE)
    read = tr.Study("tightrope.sqlite", "pump").learner()._agent.decision.baseline
    np.testing.assert_array_equal(read.argmax(axis=2), np.tile([1, 1, 0], (3, 1)))


def test_telling_a_safe_study_loads_no_compiled_code(own):
    said("study", "new", "pump", *NEW, *BUDGETS, *SAFE)
    code = (
        "import sys; sys.argv = ['tightrope', 'study', 'tell', 'pump']\n"
        "from tightrope.cli import main\n"
        "try:\n    main()\nfinally:\n    sys.exit('numba' in sys.modules)"
    )
    done = subprocess.run([*CALL[:1], "-c", code], input=lines(episode(1)), text=True)
    assert done.returncode == 0


def test_the_database_is_named_when_a_study_is_created():
    assert "stored in tightrope.sqlite" in said("study", "new", "pump", *NEW, *BUDGETS)


def test_where_no_action_is_preferred_any_may_be_played(pump):
    first = said("study", "ask", "pump")
    assert "(or any)" in first
    assert "no action is preferred there yet" in first
    # one episode with costs rules nothing out: all lower bounds are still 0
    tell(episode(0))
    assert "(or any)" in said("study", "ask", "pump")
    undecided = tr.Study("tightrope.sqlite", "pump").ask().is_undecided
    assert undecided.all()


def test_an_action_that_must_cost_is_not_one_of_any():
    # "hard" costs 1 in every step, 40 times: more than its radius; "gentle" nothing
    words = [
        "--states",
        "on,off",
        "--actions",
        "hard,gentle",
        "--horizon",
        "1",
        "--episodes",
        "200",
    ]
    said("study", "new", "press", *words)
    told = [
        tr.Told(f"{k}", ["on", "on"], ["hard" if k % 2 else "gentle"], [float(k % 2)], {})
        for k in range(80)
    ]
    study = tr.Study("tightrope.sqlite", "press")
    assert study.ask().is_undecided.tolist() == [[True, True]]
    study.tell(told)
    assert study.ask().is_undecided.tolist() == [[False, True]]
    shown = said("study", "ask", "press")
    assert "gentle" in shown
    assert "(or any)" not in shown


def test_estimated_plans_take_only_tried_actions_and_are_not_called_optimistic():
    said("study", "new", "pump", *NEW, *BUDGETS, "--algorithm", "certainty-equivalence")
    shown = said("study", "ask", "pump")
    assert "no action is preferred there yet" in shown
    tell(episode(0))
    shown = said("study", "ask", "pump")
    assert "values in the estimated model, with tried actions only" in shown
    assert "optimistic" not in shown + said("study", "status", "pump")


def test_planned_values_that_are_not_possible_are_explained():
    said("study", "new", "pump", *NEW, *BUDGETS, "--algorithm", "OptCMDP-bonus")
    assert "better than is possible" in said("study", "ask", "pump").replace("\n", " ")


def test_a_study_begins_in_a_distribution_of_states(capsys):
    said("study", "new", "pump", *NEW, *BUDGETS, "--initial", "fine=0.25, worn=0.75")
    assert tr.Study("tightrope.sqlite", "pump").terms.initial == [0.25, 0.75, 0.0]
    words = ["new", "other", *NEW, *BUDGETS, "--initial"]
    assert "did you mean 'worn'" in refused(capsys, *words, "fine=0.5,wornn=0.5")
    assert "sums to 0.9" in refused(capsys, *words, "fine=0.5,worn=0.4")
    assert "STATE=PROBABILITY" in refused(capsys, *words, "fine=half")


def test_a_study_may_plan_by_certainty_equivalence():
    words = ["--algorithm", "certainty-equivalence"]
    said("study", "new", "pump", *NEW, *BUDGETS, "--episodes", "50", *words)
    tell(*(episode(k) for k in range(9)))
    found = data("study", "ask", "pump")
    assert found["algorithm"] == "certainty-equivalence"
    assert found["bounds"]["guaranteed"]


def test_a_study_is_exported_renamed_undone_and_deleted(pump, capsys):
    tell(*(episode(k) for k in range(3)))
    assert "3 episodes written to out.jsonl" in said(
        "study", "export", "pump", "--out", "out.jsonl"
    )
    said("study", "new", "other", *NEW, *BUDGETS, "--episodes", "50")
    assert "3 episodes recorded" in said("study", "tell", "other", "out.jsonl")
    fitted = data("fit", "out.jsonl", *BUDGETS, "--initial", "fine")
    assert fitted["episodes"] == 3
    assert data("study", "undo", "pump") == {"study": "pump", "removed": "day 2", "told": 2}
    assert data("study", "rename", "pump", "mill") == {"study": "mill", "before": "pump"}
    assert "unknown" not in said("study", "status", "mill")
    for words in (["rename", "mill", "other"], ["delete", "mill"], ["undo", "pump"]):
        refused(capsys, *words)
    assert data("study", "delete", "mill", "--yes") == {"study": "mill", "deleted": 2}
    assert [each["study"] for each in data("study", "status")] == ["other"]


# starts that are not known


def test_episodes_of_a_study_may_begin_anywhere_if_its_start_is_learned():
    words = [*NEW, *BUDGETS, "--initial", "learned"]
    said("study", "new", "pump", *words)
    said("study", "new", "other", *NEW, *BUDGETS)
    anywhere = episode(1, states=["worn", "fine", "down", "fine"])
    assert "1 episode recorded" in tell(anywhere).stdout
    told = tell(anywhere, words=("other",))
    assert isinstance(told.exception, tr.DataError)
    assert (told.exception.argument, told.exception.entry) == ("episode.states", "h=0")
    answer = data("study", "ask", "pump")
    assert np.array(answer["probabilities"]).shape == (3, 3, 2)
    assert answer["bounds"]["cost"] == {"lower": 0.0, "upper": 3.0}
    learner = tr.Study("tightrope.sqlite", "pump").learner()
    assert learner.is_undecided.shape == (3, 3)
    assert learner.is_start_learned
    assert (learner.task.horizon, learner.n_observed) == (3, 1)


def test_a_state_may_be_called_learned():
    names = ["--states", "fine,learned", "--actions", "a,b", "--horizon", "2"]
    said("study", "new", "pump", *names, "--initial", "learned")
    assert tr.Study("tightrope.sqlite", "pump").terms.initial == 1
