"""A plan that does not prove itself is not made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightrope as tr
import zoo
from draws import SOME, cases
from tightrope.kernels.scratch import desk
from tightrope.model.cmdp import writable_problem
from tightrope.plan.certify import Certificate, certify

NO_FLOW = np.zeros((1, 0))
EXACT = np.array([1e-9])


def claim(lam, bound):
    """A certificate for a model of one state and one stage."""
    order = np.zeros((1, 1), dtype=desk(1).rank.dtype)
    return Certificate(np.array(lam), bound, np.zeros((1, 1), dtype=np.int16), order, "test", 1)


def test_a_true_claim_becomes_a_plan():
    plan = certify(
        writable_problem(zoo.coin(0.25)),
        np.array([[[0.75, 0.25]]]),
        NO_FLOW,
        claim([1.0], 0.75),
        1e-8,
        EXACT,
    )

    assert plan.value == 0.75
    assert 0.0 <= plan.gap <= 1e-14
    assert plan.constraint_value.tolist() == [0.25]
    assert (plan.method, plan.sweeps) == ("test", 1)


@pytest.mark.parametrize("bound", [0.74, 0.76, -np.inf, np.nan])
def test_a_bound_that_does_not_meet_the_value_is_refused(bound):
    with pytest.raises(tr.SolverError, match=r"the plan costs 0\.75, the proven bound is"):
        certify(
            writable_problem(zoo.coin(0.25)),
            np.array([[[0.75, 0.25]]]),
            NO_FLOW,
            claim([1.0], bound),
            1e-8,
            EXACT,
        )


def test_a_policy_that_breaks_its_budget_is_refused():
    with pytest.raises(tr.SolverError, match=r"the plan spends 0\.3 of budget 0, which is 0\.25"):
        certify(
            writable_problem(zoo.coin(0.25)),
            np.array([[[0.7, 0.3]]]),
            NO_FLOW,
            claim([1.0], 0.75),
            1e-8,
            EXACT,
        )


def test_an_occupancy_that_is_off_by_rounding_is_evaluated_anew():
    q = np.array([[[0.75 + 1e-9, 0.25]]])

    plan = certify(writable_problem(zoo.coin(0.25)), q, NO_FLOW, claim([1.0], 0.75), 1e-6, EXACT)

    assert plan.occupancy.sum() == pytest.approx(1.0, abs=1e-15)
    assert plan.value == pytest.approx(plan.occupancy[0, 0, 0], abs=1e-15)


@SOME
@given(cases(), st.sampled_from([1e-3, -1e-3]))
def test_no_plan_survives_a_wrong_bound(case, error):
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

    with pytest.raises(tr.SolverError):
        certify(writable_problem(case.cmdp), plan.occupancy, np.zeros((H, 0)), made, 1e-8, 1e-8)


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
