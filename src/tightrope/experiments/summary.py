"""Findings: the finished runs of an experiment for its report, and their statistics.

A chapter is one problem: a model, a number of episodes and a delta. In it are groups of runs that
differ in their seeds only. Numbers are in the units of the models, except rho and the ranges of
multipliers that it bounds, which are for costs scaled to [0, 1] per step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import ConfigError, StoreError
from tightrope.experiments.curves import KINDS, regret_of
from tightrope.experiments.groups import groups_of, problems_of
from tightrope.experiments.problems import model_of
from tightrope.experiments.returns import ReturnChapter, chapter_data, quantities_of, read_group
from tightrope.experiments.run import Run
from tightrope.experiments.run_files import read_run
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.statistics import Resamples, bands_data, compare_pairs, slope_of
from tightrope.experiments.storage import RunFolder
from tightrope.model import CMDP, Plan
from tightrope.plan.evaluate import evaluate, occupancy
from tightrope.plan.solve import solve
from tightrope.text import counted

if TYPE_CHECKING:
    from tightrope.experiments.experiment import Experiment

A_DECADE = 40  # points of a curve per factor of ten in episodes
ROUNDING = 1e-12  # of an excess per step, relative to the width of its range
MOST_POLICIES = 10  # averaged in a figure


@dataclass(frozen=True)
class Group:
    """One learner with one set of options over N seeds, recorded at P episodes."""

    name: str  # the learner, with the options that distinguish it in its chapter
    algorithm: str
    is_reference: bool  # whether it is a reference
    seeds: Ints  # (N,)
    episode: Ints  # (P,)
    regret: dict[str, Floats]  # (N, P) by kind; that of constraints is the largest over them
    constraint_ends: Floats  # (2, N, I) regret and positive regret of each constraint at the end
    violations: Ints  # (N, P) episodes in violation so far
    multiplier: Floats  # (N, P, I)
    first_binding: Floats  # (N,) first recorded episode with a positive multiplier; inf if none
    last_excess: Floats  # (N, I+1) excess of the last policy: cost, then constraints
    worst: Floats  # (N, I) largest excess over each budget in any episode
    first_feasible: Ints  # (N,) episode from which on budgets were kept; beyond the last if never
    bad_episodes: dict[str, Ints]  # (N,) episodes outside the confidence sets, by family
    not_optimistic: Ints  # (N,), as the next two
    infeasible_plans: Ints
    bound_failures: Ints
    baseline: Floats | None  # (N, 2) probability of the baseline, mean and last; None without one
    largest_gap: Floats
    seconds: Floats
    multiplier_range: Floats  # (N, 2, I)
    rho: float  # bound on the multipliers; NaN for learners without one
    rho_rule: str
    radii: str  # the confidence in words; empty for learners without confidence sets
    steps: tuple[str, ...]  # changed steps in words
    is_heuristic: bool  # whether radii or steps have no guarantee
    plan: Plan  # mean of the last policies of some seeds
    n_policies: int  # how many
    average: Floats | None  # (N, I+1) cost and constraint values of average policies, if recorded
    average_plan: Plan | None  # mean of the average policies of the same seeds
    spec: dict[str, Any]  # configuration of the runs, without their seeds

    @property
    def n_seeds(self) -> int:
        """Number of seeds N."""
        return len(self.seeds)

    @property
    def constants(self) -> str:
        """The confidence and every changed step in words."""
        return ", ".join(filter(None, (self.radii, *self.steps)))

    @property
    def share(self) -> Floats:
        """Share of the episodes so far that were in violation, (N, P)."""
        return np.asarray(self.violations / self.episode)

    @property
    def good_event(self) -> Ints:
        """Whether the confidence sets contained the true model, per run; True without any."""
        if not self.bad_episodes:
            return np.ones(self.n_seeds, dtype=np.int64)
        return np.asarray(np.sum(list(self.bad_episodes.values()), axis=0) == 0)


@dataclass(frozen=True)
class Chapter:
    """One problem and the groups of runs on it."""

    name: str  # the environment, with the fields that distinguish it
    environment: str
    n_episodes: int
    delta: float
    cmdp: CMDP  # the true model
    optimum: Plan
    groups: tuple[Group, ...]  # at least one, those of the paper first

    @property
    def learners(self) -> tuple[Group, ...]:
        """Groups in the summary: all except references, unless there are only references."""
        return tuple(group for group in self.groups if not group.is_reference) or self.groups


@dataclass(frozen=True)
class Findings:
    """All finished runs of an experiment."""

    name: str  # of the experiment
    chapters: tuple[Chapter, ...]  # on problems with a model
    n_planned: int  # runs
    n_finished: int
    versions: tuple[tuple[dict[str, str], int], ...]  # of the software, with numbers of runs
    returns: tuple[ReturnChapter, ...] = ()  # in environments of Gymnasium

    @property
    def problems(self) -> tuple[Chapter | ReturnChapter, ...]:
        """All chapters."""
        return (*self.chapters, *self.returns)

    def chapter(self, name: str | None) -> Chapter | ReturnChapter:
        """Return the chapter of that name; without a name, the only chapter."""
        chapters = {chapter.name: chapter for chapter in self.problems}
        if name is None and len(chapters) == 1:
            return self.problems[0]
        if name not in chapters:
            known = ", ".join(map(repr, chapters))
            raise ConfigError.about("problem", found=name, expected=f"one of {known}")
        return chapters[name]

    def __repr__(self) -> str:
        problems = ", ".join(chapter.name for chapter in self.problems)
        return f"Findings({self.n_finished} of {self.n_planned} runs finished, on {problems})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = [self.name, f"{self.n_finished} of {self.n_planned} runs finished"]
        rows = [
            (chapter.name, group.name, counted(group.n_seeds, "seed"))
            for chapter in self.problems
            for group in chapter.groups
        ]
        return listing("Findings", facts, ["problem", "learner", ""], rows)


def thin(episode: Ints) -> Ints:
    """Return indices of `A_DECADE` episodes per factor of ten, log-spaced, and both ends."""
    n = 1 + int(np.ceil(A_DECADE * np.log10(episode[-1] / episode[0]))) if len(episode) > 1 else 1
    wanted = np.geomspace(episode[0], episode[-1], n)
    places = np.unique(np.searchsorted(episode, wanted * (1 - 1e-12)))
    return np.minimum(places, len(episode) - 1)


def read_findings(
    experiment: Experiment, planned: Sequence[RunSpec], progress: Callable[[int, int], None]
) -> Findings:
    """Read the finished runs among the planned ones.

    ``progress`` is called with the number of runs read and their total.

    Raises
    ------
    StoreError
        If no run is finished, or a file of one cannot be read.
    """
    finished = [spec for spec in planned if experiment.folder(spec).is_finished]
    if not finished:
        raise StoreError(
            f"{experiment.path}: none of its {len(planned)} runs is finished yet",
            argument=str(experiment.path),
            found=0,
            expected="a finished run",
        )
    reader = Reader(experiment, len(finished), progress)
    parts = list(problems_of(finished))
    chapters = tuple(reader.chapter(*part) for part in parts if not part[1][0].is_gym)
    returns = tuple(reader.returns(*part) for part in parts if part[1][0].is_gym)
    name = experiment.path.resolve().name
    counts = len(planned), len(finished)
    return Findings(name, chapters, *counts, reader.versions(), returns)


def new_resamples() -> Resamples:
    """Return the fixed resamples of reports, so that the same runs give the same page."""
    return Resamples(np.random.default_rng(0))


def summarize(findings: Findings) -> dict[str, Any]:
    """Return statistics over seeds as plain data, see `Experiment.summary`."""
    resamples = new_resamples()
    return {
        "planned": findings.n_planned,
        "finished": findings.n_finished,
        "problems": [
            *(_chapter_data(chapter, resamples) for chapter in findings.chapters),
            *(chapter_data(chapter, resamples) for chapter in findings.returns),
        ],
    }


class Reader:
    """Reads runs and counts them."""

    def __init__(
        self, experiment: Experiment, n_runs: int, progress: Callable[[int, int], None]
    ) -> None:
        self.experiment, self.n_runs, self.progress = experiment, n_runs, progress
        self.n_read = 0
        self.version_counts: dict[str, int] = {}

    def chapter(self, name: str, specs: Sequence[RunSpec]) -> Chapter:
        """One problem and the groups of runs on it."""
        first = specs[0]
        cmdp = model_of(first, self.experiment.model(first))
        return Chapter(
            name=name,
            environment=first.environment,
            n_episodes=first.episodes,
            delta=first.delta,
            cmdp=cmdp,
            optimum=solve(cmdp),
            groups=tuple(self.group(label, cmdp, mine) for label, mine in groups_of(specs)),
        )

    def returns(self, name: str, specs: Sequence[RunSpec]) -> ReturnChapter:
        """One environment of Gymnasium and the groups of runs in it."""
        found = []
        for label, mine in groups_of(specs):
            folders = [self.experiment.folder(spec) for spec in mine]
            found.append(read_group(label, mine, folders))
            for folder in folders:
                self._count(folder)
        first, (quantities, budget) = specs[0], quantities_of(self.experiment.folder(specs[0]))
        return ReturnChapter(
            name=name,
            environment=first.environment,
            n_episodes=first.episodes,
            delta=first.delta,
            horizon=first.gymnasium["horizon"],
            quantities=quantities,
            budget=budget,
            groups=tuple(found),
        )

    def group(self, name: str, cmdp: CMDP, specs: Sequence[RunSpec]) -> Group:
        """Read runs that differ in their seed only."""
        runs = [self._run(spec, cmdp) for spec in specs]
        shares = [each for each in map(baseline_shares, runs) if each is not None]
        first, audits, learner = runs[0], [run.audit for run in runs], specs[0].learner
        places = thin(first.episode)
        curves = {
            kind: np.stack([_curve(cmdp, run, kind, places) for run in runs])
            for kind in (KINDS if cmdp.n_constraints else KINDS[:2])
        }
        over = [kind for kind in curves if curves[kind].ndim == 3]
        none = np.zeros((len(runs), 1, 0))
        policies = [run.policy for run in runs[:MOST_POLICIES]]
        is_averaged = all(run.occupancy_sum is not None for run in runs)
        averages = [run.average_policy for run in runs] if is_averaged else []
        return Group(
            name=name,
            algorithm=first.algorithm,
            is_reference=learner.group == "reference",
            seeds=np.array([run.seed for run in runs]),
            episode=first.episode[places],
            regret={k: cmdp.units.largest(v) if k in over else v for k, v in curves.items()},
            constraint_ends=np.stack([curves.get(kind, none)[:, -1] for kind in KINDS[2:]]),
            violations=np.stack([run.violations[places] for run in runs]),
            multiplier=np.stack([run.multiplier[places] for run in runs]),
            first_binding=np.array([_first_binding(run) for run in runs]),
            last_excess=np.stack([run.excess[-1] for run in runs]),
            worst=np.stack([run.worst_violation for run in runs]),
            first_feasible=np.array([run.first_feasible for run in runs]),
            bad_episodes={
                family: np.array([audit.bad_episodes[family] for audit in audits])
                for family in first.audit.bad_episodes
            },
            not_optimistic=np.array([audit.not_optimistic for audit in audits]),
            infeasible_plans=np.array([audit.infeasible_plans for audit in audits]),
            bound_failures=np.array([audit.bound_failures for audit in audits]),
            baseline=np.array(shares) if shares else None,
            largest_gap=np.array([audit.largest_gap for audit in audits]),
            seconds=np.array([run.seconds for run in runs]),
            multiplier_range=np.stack([audit.multiplier_range for audit in audits]),
            rho=np.nan if first.rho_rule == "none" else float(first.rho),
            rho_rule=first.rho_rule,
            radii=first.confidence.words if learner.has_model else "",
            steps=tuple(learner.changed_steps),
            is_heuristic=first.is_heuristic,
            plan=_mean_plan(cmdp, policies, name),
            n_policies=len(policies),
            average=np.array([_values(cmdp, each) for each in averages]) if averages else None,
            average_plan=_mean_plan(cmdp, averages[:MOST_POLICIES], name) if averages else None,
            spec={k: v for k, v in specs[0].to_table().items() if k != "seed"},
        )

    def versions(self) -> tuple[tuple[dict[str, str], int], ...]:
        """Return the software versions of the runs read, with their counts."""
        return tuple((json.loads(text), count) for text, count in self.version_counts.items())

    def _run(self, spec: RunSpec, cmdp: CMDP) -> Run:
        folder = self.experiment.folder(spec)
        run = read_run(spec, cmdp, folder)
        self._count(folder)
        return run

    def _count(self, folder: RunFolder) -> None:
        text = json.dumps(folder.versions)
        self.version_counts[text] = self.version_counts.get(text, 0) + 1
        self.n_read += 1
        self.progress(self.n_read, self.n_runs)


def _chapter_data(chapter: Chapter, resamples: Resamples) -> dict[str, Any]:
    return {
        "name": chapter.name,
        "episodes": chapter.n_episodes,
        "delta": chapter.delta,
        "unit": chapter.cmdp.cost_unit.name,
        "optimum": chapter.optimum.value,
        "learners": [_group_data(group, chapter, resamples) for group in chapter.groups],
        "pairs": list(_pairs_data(chapter.learners, resamples)),
    }


def _group_data(group: Group, chapter: Chapter, resamples: Resamples) -> dict[str, Any]:
    return {
        "name": group.name,
        "algorithm": group.algorithm,
        "seeds": group.seeds.tolist(),
        "confidence": group.constants,
        "heuristic": group.is_heuristic,
        "regret": {
            kind: bands_data(values[:, -1], resamples) for kind, values in group.regret.items()
        },
        "growth": {
            kind: slope_of(group.episode, values, resamples).as_data()
            for kind, values in group.regret.items()
        },
        "share_in_violation": float(group.share[:, -1].mean()),
        "worst_violation": group.worst.max(axis=0).tolist(),
        "first_feasible": [
            first if first <= chapter.n_episodes else None
            for first in group.first_feasible.tolist()
        ],
        "average_policy": None if group.average is None else _average_data(group.average),
        "runs_with_good_event": int(group.good_event.sum()) if group.bad_episodes else None,
        "baseline": None if group.baseline is None else _baseline_data(group.baseline),
        "bound_failures": None if group.baseline is None else int(group.bound_failures.sum()),
        "seconds": float(group.seconds.sum()),
    }


def _average_data(values: Floats) -> dict[str, Any]:
    cost, *constraints = values.mean(axis=0).tolist()
    return {"value": cost, "constraint_value": constraints}


def _baseline_data(shares: Floats) -> dict[str, Any]:
    mean, last = shares.mean(axis=0).tolist()
    return {"mean": mean, "last": last}


def _pairs_data(groups: Sequence[Group], resamples: Resamples) -> Iterator[dict[str, Any]]:
    for first, second in combinations(groups, 2):
        seeds, mine, yours = np.intersect1d(first.seeds, second.seeds, return_indices=True)
        if len(seeds) < 2:
            continue
        found = {
            kind: compare_pairs(values[mine, -1], second.regret[kind][yours, -1], resamples)
            for kind, values in first.regret.items()
        }
        yield {
            "first": first.name,
            "second": second.name,
            "seeds": seeds.tolist(),
            "difference": {kind: pair.difference.as_data() for kind, pair in found.items()},
            "improvement": {kind: pair.improvement.as_data() for kind, pair in found.items()},
        }


def _curve(cmdp: CMDP, run: Run, kind: str, places: Ints) -> Floats:
    """Return a regret at some recorded episodes; sums of rounding errors become zero."""
    regret = regret_of(run, kind)[places]
    size = run.units.cost.size if regret.ndim == 1 else run.units.sizes
    least = ROUNDING * cmdp.horizon * np.multiply.outer(run.episode[places], size)
    return np.where(np.abs(regret) <= least, 0.0, regret)


def _values(cmdp: CMDP, policy: Floats) -> Floats:
    """Return cost and constraint values of a policy, (I+1,)."""
    found = evaluate(cmdp, policy)
    return np.append(found.value, found.constraint_value)


def baseline_shares(run: Run) -> tuple[float, float] | None:
    """Return the probability of the baseline, mean over episodes and last; None without one.

    A recorded episode counts for those since the one recorded before it.
    """
    if run.baseline is None:
        return None
    mean = np.average(run.baseline, weights=np.diff(run.episode, prepend=0))
    return float(mean), float(run.baseline[-1])


def _first_binding(run: Run) -> float:
    """Return the first recorded episode with a positive multiplier; inf if none."""
    binds = np.flatnonzero((run.multiplier > 0).any(axis=1))
    return float(run.episode[binds[0]]) if binds.size else np.inf


def _mean_plan(cmdp: CMDP, policies: Sequence[Floats], name: str) -> Plan:
    """Return the plan that draws one of the policies at the start and follows it."""
    q = np.mean([occupancy(cmdp, policy) for policy in policies], axis=0)
    visits = q.sum(axis=2, keepdims=True)
    even = np.mean(policies, axis=0)
    policy = np.where(visits > 0, q / np.where(visits > 0, visits, 1.0), even)
    values = [evaluate(cmdp, each) for each in policies]
    return Plan(
        policy=policy,
        value=float(np.mean([each.value for each in values])),
        constraint_value=np.mean([each.constraint_value for each in values], axis=0),
        multiplier=np.full(cmdp.n_constraints, np.nan),
        gap=np.nan,
        occupancy=q,
        method=name,
        sweeps=0,
    )
