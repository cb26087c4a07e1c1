"""``tightrope run``, ``resume``, ``watch``, ``export``, ``report``, ``demo``: experiments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from tightrope.arrays import check_choice
from tightrope.cli.screen import emit, out, require_folder, say, table
from tightrope.errors import ConfigError, EngineError, TightropeError
from tightrope.experiments.curves import KINDS
from tightrope.experiments.experiment import PAGE, RECORDS, Experiment
from tightrope.experiments.returns import ReturnChapter
from tightrope.experiments.scheduler import Outcome
from tightrope.experiments.status import HEADS, Status
from tightrope.experiments.summary import Chapter, Findings, new_resamples
from tightrope.files import make_folder
from tightrope.learners import PAPER
from tightrope.progress import working
from tightrope.text import counted, plain_word

MAP = """
S.H.G
..H..
.....
"""
SEEDS = 10
RELOAD = 5.0  # seconds between reloads of the page of a running experiment
DEMO: dict[str, Any] = {
    "environment": "grid",
    "parameters": {"rows": MAP, "horizon": 12, "budget": 0.3},
    "algorithm": [*PAPER, "Safe-OptCMDP", "PSRL"],
    "episodes": 100_000,
    "seeds": SEEDS,
    "confidence": {
        "mode": "tight",
        "pool": True,
        "kl_costs": True,
        "mixture": True,
        "replan": "doubling",
    },
    "baseline": "share:0.5",
    "average": True,
}


class Workers(NamedTuple):
    """The engine, and the time between snapshots."""

    engine: str = "processes"
    address: str | None = None
    workers: int | None = None
    snapshot: float = 10.0


def run(path: Path, folder: Path | None, workers: Workers, as_json: bool) -> None:
    """Run the experiment of a file; by default in a directory of the file's name."""
    if folder is None and not path.suffix and path.is_file():
        raise ConfigError(
            f"{path}: the directory of its experiment needs another name; give --out DIR",
            argument=str(path),
        )
    experiment = Experiment(folder or path.with_suffix(""))
    with working(f"planning the runs of {path}"):
        n_new = experiment.add_spec(path)
    show_outcome(experiment, finish(experiment, workers), n_new, as_json)


def resume(folder: Path, workers: Workers, as_json: bool) -> None:
    """Resume an experiment."""
    experiment = Experiment(folder)
    show_outcome(experiment, finish(experiment, workers), 0, as_json)


def finish(experiment: Experiment, workers: Workers, again: str = "") -> Outcome:
    """Finish an experiment with progress; on an interrupt, print the command to continue."""
    again = again or f"tightrope resume {experiment.path}"
    try:
        return experiment.run(
            workers.engine, workers.workers, address=workers.address, snapshot=workers.snapshot
        )
    except KeyboardInterrupt:
        say(f"stopped; runs are saved: {again}")
        raise
    except EngineError as error:
        if error.argument is not None:  # nothing was begun
            raise
        raise error.with_message(f"{error}; finished work is saved: {again}") from error


def require_no_figure(figure: Path | None) -> None:
    """Raise for a figure where the report of an experiment has them."""
    if figure is not None:
        raise ConfigError.about(
            "--figure",
            more="figures of an experiment are written by tightrope report; leave it out",
        )


def show_outcome(experiment: Experiment, outcome: Outcome, n_new: int, as_json: bool) -> None:
    """Print how many runs are finished; raise a `TightropeError` if any failed."""
    path, failed = experiment.path, outcome.failed
    if as_json:
        emit(
            {
                "experiment": str(path),
                "runs": outcome.n_runs,
                "new": n_new,
                "finished": outcome.finished,
                "failed": failed,
                "elsewhere": outcome.elsewhere,
                "versions": outcome.versions,
                "episodes": outcome.episodes,
            }
        )
    else:
        say(f"{path}: {outcome.finished} of {outcome.n_runs} runs finished", style="bold")
        if outcome.elsewhere:
            say(f"{len(outcome.elsewhere)} runs are being written by another process")
        if outcome.versions:
            n, what = len(outcome.versions), next(iter(outcome.versions.values()))
            say(f"{n} runs were started by other versions ({what}); last digits may differ")
        if outcome.finished:
            say(f"next: tightrope report {path}, or tightrope export {path}")
    if failed:
        first, why = next(iter(failed.items()))
        raise TightropeError(f"{len(failed)} of {outcome.n_runs} runs failed, {first} first: {why}")


def watch(folder: Path, seconds: float, title: str, follows: bool | None, as_json: bool) -> None:
    """Show the progress of an experiment, and write its page unless it was finished before.

    ``follows`` says whether to go on until all runs are finished; by default in a terminal.
    """
    experiment = Experiment(folder)
    status = experiment.status()
    is_unfinished = status.finished < len(status.runs)
    if follows is None:
        follows = out().is_terminal and not as_json
    if is_unfinished and follows:
        status = _follow(experiment, status, seconds, title)
    elif is_unfinished and not as_json:
        _write_live(experiment, title, 0.0)
    if is_unfinished and not as_json:
        say(f"written: {folder / PAGE}")
    if as_json:
        done, total = status.episodes
        runs = [run._asdict() for run in status.runs]
        counts = {"finished": status.finished, "begun": status.begun}
        emit({"experiment": str(folder), **counts, "episodes": done, "of": total, "runs": runs})
        return
    say(f"{folder}: {status.finished} of {len(status.runs)} runs finished", style="bold")
    table(HEADS, status.rows(), numbers=HEADS[2:])


def _follow(experiment: Experiment, status: Status, seconds: float, title: str) -> Status:
    """Watch an experiment until all runs are finished."""
    before, total = status.episodes
    with working(str(experiment.path), "episodes") as work, live_page(experiment, title) as refresh:
        while status.finished < len(status.runs):
            new = status.episodes[0] - before
            note = f"{status.finished} of {len(status.runs)} runs done"
            work.report(new, new / max(total - before, 1), note)
            refresh(status)
            sleep(seconds)
            status = experiment.status()
    return status


@contextmanager
def live_page(experiment: Experiment, title: str = "") -> Iterator[Callable[[Status], None]]:
    """Keep a page of the finished runs that reloads itself; at the end, one that does not.

    The function given is to be called often; it rewrites the page when runs have finished, and
    takes a tenth of the time at most.
    """
    shown, due = -1, monotonic()

    def refresh(status: Status) -> None:
        nonlocal shown, due
        if status.finished != shown and monotonic() >= due:
            shown, start = status.finished, monotonic()
            _write_live(experiment, title, RELOAD)
            due = monotonic() + max(RELOAD, 9 * (monotonic() - start))

    try:
        yield refresh
    finally:
        _write_live(experiment, title, 0.0)


def _write_live(experiment: Experiment, title: str, reload: float) -> None:
    from tightrope.show.report.page import write_page

    none = Findings(experiment.path.resolve().name, (), len(experiment.specs()), 0, ())
    found = experiment.findings() if experiment.finished() else none
    write_page(found, experiment.path / PAGE, title, reload)


def export(folder: Path, file: Path | None, as_json: bool) -> None:
    """Write the records of all finished runs as one CSV file."""
    experiment, path = Experiment(folder), file or folder / RECORDS
    n_runs = len(experiment.finished())
    if n_runs:
        require_folder(path)
    with working(f"exporting {n_runs} runs", "runs") as work:
        n_rows = experiment.export(path, lambda done: work.report(done, done / n_runs))
    if as_json:
        emit({"runs": n_runs, "rows": n_rows, "file": str(path)})
    else:
        say(f"{n_rows} rows of {n_runs} runs written: {path}")


def export_to(folder: Path, to: str, target: str | None, follow: bool, as_json: bool) -> None:
    """Send the finished runs of an experiment to a tracker."""
    from tightrope.interop.trackers import TRACKERS, export_runs

    check_choice("to", to, ("csv", *TRACKERS))
    place = str(folder / to) if target is None else target
    with working(f"exporting to {place}", "runs") as work:
        n_sent = export_runs(
            Experiment(folder),
            to,
            place,
            follow=follow,
            progress=lambda done, n: work.report(done, done / max(n, 1)),
        )
    if as_json:
        emit({"runs": n_sent, "to": to, "target": place})
    else:
        say(f"{counted(n_sent, 'run')} sent to {place}")


def report(
    folder: Path,
    file: Path | None,
    title: str,
    figures: Path | None,
    style: str,
    width: str | None,
    font: str | None,
    font_size: float | None,
    as_json: bool,
) -> None:
    """Write the report of an experiment and its figures; print the summary."""
    from tightrope.show.report.returns import return_summary
    from tightrope.show.report.words import conditions_of, missing_words, summary_of
    from tightrope.show.style import LOOKS, Look, figure_look

    check_choice("style", style, LOOKS)
    look: dict[str, Any] = {"style": style, "width": None if width is None else _inches(width)}
    look |= {"font": font, "font_size": font_size}
    for name, value in Look()._asdict().items():
        if figures is None and look[name] != value:
            raise ConfigError.about(f"--{name.replace('_', '-')}", more="only with --figures DIR")
    with figure_look(**look):  # raises for a font that is not there
        pass
    if file is not None:
        require_folder(file)
    experiment, page = Experiment(folder), file or folder / PAGE
    findings = _write_report(experiment, page, title)
    drawn = []
    if figures is not None:
        drawn = _draw(experiment, findings, figures, look)
    if as_json:
        emit(
            {
                "report": str(page),
                "figures": [str(path) for path in drawn],
                **experiment.summary(),
            }
        )
        return
    if missing := missing_words(findings):
        say(missing, style="bold")
    for chapter in findings.problems:
        say(f"{chapter.name}: {conditions_of(chapter)}", style="bold")
        if isinstance(chapter, Chapter):
            sentences = summary_of(chapter, new_resamples())
        else:
            sentences = return_summary(chapter)
        for sentence in sentences:
            say(f"  {sentence}")
    say(f"\nwritten: {page}" + (f", and {len(drawn)} figures to {figures}" if drawn else ""))


def _write_report(experiment: Experiment, page: Path, title: str = "") -> Findings:
    with working(f"reading {experiment.path}", "runs") as work:
        findings = experiment.findings(lambda done, n: work.report(done, done / n))
    with working(f"writing {page}"):
        experiment.report(page, title=title)
    return findings


def _inches(width: str) -> float:
    """Return a width such as ``3.25in``, ``8.5cm`` or ``3.25`` in inches."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(in|cm|mm)?", width.strip())
    if match is None:
        raise ConfigError.about("width", found=width, expected="a length such as 3.25in or 8.5cm")
    inches = float(match[1]) / {"in": 1.0, "cm": 2.54, "mm": 25.4}[match[2] or "in"]
    if not 1.0 <= inches <= 40.0:
        raise ConfigError.about("width", found=width, expected="a length from 1in to 40in")
    return inches


def _draw(
    experiment: Experiment, findings: Findings, folder: Path, look: dict[str, Any]
) -> list[Path]:
    """Draw the figures of every chapter as PNG, PDF and SVG; for papers, panels one by one."""
    from tightrope.show.figures import save
    from tightrope.show.style import figure_look

    make_folder(folder)
    paths: list[Path] = []
    names = [plain_word(chapter.name, "model") for chapter in findings.problems]
    wanted = [
        (k, *each) for k, c in enumerate(findings.problems) for each in _figures(c, look["style"])
    ]
    with working(f"drawing to {folder}", "figures") as work, figure_look(**look):
        for done, (k, name, panel) in enumerate(wanted, 1):
            chapter, stem = findings.problems[k], names[k]
            if names.count(stem) > 1:
                stem = f"{stem}-{k + 1}"
            figure = experiment.figure(name, problem=chapter.name, panel=panel, **look)
            for kind in (".png", ".pdf", ".svg"):
                words = [name] if panel is None else [name, panel]
                end = "-".join(plain_word(word, "model") for word in words)
                paths.append(folder / f"{stem}-{end}{kind}")
                save(figure, paths[-1])
            work.report(done, done / len(wanted))
    return paths


def _figures(chapter: Chapter | ReturnChapter, style: str) -> Iterator[tuple[str, str | None]]:
    """Yield names and panels of the figures of a chapter; no panel stands for all."""
    if isinstance(chapter, ReturnChapter):
        yield from (
            ("returns", part) for part in (chapter.quantities if style == "paper" else [None])
        )
        return
    names = chapter.cmdp.constraint_names
    kinds = KINDS if names else KINDS[:2]
    panels = {"regret": kinds, "budgets": ("violations", *names) if names else ()}
    for name, parts in panels.items():
        if style == "paper":
            yield from ((name, part) for part in parts)
        elif parts:
            yield name, None
    for name in ("optimum", *(group.name for group in chapter.groups)):
        yield name, "policy" if style == "paper" else None


def demo(folder: Path, as_json: bool) -> None:
    """Run six learners on a small map with hazards, and write the report."""
    experiment = Experiment(folder)
    experiment.add_spec(DEMO)
    if not as_json:
        say("a walker (S) must reach the goal (G) in few steps, and rarely step on hazards (H):")
        say(MAP, style="bold")
        say(
            f"{len(DEMO['algorithm'])} learners, {SEEDS} seeds, {DEMO['episodes']:,} episodes each,"
        )
        say("with constants for which the theorems hold; Safe-OptCMDP may fall back on a policy")
        say("that is known to use half of the budget\n")
    outcome = finish(experiment, Workers())
    if as_json:
        _write_report(experiment, folder / PAGE)
        emit({"experiment": str(folder), "finished": outcome.finished, "page": str(folder / PAGE)})
    else:
        report(folder, None, "", None, "screen", None, None, None, False)
        say("open it in a browser; tightrope run --help explains how to run an experiment")
