"""Learn in simulation: a model, a learner and a seed in, a run with its regrets and audit out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.learners.algorithms import REFERENCES, Learner, Options, learner_named
from tightrope.model import CMDP
from tightrope.model.scalars import flag, positive, share, whole
from tightrope.plan.slater import FLOOR, slater
from tightrope.plan.solve import solve
from tightrope.run.result import Run, run_of
from tightrope.run.simulation import Simulation, begin

__all__ = ["RHO_RULES", "learn"]

RHO_RULES = ("paper", "paper_x2", "bound")
SLICE = 0.2  # seconds of work between two reports


def learn(
    cmdp: CMDP,
    algorithm: str,
    episodes: int,
    seed: int = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    rho: float | str = "paper_x2",
    dual_step: float = 1.0,
    primal_step: float = 1.0,
    tolerance: float = 1e-8,
    method: Literal["columns", "lp"] = "columns",
    audit_visits: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run a learner against a model that it does not see, and keep the books.

    Parameters
    ----------
    cmdp : CMDP
        The truth. The learner is told its sizes, budgets, start and allowed actions.
    algorithm : str
        ``"OptCMDP"``, ``"OptCMDP-bonus"``, ``"OptDual"`` or ``"OptPrimalDual"``; or one of the
        references ``"uniform"``, ``"optimal"``, ``"unconstrained"``, ``"certainty-equivalence"``.
    episodes : int
        Number of episodes K; radii and step sizes are made for it.
    seed : int
        Of the run's generator. The same seed gives the same bits.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    rho : float or str
        Bound on the multipliers for the dual learners: a number, or the rule ``"paper"``,
        ``"paper_x2"`` or ``"bound"`` applied to the true model (SPEC A8).
    dual_step, primal_step : float
        Factors on the paper's step sizes.
    tolerance : float
        Relative gap of each plan.
    method : {"columns", "lp"}
        How OptCMDP plans; ``"lp"`` is the extended linear programme, as in the paper.
    audit_visits : bool
        Whether the visit-count event is audited too.
    progress : callable, optional
        Called now and then with the number of episodes done.

    Returns
    -------
    Run
        Exact regrets at the recorded episodes, the last policy, the audit.
    """
    learner = learner_named(algorithm)
    episodes, seed = whole("episodes", episodes), whole("seed", seed, 0)
    delta, audit_visits = share("delta", delta), flag("audit_visits", audit_visits)
    chosen = as_confidence(confidence)
    if learner.name == "certainty-equivalence":
        chosen = replace(chosen, scale=0.0, scale_cost=None, scale_transition=None, scale_bonus=0.0)
    options = Options(1.0, dual_step, primal_step, tolerance, method)
    if method == "lp" and learner.name != "OptCMDP":
        raise ModelError(f"method: 'lp' is for OptCMDP, not for {learner.name}")
    best = solve(cmdp, tolerance=1e-12)
    bound, rule = _rho(cmdp, learner, rho)
    options = replace(options, rho=bound)
    simulation = begin(
        cmdp,
        learner,
        episodes,
        np.random.default_rng(np.random.SeedSequence(seed)),
        delta,
        chosen,
        options,
        best.value,
        _reference_policy(cmdp, learner, best.policy),
        audit_visits,
    )
    seconds = _advance(simulation, episodes, progress)
    return run_of(simulation, learner.name, episodes, seed, delta, chosen, options, rule, seconds)


def _advance(
    simulation: Simulation, episodes: int, progress: Callable[[int], None] | None
) -> float:
    """Run all episodes in slices that report on the way; the seconds they took together.

    The first episode counts as the others do, because it may have been compiling.
    """
    simulation.advance(1)
    done, slice_size, seconds = 1, 1, 0.0
    while done < episodes:
        if progress is not None:
            progress(done)
        size = min(slice_size, episodes - done)
        start = time.perf_counter()
        simulation.advance(size)
        took = max(time.perf_counter() - start, 1e-9)
        done, seconds = done + size, seconds + took
        slice_size = max(1, int(size * min(10.0, SLICE / took)))
    if progress is not None:
        progress(done)
    return seconds * episodes / max(episodes - 1, 1)


def _rho(cmdp: CMDP, learner: Learner, rho: float | str) -> tuple[float, str]:
    """The bound on the multipliers and the rule that gave it; 1 for learners without one."""
    if not learner.needs_rho:
        return 1.0, "none"
    if isinstance(rho, str):
        if rho not in RHO_RULES:
            raise ModelError(
                f"rho: {rho!r}, expected a number or one of {', '.join(map(repr, RHO_RULES))}"
            )
        value = slater(cmdp).rho[rho]
        if not np.isfinite(value):
            raise ModelError(
                "rho: no policy keeps every budget with room to spare, so no rule applies; "
                "give a number"
            )
        return float(value), f"{rho} (floor)" if value == FLOOR else rho
    return positive("rho", rho), "number"


def _reference_policy(cmdp: CMDP, learner: Learner, optimal: Floats) -> Floats | None:
    """The policy of a reference that does not learn."""
    if learner.name not in REFERENCES or learner.plans:
        return None
    if learner.name == "optimal":
        return optimal
    if learner.name == "uniform":
        return np.array(cmdp.allowed / cmdp.allowed.sum(axis=2, keepdims=True))
    return solve(cmdp.with_budget(np.full(cmdp.n_constraints, float(cmdp.horizon)))).policy
