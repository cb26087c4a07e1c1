"""The commands of ``tightrope``; errors become one line on stderr.

Commands load their parts when they are called, so that ``tightrope --help`` is quick.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast

import typer

from tightrope import __version__
from tightrope.cli import BAD, INTERRUPTED
from tightrope.cli import options as opt
from tightrope.cli.experiments_app import add_experiment_commands
from tightrope.cli.learner_options import (
    FitCommand,
    LearnerCommand,
    algorithm_names,
    confidence_of,
    given_options,
    learners_of,
)
from tightrope.cli.screen import fail, out
from tightrope.cli.study_app import study_app
from tightrope.errors import ConfigError, TightropeError
from tightrope.files import reason
from tightrope.progress import SETTINGS

# errors about options, whichever Click this Typer uses
WRONG_USAGE = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])

ANYWHERE = ("--quiet", "-q", "--debug")
PLAN, EXPERIMENTS, APPLY = "Plan", "Experiments", "Real processes and logged data"
app = typer.Typer(
    cls=opt.PlainGroup,
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
        typer.Option(
            "--version", "-V", callback=_say_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    SETTINGS.is_quiet = quiet
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(rich_help_panel=PLAN)
def envs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Name of an environment.", autocompletion=opt.complete_models
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """List the environments, or show description, parameters and optimum of one."""
    from tightrope.cli.envs import run

    run(name, as_json)


@app.command(rich_help_panel=PLAN)
@opt.takes_model
def check(
    source: opt.Named,
    as_json: opt.Json = False,
) -> None:
    """Look for faults in a model; exit status 1 if it has any."""
    from tightrope.cli.check import run

    if not run(source, as_json):
        raise typer.Exit(1)


@app.command(rich_help_panel=PLAN)
@opt.takes_model
def solve(
    source: opt.Named,
    method: Annotated[
        str,
        typer.Option(
            metavar="columns|lp",
            autocompletion=opt.complete_methods,
            help="Planner: column generation or linear programming.",
        ),
    ] = "columns",
    tolerance: Annotated[
        float, typer.Option(metavar="VALUE", help="Relative gap of a plan.")
    ] = 1e-10,
    as_json: opt.Json = False,
    figure: opt.Picture = None,
    stage: Annotated[
        str, typer.Option(metavar="STAGE|average", help="Stage that the figure of a map shows.")
    ] = "average",
    save: opt.Save = None,
    policy: opt.PolicyRows = "compact",
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="Threads for a large model; by default one per core."),
    ] = None,
) -> None:
    """Compute the least expected cost within every budget, prices of budgets and the policy."""
    from tightrope.cli.solve import run

    run(source, method, tolerance, as_json, figure, stage, save, policy, threads)


@app.command(rich_help_panel=PLAN)
@opt.takes_model
def frontier(
    source: opt.Named,
    constraint: Annotated[
        str, typer.Option(metavar="NAME|NUMBER", help="The constraint whose budget varies.")
    ] = "0",
    most: Annotated[int, typer.Option(metavar="N", help="Largest number of breakpoints.")] = 10_000,
    as_json: opt.Json = False,
    figure: opt.Picture = None,
) -> None:
    """Compute the optimal cost against one budget, with every breakpoint."""
    from tightrope.cli.frontier import run

    run(source, constraint, most, as_json, figure)


@app.command(
    cls=LearnerCommand,
    epilog="Example: tightrope learn ring --algorithm OptDual --algorithm OptPrimalDual "
    "--episodes 2000 --seeds 3 --confidence tight --figure ring.png",
    rich_help_panel=EXPERIMENTS,
)
@opt.takes_episodes
@opt.takes_pool
def learn(
    ctx: typer.Context,
    *,
    algorithms: opt.Algorithms = None,
    episodes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of episodes, in each run.")
    ] = 1000,
    seeds: Annotated[
        str, typer.Option(metavar="N|RANGES", help="Seeds of each learner: 1 to N, or 31-100.")
    ] = "1",
    delta: opt.Delta = 0.1,
    confidence: opt.Radii = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="columns|lp",
            autocompletion=opt.complete_methods,
            help="Planner, for OptCMDP and OptCMDP-bonus. lp is the same as OptCMDP-lp and "
            "OptCMDP-bonus-lp.",
        ),
    ] = "columns",
    audit_visits: Annotated[
        bool,
        typer.Option("--audit-visits", help="Also audit the visit counts, which takes longer."),
    ] = False,
    average: Annotated[
        bool,
        typer.Option("--average-policy", help="Also record the average of the policies played."),
    ] = False,
    is_separate: Annotated[
        bool,
        typer.Option(
            "--no-common-random-numbers",
            help="Separate random numbers for each learner, also with the same seed.",
        ),
    ] = False,
    points: Annotated[
        int, typer.Option(metavar="N", min=1, help="About how many episodes to record.")
    ] = 2000,
    initial: opt.Initial = None,
    source: opt.Named,
    totals: opt.Totals = None,
    stationary: opt.Stationary = False,
    out: opt.Out = None,
    pool: opt.Pool,
    as_json: opt.Json = False,
    figure: opt.Picture = None,
) -> None:
    """Simulate learners on a known model and compute exact regrets and an audit.

    With gym:ID, learners interact with the environment, and realized sums are shown.
    """
    from tightrope.cli.learn import run
    from tightrope.cli.learn_gym import GymOptions, first_observation, run_gym

    settings = {
        "episodes": episodes,
        "seeds": seeds,
        "delta": delta,
        "confidence": confidence_of(confidence or []),
        "audit_visits": audit_visits,
        "average": average,
        "common_random_numbers": not is_separate,
        "points": points,
    }
    gym = GymOptions(totals or [], first_observation(initial, source.is_gym), stationary)
    is_gym = gym.applies_to(source)
    words = algorithms or ["OptCMDP" if is_gym else "all"]
    n_constraints = source.load().n_constraints if "every" in words and not is_gym else 1
    names = algorithm_names(words, n_constraints)
    learners = learners_of(names, given_options(ctx), method)
    if is_gym and method != "columns":
        raise ConfigError.about("--method", found=method, expected="'columns' for gym:ID")
    if is_gym:
        run_gym(source, learners, settings, gym, out, pool, as_json, figure)
        return
    settings["initial"] = initial or "known"
    run(source, learners, settings, out, pool, as_json, figure)


add_experiment_commands(app, EXPERIMENTS)


@app.command(
    cls=FitCommand,
    epilog="Example: tightrope fit log.csv --horizon 10 --budget risk=2.5 --range cost=0:50 "
    "--algorithm certainty-equivalence --out fitted",
    rich_help_panel=APPLY,
)
@opt.takes_log
def fit(
    ctx: typer.Context,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Episodes: .csv, .xlsx, .parquet or .jsonl with the columns episode, step, state, "
            "action, next_state, cost (or reward), one for each budget, and optionally done.",
        ),
    ],
    reading: opt.HowRead,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A learner; or certainty-equivalence, which uses only actions that were tried and "
            "is the default with --stationary, as OptCMDP is without.",
            autocompletion=opt.complete_fitted,
            rich_help_panel=opt.LEARNERS,
        ),
    ] = None,
    confidence: opt.Radii = None,
    delta: opt.Delta = 0.1,
    steps: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Steps of a dual learner, averaged.",
            rich_help_panel=opt.LEARNERS,
        ),
    ] = 1000,
    more: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Further episodes to observe; radii depend on it.",
            rich_help_panel=opt.LEARNERS,
        ),
    ] = 1,
    hold_out: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Plan without the last episodes and bound the policy with them: narrower bounds, "
            "for this policy alone. 0.5 is a good share.",
            rich_help_panel=opt.LEARNERS,
        ),
    ] = 0.0,
    out: Annotated[
        Path | None,
        opt.output("DIR", "policy, table, learner and bounds."),
    ] = None,
    policy: opt.PolicyRows = "compact",
    as_json: opt.Json = False,
) -> None:
    """Fit a policy to logged episodes, with coverage of the log and bounds."""
    from tightrope.cli.fit import run

    how = {
        "algorithm": algorithm,
        "delta": delta,
        **given_options(ctx),
        "steps": steps,
        "more": more,
        "hold_out": hold_out,
    }
    run(log, reading, confidence or ["tight"], how, out, policy, as_json)


@app.command(
    epilog="Example: tightrope bound log.csv policy.npz --budget wear=2.5 --range cost=0:50",
    rich_help_panel=APPLY,
)
@opt.takes_log
def bound(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="LEARNER.npz|LOG", help="A saved learner, or a log of episodes as for fit."
        ),
    ],
    reading: opt.HowRead,
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY.npz|plan|average",
            help="Files written by solve --save; 'plan' (the default for a learner) is its next "
            "policy, 'average' (the default for a log) the average of the policies that made it.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Probability that guarantees and bounds fail; for a log, 0.1 by default.",
            rich_help_panel=opt.LEARNERS,
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Compute bounds on policies, and which budgets they keep.

    With the data of a learner, bounds hold for every policy at once. With a log, they are narrower
    and hold for one policy that was chosen without that log.
    """
    from tightrope.cli.bound import run

    run(source, policies or [], reading, delta, as_json)


app.add_typer(study_app, name="study", rich_help_panel=APPLY)


@app.command(
    rich_help_panel=PLAN,
    epilog="Example: tightrope convert model.drn model.toml --horizon 20 --cost time "
    "--budget energy=12",
)
@opt.takes_model
def convert(
    source: opt.Named,
    path: Annotated[
        Path, typer.Argument(metavar="OUT", help="Output: a .npz, .toml or .drn file.")
    ],
    unroll: Annotated[
        bool,
        typer.Option("--unroll", help="Write a .drn file with a copy of each state per stage."),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Write a model as another kind of file: .npz, .toml, or .drn for Storm."""
    from tightrope.cli.convert import run

    run(source, path, unroll, as_json)


@app.command("compile")
def compile_kernels(
    algorithms: opt.Algorithms = None,
    as_json: opt.Json = False,
) -> None:
    """Compile the kernels of planning and learning now, once per machine."""
    from tightrope.cli.compile import run

    run(algorithms or ["all"], as_json)


@contextmanager
def _debugging(is_wanted: bool) -> Iterator[None]:
    """Print the traceback of an error before it becomes one line."""
    try:
        yield
    except Exception:
        if is_wanted:
            traceback.print_exc()
        raise


def _flags_first(words: Sequence[str]) -> list[str]:
    """Move flags of the program before the name of the command, so that they may stand anywhere."""
    end = words.index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if word in ANYWHERE]
    return [*flags, *(word for word in words[:end] if word not in ANYWHERE), *words[end:]]


def status(words: Sequence[str], command: typer.Typer | None = None) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr."""
    try:
        name = None if command else "tightrope"
        with _debugging("--debug" in words):
            words = words if command else _flags_first(words)
            code = (command or app)(list(words), prog_name=name, standalone_mode=False)
    except TightropeError as error:
        fail(str(error))
        return BAD
    except WRONG_USAGE as error:
        fail(f"{error.format_message()} (see --help)")
        return BAD
    except OSError as error:  # such as a too long name or a full disk
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
