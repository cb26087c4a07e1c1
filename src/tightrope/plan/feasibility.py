"""What the budgets allow: least attainable values, clashes, and the least relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.errors import InfeasibleError
from tightrope.model import CMDP
from tightrope.model.scalars import check_kind, share
from tightrope.model.words import apart, enough, listed
from tightrope.plan.generate import Mixture, best_response, generate, totals

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
    excess : (I,) array
        How much more of each budget the policy needs that comes closest to keeping them all.
    """

    alone: Floats  # (I,)
    jointly: Floats  # (I,)
    relaxation: float
    clash: tuple[int, ...]
    excess: Floats  # (I,)

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
    check_kind("cmdp", cmdp, CMDP)
    tolerance = share("tolerance", tolerance)
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
    free = problem._replace(cost=np.zeros_like(problem.cost[:1]))
    whole, alone = generate(free, H, tolerance), least_alone(problem, H)
    return Feasibility(
        alone=alone,
        jointly=jointly,
        relaxation=0.0 if whole.is_feasible else whole.violation,
        clash=() if whole.is_feasible else clash_of(problem, whole, alone),
        excess=np.zeros(len(alone)) if whole.is_feasible else excess_of(problem, whole),
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


def clash_of(problem: Problem, mixture: Mixture, alone: Floats) -> tuple[int, ...]:
    """Constraints whose weighted excess is positive for every policy, or impossible by themselves.

    The first are a Farkas certificate.
    """
    is_proof = mixture.lam > SHARE * mixture.lam.sum()
    is_impossible = alone > problem.budget + 1e-9 * np.maximum(1.0, np.abs(problem.budget))
    return tuple(int(i) for i in np.flatnonzero(is_proof | is_impossible))


def excess_of(problem: Problem, mixture: Mixture) -> Floats:
    """What a mixture spends beyond each budget; nothing below rounding."""
    excess = totals(problem, mixture)[1:] - problem.budget
    return np.where(excess > SHARE * max(mixture.violation, 0.0), excess, 0.0)


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
    numbers = list(range(cmdp.n_constraints) if kept is None else kept)
    alone = least_alone(problem if kept is None else cmdp.problem, cmdp.horizon)
    clash = tuple(numbers[j] for j in clash_of(problem, mixture, alone[numbers]))
    excess = np.zeros(cmdp.n_constraints)
    excess[numbers] = excess_of(problem, mixture)
    facts = clash, mixture.violation, tuple(alone.tolist()), tuple(excess.tolist())
    return InfeasibleError(unmet(cmdp, InfeasibleError("", *facts)), *facts)


def unmet(cmdp: CMDP, error: InfeasibleError) -> str:
    """Why budgets cannot be met, and the least change that would do, in shown units.

    Parameters
    ----------
    cmdp : CMDP
        Gives names, units and budgets.
    error : InfeasibleError
        Which budgets clash, and by how much.
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
    for i in np.flatnonzero(error.excess).tolist():
        unit = cmdp.constraint_units[i]
        verb = "lowering" if unit.is_maximised else "raising"
        change = enough(error.excess[i] * abs(unit.factor))
        changes.append(f"{verb} {cmdp.constraint_names[i]!r} by {change}")
    # the largest excess is the least possible; smaller ones are those of one policy
    is_least = min(filter(None, error.excess)) >= error.relaxation * (1 - SHARE)
    relief = f"{listed(changes)} {'is the least that would do' if is_least else 'would do'}"
    return f"no policy keeps {names}{together}: {'; '.join(facts)}; {relief}"
