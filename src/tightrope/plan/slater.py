"""How much room the budgets leave, and the bound on prices that follows (SPEC A8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats
from tightrope.kernels.occupancy import policy_of
from tightrope.model import CMDP
from tightrope.model.scalars import check_kind, share
from tightrope.plan.certify import values_of
from tightrope.plan.generate import least_violation, mix
from tightrope.plan.solve import solve

__all__ = ["FLOOR", "Slater", "slater"]

FLOOR = 1e-3  # rho divides step sizes, and the paper's ratio may be zero (SPEC E22)


@dataclass(frozen=True)
class Slater:
    """The policy that keeps all budgets with the most room to spare.

    Parameters
    ----------
    slack : float
        Largest common slack: every budget is kept with at least this much to spare. Negative
        when the budgets cannot be met.
    policy : (H, S, A) array
        A policy that attains it.
    value : float
        Its expected cost.
    constraint_value : (I,) array
        Its constraint values.
    rho : dict of str to float
        Bounds for the multipliers by rule: ``"paper"`` is the ratio (value - optimum) / slack,
        ``"paper_x2"`` twice that (what the proofs need, SPEC E21), ``"bound"`` 2H / slack. At
        least a small positive floor; infinite where there is no slack.
    """

    slack: float
    policy: Floats  # (H, S, A)
    value: float
    constraint_value: Floats  # (I,)
    rho: dict[str, float]


def slater(cmdp: CMDP, tolerance: float = 1e-10) -> Slater:
    """Largest common slack of the budgets, its policy, and rho by rule.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    tolerance : float
        Relative gap to which the slack is computed.
    """
    check_kind("cmdp", cmdp, CMDP)
    tolerance = share("tolerance", tolerance)
    problem, H = cmdp.problem, cmdp.horizon
    if cmdp.n_constraints == 0:
        plan = solve(cmdp)
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), FLOOR)
        return Slater(np.inf, plan.policy, plan.value, plan.constraint_value, rho)
    # budgets below zero by at least one make every policy exceed them all: t is then free to move
    shift = float(problem.budget.max()) + 1.0
    mixture = least_violation(problem._replace(budget=problem.budget - shift), H, tolerance)
    q, _ = mix(problem, mixture)
    policy = np.empty_like(q)
    policy_of(q, mixture.choice, policy)
    value, constraint_value = values_of(cmdp.transitions, problem, policy)
    slack = float((problem.budget - constraint_value).min())
    if slack <= 0:
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), np.inf)
    else:
        ratio = (value - solve(cmdp).value) / slack
        rho = {
            "paper": max(ratio, FLOOR),
            "paper_x2": max(2 * ratio, FLOOR),
            "bound": 2 * H / slack,
        }
    return Slater(slack, policy, value, constraint_value, rho)
