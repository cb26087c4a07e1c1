"""Experiments in Gymnasium environments: runs of `learn_gymnasium`, stored and reported."""

from __future__ import annotations

import json
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import tightrope as tr
from refusals import refuses
from tightrope.errors import ConfigError, StoreError
from tightrope.experiments.engines import Here
from tightrope.experiments.job import at_hand
from tightrope.experiments.returns import EXCEEDED, KEPT, UNKNOWN
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.spec import spec_of
from tightrope.experiments.summary import new_resamples
from tightrope.experiments.sweep import specs_of
from tightrope.interop.gym import make_env
from tightrope.show.report.page import page_of
from tightrope.show.style import RED

BOLD = {"mode": "tight", "pool": True, "scale": 0.02}
KNOWN = {"horizon": 8, "stationary": True, "total_range": {"holes": [0, 1], "reward": [0, 1]}}
LAKE = {"episodes": 120, "budget": {"holes": 0.2}, "confidence": BOLD, "gymnasium": KNOWN}


def lake(folder, learners="OptCMDP", seeds=2):
    experiment = tr.Experiment(folder)
    experiment.add("gym:FrozenLake-v1", learners, seeds=seeds, **LAKE)
    return experiment


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    experiment = lake(tmp_path_factory.mktemp("gym") / "lake")
    experiment.run(engine="here", progress=False)
    return experiment


class Wages(gymnasium.Env):
    """Three steps in one place: action 1 pays 1 and costs 0.5, action 0 neither."""

    observation_space = spaces.Discrete(1)
    action_space = spaces.Discrete(2)

    def __init__(self, wage: float = 1.0) -> None:
        self.wage = wage

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, self.wage * action, False, False, {"cost": 0.5 * action}


def make_wages(wage=1.0):
    return Wages(wage)


def test_a_run_is_that_of_learn_gymnasium_with_its_seed(done):
    for stored in done.runs():
        own = tr.learn_gymnasium(
            "FrozenLake-v1",
            episodes=120,
            seed=stored.spec.seed,
            budget={"holes": 0.2},
            confidence=BOLD,
            **KNOWN,
        )
        found = stored.load()
        for name in ("totals", "planned", "steps", "is_feasible", "policy", "ranges", "budget"):
            np.testing.assert_array_equal(getattr(found, name), getattr(own, name))
        assert (found.names, found.confidence) == (own.names, own.confidence)
    first, second = (stored.load().totals for stored in done.runs())
    assert (first != second).any()


def test_a_run_that_was_stopped_often_gives_the_same_bytes(done, tmp_path):
    again = lake(tmp_path / "again", seeds=1)
    stops = []

    def stop(_, active):
        if active and max(active.values()) >= 25 * (1 + len(stops)):
            stops.append(max(active.values()))
            raise KeyboardInterrupt

    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            finish_runs(again, Here(), Pace(job=1e-6, snapshot=0.0), stop)
        at_hand.clear()
    again.run(engine="here", progress=False)
    assert len(stops) == 4
    (mine,) = again.runs()
    assert stops[0] > 0
    theirs = done.runs()[0]
    record = "record.parquet"
    assert (mine.path / record).read_bytes() == (theirs.path / record).read_bytes()
    np.testing.assert_array_equal(mine.load().policy, theirs.load().policy)


def test_a_corrupt_snapshot_stops_its_run(tmp_path):
    from tightrope.files import packed
    from tightrope.interop.gym.runs import begin

    experiment = lake(tmp_path, seeds=1)
    (spec,) = experiment.specs()
    run = begin(spec)
    run.advance(3)
    arrays = run.take_snapshot()
    for change in ({"totals": np.zeros((2, 2))}, {"learner": arrays["learner"][:50]}):
        with pytest.raises(StoreError):
            begin(spec).restore({**arrays, **change}, 3)
    with pytest.raises(StoreError):
        begin(spec).restore(arrays, 2)
    folder = experiment.folder(spec)
    folder.begin(spec.to_json(), {})
    folder.keep(3, packed({"run": spec.id, "episode": 3, "seconds": 0.0, "timed": 0}, {}))
    at_hand.clear()
    assert list(finish_runs(experiment, Here()).failed) == [spec.id]


def test_the_record_has_a_row_for_each_episode_and_constraint(done):
    table = done.to_pandas()
    run = done.runs()[1].load()
    mine = table[table["seed"] == 2]
    np.testing.assert_array_equal(mine["reward"], run.totals[:, 0])
    np.testing.assert_array_equal(mine["total"], run.totals[:, 1])
    assert set(mine["constraint"]) == {"holes"}
    assert list(mine["episode"]) == list(range(1, 121))


def test_the_summary_is_what_the_sums_of_the_runs_give(done):
    (problem,) = done.summary()["problems"]
    totals = np.array([stored.load().totals for stored in done.runs()])
    (learner,) = problem["learners"]
    assert learner["sums"]["holes"]["all"]["mean"]["middle"] == pytest.approx(totals[..., 1].mean())
    last = learner["sums"]["reward"]["last"]["mean"]["middle"]
    assert last == pytest.approx(totals[:, -24:, 0].mean())
    assert (problem["horizon"], problem["budget"]) == (8, {"holes": 0.2})
    assert learner["heuristic"] is True


def test_curves_are_means_of_the_recent_episodes(done):
    (chapter,) = done.findings().returns
    (group,) = chapter.groups
    totals = done.runs()[0].load().totals
    for place, k in enumerate(group.episode.tolist()):
        window = totals[max(0, k - 6) : k]  # one in twenty of 120
        np.testing.assert_allclose(group.recent[0, place], window.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(group.mean[0, place], totals[:k].mean(axis=0), atol=1e-12)
    assert (group.episode[0], group.episode[-1]) == (1, 120)


def test_verdicts_follow_from_the_bands_of_each_run(done):
    (chapter,) = done.findings().returns
    (group,) = chapter.groups
    for bound, verdict in (
        (-1.0, EXCEEDED),
        (1.0, KEPT),
        (float(group.last[:, 1].mean()), UNKNOWN),
    ):
        assert group.verdicts(np.array([bound])) == [[verdict] * 2]


def test_environments_and_models_share_a_report(done, tmp_path):
    both = lake(tmp_path / "both")
    both.add("ring", "uniform", episodes=20, seeds=2)
    both.run(engine="here", progress=False)
    page = page_of(both.findings(), new_resamples(), "").decode()
    assert "Realized returns and costs" in page
    assert "Regrets after 20 episodes" in page
    text = page.partition('id="data">')[2].partition("</script>")[0]
    models, gym = json.loads(text).values()
    assert "regret" in models["groups"][0]
    assert gym["budgets"] == [None, 0.2]
    assert len(gym["groups"][0]["totals"]) == 2
    assert [axes.get_ylabel() for axes in both.figure(problem="gym:FrozenLake-v1").axes] == [
        "reward per episode",
        "holes per episode",
    ]
    rows = both.to_arrow()
    assert {"reward", "cost_regret"} <= set(rows.column_names)
    assert rows.num_rows == 2 * 120 + 2 * 20


def test_one_panel_is_drawn_into_given_axes(done):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert done.figure("returns", ax=axes, panel="holes") is figure
    (budget,) = [line for line in axes.lines if line.get_color() == RED]
    assert budget.get_ydata()[0] == 0.2
    plt.close(figure)
    with refuses(ConfigError, argument="panel", found="hole"):
        done.figure(panel="hole")
    with refuses(ConfigError, argument="name", found="regret"):
        done.figure("regret")


def test_functions_that_make_environments_are_run_by_their_name(tmp_path, monkeypatch):
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "wages", module)
    monkeypatch.setattr(make_wages, "__module__", "wages")
    experiment = tr.Experiment(tmp_path)
    known = {"horizon": 3, "stationary": True}
    more = {"budget": {"cost": 1.0}, "gymnasium": known, "parameters": {"wage": [0.5, 1.0]}}
    n_new = experiment.add(make_wages, "OptCMDP", episodes=30, seeds=1, **more)
    assert n_new == 2
    assert [spec.environment for spec in experiment.specs()] == ["gym:wages:make_wages"] * 2
    assert experiment.run(engine="here", progress=False).failed == {}
    for stored, wage in zip(experiment.runs(), (0.5, 1.0), strict=True):
        totals = stored.load().totals
        np.testing.assert_allclose(totals[:, 0], 2 * wage * totals[:, 1])
    assert make_env("wages:make_wages", wage=0.25).wage == 0.25
    with refuses(ConfigError, argument="problem"):
        experiment.add(lambda: None, "OptCMDP", episodes=30, seeds=1, **more)


def test_a_function_of_a_notebook_runs_in_its_own_process_only(tmp_path, monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "make_wages", make_wages, raising=False)
    monkeypatch.setattr(make_wages, "__module__", "__main__")
    experiment = tr.Experiment(tmp_path)
    experiment.add(make_wages, "OptCMDP", episodes=5, seeds=1, gymnasium={"horizon": 3})
    with refuses(ConfigError, argument="engine"):
        experiment.run(progress=False)
    assert experiment.run(engine="here", progress=False).finished == 1


def test_an_environment_made_by_a_function_is_checked():
    with refuses(tr.ModelError, argument="env"):
        make_env(lambda: 3)
    with pytest.raises(tr.ModelError, match="no"):
        make_env(fail)


def fail():
    raise ValueError("no")


def test_rows_are_reported_during_runs_and_change_nothing(done, tmp_path):
    rows = []
    again = lake(tmp_path)
    again.run(engine="here", progress=False, on_record=lambda *row: rows.append(row))
    for mine, theirs in zip(again.runs(), done.runs(), strict=True):
        record = "record.parquet"
        assert (mine.path / record).read_bytes() == (theirs.path / record).read_bytes()
        seen = [row for spec, row in rows if spec.id == mine.spec.id]
        assert [row["episode"] for row in seen] == list(range(1, 121))
        np.testing.assert_array_equal([row["holes"] for row in seen], mine.load().totals[:, 1])


def test_runs_without_common_random_numbers_differ_between_learners(tmp_path):
    table = {"environment": "gym:FrozenLake-v1", "algorithm": "OptCMDP", "seed": 7, **LAKE}
    shared, apart = spec_of(table), spec_of({**table, "common_random_numbers": False})
    other = spec_of({**table, "common_random_numbers": False, "tolerance": 1e-6})
    assert shared.gym_seed() == 7
    assert len({7, apart.gym_seed(), other.gym_seed()}) == 3


def test_equal_settings_make_equal_ids():
    table = {"environment": "gym:X-v0", "algorithm": "OptCMDP", "episodes": 5}
    plain = spec_of({**table, "gymnasium": {"horizon": 4}})
    full = {"horizon": 4, "reward_range": (0, 1), "stationary": False, "total_range": {}}
    assert spec_of({**table, "gymnasium": full}).id == plain.id
    assert spec_of({**table, "gymnasium": {"horizon": 5}}).id != plain.id
    assert spec_of(json.loads(plain.to_json())) == plain


def test_tables_of_settings_make_a_grid():
    table = {"environment": "gym:X-v0", "algorithm": "OptCMDP", "episodes": 5, "seeds": 2}
    settings = [{"horizon": 4}, {"horizon": 6, "cost_range": {"toll": [0, 5]}}]
    assert [s.gymnasium["horizon"] for s in specs_of({**table, "gymnasium": settings})] == [
        4,
        4,
        6,
        6,
    ]


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"gymnasium": {}}, "gymnasium.horizon"),
        ({"gymnasium": 3}, "gymnasium"),
        ({"gymnasium": {"horizon": 0}}, "gymnasium.horizon"),
        ({"gymnasium": {"horizon": 3, "horizons": 3}}, "gymnasium.horizons"),
        ({"gymnasium": {"horizon": 3, "reward_range": [1, 0]}}, "gymnasium.reward_range"),
        ({"gymnasium": {"horizon": 3, "total_range": {"x": 1}}}, "gymnasium.total_range.x"),
        ({"gymnasium": {"horizon": 3, "costs": 3}}, "gymnasium.costs"),
        ({"gymnasium": {"horizon": 3, "initial": -1}}, "gymnasium.initial"),
        ({"audit_visits": True}, "audit_visits"),
        ({"average": True}, "average"),
        ({"initial": "learned"}, "initial"),
        ({"parameters": {"f": len}}, "parameters"),
        ({"environment": "ring"}, "gymnasium"),
    ],
)
def test_fields_that_do_not_fit_are_named(change, argument):
    table = {"environment": "gym:X-v0", "algorithm": "OptCMDP", "episodes": 5}
    with refuses(ConfigError, argument=argument):
        spec_of({**table, "gymnasium": {"horizon": 3}, **change})


@pytest.mark.parametrize("learner", ["uniform", "OptDual"])
def test_learners_that_need_a_model_are_refused_before_anything_is_written(tmp_path, learner):
    with pytest.raises(ConfigError, match="needs"):
        lake(tmp_path / "none", learner)
    assert not (tmp_path / "none").exists()


def test_trackers_get_the_sums(done):
    from tightrope.interop.trackers.tracker import tracked_returns

    stored = done.runs()[0]
    found = tracked_returns(stored.spec, done.folder(stored.spec))
    totals = stored.load().totals
    assert found.totals["mean/holes"] == pytest.approx(totals[:, 1].mean())
    np.testing.assert_array_equal(found.curves["sum/reward"], totals[found.episode - 1, 0])


def test_stored_runs_have_no_model(done):
    with pytest.raises(ConfigError, match="no model"):
        _ = done.runs()[0].cmdp
