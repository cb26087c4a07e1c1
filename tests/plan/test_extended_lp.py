"""The extended program: by hand, at its two limits, by induction and by column generation."""

from __future__ import annotations

import numpy as np
import pytest

import problems
from refusals import refuses
from tightrope.arrays import Box
from tightrope.errors import ModelError
from tightrope.plan.lp import extended_lp, full_box, occupancy_lp

SEEDS = range(30)
CLOSE = 1e-8


def any_box(seed, width=None, tightness=None):
    """A random problem over a box of random width, with a rest in about half of the seeds."""
    known, H = problems.any_problem(seed, tightness)
    rng = np.random.default_rng(1000 + seed)
    drawn = float(rng.choice([0.0, 0.1, 0.5, 2.0]))
    boxed = problems.boxed(
        rng, known, drawn if width is None else width, has_rest=rng.random() < 0.5
    )
    return boxed, H


def dense(box, values, S):
    """Values on the entries of a box, (G, E), as (G, S*A, S)."""
    out = np.zeros((box.indptr.shape[0], box.indptr.shape[1] - 1, S))
    for g, pointers in enumerate(box.indptr):
        for row in range(pointers.size - 1):
            entries = slice(pointers[row], pointers[row + 1])
            out[g, row, box.indices[g, entries]] = values[g, entries]
    return out


@pytest.mark.parametrize("solver", ["simplex", "ipm", "interior"])
def test_the_tempting_box_is_split_to_keep_its_budget(solver):
    found = extended_lp(problems.tempting_box(), 2, solver)

    assert found.objective == pytest.approx(0.5, abs=1e-7)
    np.testing.assert_allclose(found.multiplier, [1.0], atol=1e-7)
    np.testing.assert_allclose(found.occupancy[1].sum(axis=1), [0.0, 0.5, 0.5], atol=1e-7)


def test_the_tempting_box_has_no_answer_below_zero():
    box = problems.tempting_box()

    assert extended_lp(box._replace(budget=np.array([-1e-3])), 2) is None


def test_with_zero_radii_it_is_the_occupancy_program():
    for seed in SEEDS:
        known, H = problems.any_problem(seed)
        p = known.kernels
        point = Box(p.indptr, p.indices, p.data, p.data, np.empty((p.indptr.shape[0], 0)))
        found, other = extended_lp(known._replace(kernels=point), H), occupancy_lp(known, H)

        assert (found is None) == (other is None)
        if found is not None:
            assert found.objective == pytest.approx(other.objective, abs=CLOSE)
            q = found.occupancy.reshape(H, -1)
            for h in range(H - 1):
                g = min(h, p.indptr.shape[0] - 1)
                mass = np.repeat(q[h], np.diff(p.indptr[g]))
                np.testing.assert_allclose(
                    found.flow[h, : mass.size], mass * p.data[g, : mass.size], atol=1e-15
                )


@pytest.mark.parametrize("has_rest", [False, True], ids=["listed", "rest"])
def test_with_full_boxes_it_is_the_shortest_path(has_rest):
    # every successor may get all the mass: V_h(s) = min_a c_h(s,a) + min_t V_{h+1}(t)
    for seed in SEEDS:
        known, H = problems.any_problem(seed)
        _, S, A = known.cost.shape
        ends = np.zeros((1, S, A, S)), np.ones((1, S, A, S))
        box = problems.interval(*ends, rest=np.ones((1, S * A)) if has_rest else None)
        free = known._replace(kernels=box, budget=np.full(known.budget.size, float(H)))
        V = np.zeros(S)
        for h in range(H - 1, -1, -1):
            cost = known.cost[min(h, known.cost.shape[0] - 1)]
            if known.allowed.shape[0] > 0:
                exists = known.allowed[min(h, known.allowed.shape[0] - 1)]
                cost = np.where(exists, cost, np.inf)
            V = cost.min(axis=1) + V.min()

        assert extended_lp(free, H).objective == pytest.approx(known.initial @ V, abs=CLOSE)


def test_without_constraints_it_is_extended_value_iteration():
    for seed in SEEDS:
        boxed, H = any_box(seed)
        free = boxed._replace(constraint_cost=boxed.constraint_cost[:0], budget=np.empty(0))
        found = extended_lp(free, H, "ipm" if seed % 2 else "simplex")

        assert found.objective == pytest.approx(problems.least(free, H, np.empty(0)), abs=CLOSE)


def test_prices_close_the_gap_over_boxes():
    for seed in SEEDS:
        boxed, H = any_box(seed, tightness=0.6)
        found = extended_lp(boxed, H, "ipm" if seed % 2 else "simplex")

        assert problems.least(boxed, H, found.multiplier) == pytest.approx(
            found.objective, abs=1e-7
        )


def scarce_box(seed):
    """Any box, with budgets that are often out of reach."""
    boxed, H = any_box(seed)
    return (boxed if seed % 4 else boxed._replace(budget=boxed.budget - 0.2 * H)), H


@pytest.mark.parametrize(
    ("program", "made"),
    [(occupancy_lp, problems.any_problem), (extended_lp, scarce_box)],
    ids=["known", "box"],
)
def test_column_generation_agrees_and_calls_the_same_problems_infeasible(program, made):
    n_infeasible = 0
    for seed in range(120):
        problem, H = made(seed)
        found, value = program(problem, H), problems.by_columns(problem, H)

        assert (found is None) == (value is None), seed
        if found is None:
            n_infeasible += 1
        else:
            assert found.objective == pytest.approx(value, abs=CLOSE)
    assert 10 < n_infeasible < 110


def test_the_flow_is_a_kernel_of_the_box_times_the_occupancy():
    for seed in SEEDS:
        boxed, H = any_box(seed, tightness=0.6)
        _, S, A = boxed.cost.shape
        box = full_box(boxed.kernels, S) if boxed.kernels.rest.size else boxed.kernels
        found = extended_lp(boxed, H, "ipm" if seed % 2 else "simplex")
        q = found.occupancy.reshape(H, -1)
        lower, upper = dense(box, box.lower, S), dense(box, box.upper, S)
        reach = boxed.initial

        assert np.all(found.flow[-1] == 0.0)
        for h in range(H):
            np.testing.assert_allclose(q[h].reshape(S, A).sum(axis=1), reach, atol=CLOSE)
            if h + 1 < H:
                g = min(h, lower.shape[0] - 1)
                one = Box(*(field[g : g + 1] for field in box))
                z = dense(one, found.flow[h : h + 1], S)[0]
                np.testing.assert_allclose(z.sum(axis=1), q[h], atol=CLOSE)
                assert np.all(z >= lower[g] * q[h, :, None] - CLOSE)
                assert np.all(z <= upper[g] * q[h, :, None] + CLOSE)
                reach = z.sum(axis=0)
        cost = np.broadcast_to(boxed.cost, found.occupancy.shape)
        assert (found.occupancy * cost).sum() == pytest.approx(found.objective, abs=CLOSE)
        for d, budget in zip(boxed.constraint_cost, boxed.budget, strict=True):
            assert (found.occupancy * d).sum() <= budget + CLOSE


def test_a_wider_box_a_lower_cost_or_a_larger_budget_never_costs_more():
    for seed in SEEDS:
        boxed, H = any_box(seed, width=0.2, tightness=0.6)
        box = boxed.kernels
        wider = box._replace(
            lower=0.9 * box.lower, upper=np.minimum(1.0, box.upper + 0.05), rest=1.1 * box.rest
        )
        found = extended_lp(boxed, H)
        for other in (
            boxed._replace(kernels=wider),
            boxed._replace(cost=boxed.cost - 0.1 * np.abs(boxed.cost)),
            boxed._replace(budget=boxed.budget + 0.1),
        ):
            assert extended_lp(other, H).objective <= found.objective + CLOSE


@pytest.mark.parametrize("width", [1e-12, 1e-9, 4e-9, 2e-8, 1e-7])
def test_intervals_too_narrow_for_the_solver_shift_values_no_more_than_they_are_wide(width):
    # two kernels of a row differ by at most S intervals of 1e-8, and values by at most 2H
    for seed in SEEDS:
        boxed, H = any_box(seed, width=width)
        free = boxed._replace(constraint_cost=boxed.constraint_cost[:0], budget=np.empty(0))
        bound = 1e-9 + 1e-8 * boxed.initial.size * H * H

        found = extended_lp(free, H).objective
        assert found == pytest.approx(problems.least(free, H, np.empty(0)), abs=bound)


def test_a_row_that_is_full_only_at_its_upper_bounds_keeps_its_mass():
    # one interval is narrow and one wide, and only the two upper bounds together make one
    lower, upper = np.zeros((1, 2, 1, 2)), np.zeros((1, 2, 1, 2))
    lower[0, 0, 0], upper[0, 0, 0] = [0.5 - 1e-9, 0.2], [0.5, 0.5]
    lower[0, 1, 0, 1] = upper[0, 1, 0, 1] = 1.0
    cost = np.array([[[1.0], [0.0]]])
    box = problems.problem(
        problems.interval(lower, upper), cost, np.empty((0, 1, 2, 1)), np.empty(0)
    )

    assert extended_lp(box, 2).objective == pytest.approx(1.5, abs=1e-9)


def test_by_hand_a_ball_moves_half_its_radius():
    """State 0 costs 1 and stays, state 1 is free: a radius of 1/2 moves 1/4 of the mass."""
    center, radius = problems.known(np.eye(2)[None, :, None]), np.full((1, 2), 0.5)
    kernels = problems.ball(center.indptr, center.indices, center.data, radius)
    none = np.empty((0, 1, 2, 1)), np.empty(0)
    free = problems.problem(kernels, np.array([[[1.0], [0.0]]]), *none)

    assert extended_lp(free, 2).objective == pytest.approx(1.75, abs=1e-9)
    assert extended_lp(free, 3).objective == pytest.approx(1.75 + 0.75**2, abs=1e-9)


def test_a_full_box_describes_the_same_set_as_the_box():
    for seed in SEEDS:
        boxed, H = any_box(seed, tightness=0.6)
        _, S, A = boxed.cost.shape
        full = full_box(boxed.kernels, S)
        zero = np.zeros(boxed.budget.size)

        assert full.rest.shape == (full.indptr.shape[0], 0)
        assert full.indices.shape == (full.indptr.shape[0], S * A * S)
        used = boxed.allowed.any(axis=0).ravel() if boxed.allowed.size else np.ones(S * A, bool)
        np.testing.assert_array_equal(
            dense(full, full.lower, S)[:, used],
            dense(boxed.kernels, boxed.kernels.lower, S)[:, used],
        )
        value = problems.least(boxed._replace(kernels=full), H, zero)
        assert value == pytest.approx(problems.least(boxed, H, zero), abs=1e-12)


def test_flow_over_a_rest_runs_over_every_successor():
    boxed, H = next(case for case in map(any_box, SEEDS) if case[0].kernels.rest.size)
    _, S, A = boxed.cost.shape
    free = boxed._replace(budget=boxed.budget + H)

    assert extended_lp(free, H).flow.shape == (H, S * A * S)


def test_a_known_kernel_is_sent_to_the_occupancy_program():
    with refuses(ModelError, argument="kernels", found="found Transitions", expected="Box"):
        extended_lp(problems.fork(), 1)
