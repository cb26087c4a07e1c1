"""Feasibility of budgets: best attainable values, conflicts and the least relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Names, Problem, is_lasting, share
from tightrope.errors import InfeasibleError
from tightrope.model import Model, Unit
from tightrope.model.base import as_model, writable_problem
from tightrope.plan.classes import require_unichain
from tightrope.plan.generate import (
    SLACK,
    best_response,
    budget_units,
    generate,
    least_violation,
    require_attained,
    row_sizes,
)
from tightrope.text import apart, listed, round_up, vector

SHARE = 1e-7  # smaller relative parts of certificates and relaxations are rounding


@dataclass(frozen=True)
class Feasibility:
    """Best attainable values of the constraints, in their units.

    Parameters
    ----------
    alone : (I,) array
        Best attainable value of each constraint when the other budgets are ignored: the least one,
        or the greatest one of a constraint with a floor.
    jointly : (I,) array
        The same while the other budgets are kept; infinite (minus infinite for a floor) where they
        cannot be kept.
    relaxation : (I,) array
        Least raise (of a floor, lowering) that makes the budgets feasible when they change in
        proportion to the largest values their constraints can have; zero for those that need none.
    clash : tuple of int
        Constraints that cannot be met together; empty when all can.
    excess : (I,) array
        Excess over each budget (shortfall below a floor) of the policy that comes closest to
        feasibility.
    constraint_names : tuple of str
        Names of the constraints.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.feasibility("ring").relaxation
    array([0.])
    """

    alone: Floats  # (I,)
    jointly: Floats  # (I,)
    relaxation: Floats  # (I,)
    clash: tuple[int, ...]
    excess: Floats  # (I,)
    constraint_names: tuple[str, ...]

    @property
    def is_feasible(self) -> bool:
        """Whether some policy keeps every budget."""
        return not self.clash

    def __repr__(self) -> str:
        raised = f"infeasible, relaxation {vector(self.relaxation)}"
        words = "feasible" if self.is_feasible else raised
        return f"Feasibility({words}, best attainable values {vector(self.alone)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = ["feasible" if self.is_feasible else "infeasible"]
        heads = ["", "best alone", "best jointly", "relaxation"]
        columns = (self.alone, self.jointly, self.relaxation)
        rows = list(zip(self.constraint_names, *columns, strict=True))
        return listing("Feasibility", facts, heads, rows)


def feasibility(cmdp: Model | str, tolerance: float = 1e-8) -> Feasibility:
    """Compute the best attainable value of each constraint, alone and under the other budgets.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog.
    tolerance : float
        Relative gap to which each value is computed.

    Returns
    -------
    Feasibility
        Best attainable values, and the least relaxation if the budgets are infeasible.

    Examples
    --------
    >>> import tightrope as tr
    >>> limits = tr.feasibility("queue")
    >>> limits.is_feasible
    True
    >>> limits.alone.round(3)
    array([0., 0.])
    """
    cmdp, tolerance = as_model(cmdp), share("tolerance", tolerance)
    problem, H, units = writable_problem(cmdp), cmdp.n_stages, cmdp.units
    require_unichain(problem, cmdp.names)
    jointly = np.full(cmdp.n_constraints, np.inf)
    for i in range(cmdp.n_constraints):
        others = np.arange(cmdp.n_constraints) != i
        reduced = problem._replace(
            cost=problem.constraint_cost[i],
            constraint_cost=np.ascontiguousarray(problem.constraint_cost[others]),
            budget=problem.budget[others],
        )
        mixture = generate(reduced, H, tolerance, names=cmdp.names)
        if mixture.is_feasible:
            jointly[i] = require_attained(reduced, mixture, cmdp.names).value
    free = problem._replace(cost=np.zeros_like(problem.cost[:1]))
    alone = least_alone(problem, H, cmdp.names)
    clash: tuple[int, ...] = ()
    relaxation, excess = np.zeros((2, len(alone)))
    if not generate(free, H, tolerance).is_feasible:
        clash, relaxation, excess = find_closest(problem, H, alone, cmdp.names)
    values = units.show_totals(alone), units.show_totals(jointly)
    return Feasibility(
        *values,
        relaxation=units.sizes * relaxation,
        clash=clash,
        excess=units.sizes * excess,
        constraint_names=tuple(cmdp.constraint_names),
    )


def least_alone(problem: Problem, horizon: int, names: Names) -> Floats:
    """Return the least attainable value of each constraint, ignoring the other budgets."""
    none = np.zeros((0, *problem.constraint_cost.shape[1:]))
    free = problem._replace(constraint_cost=none, budget=np.zeros(0))
    asked = [free._replace(cost=cost) for cost in problem.constraint_cost]
    if is_lasting(problem.kernels):  # a response is a bound, which may not be attained
        found = [generate(each, horizon, 1e-12, names=names) for each in asked]
        pairs = zip(asked, found, strict=True)
        return np.array([require_attained(*pair, names).value for pair in pairs])
    return np.array([best_response(each, horizon, np.zeros(0))[0] for each in asked])


def find_closest(
    problem: Problem, horizon: int, alone: Floats, names: Names
) -> tuple[tuple[int, ...], Floats, Floats]:
    """Find the least relaxation of infeasible budgets, and which of them cannot be met together.

    Those are the ones that are impossible alone, or else a Farkas certificate: constraints whose
    weighted excess is positive for every policy. Returns them, the relaxation (I,), and the excess
    (I,) of the policy that comes closest to keeping the budgets.
    """
    unit = np.maximum(np.abs(problem.budget), row_sizes(problem, horizon))
    mixture = least_violation(problem, horizon, unit, 1e-10, names)
    require_attained(problem, mixture, names)
    share = mixture.lam * unit
    excess = mixture.total[1:] - problem.budget
    allowed = SLACK * budget_units(problem, horizon)
    is_impossible = alone > problem.budget + allowed
    clash = is_impossible if is_impossible.any() else share >= min(SHARE * share.sum(), share.max())
    is_exceeded = excess > SHARE * allowed
    relaxation = np.where(is_exceeded, max(mixture.violation, 0.0) * unit, 0.0)
    return tuple(np.flatnonzero(clash).tolist()), relaxation, np.where(is_exceeded, excess, 0.0)


def infeasible(cmdp: Model, problem: Problem, kept: Sequence[int] | None = None) -> InfeasibleError:
    """Return the error for infeasible budgets: which conflict, and the least relaxation.

    The error uses names and units of ``cmdp``; the problem is on the internal scale. ``kept`` has
    the model's numbers of the problem's constraints, when it does not have all.
    """
    units = cmdp.units
    numbers = list(range(cmdp.n_constraints) if kept is None else kept)
    whole = problem if kept is None else writable_problem(cmdp)
    alone = least_alone(whole, cmdp.n_stages, cmdp.names)
    relaxation, excess = np.zeros((2, cmdp.n_constraints))
    found, relaxation[numbers], excess[numbers] = find_closest(
        problem, cmdp.n_stages, alone[numbers], cmdp.names
    )
    clash = tuple(numbers[j] for j in found)
    shown = units.sizes * relaxation, units.show_totals(alone), units.sizes * excess
    facts = clash, *(tuple(each.tolist()) for each in shown)
    return InfeasibleError(unmet(cmdp, InfeasibleError("", *facts)), *facts)


def unmet(cmdp: Model, error: InfeasibleError) -> str:
    """Return why budgets are infeasible, and the least change that suffices."""
    facts = []
    for i in error.clash:
        name, unit = cmdp.constraint_names[i], cmdp.constraint_units[i]
        best, bound = apart(error.alone[i], float(cmdp.budget[i]))
        if unit.is_maximized:
            facts.append(f"{name!r} has floor {bound} and reaches at most {best} alone")
        else:
            facts.append(f"{name!r} has budget {bound} and needs at least {best} alone")
    names = listed([repr(cmdp.constraint_names[i]) for i in error.clash])
    together = " together" if len(error.clash) > 1 else ""
    changes = []
    for i in np.flatnonzero(error.excess).tolist():
        unit = cmdp.constraint_units[i]
        verb = "lowering" if unit.is_maximized else "raising"
        change = _enough(unit, float(cmdp.budget[i]), error.excess[i])
        changes.append(f"{verb} {cmdp.constraint_names[i]!r} by {change}")
    # an excess below the relaxation is that of one policy, and another may need less of it
    is_least = all(
        excess >= least * (1 - SHARE)
        for excess, least in zip(error.excess, error.relaxation, strict=True)
        if excess > 0
    )
    relief = (
        f"{listed(changes)} {'is the least sufficient change' if is_least else 'is sufficient'}"
    )
    return f"no policy keeps {names}{together}: {'; '.join(facts)}; {relief}"


def _enough(unit: Unit, budget: float, excess: float) -> str:
    """Return a sufficient change of a budget, rounded up to few digits."""
    needed = budget - excess if unit.is_maximized else budget + excess
    return round_up(excess, needed - unit.shift, max(abs(budget), abs(needed)))
