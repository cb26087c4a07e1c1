"""All commands together, and the one place where an error becomes a line.

Commands load their parts when they are called, so that ``tightrope --help`` is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

from tightrope import __version__
from tightrope.cli.learn_commands import (
    LEARN_EXAMPLE,
    demo,
    export,
    learn,
    report,
    resume,
    run_study,
    watch,
)
from tightrope.cli.learner_options import LearnerCommand, given_options
from tightrope.cli.options import (
    Budgets,
    Cost,
    DataBudgets,
    DataRanges,
    Delta,
    Horizon,
    Json,
    Model,
    Picture,
    Pooled,
    Radii,
    Ranges,
    Reward,
    Settings,
)
from tightrope.cli.screen import fail, out
from tightrope.cli.study_app import study_app
from tightrope.errors import TightropeError
from tightrope.files import reason

# every complaint about options, whichever Click this Typer stands on
WRONG_USAGE = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])
BAD, INTERRUPTED = 2, 130

app = typer.Typer(
    help="Learn and plan under budgets: constrained Markov decision processes.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        out().print(f"tightrope {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
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


@app.command()
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


@app.command()
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


app.command(cls=LearnerCommand, epilog=LEARN_EXAMPLE)(learn)
app.command("run")(run_study)
app.command()(resume)
app.command()(watch)
app.command()(export)
app.command()(report)


@app.command(
    cls=LearnerCommand,
    epilog="Example: tightrope fit log.csv --horizon 10 --budget risk=2.5 --range cost=0:50 "
    "--algorithm certainty-equivalence --out fitted",
)
def fit(
    ctx: typer.Context,
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
            help="The learner whose rule plans; certainty-equivalence keeps to what was tried.",
        ),
    ] = "OptCMDP",
    confidence: Radii = None,
    delta: Delta = 0.1,
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
    from tightrope.cli.fit import Reading, run

    names = (states, actions, terminal or [])
    reading = Reading(horizon, budgets or [], ranges or [], model, *names, skip_bad, bad)
    how = {
        "algorithm": algorithm,
        "delta": delta,
        **given_options(ctx),
        "stationary": stationary,
        "steps": steps,
        "more": more,
    }
    run(log, reading, confidence or ["tight"], initial, how, out, as_json)


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


app.add_typer(study_app, name="study")


@app.command(
    epilog="Example: tightrope convert model.drn model.toml --horizon 20 --cost time "
    "--budget energy=12"
)
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


app.command()(demo)


def status(words: Sequence[str], command: typer.Typer | None = None) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr."""
    try:
        name = None if command else "tightrope"
        code = (command or app)(list(words), prog_name=name, standalone_mode=False)
    except TightropeError as error:
        fail(str(error))
        return BAD
    except WRONG_USAGE as error:
        fail(f"{error.format_message()} (--help lists what there is)")
        return BAD
    except OSError as error:  # a name that is too long, a disk that is full, and the like
        where = f"{error.filename}: " if error.filename else ""
        fail(f"{where}{reason(error)}")
        return BAD
    except MemoryError as error:
        fail(f"not enough memory: {error}" if str(error) else "not enough memory")
        return BAD
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:
        fail("interrupted")
    return code if isinstance(code, int) else 0
