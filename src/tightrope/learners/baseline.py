"""Baselines: policies known to use less than every budget, given by rule, by array or by file.

As an option a baseline is a word, so that specs, files and the command line can hold it::

    least-use     the policy with the largest common slack in the true model
    share:0.2     the optimum of the true model with every budget times 0.2
    uniform       all allowed actions with equal probability
    policy:...    a policy itself, packed; arrays, plans and files of plans become this

The rules need the true model. Outside simulations the caller gives a policy and states how much of
each budget it uses at most.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from tightrope.arrays import Floats, is_number
from tightrope.errors import ConfigError, InfeasibleError, ModelError, StoreError
from tightrope.learners.base import Learner, option
from tightrope.learners.oracle import Oracle
from tightrope.model import CMDP, Plan
from tightrope.model.base import writable_problem
from tightrope.model.draft import at_stages
from tightrope.model.plan_files import read_policy
from tightrope.model.start import extend_policy
from tightrope.model.task import Task
from tightrope.model.units import Unit, onto_budget
from tightrope.plan.evaluate import check_policy, evaluate
from tightrope.plan.solve import slater, solve
from tightrope.text import counted, guess

LEAST_USE, UNIFORM, SHARE, PACKED = "least-use", "uniform", "share:", "policy:"
EXACT = "exact"
KINDS = {"f": "<f8", "i": "<i8"}
LARGEST = 1 << 27  # numbers of a packed policy

BASELINE_HELP = (
    "Policy that uses less than every budget: a file with a plan or policy (.npz), uniform, or in "
    "simulations least-use or share:F, the optimum with the budgets times F."
)
BOUND_HELP = (
    "What the baseline uses of each budget at most, in the units of the budgets, separated by "
    "commas; exact computes it, in simulations."
)


def pack_policy(policy: Any, name: str = "baseline") -> str:
    """A policy array in any form that `evaluate` takes as a word."""
    found = np.asarray(policy)
    if found.ndim not in (2, 3) or found.dtype.kind not in "biuf" or not found.size:
        wanted = "a policy over (H, S, A) or (S, A) or actions over (H, S)"
        raise ConfigError.about(name, found=policy, expected=wanted)
    kind = "f" if found.dtype.kind == "f" else "i"
    content = zlib.compress(np.ascontiguousarray(found, dtype=KINDS[kind]).tobytes(), 9)
    sizes = ",".join(map(str, found.shape))
    return f"{PACKED}{kind}{sizes}:{base64.b64encode(content).decode()}"


def unpack_policy(word: str) -> Any:
    """The array that `pack_policy` was given, or a `ConfigError`."""
    head, _, content = word.removeprefix(PACKED).partition(":")
    try:
        kind, shape = KINDS[head[:1]], tuple(int(size) for size in head[1:].split(","))
        n_bytes = 8 * int(np.prod(shape, dtype=object))
        if len(shape) not in (2, 3) or min(shape) < 1 or n_bytes > 8 * LARGEST:
            raise ValueError(f"shape {shape}")
        unpacked = zlib.decompressobj().decompress(base64.b64decode(content), n_bytes)
        return np.frombuffer(unpacked, dtype=kind).reshape(shape).copy()
    except (KeyError, ValueError, binascii.Error, zlib.error) as error:
        more = f"a packed policy that cannot be read: {error}"
        raise ConfigError.about("baseline", more=more) from error


def check_baseline(name: str, given: Any) -> str:
    """The word for a baseline, or a `ConfigError`; a number is a share of the budgets."""
    try:
        if isinstance(given, Plan):
            return pack_policy(given.policy, name)
        if is_number(given):
            return _share(name, given)
        if not isinstance(given, str):
            return pack_policy(given, name)
        if given in (LEAST_USE, UNIFORM):
            return given
        if given.startswith(SHARE):
            return _share(name, float(given.removeprefix(SHARE)))
        if given.startswith(PACKED):
            unpack_policy(given)
            return given
        if given.lower().endswith(".npz"):
            return pack_policy(read_policy(Path(given))[0], name)
    except ConfigError:
        raise  # it names the option already
    except (ModelError, StoreError, ValueError, TypeError) as error:
        raise ConfigError(f"{name}: {error}", argument=name).with_fields_of(error) from error
    rules = (LEAST_USE, UNIFORM, f"{SHARE}0.2")
    wanted = f"{', '.join(rules)}, or a .npz file with a policy"
    raise ConfigError.about(name, found=given, expected=wanted, more=guess(given, rules))


def _share(name: str, given: float) -> str:
    if not 0 < given < 1:
        raise ConfigError.about(name, found=given, expected="a share of the budgets in (0, 1)")
    return f"{SHARE}{float(given)!r}"


def check_bound(name: str, given: Any) -> float | str:
    """What a baseline uses at most: ``"exact"``, a number, or numbers with commas between them."""
    if is_number(given):
        return float(given)
    if given == EXACT:
        return EXACT
    try:
        numbers = [float(word) for word in given.split(",")]
    except (AttributeError, ValueError):
        numbers = [np.nan]
    if not np.isfinite(numbers).all():
        wanted = f"{EXACT!r}, a number, or numbers with commas between them"
        raise ConfigError.about(name, found=given, expected=wanted)
    return numbers[0] if len(numbers) == 1 else ",".join(map(repr, numbers))


@dataclass(frozen=True)
class BaselineLearner(Learner):
    """A learner that needs a baseline.

    Parameters
    ----------
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    """

    baseline: str = option(LEAST_USE, BASELINE_HELP, check_baseline)
    bound: float | str = option(EXACT, BOUND_HELP, check_bound)
    policy: ClassVar[Any] = None  # found by `resolve`
    use: ClassVar[Any] = None  # of each budget on the model's scale, found by `resolve`
    labels: ClassVar[Any] = None  # names and units of the constraints for errors, where known

    def resolve(self, oracle: Oracle | None) -> Self:
        """With the baseline itself and its use, where the true model is known."""
        found: Any = super().resolve(oracle)
        if oracle is None:
            if self.baseline == LEAST_USE or self.baseline.startswith(SHARE):
                raise ConfigError(
                    f"baseline: {self.baseline!r} needs the true model; give a policy, "
                    "a plan or a file with one",
                    argument="baseline",
                    found=self.baseline,
                    expected="a policy, a plan or a file with one",
                )
            return found  # type: ignore[no-any-return]
        cmdp = oracle.cmdp
        policy = _check(_find_policy(cmdp, self.baseline), cmdp.allowed)
        if self.bound == EXACT:
            totals = zip(
                cmdp.constraint_units, evaluate(cmdp, policy).constraint_value, strict=True
            )
            use = np.clip([unit.read(float(total)) for unit, total in totals], 0.0, None)
        else:
            scaled = self.rescale(cmdp.constraint_units, cmdp.horizon)
            use = stated_use(scaled.bound, cmdp.n_constraints)
        labels = cmdp.constraint_names, cmdp.constraint_units
        return _with(found, policy=policy, use=use, labels=labels)  # type: ignore[no-any-return]

    def rescale(self, units: Sequence[Unit], horizon: int) -> Self:
        """With the stated use on the model's scale."""
        if self.bound == EXACT:
            return self
        pairs = zip(stated_use(self.bound, len(units)).tolist(), units, strict=True)
        numbers = [onto_budget(stated, unit, horizon) for stated, unit in pairs]
        rescaled = replace(self, bound=",".join(map(repr, numbers)))
        return _with(rescaled, labels=(range(len(units)), units))  # type: ignore[no-any-return]

    def begin_earlier(self, task: Task) -> Self:
        """With a given policy over one more stage and state.

        Parameters
        ----------
        task : Task
            Without them.
        """
        if not self.baseline.startswith(PACKED):
            return self
        policy = _check(unpack_policy(self.baseline), at_stages(task.allowed, task.horizon))
        return replace(self, baseline=pack_policy(extend_policy(policy)))

    def baseline_policy(self, task: Task) -> Floats:
        """The baseline, (H, S, A)."""
        allowed = at_stages(task.allowed, task.horizon)
        policy = self.policy
        if policy is None:
            policy = _uniform(allowed) if self.baseline == UNIFORM else unpack_policy(self.baseline)
        return _check(policy, allowed)

    def baseline_use(self, task: Task) -> Floats:
        """What the baseline uses of each budget at most, (I,); strictly less than the budget."""
        I = task.n_constraints
        if self.use is None and self.bound == EXACT and I > 0:
            more = (
                "; state what the baseline uses of each budget at most "
                f"({I} numbers below the budgets)"
            )
            raise ConfigError.about("bound", shown="missing", more=more)
        use = self.use
        if use is None:
            use = stated_use(self.bound, I)
        names, units = self.labels or (range(I), [Unit()] * I)
        for i, (name, unit) in enumerate(zip(names, units, strict=True)):
            if not 0 <= use[i] < task.budget[i]:
                _refuse_use(name, unit, float(use[i]), float(task.budget[i]))
        return np.array(use, dtype=np.float64)


def stated_use(bound: float | str, n_constraints: int) -> Floats:
    """The numbers of a stated bound, one for each constraint."""
    if bound == EXACT:
        return np.zeros(0)
    numbers = [float(word) for word in str(bound).split(",")]
    if len(numbers) != n_constraints:
        found = len(numbers)
        raise ConfigError.about(
            "bound", found=found, shown=counted(found, "number"), expected=n_constraints
        )
    return np.array(numbers)


def _with(learner: Any, **found: Any) -> Any:
    """The learner with attributes that are not options."""
    again = copy(learner)
    for name, value in found.items():
        object.__setattr__(again, name, value)
    return again


def _refuse_use(name: str | int, unit: Unit, use: float, budget: float) -> NoReturn:
    """Raise an error in the units of the model; a floor must be exceeded."""
    shown, limit = (f"{unit.show(total):.6g}" for total in (use, budget))
    wanted = f"more than the floor, {limit}" if unit.is_maximized else f"less than {limit}"
    if use < 0:
        wanted = f"at {'most' if unit.is_maximized else 'least'} {unit.show(0.0):.6g}"
    raise ConfigError.about(f"baseline[{name!r}]", verb="uses", shown=shown, expected=wanted)


def _check(policy: Any, allowed: Any) -> Floats:
    try:
        return check_policy(policy, allowed)
    except ModelError as error:
        raise ConfigError(f"baseline: {error}", argument="baseline").with_fields_of(
            error
        ) from error


def _uniform(allowed: Any) -> Floats:
    return np.asarray(allowed / allowed.sum(axis=2, keepdims=True))


def _find_policy(cmdp: CMDP, word: str) -> Any:
    """The policy that a word means in a model."""
    if word == LEAST_USE:
        return slater(cmdp).policy
    if word == UNIFORM:
        return _uniform(np.broadcast_to(cmdp.allowed, (cmdp.horizon, *cmdp.allowed.shape[-2:])))
    if not word.startswith(SHARE):
        return unpack_policy(word)
    try:
        budget = float(word.removeprefix(SHARE)) * writable_problem(cmdp).budget
        return solve(cmdp.with_budget(cmdp.units.show_totals(budget))).policy
    except InfeasibleError as error:
        raise ConfigError(
            f"baseline: {word!r}: {error}", argument="baseline", found=word
        ) from error
