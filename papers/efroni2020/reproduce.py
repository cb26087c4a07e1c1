"""Measure the claims of Efroni, Mannor and Pirotta (2020), and write a page of what came out.

The runs are listed in ``claims.toml``, in parts; each part is an experiment in a folder of its own.

    python papers/efroni2020/reproduce.py            all of it: hours on two cores
    python papers/efroni2020/reproduce.py --quick    short runs: minutes
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cancellation import Trace, cancellation_section
from growth import constants_section, coverage_section, growth_section
from peers import dope_section, upac_section
from section import Section, problem_name
from speed import speed_section
from tightrope.cli import main
from tightrope.cli.experiments import Workers, finish
from tightrope.cli.options import Address, EngineName, Json, Snapshot, WorkerCount
from tightrope.cli.screen import emit, say
from tightrope.errors import ModelError
from tightrope.experiments.engines import open_engine
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.statistics import Resamples
from tightrope.experiments.storage import read_columns
from tightrope.experiments.summary import Findings
from tightrope.experiments.sweep import specs_of
from tightrope.files import make_folder, put
from tightrope.model import CMDP
from tightrope.model.base import writable_problem
from tightrope.plan.solve import solve_problem
from tightrope.progress import working
from tightrope.show.figures import save

HERE = Path(__file__).parent
CLAIMS = HERE / "claims.toml"
TRACED = ("oscillation", "upac")  # parts of which single runs are shown
AGAIN = "call it again, with the same words"
SEED = 0  # of the resamples, so that the same records give the same page
INTRODUCTION = """\
# The paper's claims, measured

Efroni, Mannor and Pirotta (2020), *Exploration-Exploitation in Constrained MDPs*, arXiv:2003.02189,
bound the regret of four learners. This page shows what these learners do, with the constants of the
theorems after correction of the errata, in runs that anyone can repeat:

```sh
make reproduce                     # all of it: hours on two cores; may be stopped and called again
make reproduce ARGS="--quick"      # minutes: shows that everything works, proves nothing
```

All of this page is generated from the records of those runs. Regrets are exact: each policy is
evaluated in the true model, against the exact optimum. Reg adds up what episodes lose, what they
save taken off; Reg\N{SUBSCRIPT PLUS SIGN} adds up losses alone. Both are counted for the cost,
against the optimum, and for the constraints, against the budgets (the largest over the
constraints)."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Parts = dict[str, list[RunSpec]]


@app.command()
def reproduce(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are kept.")
    ] = Path("reproduce"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where page and figures go; DIR/page of --out."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs: minutes, and no proof of anything.")
    ] = False,
    wanted: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="NAME",
            help="Only this part of claims.toml; may be repeated. The page has the sections whose "
            "parts are all given.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Run nothing: make the page from the runs in DIR."
        ),
    ] = None,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 60.0,
    as_json: Json = False,
) -> None:
    """The paper's claims, measured: hours on two cores; stop it, and call it again to go on."""
    parts = _choose(claims(quick), wanted)
    folder = (source or folder) / "quick" if quick else source or folder
    place = page or folder / "page"
    if source is None:
        open_engine(engine, address, workers).close()
        make_folder(place)  # now, as the engine: what cannot work is not told after hours
        finished = _run(folder, parts, Workers(engine, address, workers, snapshot), as_json)
    else:
        finished = sum(len(Experiment(folder / name).finished()) for name in parts)
        make_folder(place)
    written = _write(folder, parts, place, quick)
    if as_json:
        emit({"runs": finished, "page": str(written)})
    else:
        say(f"written: {written}")


def claims(is_quick: bool = False) -> Parts:
    """Runs by part; the short versions show that everything works and prove nothing."""
    table: dict[str, Any] = tomllib.loads(CLAIMS.read_text("utf-8"))
    shorter = table.pop("quick")
    found = {}
    for part, sweeps in table.items():
        changes = shorter.get(part, {}) if is_quick else {}
        specs = [spec for sweep in sweeps for spec in specs_of({**sweep, **changes}, CLAIMS.name)]
        found[part] = list({spec.id: spec for spec in specs}.values())
    return found


def _choose(parts: Parts, wanted: Sequence[str] | None) -> Parts:
    for name in wanted or ():
        if name not in parts:
            raise ModelError(f"--part {name}: expected one of {', '.join(parts)}")
    return {name: specs for name, specs in parts.items() if not wanted or name in wanted}


def _run(folder: Path, parts: Parts, workers: Workers, as_json: bool) -> int:
    """Carry out every run that is not finished; how many are."""
    finished = 0
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        experiment.add_specs(specs)
        if not as_json:
            say(f"{name}: {len(specs)} runs", style="bold")
        finished += finish(experiment, workers, AGAIN).finished
    return finished


def _write(folder: Path, parts: Parts, place: Path, is_quick: bool) -> Path:
    """Read the records of the parts and write page and figures; where the page is."""
    found = {name: _read(Experiment(folder / name), specs) for name, specs in parts.items()}
    with working(f"writing {place}"):
        traces = {
            name: _traces(Experiment(folder / name), parts[name])
            for name in TRACED
            if name in parts
        }
        sections = _sections(found, traces)
        return write_page(place, sections, _made_by(found), is_quick)


def _read(experiment: Experiment, specs: list[RunSpec]) -> Findings:
    with working(f"reading {experiment.path}", "runs") as work:
        return experiment.findings(lambda done, n: work.report(done, done / n), specs)


def _sections(found: Mapping[str, Findings], traces: Mapping[str, list[Trace]]) -> list[Section]:
    """The sections whose parts are all there, in the order of the page."""
    resamples = Resamples(np.random.default_rng(SEED))
    sections = []
    if "growth" in found:
        sections.append(growth_section(found["growth"], resamples))
    if {"growth", "oscillation"} <= set(found):
        (chapter,) = found["oscillation"].chapters
        name = problem_name(chapter.environment, chapter.cmdp)
        about = f"{name}, {chapter.groups[0].radii} constants"
        sections.append(
            cancellation_section(found["growth"], traces["oscillation"], about, resamples)
        )
    if "constants" in found:
        sections.append(constants_section(found["constants"]))
    if "good-event" in found:
        sections.append(coverage_section(found["good-event"]))
    if "speed" in found:
        sections.append(speed_section(found["speed"]))
    if "dope" in found:
        sections.append(dope_section(found["dope"], resamples))
    if "upac" in found:
        sections.append(upac_section(found["upac"], traces["upac"], resamples))
    return sections


def _traces(experiment: Experiment, specs: list[RunSpec]) -> list[Trace]:
    cmdp = model_of(specs[0])
    # records hold multipliers for costs scaled to [0, 1] per step
    plan = solve_problem(cmdp, writable_problem(cmdp), "columns", 1e-8)
    price = float(plan.multiplier.max())
    return [_trace(experiment, spec, cmdp, price) for spec in specs]


def _trace(experiment: Experiment, spec: RunSpec, cmdp: CMDP, price: float) -> Trace:
    names = ("episode", "cost_excess", "constraint_excess", "multiplier")
    column = {
        name: values.reshape(-1, cmdp.n_constraints)
        for name, values in read_columns(experiment.folder(spec).record, names).items()
    }
    factors = np.array([abs(unit.factor) for unit in cmdp.constraint_units])
    return Trace(
        spec.algorithm,
        column["episode"][:, 0],
        column["cost_excess"][:, 0] * abs(cmdp.cost_unit.factor),
        (column["constraint_excess"] * factors).max(axis=1),
        column["multiplier"].max(axis=1),
        price,
    )


def write_page(
    folder: Path, sections: Sequence[Section], made_by: Sequence[str], is_quick: bool
) -> Path:
    """Write the page as Markdown with its figures beside it; where the page is."""
    blocks = [INTRODUCTION]
    if is_quick:
        blocks.append("**Quick runs: they show that everything works, and prove nothing.**")
    else:
        found = [f"- {words}" for section in sections for words in section.findings]
        blocks += ["## In short", "\n".join(found)]
    for section in sections:
        blocks += [f"## {section.title}", *section.blocks]
        for name, figure in section.figures.items():
            save(figure, folder / f"{name}.png")
    blocks += ["## Made by", "\n".join(f"- {line}" for line in made_by)]
    path = folder / "README.md"
    put(path, ("\n\n".join(blocks) + "\n").encode())
    return path


def _made_by(found: Mapping[str, Findings]) -> list[str]:
    """Commit of the page and versions of the runs, in lines."""
    counts: dict[str, int] = {}
    for findings in found.values():
        for table, count in findings.versions:
            said = ", ".join(f"{name} {version}" for name, version in table.items())
            said = said or "versions not known"
            counts[said] = counts.get(said, 0) + count
    commit = _commit()
    lines = [f"page: commit {commit}"] if commit else []
    return lines + [f"{count:,} runs: {said}" for said, count in counts.items()]


def _commit() -> str:
    """The commit of these sources, where they are in a checkout of their own."""
    home = HERE.parents[1]
    if not (home / ".git").exists():
        return ""
    words = ["git", "-C", str(home), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()


if __name__ == "__main__":
    main(app)
