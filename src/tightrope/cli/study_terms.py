"""The terms of a study from the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tightrope.arrays import whole
from tightrope.belief.confidence import Confidence
from tightrope.cli.log_options import step_range
from tightrope.cli.pairs import ranges_of, values_of
from tightrope.cli.source import whole_model
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.study.terms import COST, MOST_NAMES, Terms, names_of, position

MOST_SHOWN = 20  # digits of a number that an error shows


def terms_of(
    shape: Mapping[str, Any],
    budgets: Sequence[str],
    ranges: Sequence[str],
    like: str | None,
    confidence: Confidence,
    how: Mapping[str, Any],
) -> Terms:
    """The terms, with sizes and budgets as given or as a model has them."""
    if how["stationary"]:
        confidence = replace(confidence, pool=True)
    more = {**how, "confidence": asdict(confidence)}
    if like is not None:
        for name, value in shape.items():
            if value is not None:
                raise ModelError(f"--{name}: the model of --like says it already; leave one out")
        if ranges:
            raise ModelError("--range: the model of --like says it already; leave one out")
        return Terms(**_of_model(whole_model("--like", like, budgets)), **more)
    for name in ("states", "actions", "horizon"):
        if shape[name] is None:
            raise ModelError(f"--{name}: missing; give it, or a model by --like")
    states = _names("states", shape["states"])
    start = 0 if shape["start"] is None else _start(shape["start"], states)
    return Terms(
        states=states,
        actions=_names("actions", shape["actions"]),
        horizon=shape["horizon"],
        budget=values_of("--budget", budgets),
        ranges=dict(ranges_of(ranges)),
        initial=start,
        **more,
    )


def _names(option: str, text: str) -> list[str]:
    if text.isdecimal():
        return [str(k) for k in range(_number(option, text))]
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ModelError(f"--{option} {text}: expected a number, or names with commas between")
    return names


def _start(text: str, states: Sequence[str]) -> int:
    names = names_of(states)
    is_number = text.isdecimal() and text not in names.position
    return position("--start", _number("start", text) if is_number else text, names)


def _number(option: str, text: str) -> int:
    """A whole number that counts names or is one of them."""
    if len(text) > len(str(MOST_NAMES)):
        shown = text if len(text) <= MOST_SHOWN else f"a number of {len(text)} digits"
        raise ModelError(f"--{option}: {shown}, expected at most {MOST_NAMES}")
    return whole(f"--{option}", int(text), 0, MOST_NAMES)


def _of_model(cmdp: CMDP) -> dict[str, Any]:
    H, units = cmdp.horizon, (cmdp.cost_unit, *cmdp.constraint_units)
    for unit in units:
        if unit.is_maximised:
            raise ModelError(
                f"--like: {unit.name!r} is maximised, but a study is told costs; give states, "
                "actions, horizon, budgets and ranges by themselves"
            )
    names = (COST, *cmdp.constraint_names)
    ranges = {
        name: list(step_range(unit, H))
        for name, unit in zip(names, units, strict=True)
        if (unit.factor, unit.shift) != (1.0, 0.0)
    }
    budget = [unit.show(float(b)) for unit, b in zip(units[1:], cmdp.budget, strict=True)]
    return {
        "states": cmdp.state_names,
        "actions": cmdp.action_names,
        "horizon": H,
        "budget": dict(zip(cmdp.constraint_names, budget, strict=True)),
        "ranges": ranges,
        "initial": cmdp.initial.tolist(),
        "allowed": None if cmdp.allowed.all() else cmdp.allowed.tolist(),
    }
