"""Oracle: optimum, Slater slack and bounds on multipliers of the true model, once per problem.

Simulations measure regret against the optimum. The dual learners need a bound rho on the
multipliers; the rules for it take the Slater slack of the true model (theory/numbers)::

    paper      (value - optimum) / slack    of the policy with the most room in every budget
    paper_x2   twice that                   what the proofs need
    bound      2 H / slack
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tightrope.arrays import Floats, is_number, positive
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.files import packed, unpacked
from tightrope.learners.base import Learner
from tightrope.model import CMDP, Plan
from tightrope.model.base import writable_problem
from tightrope.plan.evaluate import as_policy
from tightrope.plan.solve import FLOOR, Slater, slater, solve_problem
from tightrope.text import guess

RHO_RULES = ("paper", "paper_x2", "bound")
POLICIES = ("policy", "unconstrained_policy")
RHO_HELP = (
    "Bound on the multipliers, for costs scaled to [0, 1] per step: a number, or in simulations a "
    f"rule ({', '.join(RHO_RULES)})."
)
Dual = TypeVar("Dual", bound=Learner)


class Oracle:
    """Facts about the true model; each is computed when it is asked for first.

    Parameters
    ----------
    cmdp : CMDP
    content : bytes, optional
        What an earlier oracle of the same model found (`to_bytes`), so that nothing is computed.

    Raises
    ------
    StoreError
        When the content is corrupt or belongs to another model.
    """

    def __init__(self, cmdp: CMDP, content: bytes | None = None) -> None:
        self.cmdp = cmdp
        if content is not None:
            self._read(content)

    @cached_property
    def optimum(self) -> float:
        """Optimal cost, on the internal scale."""
        return float(self._plan.value)

    @cached_property
    def policy(self) -> Floats:
        """An optimal policy, (H, S, A)."""
        return self._plan.policy

    @cached_property
    def unconstrained_policy(self) -> Floats:
        """A policy of least cost without budgets, (H, S, A)."""
        most = np.full(self.cmdp.n_constraints, float(self.cmdp.horizon))
        free = writable_problem(self.cmdp)._replace(budget=most)
        return solve_problem(self.cmdp, free, "columns", 1e-8).policy

    @cached_property
    def slack(self) -> float:
        """Largest common slack of the budgets; infinite without constraints."""
        return float(self._slater.slack)

    @cached_property
    def rho(self) -> dict[str, float]:
        """Bound on the multipliers by rule; infinite where no policy has room in every budget."""
        return {rule: float(self._slater.rho[rule]) for rule in RHO_RULES}

    @cached_property
    def _plan(self) -> Plan:
        return solve_problem(self.cmdp, writable_problem(self.cmdp), "columns", 1e-12)

    @cached_property
    def _slater(self) -> Slater:
        return slater(self.cmdp)

    def to_bytes(self) -> bytes:
        """All facts as an archive; an infinite number is null."""
        numbers = {"optimum": self.optimum, "slack": self.slack, **self.rho}
        about = {name: each if np.isfinite(each) else None for name, each in numbers.items()}
        return packed(about, {name: getattr(self, name) for name in POLICIES})

    def _read(self, content: bytes) -> None:
        about, arrays = unpacked(content)
        try:
            names = ("optimum", "slack", *RHO_RULES)
            self.optimum, self.slack, *rho = (_number(name, about[name]) for name in names)
            if not np.isfinite(self.optimum) or not min(rho) > 0:
                raise ModelError.about("optimum", found=self.optimum, more=f" with bounds {rho}")
            self.rho = dict(zip(RHO_RULES, rho, strict=True))
            self.policy, self.unconstrained_policy = (self._policy(arrays[key]) for key in POLICIES)
        except (KeyError, ModelError) as error:
            raise StoreError(f"oracle: corrupt: {error}").with_fields_of(error) from error

    def _policy(self, pi: Floats) -> Floats:
        """The array itself, after a check that it is a policy of the model."""
        if pi.dtype != np.float64 or pi.ndim != 3:
            raise ModelError.about(
                "policy", shown=f"{pi.ndim} axes of {pi.dtype}", expected="3 of float64"
            )
        as_policy(self.cmdp, pi)
        return pi


def _number(name: str, found: Any) -> float:
    if found is None:
        return np.inf
    if not is_number(found):
        raise ModelError.about(name, found=found, shown=repr(found))
    return float(found)


def check_rho(name: str, given: Any) -> float | str:
    """A bound on the multipliers: a positive number or a rule; raises a `ConfigError` otherwise."""
    if not isinstance(given, str):
        return positive(name, given)
    if given not in RHO_RULES:
        rules = ", ".join(map(repr, RHO_RULES))
        raise ConfigError.about(
            name,
            found=given,
            shown=repr(given),
            expected=f"a number or one of {rules}",
            more=guess(given, RHO_RULES),
        )
    return given


def resolve_rho(learner: Dual, oracle: Oracle | None) -> Dual:
    """The learner with a number for ``rho``, by its rule where it has one."""
    rho = learner.options["rho"]
    if not isinstance(rho, str):
        return learner
    if oracle is None:
        more = (
            f"; {learner.name} needs a bound on the multipliers for costs scaled to [0, 1] per "
            "step: 2 * horizon / slack is enough if some policy leaves this slack, scaled too, in "
            "every budget; for a known model tr.slater(cmdp).rho has bounds"
        )
        raise ConfigError.about("rho", shown="missing", more=more)
    value = oracle.rho[rho]
    if not np.isfinite(value):
        more = "; no policy keeps every budget with positive slack, so give a number"
        raise ConfigError.about("rho", found=rho, more=more)
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
