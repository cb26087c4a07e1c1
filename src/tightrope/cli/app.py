"""The commands and their options, and the one place where an error becomes a line.

Commands load their parts when they are called, so that ``tightrope --help`` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn, cast

import typer

from tightrope import __version__
from tightrope.cli.data_commands import CONVERT_EXAMPLE, FIT_EXAMPLE, convert, fit
from tightrope.cli.options import (
    Address,
    Algorithms,
    Budgets,
    EngineName,
    Horizon,
    Json,
    Model,
    Out,
    Picture,
    Radii,
    Ranges,
    Rho,
    Settings,
    Snapshot,
    Start,
    Stationary,
    Totals,
    WorkerCount,
    with_horizon,
)
from tightrope.cli.screen import fail, out
from tightrope.cli.study_app import study_app
from tightrope.errors import TightropeError

__all__ = ["app", "main", "status"]

# every complaint about options, whichever Click this Typer stands on
WRONG_USAGE = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])
BAD, INTERRUPTED = 2, 130

app = typer.Typer(
    help="Learn and plan under budgets: constrained Markov decision processes.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(study_app, name="study")


def _say_version(wanted: bool) -> None:
    if wanted:
        out().print(f"tightrope {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def envs(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them.")] = None,
    as_json: Json = False,
) -> None:
    """The catalogue of environments, or the story, parameters and optimum of one."""
    from tightrope.cli.envs import run

    run(name, as_json)


@app.command()
def check(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    as_json: Json = False,
) -> None:
    """Look for faults in a model; exit status 1 if it has any."""
    from tightrope.cli.check import run

    if not run(model, with_horizon(settings, horizon), budgets or [], as_json):
        raise typer.Exit(1)


@app.command()
def solve(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
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

    run(
        model,
        with_horizon(settings, horizon),
        budgets or [],
        method,
        tolerance,
        as_json,
        figure,
        stage,
        save,
    )


@app.command()
def frontier(
    model: Model,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
    constraint: Annotated[
        str, typer.Option(metavar="NAME|NUMBER", help="The constraint whose budget varies.")
    ] = "0",
    most: Annotated[int, typer.Option(metavar="N", help="Largest number of breakpoints.")] = 10_000,
    as_json: Json = False,
    figure: Picture = None,
) -> None:
    """Optimal cost against one budget, with every breakpoint."""
    from tightrope.cli.frontier import run

    run(model, with_horizon(settings, horizon), budgets or [], constraint, most, as_json, figure)


@app.command(
    epilog="Example: tightrope learn ring --algorithm OptDual --algorithm OptPrimalDual "
    "--episodes 2000 --seeds 3 --confidence tight --figure ring.png"
)
def learn(
    model: Model,
    algorithms: Algorithms = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a run.")] = 1000,
    seeds: Annotated[
        str, typer.Option(metavar="N|RANGES", help="Runs of each learner: seeds 1 to N, or 31-100.")
    ] = "1",
    delta: Annotated[
        float, typer.Option(help="Probability with which the guarantees may fail.")
    ] = 0.1,
    confidence: Radii = None,
    rho: Rho = "paper_x2",
    dual_step: Annotated[
        float, typer.Option(help="Factor on the paper's step of the multipliers.")
    ] = 1.0,
    primal_step: Annotated[
        float, typer.Option(help="Factor on the paper's step of OptPrimalDual's policy.")
    ] = 1.0,
    method: Annotated[
        str,
        typer.Option(
            metavar="columns|lp",
            help="How OptCMDP plans: column generation, or the paper's linear programme by HiGHS.",
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
    tolerance: Annotated[float, typer.Option(help="Relative gap of each plan.")] = 1e-8,
    points: Annotated[int, typer.Option(min=1, help="About how many episodes to record.")] = 2000,
    settings: Settings = None,
    budgets: Budgets = None,
    horizon: Horizon = None,
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

    options = {
        "episodes": episodes,
        "delta": delta,
        "dual_step": dual_step,
        "primal_step": primal_step,
        "method": method,
        "audit_visits": audit_visits,
        "luck": luck,
        "tolerance": tolerance,
        "points": points,
    }
    words = with_horizon(settings, horizon)
    outdoors = Outdoors(ranges or [], totals or [], start, stationary)
    if outdoors.is_meant(model):
        choice = Choice(algorithms or ["OptCMDP"], seeds, confidence or [], rho, options)
        run_gym(model, words, budgets or [], choice, outdoors, out, as_json, figure)
        return
    choice = Choice(algorithms or ["all"], seeds, confidence or [], rho, options)
    if out is None:
        run(model, words, budgets or [], choice, as_json, figure)
        return
    from tightrope.cli.studies import Workers

    how = Workers(engine, address, workers, snapshot)
    run_into(out, model, words, budgets or [], choice, how, as_json, figure)


@app.command("run")
def run_study(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The study, as a file.")],
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
    """Carry out a study: every list in the file makes a grid of runs."""
    from tightrope.cli.studies import Workers, run

    run(spec, out, Workers(engine, address, workers, snapshot), as_json)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study's folder.")],
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 10.0,
    as_json: Json = False,
) -> None:
    """Go on with a study where it stopped; finished runs stay as they are."""
    from tightrope.cli.studies import Workers, resume

    resume(folder, Workers(engine, address, workers, snapshot), as_json)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study's folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="DIR/records.csv by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the records of a study as CSV."""
    from tightrope.cli.studies import export

    export(folder, out, as_json)


@app.command(epilog="Example: tightrope bound learner.npz plan policy.npz")
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


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study.")],
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
    """The page of a study, which opens from disk: statistics over seeds, pictures, audit."""
    from tightrope.cli.report import run

    run(folder, out, figures, as_json)


@app.command()
def reproduce(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are kept.")
    ] = Path("reproduce"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where page and figures go; DIR/page of --out."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs: minutes, and no proof of anything.")
    ] = False,
    engine: EngineName = "processes",
    address: Address = None,
    workers: WorkerCount = None,
    snapshot: Snapshot = 60.0,
    as_json: Json = False,
) -> None:
    """The paper's claims, measured: hours on two cores; stop it, and call it again to go on."""
    from tightrope.cli.reproduce import run
    from tightrope.cli.studies import Workers

    run(folder, page, quick, Workers(engine, address, workers, snapshot), as_json)


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs and page are kept.")
    ] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Four learners on a grid world, ten seeds, and their report: under two minutes."""
    from tightrope.cli.demo import run

    run(folder, as_json)


app.command(epilog=FIT_EXAMPLE)(fit)
app.command(epilog=CONVERT_EXAMPLE)(convert)


def status(words: Sequence[str]) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr."""
    try:
        code = app(list(words), prog_name="tightrope", standalone_mode=False)
    except TightropeError as error:
        fail(str(error))
        return BAD
    except WRONG_USAGE as error:
        fail(f"{error.format_message()} (--help lists what there is)")
        return BAD
    except MemoryError as error:
        fail(f"not enough memory: {error}" if str(error) else "not enough memory")
        return BAD
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:
        fail("interrupted")
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """The ``tightrope`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name the terminal cannot show is no failure
    sys.exit(status(sys.argv[1:]))
