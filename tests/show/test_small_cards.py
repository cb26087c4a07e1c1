"""Short representations and notebook cards of the results of public functions."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tightrope as tr
from tightrope.learners.mixture import Mixture

ROWS = """episode,step,state,action,next_state,cost,wear
a,0,x,go,y,1,0
a,1,y,stay,x,0,1
b,0,x,go,x,0,0
b,1,x,go,y,1,1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def fitted(folder):
    path = Path(folder, "log.csv")
    path.write_text(ROWS)
    log = tr.read_log(path, constraints=["wear"])
    return tr.fit(log, {"wear": 2.0}, algorithm="certainty-equivalence")


@pytest.fixture(scope="module")
def experiment(folder):
    made = tr.Experiment(folder / "experiment")
    made.add("ring", "uniform", episodes=5, seeds=2)
    made.run(engine="here", progress=False)
    return made


@pytest.fixture(scope="module")
def study(folder):
    terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=9)
    return tr.Study.new(folder / "study.db", "pump", terms)


def learner():
    return tr.learner("OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=5)


def play(ring):
    policy = tr.solve(ring).policy
    return tr.rehearse(tr.to_gymnasium(ring), policy, budget=[3.0], episodes=5)


ring = tr.envs.build("ring")
# what public functions return, by the beginning of the representation
RESULTS = {
    "CMDP(3 states, 2 actions, horizon 6": lambda get: ring,
    "Plan(6 stages, 3 states, 2 actions, value 2,": lambda get: tr.solve(ring),
    "Evaluation(value 2, constraint_value [3])": lambda get: tr.evaluate(ring, tr.solve(ring)),
    "Frontier(moves: 2 breakpoints, budget 0 to 6, value 0 to 4)": lambda get: tr.frontier(ring),
    "Feasibility(feasible, best attainable values [0])": lambda get: tr.feasibility(ring),
    "Slater(spare [3], rho: paper 0.666667,": lambda get: tr.slater(ring),
    "Finding(level='warning', subject='budget'": lambda get: ring.with_budget([6.0]).check()[0],
    "Run(uniform, 5 episodes, seed 0,": lambda get: tr.learn(ring, "uniform", episodes=5),
    "AuditReport(confidence sets: none; 5 plans": lambda get: (
        tr.learn(ring, "uniform", episodes=5).audit
    ),
    "InteractiveLearner(OptCMDP, 2 states, 2 actions, horizon 2, 1 constraint, ": lambda get: (
        learner()
    ),
    "Bounds(cost 0 to 2, 0 to 2 (budget 1, undecided); delta 0.1)": lambda get: learner().bound(
        np.full((2, 2, 2), 0.5)
    ),
    "OptDual(rho=4.0, dual_step=1.0)": lambda get: tr.learners.OptDual(rho=4.0),
    "SafeOptCMDP(tolerance=1e-08, baseline=": lambda get: tr.learners.Safe(
        tr.learners.OptCMDP(), baseline=tr.solve(ring)
    ),
    "Mixture(2 policies, horizon 1, 1 states, 2 actions)": lambda get: Mixture(
        np.eye(2).reshape(2, 1, 1, 2), np.array([0.25, 0.75])
    ),
    "Log(2 episodes of 2 steps, 2 states, 2 actions)": lambda get: get("fitted").log,
    "Fit(certainty-equivalence, Log(": lambda get: get("fitted"),
    "Coverage(3 of 8 (stage, state, action) seen, 0 states never seen)": lambda get: (
        get("fitted").coverage
    ),
    "Experiment('": lambda get: get("experiment"),
    "Experiment('nowhere')": lambda get: tr.Experiment("nowhere"),
    "Status('": lambda get: get("experiment").status(),
    "Outcome(2 of 2 runs finished, 0 episodes run)": lambda get: get("experiment").run(
        engine="here", progress=False
    ),
    "StoredRun(": lambda get: get("experiment").runs()[0],
    "Findings(2 of 2 runs finished, on ring)": lambda get: get("experiment").findings(),
    "Study('pump': OptCMDP, 0 of 9 episodes told)": lambda get: get("study"),
    "Answer(policy 1 after 0 episodes, Plan(": lambda get: get("study").ask(),
    "Realized(given policy, 5 episodes, means: reward ": lambda get: play(ring),
    "Scaling(reward r in [0, 1] became cost (1 - r)/1": lambda get: (
        tr.from_gymnasium("FrozenLake-v1", horizon=5).scaling
    ),
    "Arrays(transition (3, 2, 3), cost (3, 2), ": lambda get: tr.to_arrays(ring, "sas"),
    "Entry('ring': whether to move on": lambda get: tr.envs.entry("ring"),
}


@pytest.mark.parametrize("start", RESULTS)
def test_a_result_has_a_short_representation_and_a_card(start, request):
    result = RESULTS[start](request.getfixturevalue)
    assert repr(result).startswith(start)
    assert len(repr(result)) < 500
    assert repr(result).count("\n") < 3
    html = result._repr_html_()
    words = "".join(ElementTree.fromstring(html).itertext())
    assert "array(" not in repr(result) + words
    assert 10 < len(words) < 2000


@pytest.mark.parametrize(
    "result",
    [tr.evaluate(ring, tr.solve(ring)), tr.feasibility(ring), tr.slater(ring)],
    ids=["Evaluation", "Feasibility", "Slater"],
)
def test_a_card_calls_constraints_by_their_names(result):
    assert ">moves<" in result._repr_html_()
    assert result.constraint_names == ("moves",)


def test_plans_and_bounds_from_data_call_constraints_by_their_names(fitted, study):
    for html in (fitted.bounds._repr_html_(), fitted._repr_html_(), study.ask()._repr_html_()):
        assert ">wear<" in html
        assert "constraint 0" not in html


def test_a_card_cuts_a_long_table_and_counts_the_rest():
    policies = np.ones((40, 1, 1, 1))
    html = Mixture(policies, np.full(40, 1 / 40))._repr_html_()
    assert html.count("<tr>") == 13
    assert "and 28 more" in html


def test_a_learner_written_in_python_is_shown_by_its_options():
    class Mine(tr.PythonLearner):
        pass

    assert repr(Mine()) == "Mine()"


def test_only_public_names_are_listed():
    assert set(dir(tr)) == {*tr.__all__, "envs", "learners", "__version__"}
