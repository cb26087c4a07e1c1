"""Files of commands: places looked at before the work and not after it, and plans as files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.errors import ModelError, StoreError
from tightrope.files import put, read_arrays, reason
from tightrope.model import CMDP, Plan

PLAN_FORMAT = "tightrope-plan 1"
NAMES = ("state_names", "action_names", "constraint_names")


class AxisNames(NamedTuple):
    """What states, actions and constraints are called."""

    states: Sequence[str]
    actions: Sequence[str]
    constraints: Sequence[str]


def exists(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def require_folder(path: Path) -> None:
    """Raise a `StoreError` when a file cannot be written because its folder is not there."""
    if path.is_dir():
        raise StoreError(f"{path}: cannot be written: it is a directory")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be written: {path.parent} is no directory")


def require_figure(path: Path | None) -> None:
    """Raise when a picture was asked for and cannot be written there."""
    if path is None:
        return
    from tightrope.show.figures import require_picture

    require_picture(path)
    require_folder(path)


def names_of(cmdp: CMDP) -> AxisNames:
    """The names of a model."""
    return AxisNames(cmdp.state_names, cmdp.action_names, cmdp.constraint_names)


def require_npz(path: Path) -> None:
    """Raise when a plan cannot be saved there."""
    if path.suffix.lower() != ".npz":
        raise ModelError(f"{path}: a plan is saved as .npz, this name ends in {path.suffix!r}")
    require_folder(path)


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


def read_policy(path: Path) -> tuple[Any, AxisNames]:
    """The policy in a plan's file, or in any .npz with an array ``policy``, and its names."""
    try:
        arrays = read_arrays(path.read_bytes(), ("policy", *NAMES))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {reason(error)}") from error
    except StoreError as error:
        raise StoreError(f"{path}: no .npz of plain arrays, or damaged: {error}") from error
    if "policy" not in arrays:
        raise StoreError(f"{path}: holds no array 'policy', as tightrope solve --save writes it")
    for name in NAMES:
        if name in arrays and arrays[name].ndim != 1:
            raise StoreError(
                f"{path}: {name}: shape {arrays[name].shape}, expected a list of names"
            )
    return arrays["policy"], AxisNames(*(tuple(map(str, arrays.get(name, ()))) for name in NAMES))
