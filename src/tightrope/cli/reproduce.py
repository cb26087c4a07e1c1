"""``tightrope reproduce``: the paper's claims, measured, and a page of what came out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tightrope
from tightrope.cli.progress import working
from tightrope.cli.report_data import findings_of
from tightrope.cli.runs import factors_of
from tightrope.cli.screen import emit, say
from tightrope.cli.studies import Workers, carried_out
from tightrope.experiments.spec import RunSpec
from tightrope.files import make_folder
from tightrope.model import CMDP
from tightrope.plan.solve import solve
from tightrope.run.claims import claims
from tightrope.run.engines.choose import engine_named
from tightrope.run.models import model_of
from tightrope.run.study import Study
from tightrope.show.report.findings import Findings
from tightrope.show.results.cancellation import cancellation_section
from tightrope.show.results.constants import constants_section, coverage_section
from tightrope.show.results.dope import dope_section
from tightrope.show.results.growth import growth_section
from tightrope.show.results.page import made_by_lines, write_page
from tightrope.show.results.section import Section, called
from tightrope.show.results.speed import speed_section
from tightrope.show.results.traces import Trace
from tightrope.show.results.upac import upac_section
from tightrope.show.statistics import Resamples
from tightrope.store.columns import read_columns

TRACED = ("oscillation", "upac")  # parts of which single runs are shown
AGAIN = "call tightrope reproduce again, with the same words"
LUCK = 0  # of the resamples, so that the same records give the same page


def run(folder: Path, page: Path | None, is_quick: bool, workers: Workers, as_json: bool) -> None:
    """Carry out every part that is not finished, then write the page; short runs lie apart."""
    parts = claims(is_quick)
    folder = folder / "quick" if is_quick else folder
    place = page or folder / "page"
    engine_named(workers.engine, workers.address, workers.workers).close()
    make_folder(place)  # now, as the engine: what cannot work is not told after hours
    finished = 0
    for name, specs in parts.items():
        study = Study(folder / name)
        study.add(specs)
        if not as_json:
            say(f"{name}: {len(specs)} runs", style="bold")
        finished += carried_out(study, workers, AGAIN).finished
    written = _written(folder, parts, place, is_quick)
    if as_json:
        emit({"runs": finished, "page": str(written)})
    else:
        say(f"written: {written}")


def _written(folder: Path, parts: dict[str, list[RunSpec]], place: Path, is_quick: bool) -> Path:
    found: dict[str, Findings] = {}
    for name, specs in parts.items():
        study = Study(folder / name)
        with working(f"reading {study.path}", "runs") as work:

            def report(done: int, n: int, tell: Callable[..., None] = work.report) -> None:
                tell(done, done / n)

            found[name] = findings_of(study, report, specs)
    with working(f"writing {place}"):
        traces = {name: _traces(Study(folder / name), parts[name]) for name in TRACED}
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


def _traces(study: Study, specs: list[RunSpec]) -> list[Trace]:
    cmdp = model_of(specs[0])
    price = float(solve(cmdp).multiplier.max())
    return [_trace(study, spec, cmdp, price) for spec in specs]


def _trace(study: Study, spec: RunSpec, cmdp: CMDP, price: float) -> Trace:
    names = ("episode", "cost_excess", "constraint_excess", "multiplier")
    column = {
        name: values.reshape(-1, cmdp.n_constraints)
        for name, values in read_columns(study.folder(spec).record, names).items()
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
