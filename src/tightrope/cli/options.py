"""Options that several commands share: their words, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Address",
    "Algorithms",
    "Budgets",
    "EngineName",
    "Json",
    "Model",
    "Out",
    "Picture",
    "Radii",
    "Rho",
    "Settings",
    "Snapshot",
    "WorkerCount",
]

Model = Annotated[
    str,
    typer.Argument(
        metavar="ENV|FILE",
        help="A name of 'tightrope envs', a .npz or .toml model file, or a .drn file of Storm "
        "(with --set horizon=N --set cost=NAME, and --budget for its other rewards).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A parameter of the environment; may be repeated."
    ),
]
Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        help="Another budget (or floor) for a constraint, in its own units; may be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Picture = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Write a picture: .png, .pdf or .svg."),
]

Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        metavar="NAME|all",
        help="OptCMDP, OptCMDP-bonus, OptDual, OptPrimalDual; all four when not given, "
        "may be repeated. To compare: uniform, optimal, unconstrained, certainty-equivalence.",
    ),
]
Radii = Annotated[
    list[str] | None,
    typer.Option(
        metavar="faithful|tight|KEY=VALUE",
        help="The paper's radii, tighter ones that keep the guarantees, or an option such as "
        "scale=0.1; may be repeated.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Keep the runs in a study folder, never to be lost."),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="processes|here|dask|ray",
        help="Who does the runs: processes of this machine, this process, or a cluster.",
    ),
]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Of the Dask scheduler or the Ray head.")
]
WorkerCount = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; all processors by default.")
]
Snapshot = Annotated[
    float, typer.Option(min=0.0, help="Seconds between two states of a run on disk.")
]
Rho = Annotated[
    str,
    typer.Option(
        metavar="RULE|NUMBER",
        help="Bound on the multipliers of the dual learners: paper, paper_x2, bound, or a number.",
    ),
]
