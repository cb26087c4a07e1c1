"""A finished run as a tidy table, and as a file.

The table has a row for each recorded episode and each constraint. The files of experiments hold
numbers on the internal scale, as in version 0.1; they are converted to the units of the model when
they are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tightrope.arrays import positive
from tightrope.belief.audit import EVENTS
from tightrope.belief.confidence import Confidence
from tightrope.errors import ConfigError, DependencyError, ModelError, StoreError
from tightrope.experiments.gym_fields import gym_runs
from tightrope.experiments.missing import MissingLearner, key_of
from tightrope.experiments.problems import model_of
from tightrope.experiments.run import AuditReport, Run, run_in_units
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.storage import RunFolder, read_records
from tightrope.files import as_path, packed, put, reason, require_kind, unpacked
from tightrope.learners import Learner, find_learner
from tightrope.learners.oracle import has_rho
from tightrope.model import CMDP
from tightrope.model.draft import default_names
from tightrope.model.units import Unit, Units
from tightrope.text import counted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tightrope.experiments.experiment import Experiment

FORMAT = "tightrope-run 3"
PRICELESS = "tightrope-run 2"  # without names, multipliers of the audit for costs in [0, 1]
UNITLESS = "tightrope-run 1"  # without units too, numbers on the scale [0, 1] per step
FORMATS = (FORMAT, PRICELESS, UNITLESS)
PARTS = {"confidence": Confidence, "audit": AuditReport}
WORDS = (
    "run",
    "group",
    "algorithm",
    "environment",
    "parameters",
    "budget",
    "confidence",
    "constraint",
)
COUNTS = (
    "episodes",
    "seed",
    "episode",
    "violations",
    "not_optimistic",
    "infeasible_plans",
    "bound_failures",
)
BAD = tuple(f"bad_{family}" for family in EVENTS)
TYPES = {
    **dict.fromkeys(WORDS, "string"),
    **dict.fromkeys((*COUNTS, *BAD), "int64"),
    "heuristic": "bool",
}
COST = ("cost_excess", "cost_regret", "cost_regret_plus")
CONSTRAINT = ("constraint_excess", "constraint_regret", "constraint_regret_plus", "multiplier")
PLANS = ("not_optimistic", "infeasible_plans", "largest_gap")
RECORDED = ("episode", "violations", *COST, *CONSTRAINT, *BAD, *PLANS)
T = TypeVar("T")


def columns_of(spec: RunSpec, cmdp: CMDP, run: Run) -> dict[str, Any]:
    """Return the columns of a record, on the internal scale.

    The run is as `make_run` gives it; without constraints it has one row per episode.
    """
    columns = run_columns(run, cmdp.constraint_names)

    def constant(value: str) -> list[str]:
        return [value] * len(columns["episode"])

    return {
        "run": constant(spec.id),
        "group": constant(spec.group),
        "algorithm": constant(spec.algorithm),
        "environment": constant(spec.environment),
        "parameters": constant(json.dumps(spec.parameters, sort_keys=True)),
        "budget": constant(json.dumps(spec.budget, sort_keys=True)),
        **columns,
    }


def types_of(columns: Mapping[str, Any]) -> dict[str, str]:
    """Return the Arrow type of each column, the same for every run."""
    return {name: TYPES.get(name, "double") for name in columns}


def run_columns(run: Run, constraint_names: Sequence[str]) -> dict[str, Any]:
    """Return the columns that depend on the run alone."""
    I, P = len(constraint_names), len(run.episode)
    names: list[str | None] = [*constraint_names] or [None]

    def constant(value: Any) -> list[Any]:
        return [value] * (P * len(names))

    def by_episode(values: Any) -> Any:
        return np.repeat(np.asarray(values), len(names))

    def by_constraint(values: Any) -> Any:
        return np.ravel(values) if I else np.full(P, np.nan)

    return {
        "algorithm": constant(run.algorithm),
        "episodes": constant(run.n_episodes),
        "delta": constant(run.delta),
        "confidence": constant(run.constants),
        "seed": constant(run.seed),
        "episode": by_episode(run.episode),
        "constraint": names * P,
        "cost_excess": by_episode(run.excess[:, 0]),
        "cost_regret": by_episode(run.regret["cost"]),
        "cost_regret_plus": by_episode(run.regret["cost_plus"]),
        "constraint_excess": by_constraint(run.excess[:, 1:]),
        "constraint_regret": by_constraint(run.regret["constraint"]),
        "constraint_regret_plus": by_constraint(run.regret["constraint_plus"]),
        "multiplier": by_constraint(run.multiplier),
        "violations": by_episode(run.violations),
        **({} if run.baseline is None else {"baseline": by_episode(run.baseline)}),
        "heuristic": constant(run.is_heuristic),
        **{
            f"bad_{family}": constant(run.audit.bad_episodes.get(family, None)) for family in EVENTS
        },
        "not_optimistic": constant(run.audit.not_optimistic),
        "infeasible_plans": constant(run.audit.infeasible_plans),
        "largest_gap": constant(None if np.isnan(run.audit.largest_gap) else run.audit.largest_gap),
        **({} if run.baseline is None else {"bound_failures": constant(run.audit.bound_failures)}),
    }


def run_table(run: Run) -> pa.Table:
    """Return a run as an Arrow table."""
    import pyarrow as pa

    columns = run_columns(run, run.constraint_names)
    schema = [(name, pa.type_for_alias(kind)) for name, kind in types_of(columns).items()]
    return pa.table(columns, schema=pa.schema(schema))


def read_tables(experiment: Experiment, finished: Sequence[RunSpec]) -> Iterator[pa.Table]:
    """Yield the records of finished runs, in the units of their models."""
    units: dict[str, Units] = {}
    stored = read_records([experiment.folder(spec) for spec in finished])
    for spec, table in zip(finished, stored, strict=True):
        if spec.is_gym:
            yield table
            continue
        key = spec.problem_id
        if key not in units:
            units[key] = model_of(spec, experiment.model(spec)).units
        yield table_in_units(table, units[key])


def table_in_units(table: pa.Table, units: Units) -> pa.Table:
    """Convert a stored record to the units of its model."""
    import pyarrow as pa
    import pyarrow.compute as pc

    I = len(units.constraints)
    n_episodes = table.num_rows // max(I, 1)
    sizes = units.sizes if I else np.ones(1)
    factors = {
        **dict.fromkeys((*COST, "largest_gap"), np.full(table.num_rows, units.cost.size)),
        **dict.fromkeys(CONSTRAINT, np.tile(sizes, n_episodes)),
        "multiplier": np.tile(units.cost.size / sizes, n_episodes),
    }
    for place, name in enumerate(table.column_names):
        if name in factors:
            shown = pc.multiply(table[name], pa.array(factors[name]))
            table = table.set_column(place, name, shown)
    return table


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame, or raise an error that says how to install pandas."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise DependencyError(
            "pandas is not installed; pip install pandas, or take the Arrow table of to_arrow()",
            argument="pandas",
        ) from error
    return table.to_pandas()


def save_run(run: Run, path: str | PathLike[str]) -> None:
    """Write a run to an .npz file of plain arrays."""
    learner = {"name": key_of(run.learner), "options": run.learner.options}
    about, arrays = {**asdict(run), "learner": learner}, {}

    def move_arrays(table: dict[str, Any], prefix: str) -> None:
        for name, value in list(table.items()):
            if isinstance(value, np.ndarray):
                arrays[prefix + name] = table.pop(name)
            elif isinstance(value, dict):
                move_arrays(value, f"{prefix}{name}.")

    move_arrays(about, "")
    put(_npz(path), packed({"format": FORMAT, "run": about}, arrays))


def load_run(path: str | PathLike[str]) -> Run:
    """Read a run that `save_run` has written."""
    file = _npz(path)
    try:
        content = file.read_bytes()
        require_kind(content, FORMAT.partition(" ")[0])
        about, arrays = unpacked(content)
        if about.get("format") not in FORMATS:
            raise StoreError(
                f"its format is {about.get('format')!r}, expected {FORMAT!r}", expected=FORMAT
            )
        table = about["run"]
        for name, array in arrays.items():
            *parents, last = name.split(".")
            inner = table
            for parent in parents:
                inner = inner[parent]
            inner[last] = array
        kind = find_learner(table["learner"]["name"], may_import=False)
        table["learner"] = kind.from_options(table["learner"]["options"])
        I = table["multiplier"].shape[1]
        if about["format"] == UNITLESS:
            table["units"] = Units.plain(I)
        else:
            shown = table["units"]
            units = (Unit(**each) for each in (shown["cost"], *shown["constraints"]))
            table["units"] = Units(next(units), tuple(units))
        if about["format"] != FORMAT:
            table["constraint_names"] = default_names(I)
            audit = table["audit"]
            audit["multiplier_range"] = table["units"].show_prices(audit["multiplier_range"])
        table["constraint_names"] = tuple(table["constraint_names"])
        return _build(Run, {**table, **{k: _build(kind, table[k]) for k, kind in PARTS.items()}})
    except (OSError, StoreError, ModelError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{file}: cannot be read as a run: {reason(error)}", argument=str(file)
        ).with_fields_of(error) from error


def read_run(spec: RunSpec, cmdp: CMDP, folder: RunFolder) -> Run:
    """Read the finished run in a directory, in the units of its model."""
    more = ("confidence",) if isinstance(spec.learner, MissingLearner) else ()
    about, arrays, column = folder.read(spec.id, (*RECORDED, *more))
    I = cmdp.n_constraints
    if not len(column["episode"]) or len(column["episode"]) % max(I, 1):
        raise StoreError(f"{folder.record}: does not fit the model", argument=str(folder.record))
    rows = {name: values.reshape(-1, max(I, 1)) for name, values in column.items()}
    first = {name: values[:, 0] for name, values in rows.items()}
    over = {name: rows[name][:, :I] for name in CONSTRAINT}
    families = [family for family in EVENTS if not np.isnan(float(first[f"bad_{family}"][0]))]
    learner, options = spec.learner, resolved_options(spec.learner, about)
    if isinstance(learner, MissingLearner):
        learner = learner.as_run(options, spec.confidence, str(first["confidence"][0]))
    else:
        learner = learner.from_options(options)
    run = Run(
        learner=learner,
        n_episodes=spec.episodes,
        seed=spec.seed,
        delta=spec.delta,
        confidence=learner.radii(spec.confidence),
        rho_rule=about["rho_rule"],
        episode=first["episode"],
        regret={
            "cost": first["cost_regret"],
            "cost_plus": first["cost_regret_plus"],
            "constraint": over["constraint_regret"],
            "constraint_plus": over["constraint_regret_plus"],
        },
        excess=np.column_stack([first["cost_excess"], over["constraint_excess"]]),
        multiplier=over["multiplier"],
        violations=first["violations"],
        worst_violation=arrays["worst_violation"],
        first_feasible=about["first_feasible"],
        policy=arrays["policy"],
        optimum=about["optimum"],
        audit=AuditReport(
            bad_episodes={family: int(first[f"bad_{family}"][0]) for family in families},
            first_bad=about["first_bad"],
            not_optimistic=int(first["not_optimistic"][0]),
            infeasible_plans=int(first["infeasible_plans"][0]),
            plans=about["plans"],
            sweeps=about["sweeps"],
            largest_gap=float(first["largest_gap"][0]),
            multiplier_range=arrays["multiplier_range"],
            bound_failures=int(about.get("bound_failures", 0)),
        ),
        seconds=about["seconds"],
        units=Units.plain(I),
        constraint_names=tuple(cmdp.constraint_names),
        occupancy_sum=arrays.get("occupancy_sum"),
        baseline=arrays.get("baseline"),
    )
    return run_in_units(run, cmdp)


@dataclass(frozen=True)
class StoredRun:
    """A finished run of an experiment, on disk.

    Parameters
    ----------
    spec : RunSpec
        Configuration of the run: ``spec.id``, ``spec.algorithm``, ``spec.seed`` and so on.
    experiment : Experiment
        Where it is stored.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     experiment = tr.Experiment(folder)
    ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=1)
    ...     outcome = experiment.run(engine="here", progress=False)
    ...     (stored,) = experiment.runs()
    ...     stored.spec.algorithm, stored.cmdp.n_states
    ('uniform', 3)
    """

    spec: RunSpec
    experiment: Experiment

    @property
    def path(self) -> Path:
        """Directory of the run."""
        return self.experiment.folder(self.spec).path

    @property
    def cmdp(self) -> CMDP:
        """The true model."""
        return model_of(self.spec, self.experiment.model(self.spec))

    def load(self) -> Any:
        """Read the run: a `Run`, as `learn` returns it, or for gym:ID a `Realized`.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     experiment.runs()[0].load().regret["cost"].shape
        (20,)
        """
        if self.spec.is_gym:
            return gym_runs().read_realized(self.spec, self.experiment.folder(self.spec))
        return read_run(self.spec, self.cmdp, self.experiment.folder(self.spec))

    def __repr__(self) -> str:
        spec = self.spec
        return (
            f"StoredRun({spec.id}: {spec.algorithm} on {spec.environment}, "
            f"{spec.episodes} episodes, seed {spec.seed})"
        )

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        spec = self.spec
        facts = [spec.id, counted(spec.episodes, "episode"), f"seed {spec.seed}"]
        return listing(f"{spec.algorithm} on {spec.environment}", facts)


def resolved_options(learner: Learner, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a run began with; version 0.1 stored only ``rho``."""
    if "options" in about:
        return dict(about["options"])
    options = learner.options
    return {**options, "rho": positive("rho", about["rho"])} if has_rho(learner) else options


def _build(kind: type[T], table: dict[str, Any]) -> T:
    """Build a dataclass object from a table of exactly its fields."""
    expected = {field.name for field in fields(kind) if field.init}  # type: ignore[arg-type]
    if set(table) != expected:
        odd = ", ".join(sorted(set(table) ^ expected))
        raise StoreError.about(kind.__name__, verb="has missing or unknown fields:", shown=odd)
    return kind(**table)


def _npz(path: str | PathLike[str]) -> Path:
    file = as_path("path", path)
    if file.suffix.lower() != ".npz":
        raise ConfigError(
            f"{file}: a run is saved as .npz, this name ends in {file.suffix!r}", argument=str(file)
        )
    return file
