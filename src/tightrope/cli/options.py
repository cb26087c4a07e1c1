"""Options that several commands share.

First those of a model, then those of learners, then those of data from a real process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup


class PlainGroup(TyperGroup):
    """A group of commands whose help shows no types for flags and arguments."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            simplify_types(command, ctx)
        return command

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        simplify_types(self, ctx)
        return list(super().get_params(ctx))


def simplify_types(command: Any, ctx: Any) -> None:
    """Leave the column of types empty for flags and arguments."""
    for each in (*command.params, command.get_help_option(ctx)):
        if getattr(each, "is_flag", False):
            each.metavar = ""
        elif getattr(each, "param_type_name", "") == "argument":
            each.display_type_rich = lambda ctx: ""  # its name says what it is


def complete_learner(start: str) -> list[str]:
    """Return the names with this prefix of learners that learn from real episodes."""
    from tightrope.learners import LEARNERS

    return [name for name, kind in LEARNERS.items() if kind.can_learn and name.startswith(start)]


def complete_learners(start: str) -> list[str]:
    """Return the names of learners and references, and of groups of them, with this prefix."""
    from tightrope.learners import LEARNERS

    return [name for name in (*LEARNERS, "all", "every") if name.startswith(start)]


def complete_models(start: str) -> list[str]:
    """Return the names of the catalog with this prefix; the shell adds files."""
    from tightrope.envs import lasting_names, names

    return [name for name in (*names(), *lasting_names()) if name.startswith(start)]


def complete_fitted(start: str) -> list[str]:
    """Return the names with this prefix of learners that can be fitted to a log."""
    from tightrope.cli.learner_options import FitCommand
    from tightrope.learners import LEARNERS

    return [name for name in complete_learner(start) if FitCommand.takes(LEARNERS[name])]


def complete_methods(start: str) -> list[str]:
    """Return the planning methods with this prefix."""
    return [name for name in ("columns", "lp") if name.startswith(start)]


def complete_rows(start: str) -> list[str]:
    """Return the values of ``--policy`` with this prefix."""
    return [name for name in ("compact", "full") if name.startswith(start)]


def complete_engines(start: str) -> list[str]:
    """Return the names of engines with this prefix."""
    return [name for name in ENGINES if name.startswith(start)]


MODEL, LEARNERS, WORKERS = "Model", "Learners", "Workers"  # groups of options in the help
PROCESS, LOG = "Process", "Log"
GYM, OUTPUT = "Gymnasium environments (gym:ID)", "Output"

ENGINES = ("processes", "here", "dask", "ray")

Model = Annotated[
    str,
    typer.Argument(
        metavar="ENV|FILE",
        help="A name of 'tightrope envs', a .npz or .toml model file, gym:ID for an environment of "
        "Gymnasium, or a .drn file of Storm (with --horizon N, --discount X or --average, "
        "--cost NAME, and --budget for its other rewards).",
        autocompletion=complete_models,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the environment; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        help="Budget (or floor) of a constraint, in its units; may be repeated. For gym:ID, NAME "
        "is a hazard or a key of info; for .drn files, a reward structure, with "
        "'NAME>=VALUE' for a floor.",
        rich_help_panel=MODEL,
    ),
]
Horizon = Annotated[
    int | None,
    typer.Option(
        "--horizon",
        metavar="N",
        min=1,
        help="Steps per episode; the same as --set horizon=N.",
        rich_help_panel=MODEL,
    ),
]
Discount = Annotated[
    float | None,
    typer.Option(
        "--discount",
        metavar="VALUE",
        help="Weight of the next step, for an infinite horizon; the same as --set discount=X. "
        "For gym:ID and .drn files instead of --horizon.",
        rich_help_panel=MODEL,
    ),
]
Average = Annotated[
    bool,
    typer.Option(
        "--average",
        help="Average costs in the long run, for an infinite horizon. For gym:ID and .drn "
        "files instead of --horizon.",
        rich_help_panel=MODEL,
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="NAME",
        help="Reward structure of a .drn file to minimize.",
        rich_help_panel=MODEL,
    ),
]
Reward = Annotated[
    str | None,
    typer.Option(
        "--reward",
        metavar="NAME",
        help="Reward structure of a .drn file to maximize.",
        rich_help_panel=MODEL,
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LOW:HIGH",
        help="Range of a cost or reward in one step; may be repeated. For gym:ID only, whose "
        "rewards have by default the range of its table (0:1 for learn), and costs 0:1.",
        rich_help_panel=MODEL,
    ),
]


def output(metavar: str, what: str) -> Any:
    """Return the option of a command for its output."""
    return typer.Option(
        "--out",
        metavar=metavar,
        help=f"Where to write the results; {what}",
        rich_help_panel=OUTPUT,
    )


Named = Any  # a `Source`, whose module is loaded when a command is called
Pool = Any  # `Workers`, likewise
HowRead = Any  # a `Reading`, likewise
OF_EPISODES = {
    "model": (Model, inspect.Parameter.empty),
    "settings": (Settings, None),
    "budgets": (Budgets, None),
    "horizon": (Horizon, None),
    "cost": (Cost, None),
    "reward": (Reward, None),
    "ranges": (Ranges, None),
}
OF_MODEL = {**OF_EPISODES, "discount": (Discount, None), "average": (Average, False)}


def _source(model: str, **words: Any) -> Named:
    from tightrope.cli.source import Source

    return Source.of(model, **words)


def _pool(**words: Any) -> Pool:
    from tightrope.cli.experiments import Workers

    return Workers(**words)


def _reading(**words: Any) -> HowRead:
    from tightrope.cli.log import Reading

    return Reading(**{name: word for name, word in words.items() if word is not None})


def _replace(
    command: Callable[..., None],
    parameter: str,
    options: dict[str, tuple[Any, Any]],
    make: Callable[..., Any],
) -> Callable[..., None]:
    """Give a command several options in place of one parameter, which is made of them."""

    @wraps(command)
    def call(**given: Any) -> None:
        words = {name: given.pop(name) for name in options}
        command(**{parameter: make(**words)}, **given)

    hints, parameters = get_type_hints(command, include_extras=True), []
    for each in inspect.signature(command).parameters.values():
        mine = options if each.name == parameter else {each.name: (hints[each.name], each.default)}
        for name, (kind, default) in mine.items():
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
                )
            )
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON instead of text.",
        rich_help_panel=OUTPUT,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Write a figure: .png, .pdf or .svg.",
        rich_help_panel=OUTPUT,
    ),
]

Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the plan: .npz, .csv or .json.",
        rich_help_panel=OUTPUT,
    ),
]
PolicyRows = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="compact|full",
        autocompletion=complete_rows,
        help="Print the most visited rows of the policy, or all that are reached.",
        rich_help_panel=OUTPUT,
    ),
]

Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        metavar="NAME|all|every",
        help="A learner, package.module:Class for one of another package, all for those of the "
        "paper (the default; OptCMDP for gym:ID), every for all but those by linear programs; may "
        "be repeated.",
        autocompletion=complete_learners,
        rich_help_panel=LEARNERS,
    ),
]
Radii = Annotated[
    list[str] | None,
    typer.Option(
        metavar="faithful|tight|KEY=VALUE",
        help="The paper's radii, tighter ones that keep the guarantees, or an option such as "
        "scale=0.1; may be repeated. By default faithful for simulated episodes, tight for real "
        "ones.",
        rich_help_panel=LEARNERS,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        metavar="VALUE",
        help="Probability that guarantees and bounds fail.",
        rich_help_panel=LEARNERS,
    ),
]
Out = Annotated[
    Path | None,
    output(
        "DIR|FILE",
        "runs as an experiment directory; episodes of gym:ID also as a .csv or .parquet file.",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="processes|here|dask|ray",
        help="Where runs execute: processes of this machine, this process, or a cluster.",
        autocompletion=complete_engines,
        rich_help_panel=WORKERS,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Address of the Dask scheduler or the Ray head.",
        rich_help_panel=WORKERS,
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Number of processes; all processors by default.",
        rich_help_panel=WORKERS,
    ),
]
Snapshot = Annotated[
    float,
    typer.Option(
        metavar="VALUE",
        min=0.0,
        help="Seconds between snapshots of a run.",
        rich_help_panel=WORKERS,
    ),
]
OF_POOL = {
    "engine": (EngineName, "processes"),
    "address": (Address, None),
    "workers": (WorkerCount, None),
    "snapshot": (Snapshot, 10.0),
}
Totals = Annotated[
    list[str] | None,
    typer.Option(
        "--total-range",
        metavar="NAME=LOW:HIGH",
        help="Range of the total of an episode, if narrower than horizon times --range; it makes "
        "bands narrower.",
        rich_help_panel=GYM,
    ),
]
Initial = Annotated[
    str | None,
    typer.Option(
        metavar="STATE|learned",
        help="Start state; the first observation of gym:ID, if it is always the same. learned: its "
        "distribution is not known, the default for gym:ID.",
    ),
]
Stationary = Annotated[
    bool,
    typer.Option(
        "--stationary",
        help="The process is the same at every step, so counts are pooled over steps.",
        rich_help_panel=GYM,
    ),
]

ExperimentFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Directory of the experiment.")
]

DataBudgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        help="Budget (or floor) of a constraint, in its units; may be repeated. A log has budgets "
        "only, on the sums of the column NAME or cost_NAME.",
        rich_help_panel=PROCESS,
    ),
]
DataRanges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LOW:HIGH",
        help="Range of a cost or reward in one step; may be repeated. 0:1 by default.",
        rich_help_panel=PROCESS,
    ),
]
NAMES = "a number, names with commas between, or a file with one name per line."
States = Annotated[
    str | None,
    typer.Option(metavar="N|A,B,...|FILE", help=f"All states; {NAMES}", rich_help_panel=PROCESS),
]
Actions = Annotated[
    str | None,
    typer.Option(metavar="N|A,B,...|FILE", help=f"All actions; {NAMES}", rich_help_panel=PROCESS),
]
Template = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="ENV|FILE",
        help="A model to take names, horizon, ranges, budgets, start and allowed actions from.",
        autocompletion=complete_models,
        rich_help_panel=PROCESS,
    ),
]
Pooled = Annotated[
    bool,
    typer.Option(
        "--stationary",
        help="The process is the same at every step, so counts are pooled over steps.",
        rich_help_panel=PROCESS,
    ),
]


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="Another name of a column in the log, as in state=machine; may be repeated.",
        rich_help_panel=LOG,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=",|.",
        help="How numbers are written: ',' for 1.234,5 and '.' for 1,234.5; 1234.5 by default.",
        rich_help_panel=LOG,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text file, such as cp1252; UTF-8 by default.",
        rich_help_panel=LOG,
    ),
]
OF_LOG = {
    "horizon": (
        Annotated[
            int | None,
            typer.Option(
                metavar="N",
                min=1,
                help="Steps per episode; the longest by default.",
                rich_help_panel=PROCESS,
            ),
        ],
        None,
    ),
    "budgets": (DataBudgets, None),
    "ranges": (DataRanges, None),
    "model": (Template, None),
    "states": (States, None),
    "actions": (Actions, None),
    "terminal": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="STATE", help="Terminal state; may be repeated.", rich_help_panel=PROCESS
            ),
        ],
        None,
    ),
    "initial": (
        Annotated[
            str | None,
            typer.Option(
                metavar="STATE|STATE=P,...",
                help="Start state, or the probability of each; estimated from the log by default.",
                rich_help_panel=PROCESS,
            ),
        ],
        None,
    ),
    "stationary": (Pooled, False),
    "columns": (Columns, None),
    "decimal": (Decimal, None),
    "encoding": (Encoding, None),
    "skip_bad": (
        Annotated[
            bool,
            typer.Option(
                "--skip-bad",
                help="Exclude episodes with faults, and count them.",
                rich_help_panel=LOG,
            ),
        ],
        False,
    ),
    "bad": (
        Annotated[
            Path | None,
            typer.Option(
                metavar="FILE", help="Write every fault to a .csv file.", rich_help_panel=LOG
            ),
        ],
        None,
    ),
}


def takes_model(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a model in place of its parameter ``source``."""
    return _replace(command, "source", OF_MODEL, _source)


def takes_episodes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a model with a horizon in place of ``source``."""
    return _replace(command, "source", OF_EPISODES, _source)


def takes_pool(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of an engine in place of its parameter ``pool``."""
    return _replace(command, "pool", OF_POOL, _pool)


def takes_log(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a log in place of its parameter ``reading``."""
    return _replace(command, "reading", OF_LOG, _reading)
