"""``tightrope demo``: two problems solved, told and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tightrope import envs
from tightrope.cli.frontier import frontier_data, show_frontier, traced
from tightrope.cli.progress import working
from tightrope.cli.screen import emit, say
from tightrope.cli.solve import plan_data, show_plan, solved
from tightrope.errors import StoreError
from tightrope.show.figures import frontier_figure, plan_figure, save

__all__ = ["run"]

PROBLEMS = ("grid", "queue")
MOST = 2000  # breakpoints


def run(folder: Path, as_json: bool) -> None:
    """Solve two problems of the catalogue, show them, and write their pictures to a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made: {error.strerror or error}") from error
    told: list[dict[str, Any]] = []
    for name in PROBLEMS:
        cmdp = envs.build(name)
        plan = solved(name, cmdp, "columns", 1e-10)
        found = traced(name, cmdp, 0, MOST)
        figures: dict[str, Figure] = {
            f"{name}-plan.png": plan_figure(cmdp, plan),
            f"{name}-frontier.png": frontier_figure(found, cmdp),
        }
        with working(f"drawing {name}"):
            for file, figure in figures.items():
                save(figure, folder / file)
        paths = [str(folder / file) for file in figures]
        told.append(
            {
                "plan": plan_data(name, cmdp, plan),
                "frontier": frontier_data(name, cmdp, found),
                "figures": paths,
            }
        )
        if not as_json:
            say(f"{name}: {envs.entry(name).summary}\n", style="bold underline")
            show_plan(name, cmdp, plan)
            say()
            show_frontier(name, cmdp, found)
            say(f"\nwritten: {', '.join(paths)}\n")
    if as_json:
        emit(told)
