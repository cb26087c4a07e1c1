"""pymdptoolbox as a second opinion: its backward induction and ours agree, both ways."""

from __future__ import annotations

import mdptoolbox.example
import mdptoolbox.mdp
import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import tightrope as tr
import zoo
from refusals import refuses


def toolbox_values(P, R, horizon):
    """Greatest expected sum of rewards from each state, by pymdptoolbox."""
    process = mdptoolbox.mdp.FiniteHorizon(P, R, 1.0, horizon)
    process.run()
    return process.V[:, 0]


def our_values(model, n_states):
    return [tr.solve(model(initial=s)).value for s in range(n_states)]


FOREST = mdptoolbox.example.forest(S=4)
RNG = np.random.default_rng(5)
BY_TRANSITION = RNG.normal(size=(2, 4, 4))
FORMS = {
    "by pair": FOREST[1],
    "by state": FOREST[1][:, 0],
    "by transition": BY_TRANSITION,
    "by transition, sparse": [csr_matrix(matrix) for matrix in BY_TRANSITION],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_optimum_is_that_of_the_toolbox(form, is_sparse):
    P = [csr_matrix(matrix) for matrix in FOREST[0]] if is_sparse else FOREST[0]

    def model(**options):
        return tr.from_toolbox(P, FORMS[form], 6, **options)

    theirs = toolbox_values(FOREST[0], FORMS[form], 6)
    np.testing.assert_allclose(our_values(model, 4), theirs, atol=1e-9)


def test_a_model_with_prices_is_the_same_lagrangian_there():
    cmdp = zoo.random_cmdp(np.random.default_rng(1), 4, 3, 5, 2, is_stationary=True)
    prices = np.array([0.7, 0.2])
    P, R = tr.to_toolbox(cmdp, prices)
    priced = cmdp.cost + np.tensordot(prices, cmdp.constraint_cost, 1)
    alone = tr.CMDP(cmdp.transition, priced[0] / 2, horizon=5, initial=cmdp.initial)
    theirs = cmdp.initial @ toolbox_values(np.stack([p.toarray() for p in P]), R, 5)
    assert -theirs == pytest.approx(2 * tr.solve(alone).value)


def test_budgets_may_be_put_on_toolbox_models():
    P, R = FOREST
    cut = np.zeros((4, 2))
    cut[:, 1] = 3.0
    free = tr.from_toolbox(P, R, 6)
    never = tr.from_toolbox(P, R, 6, {"cuts": cut}, {"cuts": 0.0})
    # without cutting the forest grows or burns: the reward of an old one, by hand from the values
    value = np.zeros(4)
    for _ in range(6):
        value = R[:, 0] + P[0] @ value
    plan = tr.solve(never)
    assert plan.value == pytest.approx(value[0])
    assert tr.solve(free).value >= value[0] - 1e-12
    assert never.constraint_units[0].name == "cuts"


def test_round_trip_keeps_the_model():
    P, R = FOREST
    back = tr.to_toolbox(tr.from_toolbox(P, R, 6))
    np.testing.assert_allclose([matrix.toarray() for matrix in back[0]], P)
    np.testing.assert_allclose(back[1], R)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tr.from_toolbox(np.ones((2, 2)), [0, 0], 2), ("transition", (2, 2), "(A, S, S)")),
        (
            lambda: tr.from_toolbox([np.ones((2, 3))], [0, 0], 2),
            ("transition[0]", (2, 3), "(S, S)"),
        ),
        (lambda: tr.from_toolbox("P", [0, 0], 2), ("transition", "str", "A matrices (S, S)")),
        (
            lambda: tr.from_toolbox(FOREST[0], np.ones(3), 2),
            ("reward", (3,), "(4,), (4, 2) or (2, 4, 4)"),
        ),
        (
            lambda: tr.from_toolbox(FOREST[0], [csr_array(np.eye(4))], 2),
            ("reward", "1 matrices", "2 of shape (4, 4)"),
        ),
        (
            lambda: tr.from_toolbox(FOREST[0], [csr_array(np.eye(4)), csr_array(np.eye(3))], 2),
            ("reward", "2 matrices", "2 of shape (4, 4)"),
        ),
        (
            lambda: tr.from_toolbox(FOREST[0], [np.eye(4), np.eye(3)], 2),
            "reward: expected an array of real numbers, got",
        ),
        (
            lambda: tr.from_toolbox(FOREST[0], [0.0, np.nan, 0.0, 0.0], 2),
            r"reward\[s=1, a=0\] is nan, expected a finite number; 2 such entries",
        ),
        (
            lambda: tr.from_toolbox(*FOREST, 2, {"x": [0, 0, np.inf, 0]}, {"x": 1}),
            ("constraint_cost['x'][s=2, a=0]", np.inf, "a finite number"),
        ),
        (
            lambda: tr.from_toolbox(*FOREST, 2, {"x": np.ones(4)}),
            ("budget", "for []", "one for each constraint: ['x']"),
        ),
        (
            lambda: tr.to_toolbox(zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 1)),
            "depends on time",
        ),
    ],
)
def test_what_the_toolbox_cannot_say_is_named(call, said):
    with refuses(tr.ModelError, said):
        call()


def test_constraints_need_prices_and_actions_must_exist():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 1, is_stationary=True)
    with refuses(tr.ModelError, argument="multiplier", found="missing"):
        tr.to_toolbox(cmdp)
    with refuses(tr.ModelError, argument="multiplier", found=(2,), expected="(1,)"):
        tr.to_toolbox(cmdp, [1.0, 2.0])
    partial = tr.CMDP(
        cmdp.transition, cmdp.cost[0], horizon=2, allowed=[[True, False], [True, True]]
    )
    with pytest.raises(tr.ModelError, match="some actions do not exist"):
        tr.to_toolbox(partial)


def test_a_discounted_optimum_is_that_of_their_policy_iteration():
    theirs = mdptoolbox.mdp.PolicyIteration(*FOREST, 0.9)
    theirs.run()

    def model(**options):
        return tr.from_toolbox(*FOREST, discount=0.9, **options)

    np.testing.assert_allclose(our_values(model, 4), theirs.V, atol=1e-8)
    P, R = tr.to_toolbox(model())
    back = mdptoolbox.mdp.PolicyIteration([p.toarray() for p in P], R, model().discount)
    back.run()
    np.testing.assert_allclose(back.V, theirs.V)


def test_a_long_run_average_is_that_of_their_relative_value_iteration():
    theirs = mdptoolbox.mdp.RelativeValueIteration(*FOREST, epsilon=1e-10)
    theirs.run()
    model = tr.from_toolbox(*FOREST, average=True)
    assert tr.solve(model).value == pytest.approx(theirs.average_reward, abs=1e-8)
    cut = np.zeros((4, 2))
    cut[:, 1] = 1.0
    never = tr.from_toolbox(*FOREST, None, {"cuts": cut}, {"cuts": 0.0}, average=True)
    assert tr.solve(never).occupancy[:, 1].sum() == pytest.approx(0.0, abs=1e-9)
