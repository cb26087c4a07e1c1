"""Prices and shares in words."""

from __future__ import annotations

from tightrope.model import Unit
from tightrope.plan.explain import Use
from tightrope.text import digits


def price_in_words(use: Use, cost: Unit) -> str:
    """What more of a budget would bring: "one more unit of 'energy' saves 0.67 euros"."""
    verb = "earn" if cost.is_maximised else "save"
    if use.is_binding:
        gain = f"{verb}s {digits(use.price)} {cost.name}"
        if use.is_shared:
            gain += f", and {verb}s more if other budgets that are used up change too"
        if use.unit.is_maximised:
            return f"lowering the floor of {use.name!r} by one unit {gain}"
        return f"one more unit of {use.name!r} {gain}"
    more = "a lower floor" if use.unit.is_maximised else "more of it"
    if use.is_shared:
        return (
            f"{use.name!r} is used up together with other budgets: {more} alone would {verb} "
            f"nothing, a change of all of them would {verb}"
        )
    if use.slack <= 0:
        return f"{use.name!r} is used up, yet {more} would {verb} nothing"
    return f"{use.name!r} is not binding: {more} would {verb} nothing"


def percent(share: float) -> str:
    """A share in percent, of which a small one does not become zero nor a large one all."""
    whole = f"{100 * share:.3g}"
    return f"{whole if whole != '100' or share == 1 else f'{100 * share:.8g}'}%"
