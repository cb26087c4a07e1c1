"""A plan proves itself or is not made; its prices where several are optimal; fewer coin flips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
import zoo
from draws import MANY, SOME, cases
from refusals import refuses
from tightrope.kernels.scratch import desk
from tightrope.model.base import writable_problem
from tightrope.plan.certify import Certificate, certify, purify
from tightrope.plan.generate import generate, totals

NO_FLOW = np.zeros((1, 0))
EXACT = np.array([1e-9])
COIN = zoo.coin(0.25)


def claim(lam, bound):
    """A certificate for a model of one state and one stage."""
    order = np.zeros((1, 1), dtype=desk(1).rank.dtype)
    return Certificate(np.array(lam), bound, np.zeros((1, 1), dtype=np.int16), order, "test", 1)


def test_a_true_claim_becomes_a_plan():
    plan = certify(
        writable_problem(COIN),
        np.array([[[0.75, 0.25]]]),
        NO_FLOW,
        claim([1.0], 0.75),
        1e-8,
        EXACT,
        COIN.names,
    )

    assert plan.value == 0.75
    assert 0.0 <= plan.gap <= 1e-14
    assert plan.constraint_value.tolist() == [0.25]
    assert (plan.method, plan.sweeps) == ("test", 1)


@pytest.mark.parametrize("bound", [0.74, 0.76, -np.inf, np.nan])
def test_a_bound_that_does_not_meet_the_value_is_refused(bound):
    with refuses(
        tr.SolverError, argument="value", found=pytest.approx(0.75), expected=f"{bound:.12g}"
    ):
        certify(
            writable_problem(COIN),
            np.array([[[0.75, 0.25]]]),
            NO_FLOW,
            claim([1.0], bound),
            1e-8,
            EXACT,
            COIN.names,
        )


def test_a_policy_that_breaks_its_budget_is_refused():
    with refuses(tr.SolverError, argument="budget 0", found=pytest.approx(0.3), expected="0.25"):
        certify(
            writable_problem(COIN),
            np.array([[[0.7, 0.3]]]),
            NO_FLOW,
            claim([1.0], 0.75),
            1e-8,
            EXACT,
            COIN.names,
        )


def test_an_occupancy_that_is_off_by_rounding_is_evaluated_again():
    q = np.array([[[0.75 + 1e-9, 0.25]]])

    plan = certify(writable_problem(COIN), q, NO_FLOW, claim([1.0], 0.75), 1e-6, EXACT, COIN.names)

    assert plan.occupancy.sum() == pytest.approx(1.0, abs=1e-15)
    assert plan.value == pytest.approx(plan.occupancy[0, 0, 0], abs=1e-15)


@SOME
@given(cases(), st.sampled_from([1e-3, -1e-3]))
def test_no_plan_is_certified_with_a_wrong_bound(case, error):
    plan = tr.solve(case.cmdp, tolerance=1e-10)
    bound = plan.value - plan.gap
    H, S, _ = plan.policy.shape
    made = Certificate(
        plan.multiplier,
        bound + error,
        np.zeros((H, S), dtype=np.int16),
        np.zeros((1, 1), dtype=desk(1).rank.dtype),
        "test",
        1,
    )

    problem, names = writable_problem(case.cmdp), case.cmdp.names
    with pytest.raises(tr.SolverError):
        certify(problem, plan.occupancy, np.zeros((H, 0)), made, 1e-8, 1e-8, names)


@pytest.mark.parametrize("seed", range(6))
def test_costs_that_cancel_to_nothing_are_still_certified(seed):
    """Signed tenths over a box: the value is zero up to rounding, where no relative gap is met."""
    rng = np.random.default_rng([7373, 213, 294, 628, 962, 1312][seed])
    S, A = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    H, I = int(rng.integers(2, 6)), int(rng.integers(0, 3))
    p = rng.multinomial(10, np.ones(S) / S, size=(S, A)) / 10
    width = rng.choice([0, 0.1, 0.2, 0.3], size=p.shape)
    cost = rng.integers(-1, 2, size=(S, A)) * rng.choice([1.0, 0.1, 0.3])
    d = rng.integers(-1, 2, size=(I, S, A)) * 0.7
    budget = rng.choice([0, 0.1, 0.3], size=I)
    initial = rng.multinomial(10, np.ones(S) / S) / 10
    cmdp = tr.CMDP(p, abs(cost), abs(d), budget, H, initial)

    plan = tr.solve_optimistic(
        cmdp, np.clip(p - width, 0, 1), np.clip(p + width, 0, 1), cost, d, tolerance=1e-10
    )

    assert plan.value == pytest.approx(0.0, abs=1e-15)
    assert abs(plan.gap) <= 1e-15


both = pytest.mark.parametrize("method", ["columns", "lp"])


def measured(cmdp, i, step):
    """Cost saved per unit by a little more of one budget, by solving again."""
    budget = cmdp.budget
    budget[i] += step
    before, after = (tr.solve(m, tolerance=1e-13).value for m in (cmdp, cmdp.with_budget(budget)))
    return (before - after) / step


@both
def test_of_two_equal_constraints_more_of_one_alone_saves_nothing(method):
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[1, 0]], [[1, 0]]], [0.4, 0.4], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.multiplier.sum() == pytest.approx(1.0)
    assert plan.saving == pytest.approx([0.0, 0.0], abs=1e-9)


@both
def test_constraints_that_bind_together_save_what_each_alone_would(method):
    # share x of action 0 costs 1 - x; x <= 0.4 from the first, 2 x <= 0.8 from the second, and
    # the third does not bind
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[0.5, 0]], [[1, 0]], [[1, 1]]], [0.2, 0.4, 1], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.saving == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert 0.5 * plan.multiplier[0] + plan.multiplier[1] == pytest.approx(1.0)


@both
def test_the_saving_of_a_budget_that_binds_alone_is_its_multiplier(method):
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0, 1]], [[[1, 0]], [[1, 0]]], [0.4, 0.5], 1)
    plan = tr.solve(cmdp, method=method)
    assert plan.saving == pytest.approx([1.0, 0.0], abs=1e-9)
    assert plan.multiplier == pytest.approx([1.0, 0.0], abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), is_repeated=st.booleans())
def test_savings_are_derivatives_at_the_values_of_a_deterministic_policy(seed, is_repeated):
    rng = np.random.default_rng(seed)
    S, A, H = 3, 2, 3
    constraint_cost = rng.random((2, S, A))
    if is_repeated:
        constraint_cost = np.concatenate((constraint_cost, constraint_cost[:1]))
    cmdp = tr.CMDP(
        rng.dirichlet(np.ones(S), (S, A)),
        rng.random((S, A)),
        constraint_cost,
        np.full(len(constraint_cost), float(H)),
        horizon=H,
    )
    policy = np.eye(A)[rng.integers(A, size=(H, S))]
    cmdp = cmdp.with_budget(tr.evaluate(cmdp, policy).constraint_value)
    plan = tr.solve(cmdp)
    for i in range(cmdp.n_constraints):
        assert plan.saving[i] <= plan.multiplier[i]
        # budgets that one policy attains are eased by up to 2e-10 of them
        assert plan.saving[i] == pytest.approx(measured(cmdp, i, 1e-6), rel=1e-3, abs=1e-3)


@both
@pytest.mark.parametrize(
    ("cost", "constraint_cost", "budget", "horizon"),
    [
        ([1.0, 0.3], [[0.8, 1.0], [0.9, 0.2], [0.4, 0.6]], [2.8, 1.3, 1.6], 3),
        ([0.4, 0.2], [[0.8, 0.0], [0.3, 0.4], [0.6, 0.9]], [0.8, 0.7, 1.5], 2),
    ],
)
def test_a_budget_beside_others_at_their_least_values_saves_nothing(
    method, cost, constraint_cost, budget, horizon
):
    rows = [[row] for row in constraint_cost]
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [cost], rows, budget, horizon=horizon)
    for i in range(3):
        assert measured(cmdp, i, 0.01) == pytest.approx(0, abs=1e-6)
    assert tr.solve(cmdp, method=method).saving == pytest.approx([0, 0, 0], abs=1e-6)


@MANY
@given(cases())
def test_a_purer_mixture_costs_and_spends_no_more(case):
    problem, H = writable_problem(case.cmdp), case.cmdp.horizon
    mixture = generate(problem, H, 1e-12)

    purer = purify(problem, mixture, 1e-9)

    before, after = totals(problem, mixture), totals(problem, purer)
    assert after[0] <= before[0] + 1e-8
    assert (after[1:] <= np.maximum(case.cmdp.budget, before[1:]) + 1e-9).all()
    assert purer.weights.sum() == pytest.approx(1.0)
    differs = [(m.actions != m.actions[0]).any(axis=0).sum() for m in (mixture, purer)]
    assert differs[1] <= differs[0]


@SOME
@given(cases(most=1))
def test_one_budget_never_needs_more_than_one_coin(case):
    assert tr.solve(case.cmdp, tolerance=1e-12).n_randomized <= 1


def test_many_ties_are_settled_with_one_coin():
    """Eight equal choices between paying 1 and spending 1: a budget of 2.5 mixes in one of them."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[1, 0]], [[[0, 1]]], [2.5], 8)

    plan = tr.solve(cmdp)

    assert plan.value == pytest.approx(5.5, abs=1e-9)
    assert plan.n_randomized == 1
    shares = plan.policy[:, 0, 1]
    assert np.sort(shares) == pytest.approx([0, 0, 0, 0, 0, 0.5, 1, 1])
