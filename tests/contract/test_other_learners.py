"""Learners of other packages: how they are found, what they may do, and that nothing is stale."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tightrope as tr
from driven import instance
from refusals import refuses
from tightrope import learners
from tightrope.cli.learn import show_runs
from tightrope.cli.screen import emit
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.curves import runs_data
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.learners import find_learner
from tightrope.learners.interactive import InteractiveLearner


def test_a_policy_that_cannot_be_played_is_refused_with_the_learner_named():
    class Wrong(tr.PythonLearner):
        def plan(self, data, rng):
            return np.zeros(data.visits.shape)

    with refuses(ModelError, argument="policy", entry="h=0, s=0", found=0.0, expected="1"):
        tr.learn(instance(1), Wrong(), episodes=2)


def test_what_snapshots_cannot_hold_is_refused():
    class Hoarder(tr.PythonLearner):
        def plan(self, data, rng):
            data.state["seen"] = {"a": 1}
            return np.full(data.visits.shape, 1 / data.visits.shape[2])

    with refuses(
        ConfigError, argument="data.state", entry="'seen'", found="not an array of numbers"
    ):
        tr.learn(instance(1), Hoarder(), episodes=2)


class Failing(tr.PythonLearner):
    """A learner with a mistake, one call below its plan."""

    def plan(self, data, rng):
        return self.divide(0)

    def divide(self, zero):
        return 1 / zero  # the mistake


def line_of(words):
    """Number of the first line of this file that ends in these words."""
    lines = Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.endswith(words))


def test_an_error_in_a_plan_names_class_file_and_line_and_keeps_its_cause():
    place = f"{__file__}:{line_of('# the mistake')}"
    with refuses(ConfigError, argument="Failing.plan", found="ZeroDivisionError") as caught:
        tr.learn(instance(1), Failing(), episodes=2)
    assert str(caught.value).startswith(f"Failing.plan, {place}: ZeroDivisionError: ")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_the_library_in_a_plan_differs_from_a_wrong_policy():
    class Careless(tr.PythonLearner):
        def plan(self, data, rng):
            return tr.evaluate(None, None)

    with refuses(ConfigError, r"learners\.py:\d+: ", argument="Careless.plan", found="ModelError"):
        tr.learn(instance(1), Careless(), episodes=2)


def test_a_plan_that_takes_no_arguments_is_named():
    class Short(tr.PythonLearner):
        def plan(self):
            return None

    with refuses(ConfigError, "takes 1", argument="Short.plan", found="TypeError"):
        tr.learn(instance(1), Short(), episodes=2)


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_the_log_of_a_run_has_the_traceback_of_a_plan(third_party, tmp_path, monkeypatch, engine):
    (tmp_path / "third_party.py").write_text(THIRD.replace("return", "raise KeyError('x')  #"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    experiment = tr.Experiment(tmp_path / "experiment")
    experiment.add("ring", "third_party:Even", episodes=3, seeds=1)
    outcome = experiment.run(engine=engine, progress=False)
    (why,) = outcome.failed.values()
    assert why.startswith(f"Even.plan, {tmp_path}")
    assert why.endswith("third_party.py:11: KeyError: 'x'")
    (spec,) = experiment.specs()
    log = (experiment.folder(spec).path / "run.log").read_text()
    for words in (f"failed: {why}", "Traceback (most recent call last)", "raise KeyError('x')"):
        assert words in log
    assert "in plan" in log


def test_the_task_is_known_only_while_a_plan_is_made():
    class Early(tr.PythonLearner):
        def plan(self, data, rng):
            assert self.task.n_states == data.visits.shape[1]
            return np.full(data.visits.shape, 1 / data.visits.shape[2])

    learner = Early()
    for _ in range(2):
        with refuses(ConfigError, argument="Early.task", found="known only while plan() runs"):
            learner.task  # noqa: B018
        tr.learn(instance(1), learner, episodes=2)


def test_options_of_a_class_that_is_no_dataclass_are_noticed():
    class Bare(tr.PythonLearner):
        COLOR: ClassVar[str] = "red"
        epsilon: float = 0.1

        def plan(self, data, rng):
            return np.full(data.visits.shape, 1 / data.visits.shape[2])

    class Below(Bare):
        pass

    message = r"^Bare\.epsilon: .*add @dataclass\(frozen=True\) above class Bare"
    for make in (Bare, Below, lambda: Bare(epsilon=0.2), lambda: Bare.from_options({"epsilon": 1})):
        with pytest.raises(ConfigError, match=message):
            make()
    good = dataclass(frozen=True)(Bare)
    assert good(epsilon=0.2).options == {"epsilon": 0.2}
    assert list(inspect.signature(good).parameters) == ["epsilon"]


def test_a_learner_without_fields_needs_no_decorator_and_has_no_options():
    class Plain(tr.PythonLearner):
        def plan(self, data, rng):
            return np.full(data.visits.shape, 1 / data.visits.shape[2])

    assert Plain() == Plain()
    with pytest.raises(ConfigError, match=r"^epsilon: Plain has no options"):
        Plain(epsilon=0.2)


def test_a_class_in_place_of_a_learner_is_refused_with_the_remedy(tmp_path):
    message = r"Failing is a class, expected a learner such as Failing\(\)"
    with pytest.raises(ConfigError, match=f"^algorithm: {message}"):
        tr.learn(instance(1), Failing, episodes=2)
    with pytest.raises(ConfigError, match=f"^algorithm: {message}"):
        tr.learner(Failing, 2, 2, 2, [1.0], episodes=3)
    experiment = tr.Experiment(tmp_path / "experiment")
    for given in (Failing, ["uniform", Failing]):
        with pytest.raises(ConfigError, match=f"learners: {message}"):
            experiment.add("ring", given, episodes=2, seeds=1)


def test_a_plan_without_a_model_has_no_value(third_party):
    learner = tr.learner("third_party:Even", 2, 2, 2, [1.0], episodes=3)
    for plan in (learner.plan(), learner.last_plan, learner.settle()):
        assert np.isnan([plan.value, plan.gap, *plan.constraint_value]).all()
        np.testing.assert_allclose(plan.policy, 0.5)


def test_an_audit_without_beliefs_states_it(third_party, tmp_path, capsys):
    run = tr.learn(instance(1), "third_party:Even", episodes=3)
    assert run.audit.good_event is None
    assert np.isnan(run.audit.largest_gap)
    run.save(tmp_path / "run.npz")
    assert np.isnan(tr.Run.load(tmp_path / "run.npz").audit.largest_gap)
    assert "nothing to audit" in run._repr_html_()
    cmdp = instance(1)
    show_runs("model", cmdp, [run])
    audit = capsys.readouterr().out.split("audit")[1].split("Even")[1].splitlines()[0].split()
    assert audit[:2] + audit[3:4] == ["-", "-", "-"]
    emit(runs_data("model", cmdp, [run]))
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert [told["audit"][name] for name in NOT_AUDITED] == [None] * 3


NOT_AUDITED = ("good_event", "not_optimistic", "largest_gap")
THIRD = """
from dataclasses import dataclass
import numpy as np
import tightrope as tr

@dataclass(frozen=True)
class Even(tr.PythonLearner):
    weight: float = 1.0

    def plan(self, data, rng):
        return self.task.allowed / self.task.allowed.sum(axis=2, keepdims=True)

class Outer:
    Inner = Even

NOTHING = 3
"""


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """A module of another package, on the path."""
    (tmp_path / "third_party.py").write_text(THIRD)
    monkeypatch.syspath_prepend(tmp_path)
    yield "third_party"
    sys.modules.pop("third_party", None)


def test_a_class_is_found_by_module_and_name(third_party):
    run = tr.learn(instance(1), "third_party:Even", episodes=3)
    assert run.algorithm == "Even"
    assert find_learner("third_party:Outer.Inner") is find_learner("third_party:Even")
    spec = RunSpec("ring", run.learner, 10, parameters={"horizon": 6, "budget": 3.0})
    assert spec.to_table()["algorithm"] == "third_party:Even"
    assert spec_of(spec.to_table()) == spec


def test_experiments_take_learners_of_others_with_their_options(third_party, tmp_path):
    cmdp, even = instance(1), "third_party:Even"
    experiment = tr.Experiment(tmp_path / "experiment")
    names = [even, "uniform"]
    assert experiment.add(cmdp, names, episodes=5, seeds=2, weight=[0.25, 0.75]) == 6
    given = find_learner(even)(weight=0.25)
    assert experiment.add(cmdp, given, episodes=5, seeds=2) == 0
    with refuses(
        ConfigError, argument="weight", found="None", expected="a number, a string or a bool"
    ):
        experiment.add(cmdp, names, episodes=5, seeds=2, weight=None)
    with pytest.raises(ConfigError, match="add: unknown field 'weight'"):
        experiment.add(cmdp, "uniform", episodes=5, seeds=2, weight=0.25)
    experiment.run(engine="here", progress=False)
    runs = [each.load() for each in experiment.runs()]
    weights = [run.learner.options.get("weight", 0) for run in runs]
    assert sorted(weights) == [0, 0, 0.25, 0.25, 0.75, 0.75]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Even", "'no_such_module:Even' cannot be imported: No module named"),
        ("third_party:Odd", "'third_party:Odd' cannot be imported: .*no attribute 'Odd'"),
        ("third_party:", "'third_party:' cannot be imported"),
        (":Even", "':Even' cannot be imported"),
        ("third_party:NOTHING", "'third_party:NOTHING' is 3, expected a subclass of Learner"),
        ("third_party:Outer", "'third_party:Outer' is .*, expected a subclass of Learner"),
        ("OptDaul", "'OptDaul' is none of .*OptDual"),
        (3, "3 is none of"),
        (["OptDual"], r"\['OptDual'\] is none of"),
    ],
)
def test_names_of_no_learner_are_refused(third_party, name, message):
    with pytest.raises(ConfigError, match=f"^algorithm: {message}"):
        tr.learn(instance(1), name, episodes=3)


def test_the_command_line_takes_a_class_and_its_options(third_party, tmp_path):
    words = ["-q", "learn", "ring", "--episodes", "3", "--algorithm", "third_party:Even"]
    code = "import sys; sys.path.insert(0, '.'); from tightrope.cli import main; main()"
    command = [sys.executable, "-c", code, *words]

    def call(*options):
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)

    done = call("--option", "weight=2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Even" in done.stdout
    for word, message in (("wieght=2", "did you mean 'weight'?"), ("weight", "NAME=VALUE")):
        done = call("--option", word)
        assert done.returncode == 2
        assert message in done.stderr


def test_files_do_not_import_modules(third_party):
    made = tr.learner("third_party:Even", 2, 2, 2, [1.0], episodes=3)
    content = made.to_bytes()
    assert InteractiveLearner.from_bytes(content).algorithm == "Even"
    del sys.modules["third_party"]
    with refuses(tr.StoreError, "import third_party first", argument="algorithm"):
        InteractiveLearner.from_bytes(content)


def test_packages_register_learners_by_entry_points(third_party, tmp_path):
    about = tmp_path / "third_party-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tightrope.learners]\neven = third_party:Even\n")
    assert tr.learn(instance(1), "even", episodes=3).algorithm == "Even"
    with refuses(ConfigError, argument="algorithm", found="evem"):
        tr.learn(instance(1), "evem", episodes=3)


def test_an_entry_point_that_is_no_learner_is_refused(third_party, monkeypatch):
    for value, message in (("third_party:NOTHING", "is 3"), ("no_such:Even", "cannot be imported")):
        found = [EntryPoint("odd", value, "tightrope.learners")]
        monkeypatch.setattr(learners, "entry_points", lambda group, found=found: found)
        with pytest.raises(ConfigError, match=f"^algorithm: 'odd' .*{message}"):
            find_learner("odd")


COMPILED = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import tightrope as tr
from tightrope.belief.none import NoBelief
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Learner

class State(NamedTuple):
    nothing: np.ndarray

@compiled
def step(problem, state, rng, decision):
    decision.choice[:] = {action}
    decision.note.is_changed = decision.note.is_deterministic = True

@dataclass(frozen=True)
class Constant(Learner):
    name = "constant"
    belief = NoBelief
    state = State
    step = staticmethod(step)

    def init(self, task, problem):
        return State(np.zeros(1))
"""
PLAY = """
import sys; sys.path.insert(0, sys.argv[1])
import tightrope as tr
algorithm = sys.argv[2]
print(int(tr.learn(tr.envs.build("ring"), algorithm, episodes=1).policy[0, 0].argmax()))
"""


def play_alone(*arguments):
    """What another process prints."""
    command = [sys.executable, "-c", PLAY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_compiled_learners_of_other_packages_are_never_stale_in_the_cache(tmp_path):
    module = tmp_path / "constant_learner.py"
    for action in (0, 1):
        module.write_text(COMPILED.format(action=action))
        assert play_alone(tmp_path, "constant_learner:Constant") == str(action)
    module.unlink()
    play_alone(tmp_path, "uniform")  # reads the cache without the module
