"""``tightrope bound``: bounds on policies from the data of a learner or of a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.cli.log import Reading, open_log
from tightrope.cli.screen import columns_table, emit, say
from tightrope.errors import ConfigError, ModelError
from tightrope.learners.interactive import InteractiveLearner
from tightrope.model.draft import default_names
from tightrope.model.plan_files import AxisNames, read_policy
from tightrope.offline.log import Log
from tightrope.offline.steps import OPENERS
from tightrope.plan.bound import AVERAGE, EXCEEDED, KEPT, Bounds
from tightrope.plan.evaluate import check_policy
from tightrope.progress import working
from tightrope.text import counted, digits

OWN = "plan"
PLAYED = "average"  # the policies that made a log
DELTA = 0.1
SURE = {KEPT: "certainly kept", EXCEEDED: "certainly exceeded"}
HEURISTIC = {KEPT: "kept, by heuristic radii", EXCEEDED: "exceeded, by heuristic radii"}
UNDECIDED_YET = "not decided yet"


def run(
    file: Path, words: Sequence[str], reading: Reading, delta: float | None, as_json: bool
) -> None:
    """Compute and show bounds on policies, from the data of a learner or of a log."""
    if file.suffix.lower() in OPENERS:
        return _run_log(file, words or [PLAYED], reading, delta or DELTA, as_json)
    if reading != Reading() or delta is not None:
        more = "a learner has its budgets, ranges and delta; they are for logs"
        raise ConfigError.about(str(file), more=more)
    with working(f"reading {file.name}"):
        learner = InteractiveLearner.load(file)
    found = []
    for word in words or [OWN]:
        policy, axes = _policy(learner, word)
        names = _names(learner, word, axes.constraints)
        with _about(word):
            labels = learner.labels
            if labels is not None:
                H = learner.task.horizon
                policy = in_order(policy, axes, labels.states, labels.actions, H)
            found.append((word, names, learner.bound(policy)))
    facts = f"{learner.algorithm} after {counted(learner.n_observed, 'episode')}"
    if as_json:
        emit(
            {
                "learner": str(file),
                "algorithm": learner.algorithm,
                "confidence": learner.confidence.words,
                "episodes": learner.n_observed,
                "policies": _data(found),
            }
        )
        return
    _show(file.name, facts, found)
    if learner.labels is None:
        say("sums of costs in [0, 1] per step, as given to the learner", style="dim")


def _run_log(
    file: Path, words: Sequence[str], reading: Reading, delta: float, as_json: bool
) -> None:
    log, budgets, start, _ = open_log(file, reading)
    names = [unit.name for unit in log.constraint_units]
    found = []
    for word in words:
        if word == PLAYED and not Path(word).exists():
            found.append((word, names, log.bound_average(budgets, delta)))
            continue
        policy, axes = read_policy(Path(word))
        with _about(word):
            states = _states_of(log, axes)
            policy = in_order(policy, axes, states, log.action_names, log.horizon)
            bounds = log.bound(policy, budgets, delta, start, reading.stationary)
        found.append((word, names, bounds))
    if as_json:
        emit({"log": str(file), "episodes": log.n_episodes, "policies": _data(found)})
        return
    facts = f"{counted(log.n_episodes, 'episode')} of {counted(log.horizon, 'step')}"
    _show(file.name, facts, found)


def _states_of(log: Log, axes: AxisNames) -> Sequence[str]:
    """Return the states of a log, without the one of finished episodes if a policy lacks it."""
    states = log.state_names
    return states if log.end is None or states[log.end.state] in axes.states else states[:-1]


@contextmanager
def _about(word: str) -> Iterator[None]:
    """Name the policy in errors."""
    try:
        yield
    except ModelError as error:
        raise error.with_message(f"{word}: {error}") from error


Found = Sequence[tuple[str, Sequence[str], Bounds]]


def _data(found: Found) -> list[dict[str, Any]]:
    return [{"policy": word, **bounds_data(bounds, names)} for word, names, bounds in found]


def _show(name: str, facts: str, found: Found) -> None:
    say(f"{name}: {facts}", style="bold")
    for at, (word, names, bounds) in enumerate(found):
        say("\nthe policies of the log:" if bounds.scope == AVERAGE else f"\n{word}:")
        show_bounds(bounds, ["cost", *names])
        if at + 1 == len(found) or found[at + 1][2].words != bounds.words:
            say(bounds.words)


def verdict_words(bounds: Bounds, undecided: str = UNDECIDED_YET) -> list[str]:
    """Return for each budget whether it is kept; nothing is certain with heuristic radii."""
    words = HEURISTIC if bounds.is_heuristic else SURE
    return [words.get(verdict, undecided) for verdict in bounds.verdicts]


def show_bounds(
    bounds: Bounds,
    names: Sequence[str],
    planned: Sequence[float] = (),
    prices: Sequence[float] = (),
) -> None:
    """Print the bounds on one policy; the names are those of the cost and the constraints."""
    ends = (bounds.cost, *bounds.constraint_cost)
    cells = {
        "expected sum": names,
        "planned": list(map(digits, planned)),
        "at least": [digits(low) for low, _ in ends],
        "at most": [digits(high) for _, high in ends],
        "budget": ["", *map(digits, bounds.budget)],
        "multiplier": ["", *map(digits, prices)],
        "status": ["", *verdict_words(bounds)],
    }
    if not planned:
        del cells["planned"], cells["multiplier"]
    marked = [1 + i for i, verdict in enumerate(bounds.verdicts) if verdict != KEPT]
    columns_table(cells, list(cells)[1:-1], marked)


def bounds_data(bounds: Bounds, names: Sequence[str]) -> dict[str, Any]:
    """Return the bounds as plain data."""
    parts = zip(names, bounds.constraint_cost, bounds.budget, bounds.verdicts, strict=True)
    return {
        "cost": {"lower": float(bounds.cost[0]), "upper": float(bounds.cost[1])},
        "constraints": [
            {
                "name": name,
                "lower": float(low),
                "upper": float(high),
                "budget": float(budget),
                "verdict": verdict,
            }
            for name, (low, high), budget, verdict in parts
        ],
        "delta": bounds.delta,
        "guaranteed": not bounds.is_heuristic,
        "words": bounds.words,
    }


def _policy(learner: InteractiveLearner, word: str) -> tuple[Any, AxisNames]:
    if word == OWN and not Path(word).exists():
        with working(f"planning by {learner.algorithm}"):
            return learner.plan().policy, AxisNames((), (), ())
    return read_policy(Path(word))


def _names(learner: InteractiveLearner, word: str, names: Sequence[str]) -> Sequence[str]:
    I = learner.task.n_constraints
    if names and len(names) != I:
        raise ConfigError.about(
            word, shown=counted(len(names), "constraint"), expected=f"the learner's {I}"
        )
    if learner.labels is not None:
        return [unit.name for unit in learner.units.constraints]
    return names or default_names(I)


def in_order(
    policy: Any, names: AxisNames, states: Sequence[str], actions: Sequence[str], horizon: int
) -> Any:
    """Return the policy with states and actions in this order, if it has names too."""
    if not (states and names.states and names.actions):
        return policy
    rows = _places("state", states, names.states)
    columns = _places("action", actions, names.actions)
    every = np.ones((horizon, len(rows), len(columns)), dtype=np.bool_)
    policy = check_policy(policy, every, {"s": names.states, "a": names.actions})
    return policy[:, rows][:, :, columns]


def _places(what: str, wanted: Sequence[str], there: Sequence[str]) -> list[int]:
    for name in wanted:
        if name not in there:
            raise ConfigError.about(f"{what} names", expected=f"{name!r}, which the learner has")
    if len(there) != len(wanted):
        odd = next(name for name in there if name not in wanted)
        raise ConfigError.about(f"{what} names", found=odd, more=", unknown to the learner")
    return [list(there).index(name) for name in wanted]
