"""Certified plans from mixtures of policies or occupancies.

Prices. Optimal multipliers are not unique where the optimal cost has a kink: at a budget that a
deterministic policy uses up exactly, or where more budgets bind than policies are mixed (two
constraints that coincide, for example). Any of them certifies the plan. The saving of one more unit
is the least optimal multiplier of that budget::

    derivative of the optimal cost in budget i, to the right  =  - min { lam_i : lam optimal }

It is the multiplier of a problem with a little more of that budget, provided that those
multipliers are optimal for the problem itself too, which one sweep proves.

Randomization. Where costs tie, the two policies that column generation mixes may differ in many
states although one binding budget needs a single randomized one. Every policy that follows one of
them in some states and the other elsewhere answers the same prices equally well. Changing states
one by one leads from the policy that exceeds the budget to the one that satisfies it, and bisection
finds the step that crosses it.

Certificate. The plan of an occupancy of any method is evaluated by our own sweep, and so is the
lower bound of its prices. Inconsistent numbers raise an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import (
    Box,
    Floats,
    Ints,
    Large,
    Names,
    Problem,
    Stationary,
    StationaryBox,
    Transitions,
    as_box,
    count_steps,
    is_lasting,
    is_set,
)
from tightrope.errors import SolverError
from tightrope.kernels.criteria import gather, workspace
from tightrope.kernels.occupancy import kernel_of, policy_of, visit_states
from tightrope.kernels.scratch import desk, repeated
from tightrope.model import Plan
from tightrope.model.choices import Choices, Product
from tightrope.plan.evaluate import rounding_of, values_of
from tightrope.plan.generate import (
    Mixture,
    best_response,
    blend_policies,
    generate,
    mix,
    optimal_prices,
    relax,
    row_sizes,
)
from tightrope.plan.lasting import visit_led
from tightrope.plan.threads import crew_of, raise_failure

BINDING = 1e-9  # a budget with less slack is exhausted
NEAR = 1e-9  # a weight so small that the budgets are those of the other policies
ROUNDING = 2.0**-48  # of a bound, relative to the prices and budgets in it
TRACE = 1e-3
STRIDES = (1e-7, 1e-9, 1e-11, 1e-13)  # how much more budget, relative to the size of its row
SAME = 1e-12  # of a constraint value
ORDER_OF_ROUNDING = 1e-12
ROUNDING_PER_STEP = 5e-14  # of an infinite-horizon bound; sizes count a tenth of the largest total
LARGEST_ROUNDING = 1e-6  # of the cost; with larger rounding of prices a plan is not certified


def is_at_kink(problem: Problem, mixture: Mixture) -> bool:
    """Whether the prices of a mixture may not be unique."""
    if not mixture.lam.any():
        return False
    n_mixed = np.count_nonzero(mixture.weights > NEAR)
    spare = problem.budget + mixture.eased - mixture.total[1:]
    return bool(n_mixed <= np.count_nonzero(spare <= BINDING * mixture.unit))


def take_local_prices(problem: Problem, mixture: Mixture, tolerance: float) -> Mixture:
    """Replace the prices of a mixture by those of a little more of every budget.

    ``tolerance`` is the relative gap that the mixture may have with the new prices; if they are
    not certified, the prices stay.
    """
    H = mixture.choice.shape[0]
    eased = relax(problem, mixture.eased)
    lam = _local_prices(eased, H, mixture.value, tolerance, np.ones(eased.budget.size))
    if lam is None:
        return mixture
    value, answer = best_response(eased, H, lam)
    bound = value - float(lam @ eased.budget)
    return mixture._replace(lam=lam, bound=bound, choice=answer.choice, order=answer.order)


def find_savings(
    problem: Problem, horizon: int, value: float, lam: Floats, tolerance: float
) -> Floats:
    """Return the saving of one more unit of each budget alone, (I,).

    ``value`` is the optimal cost and ``lam`` (I,) optimal multipliers, to a relative gap of
    ``tolerance``.
    """
    savings = lam.copy()
    for i in np.flatnonzero(lam):
        # slightly larger other budgets, because those at the least attainable values have no prices
        direction = np.full(lam.size, TRACE)
        direction[i] = 1.0
        found = _local_prices(problem, horizon, value, tolerance, direction)
        saved = _difference(problem, horizon, value, int(i)) if found is None else found[i]
        savings[i] = min(savings[i], saved)
    return savings


def _difference(problem: Problem, horizon: int, value: float, i: int) -> float:
    """Return the cost saved per unit over a small step of one budget, at most its derivative."""
    step = STRIDES[0] * float(row_sizes(problem, horizon)[i])
    budget = problem.budget.copy()
    budget[i] += step
    wider = generate(problem._replace(budget=budget), horizon, TRACE * STRIDES[0])
    return max(0.0, (value - wider.value) / step)


def _local_prices(
    problem: Problem, horizon: int, value: float, tolerance: float, direction: Floats
) -> Floats | None:
    """Return multipliers that stay optimal when budgets rise in a direction; None if unproven."""
    unit = np.maximum(np.abs(problem.budget), row_sizes(problem, horizon))
    for stride in STRIDES:
        wider = relax(problem, stride * unit * direction)
        # a coarser tolerance would not distinguish the prices of the two sides
        lam = optimal_prices(wider, horizon, 1e-6 * stride)
        if lam is None:
            continue
        least, _ = best_response(problem, horizon, lam)
        room = tolerance * abs(value) + ROUNDING * float(lam @ np.abs(problem.budget))
        if least - float(lam @ problem.budget) >= value - room:
            return lam
    return None


def purify(problem: Problem, mixture: Mixture, tolerance: float) -> Mixture:
    """Reduce the randomized states of a mixture by a walk between its two policies.

    For a known kernel; the mixture is returned unchanged unless it mixes two policies at a binding
    budget and the result has a relative gap of at most ``tolerance``.
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
    i = int(np.argmax(np.where(is_crossed, mixture.lam, -1.0)))  # one with a positive price, if any
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
    limit = np.maximum(problem.budget, old[1:]) + SAME * np.abs(old[1:])
    if new[0] > old[0] + room or np.any(new[1:] > limit):
        return mixture
    return mixture._replace(
        weights=np.array([share, 1 - share]),
        actions=np.stack((walk.policy(low), walk.policy(high))),
    )


class _Walk:
    """Policies between two: the first k differing states follow the second policy."""

    def __init__(self, problem: Problem, actions: Ints) -> None:
        self.problem, (self.start, self.end) = problem, actions
        self.differs = np.flatnonzero(self.start != self.end)
        self.steps = self.differs.size
        H, S = self.start.shape
        self.order = np.zeros((1, 1), dtype=np.uint32)
        self.reach, self.desk = np.empty((H, S)), workspace(problem.kernels, S)

    def policy(self, step: int) -> Ints:
        """Return the policy after that many changes."""
        policy: Ints = self.start.copy()
        changed = self.differs[:step]
        policy.flat[changed] = self.end.flat[changed]
        return policy

    def point(self, step: int) -> Floats:
        """Return cost and constraint values after that many changes."""
        point = np.empty(self.problem.budget.size + 1)
        gather(self.problem, self.policy(step), self.order, self.reach, point, self.desk)
        raise_failure(self.problem.kernels)
        return point


class Reached(NamedTuple):
    """Occupancy of a policy of a known kernel, computed when it is asked for."""

    kernels: Transitions
    initial: Floats  # (S,)
    policy: Floats | Choices  # (H, S, A)

    def states(self) -> Floats:
        """Return the probability of each state by stage, (H, S)."""
        policy = self._choices()
        reach = np.empty(policy.actions.shape)
        none = np.zeros(0, dtype=np.uint32)
        visit_states(self.kernels, self.initial, *policy, none, desk(1), reach)
        return reach

    def dense(self) -> Floats:
        """Return the occupancy, (H, S, A)."""
        return Product(self._choices(), self.states()).dense()

    def _choices(self) -> Choices:
        return self.policy if isinstance(self.policy, Choices) else Choices.of(self.policy)


class Certificate(NamedTuple):
    """What a method claims in addition to its occupancy."""

    lam: Floats  # (I,) prices
    bound: float  # lower bound on the cost of every policy that keeps the budgets
    choice: Ints  # (H, S) actions for states that are not reached
    order: Ints  # (H, S) over boxes: the kernel for pairs that are not reached
    method: str
    sweeps: int


def certify(
    problem: Problem,
    q: Floats,
    flow: Floats,
    claim: Certificate,
    gap: float,
    allowed: Floats,
    names: Names,
) -> Plan:
    """Return the plan of an occupancy (and a flow, over a box), re-evaluated.

    Arrays: q (H, S, A), flow (H, E) or (H, 0). ``gap`` is the relative gap that must be certified,
    ``allowed`` (I,) the tolerated excess over each budget; ``names`` are for errors.

    Raises
    ------
    SolverError
        If the plan exceeds a budget or its gap is larger.
    """
    H, S, A = q.shape
    policy: Any = np.empty((H, S, A))
    policy_of(q, claim.choice, policy)
    kernels, transition, work = problem.kernels, None, desk(S)
    if isinstance(kernels, StationaryBox):
        box, discount = as_box(kernels), kernels.discount
        data = np.empty((1, kernels.indices.shape[1]))
        kernel_of(box, q, flow, claim.order, data, np.zeros(S), work)
        transition = Transitions(kernels.indptr, kernels.indices, data)
        kernels = Stationary(*transition, discount)
    if isinstance(kernels, Box):
        data = np.empty((H, kernels.indices.shape[1]))
        kernel_of(kernels, q, flow, claim.order, data, np.zeros(S), work)
        pattern = repeated(kernels.indptr, H), repeated(kernels.indices, H)
        kernels = transition = Transitions(*pattern, data)
    if isinstance(kernels, Stationary):
        policy, visits = visit_led(kernels, problem, q, policy, names)
        value, constraint_value = float(visits.totals[0]), visits.totals[1:]
        reached: Any = visits.occupancy
    else:
        value, constraint_value = values_of(kernels, problem, policy, work)
        reached = Reached(Transitions(*kernels[:3]), problem.initial, policy)
    found = Found(policy, reached, value, constraint_value, transition)
    return _certified(problem, found, claim, gap, allowed)


def certify_mixture(
    problem: Problem,
    mixture: Mixture,
    claim: Certificate,
    gap: float,
    allowed: Floats,
    names: Names,
) -> Plan:
    """Return the plan of a mixture of policies, re-evaluated; see `certify`."""
    kernels = problem.kernels
    if not isinstance(kernels, (Transitions, Large)):
        return certify(problem, *mix(problem, mixture), claim, gap, allowed, names)
    policy = blend_policies(problem, mixture)
    if isinstance(kernels, Large):
        value, *others = crew_of(kernels).evaluate(policy)
        constraint_value = np.array(others)
    else:
        value, constraint_value = values_of(kernels, problem, policy.dense())
    reached = Reached(Transitions(*kernels[:3]), problem.initial, policy)
    found = Found(policy, reached, float(value), constraint_value, None)
    return _certified(problem, found, claim, gap, allowed)


class Found(NamedTuple):
    """A policy and its exact evaluation."""

    policy: Floats | Choices
    reached: Floats | Reached  # (H, S, A) occupancy
    value: float
    constraint_value: Floats  # (I,)
    transition: Transitions | None  # inside a box


def _certified(
    problem: Problem, found: Found, claim: Certificate, gap: float, allowed: Floats
) -> Plan:
    value, constraint_value = found.value, found.constraint_value
    H = len(claim.choice)
    _check(problem, found, claim, gap, allowed)
    priced = float(claim.lam @ (np.abs(problem.budget) + np.abs(constraint_value)))
    steps = count_steps(problem.kernels, H)
    bound = claim.bound - float(rounding_of(abs(value) + priced, steps))
    policy: Any = found.policy  # what is in short becomes an array when it is asked for
    occupancy: Any = found.reached
    return Plan(
        policy=policy,
        value=value,
        constraint_value=constraint_value,
        multiplier=claim.lam,
        gap=value - bound,
        occupancy=occupancy,
        method=claim.method,
        sweeps=claim.sweeps,
        transition=found.transition,
    )


def _check(problem: Problem, found: Found, claim: Certificate, gap: float, allowed: Floats) -> None:
    value, constraint_value = found.value, found.constraint_value
    excess = constraint_value - problem.budget
    if (excess > allowed).any():
        i = int(np.argmax(excess / allowed))
        raise SolverError(
            f"{claim.method}: the plan spends {constraint_value[i]:.9g} of budget {i}, "
            f"which is {problem.budget[i]:.9g}",
            argument=f"budget {i}",
            found=constraint_value[i],
            expected=f"{problem.budget[i]:.9g}",
        )
    reach = float(claim.lam @ np.maximum(excess, 0.0))
    room = gap * abs(value)
    if not -room - reach <= value - claim.bound <= room:
        q = found.reached.dense() if isinstance(found.reached, Reached) else found.reached
        size, rounding = _size(problem, claim.lam, q), 0.0
        if is_lasting(problem.kernels):
            # the largest relative values are totals, and their rounding counts in each step
            rounding = ROUNDING_PER_STEP * count_steps(problem.kernels, len(q)) * size
        rounding = max(rounding, ORDER_OF_ROUNDING * size)
        room = max(room, min(rounding, LARGEST_ROUNDING * _size(problem, 0 * claim.lam, q)))
    if not -room - reach <= value - claim.bound <= room:
        raise SolverError(
            f"{claim.method}: the plan costs {value:.12g}, the proven bound is {claim.bound:.12g}; "
            f"expected them to agree within {room:.3g}",
            argument="value",
            found=value,
            expected=f"{claim.bound:.12g}",
        )


def _size(problem: Problem, lam: Floats, q: Floats) -> float:
    """Return the scale of rounding errors: expected sums of absolute priced losses.

    Signed losses may cancel to a value of nearly nothing. The second term is for probabilities
    that are themselves rounding errors, and lead to states where the loss is large.
    """
    size = float(lam @ np.abs(problem.budget))
    # relative values, which an infinite-horizon bound is made of, do not cancel exactly
    steps = count_steps(problem.kernels, len(q))
    trace = max(1.0, 0.1 * steps) if is_lasting(problem.kernels) else 1e-3 * steps
    for price, loss in zip((1.0, *lam), (problem.cost, *problem.constraint_cost), strict=True):
        sizes = np.abs(loss)
        expected = np.einsum("hsa,hsa->", np.broadcast_to(sizes, q.shape), q)
        size += float(price) * float(expected + trace * sizes.max())
    return size
