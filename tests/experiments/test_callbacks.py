"""Callbacks, seeds and messages of learning: what is told, and that nothing changes."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope.arrays import as_seed
from tightrope.errors import ConfigError

FEW = {"episodes": 60, "seeds": 2, "confidence": "tight"}


@pytest.mark.parametrize("algorithm", ["OptCMDP", "PSRL", "uniform"])
def test_a_run_with_a_callback_is_the_run_without_it(algorithm):
    rows = []
    how = {"episodes": 300, "seed": 4, "confidence": "tight", "points": 50}
    plain = tr.learn("ring", algorithm, **how)
    told = tr.learn("ring", algorithm, **how, on_record=rows.append)
    for kind, curve in plain.regret.items():
        np.testing.assert_array_equal(told.regret[kind], curve)
    np.testing.assert_array_equal(told.policy, plain.policy)
    np.testing.assert_array_equal([row["episode"] for row in rows], plain.episode)


def test_rows_hold_what_the_run_records_in_its_units():
    rows = []
    model = tr.envs.build("perishable")
    learner = tr.learners.SafeOptCMDP(baseline="share:0.9")
    run = tr.learn(model, learner, episodes=40, confidence="tight", on_record=rows.append)
    table = run.to_pandas().pivot(index="episode", columns="constraint")
    names = dict(zip(sorted(table["multiplier"]), model.constraint_names, strict=True))
    for column in (
        "constraint_excess",
        "constraint_regret",
        "constraint_regret_plus",
        "multiplier",
    ):
        for own, name in names.items():
            np.testing.assert_array_equal(table[column][own], [row[column][name] for row in rows])
    shared = ("cost_excess", "cost_regret", "cost_regret_plus", "violations", "baseline")
    for column in shared:
        np.testing.assert_array_equal(
            table[column].iloc[:, 0], [row[column] for row in rows], err_msg=column
        )


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_experiments_report_each_recorded_episode_once(tmp_path, engine):
    plain, told = tr.Experiment(tmp_path / "plain"), tr.Experiment(tmp_path / "told")
    rows = []
    for experiment in (plain, told):
        experiment.add("ring", ["OptCMDP", "uniform"], **FEW)
    plain.run(engine="here", progress=False)
    told.run(engine, progress=False, on_record=lambda spec, row: rows.append((spec.id, row)))
    for mine, theirs in zip(told.runs(), plain.runs(), strict=True):
        record = "record.parquet"
        assert (mine.path / record).read_bytes() == (theirs.path / record).read_bytes()
        seen = [row for run, row in rows if run == mine.spec.id]
        found = mine.load()
        np.testing.assert_array_equal([row["episode"] for row in seen], found.episode)
        regret = [row["cost_regret_plus"] for row in seen]
        np.testing.assert_array_equal(regret, found.regret["cost_plus"])
    assert len(rows) == 4 * 60


def test_callbacks_are_functions(tmp_path):
    with refuses(ConfigError, argument="on_record"):
        tr.learn("ring", "uniform", episodes=3, on_record=3)
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", episodes=3, seeds=1)
    with refuses(ConfigError, argument="on_record"):
        experiment.run(on_record="x")


def test_an_error_of_a_callback_ends_the_run():
    def fail(_):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        tr.learn("ring", "uniform", episodes=3, on_record=fail)


# --- seeds ------------------------------------------------------------------------------------


def test_a_sequence_of_a_number_stands_for_it_and_spawned_ones_for_themselves():
    parent = np.random.SeedSequence(5)
    assert as_seed("seed", parent) == 5 == as_seed("seed", np.int64(5))
    children = parent.spawn(3)
    found = [as_seed("seed", child) for child in children]
    assert len({5, *found}) == 4
    assert [as_seed("seed", child) for child in children] == found
    assert all(0 <= each < 2**53 for each in found)
    long = np.random.SeedSequence()
    assert as_seed("seed", long) == as_seed("seed", np.random.SeedSequence(long.entropy))


@pytest.mark.parametrize("seed", [-1, 1.5, "3", True, [1, 2]])
def test_other_seeds_are_refused(seed):
    with refuses(ConfigError, argument="seed"):
        tr.learn("ring", "uniform", episodes=3, seed=seed)


@pytest.mark.parametrize("seed", [None, np.random.SeedSequence(1).spawn(1)[0]])
def test_the_seed_of_a_run_repeats_it(seed):
    run = tr.learn("ring", "PSRL", episodes=30, seed=seed)
    again = tr.learn("ring", "PSRL", episodes=30, seed=run.seed)
    np.testing.assert_array_equal(run.excess, again.excess)
    log = tr.simulate("ring", run.policy, 20, seed=seed)
    np.testing.assert_array_equal(
        log.episodes.states, tr.simulate("ring", run.policy, 20, seed=log.seed).episodes.states
    )


def test_fresh_seeds_differ():
    assert as_seed("seed", None) != as_seed("seed", None)


def test_seeds_of_experiments_may_be_sequences(tmp_path):
    experiment = tr.Experiment(tmp_path)
    children = np.random.SeedSequence(1).spawn(2)
    assert experiment.add("ring", "uniform", 3, [*children, 7]) == 3
    assert experiment.add("ring", "uniform", 3, children) == 0
    expected = [*(as_seed("seed", each) for each in children), 7]
    assert [spec.seed for spec in experiment.specs()] == expected
    assert experiment.add("ring", "uniform", 3, None) == 1
    assert experiment.add("ring", "uniform", 3, np.random.SeedSequence(7)) == 0


# --- messages ---------------------------------------------------------------------------------


def test_the_library_logs_its_work_to_handlers(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="tightrope")
    tr.solve("ring")
    tr.learn("ring", "uniform", episodes=3, seed=2)
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", episodes=3, seeds=1)
    experiment.run(engine="here", progress=False)
    (run,) = (spec.id for spec in experiment.specs())
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    for words in (
        "solve: 3 states, value 2,",
        "learn: uniform, 3 episodes, seed 2: started",
        "learn: uniform, seed 2: finished",
        f"run {run}: started",
        f"run {run}: finished 3 episodes",
    ):
        assert sum(message.startswith(words) for message in said) == 1, words


def test_studies_log_what_is_told_and_asked(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="tightrope.study")
    terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
    study = tr.Study.new(tmp_path / "pump.db", "pump", terms)
    study.tell([tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})])
    study.ask()
    assert [record.getMessage() for record in caplog.records] == [
        "study pump: created",
        "study pump: 1 episode told, 1 in all",
        "study pump: policy 2 after 1 episode",
    ]


def test_nothing_is_logged_unless_logging_is_set_up():
    code = "import tightrope as tr; tr.learn('ring', 'uniform', episodes=3, progress=False)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "started" not in done.stdout + done.stderr
