"""Finished runs of an experiment as the findings of its report, and their statistics as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats, Ints
from tightrope.errors import StoreError
from tightrope.estimate.confidence import Confidence
from tightrope.experiments.curves import KINDS, factors_of
from tightrope.experiments.findings import Chapter, Findings, Group, thinned
from tightrope.experiments.problems import model_of
from tightrope.experiments.run_files import BAD, PLANS
from tightrope.experiments.statistics import STATISTICS, Resamples, band_of
from tightrope.learners.algorithms import LEARNERS, REFERENCES
from tightrope.model import CMDP, Plan
from tightrope.plan.evaluate import evaluate, occupancy
from tightrope.plan.solve import solve
from tightrope.run.result import FAMILIES
from tightrope.run.slice import setting_of
from tightrope.run.spec import RunSpec

if TYPE_CHECKING:
    from tightrope.experiments.experiment import Experiment

PROBLEM = ("environment", "parameters", "model", "budget", "episodes", "delta")
CURVES = ("cost_regret", "cost_regret_plus", "constraint_regret", "constraint_regret_plus")
COLUMNS = (
    "episode",
    *CURVES,
    "cost_excess",
    "constraint_excess",
    "multiplier",
    "violations",
    *BAD,
    *PLANS,
)
ROUNDING = 1e-12  # of an excess on the model's scale, a step
MOST_POLICIES = 10  # averaged in a picture
ABOUT = ("seconds", "rho", "rho_rule", "first_feasible")
Arrays = dict[str, NDArray[Any]]


def read_findings(
    experiment: Experiment, planned: Sequence[RunSpec], progress: Callable[[int, int], None]
) -> Findings:
    """Read every finished run of some that were planned.

    ``progress`` is called with the number of runs read and their total.

    Raises
    ------
    StoreError
        When no run is finished, or a file of one cannot be read.
    """
    finished = [spec for spec in planned if experiment.folder(spec).is_finished]
    if not finished:
        raise StoreError(f"{experiment.path}: none of its {len(planned)} runs is finished yet")
    reader = Reader(experiment, len(finished), progress)
    chapters = _group_by(finished, _problem)
    names = _distinct_names([_part(mine[0], PROBLEM) for mine in chapters], "environment")
    found = [reader.chapter(name, mine) for name, mine in zip(names, chapters, strict=True)]
    name = experiment.path.resolve().name
    return Findings(name, tuple(found), len(planned), len(finished), reader.versions())


def new_resamples() -> Resamples:
    """The resamples of reports: always the same, so that the same runs give the same page."""
    return Resamples(np.random.default_rng(0))


def summarize(findings: Findings) -> dict[str, Any]:
    """Statistics over seeds as plain data, see `Experiment.summary`."""
    return {
        "planned": findings.n_planned,
        "finished": findings.n_finished,
        "problems": [_chapter_data(chapter) for chapter in findings.chapters],
    }


class Reader:
    """Reads runs and counts them."""

    def __init__(
        self, experiment: Experiment, n_runs: int, progress: Callable[[int, int], None]
    ) -> None:
        self.experiment, self.n_runs, self.progress = experiment, n_runs, progress
        self.n_read = 0
        self.made_by: dict[str, int] = {}

    def chapter(self, name: str, specs: Sequence[RunSpec]) -> Chapter:
        """One problem and all who learned it."""
        first = specs[0]
        cmdp = model_of(first, self.experiment.model(first))
        groups = _group_by(specs, lambda spec: spec.group)
        groups.sort(key=lambda mine: _rank(mine[0].algorithm))
        names = _distinct_names([_options(mine[0]) for mine in groups], "algorithm")
        return Chapter(
            name=name,
            environment=first.environment,
            n_episodes=first.episodes,
            delta=first.delta,
            cmdp=cmdp,
            optimum=solve(cmdp),
            groups=tuple(
                self.group(label, cmdp, sorted(mine, key=lambda spec: spec.seed))
                for label, mine in zip(names, groups, strict=True)
            ),
        )

    def group(self, name: str, cmdp: CMDP, specs: Sequence[RunSpec]) -> Group:
        """Runs that differ in their seed only."""
        I, first = cmdp.n_constraints, specs[0]
        runs, abouts, results = zip(*(self._run(cmdp, spec) for spec in specs), strict=True)
        episode = runs[0]["episode"]
        column = {key: np.stack([run[key] for run in runs]) for key in runs[0]}
        kinds = KINDS if I else KINDS[:2]
        setting = setting_of(first, cmdp)
        radii, steps = setting.radii, setting.learner.changed_steps(setting.options)
        believes = not setting.learner.is_fixed
        policies = [result["policy"] for result in results[:MOST_POLICIES]]
        about = {key: [each[key] for each in abouts] for key in ABOUT}
        return Group(
            name=name,
            algorithm=first.algorithm,
            is_reference=first.algorithm in REFERENCES,
            seeds=np.array([spec.seed for spec in specs]),
            episode=episode,
            regret={kind: column[kind] for kind in kinds},
            constraint_ends=np.stack([column["constraint_end"], column["constraint_plus_end"]]),
            violations=column["violations"],
            multiplier=column["multiplier"],
            first_binding=column["first_binding"],
            last_excess=column["last_excess"],
            worst=np.stack([each["worst_violation"] for each in results]) * factors_of(cmdp),
            first_feasible=np.array(about["first_feasible"]),
            bad_episodes={
                family: column[f"bad_{family}"].astype(int)
                for family in FAMILIES
                if believes and not np.isnan(column[f"bad_{family}"].astype(float)).any()
            },
            not_optimistic=column["not_optimistic"],
            infeasible_plans=column["infeasible_plans"],
            largest_gap=column["largest_gap"] * abs(cmdp.cost_unit.factor),
            seconds=np.array(about["seconds"]),
            multiplier_range=np.stack([each["multiplier_range"] for each in results]),
            rho=np.nan if about["rho_rule"][0] == "none" else float(about["rho"][0]),
            rho_rule=about["rho_rule"][0],
            radii=radii.words if believes else "",
            steps=tuple(steps),
            is_heuristic=believes and (radii.is_heuristic or bool(steps)),
            plan=_mean_plan(cmdp, policies, name),
            n_policies=len(policies),
            spec=first.model_dump(mode="json", exclude={"seed"}),
        )

    def versions(self) -> tuple[tuple[dict[str, str], int], ...]:
        """What made the runs that were read, and of how many."""
        return tuple((json.loads(text), count) for text, count in self.made_by.items())

    def _run(self, cmdp: CMDP, spec: RunSpec) -> tuple[Arrays, dict[str, Any], Arrays]:
        """Curves and totals of one run, then the table and the arrays of its result."""
        folder = self.experiment.folder(spec)
        about, result, column = folder.read(spec.id, COLUMNS)
        curves = _curves(cmdp, column, str(folder.record))
        made_by = json.dumps(folder.made_by)
        self.made_by[made_by] = self.made_by.get(made_by, 0) + 1
        self.n_read += 1
        self.progress(self.n_read, self.n_runs)
        return curves, about, result


def _chapter_data(chapter: Chapter) -> dict[str, Any]:
    unit = chapter.cmdp.cost_unit
    return {
        "name": chapter.name,
        "episodes": chapter.n_episodes,
        "delta": chapter.delta,
        "unit": unit.name,
        "optimum": unit.show(chapter.optimum.value),
        "learners": [
            {
                "name": group.name,
                "algorithm": group.algorithm,
                "seeds": group.seeds.tolist(),
                "confidence": group.constants,
                "heuristic": group.is_heuristic,
                "regret": {
                    kind: {
                        name: dict(
                            zip(
                                ("middle", "low", "high"),
                                map(float, band_of([values[:, -1]], name, new_resamples())),
                                strict=True,
                            )
                        )
                        for name in STATISTICS
                    }
                    for kind, values in group.regret.items()
                },
                "share_in_violation": float(group.share[:, -1].mean()),
                "runs_with_good_event": int(group.good_event.sum()),
                "seconds": float(group.seconds.sum()),
            }
            for group in chapter.groups
        ],
    }


def _curves(cmdp: CMDP, column: Arrays, where: str) -> Arrays:
    """A record's columns by episode, thinned, in shown units."""
    I, width = cmdp.n_constraints, max(cmdp.n_constraints, 1)
    if not len(column["episode"]) or len(column["episode"]) % width:
        raise StoreError(f"{where}: does not fit the model")
    every = {name: values.reshape(-1, width) for name, values in column.items()}
    episode = every["episode"][:, 0]
    places = thinned(episode)
    for name in CURVES:  # sums of what is zero but for rounding are zero
        every[name] = np.where(
            np.abs(every[name]) <= ROUNDING * cmdp.horizon * every["episode"], 0.0, every[name]
        )
    per_cost, per_constraint = abs(cmdp.cost_unit.factor), factors_of(cmdp)
    over = {name: every[name][places, :I] * per_constraint for name in CURVES[2:]}
    found = {
        "episode": episode[places],
        "cost": every["cost_regret"][places, 0] * per_cost,
        "cost_plus": every["cost_regret_plus"][places, 0] * per_cost,
        "constraint_end": over["constraint_regret"][-1],
        "constraint_plus_end": over["constraint_regret_plus"][-1],
        "violations": every["violations"][places, 0],
        "multiplier": every["multiplier"][places, :I],
        "first_binding": _first(episode, every["multiplier"][:, :I]),
        "last_excess": np.append(
            every["cost_excess"][-1, 0] * per_cost,
            every["constraint_excess"][-1, :I] * per_constraint,
        ),
        **{name: every[name][-1, 0] for name in (*BAD, *PLANS)},
    }
    if I:
        found["constraint"] = over["constraint_regret"].max(axis=1)
        found["constraint_plus"] = over["constraint_regret_plus"].max(axis=1)
    return found


def _first(episode: Ints, multiplier: Floats) -> float:
    """First recorded episode with a positive multiplier; infinite where there is none."""
    binds = np.flatnonzero((multiplier > 0).any(axis=1))
    return float(episode[binds[0]]) if binds.size else np.inf


def _mean_plan(cmdp: CMDP, policies: Sequence[Floats], name: str) -> Plan:
    """The plan that draws one of the policies at the start and follows it."""
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


def _group_by(specs: Sequence[RunSpec], key: Callable[[RunSpec], str]) -> list[list[RunSpec]]:
    found: dict[str, list[RunSpec]] = {}
    for spec in specs:
        found.setdefault(key(spec), []).append(spec)
    return list(found.values())


def _rank(algorithm: str) -> int:
    known = list(LEARNERS)
    return known.index(algorithm) if algorithm in known else len(known)


def _part(spec: RunSpec, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in names}


def _problem(spec: RunSpec) -> str:
    return json.dumps([spec.problem, spec.episodes, spec.delta], sort_keys=True)


def _options(spec: RunSpec) -> dict[str, Any]:
    names = [name for name in RunSpec.model_fields if name not in (*PROBLEM, "seed")]
    radii = Confidence(**spec.confidence).words.removesuffix(" (heuristic)")
    return {**_part(spec, names), "confidence": radii}


def _distinct_names(tables: Sequence[Mapping[str, Any]], head: str) -> list[str]:
    """A name for each table: its head, and what differs from others with the same head."""
    flat = [_flatten(table) for table in tables]
    names = []
    for mine in flat:
        rivals = [other for other in flat if other[head] == mine[head]]
        parts = [str(mine[head])]
        for key in mine:
            values = {json.dumps(other.get(key)) for other in rivals}
            if key != head and len(values) > 1:
                parts.append(_describe(key, mine[key]))
        names.append(", ".join(parts))
    return names


def _flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Inner tables spread out, by the names of their fields."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= {
                (f"budget {inner}" if key == "budget" else inner): v for inner, v in value.items()
            }
        else:
            flat[key] = value
    return flat


def _describe(key: str, value: Any) -> str:
    if key == "episodes":
        return f"{value} episodes"
    if key == "confidence":
        return str(value)
    if key == "model":
        return str(value).removeprefix("sha256:")[:8]
    word = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.replace('_', ' ')} {word}"
