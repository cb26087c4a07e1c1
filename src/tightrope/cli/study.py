"""``tightrope study``: new, ask, tell and status, as text and as JSON.

Telling does not load compiled code, so it is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from tightrope.belief.confidence import Confidence
from tightrope.cli.names import names_in, number_in, start_in
from tightrope.cli.policy import check_policy_words, show_policy
from tightrope.cli.screen import emit, require_folder, require_plan_file, say, table
from tightrope.cli.source import (
    advise_form,
    columns_of,
    ranges_of,
    step_range,
    values_of,
    whole_model,
)
from tightrope.cli.study_app import DEFAULT
from tightrope.errors import ConfigError, DataError, ModelError, StoreError
from tightrope.model import CMDP
from tightrope.model.plan_files import AxisNames, policy_rows, read_policy, save_plan
from tightrope.model.start import LEARNED, is_learned
from tightrope.progress import working
from tightrope.study.advice import Advice, Plays
from tightrope.study.answer import Answer
from tightrope.study.database import Database
from tightrope.study.study import Study
from tightrope.study.telling import Told, Written, told_in
from tightrope.study.terms import COST, Terms, names_of, position
from tightrope.study.totals import Total, totals_of
from tightrope.text import counted, digits

SLACK = 1e-6  # by which planned values may be below lower bounds, for rounding
ESTIMATED = "values in the estimated model, with tried actions only"
WRITING = "waiting for other writers, then writing"


def make(
    db: str,
    name: str,
    shape: Mapping[str, Any],
    budgets: Sequence[str],
    ranges: Sequence[str],
    model: str | None,
    confidence: Sequence[str],
    how: Mapping[str, Any],
    own: tuple[str | None, Sequence[str]],
    as_json: bool,
) -> None:
    """Create a study."""
    from tightrope.cli.learner_options import confidence_of

    word, uses = own
    terms = terms_of(shape, budgets, ranges, model, confidence_of(confidence), how)
    if word is not None or uses:
        terms = _with_baseline(terms, word, uses)
    elif "baseline" not in terms.options and _has_baseline(terms.algorithm):
        more = f"missing; {terms.algorithm} needs a policy of yours: a file (.npz), or uniform"
        raise ConfigError.about("--safe", more=more)
    with working(f"creating study {name}") as work:
        work.note = WRITING
        Study.new(db, name, terms)
    if as_json:
        emit({"study": name, "told": 0, **terms_data(terms)})
        return
    say(f"study {name}: {_sizes(terms)}", style="bold")
    say(f"stored in {Database(db).name}")
    say(f"next: tightrope study ask {quote(name)}{db_words(db)}")


def ask(db: str, name: str, file: Path | None, rows: str, as_json: bool) -> None:
    """Show the next policy, and write it."""
    is_full = check_policy_words(rows)
    if file is not None:
        require_plan_file(file)
    study = Study(db, name)
    terms = study.terms
    with working(f"planning for {name}", "episodes") as work:
        answer = study.ask(work.report)
    if file is not None:
        names = AxisNames(terms.states, terms.actions, terms.constraints)
        save_plan(file, answer.plan, list(terms.budget.values()), names)
    if as_json:
        emit({"study": name, **_answer_data(terms, answer), "saved": file and str(file)})
        return
    say(f"study {name}: policy {answer.number}, after {count(answer.n_told)}", style="bold")
    _show_answer(terms, answer)
    plan = answer.plan
    parts = (None, None) if _is_baseline(answer) else (plan.reached, answer.is_undecided)
    labels = terms.states, terms.actions
    show_policy(plan.choices, parts[0], *labels, is_full, undecided=parts[1])
    if file is not None:
        say(f"\nwritten: {file}")
    if answer.is_last:
        say(f"\nAll {count(terms.episodes)} were told: this is the last policy.")
    else:
        say(f'\nTell its episode with "policy": {answer.number}.', style="dim")


def tell(
    db: str,
    name: str,
    files: Sequence[Path],
    columns: Sequence[str],
    decimal: str | None,
    encoding: str | None,
    as_json: bool,
) -> None:
    """Record episodes."""
    study = Study(db, name)
    written = Written(columns_of(columns), decimal, encoding)
    with working(f"telling {name}", "episodes") as work:

        def count_told() -> Iterator[Told]:
            for k, told in enumerate(told_in(files, study.terms, written), 1):
                work.report(k)
                yield told
            work.note = WRITING

        try:
            receipt = study.tell(count_told())
        except DataError as error:
            raise error.with_message(advise_form(error)) from error
    if as_json:
        parts = {"new": receipt.n_new, "known": receipt.n_known, "told": receipt.n_told}
        emit({"study": name, **parts, "episodes": study.terms.episodes})
        return
    known = f", {receipt.n_known} were told before" if receipt.n_known else ""
    say(f"study {name}: {count(receipt.n_new)} recorded{known}")
    say(f"told so far: {receipt.n_told} of {study.terms.episodes}", style="dim")


def export(db: str, name: str, path: Path, as_json: bool) -> None:
    """Write the episodes to a file."""
    require_folder(path)
    n = Study(db, name).export(path)
    if as_json:
        emit({"study": name, "episodes": n, "written": str(path)})
        return
    say(f"study {name}: {count(n)} written to {path}")


def undo(db: str, name: str, as_json: bool) -> None:
    """Remove the last episode."""
    study = Study(db, name)
    episode = study.undo()
    if as_json:
        emit({"study": name, "removed": episode, "told": study.n_told})
        return
    say(f"study {name}: episode {episode} removed, {count(study.n_told)} left")


def rename(db: str, name: str, new_name: str, as_json: bool) -> None:
    """Rename a study."""
    Study(db, name).rename(new_name)
    if as_json:
        emit({"study": new_name, "before": name})
        return
    say(f"study {name} is now {new_name}")


def delete(db: str, name: str, is_sure: bool, as_json: bool) -> None:
    """Delete a study, after a question on terminals."""
    n = Study(db, name).n_told
    if not is_sure:
        import typer

        if not sys.stdin.isatty():
            raise ConfigError(f"study {name} has {count(n)}; --yes deletes it", argument="--yes")
        typer.confirm(f"Delete study {name} with {count(n)}?", abort=True)
    Study.delete(db, name)
    if as_json:
        emit({"study": name, "deleted": n})
        return
    say(f"study {name} deleted, with {count(n)}")


def list_all(db: str, as_json: bool) -> None:
    """Show the studies of a database."""
    listed: list[dict[str, Any]] = []
    for name in Study.names(db):
        try:
            study = Study(db, name)
            listed.append({"study": name, "told": study.n_told, **terms_data(study.terms)})
        except StoreError as error:  # of a newer format, or corrupt: the others can be read
            listed.append({"study": name, "error": str(error)})
    if as_json:
        emit(listed)
        return
    rows = [
        [each["study"], each["algorithm"], str(each["told"]), str(each["episodes"])]
        for each in listed
        if "error" not in each
    ]
    table(["study", "algorithm", "told", "of"], rows, numbers=("told", "of"))
    for each in listed:
        if "error" in each:
            say(f"{each['study']} cannot be read: {each['error']}")


def status(db: str, name: str, as_json: bool) -> None:
    """Show the progress of a study."""
    study = Study(db, name)
    terms = study.terms
    with working(f"reading {name}", "episodes") as work:
        answer = study.preview(work.report)
        totals, last = totals_of(study.rows(), terms)
        plays = None if answer.advice is None else study.plays()
    if as_json:
        emit(
            {
                "study": name,
                "told": answer.n_told,
                **terms_data(terms),
                "last": last and {"episode": last.episode, "told_at": last.told_at},
                "totals": [vars(total) for total in totals],
                "infeasible": answer.n_infeasible,
                "plays": plays and vars(plays),
                "next_policy": {"number": answer.number, **_bounds(terms, answer)},
                "next": _next(db, name, answer),
            }
        )
        return
    say(f"study {name}: {answer.n_told:,} of {count(terms.episodes)} told", style="bold")
    say(_sizes(terms))
    if last is not None:
        say(f"last: {last.episode}, told {last.told_at}")
        _show_totals(terms, totals)
    if answer.n_infeasible:
        plans = counted(answer.n_infeasible, "plan")
        say(f"Infeasible in every model of the confidence set: {plans}.")
    if plays is not None:
        say(_plays_words(plays))
    say(f"\nPolicy {answer.number}, bounds from all episodes:")
    _show_answer(terms, answer)
    say(f"\nnext: {_next(db, name, answer)}")


def _show_answer(terms: Terms, answer: Answer) -> None:
    from tightrope.cli.bound import show_bounds
    from tightrope.offline.fit import EMPIRICAL
    from tightrope.show.cards import OPTIMISTIC

    plan, bounds = answer.plan, answer.bounds
    names = [unit.name for unit in terms.units]
    if answer.advice is not None:
        say(answer.advice.words)
    if _is_baseline(answer):
        show_bounds(bounds, names)
        say(bounds.words, style="dim")
        return
    planned = plan.value, *plan.constraint_value.tolist()
    show_bounds(bounds, names, planned, plan.multiplier.tolist())
    say(bounds.words, style="dim")
    if plan.method == EMPIRICAL:
        if answer.n_told:
            say(f"planned: {ESTIMATED}", style="dim")
        if not plan.is_feasible:
            say("The budgets are infeasible by the estimates; this policy has the least violation.")
        return
    ends = (bounds.cost, *bounds.constraint_cost)
    if any(value < low - SLACK for value, (low, _) in zip(planned, ends, strict=True)):
        say(f"planned: {OPTIMISTIC}", style="dim")
    if not plan.is_feasible:
        say(
            "The budgets are infeasible in the whole confidence set; this policy has the least "
            "violation."
        )


def _is_baseline(answer: Answer) -> bool:
    return answer.advice is not None and answer.advice.plays_baseline


def _plays_words(plays: Plays) -> str:
    told = plays.n_credited
    words = (
        f"your own policy: recommended {plays.n_baseline} of {plays.n_asked} times, "
        f"played in {plays.n_played} of {count(told)}"
    )
    return f"{words}; {count(plays.n_other)} of other policies" if plays.n_other else words


def _show_totals(terms: Terms, totals: Sequence[Total]) -> None:
    budgets = ["", *(digits(budget) for budget in terms.budget.values())]
    rows = [
        [total.name, *map(digits, (total.mean, total.lower, total.upper)), budget]
        for total, budget in zip(totals, budgets, strict=True)
    ]
    columns = ["sum per episode", "mean so far", "at least", "at most", "budget"]
    table(columns, rows, numbers=columns[1:])
    say(
        f"at least, at most: with probability at least {1 - terms.delta:g}, for the average of the "
        "policies played so far",
        style="dim",
    )


def _answer_data(terms: Terms, answer: Answer) -> dict[str, Any]:
    return {
        "number": answer.number,
        "told": answer.n_told,
        "episodes": terms.episodes,
        "last": answer.is_last,
        "algorithm": terms.algorithm,
        "states": list(terms.states),
        "actions": list(terms.actions),
        "policy": _policy_rows(terms, answer),
        "probabilities": answer.plan.policy.tolist(),
        **_bounds(terms, answer),
    }


def _policy_rows(terms: Terms, answer: Answer) -> list[dict[str, Any]]:
    """Return the policy by stage and state: the reached states, and all states for a baseline."""
    plan, names = answer.plan, AxisNames(terms.states, terms.actions, terms.constraints)
    if not _is_baseline(answer):
        return list(policy_rows(plan, names))
    rows = policy_rows(plan, names, np.ones_like(plan.reached))
    return [{name: row[name] for name in ("stage", "state", "actions")} for row in rows]


def _bounds(terms: Terms, answer: Answer) -> dict[str, Any]:
    from tightrope.cli.bound import bounds_data

    plan, is_planned = answer.plan, not _is_baseline(answer)
    planned = dict(zip(terms.constraints, plan.constraint_value.tolist(), strict=True))
    prices = dict(zip(terms.constraints, plan.multiplier.tolist(), strict=True))
    return {
        "planned": {"cost": plan.value, "constraints": planned} if is_planned else None,
        "multipliers": prices if is_planned else None,
        "feasible": plan.is_feasible,
        "advice": advice_data(answer.advice),
        "bounds": bounds_data(answer.bounds, terms.constraints),
    }


def advice_data(advice: Advice | None) -> dict[str, Any] | None:
    """Return which policy to play, and why, as plain data."""
    if advice is None:
        return None
    return {
        "play": "baseline" if advice.plays_baseline else "plan",
        "probability": advice.probability,
        "use": advice.use,
        "upper": advice.upper,
        "expected": advice.expected,
        "words": advice.words,
    }


def _sizes(terms: Terms) -> str:
    budgets = ", ".join(f"{name} <= {digits(value)}" for name, value in terms.budget.items())
    return (
        f"{counted(len(terms.states), 'state')}, {counted(len(terms.actions), 'action')}, "
        f"{counted(terms.horizon, 'step')}; {budgets or 'no budgets'}; "
        f"{terms.algorithm} for {count(terms.episodes)}"
    )


def _next(db: str, name: str, answer: Answer) -> str:
    if answer.is_last:
        return "all episodes were told; a new study can take more"
    ask = f"tightrope study ask {quote(name)}{db_words(db)}"
    return f"{ask}, play policy {answer.number}, tell what happened"


def terms_data(terms: Terms) -> dict[str, Any]:
    """Return the terms as plain data."""
    return {
        "algorithm": terms.algorithm,
        "states": list(terms.states),
        "actions": list(terms.actions),
        "horizon": terms.horizon,
        "budgets": dict(terms.budget),
        "ranges": {name: list(terms.range_of(name)) for name in (COST, *terms.constraints)},
        "episodes": terms.episodes,
        "delta": terms.delta,
    }


def db_words(db: str) -> str:
    """Return the option for the same database, without passwords."""
    if db in (DEFAULT, os.environ.get("TIGHTROPE_DB")):
        return ""
    return f" --db {quote(Database(db).name if '://' in db else db)}"


def count(n: int) -> str:
    """Return a number of episodes as text."""
    return counted(n, "episode")


def terms_of(
    shape: Mapping[str, Any],
    budgets: Sequence[str],
    ranges: Sequence[str],
    model: str | None,
    confidence: Confidence,
    how: Mapping[str, Any],
) -> Terms:
    """Return the terms, with sizes and budgets as given or from a model."""
    if how["stationary"]:
        confidence = replace(confidence, pool=True)
    more = {**how, "confidence": asdict(confidence)}
    is_unknown = is_learned(shape["initial"]) and LEARNED not in (shape["states"] or "").split(",")
    if is_unknown:
        shape = {**shape, "initial": None}
    if model is not None:
        twice = "given by --model already; leave one out"
        for name, value in shape.items():
            if value is not None:
                raise ConfigError.about(f"--{name}", more=twice)
        if ranges:
            raise ConfigError.about("--range", more=twice)
        lent = _of_model(whole_model("--model", model, budgets))
        return Terms(**{**lent, **({"initial": LEARNED} if is_unknown else {})}, **more)
    for name in ("states", "actions", "horizon"):
        if shape[name] is None:
            raise ConfigError.about(f"--{name}", shown="missing", more="; give it, or --model")
    states = names_in("--states", shape["states"]) or []
    initial = 0 if shape["initial"] is None else _initial(shape["initial"], states)
    return Terms(
        states=states,
        actions=names_in("--actions", shape["actions"]) or [],
        horizon=shape["horizon"],
        budget=values_of("--budget", budgets),
        ranges=dict(ranges_of(ranges)),
        initial=LEARNED if is_unknown else initial,
        **more,
    )


def _has_baseline(algorithm: str) -> bool:
    from tightrope.learners import find_learner
    from tightrope.learners.baseline import BaselineLearner

    return issubclass(find_learner(algorithm), BaselineLearner)


def _with_baseline(terms: Terms, word: str | None, uses: Sequence[str]) -> Terms:
    """The terms with the safe version of their learner, its baseline and the stated use."""
    from tightrope.learners import LEARNERS, find_learner
    from tightrope.learners.safe import safe_kind

    use = values_of("--baseline-use", uses)
    kind, options = safe_kind(find_learner(terms.algorithm)), dict(terms.options)
    if kind is None:
        known = ", ".join(name for name, each in LEARNERS.items() if safe_kind(each) is not None)
        more = f" cannot use a baseline; these learners can: {known}"
        raise ConfigError.about("--safe", shown=terms.algorithm, more=more)
    if word is None:
        raise ConfigError.about("--baseline-use", more="give --safe FILE or --safe uniform too")
    options |= {"baseline": _baseline(word, terms), "bound": use}
    try:
        return replace(terms, algorithm=kind.name, options=options)
    except ConfigError as error:
        if error.argument != "bound":
            raise
        text = str(error).replace("bound", "--baseline-use", 1)
        raise error.with_message(text) from error


def _baseline(word: str, terms: Terms) -> Any:
    """A word for a baseline, or the policy of a file, by the names of the study."""
    from tightrope.cli.bound import in_order
    from tightrope.learners.baseline import PACKED, UNIFORM

    if not word.lower().endswith(".npz"):
        if word == UNIFORM or word.startswith(PACKED):
            return word
        raise ConfigError.about("--safe", shown=word, expected="a policy file (.npz) or uniform")
    try:
        policy, names = read_policy(Path(word))
        if all(each.isdecimal() for each in names.states):  # as models without names have them
            return policy
        return in_order(policy, names, terms.states, terms.actions, terms.horizon)
    except (ModelError, StoreError) as error:
        raise error.with_message(f"--safe {word}: {error}") from error


def _initial(text: str, states: Sequence[str]) -> int | list[float]:
    names = names_of(states)
    start = start_in("--initial", text, states)
    if isinstance(start, list):
        return start
    is_number = text.isdecimal() and text not in names.position
    return position("--initial", number_in("--initial", text) if is_number else text, names)


def _of_model(cmdp: CMDP) -> dict[str, Any]:
    H, units = cmdp.horizon, (cmdp.cost_unit, *cmdp.constraint_units)
    for unit in units:
        if unit.is_maximized:
            more = " is maximized, but a study is told costs; give --states and so on instead"
            raise ConfigError.about("--model", found=unit.name, more=more)
    names = (COST, *cmdp.constraint_names)
    ranges = {
        name: list(step_range(unit, H))
        for name, unit in zip(names, units, strict=True)
        if not unit.is_plain
    }
    return {
        "states": cmdp.state_names,
        "actions": cmdp.action_names,
        "horizon": H,
        "budget": dict(zip(cmdp.constraint_names, cmdp.budget.tolist(), strict=True)),
        "ranges": ranges,
        "initial": cmdp.initial.tolist(),
        "allowed": None if cmdp.allowed.all() else cmdp.allowed.tolist(),
    }
