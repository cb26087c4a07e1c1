"""What the budgets allow: least attainable values, clashes, and the least relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.errors import InfeasibleError
from tightrope.model import CMDP
from tightrope.model.words import apart, digits, listed
from tightrope.plan.generate import Mixture, best_response, generate

__all__ = ["Feasibility", "feasibility", "infeasible", "least_alone", "unmet"]

SHARE = 1e-7  # a budget with a smaller part in the proof of infeasibility is not named


@dataclass(frozen=True)
class Feasibility:
    """Least attainable values of the constraints.

    Parameters
    ----------
    alone : (I,) array
        Least attainable value of each constraint when the other budgets are ignored.
    jointly : (I,) array
        The same while the other budgets are kept; infinite where they cannot be kept.
    relaxation : float
        Least number that makes the budgets feasible when added to each; zero when they are.
    clash : tuple of int
        Constraints that cannot be met together; empty when all can.
    """

    alone: Floats  # (I,)
    jointly: Floats  # (I,)
    relaxation: float
    clash: tuple[int, ...]

    @property
    def is_feasible(self) -> bool:
        """Whether some policy keeps every budget."""
        return not self.clash


def feasibility(cmdp: CMDP, tolerance: float = 1e-8) -> Feasibility:
    """Least attainable value of each constraint, alone and with the other budgets kept.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    tolerance : float
        Relative gap to which each value is computed.
    """
    problem, H = cmdp.problem, cmdp.horizon
    jointly = np.full(cmdp.n_constraints, np.inf)
    for i in range(cmdp.n_constraints):
        others = np.arange(cmdp.n_constraints) != i
        reduced = problem._replace(
            cost=problem.constraint_cost[i],
            constraint_cost=np.ascontiguousarray(problem.constraint_cost[others]),
            budget=problem.budget[others],
        )
        mixture = generate(reduced, H, tolerance)
        if mixture.is_feasible:
            jointly[i] = mixture.value
    whole = generate(problem._replace(cost=np.zeros_like(problem.cost[:1])), H, tolerance)
    return Feasibility(
        alone=least_alone(problem, H),
        jointly=jointly,
        relaxation=0.0 if whole.is_feasible else whole.violation,
        clash=() if whole.is_feasible else clash_of(whole),
    )


def least_alone(problem: Problem, horizon: int) -> Floats:
    """Least attainable value of each constraint when the other budgets are ignored."""
    none = np.zeros((0, *problem.constraint_cost.shape[1:]))
    values = [
        best_response(
            problem._replace(cost=cost, constraint_cost=none, budget=np.zeros(0)),
            horizon,
            np.zeros(0),
        )[0]
        for cost in problem.constraint_cost
    ]
    return np.array(values)


def clash_of(mixture: Mixture) -> tuple[int, ...]:
    """Constraints whose weighted excess is positive for every policy (a Farkas certificate)."""
    return tuple(int(i) for i in np.flatnonzero(mixture.lam > SHARE * mixture.lam.sum()))


def infeasible(
    cmdp: CMDP, problem: Problem, mixture: Mixture, kept: Sequence[int] | None = None
) -> InfeasibleError:
    """The error for budgets that no policy keeps: which clash, and the least relaxation.

    Parameters
    ----------
    cmdp : CMDP
        Gives names and units.
    problem : Problem
        Whose budgets cannot be kept.
    mixture : Mixture
        The least violation, with its proof.
    kept : sequence of int, optional
        The model's numbers of the problem's constraints, when it does not have all.
    """
    numbers = range(cmdp.n_constraints) if kept is None else kept
    clash = tuple(numbers[j] for j in clash_of(mixture))
    alone = least_alone(problem if kept is None else cmdp.problem, cmdp.horizon)
    error = InfeasibleError("", clash, mixture.violation, tuple(alone.tolist()))
    return InfeasibleError(unmet(cmdp, error, numbers), *error.facts)


def unmet(cmdp: CMDP, error: InfeasibleError, kept: Sequence[int] | None = None) -> str:
    """Why budgets cannot be met, and the least change that would do, in shown units.

    Parameters
    ----------
    cmdp : CMDP
        Gives names, units and budgets.
    error : InfeasibleError
        Which budgets clash, and by how much.
    kept : sequence of int, optional
        The constraints whose budgets were to be kept, when not all.
    """
    facts = []
    for i in error.clash:
        name, unit = cmdp.constraint_names[i], cmdp.constraint_units[i]
        best, bound = apart(unit.show(error.alone[i]), unit.show(float(cmdp.budget[i])))
        if unit.is_maximised:
            facts.append(f"{name!r} has floor {bound} and reaches at most {best} alone")
        else:
            facts.append(f"{name!r} has budget {bound} and needs at least {best} alone")
    names = listed([repr(cmdp.constraint_names[i]) for i in error.clash])
    together = " together" if len(error.clash) > 1 else ""
    changes = []
    for i in range(cmdp.n_constraints) if kept is None else kept:
        unit = cmdp.constraint_units[i]
        verb = "lowering" if unit.is_maximised else "raising"
        change = digits(error.relaxation * abs(unit.factor))
        changes.append(f"{verb} {cmdp.constraint_names[i]!r} by {change}")
    relief = f"{listed(changes)} is the least that would do"
    return f"no policy keeps {names}{together}: {'; '.join(facts)}; {relief}"
