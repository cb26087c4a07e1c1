"""Files of interactive learners: the task whole, options, the arrays that change, and labels.

What is read is checked before a compiled kernel sees it. Format 2 names the learner's options;
files of format 1 (version 0.1) hold step sizes instead, from which the options follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Transitions,
    factor,
    flag,
    require_finite,
    require_integers,
    require_range,
    share,
    whole,
)
from tightrope.belief.beliefs import start_beliefs
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.belief.counts import new_counts
from tightrope.errors import ModelError, StoreError
from tightrope.files import packed, require_kind, unpacked
from tightrope.learners import find_learner, learner_key
from tightrope.learners.agent import Agent
from tightrope.learners.base import Learner
from tightrope.learners.mixture import PREFIX, PolicyCounts
from tightrope.learners.opt_dual import dual_rate
from tightrope.learners.opt_primal_dual import primal_rate
from tightrope.learners.storage import (
    MOST,
    arrays_to_store,
    rename_0_1,
    require_pattern,
    restore_arrays,
)
from tightrope.model.draft import MOST_ACTIONS
from tightrope.model.start import trim_task
from tightrope.model.task import Task
from tightrope.model.units import Unit

OLD_RADIUS = "start_doubt"  # its name in older files
FORMAT, FORMAT_1 = "tightrope-learner 2", "tightrope-learner 1"
ARRAYS = ("budget", "initial", "allowed", "known_cost")
PATTERN = ("indptr", "indices", "data")
SIZES = ("n_states", "n_actions", "horizon", "n_episodes")
FLAGS = ("is_stationary_kernel", "is_stationary_cost")
GENERATOR = "generator"


@dataclass(frozen=True)
class Progress:
    """Where an interactive learner stands, beside its arrays."""

    grows: bool
    is_planned: bool
    is_fresh: bool
    n_infeasible: int
    is_start_learned: bool = False


@final
@dataclass(frozen=True)
class Labels:
    """Names, units, and what is not known of the start.

    Parameters
    ----------
    states, actions : tuple of str
        What they are called; empty where they have no names.
    units : tuple of Unit
        What sums over an episode are counted in: of the cost, then of each constraint.
    start_radius : float
        How far, in L1, the true distribution of the start may be from the learner's.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    units: tuple[Unit, ...]
    start_radius: float = 0.0

    def as_table(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], task: Task) -> Labels:
        """What `as_table` gave, or a `StoreError`.

        Parameters
        ----------
        table : mapping of str to value
        task : Task
            Whose states, actions and costs they are the labels of.
        """
        try:
            labels = cls(
                tuple(map(str, table["states"])),
                tuple(map(str, table["actions"])),
                tuple(
                    Unit(str(each["name"]), float(each["factor"]), float(each["shift"]))
                    for each in table["units"]
                ),
                factor(
                    "start_radius", table["start_radius" if "start_radius" in table else OLD_RADIUS]
                ),
            )
            found = len(labels.states), len(labels.actions), len(labels.units)
            expected = task.n_states, task.n_actions, task.n_constraints + 1
            if found not in (expected, (0, 0, expected[2])):
                raise ModelError.about("states, actions and units", found=found, expected=expected)
        except (KeyError, TypeError, ValueError, ModelError) as error:
            raise StoreError(f"corrupt: its labels are none: {error}").with_fields_of(
                error
            ) from error
        return labels


def write_learner(
    agent: Agent,
    confidence: Confidence,
    occupancy: Floats,
    progress: Progress,
    labels: Labels | None,
    played: PolicyCounts | None,
) -> bytes:
    """All of an interactive learner as an archive."""
    task, learner = agent.task, agent.learner
    about = {
        "format": FORMAT,
        "learner": {"name": learner_key(learner), "options": learner.options},
        "progress": {**asdict(progress), "n_observed": agent.n_observed},
        "confidence": asdict(confidence),
        "task": {name: getattr(task, name) for name in (*SIZES, "delta", *FLAGS)},
        "labels": None if labels is None else labels.as_table(),
        GENERATOR: agent.rng.bit_generator.state,
    }
    arrays = {f"task.{name}": getattr(task, name) for name in ARRAYS}
    arrays |= {f"pattern.{name}": getattr(task.pattern, name) for name in PATTERN}
    if played is not None:
        arrays |= played.to_arrays()
    parts = {**agent.parts(), "occupancy": occupancy}
    return packed(about, {**arrays, **arrays_to_store(parts, agent)})


def read_learner(
    content: bytes,
) -> tuple[Agent, Confidence, Floats, Progress, Labels | None, PolicyCounts | None]:
    """What `write_learner` wrote, all of it checked, or a `StoreError`."""
    require_kind(content, FORMAT.partition(" ")[0])
    about, arrays = unpacked(content)
    if about.get("format") not in (FORMAT, FORMAT_1):
        found = about.get("format", "something else")
        raise StoreError(f"it is no {FORMAT!r} but {found!r}", found=found, expected=FORMAT)
    is_old = about["format"] == FORMAT_1
    names = [name for name in arrays if name.startswith(PREFIX)]
    counted = {name: arrays.pop(name) for name in names}
    try:
        table = about["kept" if is_old else "progress"]
        n_observed = whole("n_observed", table["n_observed"], least=0)
        progress = Progress(
            flag("grows", table["grows"]),
            flag("is_planned", table["is_planned"]),
            flag("is_fresh", table["is_fresh"]),
            whole("n_infeasible", table["n_infeasible"], least=0),
            flag("is_start_learned", table.get("is_start_learned", False)),
        )
        confidence = as_confidence(Confidence(**about["confidence"]))
        task = _task(about["task"], arrays)
        if n_observed > task.n_episodes:
            raise ModelError.about(
                "n_observed", found=n_observed, expected=f"at most {task.n_episodes}"
            )
        own = _require_start(task) if progress.is_start_learned else task
        learner = _learner(about, arrays, task)
        agent = _agent(learner, task, confidence, arrays)
        if not is_old:
            agent.rng.bit_generator.state = read_generator(agent.rng, about[GENERATOR])
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError, ModelError) as error:
        raise StoreError(f"corrupt: {error}").with_fields_of(error) from error
    occupancy = np.zeros_like(agent.decision.pi)
    parts = {**agent.parts(), "occupancy": occupancy}
    if is_old:
        arrays = rename_0_1(arrays, parts)
        restore_settings(agent, arrays)
    has_policy = progress.is_planned or not progress.is_fresh
    restore_arrays(parts, arrays, "learner", agent, n_observed, has_policy)
    agent.n_observed, agent.status.is_fresh = n_observed, progress.is_fresh
    given = about.get("labels")
    labels = None if given is None else Labels.from_table(given, own)
    played = PolicyCounts.from_arrays(task, counted, n_observed) if counted else None
    return agent, confidence, occupancy, progress, labels, played


def read_generator(rng: np.random.Generator, found: Any) -> Any:
    """The state of a generator, after another generator has accepted it."""
    trial = type(rng.bit_generator)()
    try:
        trial.state = found
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"corrupt: generator: {error}").with_fields_of(error) from error
    if trial.state != found:
        raise StoreError.about(
            "generator", where="corrupt", shown="it is not a state of this generator"
        )
    return found


def _learner(about: Mapping[str, Any], arrays: Mapping[str, Any], task: Task) -> Learner:
    is_old = about["format"] == FORMAT_1
    name = about["kept"]["algorithm"] if is_old else about["learner"]["name"]
    kind = find_learner(name, may_import=False)
    if not kind.can_learn:
        raise ModelError.about(
            "algorithm", more=f"{name!r} is a reference for simulations, not a learner"
        )
    if not is_old:
        return kind.from_options(about["learner"]["options"]).resolve(None)
    return kind.from_options(_options_0_1(arrays, task))


def _options_0_1(arrays: Mapping[str, Any], task: Task) -> dict[str, float]:
    """Options that give the step sizes of a file of version 0.1, bit for bit."""
    if "memory.tolerance" in arrays:
        return {"tolerance": float(arrays["memory.tolerance"][0])}
    if "memory.rate" in arrays:  # of OptDual: the product of rho and dual_step is all that counts
        rate = float(arrays["memory.rate"][0])
        return {"rho": _invert(lambda rho: dual_rate(task, rho, 1.0), rate)}
    dual, primal, rho = map(float, arrays["memory.settings"])
    return {
        "rho": rho,
        "dual_step": _invert(lambda step: dual_rate(task, rho, step), dual),
        "primal_step": _invert(lambda step: primal_rate(task, rho, step), primal),
    }


def _invert(rate_of: Callable[[float], float], rate: float) -> float:
    """The number that gives a step size proportional to it; the shortest one of those nearby."""
    unit = rate_of(1.0)
    if unit in (rate, 0.0):  # 0 without constraints, or with one action: any number will do
        return 1.0
    near = rate / unit
    nearby = [float(f"{near:.12g}"), *(near + k * math.ulp(near) for k in range(-16, 17))]
    return next((each for each in nearby if rate_of(each) == rate), near)


def _agent(
    learner: Learner, task: Task, confidence: Confidence, arrays: Mapping[str, Any]
) -> Agent:
    """An agent with room for the successors that the stored counts list."""
    # horizon and number of actions stand for nothing yet but the room to be made
    sizes = task.horizon, task.n_states, task.n_actions
    _require("occupancy", arrays["occupancy"], np.float64, [sizes])
    indptr, indices = arrays["counts.indptr"], arrays["counts.indices"]
    pattern = _pattern("counts", task, indptr, indices, np.zeros(indices.shape))
    radii = learner.radii(confidence)
    counts = new_counts(replace(task, pattern=pattern), radii)
    beliefs = start_beliefs(learner.belief, task, radii, counts)
    return Agent(learner, task, confidence, np.random.default_rng(0), beliefs)


def restore_settings(agent: Agent, arrays: dict[str, Any]) -> None:
    """Take step sizes, which files of version 0.1 hold in place of options, out of the arrays."""
    for name in [each for each in arrays if each.startswith("state.settings.")]:
        value = arrays.pop(name)[0]
        if not np.isfinite(value) or value < 0:
            raise StoreError.about(
                name,
                where="corrupt",
                verb="is",
                found=value,
                shown=str(value),
                expected="a number of at least 0",
            )
        agent.state.settings[name.removeprefix("state.settings.")] = value


def _require_start(task: Task) -> Task:
    """Return the task without the stage before the start, after a check that it has one."""
    S, mask = task.n_states - 1, task.allowed
    is_start = S > 0 and task.horizon > 1 and task.initial[S] == 1.0
    if not (is_start and len(mask) and mask[:, S, 0].all() and not mask[:, S, 1:].any()):
        raise ModelError.about("is_start_learned", shown="the task has no stage before the start")
    return trim_task(task)


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
        raise ModelError.about(
            "sizes", shown=str(sizes), expected=f"at most {MOST_ACTIONS} actions, {MOST} else"
        )
    require_finite("budget", budget, "i")
    require_range("initial", initial, 0.0, 1.0 + 1e-6, "s")
    require_range("known_cost", known, 0.0, 1.0, "ihs")
    require_integers("allowed", np.ascontiguousarray(allowed).view(np.uint8), 0, 1)
    if not abs(initial.sum() - 1) < 1e-6 or not allowed.any(axis=2).all():
        raise ModelError.about(
            "initial or allowed", shown="no distribution, or a state without an action"
        )
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
        raise ModelError.about(
            name,
            verb="is",
            shown=f"{array.dtype} of shape {array.shape}",
            expected=f"{np.dtype(kind)} of shape {expected}",
        )
