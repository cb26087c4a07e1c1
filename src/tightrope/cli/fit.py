"""``tightrope fit``: a policy with bounds from a log, and a learner that can continue."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.cli.learner_options import confidence_of
from tightrope.cli.names import names_in
from tightrope.cli.policy import check_policy_words, show_policy
from tightrope.cli.screen import columns_table, emit, percent, require_folder, say
from tightrope.cli.source import ranges_of, step_range, values_of, whole_model
from tightrope.errors import ConfigError, InfeasibleError, LogError, StoreError
from tightrope.files import make_folder, put
from tightrope.model.plan import names_of, save_plan
from tightrope.model.units import Range
from tightrope.offline.fit import EMPIRICAL, Coverage, Fit, fit, seen_in
from tightrope.offline.log import Log, read_log
from tightrope.progress import working
from tightrope.text import digits, escape_cell

MOST = 12  # stages, pairs and states that are listed; JSON contains all
HOPE = (
    "optimistic values, which drive exploration; they may be better than is possible and are no "
    "estimates"
)
SAYS = {
    "kept": "certainly kept",
    "broken": "certainly exceeded",
    "undecided": "not decided by the log",
}


class Reading(NamedTuple):
    """How the log is read, as given on the command line."""

    horizon: int | None
    budgets: Sequence[str]
    ranges: Sequence[str]
    model: str | None
    states: str | None
    actions: str | None
    terminal: Sequence[str]
    skip_bad: bool
    bad: Path | None


class Lent(NamedTuple):
    """Settings of a log that a model file provides."""

    horizon: int | None
    states: Sequence[str] | None
    actions: Sequence[str] | None
    ranges: Mapping[str, Range]
    budgets: Mapping[str, float]
    initial: Any
    allowed: Any


def run(
    file: Path,
    reading: Reading,
    confidence: Sequence[str],
    initial: str | None,
    how: Mapping[str, Any],
    folder: Path | None,
    rows: str,
    as_json: bool,
) -> None:
    """Fit a log, show the result, and write it to a directory; ``how`` has options of `fit`."""
    is_full = check_policy_words(rows)
    radii = confidence_of(confidence)
    if reading.bad is not None:
        if reading.bad.suffix.lower() != ".csv":
            raise ConfigError(f"--bad {reading.bad}: expected a name that ends in .csv")
        require_folder(reading.bad)
    lent = lent_by(reading.model)
    budgets = {**lent.budgets, **values_of("--budget", reading.budgets)}
    log = _read(file, reading, lent, list(budgets))
    start = lent.initial if initial is None else initial
    if initial is None and start is not None and log.end is not None:
        start = [*start, 0.0]  # no episode starts in the terminal state
    with _making(folder):
        try:
            with working(f"planning by {how['algorithm']}"):
                found = fit(
                    log, budgets, confidence=radii, initial=start, allowed=lent.allowed, **how
                )
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
    show_log(file.name, log, found.coverage)
    _show_starts(found)
    _show_plan(found)
    reached = found.plan.occupancy.copy()
    if log.end is not None:
        reached[:, log.end.state] = 0.0  # a finished episode needs no action
    show_policy(found.plan.policy, reached, log.state_names, log.action_names, is_full)
    if written:
        say(f"\nwritten: {', '.join(map(str, written))}")


def _read(file: Path, reading: Reading, lent: Lent, constraints: Sequence[str]) -> Log:
    """Read the log; write its faults to the file of ``--bad``, even if it cannot be used."""
    try:
        with working(f"reading {file.name}"):
            log = read_log(
                file,
                lent.horizon if reading.horizon is None else reading.horizon,
                constraints,
                {**lent.ranges, **ranges_of(reading.ranges)},
                names_in("--states", reading.states) or lent.states,
                names_in("--actions", reading.actions) or lent.actions,
                reading.terminal,
                reading.skip_bad,
            )
    except LogError as error:
        if reading.bad is not None:
            _write_faults(reading.bad, error.faults)
        units = "--range NAME=LOW:HIGH declares other units, " if "[0, 1]" in str(error) else ""
        listed = f"all are in {reading.bad}" if reading.bad is not None else "--bad FILE lists all"
        advice = f"{units}--skip-bad leaves their episodes out, {listed}"
        raise error.with_message(f"{error}; {advice}") from error
    if reading.bad is not None:
        _write_faults(reading.bad, log.faults)
    return log


@contextmanager
def _making(folder: Path | None) -> Iterator[None]:
    """Make a directory within a context, removed on failure if empty."""
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
        with suppress(OSError):  # only if empty
            for path in new:
                path.rmdir()
        raise


def _write(folder: Path, found: Fit, data: dict[str, Any]) -> list[Path]:
    """Write the policy as arrays and as a table, the learner, and the summary with the bounds."""
    paths = [folder / name for name in ("policy.npz", "policy.csv", "learner.npz", "fit.json")]
    names = names_of(found.model)
    save_plan(paths[0], found.plan, found.model.budget, names)
    put(paths[1], _policy_table(found))
    found.learner.save(paths[2])
    put(paths[3], (json.dumps(data, indent=2) + "\n").encode())
    return paths


def _policy_table(found: Fit) -> bytes:
    """Return one row per action that the policy takes, with its count in the log."""
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


def lent_by(word: str | None) -> Lent:
    """Return names, horizon, ranges, budgets, start and actions of a model, not its kernel."""
    if word is None:
        return Lent(None, None, None, {}, {}, None, None)
    cmdp = whole_model("--model", word)
    constraints = dict(zip(cmdp.constraint_names, cmdp.constraint_units, strict=True))
    for name, unit in constraints.items():
        if unit.is_maximized:
            raise ConfigError(f"--model {word}: {name!r} has a floor; a log has budgets only")
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
        f"{name}: {len(log.scaled)} episodes of {log.horizon} steps ({form}), "
        f"{whole} states, {log.n_actions} actions",
        style="bold",
    )
    _show_faults(log)
    _show_coverage(log, seen)


def _show_faults(log: Log) -> None:
    if not log.faults:
        return
    say(f"left out: {log.n_left_out} episodes for {len(log.faults)} faults")
    for fault in log.faults[:MOST]:
        episode = f" (episode {fault.episode})" if fault.episode else ""
        say(f"  {log.place} {fault.place}{episode}: {fault.message}")
    if len(log.faults) > MOST:
        say(f"  ... and {len(log.faults) - MOST} more; --bad FILE lists all")


def _show_starts(found: Fit) -> None:
    starts, names = found.model.initial, found.log.state_names
    likeliest = sorted(starts.nonzero()[0], key=lambda s: -starts[s])[:3]
    shown = ", ".join(f"{names[s]} {percent(float(starts[s]))}" for s in likeliest)
    more = ", ..." if (starts > 0).sum() > 3 else ""
    doubt = digits(found.start_doubt, 2)
    room = f"; the bounds allow for {doubt} in L1" if found.start_doubt else ""
    if room and starts.max() == 1:
        room += " (none with --initial)"
    say(f"starts: {shown}{more}{room}")


def _show_coverage(log: Log, seen: Coverage) -> None:
    stages = list(enumerate(seen.visits))
    cells = {
        "stage": [str(h) for h, _ in stages],
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
    _list("never acted in (unreachable, or missed: the log cannot tell)", states)


def _least(visits: Any) -> str:
    return str(visits[visits > 0].min()) if visits.any() else "-"


def _list(words: str, names: list[str]) -> None:
    if names:
        more = f", and {len(names) - MOST} more" if len(names) > MOST else ""
        say(f"{words}: {', '.join(names[:MOST])}{more}")


def _show_plan(found: Fit) -> None:
    plan, log, learner = found.plan, found.log, found.learner
    if plan.method == EMPIRICAL:
        say("\ncertainty-equivalence: planned in the estimated model, with tried actions only")
    else:
        say(f"\n{plan.method}, {learner.confidence.words}: planned in the most optimistic model")
    if not plan.is_feasible:
        say("the budgets are infeasible in every such model; the violation is minimized")
    sums = _sums(found)
    cells = {
        "expected sum": [each["name"] for each in sums],
        "as planned": [digits(each["planned"]) for each in sums],
        "at least": [digits(each["lower"]) for each in sums],
        "at most": [digits(each["upper"]) for each in sums],
        "budget": ["", *(f"<= {digits(each['budget'])}" for each in sums[1:])],
        "the budget is": ["", *(SAYS[each["verdict"]] for each in sums[1:])],
    }
    if not log.constraint_names:
        del cells["budget"], cells["the budget is"]
    columns_table(cells, list(cells)[1:5])
    if plan.method != EMPIRICAL:
        say(f"as planned: {HOPE}")
    say(found.bounds.words)


def _sums(found: Fit) -> list[dict[str, Any]]:
    """Return planned value, bounds and budget of the cost and of each constraint."""
    units = (found.log.cost_unit, *found.log.constraint_units)
    values = (found.plan.value, *found.plan.constraint_value.tolist())
    bounds = found.bounds
    ends = (bounds.cost, *bounds.constraint_cost)
    limits, verdicts = (None, *bounds.budget.tolist()), (None, *bounds.verdicts)
    return [
        {
            "name": unit.name,
            "planned": value,
            "lower": float(low),
            "upper": float(high),
            "budget": limit,
            "verdict": verdict,
        }
        for unit, value, (low, high), limit, verdict in zip(
            units, values, ends, limits, verdicts, strict=True
        )
    ]


def fit_data(name: str, found: Fit) -> dict[str, Any]:
    """Return the fit as plain data."""
    names = found.log.state_names
    return {
        **log_data(name, found.log, found.coverage),
        "starts": {names[s]: float(p) for s, p in enumerate(found.model.initial) if p > 0},
        "start_doubt": found.start_doubt,
        "algorithm": found.plan.method,
        "confidence": found.learner.confidence.words,
        "delta": found.bounds.delta,
        "guaranteed": not found.bounds.is_heuristic,
        "feasible": found.plan.is_feasible,
        "planned_is_hope": found.plan.method != EMPIRICAL,
        "sums": _sums(found),
    }


def log_data(name: str, log: Log, seen: Coverage) -> dict[str, Any]:
    """Return the output of `show_log` as plain data."""
    names = log.state_names
    return {
        "log": name,
        "episodes": len(log.scaled),
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
