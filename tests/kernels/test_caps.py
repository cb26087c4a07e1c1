"""Stages in which constraints have no costs are skipped, without a change in any bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from draws import SOME
from tightrope.arrays import Caps
from tightrope.envs import build
from tightrope.kernels.bellman import price
from tightrope.kernels.caps import count_together
from tightrope.kernels.occupancy import gather
from tightrope.kernels.scratch import desk
from tightrope.model.base import writable_problem
from tightrope.plan.generate import in_ranges

H, S, A = 7, 4, 3


def with_ranges(first, last, seed=0):
    """A problem whose constraints have costs from one stage to another."""
    rng = np.random.default_rng(seed)
    base = writable_problem(build("random", n_states=S, n_actions=A, horizon=H, seed=seed))
    costs = rng.random((len(first), H, S, A))
    stages = np.arange(H)
    is_used = (stages >= np.reshape(first, (-1, 1))) & (stages < np.reshape(last, (-1, 1)))
    costs[~is_used] = 0.0
    return base._replace(constraint_cost=costs, budget=np.ones(len(first)))


@SOME
@given(st.lists(st.tuples(st.integers(0, H), st.integers(0, 3)), min_size=5, max_size=9))
def test_losses_and_values_are_the_same_bits_whether_stages_are_skipped(ranges):
    first = [start for start, _ in ranges]
    last = [min(H, start + width) for start, width in ranges]
    problem = with_ranges(first, last, seed=len(ranges))
    caps = in_ranges(problem)
    rng = np.random.default_rng(len(ranges))
    lam, choice = rng.random(len(ranges)), rng.integers(0, A, (H, S)).astype(np.int16)
    orders, work = np.zeros((1, 1), dtype=np.uint32), desk(S)
    losses, points = np.empty((2, H, S, A)), np.empty((2, len(ranges) + 1))

    for of, loss, point in zip((problem, caps), losses, points, strict=True):
        price(of.cost, of.constraint_cost, of.allowed, 1.0, lam, loss)
        gather(of, choice, orders, np.empty((H, S)), point, work)

    assert isinstance(caps.constraint_cost, Caps)
    np.testing.assert_array_equal(losses[1], losses[0])
    np.testing.assert_array_equal(points[1], points[0])


def test_ranges_and_the_most_constraints_at_one_stage_by_hand():
    caps = in_ranges(with_ranges([0, 2, 3, 5, 6], [1, 5, 3, 7, 7])).constraint_cost

    assert isinstance(caps, Caps)
    assert caps.first[[0, 1, 3, 4]].tolist() == [0, 2, 5, 6]
    assert caps.last.tolist() == [1, 5, 0, 7, 7]  # constraint 2 has no costs
    assert count_together(caps) == 2


def test_costs_at_most_stages_stay_an_array():
    for problem in (with_ranges([0] * 5, [H] * 5), with_ranges([0] * 3, [1] * 3)):
        assert in_ranges(problem) is problem
        assert count_together(problem.constraint_cost) == len(problem.budget)
