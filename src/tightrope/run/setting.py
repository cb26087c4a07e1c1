"""Setting: a model, a learner and every option, checked, with what the truth must be asked for.

The optimum, for the book, and the bound on the multipliers, where a rule gives it, take planning in
the true model; they are found once for a run, and kept with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.arrays import Floats, positive
from tightrope.errors import ModelError
from tightrope.estimate.confidence import Confidence
from tightrope.learners.algorithms import REFERENCES, Learner, Options
from tightrope.model import CMDP
from tightrope.plan.slater import FLOOR, slater
from tightrope.plan.solve import solve
from tightrope.text import guess

RHO_RULES = ("paper", "paper_x2", "bound")


@dataclass(frozen=True)
class Truth:
    """What a run takes from the true model, beside playing in it.

    Parameters
    ----------
    optimum : float
        Optimal cost.
    rho : float
        Bound on the multipliers; 1 for learners without one.
    rho_rule : str
        The rule that gave it: a rule's name, ``"number"`` or ``"none"``.
    """

    optimum: float
    rho: float
    rho_rule: str


@dataclass(frozen=True)
class Setting:
    """All that a run is made of, but its luck.

    Parameters
    ----------
    cmdp : CMDP
        The truth.
    learner : Learner
        Who learns.
    n_episodes : int
        Number of episodes K.
    delta : float
        Probability with which the guarantees may fail.
    confidence : Confidence
        Which radii.
    options : Options
        Steps, tolerance, method; its bound on the multipliers is replaced by the truth's.
    audit_visits : bool
        Whether the visit-count event is audited too.
    points : int
        About how many episodes to record.
    """

    cmdp: CMDP
    learner: Learner
    n_episodes: int
    delta: float
    confidence: Confidence
    options: Options
    audit_visits: bool = False
    points: int = 2_000

    def __post_init__(self) -> None:
        if self.options.method == "lp" and self.learner.name != "OptCMDP":
            raise ModelError(f"method: 'lp' is for OptCMDP, not for {self.learner.name}")

    @property
    def radii(self) -> Confidence:
        """The confidence as the learner uses it: certainty equivalence has no radii."""
        if self.learner.name != "certainty-equivalence":
            return self.confidence
        return replace(
            self.confidence, scale=0.0, scale_cost=None, scale_transition=None, scale_bonus=0.0
        )

    def reference_policy(self) -> Floats | None:
        """The policy of a reference that does not learn; None for whoever learns."""
        cmdp, name = self.cmdp, self.learner.name
        if name not in REFERENCES or self.learner.plans:
            return None
        if name == "optimal":
            return solve(cmdp, tolerance=1e-12).policy
        if name == "uniform":
            return np.array(cmdp.allowed / cmdp.allowed.sum(axis=2, keepdims=True))
        return solve(cmdp.with_budget(np.full(cmdp.n_constraints, float(cmdp.horizon)))).policy


def truth_of(cmdp: CMDP, learner: Learner, rho: float | str) -> Truth:
    """Optimum of the true model, and the bound on the multipliers that was asked for.

    Parameters
    ----------
    cmdp : CMDP
        The truth.
    learner : Learner
        Who learns.
    rho : float or str
        A number, or one of `RHO_RULES` (SPEC A8).
    """
    bound = required_rho(rho) if learner.needs_rho else 1.0
    optimum = solve(cmdp, tolerance=1e-12).value
    if not learner.needs_rho:
        return Truth(optimum, 1.0, "none")
    if not isinstance(bound, str):
        return Truth(optimum, bound, "number")
    value = float(slater(cmdp).rho[bound])
    if not np.isfinite(value):
        raise ModelError(
            "rho: no policy keeps every budget with room to spare, so no rule applies; "
            "give a number"
        )
    return Truth(optimum, value, f"{bound} (floor)" if value == FLOOR else bound)


def required_rho(given: Any) -> float | str:
    """A bound on the multipliers, a positive number or a rule that gives one, or a `ModelError`."""
    if not isinstance(given, str):
        return positive("rho", given)
    if given not in RHO_RULES:
        rules = ", ".join(map(repr, RHO_RULES))
        raise ModelError(
            f"rho: {given!r}, expected a number or one of {rules}{guess(given, RHO_RULES)}"
        )
    return given
