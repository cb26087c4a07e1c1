"""Oracle: the optimum of the true model and bounds on its multipliers, computed once per problem.

Simulations measure regret against the optimum. The dual learners need a bound rho on the
multipliers; the rules for it take the Slater slack of the true model (theory/numbers)::

    paper      (value - optimum) / slack    of the policy with the most room in every budget
    paper_x2   twice that                   what the proofs need
    bound      2 H / slack
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tightrope.arrays import Floats, is_number, positive
from tightrope.errors import ModelError
from tightrope.learners.base import Learner
from tightrope.model import CMDP, Plan
from tightrope.plan.solve import FLOOR, slater, solve
from tightrope.text import guess

RHO_RULES = ("paper", "paper_x2", "bound")
RHO_HELP = f"Bound on the multipliers: a number, or in simulations a rule ({', '.join(RHO_RULES)})."
Dual = TypeVar("Dual", bound=Learner)


class Oracle:
    """Facts about the true model.

    Parameters
    ----------
    cmdp : CMDP
    facts : mapping, optional
        What an earlier oracle of the same model found (`facts`); computed on demand by default.
    """

    def __init__(self, cmdp: CMDP, facts: Mapping[str, Any] | None = None) -> None:
        self.cmdp = cmdp
        if facts is not None:
            self.optimum, self.rho = _check_facts(facts)

    @cached_property
    def optimum(self) -> float:
        """Optimal cost."""
        return float(self._plan.value)

    @cached_property
    def rho(self) -> dict[str, float]:
        """Bound on the multipliers by rule; infinite where no policy has room in every budget."""
        found = slater(self.cmdp).rho
        return {rule: float(found[rule]) for rule in RHO_RULES}

    @property
    def policy(self) -> Floats:
        """An optimal policy."""
        return self._plan.policy

    @cached_property
    def _plan(self) -> Plan:
        return solve(self.cmdp, tolerance=1e-12)

    def facts(self) -> dict[str, Any]:
        """What JSON can hold of it; an infinite bound is null."""
        rho = {rule: value if np.isfinite(value) else None for rule, value in self.rho.items()}
        return {"optimum": self.optimum, "rho": rho}


def _check_facts(facts: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
    try:
        optimum, rho = facts["optimum"], dict(facts["rho"])
        if not is_number(optimum):
            raise ModelError(f"optimum: {optimum!r}")
        bounds = {
            rule: np.inf if rho[rule] is None else positive(rule, rho[rule]) for rule in RHO_RULES
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"oracle: damaged: {error}") from error
    return float(optimum), bounds


def check_rho(name: str, given: Any) -> float | str:
    """A bound on the multipliers, a positive number or a rule that gives one, or a `ModelError`."""
    if not isinstance(given, str):
        return positive(name, given)
    if given not in RHO_RULES:
        rules = ", ".join(map(repr, RHO_RULES))
        raise ModelError(
            f"{name}: {given!r}, expected a number or one of {rules}{guess(given, RHO_RULES)}"
        )
    return given


def resolve_rho(learner: Dual, oracle: Oracle | None) -> Dual:
    """The learner with a number for ``rho``, by its rule where it has one."""
    rho = learner.options["rho"]
    if not isinstance(rho, str):
        return learner
    if oracle is None:
        raise ModelError(
            f"rho: missing; {learner.name} needs a bound on the multipliers, at least twice the "
            "cost that the safest policy gives up divided by the room it leaves in the tightest "
            "budget (2 * horizon / room is always enough)"
        )
    value = oracle.rho[rho]
    if not np.isfinite(value):
        raise ModelError(
            "rho: no policy keeps every budget with room to spare, so no rule applies; "
            "give a number"
        )
    return type(learner)(**{**learner.options, "rho": value})


def has_rho(learner: Learner) -> bool:
    """Whether a learner has a bound on the multipliers as an option."""
    return any(each.metadata.get("check") is check_rho for each in learner.option_fields())


def rho_rule(learner: Learner, resolved: Learner) -> str:
    """The rule that gave the bound on the multipliers: a rule's name, "number" or "none"."""
    if not has_rho(learner):
        return "none"
    rho = learner.options["rho"]
    if not isinstance(rho, str):
        return "number"
    return f"{rho} (floor)" if resolved.options.get("rho") == FLOOR else rho
