"""The commands that run learners in simulation, keep their runs, and report on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.learner_options import given_options
from tightrope.cli.options import (
    Address,
    Algorithms,
    Budgets,
    Cost,
    Delta,
    EngineName,
    Horizon,
    Json,
    Model,
    Out,
    Picture,
    Radii,
    Ranges,
    Reward,
    Settings,
    Snapshot,
    Start,
    Stationary,
    StudyFolder,
    Totals,
    WorkerCount,
)

LEARN_EXAMPLE = (
    "Example: tightrope learn ring --algorithm OptDual --algorithm OptPrimalDual "
    "--episodes 2000 --seeds 3 --confidence tight --figure ring.png"
)


def learn(
    ctx: typer.Context,
    model: Model,
    algorithms: Algorithms = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a run.")] = 1000,
    seeds: Annotated[
        str, typer.Option(metavar="N|RANGES", help="Runs of each learner: seeds 1 to N, or 31-100.")
    ] = "1",
    delta: Delta = 0.1,
    confidence: Radii = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="columns|lp",
            help="How OptCMDP plans: lp is another name of OptCMDP-lp.",
        ),
    ] = "columns",
    audit_visits: Annotated[
        bool, typer.Option("--audit-visits", help="Audit the visit counts too, which takes longer.")
    ] = False,
    luck: Annotated[
        str,
        typer.Option(
            metavar="shared|own", help="Whether learners with one seed meet the same luck."
        ),
    ] = "shared",
    points: Annotated[int, typer.Option(min=1, help="About how many episodes to record.")] = 2000,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    cost: Cost = None,
    reward: Reward = None,
    ranges: Ranges = None,
    totals: Totals = None,
    start: Start = None,
    stationary: Stationary = False,
    out: Out = None,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 10.0,
    as_json: Json = False,
    figure: Picture = None,
) -> None:
    """Let learners run against a model that they do not see: exact regrets, and an audit.

    With gym:ID they learn through the environment's steps alone, and realised sums are told.
    """
    from tightrope.cli.learn import Choice, run, run_into
    from tightrope.cli.learn_gym import Outdoors, run_gym
    from tightrope.cli.source import Source

    options = {
        "episodes": episodes,
        "delta": delta,
        "method": method,
        "audit_visits": audit_visits,
        "luck": luck,
        "points": points,
    }
    given = given_options(ctx)
    source = Source.of(model, settings, budgets, horizon, cost, reward, ranges)
    outdoors = Outdoors(totals or [], start, stationary)
    if outdoors.is_meant(source):
        choice = Choice(algorithms or ["OptCMDP"], seeds, confidence or [], given, options)
        run_gym(source, choice, outdoors, out, as_json, figure)
        return
    choice = Choice(algorithms or ["all"], seeds, confidence or [], given, options)
    if out is None:
        run(source, choice, as_json, figure)
        return
    from tightrope.cli.experiments import Workers

    run_into(out, source, choice, Workers(engine, address, workers, snapshot), as_json, figure)


def run_study(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment, as a file.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Its folder; SPEC by default."),
    ] = None,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 10.0,
    as_json: Json = False,
) -> None:
    """Run an experiment: every list in the file makes a grid of runs."""
    from tightrope.cli.experiments import Workers, run

    run(spec, out, Workers(engine, address, workers, snapshot), as_json)


def resume(
    folder: StudyFolder,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 10.0,
    as_json: Json = False,
) -> None:
    """Resume an experiment where it stopped; finished runs stay as they are."""
    from tightrope.cli.experiments import Workers, resume

    resume(folder, Workers(engine, address, workers, snapshot), as_json)


def watch(
    folder: StudyFolder,
    seconds: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two looks at it.")
    ] = 2.0,
    as_json: Json = False,
) -> None:
    """How far an experiment is; in a terminal, with a bar until it is finished."""
    from tightrope.cli.experiments import watch

    watch(folder, seconds, as_json)


def export(
    folder: StudyFolder,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="DIR/records.csv by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the records of an experiment as CSV."""
    from tightrope.cli.experiments import export

    export(folder, out, as_json)


def report(
    folder: StudyFolder,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the page goes; DIR/report.html when not given."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write figures for a paper there: .png and .pdf."),
    ] = None,
    as_json: Json = False,
) -> None:
    """The report of an experiment, one HTML page: statistics over seeds, figures, audit."""
    from tightrope.cli.experiments import report

    report(folder, out, figures, as_json)


def demo(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs and page are kept.")
    ] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Four learners on a grid world, ten seeds, and their report: under two minutes."""
    from tightrope.cli.experiments import demo

    demo(folder, as_json)
