"""The terms of a study from the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tightrope.cli.source import Source
from tightrope.errors import ModelError
from tightrope.estimate.confidence import Confidence
from tightrope.model import CMDP
from tightrope.study.terms import Terms, position

__all__ = ["terms_of"]


def terms_of(
    shape: Mapping[str, Any],
    budgets: Sequence[str],
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
        return Terms(**_of_model(Source.of(like).load(budgets)), **more)
    for name in ("states", "actions", "horizon"):
        if shape[name] is None:
            raise ModelError(f"--{name}: missing; give it, or a model by --like")
    states = _names("states", shape["states"])
    start = 0 if shape["start"] is None else _start(shape["start"], states)
    return Terms(
        states=states,
        actions=_names("actions", shape["actions"]),
        horizon=shape["horizon"],
        budget=_budgets(budgets),
        initial=start,
        **more,
    )


def _names(option: str, text: str) -> list[str]:
    if text.isdecimal():
        return [str(k) for k in range(int(text))]
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ModelError(f"--{option} {text}: expected a number, or names with commas between")
    return names


def _start(text: str, states: Sequence[str]) -> int:
    if text in states:
        return states.index(text)
    return position("--start", int(text) if text.isdecimal() else text, states)


def _budgets(words: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in words:
        name, equals, text = word.rpartition("=")
        if not equals or not name:
            raise ModelError(f"--budget {word}: expected NAME=VALUE, as in wear=2.5")
        if name in found:
            raise ModelError(f"--budget {word}: a budget for {name!r} twice")
        try:
            found[name] = float(text)
        except ValueError:
            raise ModelError(f"--budget {word}: {text!r}, expected a number") from None
    return found


def _of_model(cmdp: CMDP) -> dict[str, Any]:
    for unit in (cmdp.cost_unit, *cmdp.constraint_units):
        if (unit.factor, unit.shift) != (1.0, 0.0):
            raise ModelError(
                f"--like: {unit.name!r} has a range other than [0, 1]; a study is told costs "
                "in [0, 1], so give states, actions, horizon and budgets by themselves"
            )
    return {
        "states": cmdp.state_names,
        "actions": cmdp.action_names,
        "horizon": cmdp.horizon,
        "budget": dict(zip(cmdp.constraint_names, cmdp.budget.tolist(), strict=True)),
        "initial": cmdp.initial.tolist(),
        "allowed": None if cmdp.allowed.all() else cmdp.allowed.tolist(),
    }
