"""``tightrope reproduce``: the paper's claims, measured, and a page of what came out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tightrope
from tightrope.cli.experiments import Workers, finish
from tightrope.cli.screen import emit, say
from tightrope.experiments.curves import factors_of
from tightrope.experiments.engines import open_engine
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.statistics import Resamples
from tightrope.experiments.storage import read_columns
from tightrope.experiments.summary import Findings
from tightrope.files import make_folder
from tightrope.model import CMDP
from tightrope.plan.solve import solve
from tightrope.progress import working
from tightrope.run.claims import claims
from tightrope.run.spec import RunSpec
from tightrope.show.results.cancellation import cancellation_section
from tightrope.show.results.constants import constants_section, coverage_section
from tightrope.show.results.dope import dope_section
from tightrope.show.results.growth import growth_section
from tightrope.show.results.page import made_by_lines, write_page
from tightrope.show.results.section import Section, called
from tightrope.show.results.speed import speed_section
from tightrope.show.results.traces import Trace
from tightrope.show.results.upac import upac_section

TRACED = ("oscillation", "upac")  # parts of which single runs are shown
AGAIN = "call tightrope reproduce again, with the same words"
LUCK = 0  # of the resamples, so that the same records give the same page


def run(folder: Path, page: Path | None, is_quick: bool, workers: Workers, as_json: bool) -> None:
    """Carry out every part that is not finished, then write the page; short runs lie apart."""
    parts = claims(is_quick)
    folder = folder / "quick" if is_quick else folder
    place = page or folder / "page"
    open_engine(workers.engine, workers.address, workers.workers).close()
    make_folder(place)  # now, as the engine: what cannot work is not told after hours
    finished = 0
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        experiment.add_specs(specs)
        if not as_json:
            say(f"{name}: {len(specs)} runs", style="bold")
        finished += finish(experiment, workers, AGAIN).finished
    written = _written(folder, parts, place, is_quick)
    if as_json:
        emit({"runs": finished, "page": str(written)})
    else:
        say(f"written: {written}")


def _written(folder: Path, parts: dict[str, list[RunSpec]], place: Path, is_quick: bool) -> Path:
    found: dict[str, Findings] = {}
    for name, specs in parts.items():
        experiment = Experiment(folder / name)
        with working(f"reading {experiment.path}", "runs") as work:

            def report(done: int, n: int, tell: Callable[..., None] = work.report) -> None:
                tell(done, done / n)

            found[name] = experiment.findings(report, specs)
    with working(f"writing {place}"):
        traces = {name: _traces(Experiment(folder / name), parts[name]) for name in TRACED}
        sections = _sections(found, traces)
        return write_page(place, sections, _made_by(found), is_quick)


def _sections(found: dict[str, Findings], traces: dict[str, list[Trace]]) -> list[Section]:
    resamples = Resamples(np.random.default_rng(LUCK))
    (chapter,) = found["oscillation"].chapters
    about = f"{called(chapter.environment, chapter.cmdp)}, {chapter.groups[0].radii} constants"
    return [
        growth_section(found["growth"], resamples),
        cancellation_section(found["growth"], traces["oscillation"], about, resamples),
        constants_section(found["constants"]),
        coverage_section(found["good-event"]),
        speed_section(found["speed"]),
        dope_section(found["dope"], resamples),
        upac_section(found["upac"], traces["upac"], resamples),
    ]


def _traces(experiment: Experiment, specs: list[RunSpec]) -> list[Trace]:
    cmdp = model_of(specs[0])
    price = float(solve(cmdp).multiplier.max())
    return [_trace(experiment, spec, cmdp, price) for spec in specs]


def _trace(experiment: Experiment, spec: RunSpec, cmdp: CMDP, price: float) -> Trace:
    names = ("episode", "cost_excess", "constraint_excess", "multiplier")
    column = {
        name: values.reshape(-1, cmdp.n_constraints)
        for name, values in read_columns(experiment.folder(spec).record, names).items()
    }
    return Trace(
        spec.algorithm,
        column["episode"][:, 0],
        column["cost_excess"][:, 0] * abs(cmdp.cost_unit.factor),
        (column["constraint_excess"] * factors_of(cmdp)).max(axis=1),
        column["multiplier"].max(axis=1),
        price,
    )


def _made_by(found: dict[str, Findings]) -> list[str]:
    counts: dict[tuple[tuple[str, str], ...], int] = {}
    for findings in found.values():
        for table, count in findings.versions:
            key = tuple(table.items())
            counts[key] = counts.get(key, 0) + count
    return made_by_lines(_commit(), [(dict(key), count) for key, count in counts.items()])


def _commit() -> str:
    """The commit of these sources, where they lie in a checkout of their own."""
    home = Path(tightrope.__file__).parents[2]
    if not (home / ".git").exists():
        return ""
    words = ["git", "-C", str(home), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()
