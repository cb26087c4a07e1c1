"""Run: result of one simulation of a learner, with exact regrets and an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.belief.audit import EVENTS
from tightrope.belief.confidence import Confidence
from tightrope.errors import ConfigError
from tightrope.experiments.regret import Regrets
from tightrope.experiments.simulate import Simulation
from tightrope.learners.base import Learner
from tightrope.learners.oracle import rho_rule
from tightrope.model import CMDP
from tightrope.model.draft import default_names
from tightrope.model.start import trim
from tightrope.model.units import Units
from tightrope.text import counted, vector

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class AuditReport:
    """Audit of a run: whether the conditions of the guarantees held, and statistics of the plans.

    Parameters
    ----------
    bad_episodes : dict of str to int
        Episodes in which the true model lay outside the confidence sets, by kind of event:
        ``transition``, ``cost``, ``constraint``, and ``visits`` when it was asked for.
    first_bad : dict of str to int
        The first such episode; 0 when there was none.
    not_optimistic : int
        Episodes in which the beliefs held but the plan was not optimistic; zero by the theory.
    infeasible_plans : int
        Plans whose optimistic problem was infeasible, so that the violation was minimized.
    plans : int
        Plans made.
    sweeps : int
        Dynamic programming sweeps they took.
    largest_gap : float
        Largest certified gap of a plan, in the unit of the cost; NaN for learners without a model
        of their own.
    multiplier_range : (2, I) array
        Least and greatest multipliers for which policies were planned, as prices: units of the cost
        per unit of the constraint.
    bound_failures : int
        Episodes in which a plan used more of a budget than the learner's upper bound on it; zero
        by the theory while the beliefs hold, and for learners without such bounds.

    Examples
    --------
    >>> import tightrope as tr
    >>> audit = tr.learn("ring", "OptCMDP", episodes=30).audit
    >>> audit.good_event, audit.not_optimistic, audit.plans
    (True, 0, 30)
    """

    bad_episodes: dict[str, int]
    first_bad: dict[str, int]
    not_optimistic: int
    infeasible_plans: int
    plans: int
    sweeps: int
    largest_gap: float
    multiplier_range: Floats  # (2, I)
    bound_failures: int = 0

    @property
    def good_event(self) -> bool | None:
        """Whether the true model was inside the confidence sets in every episode.

        None for learners without beliefs, which have nothing to audit.
        """
        return not any(self.bad_episodes.values()) if self.bad_episodes else None

    def __repr__(self) -> str:
        held = {True: "held", False: "failed", None: "none"}[self.good_event]
        return (
            f"AuditReport(confidence sets: {held}; {self.plans} plans, "
            f"{self.not_optimistic} not optimistic, {self.infeasible_plans} infeasible)"
        )

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = [counted(self.plans, "plan"), f"{self.not_optimistic} not optimistic"]
        facts += [f"{self.infeasible_plans} infeasible"]
        heads = ["confidence sets of", "episodes that missed the true model", "first"]
        rows = [(name, n, self.first_bad[name]) for name, n in self.bad_episodes.items()]
        return listing("Audit", facts, heads, rows)


@final
@dataclass(frozen=True)
class Run:
    """Result of one simulation of a learner, in the units of the model.

    Regrets, excess and violations are losses: positive is worse, also where rewards are maximized
    or a constraint has a floor.

    Parameters
    ----------
    learner : Learner
        The algorithm with its options, rules resolved to numbers.
    n_episodes : int
        Number of episodes K.
    seed : int
        Of its generator.
    delta : float
        Probability with which the guarantees may fail.
    confidence : Confidence
        Which radii were used.
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
        Multipliers for which the recorded policies were planned, as prices: units of the cost per
        unit of the constraint.
    violations : (P,) array
        Episodes in violation so far.
    worst_violation : (I,) array
        Largest excess over each budget in any episode; negative when always kept.
    first_feasible : int
        First episode from which every policy kept the budgets; K+1 when the last did not.
    policy : (H, S, A) array
        The policy that was planned last.
    optimum : float
        Optimal cost, or reward, of the true model.
    audit : AuditReport
        Whether the guarantees' conditions held.
    seconds : float
        Wall time of the episodes, without compilation.
    units : Units
        Of the cost and of the constraints.
    constraint_names : tuple of str
        Names of the constraints.
    occupancy_sum : (H, S, A) array, optional
        Sum of the occupancies of all policies played, where it was asked for.
    baseline : (P,) array, optional
        Probability with which the recorded episodes played the baseline, for learners with one.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", "optimal", episodes=20)
    >>> bool(run.regret["cost_plus"][-1] < 1e-6)
    True
    >>> run.n_violations, run.first_feasible
    (0, 1)
    """

    learner: Learner
    n_episodes: int
    seed: int
    delta: float
    confidence: Confidence
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
    units: Units
    constraint_names: tuple[str, ...]
    occupancy_sum: Floats | None = None
    baseline: Floats | None = None  # (P,)

    @property
    def algorithm(self) -> str:
        """Name of the learner."""
        return self.learner.name

    @property
    def average_policy(self) -> Floats:
        """The policy, (H, S, A), whose occupancy in the true model is the mean over all episodes.

        Its values are those of playing a policy drawn uniformly from the episodes, which the
        theorems of the dual learners are about. States that no policy reached play as the last
        policy does.
        """
        if self.occupancy_sum is None:
            raise ConfigError.about(
                "average_policy", shown="not recorded", more="; run with average=True"
            )
        reached = self.occupancy_sum.sum(axis=2, keepdims=True)
        found: Floats = np.array(self.policy)
        np.divide(self.occupancy_sum, reached, out=found, where=reached > 0)
        return found

    @property
    def rho(self) -> float:
        """Bound on the multipliers for costs scaled to [0, 1]; 1 for learners without one."""
        return 1.0 if self.rho_rule == "none" else float(self.learner.options["rho"])

    @property
    def constants(self) -> str:
        """The confidence, if the learner has beliefs, and every changed step in words."""
        radii = [self.confidence.words] if self.learner.has_model else []
        return ", ".join((*radii, *self.learner.changed_steps))

    @property
    def is_heuristic(self) -> bool:
        """Whether radii or steps differ from those of the theory, so that nothing is guaranteed."""
        has_smaller_radii = self.learner.has_model and self.confidence.is_heuristic
        return has_smaller_radii or bool(self.learner.changed_steps)

    @property
    def n_violations(self) -> int:
        """Episodes whose policy exceeded a budget."""
        return int(self.violations[-1])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file of plain arrays.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.npz``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     tr.learn("ring", "uniform", episodes=20).save(f"{folder}/run.npz")
        ...     tr.Run.load(f"{folder}/run.npz").algorithm
        'uniform'
        """
        from tightrope.experiments.run_files import save_run

        save_run(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Run:
        """Read a run that `save` has written.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Run
            The run.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> run = tr.learn("ring", "uniform", episodes=20)
        >>> with TemporaryDirectory() as folder:
        ...     run.save(f"{folder}/run.npz")
        ...     again = tr.Run.load(f"{folder}/run.npz")
        >>> bool((again.regret["cost"] == run.regret["cost"]).all())
        True
        """
        from tightrope.experiments.run_files import load_run

        return load_run(path)

    def to_pandas(self) -> pd.DataFrame:
        """A tidy table: a row for each recorded episode and constraint; pandas must be installed.

        Regrets, excess and multipliers are in the units of the model.

        Returns
        -------
        DataFrame
            The table.

        Examples
        --------
        >>> import tightrope as tr
        >>> table = tr.learn("ring", "uniform", episodes=20).to_pandas()
        >>> len(table), table["constraint"].unique().tolist()
        (20, ['moves'])
        """
        from tightrope.experiments.run_files import as_pandas, run_table

        return as_pandas(run_table(self))

    def __repr__(self) -> str:
        curves = self.regret
        ends = {kind: np.atleast_1d(np.asarray(curve)[-1]) for kind, curve in curves.items()}
        said = ", ".join(
            f"{kind} {vector(end) if end.size > 1 else f'{end[0]:.6g}'}"
            for kind, end in ends.items()
            if end.size
        )
        return (
            f"Run({self.algorithm}, {counted(self.n_episodes, 'episode')}, seed {self.seed}, "
            f"regret at the end: {said})"
        )

    def _repr_html_(self) -> str:
        from tightrope.show.cards import run_card

        return run_card(self)


def make_run(
    simulation: Simulation, given: Learner, seed: int, delta: float, seconds: float
) -> Run:
    """The run that a simulation has become, on the internal scale.

    ``given`` is its learner before rules were resolved.
    """
    world, agent = simulation.world, simulation.agent
    record, n = world.record, world.record.n_recorded
    visits = world.watch.audit.expected_visits
    return Run(
        learner=agent.learner,
        n_episodes=agent.task.n_episodes,
        seed=seed,
        delta=delta,
        confidence=agent.radii,
        rho_rule=rho_rule(given, agent.learner),
        episode=record.recorded[:n].copy(),
        regret=record.regrets,
        excess=record.excess_curve[:n].copy(),
        multiplier=record.multiplier_curve[:n].copy(),
        violations=record.violation_curve[:n].copy(),
        worst_violation=record.worst.copy(),
        first_feasible=int(record.state.last_violation) + 1,
        policy=agent.decision.planned,
        optimum=world.optimum,
        audit=_report(simulation),
        seconds=seconds,
        units=Units.plain(agent.task.n_constraints),
        constraint_names=tuple(default_names(agent.task.n_constraints)),
        occupancy_sum=visits.reshape(agent.decision.pi.shape).copy() if visits.size else None,
        baseline=record.baseline_curve[:n].copy() if record.baseline_curve.size else None,
    )


def run_in_units(run: Run, cmdp: CMDP) -> Run:
    """A run on the internal scale with the units and the constraint names of its model."""
    units, audit, regret = cmdp.units, run.audit, run.regret
    cost, others = units.cost, units.sizes
    return replace(
        run,
        regret={
            "cost": cost.size * regret["cost"],
            "cost_plus": cost.size * regret["cost_plus"],
            "constraint": others * regret["constraint"],
            "constraint_plus": others * regret["constraint_plus"],
        },
        excess=units.show_excess(run.excess),
        multiplier=units.show_prices(run.multiplier),
        worst_violation=others * run.worst_violation,
        optimum=float(cost.show(run.optimum)),
        audit=replace(
            audit,
            largest_gap=cost.size * audit.largest_gap,
            multiplier_range=units.show_prices(audit.multiplier_range),
        ),
        units=units,
        constraint_names=tuple(cmdp.constraint_names),
    )


def spans_of(multiplier_range: Floats) -> Floats:
    """Return least and greatest multiplier of each constraint, (I, 2), over runs, (N, 2, I)."""
    least, most = multiplier_range[:, 0].min(axis=0), multiplier_range[:, 1].max(axis=0)
    return np.column_stack((least, most))


def trim_run(run: Run, given: Learner) -> Run:
    """A run with the stage before the start, without that stage.

    ``given`` is its learner before it was told to begin earlier.
    """
    summed, learner = run.occupancy_sum, run.learner
    if "baseline" in given.options:
        own = {**learner.options, "baseline": given.options["baseline"]}
        learner = learner.from_options(own)
    return replace(
        run,
        learner=learner,
        policy=trim(run.policy),
        occupancy_sum=None if summed is None else trim(summed),
    )


def _report(simulation: Simulation) -> AuditReport:
    audit, plans = simulation.world.watch.audit, simulation.world.watch.audit.plans
    learner = simulation.agent.learner
    names = learner.belief.events()
    events = {n: each for n, each in zip(EVENTS, audit.events, strict=True) if n in names}
    if not plans.visit_term > 0:
        events.pop("visits", None)
    return AuditReport(
        bad_episodes={name: int(event.bad_episodes) for name, event in events.items()},
        first_bad={name: int(event.first_bad) for name, event in events.items()},
        not_optimistic=int(plans.not_optimistic) if learner.has_model else 0,
        infeasible_plans=int(plans.relaxed),
        plans=int(plans.plans),
        sweeps=int(plans.sweeps),
        largest_gap=float(plans.largest_gap) if learner.has_model else np.nan,
        multiplier_range=audit.multiplier_range.copy(),
        bound_failures=int(plans.bound_failures),
    )
