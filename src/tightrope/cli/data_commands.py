"""The commands that take in what others have: logs and models of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.options import Budgets, Json, Model, Settings

__all__ = ["CONVERT_EXAMPLE", "FIT_EXAMPLE", "convert", "fit"]

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
    budgets: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="NAME=VALUE",
            help="Largest expected sum of the column NAME or cost_NAME; may be repeated.",
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=LOW:HIGH",
            help="Least and greatest value of one step of cost, reward or a budget's column; "
            "0:1 by default, may be repeated.",
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Whose rule plans: OptCMDP, OptCMDP-bonus, OptDual, OptPrimalDual, or "
            "certainty-equivalence, which keeps to what was tried.",
        ),
    ] = "OptCMDP",
    confidence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="faithful|tight|KEY=VALUE",
            help="Radii, as for learn; tight by default, may be repeated.",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability with which the bounds may fail.")] = 0.1,
    rho: Annotated[
        float | None, typer.Option(help="Bound on the multipliers, for the dual learners.")
    ] = None,
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
    stationary: Annotated[
        bool, typer.Option("--stationary", help="All stages are alike: count them together.")
    ] = False,
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
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps of an episode; the same as --set horizon=N.")
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a .drn file: the reward structure to minimise."),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a .drn file: the reward structure to maximise."),
    ] = None,
    unroll: Annotated[
        bool, typer.Option("--unroll", help="Write a .drn file with a state for every stage.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a model as another kind of file: .npz, .toml, or .drn for Storm."""
    from tightrope.cli.convert import run

    given = {"horizon": horizon, "cost": cost, "reward": reward}
    words = [f"{key}={value}" for key, value in given.items() if value is not None]
    run(model, path, [*(settings or []), *words], budgets or [], unroll, as_json)
