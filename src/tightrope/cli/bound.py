"""``tightrope bound``: bounds on policies from the data of a learner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.cli.screen import columns_table, emit, say
from tightrope.errors import ConfigError, ModelError
from tightrope.learners.interactive import InteractiveLearner
from tightrope.model.draft import default_names
from tightrope.model.plan import AxisNames, read_policy
from tightrope.plan.bound import KEPT, Bounds
from tightrope.plan.evaluate import check_policy
from tightrope.progress import working
from tightrope.text import digits

OWN = "plan"
SAYS = {"kept": "certainly kept", "broken": "certainly exceeded", "undecided": "not decided yet"}


def run(file: Path, words: Sequence[str], as_json: bool) -> None:
    """Compute and show bounds on policies."""
    with working(f"reading {file.name}"):
        learner = InteractiveLearner.load(file)
    found = []
    for word in words:
        policy, axes = _policy(learner, word)
        names = _names(learner, word, axes.constraints)
        try:
            bounds = learner.bound(_in_order(learner, policy, axes))
        except ModelError as error:
            raise error.with_message(f"{word}: {error}") from error
        found.append((word, names, bounds))
    if as_json:
        emit(
            {
                "learner": str(file),
                "algorithm": learner.algorithm,
                "confidence": learner.confidence.words,
                "episodes": learner.n_observed,
                "policies": [
                    {"policy": word, **bounds_data(bounds, names)} for word, names, bounds in found
                ],
            }
        )
        return
    say(f"{file.name}: {learner.algorithm} after {learner.n_observed} episodes", style="bold")
    for word, names, bounds in found:
        say(f"\n{word}:")
        show_bounds(bounds, ["cost", *names])
    say(found[0][2].words)
    if learner.labels is None:
        say("sums of costs in [0, 1] per step, as given to the learner", style="dim")


def show_bounds(
    bounds: Bounds, names: Sequence[str], hoped: Sequence[float] = (), prices: Sequence[float] = ()
) -> None:
    """Print the bounds on one policy; the names are those of the cost and the constraints."""
    ends = (bounds.cost, *bounds.constraint_cost)
    cells = {
        "expected sum": names,
        "hoped for": list(map(digits, hoped)),
        "at least": [digits(low) for low, _ in ends],
        "at most": [digits(high) for _, high in ends],
        "budget": ["", *map(digits, bounds.budget)],
        "multiplier": ["", *map(digits, prices)],
        "the budget is": ["", *(SAYS[verdict] for verdict in bounds.verdicts)],
    }
    if not hoped:
        del cells["hoped for"], cells["multiplier"]
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
        raise ConfigError(f"{word}: has {len(names)} constraints, the learner has {I}")
    if learner.labels is not None:
        return [unit.name for unit in learner.units.constraints]
    return names or default_names(I)


def _in_order(learner: InteractiveLearner, policy: Any, names: AxisNames) -> Any:
    """Return the policy with states and actions in the learner's order, if both have names."""
    labels = learner.labels
    if labels is None or not (labels.states and names.states and names.actions):
        return policy
    states = _places("state", labels.states, names.states)
    actions = _places("action", labels.actions, names.actions)
    every = np.ones((learner.task.horizon, len(states), len(actions)), dtype=np.bool_)
    policy = check_policy(policy, every, {"s": names.states, "a": names.actions})
    return policy[:, states][:, :, actions]


def _places(what: str, wanted: Sequence[str], there: Sequence[str]) -> list[int]:
    for name in wanted:
        if name not in there:
            raise ConfigError(f"names no {what} {name!r}, which the learner has")
    if len(there) != len(wanted):
        odd = next(name for name in there if name not in wanted)
        raise ConfigError(f"names a {what} {odd!r}, which the learner does not have")
    return [list(there).index(name) for name in wanted]
