"""Arguments and help of ``tightrope study``."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.learner_options import StudyCommand, given_options
from tightrope.cli.options import (
    LEARNERS,
    PROCESS,
    Actions,
    Columns,
    DataRanges,
    Decimal,
    Delta,
    Encoding,
    Json,
    PlainGroup,
    PolicyRows,
    Pooled,
    Radii,
    Save,
    States,
    Template,
    complete_learner,
)
from tightrope.errors import TightropeError

study_app = typer.Typer(
    cls=PlainGroup,
    help="A real process: ask for the next policy, tell its episodes, stored in a database.",
    invoke_without_command=True,
)

DEFAULT = "tightrope.sqlite"
DATABASE = "Database"  # group of options


def complete_studies(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of studies with this prefix, in the database given so far."""
    from tightrope.study.study import Study

    db = context.params.get("db") or os.environ.get("TIGHTROPE_DB") or DEFAULT
    with suppress(TightropeError):
        return [name for name in Study.names(db) if name.startswith(incomplete)]
    return []


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the study.")]
Known = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the study.", autocompletion=complete_studies),
]
Where = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="FILE|URL",
        envvar="TIGHTROPE_DB",
        help="A SQLite file, or postgresql://user@host/name for teams; put a password into "
        "the variable, or into PostgreSQL's password file.",
        rich_help_panel=DATABASE,
    ),
]


@study_app.callback()
def _begin(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@study_app.command(
    cls=StudyCommand,
    epilog="Example: tightrope study new pump --states fine,worn --actions hard,gentle "
    "--horizon 8 --budget wear=20 --range cost=0:50 --range wear=0:8 --episodes 500",
)
def new(
    ctx: typer.Context,
    name: Name,
    states: States = None,
    actions: Actions = None,
    horizon: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Steps per episode.", rich_help_panel=PROCESS),
    ] = None,
    budgets: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="NAME=VALUE",
            help="Budget (or floor) of a constraint, in its units; may be repeated. A study has "
            "budgets only.",
            rich_help_panel=PROCESS,
        ),
    ] = None,
    ranges: DataRanges = None,
    initial: Annotated[
        str | None,
        typer.Option(
            metavar="STATE|STATE=P,...|learned",
            help="Start state, or the probability of each; the first state by default. "
            "learned: any, with unknown probabilities.",
            rich_help_panel=PROCESS,
        ),
    ] = None,
    model: Template = None,
    episodes: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of episodes, at most. Radii depend on it.",
            rich_help_panel=LEARNERS,
        ),
    ] = 1000,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A learner.",
            autocompletion=complete_learner,
            rich_help_panel=LEARNERS,
        ),
    ] = "OptCMDP",
    safe: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|uniform",
            help="Keep the expected use within every budget: sometimes recommend your own policy, "
            "from a file (.npz) or uniform, which uses less. Needs --baseline-use.",
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    baseline_use: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="What your own policy uses of a budget at most, in its units; for each budget.",
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    confidence: Radii = None,
    delta: Delta = 0.1,
    stationary: Pooled = False,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Seed of the learner's own draws; use different ones for parallel studies.",
            rich_help_panel=LEARNERS,
        ),
    ] = 0,
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Create a study of a process that is known only through its episodes."""
    from tightrope.cli.study import make

    shape = {"states": states, "actions": actions, "horizon": horizon, "initial": initial}
    how = {
        "episodes": episodes,
        "algorithm": algorithm,
        "delta": delta,
        "options": given_options(ctx),
        "stationary": stationary,
        "seed": seed,
    }
    own = (safe, baseline_use or [])
    budgets, ranges = budgets or [], ranges or []
    make(db, name, shape, budgets, ranges, model, confidence or ["tight"], how, own, as_json)


@study_app.command()
def ask(
    name: Known,
    save: Save = None,
    policy: PolicyRows = "compact",
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Return the next policy, bounds on its values, and which budgets it certainly keeps."""
    from tightrope.cli.study import ask

    ask(db, name, save, policy, as_json)


@study_app.command(
    epilog='One episode per line: {"episode": "id", "states": [...], "actions": [...], '
    '"cost": [...], "constraint_cost": {"wear": [...]}}; "policy": NUMBER may be added.'
)
def tell(
    name: Known,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE|-",
            help="JSON Lines (an episode per line), or .csv, .xlsx or .parquet (a step per row), "
            "as for tightrope fit; standard input by default.",
        ),
    ] = None,
    columns: Columns = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Record episodes: either all are stored when this returns, or none.

    Telling an episode again changes nothing, so after a crash tell all of them again.
    """
    from tightrope.cli.study import tell

    tell(db, name, files or [Path("-")], columns or [], decimal, encoding, as_json)


@study_app.command()
def status(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A study; all by default.", autocompletion=complete_studies
        ),
    ] = None,
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show the progress of a study: episodes, sums so far, budgets, next step."""
    if name is None:
        from tightrope.cli.study import list_all

        list_all(db, as_json)
        return
    from tightrope.cli.study import status

    status(db, name, as_json)


@study_app.command()
def export(
    name: Known,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Where to write the results; NAME.jsonl by default."
        ),
    ] = None,
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Write the told episodes as JSON Lines, as 'tightrope fit' and 'study tell' read them."""
    from tightrope.cli.study import export

    export(db, name, out or Path(f"{name}.jsonl"), as_json)


@study_app.command()
def undo(name: Known, db: Where = DEFAULT, as_json: Json = False) -> None:
    """Remove the episode that was told last.

    Only for wrong records: bounds assume that no episode is left out because of its result.
    """
    from tightrope.cli.study import undo

    undo(db, name, as_json)


@study_app.command()
def rename(
    name: Known,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Give a study another name."""
    from tightrope.cli.study import rename

    rename(db, name, new_name, as_json)


@study_app.command()
def delete(
    name: Known,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without being asked.")] = False,
    db: Where = DEFAULT,
    as_json: Json = False,
) -> None:
    """Delete a study with all its episodes."""
    from tightrope.cli.study import delete

    delete(db, name, yes, as_json)
