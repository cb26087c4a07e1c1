"""What a plan uses of every budget, in the units of the model's author."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.model import CMDP, Plan, Unit
from tightrope.text import digits

NEGLIGIBLE = 1e-9  # slack and prices below this, relative to what they belong to, count as none
ROUNDING = 1e-12  # of the size of a unit


@dataclass(frozen=True)
class Use:
    """What a plan uses of one budget, in shown units."""

    name: str
    unit: Unit
    used: float
    bound: float
    slack: float
    price: float  # of one shown unit, in shown units of the cost; never negative
    is_shared: bool = False  # whether more of other budgets too would save more

    @property
    def is_binding(self) -> bool:
        """Whether more of the budget would help."""
        return self.price > 0

    @property
    def limit(self) -> str:
        """The bound as a table shows it."""
        return f"{'>=' if self.unit.is_maximised else '<='} {digits(self.bound)}"


def show_total(unit: Unit, total: float) -> float:
    """A total in shown units; zero where nothing but rounding is left of it."""
    value = unit.show(total)
    return 0.0 if abs(value) < ROUNDING * (abs(unit.shift) + abs(unit.factor)) else value


def kind_of(unit: Unit) -> str:
    """What the bound on a constraint in this unit is called."""
    return "floor" if unit.is_maximised else "budget"


def uses(cmdp: CMDP, plan: Plan) -> list[Use]:
    """Use, slack and price of every budget."""
    from tightrope.plan.generate import budget_units  # compiled kernels load on use

    sizes = budget_units(cmdp.problem, cmdp.horizon)
    least_prices = NEGLIGIBLE * abs(plan.value) / sizes
    is_dearer = plan.multiplier - plan.saving > np.maximum(
        least_prices, NEGLIGIBLE * plan.multiplier
    )
    found = []
    for i, unit in enumerate(cmdp.constraint_units):
        value, budget = float(plan.constraint_value[i]), float(cmdp.budget[i])
        slack = budget - value
        if abs(slack) <= NEGLIGIBLE * sizes[i]:
            slack, value = 0.0, budget
        price = float(plan.saving[i]) if plan.saving[i] > least_prices[i] else 0.0
        is_used_up = slack <= 0.0
        found.append(
            Use(
                name=cmdp.constraint_names[i],
                unit=unit,
                used=unit.show(value),
                bound=unit.show(budget),
                slack=slack * abs(unit.factor),
                price=price * abs(cmdp.cost_unit.factor) / abs(unit.factor),
                is_shared=bool(is_dearer[i] or (is_used_up and not price and is_dearer.any())),
            )
        )
    return found
