"""Numbers and prices in plain words, in the units of whoever wrote the model."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.errors import InfeasibleError
from tightrope.model import CMDP, Plan, Unit

__all__ = ["Use", "digits", "listed", "percent", "price_in_words", "unmet", "uses"]

NEGLIGIBLE = 1e-9  # slack and prices below this, relative to what they belong to, count as none


@dataclass(frozen=True)
class Use:
    """What a plan uses of one budget, in shown units."""

    name: str
    unit: Unit
    used: float
    bound: float
    slack: float
    price: float  # of one shown unit, in shown units of the cost; never negative

    @property
    def is_binding(self) -> bool:
        """Whether more of the budget would help."""
        return self.price > 0

    @property
    def limit(self) -> str:
        """The bound as a table shows it."""
        return f"{'>=' if self.unit.is_maximised else '<='} {digits(self.bound)}"


def uses(cmdp: CMDP, plan: Plan) -> list[Use]:
    """Use, slack and price of every budget."""
    least_price = NEGLIGIBLE * max(1.0, abs(plan.value)) / cmdp.horizon
    found = []
    for i, unit in enumerate(cmdp.constraint_units):
        value, budget = float(plan.constraint_value[i]), float(cmdp.budget[i])
        slack = budget - value
        if abs(slack) <= NEGLIGIBLE * max(1.0, abs(budget)):
            slack, value = 0.0, budget
        price = float(plan.multiplier[i]) if plan.multiplier[i] > least_price else 0.0
        found.append(
            Use(
                name=cmdp.constraint_names[i],
                unit=unit,
                used=unit.show(value),
                bound=unit.show(budget),
                slack=slack * abs(unit.factor),
                price=price * abs(cmdp.cost_unit.factor) / abs(unit.factor),
            )
        )
    return found


def price_in_words(use: Use, cost: Unit) -> str:
    """What more of a budget would bring: "one more unit of 'energy' saves 0.67 euros"."""
    verb = "earn" if cost.is_maximised else "save"
    if use.is_binding:
        gain = f"{verb}s {digits(use.price)} {cost.name}"
        if use.unit.is_maximised:
            return f"lowering the floor of {use.name!r} by one unit {gain}"
        return f"one more unit of {use.name!r} {gain}"
    more = "a lower floor" if use.unit.is_maximised else "more of it"
    if use.slack <= 0:
        return f"{use.name!r} is used up, yet {more} would {verb} nothing"
    return f"{use.name!r} is not binding: {more} would {verb} nothing"


def unmet(cmdp: CMDP, error: InfeasibleError, besides: int | None = None) -> str:
    """Why budgets cannot be met, and the least change that would do, in shown units.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    error : InfeasibleError
        What its planner raised.
    besides : int, optional
        A constraint whose budget was left open.
    """
    facts = []
    for i in error.clash:
        name, unit = cmdp.constraint_names[i], cmdp.constraint_units[i]
        best, bound = digits(unit.show(error.alone[i])), digits(unit.show(float(cmdp.budget[i])))
        if unit.is_maximised:
            facts.append(f"{name!r} has floor {bound} and reaches at most {best} alone")
        else:
            facts.append(f"{name!r} has budget {bound} and needs at least {best} alone")
    names = listed([repr(cmdp.constraint_names[i]) for i in error.clash])
    together = " together" if len(error.clash) > 1 else ""
    relief = _relief(cmdp, error.relaxation, besides)
    return f"no policy keeps {names}{together}: {'; '.join(facts)}; {relief}"


def _relief(cmdp: CMDP, relaxation: float, besides: int | None) -> str:
    """The least common relaxation, which moves every bound, named by constraint."""
    bounds = zip(cmdp.constraint_names, cmdp.constraint_units, strict=True)
    changes = [
        f"{'lowering' if unit.is_maximised else 'raising'} {name!r} by "
        f"{digits(relaxation * abs(unit.factor))}"
        for i, (name, unit) in enumerate(bounds)
        if i != besides
    ]
    return f"{listed(changes)} is the least that would do"


def listed(words: list[str]) -> str:
    """Words as in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def digits(value: float, count: int = 6) -> str:
    """A number in at most so many digits; never minus zero."""
    return f"{value + 0.0:.{count}g}"


def percent(share: float) -> str:
    """A share in percent, of which a small one does not become zero nor a large one all."""
    whole = f"{100 * share:.3g}"
    return f"{whole if whole != '100' or share == 1 else f'{100 * share:.8g}'}%"
