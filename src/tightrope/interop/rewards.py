"""What other tools pay for a step, and what they maximise, from and to costs and budgets.

A tool for unconstrained problems has one reward and no budgets. A constrained model is handed to
it with a price for each constraint: the reward is then the negated Lagrangian, whose best policy at
the optimal prices is one of those that the constrained optimum mixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, as_floats, check_kind, check_table, require_entries
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.units import Range


def model_of_rewards(
    transition: Any,
    reward: Floats,
    constraints: Mapping[str, Floats],
    budget: Mapping[str, float] | None,
    horizon: int,
    allowed: Bools | None,
    options: dict[str, Any],
) -> CMDP:
    """A model that maximises a reward, its range found in it, under budgets by name."""
    limits = check_table("budget", budget)
    if set(limits) != set(constraints):
        raise ModelError(
            f"budget: for {sorted(limits)}, expected one for each constraint: {sorted(constraints)}"
        )
    names = list(constraints)
    bounded = [constraints[name] for name in names]
    for word, values in (
        ("reward", reward),
        *((f"constraint_cost[{name!r}]", constraints[name]) for name in names),
    ):
        bad = ~np.isfinite(values) & (True if allowed is None else allowed)
        require_entries(word, values, bad, "hsa"[-values.ndim :], "a finite number")
    return CMDP.from_rewards(
        transition,
        reward,
        horizon=horizon,
        reward_range=_range_of(reward, allowed),
        constraint_cost=np.stack(bounded) if bounded else None,
        budget=[limits[name] for name in names] or None,
        constraint_range=[_range_of(values, allowed) for values in bounded] or None,
        constraint_names=names or None,
        allowed=allowed,
        **options,
    )


def _range_of(values: Floats, allowed: Bools | None) -> Range:
    """Least and greatest value among the actions that exist; never a single point."""
    shown = values if allowed is None else values[..., allowed]
    low, high = float(shown.min()), float(shown.max())
    return (low, high) if low < high else (low, low + 1.0)


def step_rewards(cmdp: CMDP) -> list[Floats]:
    """Cost and constraint costs of a step in shown units, each (H, S, A)."""
    H = cmdp.horizon
    units = (cmdp.cost_unit, *cmdp.constraint_units)
    costs = (cmdp.cost, *cmdp.constraint_cost)
    return [unit.shift / H + unit.factor * cost for unit, cost in zip(units, costs, strict=True)]


def depends_on_time(cmdp: CMDP) -> bool:
    """Whether kernel, costs or actions differ between stages."""
    check_kind("cmdp", cmdp, CMDP)
    problem = cmdp.problem
    stages = (problem.cost.shape[0], problem.constraint_cost.shape[1], problem.allowed.shape[0])
    return not cmdp.is_stationary or max(stages) > 1


def reward_of(cmdp: CMDP, multiplier: Any) -> Floats:
    """What to maximise, (S, A), in shown units: reward or negated cost, less priced constraints.

    Parameters
    ----------
    cmdp : CMDP
        The model; nothing in it may depend on time.
    multiplier : (I,) array or None
        Price of each constraint, on the model's scale as `Plan.multiplier` has it.
    """
    if depends_on_time(cmdp):
        raise ModelError("the model depends on time, which this format cannot say")
    sign = 1.0 if cmdp.cost_unit.is_maximised else -1.0
    reward = sign * step_rewards(cmdp)[0][0]
    if cmdp.n_constraints == 0:
        return np.asarray(reward)
    if multiplier is None:
        raise ModelError(
            "multiplier: missing; this format has no budgets, so give each constraint a price "
            "(that of a plan, or zeros to leave the constraints out)"
        )
    prices = as_floats("multiplier", multiplier)
    if prices.shape != (cmdp.n_constraints,):
        raise ModelError(f"multiplier: shape {prices.shape}, expected {(cmdp.n_constraints,)}")
    priced = np.tensordot(prices, cmdp.constraint_cost[:, 0], 1)
    return np.asarray(reward - abs(cmdp.cost_unit.factor) * priced)
