"""Logs on the command line: the options that say how one is read, and what is shown of it."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.cli.names import names_in, start_in
from tightrope.cli.screen import columns_table, require_folder, say
from tightrope.cli.source import (
    advise_form,
    columns_of,
    ranges_of,
    step_range,
    values_of,
    whole_model,
)
from tightrope.errors import ConfigError, DataError, LogError
from tightrope.files import put
from tightrope.model.start import is_learned
from tightrope.model.units import Range
from tightrope.offline.fit import Coverage
from tightrope.offline.log import Log
from tightrope.offline.read import read_log
from tightrope.progress import working
from tightrope.text import counted, escape_cell

MOST = 12  # stages, pairs and states that are listed; JSON contains all
IN_RANGE = "expected a number in ["
MANY = 0.5  # share of bad episodes from which on leaving them out is no advice


@dataclass(frozen=True)
class Reading:
    """How a log is read, as given on the command line."""

    horizon: int | None = None
    budgets: Sequence[str] | None = None
    ranges: Sequence[str] | None = None
    model: str | None = None
    states: str | None = None
    actions: str | None = None
    terminal: Sequence[str] | None = None
    initial: str | None = None
    stationary: bool = False
    columns: Sequence[str] | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_bad: bool = False
    bad: Path | None = None

    def check(self) -> None:
        """Raise unless the file for faults can be written."""
        if self.bad is not None:
            if self.bad.suffix.lower() != ".csv":
                raise ConfigError.about("--bad", shown=str(self.bad), expected="a .csv file")
            require_folder(self.bad)


class Opened(NamedTuple):
    """A log, and further facts about its process."""

    log: Log
    budgets: dict[str, float]
    initial: Any
    allowed: Any


class Lent(NamedTuple):
    """Settings of a log that a model file provides."""

    horizon: int | None
    states: Sequence[str] | None
    actions: Sequence[str] | None
    ranges: Mapping[str, Range]
    budgets: Mapping[str, float]
    initial: Any
    allowed: Any


def open_log(file: Path, reading: Reading) -> Opened:
    """Read a log; write its faults to the file of ``--bad``, even if it cannot be used."""
    reading.check()
    lent = lent_by(reading.model)
    budgets = {**lent.budgets, **values_of("--budget", reading.budgets or [])}
    try:
        with working(f"reading {file.name}"):
            log = read_log(
                file,
                lent.horizon if reading.horizon is None else reading.horizon,
                list(budgets),
                {**lent.ranges, **ranges_of(reading.ranges or [])},
                names_in("--states", reading.states) or lent.states,
                names_in("--actions", reading.actions) or lent.actions,
                reading.terminal or [],
                reading.skip_bad,
                columns_of(reading.columns or []),
                reading.decimal,
                reading.encoding,
            )
    except LogError as error:
        if reading.bad is not None:
            _write_faults(reading.bad, error.faults)
        raise error.with_message(_advise(error, reading.bad)) from error
    except DataError as error:
        raise error.with_message(advise_form(error)) from error
    if reading.bad is not None:
        _write_faults(reading.bad, log.faults)
    start = lent.initial
    if reading.initial is not None:
        start = start_in("--initial", reading.initial, log.state_names)
        if is_learned(start) and start not in log.state_names:
            start = None  # from the log
    if reading.initial is None and start is not None and log.end is not None:
        start = [*start, 0.0]  # no episode starts in the terminal state
    return Opened(log, budgets, start, lent.allowed)


def _advise(error: LogError, bad: Path | None) -> str:
    """Return the message of an error of a log with the options that help."""
    text = advise_form(error)
    if error.argument == "decimal":
        return text
    if error.argument is not None and error.argument.startswith("range of"):
        return re.sub(
            r"such as (.*) if these",
            lambda found: (
                " ".join(
                    ("such as", *(f"--range {shlex.quote(each)}" for each in found[1].split(", ")))
                )
                + " if these"
            ),
            text,
        )
    return f"{text}; {_advice(error, bad)}"


def _advice(error: LogError, bad: Path | None) -> str:
    has_range = any(IN_RANGE in message for _, _, message in error.faults)
    units = "--range NAME=LOW:HIGH declares another range; " if has_range else ""
    listed = f"all are in {bad}" if bad is not None else "--bad FILE lists all"
    if error.n_bad > MANY * error.n_episodes:
        share = f"{error.n_bad} of {error.n_episodes} episodes have faults"
        return f"{units}{share}, so check how the log was written first; {listed}"
    return f"{units}--skip-bad leaves their episodes out, {listed}"


def _write_faults(path: Path, faults: Iterable[Sequence[Any]]) -> None:
    put(path, csv_bytes(("place", "episode", "fault"), faults))


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a CSV file; text that a spreadsheet would compute is escaped."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (columns, *rows):
        writer.writerow([escape_cell(each) if isinstance(each, str) else each for each in row])
    return text.getvalue().encode()


def lent_by(word: str | None) -> Lent:
    """Return names, horizon, ranges, budgets, start and actions of a model, not its kernel."""
    if word is None:
        return Lent(None, None, None, {}, {}, None, None)
    cmdp = whole_model("--model", word)
    constraints = dict(zip(cmdp.constraint_names, cmdp.constraint_units, strict=True))
    for name, unit in constraints.items():
        if unit.is_maximized:
            more = f" has a floor on {name!r}; a log has budgets only"
            raise ConfigError.about("--model", shown=word, more=more)
    units = {"reward" if cmdp.cost_unit.is_maximized else "cost": cmdp.cost_unit, **constraints}
    return Lent(
        cmdp.horizon,
        cmdp.state_names,
        cmdp.action_names,
        {name: step_range(unit, cmdp.horizon) for name, unit in units.items()},
        dict(zip(cmdp.constraint_names, cmdp.budget.tolist(), strict=True)),
        cmdp.initial,
        np.array(cmdp.allowed),
    )


def show_log(name: str, log: Log, seen: Coverage) -> None:
    """Print the contents of a log, the excluded episodes and missing coverage."""
    whole = log.n_states - (log.end is not None)
    form = "one episode per line" if log.layout == "episodes" else "one step per row"
    say(
        f"{name}: {counted(log.n_episodes, 'episode')} of {counted(log.horizon, 'step')} ({form}), "
        f"{counted(whole, 'state')}, {counted(log.n_actions, 'action')}",
        style="bold",
    )
    _show_faults(log)
    _show_coverage(log, seen)


def _show_faults(log: Log) -> None:
    if not log.faults:
        return
    faults = counted(len(log.faults), "fault")
    say(f"left out: {counted(log.n_left_out, 'episode')} for {faults}")
    for fault in log.faults[:MOST]:
        episode = f" (episode {fault.episode})" if fault.episode else ""
        say(f"  {log.place} {fault.place}{episode}: {fault.message}")
    if len(log.faults) > MOST:
        say(f"  ... and {len(log.faults) - MOST} more; --bad FILE lists all")


def _show_coverage(log: Log, seen: Coverage) -> None:
    stages, is_by_stage = list(enumerate(seen.visits)), len(seen.visits) == log.horizon
    cells = {
        "stage": [str(h + log.first_step) for h, _ in stages] if is_by_stage else ["all"],
        "states seen": list(map(str, seen.states_seen)),
        "pairs seen": list(map(str, seen.pairs_seen)),
        "actions never tried there": list(map(str, seen.untried)),
        "fewest visits": [_least(visits) for _, visits in stages],
    }
    columns_table({head: each[:MOST] for head, each in cells.items()}, cells)
    if len(stages) > MOST:
        say(f"... and {len(stages) - MOST} more stages; --json lists all")
    pairs = [f"{log.action_names[a]} in {log.state_names[s]}" for s, a in seen.unseen_pairs]
    states = [log.state_names[s] for s in seen.unseen_states]
    _list("never tried at any stage", pairs)
    _list("no action taken in (unreachable, or never visited)", states)


def _least(visits: Any) -> str:
    return str(visits[visits > 0].min()) if visits.any() else "-"


def _list(words: str, names: list[str]) -> None:
    if names:
        more = f", and {len(names) - MOST} more" if len(names) > MOST else ""
        say(f"{words}: {', '.join(names[:MOST])}{more}")


def log_data(name: str, log: Log, seen: Coverage) -> dict[str, Any]:
    """Return the output of `show_log` as plain data."""
    names = log.state_names
    return {
        "log": name,
        "episodes": log.n_episodes,
        "horizon": log.horizon,
        "layout": log.layout,
        "states": list(names),
        "actions": list(log.action_names),
        "left_out": log.n_left_out,
        "faults": [
            {log.place: fault.place, "episode": fault.episode, "fault": fault.message}
            for fault in log.faults
        ],
        "stages": [
            {"states_seen": int(s), "pairs_seen": int(p), "untried": int(u)}
            for s, p, u in zip(seen.states_seen, seen.pairs_seen, seen.untried, strict=True)
        ],
        "never_tried": [[names[s], log.action_names[a]] for s, a in seen.unseen_pairs],
        "never_visited": [names[s] for s in seen.unseen_states],
    }
