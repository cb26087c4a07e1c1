"""The arrays of an agent or a run that files hold, and the one reader of such arrays.

Kernels do not check indices, so everything read from a file is checked here first: types, shapes,
every integer against its range and every float for finiteness. Scratch is not stored: a new agent
has it already. Files of version 0.1 are read too (`rename_0_1`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Bools, Ints, require_integers, require_pointers
from tightrope.belief.counts import CERTAIN
from tightrope.errors import ModelError, StoreError
from tightrope.files import leaves
from tightrope.learners.agent import Agent
from tightrope.model.task import Task
from tightrope.plan.evaluate import require_policy

Arrays = Mapping[str, NDArray[Any]]

FIXED = (
    "belief.known_cost",
    "belief.rules.",
    "state.settings.",
    "status.is_always_due",
)  # given by task and options
MAY_BE_INFINITE = (
    "decision.note.gap",
    "decision.note.bound",
    "state.note.bound",
    "record.worst",
    "audit.plans.largest_gap",
    "audit.multiplier_range",
)
BASELINE_NOTES = ("baseline", "is_rebased", "plays_baseline")
ADDED = (
    *(f"decision.note.{name}" for name in BASELINE_NOTES),
    "audit.plans.bound_failures",
)  # zero in files of version 0.1
MOST = 2**53  # of a count: beyond, floats skip integers

RENAMED = {"belief.centre": "belief.center"}  # of files written before the name changed
RENAMED_0_1 = {
    "believed.centre": "belief.center",
    "believed.": "belief.",
    "memory.": "state.",
    "move.": "decision.",
    "book.": "record.",
    "audit.bad": "audit.events.bad",
    "audit.bad_episodes": "audit.events.bad_episodes",
    "audit.first_bad": "audit.events.first_bad",
    "audit.lam_range": "audit.multiplier_range",
}
SPLIT_0_1 = {
    "move.facts": [
        f"decision.note.{name}"
        for name in ("gap", "bound", "is_relaxed", "is_changed", "is_deterministic", "sweeps")
    ],
    "memory.columns.tally": ["state.columns.progress.n_columns"],
    "memory.has_moved": ["state.has_moved"],
    "memory.is_new": ["state.note.is_new"],
    "memory.bound": ["state.note.bound"],
    "memory.is_relaxed": ["state.note.is_relaxed"],
    "memory.tolerance": ["state.settings.tolerance"],
    "memory.rate": ["state.settings.rate"],
    "memory.settings": [f"state.settings.{name}" for name in ("dual_rate", "primal_rate", "rho")],
    "is_fresh": ["status.is_fresh"],
    "book.state": [
        f"record.state.{name}" for name in ("episode", "cursor", "violations", "last_violation")
    ],
    "audit.plans": [
        f"audit.plans.{name}" for name in ("plans", "relaxed", "not_optimistic", "sweeps")
    ],
    "audit.gap": ["audit.plans.largest_gap"],
    "audit.visit_term": ["audit.plans.visit_term"],
}  # arrays whose entries became named fields


def rename_0_1(stored: Arrays, parts: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Arrays of a file of version 0.1 under today's names; what no longer exists is left out.

    Parameters
    ----------
    stored : mapping of str to array
    parts : mapping of str to record
        Of the agent or run that they will be read into.
    """
    own = collect_leaves(parts)
    found: dict[str, NDArray[Any]] = {
        name: np.zeros_like(own[name]) for name in ADDED if name in own
    }
    for name, array in stored.items():
        if name in SPLIT_0_1:
            places = SPLIT_0_1[name]
            if array.ndim != 1 or array.size < len(places):
                raise StoreError.about(name, where="corrupt", verb="is of", shape=array.shape)
            for place, value in zip(places, array, strict=False):
                if place in own:
                    with np.errstate(invalid="ignore"):
                        found[place] = np.array([value]).astype(own[place].dtype)
                    if found[place][0] != value:
                        raise StoreError.about(
                            name, where="corrupt", verb="holds", found=value, shown=str(value)
                        )
            continue
        start = next((old for old in RENAMED_0_1 if old.endswith(".") and name.startswith(old)), "")
        new = RENAMED_0_1.get(name, RENAMED_0_1.get(start, "") + name.removeprefix(start))
        if new in own or not new.startswith(("belief.", "state.", "record.", "audit.", "trace.")):
            found[new] = array
    return found


def collect_leaves(parts: Mapping[str, Any]) -> dict[str, Any]:
    """All arrays of some records by dotted name."""
    return {name: array for part in parts for name, array in leaves(part, parts[part])}


def is_stored(name: str, agent: Agent) -> bool:
    """Whether an array goes into files: it changes, and something reads it again."""
    if name.startswith("state.") and hasattr(agent.state, "stored"):
        return name.removeprefix("state.") in agent.state.stored()
    return not name.startswith(FIXED)


def arrays_to_store(
    parts: Mapping[str, Any], agent: Agent, fixed: Collection[str] = ()
) -> dict[str, Any]:
    """The arrays that a file must hold, by dotted name.

    Parameters
    ----------
    parts : mapping of str to record
        Of the agent, and what else there is.
    agent : Agent
    fixed : collection of str
        Names of other arrays that never change after the start.
    """
    found = {
        name: array
        for name, array in collect_leaves(parts).items()
        if array.size and is_stored(name, agent) and name not in fixed
    }
    own = {n.removeprefix("state."): a for n, a in found.items() if n.startswith("state.")}
    cleaned = agent.learner.clean_state(agent.state, own)
    found |= {f"state.{name}": array for name, array in cleaned.items()}
    return found | {f"memory.{name}": array for name, array in agent.memory.items()}


def restore_arrays(
    parts: Mapping[str, Any],
    stored: Arrays,
    what: str,
    agent: Agent,
    n_episodes: int,
    has_policy: bool,
    fixed: Collection[str] = (),
) -> None:
    """Check stored arrays and write them into those of the same names, all of them or none.

    Parameters
    ----------
    parts : mapping of str to record
        Of an agent or run just begun; written.
    stored : mapping of str to array
        From `arrays_to_store`.
    what : str
        What is read, for errors.
    agent : Agent
        Among the parts; its task gives the sizes.
    n_episodes : int
        Episodes that the counts must hold.
    has_policy : bool
        Whether a decision was made, so that the stored one must be a policy.
    fixed : collection of str
        As for `arrays_to_store`; where the file holds such an array, it must be the same.

    Raises
    ------
    StoreError
        When a name is missing or unknown, or an array has another shape, another type or an entry
        that it cannot have.
    """
    memory = {n.removeprefix("memory."): a for n, a in stored.items() if n.startswith("memory.")}
    stored = {RENAMED.get(n, n): a for n, a in stored.items() if not n.startswith("memory.")}
    own = collect_leaves(parts)
    needed = {
        name
        for name, array in own.items()
        if array.size and is_stored(name, agent) and name not in fixed
    }
    odd = sorted((needed - set(stored)) | {name for name in stored if name not in own})
    if odd:
        raise StoreError(
            f"{what}: made by another kind of run ({odd[0]} is in only one of them)",
            argument=odd[0],
        )
    for name in sorted(set(stored) & (needed | set(fixed))):
        found, mine = stored[name], own[name]
        if (found.shape, found.dtype) != (mine.shape, mine.dtype):
            raise StoreError(
                f"{what}: {name} is {found.dtype} of shape {found.shape}, "
                f"expected {mine.dtype} of shape {mine.shape}",
                argument=name,
                found=found.shape,
                expected=f"{mine.dtype} of shape {mine.shape}",
            )
        if name in fixed and not np.array_equal(found, mine):
            raise StoreError(f"{what}: {name} is not that of this run", argument=name)
    checked = {name: np.array(stored[name]) for name in needed}
    try:
        for name, array in checked.items():
            _check_entries(name, array)
        state = {n.removeprefix("state."): a for n, a in checked.items() if n.startswith("state.")}
        agent.learner.check_state(state, agent.task)
        checked |= {f"state.{name}": array for name, array in state.items()}
        _check_counts({**own, **checked}, agent.task, n_episodes)
        _check_decision(checked, agent.task, has_policy)
    except ModelError as error:
        raise StoreError(f"{what}: corrupt: {error}").with_fields_of(error) from error
    for name, array in checked.items():
        own[name][...] = array
    agent.memory.update(memory)


def require_pattern(name: str, indptr: Ints, indices: Ints, S: int) -> None:
    """Raise unless these are CSR pointers and rising successors among S states, stage by stage."""
    require_pointers(f"{name}.indptr", indptr, indptr.shape[-1] - 1, indices.shape[-1])
    require_integers(f"{name}.indices", indices, 0, S - 1)
    for ends, listed in zip(indptr, indices, strict=True):
        rows = np.repeat(np.arange(ends.size - 1), ends[1:] - ends[:-1])
        keys = rows * S + listed[: ends[-1]].astype(np.int64)
        if (keys[1:] <= keys[:-1]).any():
            raise ModelError.about(
                f"{name}.indices", expected="successors that rise within each row"
            )


def same_arrays(one: Any, other: Any) -> bool:
    """Whether two arrays, numbers or records of them are equal in every entry."""
    if isinstance(one, tuple):
        return all(same_arrays(*pair) for pair in zip(one, other, strict=True))
    return np.array_equal(one, other)


def _check_entries(name: str, array: NDArray[Any]) -> None:
    """Check what holds for every entry of an array by itself."""
    if array.dtype.kind == "f":
        bad = np.isnan(array) if name in MAY_BE_INFINITE else ~np.isfinite(array)
        _require(name, array, ~bad, "a finite number")
    elif array.dtype.kind == "b":
        require_integers(name, array.view(np.uint8), 0, 1)
    elif name != "counts.indptr":
        require_integers(name, array, -1 if name == "decision.choice" else 0, MOST)


def _check_counts(arrays: Arrays, task: Task, n_episodes: int) -> None:
    """Check counts and beliefs against each other and against the number of episodes."""
    require_pattern("counts", arrays["counts.indptr"], arrays["counts.indices"], task.n_states)
    visits, successors = arrays["counts.visits"], arrays["counts.successors"]
    for ends, n, seen in zip(arrays["counts.indptr"], visits, successors, strict=True):
        sums = np.concatenate(([0], np.cumsum(seen)))[ends]
        if (np.diff(sums) != n).any():
            raise ModelError.about("counts.visits", expected="the sums of counts.successors")
    cost_visits = arrays["counts.cost_visits"]
    for name, counted in (("visits", visits), ("cost_visits", cost_visits)):
        total = int((counted % CERTAIN).sum())
        if total != n_episodes * task.horizon:
            raise ModelError.about(
                f"counts.{name}",
                shown=f"{total} steps",
                expected=f"{n_episodes * task.horizon} of {n_episodes} episodes",
            )
        planned = arrays[f"planned_{name}"]
        _require(f"planned_{name}", planned, planned <= counted, f"at most counts.{name}")
    for name in ("counts.cost_sum", "counts.constraint_sum"):
        total_cost = arrays[name]
        is_good = (total_cost >= 0) & (total_cost <= cost_visits)
        _require(name, total_cost, is_good, "a number from 0 to the number of visits")
    for name in ("lower", "upper", "rest", "center", "even", "radius"):
        if f"belief.{name}" in arrays:
            array, high = arrays[f"belief.{name}"], 2.0 if name == "radius" else 1.0
            is_good = (array >= 0) & (array <= high)
            _require(f"belief.{name}", array, is_good, f"a number in [0, {high:g}]")


def _check_decision(arrays: Arrays, task: Task, has_policy: bool) -> None:
    """Check that the last decision, if there is one, can be played."""
    choice, pi = arrays["decision.choice"], arrays["decision.pi"]
    if "decision.baseline" in arrays:
        require_policy("decision.baseline", arrays["decision.baseline"], task)
        share = arrays["decision.note.baseline"]
        _require("decision.note.baseline", share, (share >= 0) & (share <= 1), "in [0, 1]")
    elif any(arrays[f"decision.note.{name}"].any() for name in BASELINE_NOTES):
        raise ModelError.about(
            "decision.note", shown="it says that a baseline is played, but there is none"
        )
    require_integers("decision.choice", choice, -1, task.n_actions - 1)
    if arrays["decision.note.is_deterministic"][0]:
        require_integers("decision.choice", choice, 0, task.n_actions - 1)
    elif has_policy or pi.any():
        require_policy("decision.pi", pi, task)


def _require(name: str, array: NDArray[Any], is_good: Bools, expected: str) -> None:
    """Raise for the first entry that is not good."""
    if not is_good.all():
        where = np.unravel_index(int(np.argmin(is_good)), is_good.shape)
        index = ", ".join(str(int(place)) for place in where)
        count = int(np.count_nonzero(~is_good))
        more = "" if count == 1 else f"; {count} such entries"
        raise ModelError.about(
            f"{name}[{index}]",
            verb="is",
            found=array[where],
            shown=str(array[where]),
            expected=expected,
            more=more,
        )
