"""``tightrope report``: the page of a study, and figures for a paper."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from tightrope import __version__
from tightrope.cli.files import require_folder
from tightrope.cli.progress import working
from tightrope.cli.report_data import findings_of
from tightrope.cli.screen import emit, say
from tightrope.files import make_folder, put
from tightrope.run.study import Study
from tightrope.show.report.findings import Chapter, Findings
from tightrope.show.report.page import page_of
from tightrope.show.report.words import conditions_of, missing_words, policies_of, summary_of
from tightrope.show.statistics import STATISTICS, Resamples, band_of

PAGE = "report.html"
LINE = 110  # letters across a figure of a plan
LUCK = 0  # of the resamples, so that the same study gives the same page


def run(folder: Path, out: Path | None, figures: Path | None, as_json: bool) -> None:
    """Write the page of a study and, if asked, its figures; say what came out."""
    if out is not None:
        require_folder(out)
    page = out or folder / PAGE
    findings = written(Study(folder), page)
    drawn = [] if figures is None else _draw(findings, figures)
    if as_json:
        emit(_data(findings, page, drawn))
        return
    if missing := missing_words(findings):
        say(missing, style="bold")
    for chapter in findings.chapters:
        say(f"{chapter.name}: {conditions_of(chapter)}", style="bold")
        for sentence in summary_of(chapter, _resamples()):
            say(f"  {sentence}")
    say(f"\nwritten: {page}" + (f", and {len(drawn)} figures to {figures}" if drawn else ""))


def written(study: Study, page: Path) -> Findings:
    """Write the page of a study; what is on it."""
    with working(f"reading {study.path}", "runs") as work:
        findings = findings_of(study, lambda done, n: work.report(done, done / n))
    with working(f"writing {page}"):
        put(page, page_of(findings, _resamples(), _about()))
    return findings


def _resamples() -> Resamples:
    return Resamples(np.random.default_rng(LUCK))


def _about() -> str:
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"Written by tightrope {__version__} on {today}."


def _draw(findings: Findings, folder: Path) -> list[Path]:
    """Regrets, and the plan of the optimum and of each learner, as PNG and PDF."""
    from tightrope.show.figures import plan_figure, save
    from tightrope.show.report.page import chapter_figure

    make_folder(folder)
    paths = []
    with working(f"drawing to {folder}", "figures") as work:
        n_figures = sum(2 + len(chapter.groups) for chapter in findings.chapters)
        for name, chapter in _named(findings):
            title = f"Regret on {chapter.name}"
            found = {f"{name}-regret": chapter_figure(chapter, title, _resamples())}
            found[f"{name}-optimum"] = plan_figure(chapter.cmdp, chapter.optimum)
            for group in chapter.groups:
                figure = plan_figure(chapter.cmdp, group.plan)
                words = f"{policies_of(group)}; delta {chapter.delta:g}; {group.constants}"
                figure.suptitle(fill(words, LINE), x=0.012, ha="left", fontsize=10)
                found[f"{name}-{_plain(group.name)}"] = figure
            for stem, figure in found.items():
                for kind in (".png", ".pdf"):
                    save(figure, folder / f"{stem}{kind}")
                    paths.append(folder / f"{stem}{kind}")
                work.report(len(paths) // 2, len(paths) / 2 / n_figures)
    return paths


def _named(findings: Findings) -> list[tuple[str, Chapter]]:
    """Each chapter with a name for its files; numbers where names would clash."""
    names = [_plain(chapter.name) for chapter in findings.chapters]
    return [
        (name if names.count(name) == 1 else f"{name}-{k}", chapter)
        for k, (name, chapter) in enumerate(zip(names, findings.chapters, strict=True), 1)
    ]


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.=]+", "-", name).strip("-.")[:80] or "model"


def _data(findings: Findings, page: Path, drawn: list[Path]) -> dict[str, Any]:
    return {
        "report": str(page),
        "figures": [str(path) for path in drawn],
        "planned": findings.n_planned,
        "finished": findings.n_finished,
        "problems": [_chapter_data(chapter) for chapter in findings.chapters],
    }


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
                                map(float, band_of([values[:, -1]], name, _resamples())),
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
