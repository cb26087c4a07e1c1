"""``gym:ID`` on the command line: solved from its table, learned through its steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import pyarrow.csv
import pytest
from shop import data, said
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.app import app, status

LAKE = ["gym:FrozenLake-v1", "--horizon", "10", "--budget", "holes=0.1"]
QUICK = ["--episodes", "12", "--confidence", "tight"]


def test_the_optimum_is_in_the_rewards_of_the_environment():
    done = CliRunner().invoke(app, ["solve", "gym:CliffWalking-v1", "--horizon", "20", "--json"])
    told = json.loads(done.stdout)
    assert told["value"] == pytest.approx(-13.0)
    assert (told["unit"], told["maximized"]) == ("reward", True)
    assert "became cost (0 - r)/100" in done.stderr
    assert "greatest expected reward -13" in said("solve", "gym:CliffWalking-v1", "--horizon", "20")


def test_parameters_of_the_environment_are_set_and_budgets_name_the_costs():
    # 6 sure steps lead around the holes of the small lake, 14 across the large one
    sure = ["--set", "is_slippery=false", "--budget", "hazard=0"]
    assert data("solve", "gym:FrozenLake-v1", "--horizon", "6", *sure)["value"] == 1.0
    large = ["--set", "map_name=8x8", *sure]
    values = [
        data("solve", "gym:FrozenLake-v1", "--set", f"horizon={n}", *large)["value"]
        for n in (13, 14)
    ]
    assert values == [0.0, pytest.approx(1.0)]


class Toll(gymnasium.Env):
    """One place; the motorway pays 1 and costs 5 of ``info["toll"]``, the lane neither."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)
    initial_state_distrib = (1.0, 0.0)
    P = {  # noqa: RUF012 - the table, as other environments have it
        s: {a: [(1.0, 0, float(a), False, {"toll": 5.0 * a})] for a in (0, 1)} for s in (0, 1)
    }


@pytest.fixture
def toll():
    gymnasium.register("Toll-v0", entry_point=Toll, disable_env_checker=True)
    yield ["gym:Toll-v0", "--horizon", "3", "--budget", "toll=10"]
    del gymnasium.registry["Toll-v0"]


def test_costs_above_one_are_accepted_with_their_range(toll, tmp_path):
    wide = [*toll, "--range", "toll=0:5"]
    told = data("solve", *wide)
    assert told["value"] == pytest.approx(2.0)
    assert told["constraints"][0]["value"] == pytest.approx(10.0)
    assert told["constraints"][0]["multiplier"] == pytest.approx(0.2)
    assert data("frontier", *wide)["breakpoints"][-1]["budget"] == pytest.approx(15.0)
    assert data("check", *wide)["usable"] is True
    said("convert", *wide[:1], str(tmp_path / "toll.toml"), *wide[1:])
    assert data("solve", str(tmp_path / "toll.toml"))["value"] == pytest.approx(2.0)


def test_a_range_of_rewards_may_be_wider_than_the_table(toll):
    done = CliRunner().invoke(
        app, ["solve", *toll, "--range", "toll=0:5", "--range", "reward=-1:1", "--json"]
    )
    assert json.loads(done.stdout)["value"] == pytest.approx(2.0)
    assert "reward r in [-1, 1] became" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "toll is 5, expected a number in [0, 1]; --range NAME=LOW:HIGH sets another range"),
        (["--range", "tool=0:5"], "--range: 'tool' is unknown, did you mean 'toll'?"),
        (["--range", "toll=0:5", "--range", "reward=0:0.5"], "--range reward: (0, 0.5), but"),
        (["--budget", "tax=1"], "--budget NAME=VALUE names a hazard or a key of info"),
        (["--budget", "tax=1"], "it holds 'toll'"),
    ],
)
def test_errors_name_the_options_of_the_command_line(toll, capsys, words, message):
    assert status(["solve", *toll, *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert not any(argument in err for argument in ("costs=", "cost_range", "reward_range"))


def test_frontiers_and_checks_take_an_environment_too():
    points = data("frontier", *LAKE)["breakpoints"]
    assert points[0]["budget"] == 0.0
    assert data("check", *LAKE)["usable"] is True


def test_the_horizon_is_a_parameter_of_the_catalog_as_well():
    short = data("solve", "grid", "--horizon", "20")["value"]
    assert short == data("solve", "grid", "--set", "horizon=20")["value"]
    assert short != data("solve", "grid")["value"]


def test_learning_shows_realized_sums_with_bands_against_the_budget(tmp_path):
    out, figure = tmp_path / "episodes.csv", tmp_path / "sums.png"
    words = ["learn", *LAKE, *QUICK, "--seeds", "2", "--out", str(out), "--figure", str(figure)]
    told = data(*words)
    table = pyarrow.csv.read_csv(out)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert [(run["algorithm"], run["seed"]) for run in told["runs"]] == [
        ("OptCMDP", 1),
        ("OptCMDP", 2),
    ]
    for k, run in enumerate(told["runs"]):
        reward, holes = run["sums"]
        mine = table.slice(12 * k, 12)
        mean = sum(mine["holes"].to_pylist()) / 12
        assert holes["all"]["mean"] == pytest.approx(mean)
        assert holes["all"]["low"] <= mean <= holes["all"]["high"]
        assert holes["last"]["episodes"] == 2
        assert (reward["budget"], holes["budget"]) == (None, 0.1)
        assert holes["kept_at_last"] == "cannot tell yet"
        assert holes["episode"] == list(range(1, 13))


def test_the_table_has_what_was_summed_and_the_band_in_use():
    words = said("learn", *LAKE, *QUICK, "--algorithm", "OptCMDP", "--initial", "0")
    assert "gym:FrozenLake-v1: 12 episodes of 10 steps, learned by interaction only" in words
    assert "empirical Bernstein for martingales" in words
    assert "hold together with probability 90%" in words
    assert "<= 0.1" in words
    assert "confidence tight" in words


def test_a_stationary_environment_pools_counts():
    words = ["learn", *LAKE, *QUICK, "--algorithm", "OptCMDP", "--confidence", "scale=0.01"]
    pooled = data(*words, "--stationary")
    assert pooled == data(*words, "--stationary", "--confidence", "pool=true")
    assert pooled["runs"][0]["sums"] != data(*words)["runs"][0]["sums"]


def test_ranges_are_given_by_name():
    words = ["learn", "gym:CliffWalking-v1", "--horizon", "5", "--budget", "cliff=0.5", *QUICK]
    told = data(*words, "--range", "reward=-100,0", "--total-range", "cliff=0,4")
    cliff = told["runs"][0]["sums"][1]
    assert cliff["all"]["high"] <= 4.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("solve gym:FrozenLake-v1", "--horizon: missing"),
        ("solve gym: --horizon 3", "expected gym:ID"),
        ("solve gym:FrozenLak-v1 --horizon 3", "Did you mean: `FrozenLake`?"),
        ("solve gym:FrozenLake-v1 --horizon 0", "--horizon"),
        ("solve gym:FrozenLake-v1 --set horizon=x", "horizon is 'x'"),
        (
            "solve gym:FrozenLake-v1 --horizon 3 --set horizon=4",
            "'horizon' of gym:FrozenLake-v1 is given twice",
        ),
        (
            "solve gym:FrozenLake-v1 --horizon 3 --set slip=1",
            "FrozenLake-v1: Gymnasium cannot make it",
        ),
        ("solve gym:FrozenLake-v1 --horizon 3 --set slip", "expected NAME=VALUE"),
        (
            "solve gym:FrozenLake-v1 --horizon 3 --budget hole=1",
            "hazards of this environment: holes",
        ),
        ("solve gym:FrozenLake-v1 --horizon 3 --budget holes=x", "--budget holes: 'x'"),
        ("solve gym:FrozenLake-v1 --horizon 3 --budget holes=9", "the possible sums over 3 steps"),
        ("solve gym:Blackjack-v1 --horizon 3", "observation_space is Tuple"),
        ("learn gym:CartPole-v1 --horizon 3", "observation_space: Box"),
        (
            "learn gym:FrozenLake-v1 --horizon 3 --budget 1",
            "step 1 of episode 1: info has no 'cost'",
        ),
        ("learn gym:CliffWalking-v1 --horizon 3", "step 1 of episode 1: the reward is -1"),
        ("learn gym:FrozenLake-v1 --horizon 3 --algorithm OptDual", "as in --rho 10"),
        (
            "learn gym:FrozenLake-v1 --horizon 3 --algorithm uniform",
            "--algorithm: 'uniform' needs a model",
        ),
        ("learn gym:FrozenLake-v1 --horizon 3 --method lp", "--method: 'lp'"),
        ("learn gym:FrozenLake-v1 --horizon 3 --audit-visits", "--audit-visits: gym:ID"),
        ("learn gym:FrozenLake-v1 --horizon 3 --range reward=1", "expected NAME=LOW:HIGH"),
        ("learn gym:FrozenLake-v1 --horizon 3 --range x=0,1", "--range: 'x' is unknown"),
        ("learn gym:FrozenLake-v1 --horizon 3 --out study.txt", "ends in .csv or .parquet"),
        ("learn gym:FrozenLake-v1 --horizon 3 --figure a.gif", "a figure ends in .png"),
        ("solve grid --range hazard=0:2", "--range: only for gym:ID"),
        ("learn grid --initial 3", "--initial: only for gym:ID"),
        ("learn grid --range reward=0,1", "--range: only for gym:ID"),
        ("run gym:FrozenLake-v1", "gym:FrozenLake-v1"),
    ],
)
def test_invalid_input_is_a_one_line_error(capsys, words, message):
    assert status(words.split()) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert message in caught.err
    assert caught.err.count("\n") == 1


def test_a_folder_gets_the_runs_as_an_experiment(tmp_path):
    words = ["learn", *LAKE, *QUICK, "--algorithm", "OptCMDP", "--seeds", "2"]
    folder = tmp_path / "lake"
    told = said(*words, "--stationary", "--out", str(folder), "--workers", "1")
    assert "gym:FrozenLake-v1: 12 episodes of 10 steps, learned by interaction only" in told
    assert f"{folder}: 2 of 2 runs finished" in " ".join(told.split())
    runs = tr.Experiment(folder).runs()
    own = data(*words, "--stationary")["runs"]
    for stored, mine in zip(runs, own, strict=True):
        holes = stored.load().totals[:, 1]
        assert mine["sums"][1]["all"]["mean"] == pytest.approx(holes.mean())
    again = data(*words, "--stationary", "--out", str(folder))
    assert (again["new"], again["finished"]) == (0, 2)
    assert "The mean reward in the last 2 episodes was" in said("report", str(folder))
    assert data("export", str(folder))["rows"] == 24


MODULE = """
import gymnasium
import numpy as np
import tightrope as tr

gymnasium.register(
    "Own/Lake-v0",
    entry_point="gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv",
    max_episode_steps=9,
)


def make_lake(slippery=True):
    return gymnasium.make("FrozenLake-v1", is_slippery=slippery)


class Stays(tr.PythonLearner):
    def plan(self, data, rng):
        H, S, A = data.visits.shape
        policy = np.zeros((H, S, A))
        policy[:, :, 0] = 1.0
        return policy
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["make_lake", "Own/Lake-v0"])
def test_modules_of_the_working_folder_are_found_by_the_installed_script(tmp_path, name):
    (tmp_path / "mylake.py").write_text(MODULE)
    script = Path(sys.executable).parent / "tightrope"
    words = f"learn gym:mylake:{name} --horizon 4 --episodes 5 --algorithm mylake:Stays --out runs"
    done = subprocess.run([script, *words.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (stored,) = tr.Experiment(tmp_path / "runs").runs()
    assert stored.load().totals.tolist() == [[0.0]] * 5


def test_the_working_folder_comes_last_and_not_in_safe_mode(tmp_path, monkeypatch):
    from tightrope.cli import import_from_here

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/bin"])
    import_from_here()
    import_from_here()
    assert sys.path == ["/bin", str(tmp_path)]
    monkeypatch.setattr(sys, "path", [""])
    import_from_here()
    assert sys.path == [""]
