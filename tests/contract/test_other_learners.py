"""Learners of other packages: how they are found, what they may do, and that nothing is stale."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import tightrope as tr
from driven import instance
from tightrope import learners
from tightrope.errors import ModelError
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.learners import find_learner
from tightrope.learners.interactive import InteractiveLearner


def test_a_policy_that_cannot_be_played_is_refused_with_the_learner_named():
    class Wrong(tr.PythonLearner):
        def plan(self, data, rng):
            return np.zeros(data.visits.shape)

    with pytest.raises(ModelError, match=r"^Wrong\.plan: policy\[h=0, s=0\] sums to 0"):
        tr.learn(instance(1), Wrong(), episodes=2)


def test_what_snapshots_cannot_hold_is_refused():
    class Hoarder(tr.PythonLearner):
        def plan(self, data, rng):
            data.state["seen"] = {"a": 1}
            return np.full(data.visits.shape, 1 / data.visits.shape[2])

    with pytest.raises(ModelError, match=r"Hoarder: data\.state\['seen'\] is not an array"):
        tr.learn(instance(1), Hoarder(), episodes=2)


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
    with pytest.raises(ModelError, match="add: weight: None, expected a number"):
        experiment.add(cmdp, names, episodes=5, seeds=2, weight=None)
    with pytest.raises(ModelError, match="add: unknown field 'weight'"):
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
def test_names_that_mean_no_learner_are_refused(third_party, name, message):
    with pytest.raises(ModelError, match=f"^algorithm: {message}"):
        tr.learn(instance(1), name, episodes=3)


def test_the_command_line_takes_a_class_and_its_options(third_party, tmp_path):
    words = ["learn", "ring", "--episodes", "3", "--algorithm", "third_party:Even"]
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
    with pytest.raises(tr.StoreError, match="not loaded; import third_party first"):
        InteractiveLearner.from_bytes(content)


def test_packages_register_learners_by_entry_points(third_party, tmp_path):
    about = tmp_path / "third_party-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tightrope.learners]\neven = third_party:Even\n")
    assert tr.learn(instance(1), "even", episodes=3).algorithm == "Even"
    with pytest.raises(ModelError, match=r"'evem' is none of .*even"):
        tr.learn(instance(1), "evem", episodes=3)


def test_an_entry_point_that_is_no_learner_is_refused(third_party, monkeypatch):
    for value, message in (("third_party:NOTHING", "is 3"), ("no_such:Even", "cannot be imported")):
        found = [EntryPoint("odd", value, "tightrope.learners")]
        monkeypatch.setattr(learners, "entry_points", lambda group, found=found: found)
        with pytest.raises(ModelError, match=f"^algorithm: 'odd' .*{message}"):
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


def test_compiled_learners_of_others_are_never_stale_and_do_not_spoil_the_cache(tmp_path):
    module = tmp_path / "constant_learner.py"
    for action in (0, 1):
        module.write_text(COMPILED.format(action=action))
        assert play_alone(tmp_path, "constant_learner:Constant") == str(action)
    module.unlink()
    play_alone(tmp_path, "uniform")  # reads the cache without the module
