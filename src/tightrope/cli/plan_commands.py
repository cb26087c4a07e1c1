"""The commands that plan in a known model: what there is, its faults, its optimum, its frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.options import (
    Budgets,
    Cost,
    Horizon,
    Json,
    Model,
    Picture,
    Ranges,
    Reward,
    Settings,
)


def envs(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them.")] = None,
    as_json: Json = False,
) -> None:
    """The catalogue of environments, or the story, parameters and optimum of one."""
    from tightrope.cli.envs import run

    run(name, as_json)


def check(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    cost: Cost = None,
    reward: Reward = None,
    ranges: Ranges = None,
    as_json: Json = False,
) -> None:
    """Look for faults in a model; exit status 1 if it has any."""
    from tightrope.cli.check import run
    from tightrope.cli.source import Source

    source = Source.of(model, settings, budgets, horizon, cost, reward, ranges)
    if not run(source, as_json):
        raise typer.Exit(1)


def solve(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    cost: Cost = None,
    reward: Reward = None,
    ranges: Ranges = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="columns|lp",
            help="Column generation, or linear programming as a second opinion.",
        ),
    ] = "columns",
    tolerance: Annotated[
        float, typer.Option(help="Relative gap at which column generation stops.")
    ] = 1e-10,
    as_json: Json = False,
    figure: Picture = None,
    stage: Annotated[
        str, typer.Option(metavar="STAGE|average", help="What the picture of a map shows.")
    ] = "average",
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the plan's arrays: .npz.")
    ] = None,
) -> None:
    """The least expected cost that keeps every budget, and the price of each budget."""
    from tightrope.cli.solve import run
    from tightrope.cli.source import Source

    source = Source.of(model, settings, budgets, horizon, cost, reward, ranges)
    run(source, method, tolerance, as_json, figure, stage, save)


def frontier(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    cost: Cost = None,
    reward: Reward = None,
    ranges: Ranges = None,
    constraint: Annotated[
        str, typer.Option(metavar="NAME|NUMBER", help="The constraint whose budget varies.")
    ] = "0",
    most: Annotated[int, typer.Option(metavar="N", help="Largest number of breakpoints.")] = 10_000,
    as_json: Json = False,
    figure: Picture = None,
) -> None:
    """Optimal cost against one budget, with every breakpoint."""
    from tightrope.cli.frontier import run
    from tightrope.cli.source import Source

    source = Source.of(model, settings, budgets, horizon, cost, reward, ranges)
    run(source, constraint, most, as_json, figure)
