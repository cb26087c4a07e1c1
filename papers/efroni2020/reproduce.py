"""Measure the claims of Efroni, Mannor and Pirotta (2020), and write a page of the results.

The runs are listed in ``claims.toml``, in parts. Finished runs are added to compact records
(``records/``), from which the page is written.

    python papers/efroni2020/reproduce.py --from records    the page from the records that ship
    python papers/efroni2020/reproduce.py --check 20        repeat 20 runs, compare all bits
    python papers/efroni2020/reproduce.py --quick           short runs of every part
    python papers/efroni2020/reproduce.py                   every run: hours
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from page import sections_of, with_table, write_page
from records import Record, cells_of, collect, digest_of, read_records, write_records
from section import duration
from tightrope.cli import main
from tightrope.cli.experiments import Workers, finish
from tightrope.cli.options import Address, EngineName, Json, Snapshot, WorkerCount
from tightrope.cli.screen import emit, say
from tightrope.errors import ModelError, StoreError
from tightrope.experiments.engines import open_engine
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.scheduler import versions
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.sweep import specs_of
from tightrope.files import make_folder, put
from tightrope.progress import working
from tightrope.text import counted

HERE = Path(__file__).parent
CLAIMS = HERE / "claims.toml"
RECORDS = HERE / "records"
SHIPPED = "records"  # the word for them
ROOT = HERE.parents[1]
RESULTS = ROOT / "docs" / "results"
FRONT = ROOT / "README.md"  # has a table of the results
AGAIN = "call it again, with the same words"
COMPILING = 8.0  # CPU seconds for the kernels of a learner, where they are not compiled yet

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Parts = dict[str, list[RunSpec]]


@app.command()
def reproduce(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are stored.")
    ] = Path("reproduce"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where page and figures go; DIR/page of --out."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs of every part, to see that they work.")
    ] = False,
    wanted: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="NAME",
            help="Only this part of claims.toml; may be repeated. The page has these parts only; "
            "with --from records it needs a --page of its own.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="records|DIR",
            help="Run nothing: write the page from the records that ship, into docs/results, or "
            "from the runs in DIR. Into docs/results the table of README.md goes too.",
        ),
    ] = None,
    check: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Repeat N runs of the records and compare all numbers."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which runs --check draws.")] = 0,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only seeds 1 to N of every part.")
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most-episodes", metavar="K", min=1, help="Only runs of at most K episodes."
        ),
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only runs that the records that ship lack.")
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Add finished runs to the records that ship.")
    ] = False,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 60.0,
    as_json: Json = False,
) -> None:
    """Measure the paper's claims; stop it with Ctrl-C and call it again to continue."""
    names = _names(wanted)
    if check is not None:
        _check(_shipped(names), check, seed, as_json)
        return
    if source == SHIPPED:
        if wanted and page is None:
            raise ModelError(
                f"--from {SHIPPED} --part {wanted[0]}: expected --page DIR, because a "
                f"page of some parts would replace {RESULTS}"
            )
        place = page or RESULTS
        found = _shipped(names)
    else:
        parts = _select(claims(quick, names), seeds, most, missing)
        if not any(parts.values()):
            say("no run is left: the records have all of them")
            return
        folder = Path(source or folder)
        folder = folder / "quick" if quick else folder
        place = page or folder / "page"
        if source is None:
            open_engine(engine, address, workers).close()
            make_folder(place)  # now, as the engine: fail before hours of work
            _run(folder, parts, Workers(engine, address, workers, snapshot), as_json)
        found = _collect(folder, parts)
        if add and not quick:
            for part, specs in claims(names=names).items():
                write_records(RECORDS, part, found.get(part, []), {spec.id for spec in specs})
            found = _shipped(names)
    make_folder(place)
    with working(f"writing {place}"):
        sections = sections_of(found)
        written = write_page(place, sections, found, quick)
        if place.resolve() == RESULTS:
            put(FRONT, with_table(FRONT.read_text("utf-8"), sections).encode())
    if as_json:
        emit({"runs": sum(map(len, found.values())), "page": str(written)})
    else:
        say(f"written: {written}")


def claims(is_quick: bool = False, names: Sequence[str] | None = None) -> Parts:
    """Runs by part, those of low seeds and few episodes first; or short versions of them."""
    table: dict[str, Any] = tomllib.loads(CLAIMS.read_text("utf-8"))
    shorter = table.pop("quick")
    found = {}
    for part, sweeps in table.items():
        if names is not None and part not in names:
            continue
        changes = shorter.get(part, {}) if is_quick else {}
        specs = [spec for sweep in sweeps for spec in specs_of({**sweep, **changes}, CLAIMS.name)]
        unique = {spec.id: spec for spec in specs}.values()
        found[part] = sorted(unique, key=lambda spec: (spec.seed, spec.episodes))
    return found


def _names(wanted: Sequence[str] | None) -> list[str]:
    """Names of the parts that are asked for, in the order of the file; all by default."""
    known = [name for name in tomllib.loads(CLAIMS.read_text("utf-8")) if name != "quick"]
    for name in wanted or ():
        if name not in known:
            raise ModelError(f"--part {name}: expected one of {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def _select(parts: Parts, seeds: int | None, most: int | None, missing: bool) -> Parts:
    known = dict(read_records(RECORDS, parts)) if missing else {}
    recorded = {each.table["run"] for records in known.values() for each in records}
    return {
        name: [
            spec
            for spec in specs
            if (seeds is None or spec.seed <= seeds)
            and (most is None or spec.episodes <= most)
            and spec.id not in recorded
        ]
        for name, specs in parts.items()
    }


def _run(folder: Path, parts: Parts, workers: Workers, as_json: bool) -> None:
    """Carry out every run that is not finished."""
    if not as_json:
        say(estimate(parts, folder))
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        experiment.add_specs(specs)
        if not as_json:
            say(f"{name}: {len(specs)} runs", style="bold")
        finish(experiment, workers, AGAIN)


def estimate(parts: Parts, folder: Path) -> str:
    """Expected CPU time of the runs that are not finished, from those in the records."""
    known = dict(read_records(RECORDS, _names(None)))
    exact: dict[tuple[str, str], list[float]] = {}
    rough: dict[str, list[float]] = {}
    for records in known.values():
        for cell in cells_of(records):
            spec = cell.spec
            exact.setdefault((spec.problem_id, spec.algorithm), []).append(cell.cpu)
            rough.setdefault(spec.algorithm, []).append(cell.cpu)
    seconds, learners = 0.0, set()
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        for spec in specs:
            if not experiment.folder(spec).is_finished:
                mine = exact.get((spec.problem_id, spec.algorithm)) or rough.get(spec.algorithm)
                seconds += spec.episodes * float(np.mean(mine or [1e-5])) + 0.02
                learners.add(spec.algorithm)
    if not learners:
        return "every run is finished"
    total = seconds + COMPILING * len(learners)
    processors = {each.table["processor"] for records in known.values() for each in records}
    where = f", by the times of the records ({', '.join(sorted(processors))})" if known else ""
    return (
        f"expected: about {duration(total)} of CPU time, {COMPILING * len(learners):.0f} s of it "
        f"to compile kernels on the first call{where}"
    )


def _collect(folder: Path, parts: Parts) -> dict[str, list[Record]]:
    found = {}
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        if experiment.exists:
            with working(f"reading {experiment.path}"):
                found[name] = collect(experiment, specs, name)
    found = {name: records for name, records in found.items() if records}
    if not found:
        raise StoreError(f"{folder}: no finished run of {', '.join(parts)} is here")
    return found


def _shipped(names: Sequence[str]) -> dict[str, list[Record]]:
    """Records of these parts."""
    found = dict(read_records(RECORDS, names))
    if not found:
        raise StoreError(f"{RECORDS}: no records of {', '.join(names)} are here")
    return found


def _check(found: Mapping[str, Sequence[Record]], n: int, seed: int, as_json: bool) -> None:
    """Repeat some runs and compare all their numbers with those recorded."""
    records = [each for mine in found.values() for each in mine]
    drawn = np.random.default_rng(seed).permutation(len(records))[:n]
    mine = [records[k] for k in drawn]
    told = []
    with TemporaryDirectory() as scratch:
        for each in mine:
            experiment = Experiment(f"{scratch}/{each.table['run']}")
            experiment.add_specs([each.spec])
            experiment.run(engine="here", progress=False)
            (run,) = experiment.runs()
            is_same = digest_of(run.load()) == each.table["digest"]
            told.append(is_same)
            if not as_json:
                words = "same bits" if is_same else "DIFFERS"
                say(
                    f"{words}: {each.spec.algorithm} on {each.spec.environment}, "
                    f"{each.spec.episodes:,} episodes, seed {each.spec.seed}"
                )
    if as_json:
        emit({"runs": len(told), "same": sum(told)})
    else:
        say(f"{sum(told)} of {counted(len(told), 'run')} have the same bits")
    if not all(told):
        differ = {
            name: (mine[0].table.get(name), value)
            for name, value in versions().items()
            if name in ("processor", "commit") and mine[0].table.get(name) != value
        }
        raise StoreError(f"{len(told) - sum(told)} runs differ from the records; {differ}")


if __name__ == "__main__":
    main(app)
