"""What the budgets allow: least attainable values, clashes, and the least relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.errors import InfeasibleError
from tightrope.model import CMDP
from tightrope.plan.generate import Mixture, best_response, generate

__all__ = ["Feasibility", "feasibility", "infeasible", "least_alone"]

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


def infeasible(names: Sequence[str], problem: Problem, mixture: Mixture) -> InfeasibleError:
    """The error for budgets that no policy keeps: which clash, and the least relaxation."""
    clash = clash_of(mixture)
    alone = least_alone(problem, mixture.choice.shape[0])
    facts = ", ".join(
        f"{names[i]!r} has budget {problem.budget[i]:.6g} "
        f"and can be brought to {alone[i]:.6g} alone"
        for i in clash
    )
    words = [repr(names[i]) for i in clash]
    if len(clash) == 1:
        head = f"budget {words[0]} cannot be met"
    else:
        head = f"budgets {', '.join(words[:-1])} and {words[-1]} cannot be met together"
    # the least relaxation may rest on budgets outside the clash: those have to rise as well
    raised = "raising every budget"
    if len(clash) == len(problem.budget):
        raised = "raising it" if len(clash) == 1 else "raising each"
    return InfeasibleError(
        f"{head}: {facts}; {raised} by {mixture.violation:.6g} is the least that would do",
        clash=clash,
        relaxation=mixture.violation,
        alone=tuple(alone.tolist()),
    )
