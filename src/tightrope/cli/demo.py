"""``tightrope demo``: the main job in small, four learners on a grid world, and their report."""

from __future__ import annotations

from pathlib import Path

from tightrope.cli import report
from tightrope.cli.screen import emit, say
from tightrope.cli.studies import Workers, carried_out
from tightrope.learners.algorithms import LEARNERS
from tightrope.run.study import Study
from tightrope.run.sweep import specs_of

MAP = """
S.H.G
..H..
.....
"""
SEEDS = 10
STUDY = {
    "environment": "grid",
    "parameters": {"rows": MAP, "horizon": 12, "budget": 0.3},
    "algorithm": list(LEARNERS),
    "episodes": 10_000,
    "seeds": SEEDS,
    "confidence": {"mode": "tight", "scale": 0.05, "scale_bonus": 0.02},
    "dual_step": 10.0,
    "primal_step": 30.0,
}


def run(folder: Path, as_json: bool) -> None:
    """Let the four learners find their way round the hazards of a map, and write the page."""
    study = Study(folder)
    study.add(specs_of(STUDY, "demo"))
    if not as_json:
        say("a walker (S) must reach the goal (G) in few steps, and rarely step on hazards (H):")
        say(MAP, style="bold")
        say(f"{len(LEARNERS)} learners, {SEEDS} seeds, {STUDY['episodes']} episodes each\n")
    outcome = carried_out(study, Workers())
    page = folder / report.PAGE
    if as_json:
        report.written(study, page)
        emit({"study": str(folder), "finished": outcome.finished, "page": str(page)})
    else:
        report.run(folder, None, None, False)
        say("open it in a browser; tightrope run --help says how to make such a study")
