"""The commands of experiments; each loads its parts when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli import options as opt
from tightrope.errors import ConfigError


def add_experiment_commands(app: typer.Typer, panel: str) -> None:
    """Add the commands to the application, those of experiments under a heading of its help."""
    for command in (run, resume, watch, export, report):
        app.command(rich_help_panel=panel)(command)
    app.command()(demo)


@opt.takes_pool
def run(
    *,
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="Description of the experiment.")
    ],
    out: Annotated[
        Path | None,
        opt.output("DIR", "the directory SPEC by default."),
    ] = None,
    pool: opt.Pool,
    as_json: opt.Json = False,
) -> None:
    """Run an experiment: every list in the file makes a grid of runs."""
    from tightrope.cli.experiments import run

    run(spec, out, pool, as_json)


@opt.takes_pool
def resume(
    folder: opt.ExperimentFolder,
    pool: opt.Pool,
    as_json: opt.Json = False,
) -> None:
    """Resume an experiment where it stopped; finished runs stay as they are."""
    from tightrope.cli.experiments import resume

    resume(folder, pool, as_json)


def watch(
    folder: opt.ExperimentFolder,
    seconds: Annotated[
        float, typer.Option("--every", metavar="VALUE", min=0.1, help="Seconds between updates.")
    ] = 2.0,
    follow: Annotated[
        bool | None,
        typer.Option(
            help="Continue until all runs are finished; by default in a terminal.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Title of the page; the name of the directory by default.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "",
    as_json: opt.Json = False,
) -> None:
    """Show the progress of an experiment; in a terminal, until it is finished.

    It writes DIR/report.html, and rewrites it as runs finish; an open page reloads itself. If all
    runs were finished before, the page stays as it is.
    """
    from tightrope.cli.experiments import watch

    watch(folder, seconds, title, follow, as_json)


def export(
    folder: opt.ExperimentFolder,
    out: Annotated[
        str | None,
        opt.output(
            "FILE|DIR", "DIR/records.csv by default; of a tracker DIR/NAME, or MLflow's address."
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="csv|tensorboard|mlflow|wandb|trackio",
            help="Format of the results; a tracker gets every finished run once.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "csv",
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Continue until all runs are finished; each is exported then, to a tracker.",
        ),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Write the records of an experiment as CSV, or send its runs to a tracker."""
    from tightrope.cli.experiments import export, export_to

    if to != "csv":
        export_to(folder, to, out, follow, as_json)
        return
    if follow:
        raise ConfigError.about("--follow", more="only with a tracker, as in --to tensorboard")
    export(folder, None if out is None else Path(out), as_json)


def report(
    folder: opt.ExperimentFolder,
    out: Annotated[
        Path | None,
        opt.output("FILE", "DIR/report.html by default."),
    ] = None,
    title: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Title of the page; the name of the directory by default.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "",
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for figures, as .png, .pdf and .svg.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    style: Annotated[
        str,
        typer.Option(
            metavar="screen|paper",
            help="Look of the figures; for a paper single panels in small type, without a heading.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "screen",
    width: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="Width of the figures, such as 3.25in or 8.5cm.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    font: Annotated[
        str | None,
        typer.Option(
            metavar="FAMILY",
            help="Font of the figures: an installed family, or serif.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    font_size: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS", help="Size of labels in figures.", rich_help_panel=opt.OUTPUT
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Write the report of an experiment, one HTML page: statistics over seeds, figures, audit."""
    from tightrope.cli.experiments import report

    report(folder, out, title, figures, style, width, font, font_size, as_json)


def demo(
    folder: Annotated[
        Path,
        opt.output("DIR", "runs and report."),
    ] = Path("demo"),
    as_json: opt.Json = False,
) -> None:
    """Run six learners on a grid world with ten seeds and write the report (about a minute)."""
    from tightrope.cli.experiments import demo

    demo(folder, as_json)
