"""The arrays of a learner and of a run that files hold, and the one reader of such arrays.

Kernels do not check indices, so everything read from a file is checked here first: every integer
against its range and every float for finiteness, entry by entry. Scratch is not stored: a new
learner has it already. Files that still hold it are read, and it is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Bools, Floats, Ints, require_integers, require_pointers
from tightrope.errors import ModelError, StoreError
from tightrope.estimate.absorb import CERTAIN
from tightrope.files import leaves
from tightrope.kernels.columns import N_COLUMNS
from tightrope.learners.move import BOUND, GAP, IS_DETERMINISTIC, Move
from tightrope.learners.opt_cmdp import PlanMemory
from tightrope.model.task import Task
from tightrope.plan.evaluate import checked_policy

Arrays = Mapping[str, NDArray[Any]]

SCRATCH = (
    "trace.",
    "book.order",
    "book.work.",
    "memory.V",
    "memory.Q",
    "memory.best",
    "memory.budget",
    "memory.flow",
    "memory.loss",
    "memory.mean",
    "memory.orders",
    "memory.q",
    "memory.reach",
    "memory.total",
    "memory.work.",
    "memory.columns.V",
    "memory.columns.best",
    "memory.columns.choice",
    "memory.columns.level",
    "memory.columns.loss",
    "memory.columns.order",
    "memory.columns.point",
    "memory.columns.reach",
    "memory.columns.work.",
    "memory.columns.master.column",
    "memory.columns.master.direction",
    "memory.columns.master.duals",
    "memory.columns.master.factor",
    "memory.columns.master.matrix",
    "memory.columns.master.points",
    "memory.columns.master.residual",
    "memory.columns.master.rhs",
    "memory.columns.master.scale",
    "memory.columns.master.size",
    "memory.columns.master.swaps",
    "memory.columns.master.unit",
    "memory.columns.master.weights",
)  # names, and beginnings of names where they end in a dot
BY_COLUMN = ("memory.columns.actions", "memory.columns.orders")
MAY_BE_INFINITE = ("move.facts", "memory.bound", "book.worst", "audit.gap", "audit.lam_range")
STEP_SIZES = ("memory.tolerance", "memory.rate", "memory.settings")
MOST = 2**53  # of a count: beyond, floats skip integers


def arrays_to_store(parts: Mapping[str, Any], fixed: Collection[str] = ()) -> dict[str, Any]:
    """The arrays that a file must hold, by dotted name.

    Parameters
    ----------
    parts : mapping of str to record
        ``counts``, ``believed``, ``memory``, ``move`` and what else there is.
    fixed : collection of str
        Names of arrays that never change after the start, which are not stored either.
    """
    found = {
        name: array
        for name, array in _leaves(parts).items()
        if not _is_scratch(name) and name not in fixed
    }
    memory = parts["memory"]
    if isinstance(memory, PlanMemory):
        used = _used_columns(
            memory.columns.master.basis, memory.columns.tally, len(found[BY_COLUMN[0]])
        )
        found |= {name: _only(found[name], used) for name in BY_COLUMN}
    return found


def put_stored(
    parts: Mapping[str, Any],
    stored: Arrays,
    what: str,
    task: Task,
    n_episodes: int,
    has_policy: bool,
    fixed: Collection[str] = (),
) -> None:
    """Check stored arrays and write them into those of the same names, all of them or none.

    Parameters
    ----------
    parts : mapping of str to record
        Of a learner or run just begun; written.
    stored : mapping of str to array
        From `arrays_to_store`, or of an older file with more in it.
    what : str
        What is read, for errors.
    task : Task
        Gives the sizes.
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
    own = _leaves(parts)
    needed = {name for name in own if not _is_scratch(name) and name not in fixed}
    odd = sorted((needed - set(stored)) | {name for name in stored if name not in own})
    if odd:
        raise StoreError(f"{what}: made by another kind of run ({odd[0]} is in only one of them)")
    for name in sorted(set(stored) & (needed | set(fixed))):
        found, mine = stored[name], own[name]
        if (found.shape, found.dtype) != (mine.shape, mine.dtype):
            raise StoreError(
                f"{what}: {name} is {found.dtype} of shape {found.shape}, "
                f"expected {mine.dtype} of shape {mine.shape}"
            )
        if name in fixed and not np.array_equal(found, mine):
            raise StoreError(f"{what}: {name} is not that of this run")
    checked = {name: np.array(stored[name]) for name in needed}
    try:
        memory = parts["memory"]
        if isinstance(memory, PlanMemory):
            _check_columns(checked, task)
        for name, array in checked.items():
            _check_entries(name, array)
        _check_counts({**own, **checked}, task, n_episodes)
        _check_move(checked, memory, task, has_policy)
    except ModelError as error:
        raise StoreError(f"{what}: damaged: {error}") from error
    for name, array in checked.items():
        own[name][...] = array


def require_pattern(name: str, indptr: Ints, indices: Ints, S: int) -> None:
    """Raise unless these are CSR pointers and rising successors among S states, stage by stage.

    Parameters
    ----------
    name : str
        Of the record they belong to.
    indptr : (G, S*A + 1) array
    indices : (G, E) array
    S : int
    """
    require_pointers(f"{name}.indptr", indptr, indptr.shape[-1] - 1, indices.shape[-1])
    require_integers(f"{name}.indices", indices, 0, S - 1)
    for ends, listed in zip(indptr, indices, strict=True):
        rows = np.repeat(np.arange(ends.size - 1), ends[1:] - ends[:-1])
        keys = rows * S + listed[: ends[-1]].astype(np.int64)
        if (keys[1:] <= keys[:-1]).any():
            raise ModelError(f"{name}.indices: expected successors that rise within each row")


def same_arrays(one: Any, other: Any) -> bool:
    """Whether two arrays, numbers or records of them are equal in every entry."""
    if isinstance(one, tuple):
        return all(same_arrays(*pair) for pair in zip(one, other, strict=True))
    return np.array_equal(one, other)


def _leaves(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: array for part in parts for name, array in leaves(part, parts[part])}


def _is_scratch(name: str) -> bool:
    return any(name.startswith(each) if each.endswith(".") else name == each for each in SCRATCH)


def _used_columns(basis: Ints, tally: Ints, room: int) -> Ints:
    """Columns of the last mixture: the only ones that a later plan reads."""
    return basis[(basis >= 0) & (basis < min(room, int(tally[N_COLUMNS])))]


def _only(array: NDArray[Any], used: Ints) -> NDArray[Any]:
    """A copy with zeros in every column but the used ones."""
    copy = np.zeros_like(array)
    copy[used] = array[used]
    return copy


def _check_columns(arrays: dict[str, Any], task: Task) -> None:
    """Check basis, policies and orders of a plan memory; clear the columns that nothing reads."""
    basis, tally = arrays["memory.columns.master.basis"], arrays["memory.columns.tally"]
    actions, orders = (arrays[name] for name in BY_COLUMN)
    room, S = len(actions), task.n_states
    require_integers("memory.columns.tally", tally, 0, MOST)
    require_integers("memory.columns.tally", tally[N_COLUMNS : N_COLUMNS + 1], 0, room)
    require_integers("memory.columns.master.basis", basis, 0, room + task.n_constraints)
    n_columns = int(tally[N_COLUMNS])
    if n_columns and ((basis >= n_columns) & (basis < room)).any():
        raise ModelError(f"memory.columns.master.basis: a column beyond the {n_columns} in use")
    used = _used_columns(basis, tally, room)
    for name in BY_COLUMN:
        arrays[name] = _only(arrays[name], used)
    require_integers(BY_COLUMN[0], actions[used], 0, task.n_actions - 1)
    require_integers(BY_COLUMN[1], orders[used], 0, S - 1)
    if orders.shape[-1] == S > 1 and (np.sort(orders[used], axis=-1) != np.arange(S)).any():
        raise ModelError("memory.columns.orders: expected every state once in each order")


def _check_entries(name: str, array: NDArray[Any]) -> None:
    """Check what holds for every entry of an array by itself."""
    if array.dtype.kind == "f":
        bad = np.isnan(array) if name in MAY_BE_INFINITE else ~np.isfinite(array)
        if name == "move.facts":
            bad |= np.isinf(array) & ~np.isin(np.arange(array.size), (GAP, BOUND))
        _require(name, array, ~bad, "a finite number")
        if name in STEP_SIZES:
            _require(name, array, array >= 0, "a number of at least 0")
    elif array.dtype.kind == "b":
        require_integers(name, array.view(np.uint8), 0, 1)
    elif name != "counts.indptr":
        require_integers(name, array, -1 if name == "move.choice" else 0, MOST)


def _check_counts(arrays: Arrays, task: Task, n_episodes: int) -> None:
    """Check counts and beliefs against each other and against the number of episodes."""
    indptr, indices = arrays["counts.indptr"], arrays["counts.indices"]
    require_pattern("counts", indptr, indices, task.n_states)
    visits, successors = arrays["counts.visits"], arrays["counts.successors"]
    for ends, n, seen in zip(indptr, visits, successors, strict=True):
        sums = np.concatenate(([0], np.cumsum(seen)))[ends]
        if (np.diff(sums) != n).any():
            raise ModelError("counts.visits: expected the sums of counts.successors")
    cost_visits = arrays["counts.cost_visits"]
    for name, counted in (("visits", visits), ("cost_visits", cost_visits)):
        total = int((counted % CERTAIN).sum())
        if total != n_episodes * task.horizon:
            raise ModelError(
                f"counts.{name}: {total} steps, expected {n_episodes * task.horizon} "
                f"of {n_episodes} episodes"
            )
        planned = arrays[f"planned_{name}"]
        _require(f"planned_{name}", planned, planned <= counted, f"at most counts.{name}")
    for name in ("counts.cost_sum", "counts.constraint_sum"):
        total_cost = arrays[name]
        is_good = (total_cost >= 0) & (total_cost <= cost_visits)
        _require(name, total_cost, is_good, "a number from 0 to the number of visits")
    for name in ("lower", "upper", "rest", "centre", "even", "radius"):
        array, high = arrays[f"believed.{name}"], 2.0 if name == "radius" else 1.0
        is_good = (array >= 0) & (array <= high)
        _require(f"believed.{name}", array, is_good, f"a number in [0, {high:g}]")


def _check_move(arrays: Arrays, memory: Any, task: Task, has_policy: bool) -> None:
    """Check that the last decision, if there is one, and the memory's policy can be played."""
    move = Move(*(arrays[f"move.{field}"] for field in Move._fields))
    require_integers("move.choice", move.choice, -1, task.n_actions - 1)
    if move.facts[IS_DETERMINISTIC] > 0:
        require_integers("move.choice", move.choice, 0, task.n_actions - 1)
    elif has_policy or move.pi.any():
        _require_policy("move.pi", move.pi, task)
    pi = arrays.get("memory.pi")
    if pi is not None and (pi.any() or memory.pi.any()):  # one planned elsewhere begins with zeros
        _require_policy("memory.pi", pi, task)


def _require_policy(name: str, pi: Floats, task: Task) -> None:
    exists = task.allowed if task.allowed.shape[0] else np.True_
    try:
        checked_policy(pi, np.broadcast_to(exists, pi.shape))
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error


def _require(name: str, array: NDArray[Any], is_good: Bools, expected: str) -> None:
    """Raise for the first entry that is not good."""
    if not is_good.all():
        where = np.unravel_index(int(np.argmin(is_good)), is_good.shape)
        index = ", ".join(str(int(place)) for place in where)
        count = int(np.count_nonzero(~is_good))
        more = "" if count == 1 else f"; {count} such entries"
        raise ModelError(f"{name}[{index}] is {array[where]}, expected {expected}{more}")
