"""Plan over L1 balls and compare with sets that hold the same kernels. Run with bounds checks."""

from __future__ import annotations

import math

import numpy as np

import problems
from tightrope.arrays import Box, Floats, L1Ball, Problem
from tightrope.plan.certify import purify
from tightrope.plan.evaluate import values_of
from tightrope.plan.generate import Mixture, best_response, generate, least_violation, mix, totals

TOLERANCE = 1e-10


def ball_around(known: Problem, radius: float) -> Problem:
    """The same problem over all kernels within an L1 distance of its kernel."""
    p = known.kernels
    radii = np.full((p.indptr.shape[0], p.indptr.shape[1] - 1), radius)
    return known._replace(kernels=problems.ball(p.indptr, p.indices, p.data, radii))


def box_of_everything(known: Problem) -> Problem:
    """The same problem over every kernel, as a box."""
    p = known.kernels
    rest = np.ones((p.indptr.shape[0], p.indptr.shape[1] - 1))
    box = Box(p.indptr, p.indices, np.zeros_like(p.data), np.ones_like(p.data), rest)
    return known._replace(kernels=box)


def plan(problem: Problem, horizon: int) -> tuple[Mixture, Floats]:
    """Mixture and totals after every function that plans over a set."""
    mixture = purify(problem, generate(problem, horizon, TOLERANCE), TOLERANCE)
    found = totals(problem, mixture)
    if mixture.is_feasible:
        occupancy, _ = mix(problem, mixture)
        assert math.isclose(occupancy.sum(), horizon, rel_tol=1e-9)
        value, state = best_response(problem, horizon, mixture.lam)
        assert value - mixture.lam @ problem.budget <= found[0] + 1e-7
        assert state.order.shape == state.choice.shape
        cheapest = np.eye(problem.cost.shape[2])[state.choice]
        assert values_of(problem.kernels, problem, cheapest)[0] >= 0.0
    return mixture, found


def main(n_problems: int = 40) -> None:
    """Compare balls of radius 0 with known kernels and of radius 2 with boxes of everything."""
    for seed in range(n_problems):
        known, horizon = problems.any_problem(seed)
        known = known._replace(cost=np.abs(known.cost))
        for ball, same in (
            (ball_around(known, 0.0), known),
            (ball_around(known, 2.0), box_of_everything(known)),
        ):
            assert isinstance(ball.kernels, L1Ball)
            over_ball, found = plan(ball, horizon)
            expected = generate(same, horizon, TOLERANCE)
            assert over_ball.is_feasible == expected.is_feasible, seed
            assert math.isclose(over_ball.value, expected.value, abs_tol=1e-8), seed
            if over_ball.is_feasible:
                assert math.isclose(found[0], expected.value, abs_tol=1e-8), seed
        if known.budget.size:
            strict = ball_around(known._replace(budget=known.budget - 2.0 * horizon), 0.5)
            unit = np.ones(strict.budget.size)
            assert not least_violation(strict, horizon, unit, TOLERANCE).is_feasible


if __name__ == "__main__":
    main()
