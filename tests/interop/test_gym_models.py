"""Tabular environments as models: against plain recursions, by hand, and against real steps."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from small_envs import Tabled, bridge, revolving_door

import tightrope as tr
from refusals import refuses
from tightrope.errors import ConfigError, ModelError


def best_return(env, horizon, stops):
    """Greatest expected sum of rewards by plain recursion over P; a naive one never stops."""
    table, S = env.unwrapped.P, len(env.unwrapped.P)
    V = np.zeros(S)
    for _ in range(horizon):
        V = np.array([
            max(
                sum(p * (r + (0.0 if done and stops else V[t])) for p, t, r, done in outcomes)
                for outcomes in table[s].values()
            )
            for s in range(S)
        ])  # fmt: skip
    return float(env.unwrapped.initial_state_distrib @ V)


@pytest.mark.parametrize(
    ("its_id", "options", "horizon"),
    [
        ("CliffWalking-v1", {}, 20),
        ("CliffWalking-v1", {"is_slippery": True}, 25),
        ("FrozenLake-v1", {}, 20),
        ("FrozenLake-v1", {"map_name": "8x8"}, 30),
        ("Taxi-v4", {}, 20),
        ("Taxi-v4", {"is_rainy": True}, 12),
    ],
)
def test_the_optimum_is_that_of_a_plain_recursion_that_stops(its_id, options, horizon):
    env = gymnasium.make(its_id, **options)
    cmdp, scaling = tr.from_gymnasium(env, horizon)
    found = scaling.undo(tr.solve(cmdp))["reward"]
    assert found == pytest.approx(best_return(env, horizon, stops=True), abs=1e-9)
    assert cmdp.n_states == env.observation_space.n


@pytest.mark.parametrize("seed", range(20))
def test_with_any_endings_the_optimum_is_that_of_the_recursion(seed):
    rng = np.random.default_rng(seed)
    S, A, horizon = 5, 2, 4

    def row():
        chances = rng.dirichlet(np.ones(3))
        targets, rewards = rng.integers(S, size=3), rng.normal(size=3)
        return list(zip(chances, targets, rewards, rng.random(3) < 0.3, strict=True))

    env = Tabled({s: {a: row() for a in range(A)} for s in range(S)}, rng.dirichlet(np.ones(S)))
    cmdp, scaling = tr.from_gymnasium(env, horizon)
    assert scaling.has_end_state, "every state is a start, so that none only ends"
    found = scaling.undo(tr.solve(cmdp))["reward"]
    assert found == pytest.approx(best_return(env, horizon, stops=True), abs=1e-8)


def test_cliff_walking_ends_at_its_goal_although_its_table_does_not():
    env = gymnasium.make("CliffWalking-v1")
    cmdp, scaling = tr.from_gymnasium(env, 20)
    assert best_return(env, 20, stops=False) == -20.0
    assert scaling.undo(tr.solve(cmdp))["reward"] == pytest.approx(-13.0)
    assert tr.solve(cmdp).value == pytest.approx(-13.0)
    assert scaling.absorbing == (47,)
    assert scaling.words == (
        "reward r in [-100, 0] became cost (0 - r)/100; 1 state made absorbing"
    )


@pytest.mark.parametrize(
    ("its_id", "options", "hazard", "budget", "horizon"),
    [
        ("FrozenLake-v1", {}, "holes", 0.08, 30),
        ("CliffWalking-v1", {"is_slippery": True}, "cliff", 0.2, 30),
        ("Taxi-v4", {}, "illegal", 0.5, 15),
    ],
)
def test_real_steps_come_to_what_the_model_expects(its_id, options, hazard, budget, horizon):
    # mean of 400 episodes of a policy that blends the plan with chance, so that hazards happen;
    # 5 standard errors miss once in a million
    env = gymnasium.make(its_id, **options)
    imported = tr.from_gymnasium(env, horizon, {hazard: budget})
    cmdp, scaling = imported
    plan = tr.solve(cmdp)
    blend = 0.7 * plan.policy + 0.3 / cmdp.n_actions
    expected = scaling.undo(tr.evaluate(cmdp, blend))
    seen = tr.rehearse(
        env, blend, budget={hazard: budget}, episodes=400, reward_range=scaling.reward_range
    )
    for j, name in enumerate(("reward", hazard)):
        sums = seen.totals[:, j]
        assert sums.std() > 0
        assert abs(sums.mean() - expected[name]) < 5 * sums.std() / 20, name
        band = seen.band(name)
        assert band.low[-1] <= expected[name] <= band.high[-1]


def test_what_was_rescaled_is_undone_by_hand():
    # running is 10 for a cost of 3, walking 4 for nothing: with a budget of 1 run a third of the
    # time, for 6; one more unit of budget earns 2
    cmdp, scaling = tr.from_gymnasium(bridge(), 5, 1.0, cost_range=(0.0, 5.0))
    plan = tr.solve(cmdp)
    sums = scaling.undo(plan)
    assert sums["reward"] == pytest.approx(6.0)
    assert sums["cost"] == pytest.approx(1.0)
    assert scaling.reward_range == (0.0, 10.0)
    assert "cost in [0, 5] became (x - 0)/5" in scaling.words
    assert plan.multiplier[0] == pytest.approx(2.0)


def test_episodes_that_end_where_others_continue_get_a_separate_state():
    cmdp, scaling = tr.from_gymnasium(revolving_door(), 4)
    assert (cmdp.n_states, scaling.has_end_state, scaling.absorbing) == (2, True, ())
    assert scaling.undo(tr.solve(cmdp))["reward"] == pytest.approx(2 - 2.0**-3)
    assert "'episode over' added" in scaling.words


def test_known_maps_and_moves_come_along():
    cmdp, _ = tr.from_gymnasium("FrozenLake-v1", 10)
    assert cmdp.layout.rows == ("S...", ".H.H", "...H", "H..G")
    assert cmdp.action_names == ("left", "down", "right", "up")
    assert cmdp.state_names[7] == "r1c3"
    cliff, _ = tr.from_gymnasium("CliffWalking-v1", 10)
    assert cliff.layout.rows[3] == "SXXXXXXXXXXG"
    # every move of the layout leads where the kernel leads, from the middle of the map
    sure = tr.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), 10).cmdp
    for model, state in ((sure, 9), (cliff, 15)):
        for a, move in enumerate(model.layout.moves):
            to = int(model.transition[state, a].argmax())
            assert (model.layout.cells[to] - model.layout.cells[state]).tolist() == list(move)


@pytest.mark.parametrize(
    ("costs", "by_hand"),
    [
        (lambda step: float(step.next_state == 1), [1.0, 1.0]),
        (lambda step: float(step.action == 0 and step.terminated), [1.0, 0.0]),
        ([0.0, 0.5], [0.5, 0.5]),
        ([[0.25, 0.75], [0.0, 0.0]], [0.25, 0.75]),
        ([[[0, 0.5], [0, 1.0]], [[0, 0], [0, 0]]], [0.5, 1.0]),
        ({"toll": lambda step: step.info["cost"] / 3}, [1.0, 0.0]),
    ],
    ids=["next state", "terminated", "(S,)", "(S, A)", "(S, A, S)", "named"],
)
def test_costs_come_from_functions_and_arrays(costs, by_hand):
    cmdp, _ = tr.from_gymnasium(bridge(), 2, 1.0, costs)
    np.testing.assert_allclose(cmdp.constraint_cost[0, 0, 0], by_hand)
    np.testing.assert_array_equal(cmdp.constraint_cost[0, 0, 1], 0.0)


def test_states_where_an_episode_ends_cost_nothing_afterwards():
    cmdp, _ = tr.from_gymnasium("FrozenLake-v1", 10, {"hazard": 1.0})
    holes = [5, 7, 11, 12]
    assert not cmdp.constraint_cost[:, :, holes].any()
    # from r1c0, moving down slips right into the hole at r1c1 a third of the time
    assert cmdp.constraint_cost[0, 0, 4, 1] == pytest.approx(1 / 3)


GOOD = {0: {0: [(1.0, 0, 0.0, False)]}}


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({0: {0: [(0.9, 0, 0.0, False)]}}, {}, ("P[0][0]", "probabilities add up to 0.9", "1")),
        ({0: {0: [(1.0, 1, 0.0, False)]}}, {}, ("P[0][0][0]", "next state 1", "0 to 0")),
        (
            {0: {0: [(1.0, 0.7, 0.0, False)]}},
            {},
            ("P[0][0][0]", "next state 0.7", "0 to 0"),
        ),
        ({0: {0: None}}, {}, ("P[0][0]", "None", "a list of outcomes")),
        ({0: {0: [(1.0, 0, np.nan, False)]}}, {}, ("P[0][0][0]", "reward nan", "a finite number")),
        (
            {0: {0: [(1.0, 0, 0.0)]}},
            {},
            (
                "P[0][0][0]",
                "(1.0, 0, 0.0)",
                "(probability, next state, reward, terminated), or these and an info",
            ),
        ),
        (
            {0: {0: [(1.0, 0, 0.0, False, 3)]}},
            {},
            (
                "P[0][0][0]",
                "(1.0, 0, 0.0, False, 3)",
                "(probability, next state, reward, terminated), or these and an info",
            ),
        ),
        (
            {0: {0: [(-1.0, 0, 0.0, False)]}},
            {},
            ("P[0][0][0]", "probability -1", "a number in [0, 1]"),
        ),
        ({0: {1: [(1.0, 0, 0.0, False)]}}, {}, ("P[0][0]", "missing", None)),
        (GOOD, {"initial": 1}, ("initial", 1, "a state from 0 to 0")),
        (GOOD, {"initial": [0.5, 0.5]}, ("initial", None, "1 probabilities that add up to 1")),
        (GOOD, {"budget": 1.0}, r"P\[0\]\[0\]: info has no 'cost', it holds nothing"),
        (GOOD, {"costs": [0.0]}, ("budget", "missing", None)),
        (GOOD, {"budget": 1.0, "costs": [2.0]}, ("cost", 2.0, "a number in [0, 1]")),
        (
            GOOD,
            {"budget": 1.0, "costs": [[0.0, 0.0]]},
            ("costs['cost']", (1, 2), "one of (1,), (1, 1), (1, 1, 1)"),
        ),
        (GOOD, {"budget": {"a": 1}, "costs": {"b": [0.0]}}, "budget: 'a' is unknown"),
        (GOOD, {"reward_range": (1.0, 2.0)}, "the 0 after an episode's end included"),
    ],
)
def test_a_bad_table_or_argument_is_named(table, options, message):
    with refuses(ModelError, message):
        tr.from_gymnasium(Tabled(table, [1.0]), 3, **options)


def test_environments_without_a_table_or_a_start_are_refused():
    with refuses(
        ModelError,
        argument="Blackjack-v1",
        found="observation_space is Tuple(Discrete(32), Discrete(11), Discrete(2))",
        expected="Discrete(n) from 0",
    ):
        tr.from_gymnasium("Blackjack-v1", 3)
    with refuses(
        ModelError,
        argument="env",
        found="tightrope/ring-v0",
        expected="an environment with a table P",
    ):
        tr.from_gymnasium("tightrope/ring-v0", 3)
    with pytest.raises(ModelError, match="fickle_passenger"):
        tr.from_gymnasium(gymnasium.make("Taxi-v4", fickle_passenger=True), 3)
    with refuses(ModelError, "cannot make it", argument="Nowhere-v0"):
        tr.from_gymnasium("Nowhere-v0", 3)
    with refuses(
        ConfigError,
        argument="env",
        found="int",
        expected="a Gymnasium environment, its id, or a function that makes it",
    ):
        tr.from_gymnasium(3, 3)
    with refuses(ModelError, argument="initial", found="missing"):
        tr.from_gymnasium(Tabled(GOOD), 3)


def test_a_cost_range_must_hold_the_nothing_after_the_end():
    with refuses(ModelError, "without 0", argument="cost_range", found=(2.0, 4.0)):
        tr.from_gymnasium(bridge(), 2, 8.0, lambda step: 3.0, cost_range=(2.0, 4.0))


def test_a_discounted_optimum_is_that_of_a_plain_recursion_that_stops():
    env = gymnasium.make("FrozenLake-v1")
    model, scaling = tr.from_gymnasium(env, discount=0.9)
    assert isinstance(model, tr.DiscountedCMDP)
    table, V = env.unwrapped.P, np.zeros(16)
    for _ in range(400):
        V = np.array([
            max(
                sum(p * (r + (0.0 if done else 0.9 * V[t])) for p, t, r, done in outcomes)
                for outcomes in table[s].values()
            )
            for s in range(16)
        ])  # fmt: skip
    assert scaling.undo(tr.solve(model))["reward"] == pytest.approx(V[0], abs=1e-9)
    careful, _ = tr.from_gymnasium(env, discount=0.9, budget={"holes": 0.01})
    plan = tr.solve(careful)
    assert plan.constraint_value[0] == pytest.approx(0.01)
    assert plan.value < V[0]


def test_averages_need_an_environment_that_never_ends():
    with refuses(ModelError, "end in state 5,", argument="average"):
        tr.from_gymnasium("FrozenLake-v1", average=True)
    # two states, taking turns; a step from the second earns 1
    rows = {s: {0: [(1.0, 1 - s, float(s), False)]} for s in range(2)}
    model, scaling = tr.from_gymnasium(Tabled(rows, np.array([1.0, 0.0])), average=True)
    assert scaling.undo(tr.solve(model))["reward"] == pytest.approx(0.5)
    with refuses(ModelError, argument="noise", found="beta", expected="'none' without a horizon"):
        tr.from_gymnasium(Tabled(rows, np.array([1.0, 0.0])), average=True, noise="beta")
