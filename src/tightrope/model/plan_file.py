"""Plans as .npz files of plain arrays, with the names that go with their axes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.errors import StoreError
from tightrope.files import put, read_arrays, reason
from tightrope.model.cmdp import CMDP
from tightrope.model.plan import Plan

PLAN_FORMAT = "tightrope-plan 1"
VALUES = ("constraint_value", "multiplier", "saving")
ARRAYS = ("format", "policy", "occupancy", "value", "gap", *VALUES)
NAMES = ("state_names", "action_names", "constraint_names")


class AxisNames(NamedTuple):
    """What states, actions and constraints are called."""

    states: Sequence[str]
    actions: Sequence[str]
    constraints: Sequence[str]


def names_of(cmdp: CMDP) -> AxisNames:
    """The names of a model."""
    return AxisNames(cmdp.state_names, cmdp.action_names, cmdp.constraint_names)


def save_plan(path: Path, plan: Plan, budget: Any, names: AxisNames) -> None:
    """Write the arrays of a plan, with the names that go with their axes."""
    content = io.BytesIO()
    np.savez_compressed(
        content,
        format=np.array(PLAN_FORMAT),
        policy=plan.policy,
        occupancy=plan.occupancy,
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


def load_plan(path: Path) -> Plan:
    """The plan in a file that `save_plan` wrote; the file says neither its method nor its model."""
    arrays = _read(path, ARRAYS)
    if str(arrays.get("format", "")) != PLAN_FORMAT or set(ARRAYS) - set(arrays):
        raise StoreError(f"{path}: not a plan; expected the arrays of {PLAN_FORMAT!r}")
    policy, n_constraints = arrays["policy"], arrays["multiplier"].size
    expected = {"policy": policy.shape[:3], "occupancy": policy.shape, "value": (), "gap": ()}
    expected |= dict.fromkeys(VALUES, (n_constraints,))
    for name, shape in expected.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind != "f" or policy.ndim != 3:
            raise StoreError(f"{path}: {name}: {arrays[name].dtype} of shape {arrays[name].shape}")
    return Plan(
        policy=policy,
        value=float(arrays["value"]),
        constraint_value=arrays["constraint_value"],
        multiplier=arrays["multiplier"],
        gap=float(arrays["gap"]),
        occupancy=arrays["occupancy"],
        method="file",
        sweeps=0,
        saving=arrays["saving"],
    )


def _read(path: Path, names: Sequence[str]) -> dict[str, Any]:
    try:
        return read_arrays(path.read_bytes(), names)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {reason(error)}") from error
    except StoreError as error:
        raise StoreError(f"{path}: no .npz of plain arrays, or damaged: {error}") from error


def read_policy(path: Path) -> tuple[Any, AxisNames]:
    """The policy in a plan's file, or in any .npz with an array ``policy``, and its names."""
    arrays = _read(path, ("policy", *NAMES))
    if "policy" not in arrays:
        raise StoreError(f"{path}: holds no array 'policy', as tightrope solve --save writes it")
    for name in NAMES:
        if name in arrays and arrays[name].ndim != 1:
            raise StoreError(
                f"{path}: {name}: shape {arrays[name].shape}, expected a list of names"
            )
    names = AxisNames(*(tuple(map(str, arrays.get(name, ()))) for name in NAMES))
    return arrays["policy"], names
