"""Storm's explicit files: read, written, and the optimum cross-checked by Storm itself."""

from __future__ import annotations

import numpy as np
import pytest
import stormpy
import stormpy.io

import tightrope as tr
import zoo
from refusals import refuses
from storm import by_storm
from tightrope import envs
from tightrope.interop.drn import structure_names

TEXT = """\
// a comment
@type: MDP
@value_type: double
@parameters

@reward_models
time energy
@nr_states
3
@nr_choices
4
@model
state 0 [0, 0] init
\taction go [1, 1/2]
\t\t1 : 1/2
\t\t2 : 0.5
\taction wait [0.25, 0]
\t\t0 : 1
state 1 [0.5, 0] busy deadlock
//[x=1	& y=2]
\taction stay [0, 0]
\t\t1 : 1
state 2 [0, 0] "a b" busy
\taction stay [0, 0]
\t\t2 : 1.0
"""
PRECISION = 1e-7  # of Storm, as `by_storm` asks for it


def drn_at(folder, old="", new=""):
    path = folder / "model.drn"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new, 1) if old else TEXT)
    return path


def query(names, bounds, steps, direction="min"):
    parts = [f'R{{"{names[0]}"}}{direction}=? [C<={steps}]']
    parts += [
        f'R{{"{n}"}}<={float(b)!r} [C<={steps}]' for n, b in zip(names[1:], bounds, strict=True)
    ]
    return f"multi({', '.join(parts)})"


def binding(cmdp):
    """The model under budgets halfway between what cheap and what safe policies use."""
    cheapest = tr.solve(cmdp.with_budget([cmdp.horizon] * cmdp.n_constraints))
    found = tr.feasibility(cmdp.with_budget(cheapest.constraint_value))
    return cmdp.with_budget((cheapest.constraint_value + found.jointly) / 2)


def test_a_drn_file_gives_names_start_masks_and_kernel(tmp_path):
    cmdp = tr.read_drn(drn_at(tmp_path), 3, "time", {"energy": 0.3})
    assert cmdp.state_names == ("0", "1", "a b")
    assert cmdp.action_names == ("go", "wait", "stay")
    assert cmdp.constraint_names == ("energy",)
    np.testing.assert_array_equal(cmdp.initial, [1, 0, 0])
    np.testing.assert_array_equal(
        cmdp.allowed[0], [[True, True, False], [False, False, True], [False, False, True]]
    )
    np.testing.assert_array_equal(cmdp.transition[0, 0], [0, 0.5, 0.5])
    # state rewards and action rewards add up; the largest step, 1, is the unit
    np.testing.assert_array_equal(cmdp.cost[0], [[1, 0.25, 0], [0, 0, 0.5], [0, 0, 0]])
    assert cmdp.cost_unit.show(1.0) == pytest.approx(1.0)
    assert cmdp.constraint_units[0].show(1.0) == pytest.approx(0.5)
    # waiting three times costs 0.75; going saves nothing
    assert tr.solve(cmdp).value == pytest.approx(0.75)


def test_a_reward_structure_may_be_maximized(tmp_path):
    cmdp = tr.read_drn(drn_at(tmp_path), 3, reward="time", budget={"energy": 0.25})
    # half the time going at once (1 + 0.5 * 2 * 0.5 = 1.5), half waiting (0.75): energy 0.25
    assert tr.solve(cmdp).value == pytest.approx(1.125)
    # going later does better: wait, then go (0.25 + 1 + 0.25), at the same energy, is no better
    theirs = by_storm(drn_at(tmp_path), query(["time", "energy"], [0.25], 3, "max"))
    assert tr.solve(cmdp).value == pytest.approx(theirs, abs=1e-6)


def test_the_only_structure_is_the_cost_and_the_start_may_be_given(tmp_path):
    cmdp = tr.read_drn(drn_at(tmp_path), 3, budget={"energy": 1}, initial="a b")
    assert cmdp.cost_unit.name == "time"
    assert tr.solve(cmdp).value == 0.0
    ranged = tr.read_drn(drn_at(tmp_path), 3, "time", ranges={"time": (0, 10)})
    assert ranged.cost_unit.show(1.0) == pytest.approx(10.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_constraints", [1, 2])
def test_our_optimum_is_storms_on_stationary_models(tmp_path, seed, n_constraints):
    rng = np.random.default_rng(seed)
    cmdp = binding(
        zoo.random_cmdp(rng, 5, 3, 6, n_constraints, is_stationary=True, is_masked=seed % 2 == 1)
    )
    cmdp = tr.CMDP(
        cmdp.transition,
        cmdp.cost[0],
        cmdp.constraint_cost[:, 0],
        cmdp.budget,
        6,
        initial=0,
        allowed=cmdp.allowed,
        constraint_names=[f"d{i}" for i in range(n_constraints)],
    )
    cmdp = binding(cmdp)
    path = tmp_path / "model.drn"
    tr.write_drn(cmdp, path)
    names = ["cost", *cmdp.constraint_names]
    theirs = by_storm(path, query(names, cmdp.budget, 6))
    # Storm stops when its bounds are within its precision of each other
    assert tr.solve(cmdp).value == pytest.approx(theirs, abs=10 * PRECISION)


@pytest.mark.parametrize("seed", range(3))
def test_our_optimum_is_storms_on_unrolled_time_dependent_models(tmp_path, seed):
    free = zoo.random_cmdp(np.random.default_rng(seed), 3, 2, 4, 2)
    cmdp = binding(free)
    path = tmp_path / "model.drn"
    tr.write_drn(cmdp, path)
    names = ["cost", "constraint_0", "constraint_1"]
    # one step more: the start, drawn from its distribution
    theirs = by_storm(path, query(names, cmdp.budget, 5))
    assert tr.solve(cmdp).value == pytest.approx(theirs, abs=10 * PRECISION)
    # nothing is paid at the end, so that totals are the same
    total = query(names, cmdp.budget, 5).replace("C<=5", "C")
    assert tr.solve(cmdp).value == pytest.approx(by_storm(path, total), abs=10 * PRECISION)
    unrolled = tr.read_drn(path, 5, "cost", dict(zip(names[1:], cmdp.budget, strict=True)))
    assert tr.solve(unrolled).value == pytest.approx(tr.solve(cmdp).value, abs=1e-9)


def test_a_model_in_its_own_units_is_written_in_them(tmp_path):
    rng = np.random.default_rng(0)
    kernel = rng.dirichlet(np.ones(3), size=(3, 2))
    profit, hours = rng.uniform(-2, 5, (3, 2)), rng.uniform(0, 8, (1, 3, 2))
    cmdp = tr.CMDP.from_rewards(
        kernel,
        profit,
        horizon=4,
        constraint_cost=hours,
        budget=[19.0],
        reward_range=(-2, 5),
        constraint_range=[(0, 8)],
        reward_name="profit",
        constraint_names=["work hours"],
        state_names=["at home", "shop", "init"],
        action_names=["run fast", "rest"],
    )
    path = tmp_path / "model.drn"
    tr.write_drn(cmdp, path)
    back = tr.read_drn(path, 4, reward="profit", budget={"work_hours": 19.0})
    assert back.state_names == ("at home", "shop", "2")
    assert back.action_names == ("run_fast", "rest")
    ours = tr.solve(cmdp).value
    assert tr.solve(back).value == pytest.approx(ours)
    theirs = by_storm(path, query(["profit", "work_hours"], [19.0], 4, "max"))
    assert theirs == pytest.approx(ours, abs=1e-5)


def test_what_storm_writes_we_read(tmp_path):
    model = stormpy.build_model_from_drn(str(drn_at(tmp_path)))
    path = tmp_path / "storm.drn"
    stormpy.io.export_to_drn(model, str(path))
    ours = tr.read_drn(drn_at(tmp_path), 3, "time", {"energy": 0.3})
    theirs = tr.read_drn(path, 3, "time", {"energy": 0.3})
    # Storm forgets the names of actions and numbers them in each state
    assert theirs.action_names == ("0", "1")
    assert theirs.state_names == ours.state_names
    assert tr.solve(theirs).value == pytest.approx(tr.solve(ours).value)


def test_round_trip_keeps_a_stationary_model(tmp_path):
    cmdp = tr.read_drn(drn_at(tmp_path), 3, "time", {"energy": 0.3})
    path = tmp_path / "again.drn"
    tr.write_drn(cmdp, path)
    back = tr.read_drn(path, 3, "time", {"energy": 0.3})
    np.testing.assert_allclose(back.transition, cmdp.transition)
    np.testing.assert_allclose(back.cost, cmdp.cost)
    np.testing.assert_allclose(back.constraint_cost, cmdp.constraint_cost)
    assert back.state_names == cmdp.state_names
    unrolled = tmp_path / "unrolled.drn"
    tr.write_drn(cmdp, unrolled, unroll=True)
    slow = tr.read_drn(unrolled, 4, "time", {"energy": 0.3})
    assert tr.solve(slow).value == pytest.approx(tr.solve(cmdp).value)
    with refuses(tr.ModelError, argument="unroll", found=False):
        tr.write_drn(zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 1), path, unroll=False)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("@type: MDP", "@type: CTMC", ("@type[line 2]", "CTMC", "MDP")),
        ("@type: MDP", "type: MDP", ("header[line 2]", "type: MDP", "an entry that begins with @")),
        (
            "@parameters\n\n",
            "@parameters\np q\n",
            ("@parameters[line 4]", "p q", "a model without parameters"),
        ),
        (
            "@model",
            "@modell",
            ("header[line 14]", "action go [1, 1/2]", "an entry that begins with @"),
        ),
        ("state 1", "state 4", ("state[line 19]", "4", "1")),
        ("[1, 1/2]", "[1]", ("rewards[line 14]", "1 given", "2")),
        ("[1, 1/2]", "[1, 1/2", ("rewards[line 14]", "[1, 1/2", "numbers in brackets")),
        ("[1, 1/2]", "1", ("rewards[line 14]", "1", "numbers in brackets")),
        (
            "[0.5, 0] busy",
            "[0.5, 0 busy",
            ("rewards[line 19]", "[0.5, 0 busy deadlock", "numbers in brackets"),
        ),
        ("1 : 1/2", "1 : half", ("probability[line 15]", "half", "a number or a fraction")),
        ("1 : 1/2", "1 : 1/0", ("probability[line 15]", "1/0", "a number or a fraction")),
        ("1 : 1/2", "1 : inf", ("probability[line 15]", "inf", "a finite number")),
        ("[1, 1/2]", "[1, few]", ("reward[line 14]", "few", "a number or a fraction")),
        ("1 : 1/2", "one : 1/2", ("action[line 15]", "one : 1/2", "SUCCESSOR : PROBABILITY")),
        (
            "1 : 1/2",
            "7 : 1/2",
            ("action 'go' of state 0[line 14]", 7, "a state from 0 to 2"),
        ),
        ("1 : 1/2", "1 : 1/4", ("probabilities of action 'go' of state 0[line 14]", 0.75, "1")),
        (
            "1 : 1/2",
            "1 : -1/2",
            ("probability of state 1 after action 'go' of state 0[line 14]", -0.5, "at least 0"),
        ),
        (
            "state 0 [0, 0] init\n",
            "",
            ("action[line 13]", "action go [1, 1/2]", "a state before it"),
        ),
        (
            "state 0 [",
            "state 0 !3 [",
            ("state[line 13]", "!3 [0, 0] init", "no exit rate and no observation"),
        ),
        ("\taction stay [0, 0]\n\t\t2 : 1.0\n", "", "@nr_choices: 4, but 3 are in the file"),
        ("4\n@model", "3\n@model", "@nr_choices: 3, but 4 are in the file"),
        (" init", "", "0 states are labeled init"),
    ],
)
def test_an_invalid_file_is_reported_by_line(tmp_path, old, new, said):
    with refuses(tr.ModelError, said) as caught:
        tr.read_drn(drn_at(tmp_path, old, new), 3, "time", {"energy": 0.3})
    assert str(caught.value).startswith(str(tmp_path / "model.drn"))
    if caught.value.entry:
        assert f": {caught.value.entry}: " in str(caught.value)


def test_structures_that_are_not_there_are_named(tmp_path):
    path = drn_at(tmp_path)
    with refuses(tr.ModelError, "did you mean 'time'", argument="reward structure 'tme'"):
        tr.read_drn(path, 3, "tme")
    with refuses(tr.ModelError, "'time', 'energy'", argument="cost"):
        tr.read_drn(path, 3)
    with refuses(tr.ModelError, "no such file", argument=str(tmp_path / "nowhere.drn")):
        tr.read_drn(tmp_path / "nowhere.drn", 3)
    with refuses(tr.ModelError, "a directory or device", argument=str(tmp_path)):
        tr.read_drn(tmp_path, 3)
    (tmp_path / "latin.drn").write_bytes("@type: MDP // caf\xe9".encode("latin-1"))
    with refuses(tr.ModelError, "UTF-8 text at byte 17", expected="DRN"):
        tr.read_drn(tmp_path / "latin.drn", 3)
    path.write_text("@type: MDP\n@nr_states\n3\n")
    with refuses(tr.ModelError, argument="@model", entry="line 2", found="missing"):
        tr.read_drn(path, 3, "time")
    path.write_text("@model\nstate 0\n\taction 0\n\t\t0 : 1\n")
    with refuses(tr.ModelError, argument="@type", found="missing", expected="MDP"):
        tr.read_drn(path, 3, "time")


@pytest.mark.parametrize("horizon", [0, "3", 2.5])
def test_an_invalid_horizon_is_named(tmp_path, horizon):
    with refuses(tr.ModelError, argument="horizon", found=horizon):
        tr.read_drn(drn_at(tmp_path), horizon, "time")


def test_structures_of_a_file_have_distinct_names():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 3, is_stationary=True)
    named = tr.CMDP(
        cmdp.transition,
        cmdp.cost[0],
        cmdp.constraint_cost[:, 0],
        cmdp.budget,
        2,
        constraint_names=["cost_2", "cost", "cost 2"],
    )
    assert structure_names(named) == ["cost", "cost_2", "cost_3", "cost_2_3"]


def test_a_least_reward_is_a_floor(tmp_path):
    cmdp = envs.build("streaming")
    tr.write_drn(cmdp, tmp_path / "s.drn")
    (name,) = cmdp.constraint_names
    structure = name.replace(" ", "_")
    again = tr.read_drn(tmp_path / "s.drn", cmdp.horizon, reward="reward", floor={structure: 2.4})
    best = tr.solve(again).value
    assert best == pytest.approx(tr.solve(cmdp).value, abs=1e-7)
    with refuses(tr.ModelError, "a lower limit is for a reward", argument="floor"):
        tr.read_drn(tmp_path / "s.drn", cmdp.horizon, cost="reward", floor={structure: 2.4})


def test_a_budget_beyond_all_that_can_be_spent_is_slack(tmp_path):
    cmdp = envs.build("ring")
    tr.write_drn(cmdp, tmp_path / "r.drn")
    loose = tr.read_drn(tmp_path / "r.drn", 6, reward="reward", budget={"moves": 400.0})
    assert tr.solve(loose).value == pytest.approx(4.0)


def lasting(seed, n_constraints, kind, **options):
    """A random infinite-horizon model in one state at first, with binding budgets."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(4), size=(4, 3))
    cost, bounded = rng.random((4, 3)), rng.random((n_constraints, 4, 3))
    names = {"constraint_names": [f"d{i}" for i in range(n_constraints)]}
    model = kind(kernel, cost, bounded, [0.0] * n_constraints, **options, **names)
    cheapest = tr.solve(model.with_budget([model.n_steps] * n_constraints)).constraint_value
    least = tr.feasibility(model.with_budget(cheapest)).jointly
    return model.with_budget((cheapest + least) / 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_constraints", [0, 1, 2])
def test_our_long_run_averages_are_storms(tmp_path, seed, n_constraints):
    start = [0.5, 0.25, 0.25, 0.0] if seed == 2 else 0
    model = lasting(seed, n_constraints, tr.AverageCMDP, initial=start)
    path = tmp_path / "model.drn"
    tr.write_drn(model, path)
    ours = tr.solve(model).value
    parts = ['R{"cost"}min=? [LRA]']
    parts += [f'R{{"d{i}"}}<={b!r} [LRA]' for i, b in enumerate(model.budget.tolist())]
    query = f"multi({', '.join(parts)})" if n_constraints else parts[0]
    assert ours == pytest.approx(by_storm(path, query), abs=2e-5)
    budgets = dict(zip(model.constraint_names, model.budget, strict=True))
    back = tr.read_drn(path, cost="cost", budget=budgets, average=True)
    assert isinstance(back, tr.AverageCMDP)
    assert back.n_states == 4 + (seed == 2)  # a random start is drawn in a state of its own
    assert tr.solve(back).value == pytest.approx(ours, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_our_discounted_optimum_is_storms(tmp_path, seed):
    path = tmp_path / "model.drn"
    free = lasting(seed, 0, tr.DiscountedCMDP, discount=0.9)
    tr.write_drn(free, path)
    theirs = by_storm(path, 'R{"cost"}min=? [Cdiscount=0.9]')
    assert tr.solve(free).value == pytest.approx(theirs, abs=1e-5)
    # Storm has no budgets on discounted sums; they are totals of a process that may stop
    model = lasting(seed, 1, tr.DiscountedCMDP, discount=0.9)
    kernel, end = np.zeros((5, 3, 5)), np.zeros((5, 3))
    kernel[:4, :, :4], kernel[:4, :, 4], kernel[4, :, 4] = 0.9 * model.transition, 0.1, 1.0
    cost, bounded = end.copy(), end.copy()
    cost[:4], bounded[:4] = model.cost[0], model.constraint_cost[0, 0]
    tr.write_drn(tr.DiscountedCMDP(kernel, cost, [bounded], [1.0], 0.5), path)
    budget = float(model.budget[0])
    theirs = by_storm(path, f'multi(R{{"cost"}}min=? [C], R{{"constraint_0"}}<={budget!r} [C])')
    assert tr.solve(model).value == pytest.approx(theirs, abs=1e-5)


def test_a_discounted_model_goes_through_a_file(tmp_path):
    model = lasting(0, 2, tr.DiscountedCMDP, discount=0.9)
    path = tmp_path / "model.drn"
    tr.write_drn(model, path)
    budgets = dict(zip(model.constraint_names, model.budget, strict=True))
    back = tr.read_drn(path, cost="cost", budget=budgets, discount=0.9)
    np.testing.assert_allclose(back.transition, model.transition)
    assert tr.solve(back).value == pytest.approx(tr.solve(model).value, abs=1e-9)
    loose = tr.read_drn(path, cost="cost", budget={"d0": 400.0, "d1": 400.0}, discount=0.9)
    assert tr.solve(loose).constraint_value.max() <= 10.0


def test_forms_that_a_file_of_storm_cannot_have_are_named(tmp_path):
    path = tmp_path / "model.drn"
    model = lasting(0, 1, tr.DiscountedCMDP, discount=0.9, initial=[0.5, 0.5, 0.0, 0.0])
    with refuses(tr.ModelError, argument="initial", found="a distribution", expected="one state"):
        tr.write_drn(model, path)
    with refuses(tr.ModelError, "no horizon", argument="unroll", found=True):
        tr.write_drn("admission", path, unroll=True)
    one = "one of horizon, discount and average=True"
    with refuses(tr.ModelError, argument="horizon", found="missing", expected=one):
        tr.read_drn(drn_at(tmp_path), cost="time")
    with refuses(tr.ModelError, argument="horizon", found="together with discount", expected=one):
        tr.read_drn(drn_at(tmp_path), 3, "time", discount=0.9)
    with refuses(tr.ModelError, argument="discount", found=1.5, expected="a number in (0, 1)"):
        tr.read_drn(drn_at(tmp_path), cost="time", discount=1.5)
