"""RunSpec: configuration of a run (problem, learner, settings) and the ids derived from it.

Equivalent specs are equal: defaults are filled in, and a confidence is its whole table. The id of a
run hashes a schema version and the fields that differ from their defaults, so that a new option
never changes the id of a run that does not use it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from tightrope.arrays import check_choice, flag, is_number, share, whole
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.envs import catalog
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.gym_fields import (
    gymnasium_settings,
    is_gym,
    plain_table,
    require_gym_fields,
)
from tightrope.experiments.missing import MissingLearner, key_of
from tightrope.learners import (
    LEARNERS,
    OptCMDP,
    OptCMDPLP,
    Uniform,
    find_learner,
    learner_by_lp,
)
from tightrope.learners.base import Learner, check_plain
from tightrope.model.start import KNOWN, check_start
from tightrope.text import guess

SCHEMA = 2
ID_LENGTH = 16
GYM_SEED_LENGTH = 13  # hexadecimal digits
PROBLEM = ("environment", "parameters", "model", "budget")
CRN, LUCK = "common_random_numbers", "luck"  # the field, and its name in files of version 0.1
ADDED = ("schema", "average", "origin")  # fields that version 0.1 did not have
OPTIONS_0_1 = {"rho": "paper_x2", "dual_step": 1.0, "primal_step": 1.0, "tolerance": 1e-8}
CONFIDENCE_0_1 = {
    "transition",
    "tight_costs",
    "clip",
    "tight_bonus",
    "replan",
    "pool",
    "known_costs",
    "known_support",
    "any_time",
    "scale",
    "scale_cost",
    "scale_transition",
    "scale_bonus",
}


@dataclass(frozen=True)
class RunSpec:
    """Configuration of one run.

    Parameters
    ----------
    environment : str
        A name of the catalog, the name of a model file, or ``"gym:ID"``.
    learner : Learner
        The algorithm with its options.
    episodes : int
        Number of episodes K.
    parameters : dict
        Of the environment; the others have their defaults.
    model : str
        For a model file the hash of its content, ``"sha256:..."``; otherwise empty.
    budget : dict
        Other budgets (or floors) by name of the constraint, in its units.
    delta : float
        Probability with which the guarantees may fail.
    confidence : Confidence
        Radii of the confidence sets.
    audit_visits : bool
        Whether the visit-count event is audited too.
    average : bool
        Whether the average policy is recorded, which costs a forward sweep per episode.
    seed : int
        Of the run's randomness.
    common_random_numbers : bool
        Whether learners with the same seed see the same randomness in the same model, so that
        their differences are paired.
    points : int
        About how many episodes to record.
    initial : {"known", "learned"}
        Whether learners know the start distribution, or learn it in a stage before the first.
    gymnasium : dict
        For ``"gym:ID"`` what is known of the environment, see `gymnasium_settings`.
    origin : str
        Hash that version 0.1 gave to the run, where that version planned it; its id is the start.
    """

    environment: str
    learner: Learner
    episodes: int
    parameters: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    budget: dict[str, float] = field(default_factory=dict)
    delta: float = 0.1
    confidence: Confidence = field(default_factory=Confidence)
    audit_visits: bool = False
    average: bool = False
    seed: int = 0
    common_random_numbers: bool = True
    points: int = 2000
    initial: str = KNOWN
    gymnasium: dict[str, Any] = field(default_factory=dict)
    origin: str = field(default="", compare=False)

    @property
    def algorithm(self) -> str:
        """Name of the learner."""
        return self.learner.name

    @property
    def is_gym(self) -> bool:
        """Whether it is run in an environment of Gymnasium, without a model."""
        return is_gym(self.environment) and not self.model

    @property
    def id(self) -> str:
        """Name of the run in files: a hash of its configuration."""
        return self.origin[:ID_LENGTH] or self.content_id

    @property
    def content_id(self) -> str:
        """The hash, independent of the version that planned the run."""
        if isinstance(self.learner, MissingLearner) and self.learner.run:
            return self.learner.run
        return _digest(self._changes())[:ID_LENGTH]

    @property
    def group(self) -> str:
        """Name of the group of runs that differ only in their seed."""
        return _digest(self._changes("seed"))[:ID_LENGTH]

    @property
    def problem(self) -> dict[str, Any]:
        """Fields that determine the model, and whether learners know its start."""
        content = {name: getattr(self, name) for name in PROBLEM}
        if self.gymnasium:
            content["gymnasium"] = self.gymnasium
        return _drop_model_name({**content, **self._start})

    @property
    def _start(self) -> dict[str, str]:
        """What is known of the start, unless it is all, so that hashes stay what they were."""
        return {} if self.initial == KNOWN else {"initial": self.initial}

    @property
    def problem_id(self) -> str:
        """Name of the problem: a hash of the fields that determine the model."""
        return _digest(self.problem)[:ID_LENGTH]

    def gym_seed(self) -> int:
        """Return the seed of a run in an environment of Gymnasium, as for `learn_gymnasium`."""
        own = _digest(self._changes())[:GYM_SEED_LENGTH]
        return self.seed if self.common_random_numbers else int(own, 16)

    def generator(self) -> np.random.Generator:
        """Return the random generator of the run, at its start.

        Keyed by the model and the seed, and by all other fields if it is not shared. So no run
        depends on which other runs exist.
        """
        key = _digest({**self.problem, "seed": self.seed})
        if not self.common_random_numbers:
            key = self.origin or _digest(self._content_0_1())
        return np.random.default_rng(np.random.SeedSequence(int(key, 16)))

    def to_table(self) -> dict[str, Any]:
        """Return all fields as plain values, the learner's options in a separate table."""
        table: dict[str, Any] = {"schema": SCHEMA, "algorithm": key_of(self.learner)}
        for each in fields(self):
            if each.name != "learner":
                table[each.name] = getattr(self, each.name)
        table["confidence"] = asdict(self.confidence)
        for name in ("origin", "gymnasium"):
            if not table[name]:
                del table[name]
        return {**table, "options": dict(self.learner.options)}

    def to_json(self, indent: int | None = None) -> str:
        """Return the table as JSON."""
        return json.dumps(self.to_table(), indent=indent, allow_nan=False)

    def _changes(self, *left_out: str) -> dict[str, Any]:
        """Return the schema version and all fields that differ from their defaults."""
        table = self.to_table()
        base = {each.name: each.default for each in fields(self)}
        changes = {k: v for k, v in table.items() if k not in base or v != base[k]}
        usual = (
            {} if self.model or self.is_gym else catalog.complete_parameters(self.environment, {})
        )
        changes["parameters"] = {k: v for k, v in self.parameters.items() if usual.get(k) != v}
        usual = asdict(Confidence())
        changes["confidence"] = {k: v for k, v in table["confidence"].items() if v != usual[k]}
        usual = {each.name: each.default for each in self.learner.option_fields()}
        options = table["options"].items()
        changes["options"] = {k: v for k, v in options if k not in usual or v != usual[k]}
        for name in ("origin", *left_out):
            changes.pop(name, None)
        changes = {name: value for name, value in changes.items() if value != {}}
        return _drop_model_name(_under_old_name(changes))

    def _content_0_1(self) -> dict[str, Any]:
        """Return all fields as in version 0.1, which keys randomness that is not shared.

        Options added later are included only if they differ from their defaults.
        """
        table = {**OPTIONS_0_1, "method": "columns", **self.to_table()}
        for each in self.learner.option_fields():
            value = table["options"].pop(each.name)
            if each.name in OPTIONS_0_1:
                table[each.name] = value
            elif value != each.default:
                table["options"][each.name] = value
        if not table["options"]:
            del table["options"]
        for each in fields(Confidence):
            if each.name not in CONFIDENCE_0_1 and table["confidence"][each.name] == each.default:
                del table["confidence"][each.name]
        if isinstance(self.learner, OptCMDPLP):
            table |= {"algorithm": OptCMDP.name, "method": "lp"}
        for name in (*ADDED, *(() if self._start else ("initial",))):
            table.pop(name, None)
        return _drop_model_name(_under_old_name(table))


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError.about(name, found=value, expected="a word")
    return value


def _check_hash(name: str, value: Any, length: int = 64) -> str:
    if not re.fullmatch(f"[0-9a-f]{{{length}}}", _check_text(name, value)):
        raise ConfigError.about(name, found=value, expected=f"{length} hexadecimal digits")
    return str(value)


def _check_budget(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise ConfigError.about(name, found=value, expected="a table of constraints and numbers")
    for key, bound in value.items():
        if not is_number(bound):
            raise ConfigError.about(f"{name}.{key}", found=bound, expected="a number")
    return {_check_text(name, key): float(bound) for key, bound in value.items()}


def _check_confidence(name: str, value: Any) -> Confidence:
    found = as_confidence(value)
    scales = {
        each.name: float(getattr(found, each.name))
        for each in fields(found)
        if each.name.startswith("scale") and getattr(found, each.name) is not None
    }
    return Confidence(**{**asdict(found), **scales})


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "environment": _check_text,
    "model": _check_text,
    "episodes": whole,
    "budget": _check_budget,
    "delta": share,
    "confidence": _check_confidence,
    "audit_visits": flag,
    "average": flag,
    "seed": lambda name, value: whole(name, value, 0),
    "common_random_numbers": flag,
    "points": whole,
    "initial": check_start,
    "gymnasium": gymnasium_settings,
    "origin": _check_hash,
}


def option_checks() -> dict[str, Callable[[str, Any], Any]]:
    """Return the options of all listed learners by name, each with its check."""
    return {
        each.name: each.metadata.get("check", check_plain)
        for learner in LEARNERS.values()
        for each in learner.option_fields()
    }


def field_names() -> list[str]:
    """Return all fields that the table of a spec may have."""
    own = [each.name for each in fields(RunSpec) if each.name not in ("learner", "origin")]
    return [own[0], "algorithm", "options", *own[1:], *option_checks(), "method"]


def spec_of(table: Mapping[str, Any], where: str = "spec") -> RunSpec:
    """Return the spec of a table, or raise a `ConfigError` that names the field.

    Options of other learners are checked and dropped, so that one table can serve several.

    Parameters
    ----------
    table : mapping of str to value
        Fields of `RunSpec` with ``algorithm`` and ``options`` in place of ``learner``; options
        that do not have the name of a field may also stand among the fields. Tables of version 0.1
        have no ``schema`` and ``luck`` for common random numbers; complete ones keep the id that
        it gave them.
    where : str
        What the table is, for the error.
    """
    try:
        return _spec(dict(table))
    except ModelError as error:
        raise error.with_message(f"{where}: {error}") from error


def read_stored_spec(table: Mapping[str, Any], where: str) -> RunSpec:
    """Return the spec of a line of an experiment's list.

    A learner that is not listed and whose class cannot be loaded, or rejects its stored options, is
    read as a `MissingLearner`, so that the runs of an experiment can be read without it.

    Parameters
    ----------
    table : mapping of str to value
        As for `spec_of`, with the ``id`` of the run.
    where : str
        What the table is, for the error.
    """
    table = dict(table)
    run = table.pop("id", None)
    name, options = table.get("algorithm"), table.get("options")
    if not isinstance(name, str) or name in LEARNERS or not isinstance(options, Mapping):
        return spec_of(table, where)
    try:
        find_learner(name).from_options(options)
    except Exception:  # noqa: BLE001 - importing a module may raise anything
        stand_in = spec_of({**table, "algorithm": Uniform.name, "options": {}}, where)
        run = "" if run is None else _check_hash(f"{where}: id", run, ID_LENGTH)
        return replace(stand_in, learner=MissingLearner(name=name, stored=dict(options), run=run))
    return spec_of(table, where)


def _spec(table: dict[str, Any]) -> RunSpec:
    schema = table.pop("schema", None)
    if schema is None and set(table) >= {*OPTIONS_0_1, "method", "points", LUCK, "model"}:
        table["origin"] = _digest(_drop_model_name(dict(table)))
    elif schema not in (None, SCHEMA):
        raise ConfigError.about("schema", found=schema, expected=SCHEMA)
    if LUCK in table:
        table = _under_new_name(table)
    missing = [name for name in ("environment", "algorithm", "episodes") if name not in table]
    method = check_choice("method", table.pop("method", "columns"), ("columns", "lp"))
    name, nested = table.pop("algorithm", None), table.pop("options", {})
    if not isinstance(nested, Mapping):
        raise ConfigError.about("options", found=nested, expected="a table")
    kind = None if "algorithm" in missing else find_learner(_check_text("algorithm", name))
    checks = option_checks()
    own = [] if kind is None else [each.name for each in kind.option_fields()]
    for key in table:
        if key not in CHECKS and key not in checks and key not in (*own, "parameters"):
            raise unknown_field(key, [*field_names(), *own])
    if kind is None or missing:
        raise ConfigError.about(missing[0], shown="missing")
    if method == "lp":
        kind = learner_by_lp(kind)
        own = [each.name for each in kind.option_fields()]
    given = {key: CHECKS[key](key, value) for key, value in table.items() if key in CHECKS}
    given["parameters"] = _parameters(given, table.get("parameters", {}))
    for key, check in checks.items():
        if key in table and key not in own:
            check(key, table[key])
    if is_gym(given["environment"]) and not given.get("model"):
        require_gym_fields(given)
    elif given.get("gymnasium"):
        more = f"{given['environment']} is no environment of Gymnasium, as in gym:FrozenLake-v1"
        raise ConfigError.about("gymnasium", more=more)
    options = {key: table[key] for key in own if key in table and key not in CHECKS}
    for key in options:
        if key in nested:
            raise ConfigError.about(key, more="given twice, also in options")
    return RunSpec(learner=kind.from_options({**options, **nested}), **given)


def _parameters(given: Mapping[str, Any], parameters: Any) -> dict[str, Any]:
    if not isinstance(parameters, Mapping):
        raise ConfigError.about("parameters", found=parameters, expected="a table")
    if given.get("model"):
        if parameters:
            raise ConfigError.about(
                "parameters", more=f"{given['environment']} is a model file, which has none"
            )
        return {}
    if is_gym(given["environment"]):
        return plain_table("parameters", parameters)
    return catalog.complete_parameters(given["environment"], parameters)


def unknown_field(name: str, known: Sequence[str]) -> ConfigError:
    """Return the error for a field that does not exist."""
    words = f"unknown field {name!r}{guess(name, known)} (fields: {', '.join(known)})"
    return ConfigError(words, argument=name)


def _under_old_name(content: dict[str, Any]) -> dict[str, Any]:
    """Write common random numbers as version 0.1 did, which ids and keys are hashes of."""
    if CRN in content:
        content[LUCK] = "shared" if content.pop(CRN) else "own"
    return content


def _under_new_name(table: dict[str, Any]) -> dict[str, Any]:
    """Read common random numbers as version 0.1 wrote them."""
    if CRN in table:
        raise ConfigError.about(CRN, more=f"given twice, also as {LUCK}")
    choice = check_choice(LUCK, table.pop(LUCK), ("shared", "own"))
    return {**table, CRN: choice == "shared"}


def _drop_model_name(content: dict[str, Any]) -> dict[str, Any]:
    """Drop the name of a model file, which does not affect the run."""
    if content.get("model"):
        content.pop("environment")
    return content


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
