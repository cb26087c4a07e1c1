"""``tightrope solve``: the optimal plan as text, JSON, figure or file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from tightrope.cli.policy import check_policy_words, mixture, show_policy
from tightrope.cli.screen import emit, percent, require_figure, require_plan_file, say, table
from tightrope.cli.source import Source
from tightrope.errors import ConfigError
from tightrope.model import Model, Plan, Unit
from tightrope.model.plan_files import names_of, policy_rows
from tightrope.plan.explain import Randomized, Use, find_randomized, kind_of, uses
from tightrope.plan.solve import Method, solve
from tightrope.progress import report_gap, working
from tightrope.text import digits

MOST_ROWS = 12  # of randomized states in the table; JSON contains all


def run(
    source: Source,
    method: str,
    tolerance: float,
    as_json: bool,
    figure: Path | None,
    stage: str,
    file: Path | None,
    policy: str,
    threads: int | None,
) -> None:
    """Solve a model and show the plan."""
    is_full = check_policy_words(policy)
    cmdp = source.load_model()
    shown_stage = _stage(stage, cmdp)
    require_figure(figure)
    if file is not None:
        require_plan_file(file)
    plan = solve_with_progress(source.name, cmdp, method, tolerance, threads)
    if figure is not None:
        from tightrope.show.figures import plan_figure, save

        with working(f"drawing {source.name}"):
            save(plan_figure(cmdp, plan, shown_stage), figure)
    if file is not None:
        plan.save(file)
    if as_json:
        files = {"figure": figure and str(figure), "saved": file and str(file)}
        rows = list(policy_rows(plan, names_of(cmdp)))
        emit({**plan_data(source.name, cmdp, plan), "policy": rows, **files})
        return
    show_plan(source.name, cmdp, plan)
    names, words = (cmdp.state_names, cmdp.action_names), (cmdp.visits, plan.has_stages)
    show_policy(plan.choices, plan.reached, *names, is_full, 0, None, *words)
    for path in filter(None, (figure, file)):
        say(f"\nwritten: {path}")


def solve_with_progress(
    name: str, cmdp: Model, method: str, tolerance: float, threads: int | None = None
) -> Plan:
    """Compute the optimal plan, with progress."""
    with working(f"solving {name}", "sweeps") as work:
        return solve(cmdp, cast(Method, method), tolerance, report_gap(work, tolerance), threads)


def show_plan(name: str, cmdp: Model, plan: Plan) -> None:
    """Print value, certificate, budgets, prices, and where the plan randomizes."""
    cost = cmdp.cost_unit
    best = "greatest" if cost.is_maximized else "least"
    gap = max(plan.gap, 0.0)
    say(f"{name}: {best} {cmdp.measure} {cost.name} {digits(plan.value)}", style="bold")
    say(f"certified: no feasible policy is better by more than {digits(gap, 2)}")
    _show_budgets(cmdp, uses(cmdp, plan))
    _show_randomized(cmdp, plan, find_randomized(cmdp, plan))


def _show_budgets(cmdp: Model, found: list[Use]) -> None:
    if not found:
        say("\nThe model has no constraints.")
        return
    columns = ["constraint", "value", "budget", "slack", "price", "unit"]
    rows = [
        [use.name, digits(use.used), use.limit, digits(use.slack), digits(use.price), use.unit.name]
        for use in found
    ]
    if all(use.unit.name == use.name for use in found):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    table(columns, rows, numbers=columns[1:5])
    for use in found:
        say(price_in_words(use, cmdp.cost_unit))
    if any(use.is_binding for use in found):
        say("(prices hold near these budgets; tightrope frontier shows their range)", style="dim")


def price_in_words(use: Use, cost: Unit) -> str:
    """Return the effect of raising a budget: "one more unit of 'energy' saves 0.67 euros"."""
    verb = "earn" if cost.is_maximized else "save"
    if use.is_binding:
        gain = f"{verb}s {digits(use.price)} {cost.name}"
        if use.is_shared:
            gain += f", and {verb}s more if other budgets that are used up change too"
        if use.unit.is_maximized:
            return f"lowering the floor of {use.name!r} by one unit {gain}"
        return f"one more unit of {use.name!r} {gain}"
    more = "a lower floor" if use.unit.is_maximized else "more of it"
    if use.is_shared:
        return (
            f"{use.name!r} is used up together with other budgets: {more} alone would {verb} "
            f"nothing, a change of all of them would {verb}"
        )
    if use.slack <= 0:
        return f"{use.name!r} is used up, but {more} would {verb} nothing"
    return f"{use.name!r} is not binding: {more} would {verb} nothing"


def _show_randomized(cmdp: Model, plan: Plan, places: tuple[Randomized, ...]) -> None:
    reached = int(np.count_nonzero(plan.reached))
    where, which = ("places", " (stage and state)") if plan.has_stages else ("states", "")
    if not places:
        say(f"\nThe policy does not randomize: one action in each of {reached} reached {where}.")
        return
    say(f"\nThe policy randomizes in {len(places)} of {reached} reached {where}{which}:")
    likeliest = sorted(places, key=lambda place: -place.reached)[:MOST_ROWS]
    rows = [
        [
            *([str(place.stage)] if plan.has_stages else []),
            cmdp.state_names[place.state],
            mixture(plan.choices.row(place.stage, place.state), cmdp.action_names),
            percent(place.reached) if plan.has_stages else f"{place.reached:.3g}",
            _forced_by(cmdp, place) or "none, either is optimal",
        ]
        for place in sorted(likeliest, key=lambda place: (place.stage, place.state))
    ]
    stage, count = (["stage"], "reached") if plan.has_stages else ([], cmdp.visits)
    table([*stage, "state", "actions", count, "forced by"], rows, numbers=(*stage, count))
    if len(places) > MOST_ROWS:
        say(f"... and {len(places) - MOST_ROWS} less likely ones; --json lists all")


def _forced_by(cmdp: Model, place: Randomized) -> str | None:
    return None if place.constraint is None else cmdp.constraint_names[place.constraint]


def plan_data(name: str, cmdp: Model, plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data."""
    cost = cmdp.cost_unit
    return {
        "model": name,
        "method": plan.method,
        "sweeps": plan.sweeps,
        "value": plan.value,
        "unit": cost.name,
        "maximized": cost.is_maximized,
        "gap": plan.gap,
        "constraints": [
            {
                "name": use.name,
                "unit": use.unit.name,
                "kind": kind_of(use.unit),
                "value": use.used,
                "budget": use.bound,
                "slack": use.slack,
                "multiplier": multiplier,
                "saving": use.price,
                "binding": use.is_binding,
                "words": price_in_words(use, cost),
            }
            for use, multiplier in zip(uses(cmdp, plan), plan.multiplier.tolist(), strict=True)
        ],
        "randomized": [
            {
                **({"stage": place.stage} if plan.has_stages else {}),
                "state": cmdp.state_names[place.state],
                "reached" if plan.has_stages else "visits": place.reached,
                "actions": {
                    cmdp.action_names[a]: share
                    for a, share in zip(place.actions, place.shares, strict=True)
                },
                "forced_by": _forced_by(cmdp, place),
            }
            for place in find_randomized(cmdp, plan)
        ],
    }


def _stage(word: str, cmdp: Model) -> int | None:
    if word == "average":
        return None
    if cmdp.layout is None:
        more = ", but the model has no map, its picture shows every stage"
        raise ConfigError.about("--stage", shown=word, more=more)
    if cmdp.criterion != "episodes":
        raise ConfigError.about("--stage", shown=word, more=", but the model has no horizon")
    if not word.isdecimal() or int(word) >= cmdp.n_stages:
        expected = f"'average' or a stage from 0 to {cmdp.n_stages - 1}"
        raise ConfigError.about("--stage", shown=word, expected=expected)
    return int(word)
