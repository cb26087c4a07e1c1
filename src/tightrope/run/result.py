"""Run: what a learner did in one simulation, with exact regrets and an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.estimate.confidence import Confidence
from tightrope.kernels import audit as places
from tightrope.kernels.regret import EPISODE, LAST_VIOLATION, VIOLATIONS
from tightrope.learners.algorithms import Options, learner_named
from tightrope.learners.move import policy_of
from tightrope.regret import Regrets, regrets_of
from tightrope.run.setting import Setting, Truth
from tightrope.run.simulation import Simulation

FAMILIES = {
    "transition": places.TRANSITION,
    "cost": places.COST,
    "constraint": places.CONSTRAINT,
    "visits": places.VISITS,
}


@final
@dataclass(frozen=True)
class AuditReport:
    """Did the guarantees' conditions hold, and what were the plans worth.

    Parameters
    ----------
    bad_episodes : dict of str to int
        Episodes in which the truth lay outside what was believed, by event family (SPEC A4):
        ``transition``, ``cost``, ``constraint``, and ``visits`` when it was asked for.
    first_bad : dict of str to int
        The first such episode; 0 when there was none.
    not_optimistic : int
        Episodes in which the beliefs held but the plan was not optimistic; zero by the theory.
    infeasible_plans : int
        Plans whose optimistic problem was infeasible, so that violation was made least.
    plans : int
        Plans made.
    sweeps : int
        Dynamic programming sweeps they took.
    largest_gap : float
        Largest certified gap of a plan.
    multiplier_range : (2, I) array
        Least and greatest multipliers that policies answered.
    """

    bad_episodes: dict[str, int]
    first_bad: dict[str, int]
    not_optimistic: int
    infeasible_plans: int
    plans: int
    sweeps: int
    largest_gap: float
    multiplier_range: Floats  # (2, I)

    @property
    def good_event(self) -> bool:
        """Whether the truth stayed inside what was believed in every episode."""
        return not any(self.bad_episodes.values())


@final
@dataclass(frozen=True)
class Run:
    """One learner's run.

    Parameters
    ----------
    algorithm : str
        Who learned.
    n_episodes : int
        Number of episodes K.
    seed : int
        Of its generator.
    delta : float
        Probability with which the guarantees may fail.
    confidence : Confidence
        Which radii were used.
    options : Options
        Bound on the multipliers, step factors, tolerance and method.
    rho_rule : str
        The rule that gave the bound on the multipliers: a rule's name, ``"number"`` or ``"none"``.
    episode : (P,) array
        Recorded episodes, from 1 to K.
    regret : Regrets
        The four regrets at the recorded episodes: ``cost``, ``cost_plus``, ``constraint``,
        ``constraint_plus``.
    excess : (P, I+1) array
        Excess of the recorded episodes themselves: cost, then each constraint.
    multiplier : (P, I) array
        Multipliers that the recorded policies answered.
    violations : (P,) array
        Episodes in violation so far.
    worst_violation : (I,) array
        Largest excess over each budget in any episode; negative when always kept.
    first_feasible : int
        First episode from which every policy kept the budgets; K+1 when the last did not.
    policy : (H, S, A) array
        The last policy.
    optimum : float
        Optimal cost of the true model.
    audit : AuditReport
        Whether the guarantees' conditions held.
    seconds : float
        Wall time of the episodes, without compilation.
    """

    algorithm: str
    n_episodes: int
    seed: int
    delta: float
    confidence: Confidence
    options: Options
    rho_rule: str
    episode: Ints  # (P,)
    regret: Regrets
    excess: Floats  # (P, I+1)
    multiplier: Floats  # (P, I)
    violations: Ints  # (P,)
    worst_violation: Floats  # (I,)
    first_feasible: int
    policy: Floats  # (H, S, A)
    optimum: float
    audit: AuditReport
    seconds: float

    @property
    def rho(self) -> float:
        """Bound on the multipliers; 1 for learners without one."""
        return self.options.rho

    @property
    def constants(self) -> str:
        """The confidence and every changed step in words; empty where nothing is believed."""
        if learner_named(self.algorithm).is_fixed:
            return ""
        return ", ".join((self.confidence.words, *self._changed_steps))

    @property
    def is_heuristic(self) -> bool:
        """Whether radii or steps are not the theory's, so that its guarantees are given up."""
        is_fixed = learner_named(self.algorithm).is_fixed
        return not is_fixed and (self.confidence.is_heuristic or bool(self._changed_steps))

    @property
    def _changed_steps(self) -> list[str]:
        return learner_named(self.algorithm).changed_steps(self.options)

    @property
    def n_violations(self) -> int:
        """Episodes whose policy broke a budget."""
        return int(self.violations[-1])

    def __repr__(self) -> str:
        curves = self.regret
        ends = [("cost", curves["cost"]), ("cost_plus", curves["cost_plus"])]
        if self.multiplier.shape[1]:
            ends += [(kind, curves[kind].max(axis=1)) for kind in ("constraint", "constraint_plus")]
        said = ", ".join(f"{kind} {curve[-1]:.6g}" for kind, curve in ends)
        return (
            f"Run({self.algorithm}, {self.n_episodes} episodes, seed {self.seed}, "
            f"regret at the end: {said})"
        )

    def _repr_html_(self) -> str:
        from tightrope.show.cards import run_card

        return run_card(self)


def run_of(
    simulation: Simulation, setting: Setting, truth: Truth, seed: int, seconds: float
) -> Run:
    """The run that a simulation has become."""
    world, move = simulation.world, simulation.move
    book = world.book
    n_recorded = int(np.searchsorted(book.recorded, book.state[EPISODE], side="right"))
    policy = policy_of(move)
    return Run(
        algorithm=setting.learner.name,
        n_episodes=setting.n_episodes,
        seed=seed,
        delta=setting.delta,
        confidence=setting.radii,
        options=replace(setting.options, rho=truth.rho),
        rho_rule=truth.rho_rule,
        episode=book.recorded[:n_recorded].copy(),
        regret=regrets_of(book, n_recorded),
        excess=book.excess_curve[:n_recorded].copy(),
        multiplier=book.multiplier_curve[:n_recorded].copy(),
        violations=book.violation_curve[:n_recorded].copy(),
        worst_violation=book.worst.copy(),
        first_feasible=int(book.state[LAST_VIOLATION]) + 1 if book.state[VIOLATIONS] else 1,
        policy=policy,
        optimum=world.optimum,
        audit=_report(simulation),
        seconds=seconds,
    )


def _report(simulation: Simulation) -> AuditReport:
    a = simulation.world.audit
    is_asked = {"visits": a.expected_visits.shape[0] > 0}
    families = {name: k for name, k in FAMILIES.items() if is_asked.get(name, True)}
    return AuditReport(
        bad_episodes={name: int(a.bad_episodes[k]) for name, k in families.items()},
        first_bad={name: int(a.first_bad[k]) for name, k in families.items()},
        not_optimistic=int(a.plans[places.NOT_OPTIMISTIC]),
        infeasible_plans=int(a.plans[places.RELAXED]),
        plans=int(a.plans[places.PLANS]),
        sweeps=int(a.plans[places.SWEEPS]),
        largest_gap=float(a.gap[0]),
        multiplier_range=a.lam_range.copy(),
    )
