"""RunSpec: everything that decides a run, and the names and luck that follow from it.

Two specs that mean the same are the same: defaults are filled in, and a confidence is its whole
table. The id of a run is a hash of that content, so a run is found again wherever it was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from tightrope import envs
from tightrope.arrays import check_choice, flag, positive, share, whole
from tightrope.errors import ModelError, describe
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.learners.algorithms import Options, learner_named
from tightrope.run.setting import required_rho
from tightrope.text import guess

ID_LENGTH = 16
Value = bool | int | float | str | list[int] | list[float]


class RunSpec(BaseModel):
    """One run, described.

    Parameters
    ----------
    environment : str
        A name of the catalogue, or the name of a model file.
    parameters : table
        Of the environment; what is left out has its default.
    model : str
        For a model file the hash of its content, ``"sha256:..."``; otherwise empty.
    budget : table
        Other budgets (or floors) by the name of the constraint, in its own units.
    algorithm : str
        A learner or a reference, see `learn`.
    episodes : int
        Number of episodes K.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str or table
        As for `learn`; kept as the whole table of options.
    rho : float or str
        Bound on the multipliers, or the rule that gives it.
    dual_step, primal_step, tolerance, method, audit_visits
        As for `learn`.
    seed : int
        Of the run's luck.
    luck : {"shared", "own"}
        Whether learners with the same seed meet the same luck in the same model, so that their
        differences are paired, or each its own.
    points : int
        About how many episodes to record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    environment: str
    parameters: dict[str, Value] = {}
    model: str = ""
    budget: dict[str, float] = {}
    algorithm: str
    episodes: int
    delta: float = 0.1
    confidence: dict[str, Any] = asdict(Confidence())
    rho: float | str = "paper_x2"
    dual_step: float = 1.0
    primal_step: float = 1.0
    tolerance: float = 1e-8
    method: Literal["columns", "lp"] = "columns"
    audit_visits: bool = False
    seed: int = 0
    luck: Literal["shared", "own"] = "shared"
    points: int = 2000

    @field_validator("confidence", mode="before")
    @classmethod
    def _whole_confidence(cls, value: Any) -> dict[str, Any]:
        table = asdict(as_confidence(value))
        return {
            k: float(v) if k.startswith("scale") and v is not None else v for k, v in table.items()
        }

    @field_validator("algorithm")
    @classmethod
    def _known_algorithm(cls, value: str) -> str:
        return learner_named(value).name

    @field_validator("delta", "dual_step", "primal_step", "tolerance", mode="before")
    @classmethod
    def _number(cls, value: Any, info: Any) -> float:
        return (
            share("delta", value)
            if info.field_name == "delta"
            else positive(info.field_name, value)
        )

    @field_validator("episodes", "points", "seed", mode="before")
    @classmethod
    def _count(cls, value: Any, info: Any) -> int:
        return whole(info.field_name, value, 0 if info.field_name == "seed" else 1)

    @field_validator("audit_visits", mode="before")
    @classmethod
    def _truth(cls, value: Any) -> bool:
        return flag("audit_visits", value)

    @field_validator("rho", mode="before")
    @classmethod
    def _bound(cls, value: Any) -> float | str:
        return required_rho(value)

    @field_validator("method", "luck", mode="before")
    @classmethod
    def _word(cls, value: Any, info: Any) -> str:
        known = {"method": ("columns", "lp"), "luck": ("shared", "own")}[info.field_name]
        return check_choice(info.field_name, value, known)

    @field_validator("budget", mode="before")
    @classmethod
    def _budgets(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ModelError(f"budget: {value!r}, expected a table of constraints and numbers")
        return {
            name: float(bound) if isinstance(bound, int) else bound for name, bound in value.items()
        }

    @model_validator(mode="before")
    @classmethod
    def _whole_parameters(cls, table: Any) -> Any:
        if not isinstance(table, Mapping) or "environment" not in table:
            return table
        name, given = table.get("environment"), table.get("parameters", {})
        if table.get("model"):
            if given:
                raise ModelError(f"parameters: {name} is a model file, which has none")
            return table
        if not isinstance(name, str) or not isinstance(given, Mapping):
            return table
        return {**table, "parameters": envs.completed(name, given)}

    @property
    def id(self) -> str:
        """Name of the run: a hash of everything that decides it."""
        return _digest(self._content())[:ID_LENGTH]

    @property
    def group(self) -> str:
        """Name of the runs that differ from this one in their seed only."""
        return _digest(self._content("seed"))[:ID_LENGTH]

    @property
    def problem(self) -> dict[str, Any]:
        """What decides the model."""
        others = set(type(self).model_fields) - {"environment", "parameters", "model", "budget"}
        return self._content(*others)

    @property
    def options(self) -> Options:
        """Step factors, tolerance and method; the bound on the multipliers is still to come."""
        return Options(1.0, self.dual_step, self.primal_step, self.tolerance, self.method)

    def generator(self) -> np.random.Generator:
        """The run's own source of randomness, at its start.

        Keyed by content: by the model and the seed, and where luck is not shared by everything
        else too. So no run depends on which other runs there are.
        """
        shared = {**self.problem, "seed": self.seed}
        key = int(_digest(self._content() if self.luck == "own" else shared), 16)
        return np.random.default_rng(np.random.SeedSequence(key))

    def _content(self, *left_out: str) -> dict[str, Any]:
        """All fields but some; nothing depends on what a model file is called."""
        unnamed = ("environment",) if self.model else ()
        return self.model_dump(mode="json", exclude={*left_out, *unnamed})


def spec_of(table: Mapping[str, Any], where: str = "spec") -> RunSpec:
    """The spec that a table means, or a `ModelError` that names the field.

    Parameters
    ----------
    table : mapping of str to value
    where : str
        What the table is, for the error.
    """
    try:
        return RunSpec.model_validate(dict(table))
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from error
    except ValidationError as error:
        raise ModelError(f"{where}: {_first(error)}") from error


def unknown_field(name: str, known: Sequence[str]) -> str:
    """What is said of a field that nobody knows."""
    return f"unknown field {name!r}{guess(name, known)} (fields: {', '.join(known)})"


def _first(error: ValidationError) -> str:
    """The first fault of a table in words; a field that nobody knows before one that is missing."""
    faults = error.errors(include_url=False)
    fault = min(faults, key=lambda each: each["type"] != "extra_forbidden")
    path = ".".join(str(step) for step in fault["loc"][:2])
    known = list(RunSpec.model_fields)
    if fault["type"] == "extra_forbidden":
        return unknown_field(path, known)
    if fault["type"] == "missing":
        return f"{path}: missing"
    return f"{path}: {describe(fault['input'])}, {fault['msg'][0].lower()}{fault['msg'][1:]}"


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
