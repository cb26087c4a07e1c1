"""Confidence bounds on the values of a policy, from observed data.

With V(pi; p, c) the value of a policy, and B the confidence set of kernels::

    lower = min over p in B of V(pi; p, c_low),     upper = max over p in B of V(pi; p, c_high)

for the cost and for each constraint by itself. The set is a product over stages and pairs and V
grows with what comes after, so one backward sweep each way is exact.

While the true model lies in the set, the bounds hold for every policy simultaneously, so a policy
may be chosen after looking at them, as the learner's own is. The radii spend a third of delta on
costs and a third on transitions, so all of this fails with probability delta at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tightrope.arrays import Floats
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts
from tightrope.belief.limits import find_limits
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.scratch import desk
from tightrope.model.draft import at_stages, default_names
from tightrope.model.task import Task
from tightrope.model.units import Units
from tightrope.plan.evaluate import check_policy

KEPT, EXCEEDED, UNDECIDED = "kept", "exceeded", "undecided"
EVERY, ONE, AVERAGE = "every policy", "one policy", "average"  # what bounds hold for
SCOPES = {
    EVERY: "for every policy at once",
    ONE: "for this policy, if it was chosen without the episodes that the bounds come from, the "
    "process is Markov, and the log has all episodes in the order in which they happened",
    AVERAGE: "for the average of the policies that were played, however they were chosen",
}


@final
@dataclass(frozen=True)
class Bounds:
    """Confidence bounds on the values of a policy, in the learner's units.

    Parameters
    ----------
    cost : (2,) array
        Lower and upper bound on the expected cost.
    constraint_cost : (I, 2) array
        The same for the expected sum of each constraint cost.
    budget : (I,) array
        Budgets of these sums.
    delta : float
        Probability that some bound, over all policies, fails.
    is_heuristic : bool
        Whether radii were scaled down, so that nothing is guaranteed.
    horizon : int
        Number of steps H.
    scope : str
        What the bounds hold for: ``"every policy"`` (all policies simultaneously), ``"one policy"``
        (this one, chosen without the data), or ``"average"`` (the average of the policies played).
    are_floors : tuple of bool
        Which budgets are floors: least instead of greatest expected totals; none by default.
    constraint_names : tuple of str
        Names of the constraints; "constraint 0" and so on by default.

    Examples
    --------
    >>> import tightrope as tr
    >>> learner = tr.learner("OptCMDP", n_states=2, n_actions=2, horizon=3, budget=[2], episodes=9)
    >>> bounds = learner.bound([[1.0, 0.0], [1.0, 0.0]])
    >>> bounds.constraint_cost, bounds.verdicts
    (array([[0., 3.]]), ('undecided',))
    """

    cost: Floats  # (2,)
    constraint_cost: Floats  # (I, 2)
    budget: Floats  # (I,)
    delta: float
    is_heuristic: bool
    horizon: int
    scope: str = EVERY
    are_floors: tuple[bool, ...] = ()
    constraint_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.constraint_names or default_names(len(self.budget))
        object.__setattr__(self, "constraint_names", tuple(names))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Whether each budget is certainly "kept", certainly "exceeded", or "undecided"."""
        signs = np.where(np.array(self.are_floors or np.zeros(len(self.budget)), bool), -1.0, 1.0)
        ends = np.sort(signs[:, None] * self.constraint_cost, axis=1)
        return tuple(
            KEPT if high <= limit else EXCEEDED if low > limit else UNDECIDED
            for (low, high), limit in zip(ends, signs * self.budget, strict=True)
        )

    @property
    def keeps_all(self) -> bool:
        """Whether every budget is certainly kept."""
        return all(verdict == KEPT for verdict in self.verdicts)

    def within(self, units: Units, horizon: int) -> Bounds:
        """The bounds, cut to the range of an episode with costs in [0, 1] per step.

        Parameters
        ----------
        units : Units
            Of the cost and the constraints.
        horizon : int
            Number of steps.

        Returns
        -------
        Bounds
            Narrower or the same.

        Examples
        --------
        >>> import tightrope as tr
        >>> learner = tr.learner(
        ...     "OptCMDP", n_states=2, n_actions=2, horizon=2, budget=[1.0], episodes=100
        ... )
        >>> from tightrope.model.units import Units
        >>> bounds = learner.bound([[1.0, 0.0], [1.0, 0.0]])
        >>> bounds.within(Units.plain(1), horizon=1).cost
        array([0., 1.])
        """
        pairs = zip(
            (units.cost, *units.constraints), (self.cost, *self.constraint_cost), strict=True
        )
        ends = [np.clip(e, *np.sort(unit.show(np.array([0.0, horizon])))) for unit, e in pairs]
        bounded = np.array(ends[1:]).reshape(-1, 2)
        return replace(self, cost=ends[0], constraint_cost=bounded, horizon=horizon)

    def __repr__(self) -> str:
        ends = [f"{low:.6g} to {high:.6g}" for low, high in (self.cost, *self.constraint_cost)]
        rows = [
            f"{each} (budget {budget:.6g}, {verdict})"
            for each, budget, verdict in zip(ends[1:], self.budget, self.verdicts, strict=True)
        ]
        return f"Bounds(cost {', '.join([ends[0], *rows])}; delta {self.delta:g})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import bounds_card

        return bounds_card(self)

    @property
    def words(self) -> str:
        """The guarantee of the bounds, in a sentence."""
        if self.is_heuristic:
            return "not guaranteed: the radii were made smaller than the theory asks for"
        return (
            f"all of this is true with probability at least {1 - self.delta:g}, "
            f"{SCOPES[self.scope]}"
        )


def bound_policy(
    task: Task,
    confidence: Confidence,
    kind: Any,
    counts: Counts,
    policy: Any,
    units: Units | None = None,
    start_radius: float = 0.0,
    names: Sequence[str] = (),
) -> Bounds:
    """Compute bounds on the cost and on each constraint value of a policy.

    ``task`` and ``confidence`` are as the learner was given them, and ``kind`` is the class of its
    belief, which defines the confidence set. The policy is as for `evaluate`. The bounds hold for
    any start within ``start_radius`` of the task's, in L1: half of it may move, each by at most H.
    ``names`` are those of the constraints.
    """
    pi = check_policy(policy, at_stages(task.allowed, task.horizon))
    radii = kind.as_set(confidence)
    limits = find_limits(task, radii, counts)
    S = task.n_states
    V, order, work = np.empty((task.horizon + 1, S)), np.zeros(S, dtype=np.uint32), desk(S)
    ends = np.empty((task.n_constraints + 1, 2))
    for k in range(task.n_constraints + 1):
        for side, (loss, sign) in enumerate(((limits.low[k], 1.0), (limits.high[k], -1.0))):
            evaluate(limits.kernels, loss, pi, sign, V, order, work)
            ends[k, side] = task.initial @ V[0]
    # rounding could leave a sum of H ones a few ulps above H
    most = float(task.horizon)
    ends = ends.clip(0.0, most)
    ends = (ends + np.array([-0.5, 0.5]) * start_radius * most).clip(0.0, most)
    units = units or Units.plain(task.n_constraints)
    facts = task.delta, task.horizon, EVERY, names, radii.is_heuristic
    return bounds_of(ends, task.budget, units, *facts)


def optimistic_values(problem: Any, policy: Floats) -> Floats:
    """Return the least sum of cost and constraint costs that a policy may have.

    It is from each stage and state, (H, S), with the best kernels of the problem's set.
    """
    H, S, _ = policy.shape
    parts = [problem.cost, *problem.constraint_cost]
    loss = sum(np.broadcast_to(part, policy.shape) for part in parts)
    V, order = np.empty((H + 1, S)), np.zeros(S, dtype=np.uint32)
    evaluate(problem.kernels, np.ascontiguousarray(loss), policy, 1.0, V, order, desk(S))
    return V[:H]


def bounds_of(
    ends: Floats,
    budget: Floats,
    units: Units,
    delta: float,
    horizon: int,
    scope: str,
    names: Sequence[str],
    is_heuristic: bool = False,
) -> Bounds:
    """Convert ends (I+1, 2) of totals on the internal scale, and budgets, to `Bounds`."""
    pairs = zip(units.constraints, ends[1:], strict=True)
    return Bounds(
        np.sort(units.cost.show(ends[0])),
        np.array([np.sort(unit.show(pair)) for unit, pair in pairs]).reshape(-1, 2),
        units.show_totals(budget),
        delta,
        is_heuristic,
        horizon,
        scope,
        tuple(units.are_floors.tolist()) if units.are_floors.any() else (),
        tuple(names),
    )
