"""``tightrope fit``: from a log to a policy, its bounds, and a learner that can go on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.cli.fit_words import fit_data, log_data, show_fit, show_log
from tightrope.cli.learner_words import confidence_of
from tightrope.cli.log_options import Lent, lent_by, listed_names
from tightrope.cli.pairs import ranges_of, values_of
from tightrope.cli.paths import require_folder
from tightrope.cli.screen import emit, say
from tightrope.errors import InfeasibleError, LogError, ModelError, StoreError
from tightrope.estimate.confidence import Confidence
from tightrope.files import make_folder, put
from tightrope.interop.logs.log import Log
from tightrope.interop.logs.read import read_log
from tightrope.model.plan_file import names_of, save_plan
from tightrope.progress import working
from tightrope.run.fit import Fit, fit, seen_in
from tightrope.text import escape_cell


class Reading(NamedTuple):
    """How the log is read, in the words of the command line."""

    horizon: int | None
    budgets: Sequence[str]
    ranges: Sequence[str]
    model: str | None
    states: Path | None
    actions: Path | None
    terminal: Sequence[str]
    skip_bad: bool
    bad: Path | None


class Rule(NamedTuple):
    """How the policy is planned."""

    algorithm: str
    confidence: Sequence[str]
    delta: float
    rho: float | None
    initial: str | None
    stationary: bool
    steps: int
    more: int


def run(file: Path, reading: Reading, rule: Rule, folder: Path | None, as_json: bool) -> None:
    """Fit a log, say what came of it, and write it into a folder."""
    radii = confidence_of(rule.confidence or ["tight"])
    if reading.bad is not None:
        if reading.bad.suffix.lower() != ".csv":
            raise ModelError(f"--bad {reading.bad}: expected a name that ends in .csv")
        require_folder(reading.bad)
    lent = lent_by(reading.model)
    budgets = {**lent.budgets, **values_of("--budget", reading.budgets)}
    log = _read(file, reading, lent, list(budgets))
    with _made(folder):
        try:
            with working(f"planning by {rule.algorithm}"):
                found = _planned(log, budgets, rule, radii, lent)
        except InfeasibleError:
            seen = seen_in(log, lent.allowed)
            if as_json:
                emit({**log_data(file.name, log, seen), "feasible": False})
            else:
                show_log(file.name, log, seen)
            raise
        data = fit_data(file.name, found)
        written = [] if folder is None else _write(folder, found, data)
    if as_json:
        emit({**data, "written": [str(path) for path in written]})
        return
    show_fit(file.name, found)
    if written:
        say(f"\nwritten: {', '.join(map(str, written))}")


def _read(file: Path, reading: Reading, lent: Lent, constraints: Sequence[str]) -> Log:
    """The log; its faults are listed where that was asked for, whether it can be used or not."""
    try:
        with working(f"reading {file.name}"):
            log = read_log(
                file,
                lent.horizon if reading.horizon is None else reading.horizon,
                constraints,
                {**lent.ranges, **ranges_of(reading.ranges)},
                listed_names("--states", reading.states) or lent.states,
                listed_names("--actions", reading.actions) or lent.actions,
                reading.terminal,
                reading.skip_bad,
            )
    except LogError as error:
        if reading.bad is not None:
            _write_faults(reading.bad, error.faults)
        raise LogError(f"{error}; {_advice(reading, error)}", error.faults) from error
    if reading.bad is not None:
        _write_faults(reading.bad, log.faults)
    return log


def _planned(
    log: Log, budgets: Mapping[str, float], rule: Rule, radii: Confidence, lent: Lent
) -> Fit:
    initial = _lent_initial(log, lent.initial) if rule.initial is None else rule.initial
    return fit(
        log,
        budgets,
        rule.algorithm,
        rule.delta,
        radii,
        rule.rho,
        initial,
        lent.allowed,
        rule.stationary,
        rule.steps,
        rule.more,
    )


def _advice(reading: Reading, error: LogError) -> str:
    listed = f"all are in {reading.bad}" if reading.bad is not None else "--bad FILE lists all"
    units = "--range NAME=LOW:HIGH declares other units, " if "[0, 1]" in str(error) else ""
    return f"{units}--skip-bad leaves their episodes out, {listed}"


def _lent_initial(log: Log, initial: Any) -> Any:
    """The start of the lent model; nobody starts in the state of ended episodes."""
    if initial is None or log.end is None:
        return initial
    return [*initial, 0.0]


@contextmanager
def _made(folder: Path | None) -> Iterator[None]:
    """A folder to write into, taken back if nothing comes of it."""
    if folder is None:
        yield
        return
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder}: cannot be written: it is no directory")
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # what is not empty stays
            for path in new:
                path.rmdir()
        raise


def _write(folder: Path, found: Fit, data: dict[str, Any]) -> list[Path]:
    """The policy as arrays and as a table, the learner, and the summary with the bounds."""
    paths = [folder / name for name in ("policy.npz", "policy.csv", "learner.npz", "fit.json")]
    names = names_of(found.model)
    save_plan(paths[0], found.plan, found.model.budget, names)
    put(paths[1], _policy_table(found))
    found.learner.save(paths[2])
    put(paths[3], (json.dumps(data, indent=2) + "\n").encode())
    return paths


def _policy_table(found: Fit) -> bytes:
    """One row for each action that the policy takes, with how often the log has it there."""
    log, policy, visits = found.log, found.plan.policy, found.coverage.visits
    reached = found.plan.occupancy.sum(axis=2)
    return _csv(
        ("stage", "state", "action", "probability", "reached_as_planned", "visits_in_log"),
        (
            (
                h,
                log.state_names[s],
                log.action_names[a],
                f"{policy[h, s, a]:.6g}",
                f"{reached[h, s]:.6g}",
                visits[h, s, a],
            )
            for h, s, a in zip(*policy.nonzero(), strict=True)
            if log.end is None or s != log.end.state
        ),
    )


def _write_faults(path: Path, faults: Iterable[Sequence[Any]]) -> None:
    put(path, _csv(("place", "episode", "fault"), faults))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (columns, *rows):
        writer.writerow([escape_cell(each) if isinstance(each, str) else each for each in row])
    return text.getvalue().encode()
