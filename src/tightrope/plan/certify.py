"""From an occupancy to a plan that proves itself.

Whatever method found an occupancy, the plan made of it is evaluated by our own sweep, and the
prices are turned into a lower bound by our own sweep. A plan whose numbers do not fit raises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Box, Floats, Ints, Problem, Transitions
from tightrope.errors import SolverError
from tightrope.kernels.bellman import evaluate_all
from tightrope.kernels.copying import repeated
from tightrope.kernels.desk import Desk, desk
from tightrope.kernels.occupancy import kernel_of, occupancy, policy_of
from tightrope.kernels.rows import Kernels
from tightrope.model import Plan

ORDER_OF_ROUNDING = 1e-12
LARGEST_ROUNDING = 1e-6  # of the cost; a plan whose prices round by more proves nothing


class Certificate(NamedTuple):
    """What a method claims beside its occupancy."""

    lam: Floats  # (I,) prices
    bound: float  # lower bound on the cost of every policy that keeps the budgets
    choice: Ints  # (H, S) actions for states that are not reached
    order: Ints  # (H, S) over boxes: the kernel for pairs that are not reached
    method: str
    sweeps: int


def values_of(
    transitions: Kernels, problem: Problem, policy: Floats, work: Desk | None = None
) -> tuple[float, Floats]:
    """Exact cost and constraint values of a policy, by backward sweeps."""
    H, S, _ = policy.shape
    V, totals = np.empty((H + 1, S)), np.empty(problem.budget.size + 1)
    order = np.zeros(S, dtype=np.uint32)
    evaluate_all(transitions, problem, policy, V, order, work or desk(S), totals)
    return float(totals[0]), totals[1:]


def rounding_of(values: Any, horizon: int) -> Any:
    """Bound on the rounding error of sums over the steps of an episode; errors add up."""
    return (horizon + 8) * 2.0**-52 * np.abs(values)


def certified(
    problem: Problem, q: Floats, flow: Floats, claim: Certificate, gap: float, allowed: Floats
) -> Plan:
    """The plan of an occupancy (and a flow, over a box), re-evaluated.

    Parameters
    ----------
    problem : Problem
    q : (H, S, A) array
    flow : (H, E) or (H, 0) array
    claim : Certificate
    gap : float
        Relative gap that must be certified.
    allowed : (I,) array
        Excess over each budget that counts as none.

    Raises
    ------
    SolverError
        When the plan breaks a budget or its gap is larger.
    """
    H, S, A = q.shape
    policy = np.empty((H, S, A))
    policy_of(q, claim.choice, policy)
    kernels, transition = problem.kernels, None
    if isinstance(kernels, Box):
        kernels = kernel_in(kernels, q, flow, claim.order)
        transition = kernels
    order, work = np.zeros(S, dtype=np.uint32), desk(S)
    value, constraint_value = values_of(kernels, problem, policy, work)
    reached = np.empty((H, S, A))
    occupancy(kernels, problem.initial, policy, reached, np.empty((2, S)), order, work)
    _check(problem, value, constraint_value, reached, claim, gap, allowed)
    priced = float(claim.lam @ (np.abs(problem.budget) + np.abs(constraint_value)))
    bound = claim.bound - float(rounding_of(abs(value) + priced, H))
    return Plan(
        policy=policy,
        value=value,
        constraint_value=constraint_value,
        multiplier=claim.lam,
        gap=value - bound,
        occupancy=reached,
        method=claim.method,
        sweeps=claim.sweeps,
        transition=transition,
    )


def kernel_in(box: Box, q: Floats, flow: Floats, order: Ints) -> Transitions:
    """Kernel of a flow as transitions of H stages, inside the box everywhere."""
    H, S, _ = q.shape
    data = np.empty((H, box.indices.shape[1]))
    kernel_of(box, q, flow, order, data, np.zeros(S), desk(S))
    return Transitions(repeated(box.indptr, H), repeated(box.indices, H), data)


def _check(
    problem: Problem,
    value: float,
    constraint_value: Floats,
    q: Floats,
    claim: Certificate,
    gap: float,
    allowed: Floats,
) -> None:
    excess = constraint_value - problem.budget
    if np.any(excess > allowed):
        i = int(np.argmax(excess / allowed))
        raise SolverError(
            f"{claim.method}: the plan spends {constraint_value[i]:.9g} of budget {i}, "
            f"which is {problem.budget[i]:.9g}"
        )
    reach = float(claim.lam @ np.maximum(excess, 0.0))
    room = gap * abs(value)
    if not -room - reach <= value - claim.bound <= room:
        rounding = ORDER_OF_ROUNDING * _size(problem, claim.lam, q)
        room = max(room, min(rounding, LARGEST_ROUNDING * _size(problem, 0 * claim.lam, q)))
    if not -room - reach <= value - claim.bound <= room:
        raise SolverError(
            f"{claim.method}: the plan costs {value:.12g}, the proven bound is {claim.bound:.12g}; "
            f"expected them to agree within {room:.3g}"
        )


def _size(problem: Problem, lam: Floats, q: Floats) -> float:
    """What rounding is measured by: expected sums of the priced losses without their signs.

    Signed losses may cancel to a value of nearly nothing. The second term is for probabilities
    that are themselves rounding errors, and lead to states where the loss is large.
    """
    size = float(lam @ np.abs(problem.budget))
    for price, loss in zip((1.0, *lam), (problem.cost, *problem.constraint_cost), strict=True):
        sizes = np.abs(loss)
        expected = np.einsum("hsa,hsa->", np.broadcast_to(sizes, q.shape), q)
        size += float(price) * float(expected + 1e-3 * len(q) * sizes.max())
    return size
