from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_samples import FORMS, same

import tightrope as tr
from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP, Unit
from tightrope.model.base import writable_problem
from tightrope.model.units import Units, constraint_at

P = np.full((2, 2, 2), 0.5)
FALL = np.array([[-1.0, -1.0], [-100.0, -1.0]])  # rewards of a walk beside a cliff
H = 5


def scalar_walk(model, policy):
    """Expected totals of a policy (S, A) by plain loops: cost, then each constraint."""
    losses = [model.cost, *model.constraint_cost]
    totals = []
    for loss in losses:
        here, total = model.initial, 0.0
        for h in range(model.horizon):
            q = here[:, None] * policy
            total += (q * loss[h]).sum()
            here = np.einsum("sa,sat->t", q, model.transition)
        totals.append(total)
    return totals


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_rewards_become_costs_and_totals_read_as_rewards_again(form):
    model = CMDP.from_rewards(form(P), FALL, horizon=H, reward_range=(-100, 0), reward_name="score")

    np.testing.assert_array_equal(writable_problem(model).cost[0], [[0.01, 0.01], [1.0, 0.01]])
    np.testing.assert_array_equal(model.cost[0], FALL)
    assert model.cost_unit == Unit("score", -100.0, 0.0)
    assert model.cost_unit.is_maximized

    uniform = np.full((2, 2), 0.5)
    # one step in state 0 brings -1, each of the others -1 or, half in state 1, -50.5
    expected = pytest.approx(-1 + 4 * (-1 / 2 - 50.5 / 2))
    assert scalar_walk(model, uniform)[0] == expected
    assert tr.evaluate(model, uniform).value == expected


def test_costs_on_a_range_become_costs_on_the_unit_interval():
    model = CMDP.from_costs(
        P,
        [[2.0, 4.0], [6.0, 3.0]],
        [[[-1, 0], [1, 1]]],
        [2.5],
        H,
        cost_range=(2, 6),
        constraint_range=[(-1, 1)],
        cost_name="hours",
        constraint_names=["drift"],
    )

    inside = writable_problem(model)
    assert inside.cost[0].tolist() == [[0, 0.5], [1, 0.25]]
    assert inside.constraint_cost[0, 0].tolist() == [[0, 0.5], [1, 1]]
    assert inside.budget.tolist() == [(2.5 + 5) / 2]
    assert model.cost[0].tolist() == [[2, 4], [6, 3]]
    assert model.constraint_cost[0, 0].tolist() == [[-1, 0], [1, 1]]
    assert model.budget.tolist() == [2.5]
    assert model.cost_unit == Unit("hours", 4.0, 10.0)
    assert model.constraint_units == (Unit("drift", 2.0, -5.0),)


def test_floors_come_before_budgets():
    model = CMDP.from_rewards(
        P,
        np.zeros((2, 2)),
        [[[0.0, 4.0], [1.0, 0.0]]],
        [10.0],
        H,
        constraint_cost=[[[0.0, 3.0], [0.0, 0.0]]],
        budget=[6.0],
        utility_range=[(0, 4)],
        constraint_range=[(0, 3)],
        constraint_names=["served", "energy"],
    )

    inside = writable_problem(model)
    assert inside.constraint_cost[:, 0].tolist() == [[[1, 0], [0.75, 1]], [[0, 1], [0, 0]]]
    assert inside.budget.tolist() == [(H * 4 - 10) / 4, 2.0]
    assert model.constraint_cost[:, 0].tolist() == [[[0, 4], [1, 0]], [[0, 3], [0, 0]]]
    assert model.budget.tolist() == [10.0, 6.0]
    assert [unit.name for unit in model.constraint_units] == ["served", "energy"]
    assert [unit.is_maximized for unit in model.constraint_units] == [True, False]


def test_a_floor_by_stage_beside_a_stationary_budget_gives_both_a_stage_axis():
    utility = np.zeros((1, H, 2, 2))
    utility[0, 2] = 1.0
    model = CMDP.from_rewards(
        P, np.zeros((2, 2)), utility, [0.5], H, constraint_cost=np.ones((1, 2, 2)), budget=[4]
    )

    inside = writable_problem(model)
    assert inside.constraint_cost[0, :, 0, 0].tolist() == [1, 1, 0, 1, 1]
    assert inside.constraint_cost[1, :, 0, 0].tolist() == [1] * 5
    assert model.constraint_cost[0, :, 0, 0].tolist() == [0, 0, 1, 0, 0]


def test_without_ranges_everything_is_already_on_the_unit_interval():
    model = CMDP.from_rewards(P, [[0.25, 1.0], [0.0, 0.5]], np.ones((1, 2, 2)), [3.0], H)

    inside = writable_problem(model)
    assert inside.cost[0].tolist() == [[0.75, 0], [1, 0.5]]
    assert inside.constraint_cost[0, 0].tolist() == [[0, 0], [0, 0]]
    assert inside.budget.tolist() == [2.0]
    assert model.cost[0].tolist() == [[0.25, 1.0], [0.0, 0.5]]
    assert model.budget.tolist() == [3.0]
    assert model.cost_unit == Unit("reward", -1.0, 5.0)


@given(
    low=st.floats(-1e3, 1e3),
    width=st.floats(1e-3, 1e3),
    shares=st.lists(st.floats(0, 1), min_size=4, max_size=4),
    steps=st.integers(1, 50),
    gain=st.booleans(),
)
def test_ends_of_a_range_and_possible_bounds_are_never_refused(low, width, shares, steps, gain):
    high = low + width
    own = np.clip(low + width * np.array(shares).reshape(2, 2), low, high)
    own[0, 0], own[1, 1] = low, high
    for bound in (steps * low, steps * high, steps * (low + width * shares[0])):
        options = {"horizon": steps, "utility_range": [(low, high)]}
        if gain:
            model = CMDP.from_rewards(P, np.zeros((2, 2)), own[None], [bound], **options)
        else:
            model = CMDP.from_costs(
                P, np.zeros((2, 2)), own[None], [bound], steps, constraint_range=[(low, high)]
            )

        np.testing.assert_allclose(model.budget, bound, rtol=1e-12, atol=1e-9)
        ends = writable_problem(model).constraint_cost[0, 0, [0, 1], [0, 1]].tolist()
        assert ends == ([1.0, 0.0] if gain else [0.0, 1.0])


def test_costs_of_forbidden_actions_need_not_lie_in_the_range():
    allowed = np.array([[True, False], [True, True]])
    cost = np.array([[3.0, 999.0], [0.0, 5.0]])
    model = CMDP.from_costs(
        P,
        cost,
        np.array([cost, cost]),
        [1.0, 2.0],
        H,
        cost_range=(0, 5),
        constraint_range=[(0, 5)] * 2,
        allowed=allowed,
    )

    assert model.cost[0].tolist() == [[3, 0], [0, 5]]
    assert writable_problem(model).cost[0].tolist() == [[0.6, 0], [0, 1]]
    staged = CMDP.from_costs(
        P, np.repeat(cost[None], H, axis=0), horizon=H, cost_range=(0, 5), allowed=allowed
    )
    assert staged.cost[4].tolist() == [[3, 0], [0, 5]]
    by_stage = np.repeat(allowed[None], H, axis=0)
    assert CMDP.from_costs(P, cost, horizon=H, cost_range=(0, 5), allowed=by_stage).cost[
        0
    ].tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"reward_range": None},
            r"reward runs from -100 to -1; give reward_range=\(-100, -1\) or wider",
        ),
        (
            {"reward_range": (-50, 0)},
            ("reward[s=1, a=0]", -100.0, "a number in reward_range=(-50, 0)"),
        ),
        (
            {"reward_range": (0, -100)},
            ("reward_range", (0, -100), "two finite numbers, the lower one first"),
        ),
        ({"reward_range": (0, np.inf)}, "reward_range: .*, expected two finite numbers"),
        ({"reward_range": 3}, ("reward_range", 3, "two finite numbers, the lower one first")),
        (
            {"reward_range": (0, 1, 2)},
            ("reward_range", (0, 1, 2), "two finite numbers, the lower one first"),
        ),
        (
            {"reward": np.full((1, 5, 2, 2), 9.0)},
            ("reward", (1, 5, 2, 2), "(S, A) or (H, S, A)"),
        ),
        ({"reward": 9.0}, ("reward", (1,), "(S, A) or (H, S, A)")),
        (
            {"utility": np.ones((1, 2, 2))},
            (
                "floor",
                "shape (0,) for utility of shape (1, 2, 2)",
                "one number for each leading entry of utility over (I, S, A) or (I, H, S, A)",
            ),
        ),
        (
            {"floor": [1.0]},
            (
                "floor",
                "shape (1,) for utility of shape (0,)",
                "one number for each leading entry of utility over (I, S, A) or (I, H, S, A)",
            ),
        ),
        (
            {"utility": np.ones((2, 2)), "floor": 1},
            (
                "floor",
                "shape (1,) for utility of shape (2, 2)",
                "one number for each leading entry of utility over (I, S, A) or (I, H, S, A)",
            ),
        ),
        (
            {"utility": np.ones((1, 2, 2)), "floor": [7.0]},
            r"floor\[i=0\] is 7, expected a number in \[0, 5\], the possible sums over 5 steps",
        ),
        (
            {"utility": np.ones((1, 2, 2)), "floor": [-26], "utility_range": [(-5, 1)]},
            r"floor\[i=0\] is -26, expected a number in \[-25, 5\], the possible sums over 5 steps",
        ),
        (
            {"utility": np.ones((1, 2, 2)), "floor": [np.nan]},
            r"floor\[i=0\] is nan, expected a numb",
        ),
        (
            {"constraint_cost": np.full((1, 2, 2), 3), "budget": [1]},
            r"constraint_cost\[0\] runs from 3 to 3; give constraint_range\[0\]=\(3, 3\) or wider",
        ),
        (
            {"constraint_cost": np.ones((1, 2, 2)), "budget": [1], "constraint_range": [0, 1]},
            ("constraint_range", "[0, 1]", "1 pairs of numbers"),
        ),
        (
            {"constraint_cost": np.ones((1, 2, 2)), "budget": [1], "constraint_range": [[0, 1, 2]]},
            ("constraint_range", "[[0, 1, 2]]", "1 pairs of numbers"),
        ),
        (
            {
                "constraint_cost": np.ones((1, 3, 2)),
                "budget": [1],
                "utility": np.ones((1, 2, 2)),
                "floor": [1],
            },
            (
                "utility",
                "over (2, 2) but constraint_cost over (3, 2)",
                "the same states and actions",
            ),
        ),
        ({"horizon": None}, "horizon: missing; a stationary transition needs horizon=H"),
        ({"horizon": "x"}, ("horizon", "x", "a whole number of at least 1")),
        (
            {"allowed": np.ones((3, 3))},
            ("allowed", (3, 3), "(2, 2) over (S, A) or (5, 2, 2) over (H, S, A)"),
        ),
    ],
)
def test_ranges_and_bounds_that_cannot_be_are_named(options, said):
    with refuses(ModelError, said):
        CMDP.from_rewards(P, **{"reward": FALL, "horizon": H, "reward_range": (-100, 0), **options})


def test_budgets_without_costs_are_not_dropped():
    with refuses(
        ModelError,
        argument="budget",
        found="shape (1,) for constraint_cost of shape (0,)",
    ):
        CMDP.from_costs(P, np.zeros((2, 2)), budget=[1.0], horizon=H)


def test_the_horizon_may_come_from_the_stages_of_the_transition():
    staged = np.repeat(P[None], H, axis=0)
    for transition in (staged, staged.tolist(), [FORMS["csr"](p) for p in staged]):
        model = CMDP.from_rewards(transition, FALL, reward_range=(-100, 0))

        assert model.horizon == H
        assert model.cost_unit.shift == 0.0


@pytest.mark.parametrize("form", [np.array, iter])
def test_constraint_names_may_be_an_array_or_come_one_by_one(form):
    model = CMDP.from_costs(
        P, np.zeros((2, 2)), np.ones((2, 2, 2)), [1, 2], H, constraint_names=form(["a", "b"])
    )

    assert [unit.name for unit in model.constraint_units] == ["a", "b"]
    assert model.constraint_names == ("a", "b")


def test_constraint_names_that_are_too_few_are_named():
    with refuses(ModelError, argument="constraint_names", found="1 names", expected="2"):
        CMDP.from_costs(P, np.zeros((2, 2)), np.ones((2, 2, 2)), [1, 2], H, constraint_names=["a"])


@given(st.floats(-1e6, 1e6).filter(bool), st.floats(-1e6, 1e6), st.floats(0, 100))
def test_a_unit_is_an_affine_map(factor, shift, total):
    unit = Unit("x", factor, shift)

    assert unit.show(total) == shift + factor * total
    np.testing.assert_array_equal(unit.show(np.array([0.0, total])), [shift, unit.show(total)])
    assert unit.is_maximized == (factor < 0)


@pytest.mark.parametrize("values", [(0.0, 1.0), (np.nan, 0.0), (1.0, np.inf)])
def test_a_unit_that_shows_nothing_is_refused(values):
    with refuses(
        ModelError, argument="unit 'x'", expected="finite numbers and a factor that is not zero"
    ):
        Unit("x", *values)


def test_values_one_rounding_outside_the_range_belong_to_it():
    low, high = -0.3, 0.1
    edge = low + (high - low) * 1.0
    assert edge > high
    cmdp = CMDP.from_costs(np.ones((1, 2, 1)), [[edge, low]], horizon=3, cost_range=(low, high))
    np.testing.assert_array_equal(writable_problem(cmdp).cost[0], [[1.0, 0.0]])
    with refuses(
        ModelError,
        argument="cost",
        entry="s=0, a=0",
        found=0.101,
        expected="a number in cost_range=(-0.3, 0.1)",
    ):
        CMDP.from_costs(np.ones((1, 1, 1)), [[0.101]], horizon=3, cost_range=(low, high))


def tram():
    """Riders are a floor on [0, 10] a step, energy a budget on [-1, 1] a step; four steps."""
    return CMDP.from_rewards(
        np.ones((1, 1, 1)),
        [[0.5]],
        [[[5.0]]],
        [10.0],
        4,
        constraint_cost=[[[0.0]]],
        budget=[2.0],
        utility_range=[(0, 10)],
        constraint_range=[(-1, 1)],
        constraint_names=["riders", "energy"],
    )


def test_bounds_are_in_the_units_of_their_constraints():
    # 30 riders of 40 leave 10 of 40 to miss, a quarter of 4; energy 0 is the middle of [-4, 4]
    fewer = tram().with_budget({"riders": 30.0})
    assert fewer.budget.tolist() == [30.0, 2.0]
    assert writable_problem(fewer).budget.tolist() == [1.0, 3.0]
    both = tram().with_budget({"1": 0.0, " riders ": 40.0})
    assert both.budget.tolist() == [40.0, 0.0]
    assert writable_problem(both).budget.tolist() == [0.0, 2.0]
    assert same(tram().with_budget([40.0, 0.0]), both)


def test_without_bounds_the_model_stays_as_it_is():
    assert same(tram().with_budget({}), tram())
    assert same(tram().with_budget(tram().budget), tram())


def test_a_name_goes_before_a_number():
    names = ("1", "x")
    assert [constraint_at(names, word) for word in ("0", "1", "x")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            {"rider": 1.0},
            r"constraint 'rider' is unknown, did you mean 'riders'\?; constraints: 'ri",
        ),
        ({"2": 1.0}, ("constraint", "2", None)),
        ({"9" * 5000: 1.0}, r"constraint '9+\.\.\. \(5002 characters\) is unknown"),
        ({"riders": 1.0, "0": 2.0}, ("budget", "riders", None)),
        ({"riders": "many"}, ("budget of 'riders'", "many", "a number")),
        ({"energy": 9.0}, ("budget[i='energy']", 9.0, "a number in [-4, 4]")),
    ],
)
def test_bounds_that_cannot_be_are_named(bounds, message):
    with refuses(ModelError, message):
        tram().with_budget(bounds)


def test_a_model_without_constraints_is_an_error():
    with refuses(ModelError, argument="constraint", found="x"):
        constraint_at((), "x")


@given(st.integers(0, 100), st.floats(0.01, 100.0))
def test_the_largest_excess_does_not_depend_on_the_units(seed, size):
    excess = np.random.default_rng(seed).normal(size=(3, 4, 2))
    plain = Units.plain(2)
    hours = Units(Unit(), (Unit("hours", size), Unit("jobs", 2.0 * size)))
    assert plain.largest(excess) == pytest.approx(excess.max(axis=-1))
    assert hours.largest(excess * hours.sizes) == pytest.approx(plain.largest(excess))
    alike = Units(Unit(), (Unit("hours", size), Unit("jobs", -size)))
    assert alike.largest(excess * size) == pytest.approx(size * plain.largest(excess))
    assert Units.plain(0).largest(np.zeros((3, 0))).tolist() == [0.0, 0.0, 0.0]
