"""Column generation, compiled: against enumeration, in slices, in little room, from any prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
import zoo
from draws import MANY, SOME, boxes, cases
from tightrope.kernels.columns import AT_EDGE, INFEASIBLE, OPTIMAL, RUNNING, advance, begin, columns
from tightrope.kernels.pivot import violation
from tightrope.model.base import writable_problem
from tightrope.plan.optimistic import box_between

TINY = 1e-13
SLACK = 1e-9


def run(problem, horizon, room=40, start=None, tolerance=TINY, slice_of=1000):
    """A finished solve: its status and state."""
    state = columns(problem, horizon, room)
    if start is not None:
        state.lam[:] = start
    for _ in range(1000):
        status = advance(problem, state, tolerance, SLACK, slice_of)
        if status == AT_EDGE:  # budgets below what can be attained by rounding get the difference
            more = violation(state.master) + 1e-13
            problem = problem._replace(budget=problem.budget + more)
            begin(problem, state)
        elif status != RUNNING:
            return status, state
    raise AssertionError("column generation does not end")


@MANY
@given(cases())
def test_bound_and_master_meet_at_the_enumerated_optimum(case):
    status, state = run(writable_problem(case.cmdp), case.cmdp.horizon)

    optimum = brute.best_mixture(case.points, case.cmdp.budget)
    assert status == OPTIMAL
    assert state.progress.upper == pytest.approx(optimum, abs=1e-9)
    assert state.progress.lower <= optimum + 1e-10
    assert state.progress.lower == pytest.approx(optimum, abs=1e-9)


@MANY
@given(cases(margin=-1e-3))
def test_budgets_out_of_reach_end_with_the_least_violation(case):
    status, state = run(writable_problem(case.cmdp), case.cmdp.horizon)

    if case.slack < -1e-8:
        assert status == INFEASIBLE
        assert violation(state.master) == pytest.approx(-case.slack, abs=1e-9)
        assert state.progress.least_violation == pytest.approx(-case.slack, abs=1e-9)
    else:  # a budget below zero was raised to zero, where there is room again
        assert status == OPTIMAL


@SOME
@given(cases(), st.integers(1, 3))
def test_a_solve_in_slices_is_the_solve_in_one_piece(case, slice_of):
    problem, H = writable_problem(case.cmdp), case.cmdp.horizon

    status, whole = run(problem, H)
    again, sliced = run(problem, H, slice_of=slice_of)

    assert status == again
    assert whole.progress == sliced.progress
    np.testing.assert_array_equal(whole.master.weights, sliced.master.weights)
    np.testing.assert_array_equal(whole.lam, sliced.lam)


@SOME
@given(cases(), st.integers(0, 9))
def test_any_first_prices_lead_to_the_same_value(case, seed):
    problem, H, I = writable_problem(case.cmdp), case.cmdp.horizon, case.cmdp.n_constraints
    start = np.random.default_rng(seed).exponential(size=I) * 10.0 ** (seed % 3)

    _, plain = run(problem, H)
    status, warm = run(problem, H, start=start)

    assert status == OPTIMAL
    assert warm.progress.upper == pytest.approx(plain.progress.upper, abs=1e-9)


@SOME
@given(cases(most=2))
def test_room_for_a_few_columns_is_enough(case):
    """Columns that do not help make way for new ones."""
    problem, H, I = writable_problem(case.cmdp), case.cmdp.horizon, case.cmdp.n_constraints

    status, state = run(problem, H, room=I + 2)

    assert status == OPTIMAL
    optimum = brute.best_mixture(case.points, case.cmdp.budget)
    assert state.progress.upper == pytest.approx(optimum, abs=1e-9)


def stages(problem, H):
    """The same problem with everything told at every stage."""
    return problem._replace(
        kernels=type(problem.kernels)(*(np.repeat(field, H, axis=0) for field in problem.kernels)),
        cost=np.repeat(problem.cost, H, axis=0),
        constraint_cost=np.repeat(problem.constraint_cost, H, axis=1),
    )


@pytest.mark.parametrize("over_box", [False, True], ids=["known", "box"])
@pytest.mark.parametrize("seed", range(4))
def test_a_stationary_model_is_its_repetition(seed, over_box):
    rng, H = np.random.default_rng(seed), 4
    cmdp = zoo.random_cmdp(rng, 3, 2, H, 2, is_stationary=True).with_budget([1.6, 1.7])
    problem, p = writable_problem(cmdp), cmdp.transition
    if over_box:
        box = box_between(cmdp, np.maximum(p - 0.1, 0), np.minimum(p + 0.1, 1))
        problem = problem._replace(kernels=box)

    status, once = run(problem, H)
    again, often = run(stages(problem, H), H)

    assert status == again
    assert once.progress == often.progress
    np.testing.assert_array_equal(once.master.points, often.master.points)
    np.testing.assert_array_equal(once.lam, often.lam)


@SOME
@given(boxes(1, 2, is_signed=True))
def test_over_boxes_the_master_agrees_with_a_program_over_flows(boxed):
    cmdp, H = boxed.cmdp, boxed.cmdp.horizon
    problem = writable_problem(cmdp)._replace(
        kernels=box_between(cmdp, boxed.lower, boxed.upper),
        cost=np.ascontiguousarray(boxed.cost),
        constraint_cost=np.ascontiguousarray(boxed.constraint_cost),
    )
    bounds = (brute.by_stages(bound, H, 4) for bound in (boxed.lower, boxed.upper))
    expected = brute.optimistic(
        cmdp.initial, *bounds, boxed.cost, boxed.constraint_cost, cmdp.budget
    )

    status, state = run(problem, H)

    assert (status == OPTIMAL) == (expected is not None)
    if expected is not None:
        assert state.progress.upper == pytest.approx(expected, abs=1e-8)
