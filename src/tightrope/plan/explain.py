"""Use of every budget by a plan, where it randomizes, and which constraint forces it to.

At an optimum, the actions mixed in a state have the same priced value::

    Q_c(a) + sum_i lam_i Q_i(a)  =  the same for every action a in the mixture

so differences in cost are offset by priced constraint values. The constraint that forces the
mixture is the one whose priced values differ most. If prices do not distinguish the actions, an
exhausted budget may still require the mixture: the action that uses more of it would exceed it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Ints, Stationary, Transitions
from tightrope.errors import ConfigError
from tightrope.model import CMDP, Model, Plan, Unit
from tightrope.model.base import writable_problem
from tightrope.text import digits

NEGLIGIBLE = 1e-9  # relative slack and prices below this count as zero
SAME = 1e-9  # values closer than this, relative to the plan's cost or to a budget, are equal
ROUNDING = 1e-12  # of the size of a unit


@dataclass(frozen=True)
class Use:
    """Use of one budget by a plan, in the units of the model."""

    name: str
    unit: Unit
    used: float
    bound: float
    slack: float
    price: float  # units of the cost per unit of the constraint; never negative
    is_shared: bool = False  # whether raising other budgets as well would save more

    @property
    def is_binding(self) -> bool:
        """Whether more of the budget would help."""
        return self.price > 0

    @property
    def limit(self) -> str:
        """The bound as a table shows it."""
        return f"{'>=' if self.unit.is_maximized else '<='} {digits(self.bound)}"


def drop_rounding(unit: Unit, value: float) -> float:
    """Return a total, or zero if it is only the rounding of its conversion."""
    return 0.0 if abs(value) < ROUNDING * (abs(unit.shift) + abs(unit.factor)) else value


def kind_of(unit: Unit) -> str:
    """Return "budget" or "floor" for a constraint in this unit."""
    return "floor" if unit.is_maximized else "budget"


def uses(cmdp: Model, plan: Plan) -> list[Use]:
    """Return use, slack and price of every budget."""
    from tightrope.plan.generate import budget_units  # compiled kernels load on use

    units = cmdp.units
    sizes = budget_units(writable_problem(cmdp), cmdp.n_stages)
    least_prices = units.show_prices(NEGLIGIBLE * abs(units.cost.read(plan.value)) / sizes)
    is_dearer = plan.multiplier - plan.saving > np.maximum(
        least_prices, NEGLIGIBLE * plan.multiplier
    )
    found = []
    for i, unit in enumerate(cmdp.constraint_units):
        used, bound = float(plan.constraint_value[i]), float(cmdp.budget[i])
        slack = used - bound if unit.is_maximized else bound - used
        if abs(slack) <= NEGLIGIBLE * unit.size * sizes[i]:
            slack, used = 0.0, bound
        price = float(plan.saving[i]) if plan.saving[i] > least_prices[i] else 0.0
        is_used_up = slack <= 0.0
        found.append(
            Use(
                name=cmdp.constraint_names[i],
                unit=unit,
                used=used,
                bound=bound,
                slack=slack,
                price=price,
                is_shared=bool(is_dearer[i] or (is_used_up and not price and is_dearer.any())),
            )
        )
    return found


@dataclass(frozen=True)
class Randomized:
    """A stage and state in which a plan randomizes; for an infinite horizon, a state."""

    stage: int
    state: int
    reached: float  # probability of the state at that stage; visits for an infinite horizon
    actions: tuple[int, ...]  # those that are mixed
    shares: tuple[float, ...]  # probability of each; they sum to one
    # the one that forces the mixture; None if each of the actions alone would cost the same and
    # satisfy the budgets as well
    constraint: int | None


def find_randomized(cmdp: Model, plan: Plan) -> tuple[Randomized, ...]:
    """Return every reached stage and state in which a plan randomizes, by stage."""
    from tightrope.plan.generate import budget_units  # compiled kernels load on use

    shape: tuple[int, ...] = (cmdp.n_stages, cmdp.n_states, cmdp.n_actions)
    shape = shape if isinstance(cmdp, CMDP) else shape[1:]
    if plan.shape != shape:
        raise ConfigError.about("plan", shown=f"a policy of shape {plan.shape}", expected=shape)
    if not plan.choices.mixed.size:
        return ()
    reached = plan.reached
    where = np.stack(np.divmod(plan.choices.mixed, cmdp.n_states), axis=1)
    where = where[reached[where[:, 0], where[:, 1]] > 0]
    if not len(where):
        return ()
    spread = _spreads(cmdp, plan, where)
    units = cmdp.units
    least = SAME * units.cost.size * abs(units.cost.read(plan.value))
    priced = (plan.multiplier * units.sizes)[:, None] * spread
    strongest = np.vstack((np.full(len(where), least), priced)).argmax(axis=0)
    unit = budget_units(writable_problem(cmdp), cmdp.n_stages)
    slack = np.where(units.are_floors, -1.0, 1.0) * (cmdp.budget - plan.constraint_value)
    is_used_up = slack <= SAME * units.sizes * unit
    need = np.vstack((np.full(len(where), SAME), (is_used_up / unit)[:, None] * spread))
    strongest = np.where(strongest > 0, strongest, need.argmax(axis=0))
    found = []
    for k, (h, s) in enumerate(where.tolist()):
        row = plan.choices.row(h, s)
        actions = np.flatnonzero(row > 0)
        found.append(
            Randomized(
                stage=h,
                state=s,
                reached=float(reached[h, s]),
                actions=tuple(actions.tolist()),
                shares=tuple(row[actions].tolist()),
                constraint=int(strongest[k]) - 1 if strongest[k] else None,
            )
        )
    return tuple(found)


def _spreads(cmdp: Model, plan: Plan, where: Ints) -> Floats:
    """Return the range of values of each constraint over the actions mixed at n places, (I, n)."""
    from tightrope.plan.threads import evaluate_large, is_large

    problem, I = writable_problem(cmdp), cmdp.n_constraints
    if is_large(problem):
        ranges = np.empty((plan.choices.mixed.size, I + 1))
        evaluate_large(problem, plan.choices, ranges)
        places = where[:, 0] * cmdp.n_states + where[:, 1]
        return np.asarray(ranges[np.searchsorted(plan.choices.mixed, places), 1:].T)
    spreads = np.array([_spread(cmdp, plan, i, where) for i in range(I)])
    return spreads.reshape(I, len(where))


def _spread(cmdp: Model, plan: Plan, i: int, where: Ints) -> Floats:
    """Return the range of values of a constraint over the actions mixed at each place."""
    from tightrope.kernels.bellman import action_values, evaluate
    from tightrope.kernels.scratch import desk

    problem = writable_problem(cmdp)
    if isinstance(problem.kernels, Stationary):
        from tightrope.plan.lasting import action_values_of

        values = action_values_of(problem.kernels, problem, plan.policy[None], i)[where[:, 1]]
        is_used = plan.policy[where[:, 1]] > 0
        most = np.where(is_used, values, -np.inf).max(axis=1)
        return np.asarray(most - np.where(is_used, values, np.inf).min(axis=1))
    H, S, A = plan.policy.shape
    kernels, cost = problem.kernels, problem.constraint_cost[i]
    assert isinstance(kernels, Transitions)
    V, Q = np.empty((H + 1, S)), np.empty((H, S, A))
    order, work = np.zeros(S, dtype=np.uint32), desk(S)
    evaluate(kernels, cost, plan.policy, 1.0, V, order, work)
    action_values(kernels, cost, V, Q, order, work)
    stages, states = where.T
    values, is_used = Q[stages, states], plan.policy[stages, states] > 0
    most = np.where(is_used, values, -np.inf).max(axis=1)
    return np.asarray(most - np.where(is_used, values, np.inf).min(axis=1))
