"""How much room the budgets leave, and the bound on prices that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, check_kind, share
from tightrope.kernels.occupancy import policy_of
from tightrope.model import CMDP
from tightrope.model.cmdp import writable_problem
from tightrope.plan.evaluate import rounding_of, values_of
from tightrope.plan.generate import least_violation, mix, relax, row_sizes
from tightrope.plan.solve import solve

FLOOR = 1e-3  # rho divides step sizes, and the paper's ratio may be zero


@dataclass(frozen=True)
class Slater:
    """The policy that keeps all budgets with the most room to spare.

    Parameters
    ----------
    slack : float
        Largest common slack: every budget is kept with at least this much to spare. Negative
        when the budgets cannot be met, and zero when it is less than its rounding error.
    policy : (H, S, A) array
        A policy that attains it.
    value : float
        Its expected cost.
    constraint_value : (I,) array
        Its constraint values.
    rho : dict of str to float
        Bounds for the sum of the multipliers by rule: ``"paper"`` is the ratio
        (value - optimum) / slack, ``"paper_x2"`` twice that (what the proofs need, see the errata),
        ``"bound"`` 2H / slack. At least a small positive floor; infinite where there is no slack.
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
        Relative gap to which the slack and the optimum are computed.
    """
    check_kind("cmdp", cmdp, CMDP)
    tolerance = share("tolerance", tolerance)
    problem, H = writable_problem(cmdp), cmdp.horizon
    if cmdp.n_constraints == 0:
        plan = solve(cmdp)
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), FLOOR)
        return Slater(np.inf, plan.policy, plan.value, plan.constraint_value, rho)
    # no common slack exceeds the least budget, so the least excess over budgets lowered by twice
    # that is positive
    least = float(problem.budget.min())
    shift = 2 * least if least > 0 else float(row_sizes(problem, H).min())
    lowered = relax(problem, -shift)
    mixture = least_violation(lowered, H, np.full(problem.budget.size, shift), tolerance)
    q, _ = mix(problem, mixture)
    policy = np.empty_like(q)
    policy_of(q, mixture.choice, policy)
    value, constraint_value = values_of(problem.kernels, problem, policy)
    spare = problem.budget - constraint_value
    error = rounding_of(problem.budget + constraint_value, H)
    sure = float((spare - error).min())
    slack = 0.0 if sure <= 0 <= float((spare + error).min()) else float(spare.min())
    if slack <= 0:
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), np.inf)
    else:
        # the ratio must not be too small: both values count with their errors
        plan = solve(cmdp, tolerance=tolerance)
        ratio = (value + float(rounding_of(value, H)) - (plan.value - plan.gap)) / sure
        rho = {"paper": max(ratio, FLOOR), "paper_x2": max(2 * ratio, FLOOR), "bound": 2 * H / sure}
    return Slater(slack, policy, value, constraint_value, rho)
