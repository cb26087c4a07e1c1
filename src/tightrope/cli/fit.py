"""``tightrope fit``: a policy with bounds from a log, and a learner that can continue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tightrope.arrays import Floats
from tightrope.cli.bound import verdict_words
from tightrope.cli.learner_options import confidence_of
from tightrope.cli.log import Reading, csv_bytes, log_data, open_log, show_log
from tightrope.cli.policy import check_policy_words, show_policy
from tightrope.cli.screen import columns_table, emit, percent, say
from tightrope.errors import InfeasibleError, StoreError
from tightrope.files import make_folder, put
from tightrope.model.plan_files import names_of, policy_rows, save_plan
from tightrope.offline.fit import EMPIRICAL, Fit, fit, seen_in
from tightrope.progress import working
from tightrope.show.cards import OPTIMISTIC
from tightrope.text import counted, digits, listed

NEAR = 1e-9  # relative distance from the largest possible sum at which a bound says nothing


def run(
    file: Path,
    reading: Reading,
    confidence: Sequence[str],
    how: Mapping[str, Any],
    folder: Path | None,
    rows: str,
    as_json: bool,
) -> None:
    """Fit a log, show the result, and write it to a directory; ``how`` has options of `fit`."""
    is_full = check_policy_words(rows)
    radii = confidence_of(confidence)
    log, budgets, start, allowed = open_log(file, reading)
    stationary = reading.stationary
    with _making(folder):
        try:
            with working(f"planning from {file.name}"):
                found = fit(
                    log,
                    budgets,
                    confidence=radii,
                    initial=start,
                    allowed=allowed,
                    stationary=stationary,
                    **how,
                )
        except InfeasibleError:
            seen = seen_in(log, allowed)
            if stationary and not as_json:
                seen = seen.pooled
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
    show_log(file.name, log, found.coverage.pooled if stationary else found.coverage)
    _show_starts(found)
    _show_plan(found, stationary)
    names = log.state_names, log.action_names
    show_policy(found.plan.choices, _reached(found), *names, is_full, log.first_step)
    if written:
        say(f"\nwritten: {', '.join(map(str, written))}")


@contextmanager
def _making(folder: Path | None) -> Iterator[None]:
    """Make a directory within a context, removed on failure if empty."""
    if folder is None:
        yield
        return
    if folder.exists() and not folder.is_dir():
        raise StoreError(
            f"{folder}: cannot be written: it is not a directory", argument=str(folder)
        )
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


def _reached(found: Fit) -> Floats:
    """Return the probability of each state by stage, (H, S); finished episodes need no action."""
    reached = found.plan.reached.copy()
    if found.log.end is not None:
        reached[:, found.log.end.state] = 0.0
    return reached


def _policy_table(found: Fit) -> bytes:
    """Return one row per action that the policy takes, with its count in the log."""
    log, policy, visits = found.log, found.plan.policy, found.coverage.visits
    reached = found.plan.reached
    return csv_bytes(
        ("stage", "state", "action", "probability", "reached", "visits_in_log"),
        (
            (
                h + log.first_step,
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


def _show_starts(found: Fit) -> None:
    starts, names = found.model.initial, found.log.state_names
    likeliest = sorted(starts.nonzero()[0], key=lambda s: -starts[s])[:3]
    shown = ", ".join(f"{names[s]} {percent(float(starts[s]))}" for s in likeliest)
    more = ", ..." if (starts > 0).sum() > 3 else ""
    radius = digits(found.start_radius, 2)
    is_bounded = found.start_radius > 0 and found.n_planned == found.log.n_episodes
    room = f"; the bounds allow for {radius} in L1" if is_bounded else ""
    if room and starts.max() == 1:
        room += " (none with --initial)"
    say(f"starts: {shown}{more}{room}")


def _show_plan(found: Fit, stationary: bool) -> None:
    plan, log, learner = found.plan, found.log, found.learner
    if plan.method == EMPIRICAL:
        say("\ncertainty-equivalence: planned in the estimated model, with tried actions only")
    else:
        say(f"\n{plan.method}, {learner.confidence.words}: planned in the most optimistic model")
    if found.n_planned < log.n_episodes:
        held = log.n_episodes - found.n_planned
        first = counted(found.n_planned, "episode")
        say(f"planned from the first {first}; the last {held} give the bounds")
    if not plan.is_feasible:
        say("the budgets are infeasible in every such model; the violation is minimized")
    sums = _sums(found)
    cells = {
        "expected sum": [each["name"] for each in sums],
        "now": [digits(each["now"]) for each in sums],
        "as planned": [digits(each["planned"]) for each in sums],
        "at least": [digits(each["lower"]) for each in sums],
        "at most": [digits(each["upper"]) for each in sums],
        "budget": ["", *(f"<= {digits(each['budget'])}" for each in sums[1:])],
        "status": ["", *verdict_words(found.bounds, "not decided by the log")],
    }
    if not log.constraint_names:
        del cells["budget"], cells["status"]
    columns_table(cells, list(cells)[1:6])
    now = listed([f"{digits(each['now'])} {each['name']}" for each in sums])
    planned = listed([f"{digits(each['planned'])} {each['name']}" for each in sums])
    if plan.method == EMPIRICAL:
        say(f"now {now} per episode, on average over the log; the plan {planned}, as estimated")
    else:
        say(f"now {now} per episode, on average over the log")
        say(f"as planned: {OPTIMISTIC}")
    ends = [
        f"{digits(each['now_lower'])} to {digits(each['now_upper'])} {each['name']}"
        for each in sums
    ]
    say(f"the policies of the log: {listed(ends)}; {found.average.words}")
    say(f"at least, at most: {found.bounds.words}")
    if not found.bounds.is_heuristic:
        both = max(0.0, 1 - 2 * found.bounds.delta)
        say(f"both statements together are true with probability at least {both:g}")
    empty = [each["name"] for each in sums if each["is_empty"]]
    if empty:
        say(
            f"the data do not narrow the bounds on {listed(empty)}: they are the limits that hold "
            "without data"
        )
        say(f"ways to narrow them: {'; '.join(_help(found, stationary))}")


def _help(found: Fit, stationary: bool) -> list[str]:
    """Return what makes bounds narrower."""
    helps = []
    if found.n_planned == found.log.n_episodes:
        helps.append("--hold-out 0.5, to bound this policy alone with half of the episodes")
    if not stationary:
        helps.append("--stationary, if transitions and costs are the same at every step")
    helps.append("episodes that take the actions of the policy more often")
    return helps


def _sums(found: Fit) -> list[dict[str, Any]]:
    """Return the mean of the log, the plan, bounds and budget of the cost and each constraint."""
    units = (found.log.cost_unit, *found.log.constraint_units)
    values = (found.plan.value, *found.plan.constraint_value.tolist())
    bounds, average = found.bounds, found.average
    ends = (bounds.cost, *bounds.constraint_cost)
    played = (average.cost, *average.constraint_cost)
    limits, verdicts = (None, *bounds.budget.tolist()), (None, *bounds.verdicts)
    sums = []
    for k, unit in enumerate(units):
        low, high = map(float, ends[k])
        worst = float(unit.show(float(bounds.horizon)))
        bad = low if unit.is_maximized else high
        sums.append(
            {
                "name": unit.name,
                "now": float(found.log.mean_totals[k]),
                "now_lower": float(played[k][0]),
                "now_upper": float(played[k][1]),
                "planned": values[k],
                "lower": low,
                "upper": high,
                "is_empty": abs(bad - worst) <= NEAR * bounds.horizon * unit.size,
                "budget": limits[k],
                "verdict": verdicts[k],
            }
        )
    return sums


def fit_data(name: str, found: Fit) -> dict[str, Any]:
    """Return the fit as plain data."""
    names, axes = found.log.state_names, names_of(found.model)
    return {
        **log_data(name, found.log, found.coverage),
        "starts": {names[s]: float(p) for s, p in enumerate(found.model.initial) if p > 0},
        "start_radius": found.start_radius,
        "algorithm": found.plan.method,
        "confidence": found.learner.confidence.words,
        "delta": found.bounds.delta,
        "guaranteed": not found.bounds.is_heuristic,
        "scope": found.bounds.scope,
        "planned_from": found.n_planned,
        "feasible": found.plan.is_feasible,
        "planned_is_optimistic": found.plan.method != EMPIRICAL,
        "sums": _sums(found),
        "policy": list(policy_rows(found.plan, axes, _reached(found), found.log.first_step)),
    }
