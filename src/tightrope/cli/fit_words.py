"""What ``tightrope fit`` says: what was seen, what never was, the plan and its bounds."""

from __future__ import annotations

from typing import Any

from tightrope.cli.screen import say, table
from tightrope.cli.words import percent
from tightrope.model import Unit
from tightrope.offline.fit import EMPIRICAL, Fit
from tightrope.offline.log import Coverage, Log
from tightrope.text import digits

MOST = 12  # stages, pairs and states that are listed; JSON has them all
HOPE = (
    "what the learner hopes for at best, which makes it try things, and may be better than is "
    "possible; it is no estimate"
)
SAYS = {"kept": "surely kept", "broken": "surely broken", "undecided": "not decided by the log"}


def show_fit(name: str, found: Fit) -> None:
    """Print what came of a log."""
    show_log(name, found.log, found.coverage)
    _show_starts(found)
    _show_plan(found)


def show_log(name: str, log: Log, seen: Coverage) -> None:
    """Print what a log has, what was left out of it, and what it never shows."""
    whole = log.n_states - (log.end is not None)
    form = "one episode a line" if log.layout == "episodes" else "one step a row"
    say(
        f"{name}: {len(log.episodes)} episodes of {log.horizon} steps ({form}), "
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
    rows = [
        [str(h), str(states), str(pairs), str(untried), _least(seen.visits[h])]
        for h, (states, pairs, untried) in enumerate(
            zip(seen.states_seen, seen.pairs_seen, seen.untried, strict=True)
        )
    ]
    columns = ["stage", "states seen", "pairs seen", "actions never tried there", "fewest visits"]
    table(columns, rows[:MOST], numbers=columns)
    if len(rows) > MOST:
        say(f"... and {len(rows) - MOST} more stages; --json lists all")
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
        say("\ncertainty-equivalence: planned in the averages, only with actions that were tried")
    else:
        say(f"\n{plan.method}, {learner.confidence.words}: planned in the best model that may be")
    if not plan.is_feasible:
        say("no policy keeps the budgets in any such model; violation was made least")
    columns = ["expected sum", "as planned", "at least", "at most", "budget", "the budget is"]
    rows = []
    for row in _sums(found):
        budget = "" if row["budget"] is None else f"<= {digits(row['budget'])}"
        numbers = [digits(row[key]) for key in ("planned", "lower", "upper")]
        rows.append([row["name"], *numbers, budget, SAYS.get(row["verdict"], "")])
    if not log.constraint_names:
        columns, rows = columns[:-2], [row[:-2] for row in rows]
    table(columns, rows, numbers=columns[1:5])
    if plan.method != EMPIRICAL:
        say(f"as planned: {HOPE}")
    say(found.bounds.words)


def _sums(found: Fit) -> list[dict[str, Any]]:
    """Planned value, bounds and budget of the cost and of each constraint, in the log's units."""
    log, plan, bounds = found.log, found.plan, found.bounds
    units = [log.cost_unit, *log.constraint_units]
    values = [plan.value, *plan.constraint_value.tolist()]
    ends = [bounds.cost, *bounds.constraint_cost]
    budgets: list[Any] = [None, *bounds.budget.tolist()]
    verdicts = [None, *bounds.verdicts]
    return [
        _sum(unit, value, pair.tolist(), budget, verdict)
        for unit, value, pair, budget, verdict in zip(
            units, values, ends, budgets, verdicts, strict=True
        )
    ]


def _sum(
    unit: Unit, value: float, ends: list[float], budget: float | None, verdict: str | None
) -> dict[str, Any]:
    low, high = sorted(unit.show(end) for end in ends)
    return {
        "name": unit.name,
        "planned": unit.show(value),
        "lower": low,
        "upper": high,
        "budget": None if budget is None else unit.show(budget),
        "verdict": verdict,
    }


def fit_data(name: str, found: Fit) -> dict[str, Any]:
    """The same as plain data."""
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
    """What `show_log` prints, as plain data."""
    names = log.state_names
    return {
        "log": name,
        "episodes": len(log.episodes),
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
