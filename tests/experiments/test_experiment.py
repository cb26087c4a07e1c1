"""Experiments from Python: what is added, run, read back and written."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import tightrope as tr
from driven import simulate_spec
from refusals import refuses
from tightrope.cli.app import status
from tightrope.envs import build
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.run_files import run_table
from tightrope.learners import learner_names

FEW = {"episodes": 40, "seeds": 2, "confidence": "tight"}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An experiment of which every run is finished."""
    experiment = tr.Experiment(tmp_path_factory.mktemp("experiments") / "ring")
    experiment.add("ring", ["OptDual", "uniform"], **FEW)
    experiment.run(engine="here", progress=False)
    return experiment


def test_runs_are_added_once_and_more_seeds_add_the_new_ones(tmp_path):
    experiment = tr.Experiment(tmp_path / "new" / "folder")
    assert not experiment.exists
    assert repr(experiment) == f"Experiment({str(tmp_path / 'new' / 'folder')!r})"
    assert experiment.add("ring", ["OptCMDP", "OptDual"], episodes=30, seeds=range(3)) == 6
    assert experiment.add("ring", "OptDual", 30, "0-4") == 2
    assert experiment.add("ring", "OptDual", 30, np.arange(5)) == 0
    assert [spec.seed for spec in experiment.specs()] == [0, 1, 2, 0, 1, 2, 3, 4]
    assert "0 of 8 runs finished, 0 under way, 0 of 240 episodes" in repr(experiment)


def test_options_are_fields_of_the_runs_and_lists_make_grids(tmp_path):
    experiment = tr.Experiment(tmp_path)
    given = {"parameters": {"budget": [2.0, 3.0]}, "rho": 4.0, "delta": 0.2, "points": 10}
    assert experiment.add("ring", "OptDual", [20, 30], 1, **given) == 4
    specs = experiment.specs()
    assert {(s.episodes, s.parameters["budget"]) for s in specs} == {
        (20, 2.0),
        (20, 3.0),
        (30, 2.0),
        (30, 3.0),
    }
    assert {(s.learner.rho, s.delta, s.points) for s in specs} == {(4.0, 0.2, 10)}


def test_a_model_a_file_of_it_and_the_same_model_again_are_the_same_runs(tmp_path):
    cmdp, experiment = build("ring"), tr.Experiment(tmp_path / "e")
    cmdp.save(tmp_path / "ring.npz")
    assert experiment.add(cmdp, "OptDual", **FEW, name="../mine") == 2
    assert experiment.add(build("ring"), "OptDual", **FEW) == 0
    assert experiment.add(tmp_path / "ring.npz", "OptDual", **FEW) == 0
    assert experiment.add(str(tmp_path / "ring.npz"), "OptDual", **FEW) == 0
    assert len(list((tmp_path / "e" / "models").iterdir())) == 1
    assert experiment.specs()[0].environment == "../mine.npz"
    assert experiment.run("here", progress=False).finished == 2
    np.testing.assert_array_equal(experiment.runs()[0].cmdp.cost, cmdp.cost)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learners": "OptDul"}, "did you mean 'OptDual'"),
        ({"learners": ["OptDual", 3]}, "learners: 3, expected a learner"),
        ({"seeds": "x"}, "seeds: 'x', expected a number"),
        ({"seeds": []}, "an empty list"),
        ({"episodes": 0}, "episodes: 0"),
        ({"ro": 4.0}, "unknown field 'ro'"),
        ({"algorithm": "OptCMDP"}, "algorithm: not an option; it is determined by learners"),
        ({"problem": "rong"}, "rong"),
        ({"problem": "missing.npz"}, "no such file"),
        ({"problem": 3}, "problem: 3, expected a CMDP"),
        ({"budget": {"move": 2.0}}, "constraint 'move' is unknown"),
        ({"method": "lp"}, "'lp' is for OptCMDP"),
    ],
)
def test_invalid_settings_of_runs_are_refused_and_nothing_is_written(change, message, tmp_path):
    given = {"problem": "ring", "learners": "OptDual", "episodes": 5, "seeds": 1} | change
    with pytest.raises(tr.TightropeError, match=message):
        tr.Experiment(tmp_path / "e").add(**given)
    assert list(tmp_path.iterdir()) == []


def test_words_for_several_learners_leave_out_those_that_do_not_fit_the_model(tmp_path):
    table = {"environment": ["ring", "queue"], "algorithm": "every", "episodes": 5}
    experiment = tr.Experiment(tmp_path / "spec")
    experiment.add_spec(table | {"rho": 4.0})
    found = {name: set() for name in table["environment"]}
    for spec in experiment.specs():
        found[spec.environment].add(spec.algorithm)
    assert build("queue").n_constraints > 1
    assert found["ring"] == set(learner_names("every"))
    assert found["ring"] - found["queue"] == {"Triple-Q"}
    added = tr.Experiment(tmp_path / "add")
    assert added.add("queue", ["all", "OptDual"], **FEW) == 4 * FEW["seeds"]
    assert added.add("queue", "every", **FEW) == (len(found["ring"]) - 5) * FEW["seeds"]
    named = tr.Experiment(tmp_path / "named")  # the runs themselves say that it does not fit
    assert named.add("queue", ["every", "Triple-Q"], **FEW) == len(found["ring"]) * FEW["seeds"]


def test_a_table_and_a_file_of_it_give_the_same_runs(tmp_path):
    build("ring").save(tmp_path / "mine.npz")
    (tmp_path / "sweep.toml").write_text(
        'environment = ["mine.npz", "ring"]\nalgorithm = "uniform"\nepisodes = [5, 6]\n'
    )
    experiment = tr.Experiment(tmp_path / "e")
    assert experiment.add_spec(tmp_path / "sweep.toml") == 4
    table = {"environment": "ring", "algorithm": "uniform", "episodes": [5, 6, 7]}
    assert experiment.add_spec(table) == 1
    assert [bool(spec.model) for spec in experiment.specs()] == [True, True, False, False, False]
    with pytest.raises(tr.ConfigError, match=r"none\.toml: cannot be read"):
        experiment.add_spec(tmp_path / "none.toml")


def test_the_outcome_lists_completed_work(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", 20, 3)
    seen = []
    outcome = experiment.run("here", progress=lambda now, episodes: seen.append(now.n_runs))
    assert (outcome.n_runs, outcome.finished, outcome.episodes, outcome.failed) == (3, 3, 60, {})
    assert repr(outcome) == "Outcome(3 of 3 runs finished, 60 episodes run)"
    assert set(seen) == {3}
    assert experiment.run("here").episodes == 0


def test_a_run_that_fails_is_in_the_outcome(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", 5, 1)
    folder = experiment.folder(experiment.specs()[0])
    folder.begin("{}", {})
    (folder.path / "snapshot-000000000003").write_bytes(b"nothing")
    outcome = experiment.run("here", progress=False)
    assert "no snapshot can be read" in repr(outcome)
    assert (outcome.finished, len(outcome.failed)) == (0, 1)


def test_a_run_without_an_experiment_or_with_a_wrong_engine_is_refused(tmp_path, done):
    with pytest.raises(tr.StoreError):
        tr.Experiment(tmp_path).run()
    with refuses(
        tr.ConfigError,
        argument="engine",
        found="proceses",
        expected="one of processes, here, dask, ray",
    ):
        done.run("proceses")
    with refuses(tr.ConfigError, argument="progress", found="yes", expected="a function"):
        done.run("here", progress="yes")


def test_the_status_counts_runs_and_episodes_on_disk(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", 50, 1)
    experiment.run("here", progress=False)
    experiment.add("ring", "uniform", 50_000_000, 2)

    def interrupt(outcome, episodes):
        if any(done > 0 for done in episodes.values()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.run("here", progress=interrupt)
    found = experiment.status()
    assert (len(found.runs), found.finished) == (3, 1)
    assert found.begun >= 1
    finished, *others = found.runs
    assert (finished.episode, finished.is_finished, finished.seed) == (50, True, 1)
    assert all(0 <= run.episode < run.episodes == 50_000_000 for run in others)
    assert found.episodes == (sum(run.episode for run in found.runs), 100_000_050)
    assert "1 of 3 runs finished" in repr(found)
    assert "ring uniform 1 of 3" in re.sub(r"(<[^>]*>)+", " ", found._repr_html_())
    assert experiment._repr_html_() == experiment.status()._repr_html_()


@pytest.mark.parametrize(
    ("problem", "learner", "options"),
    [
        ("ring", "OptDual", {"audit_visits": True}),
        ("queue", "OptCMDP", {}),
        ("ring", "certainty-equivalence", {}),
        ("ring", "uniform", {}),
        ("free", "OptPrimalDual", {"primal_step": 2.0}),
    ],
)
def test_a_stored_run_is_the_run_that_was_simulated(tmp_path, problem, learner, options):
    ring = build("ring")
    free = tr.CMDP(ring.transition, ring.cost, np.zeros((0, 3, 2)), [], ring.horizon)
    experiment = tr.Experiment(tmp_path)
    experiment.add(free if problem == "free" else problem, learner, 30, [7], **options)
    experiment.run("here", progress=False)
    (stored,) = experiment.runs()
    run, found = simulate_spec(stored.spec, stored.cmdp), stored.load()
    for name in ("learner", "n_episodes", "seed", "delta", "confidence", "rho_rule"):
        assert getattr(found, name) == getattr(run, name)
    for name in ("episode", "excess", "multiplier", "violations", "worst_violation", "policy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name))
    for kind, curve in run.regret.items():
        np.testing.assert_array_equal(found.regret[kind], curve)
    assert (found.first_feasible, found.optimum) == (run.first_feasible, run.optimum)
    assert found.audit.bad_episodes == run.audit.bad_episodes
    assert found.audit.first_bad == run.audit.first_bad
    np.testing.assert_array_equal(found.audit.multiplier_range, run.audit.multiplier_range)
    for name in ("not_optimistic", "infeasible_plans", "plans", "sweeps", "largest_gap"):
        np.testing.assert_equal(getattr(found.audit, name), getattr(run.audit, name), name)
    assert repr(stored).endswith(f"{learner} on {stored.spec.environment}, 30 episodes, seed 7)")


def test_the_table_is_that_of_the_records(done, tmp_path):
    table = done.to_arrow()
    assert table.equals(
        pa.concat_tables(pq.read_table(done.folder(spec).record) for spec in done.specs())
    )
    (first, *_) = done.runs()
    mine = table.filter(np.array(table["run"]) == first.spec.id)
    alone = run_table(first.load())
    assert mine.select(alone.column_names).equals(alone)
    assert done.export(tmp_path / "a.csv") == table.num_rows == 160
    assert status(["export", str(done.path), "--out", str(tmp_path / "b.csv")]) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_missing_pandas_is_named(done, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refuses(tr.DependencyError, "pip install pandas", argument="pandas"):
        done.to_pandas()


def test_a_data_frame_has_the_rows_of_the_table(done):
    pandas = pytest.importorskip("pandas")
    frame = done.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.groupby(["algorithm", "seed"])["episode"].max().tolist() == [40] * 4


def test_the_summary_holds_statistics_at_the_last_episode(done):
    found = done.summary()
    assert (found["planned"], found["finished"]) == (4, 4)
    (problem,) = found["problems"]
    assert (problem["name"], problem["episodes"], problem["delta"]) == ("ring", 40, 0.1)
    for learner in problem["learners"]:
        runs = [r.load() for r in done.runs() if r.spec.algorithm == learner["algorithm"]]
        ends = np.array([run.regret["cost_plus"][-1] for run in runs])
        assert learner["regret"]["cost_plus"]["mean"]["middle"] == pytest.approx(ends.mean())
        assert learner["seeds"] == [1, 2]
        worst = np.max([run.worst_violation for run in runs], axis=0)
        assert learner["worst_violation"] == pytest.approx(worst)
        first = [run.first_feasible if run.first_feasible <= 40 else None for run in runs]
        assert learner["first_feasible"] == first
        assert set(learner["growth"]["cost_plus"]) == {"middle", "low", "high"}


def test_the_summary_compares_learners_over_common_seeds(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "OptDual", 30, [1, 2, 3], confidence="tight")
    experiment.add("ring", "OptCMDP", 30, [2, 3, 4], confidence="tight")
    experiment.run("here", progress=False)
    (pair,) = experiment.summary()["problems"][0]["pairs"]
    assert (pair["first"], pair["second"], pair["seeds"]) == ("OptCMDP", "OptDual", [2, 3])
    ends = {}
    for stored in experiment.runs():
        ends[stored.spec.algorithm, stored.spec.seed] = stored.load().regret["cost"][-1]
    differences = [ends["OptCMDP", seed] - ends["OptDual", seed] for seed in (2, 3)]
    assert pair["difference"]["cost"]["middle"] == pytest.approx(np.mean(differences))
    lower = np.mean([(d < 0) + (d == 0) / 2 for d in differences])
    assert pair["improvement"]["cost"]["middle"] == pytest.approx(lower)


def test_the_report_is_the_page_of_the_command(done, tmp_path):
    assert done.report(tmp_path / "a.html") == tmp_path / "a.html"
    assert status(["report", str(done.path), "--out", str(tmp_path / "b.html")]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert done.report() == done.path / "report.html"


def test_what_was_read_is_read_again_only_when_runs_have_finished(tmp_path):
    experiment = tr.Experiment(tmp_path)
    experiment.add("ring", "uniform", 5, 1)
    with refuses(tr.StoreError, "none of its 1 runs", argument=str(tmp_path), found=0):
        experiment.summary()
    experiment.run("here", progress=False)
    first = experiment.findings()
    assert experiment.findings() is first
    experiment.add("ring", "uniform", 5, 2)
    assert experiment.summary()["planned"] == 2
    experiment.run("here", progress=False)
    assert experiment.summary()["finished"] == 2


def test_figures_have_names(done, tmp_path):
    for name in ("regret", "optimum", "OptDual", "uniform"):
        assert isinstance(done.figure(name), Figure)
    with refuses(
        tr.ConfigError,
        argument="name",
        found="regrets",
        expected="one of 'regret', 'budgets', 'optimum', 'OptDual', 'uniform'",
    ):
        done.figure("regrets")
    two = tr.Experiment(tmp_path)
    two.add("ring", "uniform", [5, 6], 1)
    two.run("here", progress=False)
    with refuses(
        tr.ConfigError,
        argument="problem",
        found="None",
        expected="one of 'ring, 5 episodes', 'ring, 6 episodes'",
    ):
        two.figure()
    assert isinstance(two.figure(problem="ring, 6 episodes"), Figure)


def test_a_figure_is_drawn_into_given_axes_whole_or_one_panel_of_it(done):
    figure = Figure()
    four, one = figure.subplots(2, 3)[:, :2], figure.add_subplot()
    assert done.figure(ax=four) is figure
    assert all(axes.lines for axes in four.ravel())
    assert done.figure("regret", ax=one, panel="cost_plus") is figure
    assert one.get_title(loc="left") == four[0, 1].get_title(loc="left")
    np.testing.assert_array_equal(one.lines[0].get_ydata(), four[0, 1].lines[0].get_ydata())
    constraint = build("ring").constraint_names[0]
    for panel in ("policy", constraint, "cost"):
        axes = Figure().subplots()
        assert done.figure("optimum", ax=axes, panel=panel) is axes.figure
        assert axes.has_data()
        assert isinstance(done.figure("OptDual", panel=panel), Figure)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "regret"}, "1 axes, expected 4, one for each panel .*or one with panel='cost'"),
        ({"name": "optimum"}, "1 axes, expected 3, .*or one with panel='policy'"),
        (
            {"panel": "costs"},
            ("panel", "costs", "one of 'cost', 'cost_plus', 'constraint', 'constraint_plus'"),
        ),
        (
            {"name": "uniform", "panel": "costs"},
            ("panel", "costs", "one of 'policy', 'moves', 'cost'"),
        ),
        ({"ax": "axes"}, ("ax", "axes", "Matplotlib axes")),
    ],
)
def test_axes_that_do_not_fit_a_figure_are_refused_with_the_remedy(done, given, said):
    with refuses(tr.ConfigError, said):
        done.figure(**{"ax": Figure().subplots(), **given})


SCRIPT = """
import tightrope as tr

experiment = tr.Experiment("runs")
experiment.add("ring", "uniform", episodes=20, seeds=4)
print(experiment.run(workers=2))
"""


def test_a_script_needs_no_guard_for_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "Outcome(4 of 4 runs finished, 80 episodes run)\n", done.stderr
    assert Experiment(tmp_path / "runs").status().finished == 4


def test_a_learner_of_a_script_is_refused_by_other_processes_with_the_remedy(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "import tightrope as tr\n"
        "class Mine(tr.PythonLearner):\n"
        "    def plan(self, data, rng):\n"
        "        return self.task.allowed / self.task.allowed.sum(axis=2, keepdims=True)\n"
        "experiment = tr.Experiment(sys.argv[1])\n"
        "experiment.add('ring', Mine(), 20, 1)\n"
        "print(experiment.run('here', progress=False))\n"
        "experiment.add('ring', Mine(), 20, 2)\n"
        "experiment.run(progress=False)\n"
    )
    words = [sys.executable, str(script), str(tmp_path / "runs")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "1 of 1 runs finished" in done.stdout
    assert "define it in a module" in done.stderr


MODULE = """
from dataclasses import dataclass
import tightrope as tr

@dataclass(frozen=True)
class Mine(tr.PythonLearner):
    pull: float = 1.0
    push: int = 2

    def plan(self, data, rng):
        return self.task.allowed / self.task.allowed.sum(axis=2, keepdims=True)

@dataclass(frozen=True)
class Dual(tr.learners.OptDual):
    name = "other-dual"
"""


def test_runs_of_a_learner_that_is_gone_can_be_read_and_not_run(tmp_path, monkeypatch, capsys):
    module = tmp_path / "gone_learner.py"
    module.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    experiment = tr.Experiment(tmp_path / "e")
    experiment.add("ring", ["uniform", "gone_learner:Mine"], 20, 2, pull=3.0)
    experiment.add("ring", ["gone_learner:Dual"], 20, 2, dual_step=2.0, confidence="tight")
    experiment.run("here", progress=False)
    experiment.add("ring", "gone_learner:Mine", 20, [3], pull=3.0)
    ids = [spec.id for spec in experiment.specs()]
    table, before = experiment.to_arrow(), [stored.load() for stored in experiment.runs()]

    module.unlink()
    monkeypatch.delitem(sys.modules, "gone_learner")
    experiment = tr.Experiment(tmp_path / "e")
    assert [spec.id for spec in experiment.specs()] == ids
    assert experiment.status().rows()[1] == ("ring", "gone_learner:Mine", "2 of 3", "40 of 60")
    assert experiment.to_arrow().equals(table)
    after = [stored.load() for stored in experiment.runs()]
    assert after[2].learner.options == {"pull": 3.0, "push": 2}
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new.regret["cost"], old.regret["cost"])
        for name in ("rho", "constants", "is_heuristic", "rho_rule"):
            assert getattr(new, name) == getattr(old, name)
    assert after[4].is_heuristic
    assert after[4].rho != 1.0
    names = [learner["name"] for learner in experiment.summary()["problems"][0]["learners"]]
    assert names == ["uniform", "gone_learner:Mine", "gone_learner:Dual"]
    for words in (["watch"], ["export"], ["report", "--figures", str(tmp_path / "figures")]):
        assert status([words[0], str(tmp_path / "e"), *words[1:]]) == 0

    assert experiment.add("ring", "uniform", 20, 3) == 1  # keeps the others as they are
    outcome = experiment.run("here", progress=False)
    assert (outcome.n_runs, outcome.finished) == (8, 7)
    (why,) = outcome.failed.values()
    assert "'gone_learner:Mine' cannot be imported: No module named 'gone_learner'" in why
    capsys.readouterr()
    assert status(["resume", str(tmp_path / "e"), "--engine", "here"]) == 2
    assert "gone_learner:Mine" in capsys.readouterr().err

    module.write_text(MODULE)
    assert [spec.id for spec in experiment.specs()] == [*ids, experiment.specs()[-1].id]
    assert experiment.run("here", progress=False).finished == 8
