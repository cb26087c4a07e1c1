"""``tightrope bound``: what policies cost at least and at most, by what a learner has seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tightrope.cli.plan_file import PolicyFile, read_policy
from tightrope.cli.progress import working
from tightrope.cli.screen import emit, say, table
from tightrope.errors import ModelError
from tightrope.learners.interactive import InteractiveLearner
from tightrope.model.draft import unnamed
from tightrope.model.words import digits
from tightrope.plan.bound import KEPT, Bounds

__all__ = ["bounds_data", "run", "show_bounds"]

OWN = "plan"
SAYS = {"kept": "surely kept", "broken": "surely broken", "undecided": "not decided yet"}


def run(file: Path, words: Sequence[str], as_json: bool) -> None:
    """Bound the policies that the words mean."""
    with working(f"reading {file.name}"):
        learner = InteractiveLearner.load(file)
    found = []
    for word in words:
        given = _policy(learner, word)
        names = _names(learner, word, given.constraints)
        try:
            found.append((word, names, learner.bound(given.policy)))
        except ModelError as error:
            raise ModelError(f"{word}: {error}") from error
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
        show_bounds(bounds, names)
    say(found[0][2].words)


def show_bounds(bounds: Bounds, names: Sequence[str]) -> None:
    """Print the bounds on one policy as a table."""
    rows = [["cost", *map(digits, bounds.cost), "", ""]]
    parts = zip(names, bounds.constraint_cost, bounds.budget, bounds.verdicts, strict=True)
    for name, (low, high), budget, verdict in parts:
        rows.append([name, digits(low), digits(high), digits(budget), SAYS[verdict]])
    marked = [1 + i for i, verdict in enumerate(bounds.verdicts) if verdict != KEPT]
    columns = ["expected sum", "at least", "at most", "budget", "the budget is"]
    table(columns, rows, numbers=columns[1:4], marked=marked)


def bounds_data(bounds: Bounds, names: Sequence[str]) -> dict[str, Any]:
    """The same as plain data."""
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


def _policy(learner: InteractiveLearner, word: str) -> PolicyFile:
    if word == OWN and not Path(word).exists():
        with working(f"planning by {learner.algorithm}"):
            return PolicyFile(learner.plan().policy, ())
    return read_policy(Path(word))


def _names(learner: InteractiveLearner, word: str, names: tuple[str, ...]) -> tuple[str, ...]:
    I = learner.task.n_constraints
    if names and len(names) != I:
        raise ModelError(f"{word}: has {len(names)} constraints, the learner has {I}")
    return names or tuple(unnamed(I))
