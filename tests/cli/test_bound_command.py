"""``tightrope bound``: the bounds of `learner.bound`, in words and as JSON."""

from __future__ import annotations

import numpy as np
import pytest
from shop import data, said, shop_at

import tightrope as tr
from tightrope.cli.app import status


@pytest.fixture
def saved(tmp_path):
    """The shop's learner after 300 days: half of them slow, which costs 1, half fast."""
    learner = tr.learner("OptCMDP", 1, 2, 2, [1.0], 400, confidence="tight")
    for k in range(300):
        learner.plan()
        a = k % 2
        learner.observe(tr.Episode([0, 0, 0], [a, a], [1.0 - a] * 2, [[float(a)] * 2]))
    learner.save(tmp_path / "learner.npz")
    return learner, str(tmp_path / "learner.npz")


def test_the_bounds_of_a_policy_file_are_the_learners(saved, tmp_path):
    learner, path = saved
    policy = str(tmp_path / "policy.npz")
    assert status(["solve", shop_at(tmp_path), "--save", policy]) == 0
    told = data("bound", path, policy)
    # half a day fast in two; which day does not matter, because both were seen alike
    expected = learner.bound([[[1.0, 0.0]], [[0.5, 0.5]]])
    (found,) = told["policies"]
    assert found["cost"]["lower"] == pytest.approx(expected.cost[0])
    (hours,) = found["constraints"]
    assert (hours["lower"], hours["upper"]) == pytest.approx(tuple(expected.constraint_cost[0]))
    assert (hours["name"], hours["budget"]) == ("hours", 1.0)
    assert (told["episodes"], told["algorithm"]) == (300, "OptCMDP")
    assert found["guaranteed"]
    assert found["delta"] == 0.1


def test_each_policy_has_its_table_and_verdict(saved, tmp_path):
    _, path = saved
    for name, a in (("slow", 0), ("fast", 1)):
        np.savez(tmp_path / f"{name}.npz", policy=np.full((2, 1), a))
    words = said("bound", path, str(tmp_path / "slow.npz"), str(tmp_path / "fast.npz"))
    assert "OptCMDP after 300 episodes" in words
    assert "slow.npz:" in words.replace("\n", "")
    assert words.count("certainly kept") == 1
    assert words.count("certainly exceeded") == 1
    assert "true with probability at least 0.9, for every policy at once" in words


def test_without_a_policy_the_learners_own_next_plan_is_bounded(saved):
    learner, path = saved
    found = data("bound", path)["policies"][0]
    assert found["policy"] == "plan"
    expected = learner.bound(learner.plan().policy)
    assert found["cost"] == {"lower": expected.cost[0], "upper": expected.cost[1]}


def test_what_cannot_be_bounded_is_a_one_line_error_with_the_file(saved, tmp_path, capsys):
    _, path = saved
    np.savez(tmp_path / "wide.npz", policy=np.full((2, 1, 3), 1 / 3))
    np.savez(tmp_path / "none.npz", plan=np.zeros(1))
    np.savez(tmp_path / "two.npz", policy=np.full((2, 1), 0), constraint_names=["a", "b"])
    (tmp_path / "text.npz").write_text("hello")
    for name, says in {
        "wide.npz": "policy: shape (2, 1, 3)",
        "none.npz": "holds no array 'policy'",
        "text.npz": "no .npz of plain arrays",
        "missing.npz": "cannot be read: No such file",
        "two.npz": "2 constraints, expected the learner's 1",
    }.items():
        assert status(["bound", path, str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert says in error
        assert "pickle" not in error
        assert name in error
        assert error.count("\n") == 1
    assert status(["bound", str(tmp_path / "wide.npz")]) == 2
    assert "wide.npz: cannot be read as a learner" in capsys.readouterr().err


LOG = """episode,step,state,action,next_state,cost,wear
a,0,fine,hard,worn,10,3
a,1,worn,gentle,fine,40,1
b,0,worn,gentle,fine,30,1
b,1,fine,hard,fine,0,2
c,0,fine,gentle,fine,20,0
c,1,fine,gentle,worn,20,1
"""


@pytest.fixture
def fitted(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    words = ["--budget", "wear=5", "--range", "cost=0:50", "--range", "wear=0:4"]
    return data("fit", str(tmp_path / "log.csv"), *words, "--out", str(tmp_path / "fit")), tmp_path


def test_a_fitted_learner_is_bounded_in_the_units_and_for_the_starts_of_its_log(fitted):
    told, path = fitted
    folder = path / "fit"
    (found,) = data("bound", str(folder / "learner.npz"), str(folder / "policy.npz"))["policies"]
    cost, wear = told["sums"]
    assert told["start_radius"] > 0
    assert found["cost"] == pytest.approx({"lower": cost["lower"], "upper": cost["upper"]})
    (use,) = found["constraints"]
    assert (use["name"], use["budget"]) == ("wear", pytest.approx(5.0))
    assert (use["lower"], use["upper"]) == pytest.approx((wear["lower"], wear["upper"]))


@pytest.mark.parametrize(
    ("policy", "states", "message"),
    [
        (np.array([[5], [0]]), ["shop"], "policy[h=0, s='shop'] is 5, expected"),
        (np.array([[-1], [0]]), ["shop"], "policy[h=0, s='shop'] is -1, expected"),
        (np.full((2, 0, 2), 0.5), ["shop"], "policy: shape (2, 0, 2), expected (2, 1, 2)"),
        (np.full((2, 1, 1), 0.5), ["shop"], "policy: shape (2, 1, 1), expected (2, 1, 2)"),
        (np.array(3), ["shop"], "policy: shape (1,), expected (2, 1, 2)"),
        (np.array(["a"]), ["shop"], "policy: expected an array of real numbers"),
        (np.full((2, 1, 2), 0.5), "shop", "state_names: shape (), expected a list of names"),
    ],
)
def test_a_policy_that_does_not_fit_its_names_is_one_line(
    tmp_path, capsys, policy, states, message
):
    log, file = tmp_path / "log.csv", tmp_path / "odd.npz"
    steps = ["episode,step,state,action,next_state,cost", "a,0,shop,slow,shop,1"]
    log.write_text("\n".join([*steps, "a,1,shop,fast,shop,0\n"]))
    said("fit", str(log), "--out", str(tmp_path / "fit"))
    np.savez(file, policy=policy, state_names=states, action_names=["slow", "fast"])
    assert status(["bound", str(tmp_path / "fit" / "learner.npz"), str(file)]) == 2
    error = capsys.readouterr().err
    assert f"odd.npz: {message}" in error
    assert error.count("\n") == 1


def test_names_of_a_policy_count_not_their_order(fitted):
    _, path = fitted
    learner = str(path / "fit" / "learner.npz")
    policy = np.random.default_rng(0).dirichlet([1.0, 1.0], size=(2, 2))
    labels = tr.InteractiveLearner.load(learner).labels
    states, own = labels.states, labels.actions
    np.savez(path / "a.npz", policy=policy, state_names=states, action_names=own)
    turned = policy[:, ::-1, ::-1]
    np.savez(path / "b.npz", policy=turned, state_names=states[::-1], action_names=own[::-1])
    one, other = data("bound", learner, str(path / "a.npz"), str(path / "b.npz"))["policies"]
    assert one["cost"] == other["cost"]
    np.savez(path / "c.npz", policy=policy, state_names=["fine", "odd"], action_names=own)
    assert status(["bound", learner, str(path / "c.npz")]) == 2


def half_fast(tmp_path):
    """Two logs, of 300 days each, with slow and fast days in turn, and a policy: fast on day 0."""
    rows = ["episode,step,state,action,next_state,cost,hours"]
    for k in range(300):
        for h in range(2):
            rows.append(f"{k},{h},shop," + ("fast,shop,0,4" if k % 2 else "slow,shop,10,0"))
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    np.savez(tmp_path / "one.npz", policy=np.array([[1], [0]]))
    return str(path), str(tmp_path / "one.npz")


READING = ("--range", "cost=0:10", "--range", "hours=0:4", "--budget", "hours<=5")


def test_a_log_bounds_one_policy_and_the_average_of_those_that_made_it(tmp_path):
    path, policy = half_fast(tmp_path)
    found = data("bound", path, policy, "average", *READING)
    one, average = found["policies"]
    log = tr.read_log(path, constraints=["hours"], ranges={"cost": (0, 10), "hours": (0, 4)})
    # actions by name: "fast" is the first in the log
    expected = log.bound(np.array([[1], [0]]), {"hours": 5.0})
    assert one["cost"] == {"lower": expected.cost[0], "upper": expected.cost[1]}
    assert one["constraints"][0]["verdict"] == "kept"
    expected = log.bound_average({"hours": 5.0})
    assert average["cost"] == {"lower": expected.cost[0], "upper": expected.cost[1]}
    # the mean is (20 + 0) / 2
    assert average["cost"]["lower"] < 10 < average["cost"]["upper"]
    words = said("bound", path, policy, *READING)
    assert "certainly kept" in words
    assert "for this policy, if it was chosen without the episodes" in words.replace("\n", " ")
    assert "the policies of the log:" in said("bound", path, *READING)


def test_policies_with_names_are_bounded_in_their_own_order(tmp_path):
    path, _ = half_fast(tmp_path)
    saved = str(tmp_path / "plan.npz")
    assert status(["solve", shop_at(tmp_path), "--save", saved]) == 0
    (found,) = data("bound", path, saved, *READING)["policies"]
    # the shop's plan works fast for half a day: 2 hours, 15 euros; its actions are slow, fast
    assert found["cost"]["lower"] < 15 < found["cost"]["upper"]
    (hours,) = found["constraints"]
    assert hours["lower"] < 2 < hours["upper"]


def test_options_of_logs_are_refused_for_learners(saved):
    for words in (["--budget", "hours=1"], ["--stationary"], ["--delta", "0.2"]):
        assert status(["bound", saved[1], *words]) == 2
