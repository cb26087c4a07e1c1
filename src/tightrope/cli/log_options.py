"""What the words of ``tightrope fit`` mean: names, ranges, budgets, a model that lends its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.cli.source import whole_model
from tightrope.errors import ModelError
from tightrope.files import reason
from tightrope.model import CMDP, Unit
from tightrope.model.units import Range


class Lent(NamedTuple):
    """What a log is read with: all that a model file can say of it."""

    horizon: int | None
    states: Sequence[str] | None
    actions: Sequence[str] | None
    ranges: Mapping[str, Range]
    budgets: Mapping[str, float]
    initial: Any
    allowed: Any


def lent_by(word: str | None) -> Lent:
    """Names, horizon, ranges, budgets, start and actions of a model; its probabilities stay out."""
    if word is None:
        return Lent(None, None, None, {}, {}, None, None)
    cmdp = whole_model("--model", word)
    limits = [unit.show(bound) for unit, bound in _bounded(cmdp)]
    units = {_objective(cmdp.cost_unit): cmdp.cost_unit}
    units |= dict(zip(cmdp.constraint_names, cmdp.constraint_units, strict=True))
    for name, unit in list(units.items())[1:]:
        if unit.is_maximised:
            raise ModelError(f"--model {word}: {name!r} has a floor; a log has budgets only")
    return Lent(
        cmdp.horizon,
        cmdp.state_names,
        cmdp.action_names,
        {name: step_range(unit, cmdp.horizon) for name, unit in units.items()},
        dict(zip(cmdp.constraint_names, limits, strict=True)),
        cmdp.initial,
        np.array(cmdp.allowed),
    )


def listed_names(option: str, path: Path | None) -> list[str] | None:
    """The names in a text file, one a line."""
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ModelError(f"{option} {path}: cannot be read: {reason(error)}") from error
    names = [line.strip() for line in lines if line.strip()]
    if not names or len(set(names)) < len(names):
        raise ModelError(f"{option} {path}: expected distinct names, one a line")
    return names


def _bounded(cmdp: CMDP) -> list[tuple[Unit, float]]:
    return list(zip(cmdp.constraint_units, cmdp.budget.tolist(), strict=True))


def _objective(unit: Unit) -> str:
    return "reward" if unit.is_maximised else "cost"


def step_range(unit: Unit, H: int) -> Range:
    """Least and greatest shown value of one step."""
    ends = unit.shift / H, unit.shift / H + unit.factor
    return min(ends), max(ends)
