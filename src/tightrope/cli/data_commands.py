"""The commands for real data and other tools: logs, bounds, models of other people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.options import (
    Budgets,
    Cost,
    DataBudgets,
    DataRanges,
    Delta,
    GivenRho,
    Horizon,
    Json,
    Model,
    Pooled,
    Radii,
    Ranges,
    Reward,
    Settings,
)

BOUND_EXAMPLE = "Example: tightrope bound learner.npz plan policy.npz"

CONVERT_EXAMPLE = (
    "Example: tightrope convert model.drn model.toml --horizon 20 --cost time --budget energy=12"
)
FIT_EXAMPLE = (
    "Example: tightrope fit log.csv --horizon 10 --budget risk=2.5 --range cost=0:50 "
    "--algorithm certainty-equivalence --out fitted"
)


def fit(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Episodes: .csv, .parquet or .jsonl with the columns episode, step, state, "
            "action, next_state, cost (or reward), one for each budget, and done if there is one.",
        ),
    ],
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps of an episode; the longest by default.")
    ] = None,
    budgets: DataBudgets = None,
    ranges: DataRanges = None,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Whose rule plans: OptCMDP, OptCMDP-bonus, OptDual, OptPrimalDual, or "
            "certainty-equivalence, which keeps to what was tried.",
        ),
    ] = "OptCMDP",
    confidence: Radii = None,
    delta: Delta = 0.1,
    rho: GivenRho = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a dual learner, averaged.")] = 1000,
    more: Annotated[
        int,
        typer.Option(
            min=1, help="Episodes that the learner may still be told of; radii are made for them."
        ),
    ] = 1,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="ENV|FILE",
            help="A model that lends names, horizon, ranges, budgets, start and allowed actions.",
        ),
    ] = None,
    states: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The names of all states, one a line.")
    ] = None,
    actions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The names of all actions, one a line.")
    ] = None,
    initial: Annotated[
        str | None,
        typer.Option(metavar="STATE", help="Where episodes start; as in the log by default."),
    ] = None,
    terminal: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="An episode that comes here is over; may be repeated."),
    ] = None,
    stationary: Pooled = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out episodes with faults, and count them.")
    ] = False,
    bad: Annotated[
        Path | None, typer.Option(metavar="FILE", help="List every fault there: .csv.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write policy, table, learner and bounds there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """A policy from logged episodes, with what was seen, what never was, and bounds."""
    from tightrope.cli.fit import Reading, Rule, run

    reading = Reading(
        horizon,
        budgets or [],
        ranges or [],
        model,
        states,
        actions,
        terminal or [],
        skip_bad,
        bad,
    )
    rule = Rule(algorithm, confidence or [], delta, rho, initial, stationary, steps, more)
    run(log, reading, rule, out, as_json)


def convert(
    model: Model,
    path: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to: a .npz, .toml or .drn file.")
    ],
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    cost: Cost = None,
    reward: Reward = None,
    ranges: Ranges = None,
    unroll: Annotated[
        bool, typer.Option("--unroll", help="Write a .drn file with a state for every stage.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a model as another kind of file: .npz, .toml, or .drn for Storm."""
    from tightrope.cli.convert import run
    from tightrope.cli.source import Source

    source = Source.of(model, settings, budgets, horizon, cost, reward, ranges)
    run(source, path, unroll, as_json)


def bound(
    learner: Annotated[
        Path, typer.Argument(metavar="LEARNER.npz", help="A learner that was saved.")
    ],
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY.npz|plan",
            help="Files as solve --save writes them; 'plan', as when none is given, is what the "
            "learner would play next.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """What policies cost at least and at most, and which budgets they surely keep."""
    from tightrope.cli.bound import run

    run(learner, policies or ["plan"], as_json)
