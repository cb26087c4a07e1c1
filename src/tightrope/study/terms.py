"""Terms: the fixed configuration of a study.

They are stored as JSON; with the episodes in order, they determine the learner bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tightrope.arrays import (
    MOST,
    Error,
    as_floats,
    check_names,
    check_table,
    flag,
    is_number,
    share,
    whole,
)
from tightrope.belief.confidence import as_confidence
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.model.draft import required_horizon
from tightrope.model.start import is_learned
from tightrope.model.task import Task, make_task
from tightrope.model.units import Range, Unit, onto_budget, required_range
from tightrope.text import guess

if TYPE_CHECKING:
    from tightrope.learners.files import Labels
    from tightrope.learners.interactive import InteractiveLearner

COST = "cost"
MOST_NAMES = 1_000_000  # of states, and of actions
LONGEST = 200  # characters of a name, or of an episode's id


@final
@dataclass(frozen=True)
class Terms:
    """The task and the learner of a study.

    Parameters
    ----------
    states, actions : sequence of str
        Their names.
    horizon : int
        Steps per episode.
    budget : mapping of str to float
        Largest allowed expected sum over the steps, by the name of its constraint, in its units.
    episodes : int
        Largest number of episodes; radii and step sizes depend on it.
    ranges : mapping of str to (float, float)
        Least and greatest value of one step in the units in which episodes are told, for ``cost``
        and for constraints by name; (0, 1) by default.
    algorithm : str or Learner
        A learner such as ``tr.learners.Safe(tr.learners.OptCMDP(), baseline=policy)``, or its name.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        Radii of the confidence sets.
    options : mapping of str to value
        Options of the learner by name: OptDual and OptPrimalDual need ``rho``, a bound on the
        multipliers for costs scaled to [0, 1] per step. ``bound``, what a baseline uses of each
        budget at most, may be a mapping by the names of the budgets.
    initial : int, sequence of float or "learned"
        Start state, or the probability of each; ``"learned"`` if it is not known.
    allowed : nested sequence of booleans, optional
        Actions that exist, (S, A) or (H, S, A).
    stationary : bool
        Whether the process is the same at every step.
    seed : int
        Of the learner's own random choices, such as the draws of safe learners: different ones for
        studies side by side.

    Examples
    --------
    >>> import tightrope as tr
    >>> terms = tr.Terms(
    ...     states=["fine", "worn"],
    ...     actions=["hard", "gentle"],
    ...     horizon=2,
    ...     budget={"wear": 1.2},
    ...     episodes=500,
    ...     ranges={"cost": (0.0, 40.0)},
    ... )
    >>> terms.constraints, terms.range_of("cost")
    (('wear',), (0.0, 40.0))
    """

    states: Sequence[str]
    actions: Sequence[str]
    horizon: int
    budget: dict[str, float]
    episodes: int
    ranges: dict[str, Any] = field(default_factory=dict)
    algorithm: Any = "OptCMDP"
    delta: float = 0.1
    confidence: Any = field(default="tight")
    options: dict[str, Any] = field(default_factory=dict)
    initial: Any = 0
    allowed: Any = None
    stationary: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, given in (("states", self.states), ("actions", self.actions)):
            listed = check_names(name, given)
            names = tuple(plain_name(f"{name}[{k}]", each) for k, each in enumerate(listed))
            whole(name, len(names), 0, MOST_NAMES)
            first: dict[str, int] = {}
            for k, each in enumerate(names):
                if first.setdefault(each, k) != k:
                    raise ConfigError.about(
                        f"{name}[{k}]", found=each, shown=repr(each), more=" is there twice"
                    )
            self._put(**{name: names})
        for name in ("budget", "ranges"):
            self._put(**{name: check_table(name, getattr(self, name))})
        for each in self.budget:
            plain_name("budget", each)
        self._make_plain()
        if COST in self.budget and COST in self.ranges:
            raise ConfigError.about(
                "ranges",
                more=f"{COST!r} is the name of the cost; rename the constraint",
            )
        known = (COST, *self.budget)
        for each in self.ranges:
            if each not in known:
                raise ConfigError.about(
                    "ranges",
                    more=f"{each!r} is unknown{guess(each, known)}; there are {', '.join(known)}",
                )
        pairs = self.ranges.items()
        self._put(ranges={each: list(required_range(f"ranges[{each!r}]", r)) for each, r in pairs})
        self._require_budgets()
        self._require_use()
        self._put(confidence=asdict(as_confidence(self.confidence)))
        self.task()

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def state_names(self) -> Names:
        """Names of the states, to look up."""
        return names_of(self.states)

    @cached_property
    def action_names(self) -> Names:
        """Names of the actions, to look up."""
        return names_of(self.actions)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return tuple(self.budget)

    def range_of(self, name: str) -> Range:
        """Return the least and greatest value of one step, as told.

        Parameters
        ----------
        name : str
            ``cost``, or a constraint.

        Returns
        -------
        (float, float)
            The range.

        Examples
        --------
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> terms.range_of("wear")
        (0.0, 1.0)
        """
        low, high = self.ranges.get(name, (0.0, 1.0))
        return low, high

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units of sums over an episode: of the cost, then of each constraint."""
        return tuple(
            Unit.of_range(name, *self.range_of(name), self.horizon)
            for name in (COST, *self.constraints)
        )

    @property
    def scaled_budget(self) -> list[float]:
        """The budgets on the learner's scale, [0, 1] per step."""
        pairs = zip(self.budget.values(), self.units[1:], strict=True)
        return [onto_budget(float(value), unit, self.horizon) for value, unit in pairs]

    def _make_plain(self) -> None:
        """Convert NumPy values to plain ones for JSON."""
        self._put(horizon=required_horizon(self.horizon), episodes=whole("episodes", self.episodes))
        self._put(seed=whole("seed", self.seed, 0))
        self._name_learner()
        options = self._check_options()
        plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in options.items()}
        for name, value in plain.items():
            if not isinstance(value, bool | int | float | str):
                expected = "a number, a string or a bool"
                raise ConfigError.about(f"options[{name!r}]", found=value, expected=expected)
        delta = share("delta", self.delta)
        stationary = flag("stationary", self.stationary)
        self._put(options=plain, delta=delta, stationary=stationary)
        check_names("algorithm", [self.algorithm])
        initial, allowed = self.initial, self.allowed
        if isinstance(initial, np.integer):
            self._put(initial=int(initial))
        elif isinstance(initial, (Sequence, np.ndarray)) and not isinstance(initial, str):
            self._put(initial=as_floats("initial", initial).tolist())
        if allowed is not None:
            mask = as_floats("allowed", allowed)
            if ((mask == 0.0) | (mask == 1.0)).all():  # `task` rejects the others
                self._put(allowed=(mask == 1.0).tolist())
        budget = {name: float(value) for name, value in self.budget.items() if is_number(value)}
        self._put(budget={**self.budget, **budget})

    def _check_options(self) -> dict[str, Any]:
        """Return options as their learner stores them: a policy or its file becomes a word.

        Invalid values are unchanged; they are refused when the learner is made.
        """
        options = check_table("options", self.options)
        if isinstance(options.get("bound"), Mapping):
            options["bound"] = self._use_by_name(options["bound"])
        if all(_is_stored(value) for value in options.values()):
            return options
        from tightrope.learners import find_learner  # with compiled code, which telling never needs

        with suppress(ModelError):
            checks = {
                each.name: each.metadata.get("check")
                for each in find_learner(self.algorithm, may_import=False).option_fields()
            }
            for name in options:
                if not _is_stored(options[name]) and checks.get(name) is not None:
                    options[name] = checks[name](name, options[name])
        return options

    def _name_learner(self) -> None:
        """Take a learner apart into its name and its options."""
        if isinstance(self.algorithm, str):
            return
        from tightrope.learners import Learner, learner_key, refuse_class

        refuse_class("algorithm", self.algorithm)
        if isinstance(self.algorithm, Learner):
            if self.options:
                kind = type(self.algorithm).__name__
                more = f"give options to {kind}(...)"
                raise ConfigError.about(f"options[{next(iter(self.options))!r}]", more=more)
            options = self.algorithm.options
            self._put(algorithm=learner_key(self.algorithm), options=options)

    def _use_by_name(self, given: Mapping[str, Any]) -> str:
        """What a baseline uses of each budget at most, in their order, as a word."""
        for name in check_table("bound", given):
            if name not in self.budget:
                known = ", ".join(self.budget) or "no budgets"
                more = f"{name!r} is no budget{guess(name, list(self.budget))}; there are {known}"
                raise ConfigError.about("bound", more=more)
        missing = [name for name in self.budget if name not in given]
        if missing:
            raise ConfigError.about("bound", more=_missing(missing))
        for name, value in given.items():
            if not is_number(value):
                raise ConfigError.about(f"bound[{name!r}]", found=value, expected="a number")
        return ",".join(repr(float(given[name])) for name in self.budget)

    def _require_use(self) -> None:
        """Check what a baseline uses in the user's units, before the learner checks it."""
        bound = self.options.get("bound")
        if "baseline" not in self.options:
            return
        if bound in (None, "exact") and self.budget:
            raise ConfigError.about("bound", more=_missing(list(self.budget)))
        try:
            numbers = [float(word) for word in str(bound).split(",")]
        except ValueError:
            return  # the learner refuses it
        if len(numbers) != len(self.budget):
            shown = f"{len(numbers)} number{'' if len(numbers) == 1 else 's'}"
            names = ", ".join(self.budget) or "no budgets"
            raise ConfigError.about("bound", shown=shown, expected=f"one for each of {names}")
        for (name, budget), use in zip(self.budget.items(), numbers, strict=True):
            least = self.horizon * self.range_of(name)[0]
            if not least <= use < budget:
                raise ConfigError.about(
                    f"bound[{name!r}]",
                    found=use,
                    shown=f"{use:g}",
                    expected=f"at least {least:g} and less than the budget, {budget:g}",
                )

    def _require_budgets(self) -> None:
        """Check budgets in the user's units, before `task` checks them in the learner's."""
        horizon = required_horizon(self.horizon)
        for name, value in self.budget.items():
            low, high = (horizon * end for end in self.range_of(name))
            if not is_number(value):
                raise ConfigError.about(f"budget[{name!r}]", found=value, expected="a number")
            if not low <= value <= high:
                raise ConfigError.about(
                    f"budget[{name!r}]",
                    found=value,
                    shown=f"{value:g}",
                    expected=(
                        f"a number in [{low:g}, {high:g}], which is what {horizon} "
                        "steps can add up to"
                    ),
                    more="; ranges say what one step can be",
                )

    def task(self) -> Task:
        """Return the task of the learner, checked; the learner checks its own options.

        Examples
        --------
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> terms.task().n_constraints
        1
        """
        S, A, H = len(self.states), len(self.actions), self.horizon
        more = (self.allowed, None, None, self.stationary, None)
        budget, first = self.scaled_budget, self.initial
        if is_learned(first):  # any state may be the first
            first = [1.0 / S] * S
        return make_task(S, A, H, budget, self.episodes, self.delta, first, *more)

    @property
    def labels(self) -> Labels:
        """The units, for the learner."""
        from tightrope.learners.files import Labels

        return Labels((), (), self.units)

    def learner(self) -> InteractiveLearner:
        """The learner before the first episode.

        Examples
        --------
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> terms.learner().n_observed
        0
        """
        from tightrope.learners import as_learner
        from tightrope.learners.interactive import learner

        made = learner(
            as_learner(self.algorithm, self.options).rescale(self.units[1:], self.horizon),
            len(self.states),
            len(self.actions),
            self.horizon,
            self.scaled_budget,
            self.episodes,
            self.delta,
            self.confidence,
            self.initial,
            self.allowed,
            stationary=self.stationary,
            seed=self.seed,
        )
        made.labels = self.labels
        return made

    def as_json(self) -> str:
        """All of it as text.

        Examples
        --------
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> tr.Terms.from_json(terms.as_json()) == terms
        True
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """The terms that `as_json` wrote.

        Parameters
        ----------
        text : str
            What `as_json` returned.

        Returns
        -------
        Terms
            The terms.

        Examples
        --------
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> tr.Terms.from_json(terms.as_json()) == terms
        True
        """
        try:
            table = json.loads(text)
            if "options" not in table:  # of version 0.1, which had all options of all learners
                table["options"] = _options_0_1(table)
            return cls(**table)
        except (TypeError, ValueError, AttributeError, RecursionError, ModelError) as error:
            raise StoreError(f"the study's terms are corrupt: {error}").with_fields_of(
                error
            ) from error


def _is_stored(value: Any) -> bool:
    """Whether an option is stored as it is, not a policy or a file of one."""
    is_plain = isinstance(value, bool | int | float | str | np.generic)
    return is_plain and not str(value).lower().endswith(".npz")


def _missing(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names))
    return f"missing for {listed}; state what the baseline uses of each budget at most"


def _options_0_1(table: dict[str, Any]) -> dict[str, Any]:
    """Take the options of the study's own learner out of a table of version 0.1."""
    from tightrope.learners import find_learner

    kind = find_learner(table.get("algorithm", ""), may_import=False)
    own = [each.name for each in kind.option_fields()]
    names = ("rho", "dual_step", "primal_step", "tolerance")
    given = {name: table.pop(name, None) for name in names}
    return {name: given[name] for name in own if given.get(name) is not None}


def plain_name(where: str, name: Any, error: Error = ConfigError) -> str:
    """A name that every database and terminal can hold, or a `ConfigError`."""
    is_plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not is_plain or not 0 < len(name) <= LONGEST:
        raise error.about(where, found=name, expected=f"1 to {LONGEST} printable characters")
    return str(name)


class Names(NamedTuple):
    """Names of states or actions, to look up."""

    listed: tuple[str, ...]
    position: dict[str, int]
    are_numbers: bool  # whether some name is a whole number


def names_of(names: Sequence[str]) -> Names:
    """Return names and their positions; the first of two equal names counts."""
    position = {name: k for k, name in reversed(list(enumerate(names)))}
    are_numbers = any(name.removeprefix("-").isdecimal() for name in names)
    return Names(tuple(names), position, are_numbers)


def position(where: str, given: Any, names: Names, error: Error = ConfigError) -> int:
    """Return the position of a state or an action given by name or number.

    If names are numbers, as in 1, 2, 3, a number is always a name.
    """
    is_number = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    if is_number and names.are_numbers:
        given = str(whole(where, given, -MOST, error=error))
    if isinstance(given, str):
        if given not in names.position:
            known = ", ".join(names.listed[:8])
            raise error.about(where, found=given, more=f" is none of {known}")
        return names.position[given]
    number = whole(where, given, least=0, error=error)
    if number >= len(names.listed):
        raise error.about(
            where, found=number, expected=f"a number below {len(names.listed)} or a name"
        )
    return number
