"""Compact records: what the page needs of every run, in one Parquet file for each part.

A record has the configuration of a run, where it was made (commit, versions, processor, CPU
seconds), its last regrets in double precision, the largest ratio of regret to the square root of
the episode over all recorded episodes, and the SHA-256 of all numbers that the run recorded; in
the parts of `KEPT` also curves at a few episodes, in single precision. ``SHA256SUMS`` lists the
files; a file that does not fit it is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import StoreError
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.run import Run
from tightrope.experiments.run_files import read_run
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.files import make_folder, put, unpacked
from tightrope.model import CMDP, Plan
from tightrope.plan.evaluate import evaluate
from tightrope.plan.solve import solve

SUMS = "SHA256SUMS"
Kind = Literal["cost", "cost_plus", "constraint", "constraint_plus"]
KINDS: tuple[Kind, ...] = ("cost", "cost_plus", "constraint", "constraint_plus")
EXCESS = ("cost_excess", "constraint_excess")
SWINGS = (*EXCESS, "multiplier")
CURVES = (*KINDS, *SWINGS)
QUARTER = 0.75
MOST_LATE = 2_000  # recorded episodes of the last quarter, the last ones
TENTH = 0.1  # of the episodes, which come before the others settle


class Kept(NamedTuple):
    """What the records of a part store in addition to single numbers."""

    curves: tuple[str, ...]  # of `CURVES`
    a_decade: int  # episodes per factor of ten, each with its neighbor
    is_late: bool = False  # whether the last quarter of the first seed is kept, to show oscillation


KEPT = {
    "growth": Kept(KINDS, 6),
    "oscillation": Kept(SWINGS, 3, is_late=True),
    "phase": Kept(EXCESS, 10_000),
    "dope": Kept(KINDS, 12),
    "upac": Kept(CURVES, 3, is_late=True),
}


@dataclass(frozen=True)
class Record:
    """One run, in the units of its model."""

    table: dict[str, Any]

    @cached_property
    def spec(self) -> RunSpec:
        """The configuration."""
        return spec_of(json.loads(self.table["spec"]), "record")

    def curve(self, name: str) -> Floats:
        """One of `CURVES` at the kept episodes."""
        return np.asarray(self.table[name], dtype=np.float64)

    @property
    def episode(self) -> Ints:
        """The kept episodes."""
        return np.asarray(self.table["episode"], dtype=np.int64)

    def at(self, name: str, episode: int) -> float:
        """A cumulative curve after an episode, on straight lines between kept ones."""
        return float(np.interp(episode, self.episode, self.curve(name)))


@dataclass(frozen=True)
class Cell:
    """Runs that differ in their seed only."""

    records: tuple[Record, ...]

    @property
    def spec(self) -> RunSpec:
        """The configuration of the first run."""
        return self.records[0].spec

    @property
    def algorithm(self) -> str:
        """Name of the learner."""
        return self.spec.algorithm

    @property
    def n_seeds(self) -> int:
        """Number of runs."""
        return len(self.records)

    @property
    def episode(self) -> Ints:
        """The kept episodes."""
        return self.records[0].episode

    def numbers(self, name: str) -> Floats:
        """A number of each run."""
        return np.array([each.table[name] for each in self.records], dtype=np.float64)

    def ends(self, kind: str) -> Floats:
        """A regret after the last episode, (N,)."""
        return self.numbers(f"end_{kind}")

    def curves(self, name: str) -> Floats:
        """One of `CURVES`, (N, P)."""
        return np.stack([each.curve(name) for each in self.records])

    @property
    def cpu(self) -> float:
        """CPU seconds per episode, the median over runs."""
        return float(np.median(self.numbers("cpu_seconds"))) / self.spec.episodes

    @property
    def share(self) -> float:
        """Share of the episodes in violation, the mean over runs."""
        return float(self.numbers("n_violations").mean()) / self.spec.episodes


def cells_of(records: Iterable[Record]) -> list[Cell]:
    """Group records by everything but the seed, in their order."""
    found: dict[str, list[Record]] = {}
    for each in records:
        found.setdefault(each.table["group"], []).append(each)
    return [Cell(tuple(sorted(mine, key=lambda r: r.table["seed"]))) for mine in found.values()]


def problems_of(cells: Iterable[Cell]) -> list[tuple[str, list[Cell]]]:
    """Group cells by their model."""
    found: dict[str, list[Cell]] = {}
    for each in cells:
        found.setdefault(each.spec.problem_id, []).append(each)
    return list(found.items())


def model_and_plan(spec: RunSpec) -> tuple[CMDP, Plan]:
    """The true model of a spec and its optimum; each is computed once."""
    if spec.problem_id not in _solved:
        cmdp = model_of(spec)
        _solved[spec.problem_id] = cmdp, solve(cmdp)
    return _solved[spec.problem_id]


_solved: dict[str, tuple[CMDP, Plan]] = {}


def digest_of(run: Run) -> str:
    """SHA-256 of all numbers that a run recorded, and of its last policy."""
    found = hashlib.sha256()
    arrays = [run.episode, *(run.regret[kind] for kind in KINDS), run.excess, run.multiplier]
    for array in (*arrays, run.violations, run.worst_violation, run.policy):
        found.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return found.hexdigest()


def record_of(experiment: Experiment, spec: RunSpec, part: str) -> Record:
    """The compact record of a finished run."""
    folder, cmdp = experiment.folder(spec), model_and_plan(spec)[0]
    run, about = read_run(spec, cmdp, folder), unpacked(folder.result.read_bytes())[0]
    made = folder.versions
    return Record(
        {
            "run": spec.id,
            "group": spec.group,
            "seed": spec.seed,
            "spec": spec.to_json(),
            "commit": made.pop("commit", ""),
            "processor": made.pop("processor", ""),
            "versions": json.dumps(made),
            "cpu_seconds": float(about.get("cpu_seconds", np.nan)),
            "digest": digest_of(run),
            **_numbers(run, cmdp),
            **(_curves(run, KEPT[part]) if part in KEPT else {}),
        }
    )


def _numbers(run: Run, cmdp: CMDP) -> dict[str, Any]:
    """Single numbers of a run."""
    binds = run.episode[run.multiplier.max(axis=1, initial=0.0) > 0]
    average = [np.nan, np.nan]
    if run.occupancy_sum is not None:
        found = evaluate(cmdp, run.average_policy)
        signs = np.sign([unit.factor for unit in cmdp.constraint_units])
        use = (np.asarray(found.constraint_value) - cmdp.budget) * signs
        loss = (found.value - run.optimum) * np.sign(cmdp.cost_unit.factor)
        average = [float(loss), float(use.max(initial=-np.inf))]
    bad = run.audit.bad_episodes
    return {
        **{f"end_{kind}": float(_largest(run.regret[kind])[-1]) for kind in KINDS},
        **{f"peak_{kind}": _peak(run, cmdp, kind) for kind in KINDS},
        "n_violations": int(run.violations[-1]),
        "worst": float(run.worst_violation.max(initial=-np.inf)),
        "first_binding": float(binds[0]) if binds.size else np.inf,
        "first_feasible": float(run.first_feasible),
        "rho": float(run.rho) if run.rho_rule != "none" else np.nan,
        "radii": run.confidence.words if run.learner.has_model else "",
        "is_heuristic": bool(run.is_heuristic),
        "average_cost": float(average[0]),
        "average_constraint": float(average[1]),
        "not_optimistic": float(run.audit.not_optimistic),
        "is_audited": bool(bad),
        **{
            f"bad_{name}": float(bad.get(name, np.nan))
            for name in ("transition", "cost", "constraint", "visits")
        },
    }


def _peak(run: Run, cmdp: CMDP, kind: Kind) -> float:
    """Largest regret over the square root of the episode, for costs scaled to [0, 1]."""
    units = [cmdp.cost_unit] if kind.startswith("cost") else cmdp.constraint_units
    curves = np.asarray(run.regret[kind], dtype=np.float64).reshape(len(run.episode), -1)
    roots = np.sqrt(np.maximum(run.episode, 1))[:, None]
    scales = np.abs([unit.factor for unit in units])
    return float((curves / scales / roots).max(initial=-np.inf))


def _largest(values: Any) -> Floats:
    """A curve, the largest over the constraints."""
    array = np.asarray(values, dtype=np.float64)
    return array if array.ndim == 1 else array.max(axis=1)


def _curves(run: Run, keep: Kept) -> dict[str, Any]:
    """Curves at the kept episodes, and how a run oscillates over its last 90 %."""
    places = kept(run.episode, keep.a_decade)
    multiplier = run.multiplier.max(axis=1, initial=0.0)
    found: dict[str, Any] = {}
    if keep.is_late:
        K, use = run.n_episodes, _largest(run.regret["constraint"])
        settled = run.episode >= TENTH * K
        before = float(np.interp(TENTH * K, run.episode, use))
        found["turns"] = turns_of(multiplier[settled])
        found["late_constraint"] = (float(use[-1]) - before) / ((1 - TENTH) * K)
        if run.seed == 1:
            late = np.flatnonzero(run.episode >= QUARTER * K)
            places = np.union1d(places, late[-MOST_LATE:])
    columns: dict[str, Any] = {
        **{kind: _largest(run.regret[kind]) for kind in KINDS},
        "cost_excess": run.excess[:, 0],
        "constraint_excess": run.excess[:, 1:].max(axis=1),
        "multiplier": multiplier,
    }
    values = {name: np.asarray(columns[name])[places].tolist() for name in keep.curves}
    return {**found, "episode": run.episode[places].tolist(), **values}


def turns_of(multiplier: Floats) -> int:
    """How often a multiplier turns from rising to falling or back; flat parts do not count."""
    steps = np.sign(np.diff(multiplier))
    moving = steps[steps != 0]
    return int((np.diff(moving) != 0).sum())


def kept(episode: Ints, a_decade: int) -> Ints:
    """Indices of some recorded episodes: a grid with powers of ten, and the ones just before."""
    n = int(np.ceil(a_decade * np.log10(max(episode[-1], 2)))) + 1
    grid = 10.0 ** (np.arange(n) / a_decade)
    above = np.minimum(np.searchsorted(episode, grid * (1 - 1e-9)), len(episode) - 1)
    ends = np.array([0, len(episode) - 1])
    return np.unique(np.concatenate([above, np.maximum(above - 1, 0), ends]))


def collect(experiment: Experiment, specs: Sequence[RunSpec], part: str) -> list[Record]:
    """Records of the finished runs among these."""
    return [record_of(experiment, s, part) for s in specs if experiment.folder(s).is_finished]


def write_records(
    folder: Path, part: str, records: Sequence[Record], listed: Collection[str]
) -> None:
    """Add records to those of a part; one of the same run is replaced.

    ``listed`` has the ids of the runs of the part; records of others are dropped.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = {each.table["run"]: each for each in _read(folder, part)}
    known |= {each.table["run"]: each for each in records}
    known = {run: each for run, each in known.items() if run in listed}
    if not known:
        return
    order = sorted(known.values(), key=lambda each: (each.table["group"], each.table["seed"]))
    kinds = {name: pa.list_(pa.float32()) for name in CURVES} | {"episode": pa.list_(pa.int64())}
    tables = [each.table for each in order]
    names = dict.fromkeys(name for table in tables for name in table)  # older ones have fewer
    arrays = {name: pa.array([t.get(name) for t in tables], kinds.get(name)) for name in names}
    file = BytesIO()
    pq.write_table(pa.table(arrays), file, compression="zstd", compression_level=19)
    make_folder(folder)
    put(folder / f"{part}.parquet", file.getvalue())
    sums = {**_sums(folder), f"{part}.parquet": hashlib.sha256(file.getvalue()).hexdigest()}
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    put(folder / SUMS, "".join(lines).encode())


def read_records(folder: Path, parts: Iterable[str]) -> Iterator[tuple[str, list[Record]]]:
    """Parts of which there are records, verified against the checksums."""
    for part in parts:
        found = _read(folder, part)
        if found:
            yield part, found


def _read(folder: Path, part: str) -> list[Record]:
    import pyarrow.parquet as pq

    path = folder / f"{part}.parquet"
    if not path.is_file():
        return []
    content = path.read_bytes()
    if _sums(folder).get(path.name) != hashlib.sha256(content).hexdigest():
        raise StoreError(f"{path}: its content does not fit {SUMS}", argument=str(path))
    return [Record(table) for table in pq.read_table(BytesIO(content)).to_pylist()]


def _sums(folder: Path) -> dict[str, str]:
    path = folder / SUMS
    if not path.is_file():
        return {}
    pairs = (line.split("  ", 1) for line in path.read_text("utf-8").splitlines())
    return {name: digest for digest, name in pairs}
