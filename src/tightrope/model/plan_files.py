"""Files of plans: arrays to read again, and tables for people and other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ConfigError, StoreError
from tightrope.files import put, read_arrays, reason, require_kind
from tightrope.model.base import Model
from tightrope.model.choices import Choices, Product
from tightrope.text import escape_cell

if TYPE_CHECKING:
    from tightrope.model.plan import Plan

NAME = "tightrope-plan"
PLAN_FORMAT = "tightrope-plan 2"
SHORT_FORMAT = "tightrope-plan 3"  # of a large plan: actions in place of probabilities
MOST_DENSE = 10_000_000  # probabilities in a file of the other format
# values of the first are on the scale [0, 1] per step
FORMATS = ("tightrope-plan 1", PLAN_FORMAT, SHORT_FORMAT)
SUFFIXES = (".npz", ".csv", ".json")
VALUES = ("constraint_value", "multiplier", "saving")
ARRAYS = ("format", "policy", "occupancy", "value", "gap", *VALUES)
SHORT = (*Choices._fields, "reached")
NAMES = ("state_names", "action_names", "constraint_names")


class AxisNames(NamedTuple):
    """Names of states, actions and constraints."""

    states: Sequence[str]
    actions: Sequence[str]
    constraints: Sequence[str]


def names_of(cmdp: Model) -> AxisNames:
    """Return the names of a model."""
    return AxisNames(cmdp.state_names, cmdp.action_names, cmdp.constraint_names)


def check_suffix(path: Path) -> None:
    """Raise a `ConfigError` unless a plan can be written to a file of that name."""
    if path.suffix.lower() not in SUFFIXES:
        words = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ConfigError(
            f"{path}: a plan is saved as {words}, this name ends in {path.suffix!r}",
            argument=str(path),
        )


def policy_rows(
    plan: Plan, names: AxisNames, reached: Floats | None = None, first: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the reached part of a plan's policy as plain data, one entry per stage and state.

    For an infinite horizon there are no stages, and visits replace the probability of being
    reached.
    ``reached`` (H, S) is used in place of the plan's own, ``first`` is the number of the first
    stage.
    """
    policy = plan.choices
    reached = plan.reached if reached is None else reached
    _, S, A = policy.shape
    states = names.states or [str(s) for s in range(S)]
    actions = names.actions or [str(a) for a in range(A)]
    for place in np.flatnonzero(reached > 0).tolist():
        h, s = divmod(place, S)
        row = policy.row(h, s)
        yield {
            **({"stage": h + first} if plan.has_stages else {}),
            "state": states[s],
            "reached" if plan.has_stages else "visits": float(reached[h, s]),
            "actions": {actions[a]: float(row[a]) for a in np.flatnonzero(row).tolist()},
        }


def _as_csv(plan: Plan, names: AxisNames) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    stage, count = (["stage"], "reached") if plan.has_stages else ([], "visits")
    writer.writerow((*stage, "state", "action", "probability", count))
    for row in policy_rows(plan, names):
        for action, share in row["actions"].items():
            place = *(row[name] for name in stage), escape_cell(row["state"]), escape_cell(action)
            writer.writerow((*place, f"{share:.9g}", f"{row[count]:.9g}"))
    return text.getvalue().encode()


def _as_json(plan: Plan, budget: Any, names: AxisNames) -> bytes:
    I = plan.multiplier.size
    rows = zip(
        names.constraints or [str(i) for i in range(I)],
        plan.constraint_value.tolist(),
        [float(each) if np.isfinite(each) else None for each in np.asarray(budget)],
        plan.multiplier.tolist(),
        plan.saving.tolist(),
        strict=True,
    )
    table = {
        "value": plan.value,
        "gap": plan.gap,
        "constraints": [
            dict(zip(("name", "value", "budget", "multiplier", "saving"), row, strict=True))
            for row in rows
        ],
        "policy": list(policy_rows(plan, names)),
    }
    return (json.dumps(table, indent=2) + "\n").encode()


def save_plan(path: Path, plan: Plan, budget: Any, names: AxisNames) -> None:
    """Write a plan in the format given by the name of the file."""
    if path.suffix.lower() == ".csv":
        put(path, _as_csv(plan, names))
        return
    if path.suffix.lower() == ".json":
        put(path, _as_json(plan, budget, names))
        return
    content = io.BytesIO()
    np.savez_compressed(
        content,
        **_arrays_of(plan),
        value=np.array(plan.value),
        constraint_value=plan.constraint_value,
        multiplier=plan.multiplier,
        saving=plan.saving,
        gap=np.array(plan.gap),
        budget=np.asarray(budget),
        state_names=np.array(names.states, dtype=np.str_),
        action_names=np.array(names.actions, dtype=np.str_),
        constraint_names=np.array(names.constraints, dtype=np.str_),
    )
    put(path, content.getvalue())


def _arrays_of(plan: Plan) -> dict[str, Any]:
    """Return policy and occupancy of a plan as its file has them."""
    if not plan.is_in_short or np.prod(plan.choices.shape) <= MOST_DENSE:
        form = np.array(PLAN_FORMAT)
        return {"format": form, "policy": plan.policy, "occupancy": plan.occupancy}
    form = np.array(SHORT_FORMAT)
    return {"format": form, **plan.choices._asdict(), "reached": plan.reached}


def read_plan(path: Path) -> dict[str, Any]:
    """Read the fields of a plan that `save_plan` wrote; method and model are not in the file."""
    arrays = _read(path, (*ARRAYS, *SHORT), NAME)
    form = str(arrays.get("format", ""))
    needed = set(ARRAYS) - {"policy", "occupancy"} | set(SHORT) if form == SHORT_FORMAT else ARRAYS
    if form not in FORMATS or set(needed) - set(arrays):
        raise StoreError(
            f"{path}: not a plan; expected the arrays of {PLAN_FORMAT!r}", argument=str(path)
        )
    policy: Any
    occupancy: Any
    if form == SHORT_FORMAT:
        policy = _choices(path, arrays)
        _require_arrays(path, arrays, {"reached": policy.actions.shape})
        occupancy = Product(policy, arrays["reached"])
    else:
        policy, occupancy = arrays["policy"], arrays["occupancy"]
        if policy.ndim not in (2, 3):
            _refuse(path, "policy", policy)
        _require_arrays(path, arrays, {"policy": policy.shape, "occupancy": policy.shape})
    shapes = dict.fromkeys(VALUES, (arrays["multiplier"].size,))
    _require_arrays(path, arrays, {"value": (), "gap": (), **shapes})
    fields = {name: arrays[name] for name in VALUES}
    fields |= {name: float(arrays[name]) for name in ("value", "gap")}
    return fields | {"policy": policy, "occupancy": occupancy, "method": "file", "sweeps": 0}


def _choices(path: Path, arrays: dict[str, Any]) -> Choices:
    """Return the policy in short of a file, every number in it checked."""
    policy = Choices(*(arrays[name] for name in Choices._fields))
    for name, array, kinds, ndim in zip(
        Choices._fields, policy, ("u", "i", "f"), (2, 1, 2), strict=True
    ):
        if array.dtype.kind != kinds or array.ndim != ndim:
            _refuse(path, name, array)
    H, S, A = policy.shape
    if int(policy.actions.max(initial=0)) >= A:
        _refuse(path, "actions", policy.actions)
    ends = np.concatenate(([-1], policy.mixed, [H * S]))
    if len(policy.shares) != policy.mixed.size or (np.diff(ends) <= 0).any():
        _refuse(path, "mixed", policy.mixed)
    return policy


def _require_arrays(path: Path, arrays: dict[str, Any], shapes: dict[str, Any]) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind != "f":
            _refuse(path, name, arrays[name])


def _refuse(path: Path, name: str, array: Any) -> NoReturn:
    raise StoreError(f"{path}: {name}: {array.dtype} of shape {array.shape}", argument=str(path))


def _read(path: Path, names: Sequence[str], kind: str = "") -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {reason(error)}", argument=str(path)) from error
    if path.suffix.lower() in (".csv", ".json"):
        raise StoreError(f"{path}: plans are loaded from .npz files only", argument=str(path))
    if kind:
        try:
            require_kind(content, kind)
        except StoreError as error:
            message = f"{path}: {error}"
            raise StoreError(message, argument=str(path)).with_fields_of(error) from error
    try:
        return read_arrays(content, names)
    except StoreError as error:
        raise StoreError(
            f"{path}: no .npz of plain arrays, or corrupt: {error}", argument=str(path)
        ).with_fields_of(error) from error


def read_policy(path: Path) -> tuple[Any, AxisNames]:
    """Read the policy of a plan file, or of any .npz with an array ``policy``, and its names."""
    arrays = _read(path, ("policy", "format", *Choices._fields, *NAMES))
    if str(arrays.get("format", "")) == SHORT_FORMAT and set(Choices._fields) <= set(arrays):
        arrays["policy"] = _choices(path, arrays).dense()
    if "policy" not in arrays:
        raise StoreError(
            f"{path}: holds no array 'policy', as the file of a plan does", argument=str(path)
        )
    for name in NAMES:
        if name in arrays and arrays[name].ndim != 1:
            raise StoreError.about(
                name, where=str(path), shape=arrays[name].shape, expected="a list of names"
            )
    names = AxisNames(*(tuple(map(str, arrays.get(name, ()))) for name in NAMES))
    return arrays["policy"], names
