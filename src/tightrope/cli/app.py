"""All commands together, and the one place where an error becomes a line.

Commands load their parts when they are called, so that ``tightrope --help`` is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

import typer

from tightrope import __version__
from tightrope.cli.data_commands import (
    BOUND_EXAMPLE,
    CONVERT_EXAMPLE,
    FIT_EXAMPLE,
    bound,
    convert,
    fit,
)
from tightrope.cli.learn_commands import (
    LEARN_EXAMPLE,
    demo,
    export,
    learn,
    report,
    reproduce,
    resume,
    run_study,
    watch,
)
from tightrope.cli.plan_commands import check, envs, frontier, solve
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


app.command()(envs)
app.command()(check)
app.command()(solve)
app.command()(frontier)
app.command(epilog=LEARN_EXAMPLE)(learn)
app.command("run")(run_study)
app.command()(resume)
app.command()(watch)
app.command()(export)
app.command()(report)
app.command(epilog=FIT_EXAMPLE)(fit)
app.command(epilog=BOUND_EXAMPLE)(bound)
app.add_typer(study_app, name="study")
app.command(epilog=CONVERT_EXAMPLE)(convert)
app.command()(reproduce)
app.command()(demo)


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
