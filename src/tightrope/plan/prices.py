"""Prices where several are optimal.

Optimal multipliers are not unique where the optimal cost has a kink: at a budget that a
deterministic policy uses up exactly, or where more budgets bind than policies are mixed (two
constraints that coincide, for example). Any of them certifies the plan. A user wants to know what
one more unit saves, which is the least optimal multiplier of that budget::

    derivative of the optimal cost in budget i, to the right  =  - min { lam_i : lam optimal }

It is the multiplier of a problem with a little more of that budget, provided that those
multipliers are optimal for the problem itself too, which one sweep proves.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats, Problem
from tightrope.plan.generate import (
    Mixture,
    best_response,
    generate,
    optimal_prices,
    row_sizes,
)

BINDING = 1e-9  # a budget with less to spare is used up
NEAR = 1e-9  # a weight so small that the budgets are those of the other policies
ROUNDING = 2.0**-48  # of a bound, relative to the prices and budgets in it
TRACE = 1e-3
STRIDES = (1e-7, 1e-9, 1e-11, 1e-13)  # how much more budget, relative to the size of its row


def is_at_kink(problem: Problem, mixture: Mixture) -> bool:
    """Whether the prices of a mixture may be one choice among many.

    Parameters
    ----------
    problem : Problem
    mixture : Mixture
        An optimum of the problem.
    """
    if not mixture.lam.any():
        return False
    n_mixed = int((mixture.weights > NEAR).sum())
    spare = problem.budget + mixture.eased - mixture.total[1:]
    return n_mixed <= int((spare <= BINDING * mixture.unit).sum())


def take_local_prices(problem: Problem, mixture: Mixture, tolerance: float) -> Mixture:
    """Replace the prices of a mixture by those of a little more of every budget.

    Parameters
    ----------
    problem : Problem
    mixture : Mixture
        An optimum of the problem.
    tolerance : float
        Relative gap that the mixture may have with the new prices.

    Returns
    -------
    Mixture
        With its old prices where the new ones are not proven.
    """
    H = mixture.choice.shape[0]
    eased = problem._replace(budget=problem.budget + mixture.eased)
    lam = _local_prices(eased, H, mixture.value, tolerance, np.ones(eased.budget.size))
    if lam is None:
        return mixture
    value, answer = best_response(eased, H, lam)
    bound = value - float(lam @ eased.budget)
    return mixture._replace(lam=lam, bound=bound, choice=answer.choice, order=answer.order)


def find_savings(
    problem: Problem, horizon: int, value: float, lam: Floats, tolerance: float
) -> Floats:
    """What one more unit of each budget alone saves, (I,).

    Parameters
    ----------
    problem : Problem
    horizon : int
    value : float
        Its optimal cost.
    lam : (I,) array
        Optimal multipliers.
    tolerance : float
        Relative gap to which they are optimal.
    """
    savings = lam.copy()
    for i in np.flatnonzero(lam):
        # a trace of the other budgets, because those at the least attainable values have no prices
        direction = np.full(lam.size, TRACE)
        direction[i] = 1.0
        found = _local_prices(problem, horizon, value, tolerance, direction)
        saved = _difference(problem, horizon, value, int(i)) if found is None else found[i]
        savings[i] = min(savings[i], saved)
    return savings


def _difference(problem: Problem, horizon: int, value: float, i: int) -> float:
    """Cost saved per unit over a small step of one budget, at most its derivative."""
    step = STRIDES[0] * float(row_sizes(problem, horizon)[i])
    budget = problem.budget.copy()
    budget[i] += step
    wider = generate(problem._replace(budget=budget), horizon, TRACE * STRIDES[0])
    return max(0.0, (value - wider.value) / step)


def _local_prices(
    problem: Problem, horizon: int, value: float, tolerance: float, direction: Floats
) -> Floats | None:
    """Optimal multipliers that stay optimal when budgets rise in a direction; None if unproven."""
    unit = np.maximum(np.abs(problem.budget), row_sizes(problem, horizon))
    for stride in STRIDES:
        wider = problem._replace(budget=problem.budget + stride * unit * direction)
        # a coarser stop would not tell the prices of the two sides apart
        lam = optimal_prices(wider, horizon, 1e-6 * stride)
        if lam is None:
            continue
        least, _ = best_response(problem, horizon, lam)
        room = tolerance * abs(value) + ROUNDING * float(lam @ np.abs(problem.budget))
        if least - float(lam @ problem.budget) >= value - room:
            return lam
    return None
