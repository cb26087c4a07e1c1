"""What is kept of an interactive learner beside its arrays, and how both are read back.

The task goes in whole, so that a file needs nothing else to go on; the arrays that change go in by
their dotted names. What is read is checked before a compiled kernel sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Transitions,
    flag,
    require_finite,
    require_integers,
    require_range,
    share,
    whole,
)
from tightrope.errors import ModelError, StoreError
from tightrope.estimate.beliefs import Beliefs, begin_beliefs
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.learners.algorithms import LEARNERS
from tightrope.learners.stored import MOST, require_pattern
from tightrope.model.draft import MOST_ACTIONS
from tightrope.model.task import Task

FORMAT = "tightrope-learner 1"
ARRAYS = ("budget", "initial", "allowed", "known_cost")
PATTERN = ("indptr", "indices", "data")
SIZES = ("n_states", "n_actions", "horizon", "n_episodes")
FLAGS = ("is_stationary_kernel", "is_stationary_cost")


@dataclass(frozen=True)
class Kept:
    """What a learner remembers beside its arrays."""

    algorithm: str
    grows: bool
    is_planned: bool
    is_fresh: bool
    n_observed: int
    n_infeasible: int


def as_table(
    kept: Kept, task: Task, confidence: Confidence
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Table and arrays of what never changes, and of what a learner remembers beside its arrays."""
    table = {
        "format": FORMAT,
        "kept": asdict(kept),
        "confidence": asdict(confidence),
        "task": {name: getattr(task, name) for name in (*SIZES, "delta", *FLAGS)},
    }
    arrays = {f"task.{name}": getattr(task, name) for name in ARRAYS}
    arrays |= {f"pattern.{name}": getattr(task.pattern, name) for name in PATTERN}
    return table, arrays


def kept_from(about: Mapping[str, Any], arrays: dict[str, Any]) -> tuple[Kept, Task, Confidence]:
    """The same read back and checked; takes the task's arrays out of ``arrays``."""
    if about.get("format") != FORMAT:
        raise StoreError(f"it is no {FORMAT!r} but {about.get('format', 'something else')!r}")
    try:
        kept = Kept(**about["kept"])
        for name, value in asdict(kept).items():
            if name.startswith("n_"):
                whole(name, value, least=0)
            elif name != "algorithm":
                flag(name, value)
        if kept.algorithm not in LEARNERS:
            raise ModelError(f"algorithm: {kept.algorithm!r}")
        confidence = as_confidence(Confidence(**about["confidence"]))
        task = _task(about["task"], arrays)
        if kept.n_observed > task.n_episodes:
            raise ModelError(f"n_observed: {kept.n_observed}, expected at most {task.n_episodes}")
    except (KeyError, OverflowError, TypeError, ValueError, ModelError) as error:
        raise StoreError(f"damaged: {error}") from error
    return kept, task, confidence


def beliefs_like(
    task: Task, confidence: Confidence, is_bonus: bool, arrays: Mapping[str, Any]
) -> Beliefs:
    """Beliefs with room for the successors that the kept counts list."""
    try:
        # horizon and number of actions stand for nothing yet but the room to be made
        sizes = task.horizon, task.n_states, task.n_actions
        _require("occupancy", arrays["occupancy"], np.float64, [sizes])
        indptr, indices = arrays["counts.indptr"], arrays["counts.indices"]
        pattern = _pattern("counts", task, indptr, indices, np.zeros(indices.shape))
        return begin_beliefs(replace(task, pattern=pattern), confidence, is_bonus)
    except (KeyError, OverflowError, ModelError) as error:
        raise StoreError(f"damaged: {error}") from error


def _task(table: Mapping[str, Any], arrays: dict[str, Any]) -> Task:
    sizes = {name: whole(name, table[name]) for name in SIZES}
    flags = {name: flag(name, table[name]) for name in FLAGS}
    budget, initial, allowed, known = (arrays.pop(f"task.{name}") for name in ARRAYS)
    indptr, indices, data = (arrays.pop(f"pattern.{name}") for name in PATTERN)
    S, A, H = sizes["n_states"], sizes["n_actions"], sizes["horizon"]
    I = budget.size
    _require("budget", budget, np.float64, [(I,)])
    _require("initial", initial, np.float64, [(S,)])
    _require("allowed", allowed, np.bool_, [(g, S, A) for g in (0, 1, H)])
    _require("known_cost", known, np.float64, [(I + 1, g, S * A) for g in (0, 1, H)])
    if A > MOST_ACTIONS or max(sizes.values()) > MOST:
        raise ModelError(f"sizes: {sizes}, expected at most {MOST_ACTIONS} actions, {MOST} else")
    require_finite("budget", budget, "i")
    require_range("initial", initial, 0.0, 1.0 + 1e-6, "s")
    require_range("known_cost", known, 0.0, 1.0, "ihs")
    require_integers("allowed", np.ascontiguousarray(allowed).view(np.uint8), 0, 1)
    if not abs(initial.sum() - 1) < 1e-6 or not allowed.any(axis=2).all():
        raise ModelError("initial or allowed: no distribution, or a state without an action")
    task = Task(
        n_states=S,
        n_actions=A,
        horizon=H,
        n_episodes=sizes["n_episodes"],
        is_stationary_kernel=flags["is_stationary_kernel"],
        is_stationary_cost=flags["is_stationary_cost"],
        budget=np.ascontiguousarray(budget),
        initial=np.ascontiguousarray(initial),
        allowed=np.ascontiguousarray(allowed),
        delta=share("delta", table["delta"]),
        pattern=Transitions(indptr, indices, data),
        known_cost=np.ascontiguousarray(known),
    )
    return replace(task, pattern=_pattern("pattern", task, indptr, indices, data))


def _pattern(name: str, task: Task, indptr: Any, indices: Any, data: Any) -> Transitions:
    S, rows = task.n_states, task.n_states * task.n_actions
    longest = indices.shape[-1] if indices.ndim else 0
    _require(f"{name}.indptr", indptr, np.int64, [(g, rows + 1) for g in (1, task.horizon)])
    _require(f"{name}.indices", indices, np.uint32, [(indptr.shape[0], longest)])
    _require(f"{name}.data", data, np.float64, [indices.shape])
    require_pattern(name, indptr, indices, S)
    require_finite(f"{name}.data", data, "he")
    return Transitions(*map(np.ascontiguousarray, (indptr, indices, data)))


def _require(name: str, array: Floats | Bools, kind: Any, shapes: list[Any]) -> None:
    if array.dtype != kind or array.shape not in shapes:
        expected = " or ".join(map(str, dict.fromkeys(shapes)))
        raise ModelError(
            f"{name} is {array.dtype} of shape {array.shape}, "
            f"expected {np.dtype(kind)} of shape {expected}"
        )
