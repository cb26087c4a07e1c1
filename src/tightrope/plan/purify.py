"""Fewer coin flips: a mixture of two policies becomes one of two that differ in a single state.

Where costs tie, the two policies that column generation mixes may differ in many states although
one binding budget needs a single randomised one. Every policy that follows one of them in some
states and the other elsewhere answers the same prices equally well. Changing states one after the
other walks from the policy that breaks the budget to the one that keeps it, and bisection finds the
step that crosses it.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats, Ints, Problem, is_set
from tightrope.kernels.desk import desk
from tightrope.kernels.occupancy import gather
from tightrope.plan.generate import Mixture

ROUNDED = 1e-12  # of a constraint value


def purified(problem: Problem, mixture: Mixture, tolerance: float) -> Mixture:
    """The mixture with as few randomised states as a walk between its two policies allows.

    Parameters
    ----------
    problem : Problem
    mixture : Mixture
        Of a known kernel; returned as it is unless it mixes two policies at a binding budget.
    tolerance : float
        Relative gap that the result may have. Rounding and an unfinished solve can make it
        larger, and then the mixture is returned as it is.
    """
    if is_set(problem.kernels) or len(mixture.weights) != 2:
        return mixture
    walk = _Walk(problem, mixture.actions)
    if walk.steps < 2:
        return mixture
    ends = walk.point(0), walk.point(walk.steps)
    old = mixture.weights @ np.array(ends)
    first_excess, second_excess = (end[1:] - problem.budget for end in ends)
    is_crossed = first_excess * second_excess < 0
    if not is_crossed.any():
        return mixture
    i = int(np.argmax(np.where(is_crossed, mixture.lam, -1.0)))  # one with a price, if any is
    excess = float(first_excess[i])
    low, high = 0, walk.steps
    points = {low: ends[0], high: ends[1]}
    while high - low > 1:
        middle = (low + high) // 2
        point = walk.point(middle)
        same_side = (point[1 + i] - problem.budget[i]) * excess > 0
        low, high = (middle, high) if same_side else (low, middle)
        points[middle] = point
    first, second = points[low], points[high]
    span = first[1 + i] - second[1 + i]
    if span == 0:
        return mixture
    share = float(np.clip((problem.budget[i] - second[1 + i]) / span, 0.0, 1.0))
    new = share * first + (1 - share) * second
    room = max(0.0, tolerance * abs(old[0]) - (old[0] - mixture.bound))
    limit = np.maximum(problem.budget, old[1:]) + ROUNDED * np.abs(old[1:])
    if new[0] > old[0] + room or np.any(new[1:] > limit):
        return mixture
    return mixture._replace(
        weights=np.array([share, 1 - share]),
        actions=np.stack((walk.policy(low), walk.policy(high))),
    )


class _Walk:
    """Policies between two: the first so many differing states follow the second policy."""

    def __init__(self, problem: Problem, actions: Ints) -> None:
        self.problem, (self.start, self.end) = problem, actions
        self.differs = np.flatnonzero(self.start != self.end)
        self.steps = self.differs.size
        H, S = self.start.shape
        self.order, self.reach, self.desk = (
            np.zeros((1, 1), dtype=np.uint32),
            np.empty((H, S)),
            desk(S),
        )

    def policy(self, step: int) -> Ints:
        """Policy after that many changes."""
        policy: Ints = self.start.copy()
        changed = self.differs[:step]
        policy.flat[changed] = self.end.flat[changed]
        return policy

    def point(self, step: int) -> Floats:
        """Cost and constraint values after that many changes."""
        point = np.empty(self.problem.budget.size + 1)
        gather(self.problem, self.policy(step), self.order, self.reach, point, self.desk)
        return point
