"""Budgets (or floors) given by the names of their constraints, in the units people see."""

from __future__ import annotations

from collections.abc import Mapping

from tightrope.errors import ModelError, describe
from tightrope.model.cmdp import CMDP
from tightrope.model.ranges import onto_budget
from tightrope.text import guess

MOST_DIGITS = 9  # of a word that may be the number of a constraint


def with_named_budgets(cmdp: CMDP, bounds: Mapping[str, float]) -> CMDP:
    """The model under other budgets for some of its constraints.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    bounds : mapping of str to float
        By name or number of the constraint, in its own units; floors are set likewise.
    """
    if not bounds:
        return cmdp
    budget, seen = cmdp.budget, set()
    for name, bound in bounds.items():
        i = constraint_at(cmdp, name)
        if i in seen:
            raise ModelError(f"a budget for {cmdp.constraint_names[i]!r} twice")
        seen.add(i)
        budget[i] = onto_budget(bound, cmdp.constraint_units[i], cmdp.horizon)
    return cmdp.with_budget(budget)


def constraint_at(cmdp: CMDP, word: str) -> int:
    """The number of a constraint given by name or number.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    word : str
        A name, or a number from 0.
    """
    word, names = word.strip(), cmdp.constraint_names
    if word in names:
        return names.index(word)
    if word.isdecimal() and len(word) <= MOST_DIGITS and int(word) < len(names):
        return int(word)
    if not names:
        raise ModelError(f"constraint {describe(word)} is unknown; the model has none")
    known = ", ".join(map(repr, names))
    hint = guess(word, names)
    raise ModelError(f"constraint {describe(word)} is unknown{hint}; constraints: {known}")
