"""``tightrope study``: new, ask and status, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import Any

from tightrope.cli.bound import SAYS, bounds_data, shown
from tightrope.cli.learner_words import confidence_of
from tightrope.cli.paths import require_npz
from tightrope.cli.screen import emit, say, table
from tightrope.cli.study_tell import WRITING, count, db_words, terms_data
from tightrope.cli.study_terms import terms_of
from tightrope.cli.words import percent
from tightrope.model import Plan
from tightrope.model.plan_file import AxisNames, save_plan
from tightrope.model.words import digits
from tightrope.plan.bound import KEPT
from tightrope.progress import READY, working
from tightrope.study.study import Answer, Study
from tightrope.study.terms import Terms
from tightrope.study.totals import Total, totals_of

MOST_ROWS = 24  # of a policy in the table; JSON and files have all of it


def make(
    db: str,
    name: str,
    shape: Mapping[str, Any],
    budgets: Sequence[str],
    ranges: Sequence[str],
    like: str | None,
    confidence: Sequence[str],
    how: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Begin a study."""
    terms = terms_of(shape, budgets, ranges, like, confidence_of(confidence), how)
    with working(f"making study {name}") as work:
        work.note = WRITING
        Study.new(db, name, terms)
    if as_json:
        emit({"study": name, "told": 0, **terms_data(terms)})
        return
    say(f"study {name}: {_sizes(terms)}", style="bold")
    say(f"next: tightrope study ask {quote(name)}{db_words(db)}")


def ask(db: str, name: str, file: Path | None, as_json: bool) -> None:
    """Show the next policy, and write it."""
    if file is not None:
        require_npz(file)
    study = Study(db, name)
    terms = study.terms
    with working(f"planning for {name}", "episodes") as work:
        work.note = READY
        answer = study.ask(work.report)
    if file is not None:
        names = AxisNames(terms.states, terms.actions, terms.constraints)
        save_plan(file, answer.plan, terms.scaled_budget, names)
    if as_json:
        emit({"study": name, **_answer_data(terms, answer), "saved": file and str(file)})
        return
    say(f"study {name}: policy {answer.number}, after {count(answer.n_told)}", style="bold")
    _show_answer(terms, answer)
    _show_policy(terms, answer)
    if file is not None:
        say(f"\nwritten: {file}")
    if answer.is_last:
        say(f"\nAll {terms.episodes} episodes were told: this is the last policy, and stays so.")
    else:
        say(f'\nTell its episode with "policy": {answer.number}.', style="dim")


def status(db: str, name: str, as_json: bool) -> None:
    """Show how far a study is."""
    study = Study(db, name)
    terms = study.terms
    with working(f"reading {name}", "episodes") as work:
        answer = study.ask(work.report)
        totals, last = totals_of(study.rows(), terms)
    if as_json:
        emit(
            {
                "study": name,
                "told": answer.n_told,
                **terms_data(terms),
                "last": last and {"episode": last.episode, "told_at": last.told_at},
                "totals": [vars(total) for total in totals],
                "infeasible": answer.n_infeasible,
                "next_policy": {"number": answer.number, **_bounds(terms, answer)},
                "next": _next(db, name, answer),
            }
        )
        return
    say(f"study {name}: {answer.n_told} of {terms.episodes} episodes told", style="bold")
    say(_sizes(terms))
    if last is not None:
        say(f"last: {last.episode}, told {last.told_at}")
        _show_totals(terms, totals)
    if answer.n_infeasible:
        say(f"{answer.n_infeasible} plans could keep the budgets in no model held possible.")
    say(f"\nBy all that was seen, policy {answer.number}:")
    _show_answer(terms, answer)
    say(f"\nnext: {_next(db, name, answer)}")


def _show_answer(terms: Terms, answer: Answer) -> None:
    plan, bounds = answer.plan, shown(answer.bounds, terms.units)
    (cost, *units), prices = terms.units, _prices(terms, plan)
    rows = [[cost.name, digits(cost.show(plan.value)), *map(digits, bounds.cost), "", "", ""]]
    for i, unit in enumerate(units):
        rows.append(
            [
                unit.name,
                digits(unit.show(float(plan.constraint_value[i]))),
                *map(digits, bounds.constraint_cost[i]),
                digits(bounds.budget[i]),
                digits(prices[i]),
                SAYS[bounds.verdicts[i]],
            ]
        )
    marked = [1 + i for i, verdict in enumerate(bounds.verdicts) if verdict != KEPT]
    columns = ["expected sum", "hoped for", "at least", "at most", "budget", "multiplier"]
    table([*columns, "the budget is"], rows, numbers=columns[1:], marked=marked)
    say(bounds.words, style="dim")
    if not plan.is_feasible:
        say("No policy keeps the budgets in any model that is held possible; this one comes near.")


def _show_policy(terms: Terms, answer: Answer) -> None:
    policy, q = answer.plan.policy, answer.plan.occupancy.sum(axis=2)
    places = [(h, s) for h in range(q.shape[0]) for s in range(q.shape[1])]
    shown = sorted(sorted(places, key=lambda at: -q[at])[:MOST_ROWS])
    rows = [
        [
            str(h),
            terms.states[s],
            " / ".join(
                f"{terms.actions[a]} {percent(policy[h, s, a])}"
                for a in range(policy.shape[2])
                if policy[h, s, a] > 0
            ),
        ]
        for h, s in shown
    ]
    table(["step", "state", "play"], rows, numbers=("step",))
    if len(places) > MOST_ROWS:
        say(f"... the likeliest {MOST_ROWS} of {len(places)} places; --json and --save have all")


def _show_totals(terms: Terms, totals: Sequence[Total]) -> None:
    budgets = ["", *(digits(budget) for budget in terms.budget.values())]
    rows = [
        [total.name, digits(total.mean), _margin(total), budget]
        for total, budget in zip(totals, budgets, strict=True)
    ]
    columns = ["sum of an episode", "mean so far", "95%", "budget"]
    table(columns, rows, numbers=columns[1:])


def _margin(total: Total) -> str:
    return f"+- {digits(total.margin, 3)}" if isfinite(total.margin) else "unknown"


def _answer_data(terms: Terms, answer: Answer) -> dict[str, Any]:
    plan = answer.plan
    return {
        "number": answer.number,
        "told": answer.n_told,
        "episodes": terms.episodes,
        "last": answer.is_last,
        "algorithm": terms.algorithm,
        "states": list(terms.states),
        "actions": list(terms.actions),
        "policy": plan.policy.tolist(),
        **_bounds(terms, answer),
    }


def _bounds(terms: Terms, answer: Answer) -> dict[str, Any]:
    plan, (cost, *units) = answer.plan, terms.units
    hoped = {
        "cost": cost.show(plan.value),
        "constraints": {
            unit.name: unit.show(value)
            for unit, value in zip(units, plan.constraint_value.tolist(), strict=True)
        },
    }
    return {
        "hoped": hoped,
        "multipliers": dict(zip(terms.constraints, _prices(terms, plan), strict=True)),
        "feasible": plan.is_feasible,
        "bounds": bounds_data(shown(answer.bounds, terms.units), terms.constraints),
    }


def _prices(terms: Terms, plan: Plan) -> list[float]:
    """The multipliers in the units of the cost, for one unit of each constraint."""
    cost, *units = terms.units
    pairs = zip(plan.multiplier.tolist(), units, strict=True)
    return [price * cost.factor / unit.factor for price, unit in pairs]


def _sizes(terms: Terms) -> str:
    budgets = ", ".join(f"{name} <= {digits(value)}" for name, value in terms.budget.items())
    return (
        f"{len(terms.states)} states, {len(terms.actions)} actions, {terms.horizon} steps; "
        f"{budgets or 'no budgets'}; {terms.algorithm} for {count(terms.episodes)}"
    )


def _next(db: str, name: str, answer: Answer) -> str:
    if answer.is_last:
        return "all episodes were told; a new study can take more"
    ask = f"tightrope study ask {quote(name)}{db_words(db)}"
    return f"{ask}, play policy {answer.number}, tell what happened"
