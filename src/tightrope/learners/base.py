"""The protocol of a learner: one dataclass with options as fields and a compiled step.

A learner gets a `Task` and its beliefs, never the true model. For each episode its step reads the
problem that the beliefs make and its own state, and writes a `Decision`::

    step(problem, state, rng, decision)

The state is a named tuple of arrays; its class picks the step when a driver is compiled, so every
learner needs a state class of its own, or shares one together with its step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload

from tightrope.arrays import Floats, Ints, Problem, new_record, positive
from tightrope.belief.confidence import Confidence
from tightrope.belief.sets import SetBelief
from tightrope.errors import ConfigError
from tightrope.kernels.compiled import CALLEE
from tightrope.kernels.occupancy import occupancy
from tightrope.kernels.scratch import desk
from tightrope.model.task import Task
from tightrope.model.units import Unit
from tightrope.text import cut, guess

if TYPE_CHECKING:
    from tightrope.learners.agent import Agent
    from tightrope.learners.oracle import Oracle

NOTE = (
    ("gap", "f8"),  # certified gap of the plan
    ("bound", "f8"),  # at most the optimum if optimism holds; infinite: no such bound
    ("sweeps", "i8"),  # dynamic programming sweeps that the plan took
    ("is_relaxed", "?"),  # the optimistic problem was infeasible: least violation instead
    ("is_changed", "?"),  # the policy differs from the last one
    ("is_deterministic", "?"),  # ``choice`` holds the whole policy
    ("baseline", "f8"),  # probability of playing the baseline instead
    ("is_rebased", "?"),  # the baseline differs from the last one
    ("plays_baseline", "?"),  # the baseline was drawn for this episode
)


class Decision(NamedTuple):
    """The policy of one episode and what its planner computed for it."""

    pi: Floats  # (H, S, A)
    choice: Ints  # (H, S) actions where the policy is deterministic
    value: Floats  # (I+1,) planned cost, then planned constraint values
    lam: Floats  # (I,) multipliers that the policy is a response to
    baseline: Floats  # (H, S, A) policy that may be played instead, or (0, S, A)
    upper: Floats  # (I,) upper bounds on the constraint values of ``pi``, or (0,)
    note: Any  # record of `NOTE`

    @property
    def planned(self) -> Floats:
        """The policy that was planned, (H, S, A), as a copy."""
        if self.note.is_deterministic:
            return np.asarray(np.eye(self.pi.shape[2])[self.choice])
        return self.pi.copy()

    @property
    def policy(self) -> Floats:
        """The policy to play in this episode, (H, S, A): as planned, or the baseline if drawn."""
        return self.baseline.copy() if self.note.plays_baseline else self.planned

    @property
    def mixture(self) -> list[tuple[float, Floats]]:
        """The policies that one is drawn from before the episode, with their probabilities."""
        share = float(self.note.baseline)
        if share == 0.0:
            return [(1.0, self.planned)]
        return [(1.0 - share, self.planned), (share, self.baseline.copy())]


def new_decision(task: Task, baseline: Floats | None = None) -> Decision:
    """Room for the decisions of a learner, which may have a baseline, (H, S, A)."""
    H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
    return Decision(
        pi=np.zeros((H, S, A)),
        choice=np.full((H, S), -1, dtype=np.int16),  # so that the first policy is a change
        value=np.zeros(I + 1),
        lam=np.zeros(I),
        baseline=np.zeros((0, S, A)) if baseline is None else np.array(baseline, order="C"),
        upper=np.zeros(0 if baseline is None else I),
        note=new_record(NOTE),
    )


def option(default: Any, help: str, check: Callable[[str, Any], Any] = positive) -> Any:
    """A field of a learner that is one of its options.

    Parameters
    ----------
    default : value
    help : str
        One sentence, for the command line and the documentation.
    check : callable
        From name and given value to the value to keep; raises a `ConfigError`.
    """
    return field(default=default, metadata={"help": help, "check": check})


def check_plain(name: str, value: Any) -> bool | int | float | str:
    """The value as a plain number, string or bool, or a `ConfigError`."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise ConfigError.about(name, found=value, expected="a number, a string or a bool")
    if isinstance(value, float) and not np.isfinite(value):
        raise ConfigError.about(name, found=value, expected="a finite number")
    return value


def as_kind_of(name: str, value: Any, default: Any) -> Any:
    """The value with the type of an option's default, or a `ConfigError`."""
    kind = type(default)
    if type(value) is kind or (kind is float and type(value) is int):
        return kind(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    expected = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    raise ConfigError.about(name, found=value, expected=expected[kind])


@dataclass(frozen=True, init=False)
class Learner:
    """An algorithm with its options.

    Subclasses are frozen dataclasses. Class attributes describe the algorithm:

    - ``name``: as in tables, specs and on the command line.
    - ``belief``: kind of belief, such as `SetBelief`, `BonusBelief` or `NoBelief`.
    - ``guarantees``: the regrets that its theorem bounds.
    - ``group``: ``"paper"`` for the algorithms of the paper, ``"reference"`` for baselines that may
      use the true model, ``"other"``.
    - ``can_learn``: whether it learns from data; False for fixed policies of simulations.
    - ``plans_as``: name of the learner whose plans it makes by linear programs; empty for others.
    - ``n_constraints``: the only number of constraints that it can have; None for any.
    - ``state``, ``step``: class of its state, and the compiled step.
    - ``read_steps``: compiled ``read_steps(state, steps)``, called after each episode, for learners
      that read its steps themselves; None where counts are enough.

    Parameters
    ----------
    **options
        Fields of the subclass.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.OptDual(rho=4.0).options
    {'rho': 4.0, 'dual_step': 1.0}
    >>> tr.learners.find_learner("OptDual").guarantees
    ('cost', 'constraint')
    """

    name: ClassVar[str] = ""
    belief: ClassVar[Any] = SetBelief
    guarantees: ClassVar[tuple[str, ...]] = ()
    group: ClassVar[str] = "other"
    can_learn: ClassVar[bool] = True
    plans_as: ClassVar[str] = ""
    n_constraints: ClassVar[int | None] = None
    state: ClassVar[type | None] = None
    step: ClassVar[Callable[..., None]]
    read_steps: ClassVar[Callable[..., None] | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in vars(cls):  # dataclasses write their own where there is none
            setattr(cls, "__repr__", cls.__repr__)  # noqa: B010
        if cls.state is not None:
            STEPS[cls.state] = cls.step
        if "state" in vars(cls):
            READERS[cls.state] = cls.read_steps

    def __init__(self, **options: Any) -> None:
        """Make a learner of a class without fields; a dataclass with fields has its own."""
        self.option_fields()
        if options:
            raise ConfigError.about(next(iter(options)), more=f"{self.name} has no options")
        self.__post_init__()

    def __post_init__(self) -> None:
        for each in self.option_fields():
            check = each.metadata.get("check", check_plain)
            value = check(each.name, getattr(self, each.name))
            if check is check_plain and isinstance(each.default, int | float | str):
                value = as_kind_of(each.name, value, each.default)
            object.__setattr__(self, each.name, value)

    def __repr__(self) -> str:
        options = (f"{name}={cut(repr(value))}" for name, value in self.options.items())
        return f"{type(self).__name__}({', '.join(options)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing, option_rows

        bounded = ", ".join(self.guarantees)
        facts = [f"guarantee: {bounded} regret"] if bounded else []
        return listing(self.name, facts, ["option", "value"], option_rows(self))

    @classmethod
    def option_fields(cls) -> list[Any]:
        """Its options: dataclass fields, with ``help`` in their metadata where it was given.

        Examples
        --------
        >>> import tightrope as tr
        >>> [field.name for field in tr.learners.OptDual.option_fields()]
        ['rho', 'dual_step']
        """
        _require_fields(cls)
        return [each for each in fields(cls) if not each.metadata.get("is_internal")]

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Learner:
        """The learner with these options, or a `ConfigError` for one that it does not have.

        Parameters
        ----------
        options : mapping of str to value
            Options by name; the others have their defaults.

        Returns
        -------
        Learner
            The learner.

        Raises
        ------
        ConfigError
            For an option that it does not have, or an invalid value.

        Examples
        --------
        >>> import tightrope as tr
        >>> tr.learners.OptDual.from_options({"rho": 4.0})
        OptDual(rho=4.0, dual_step=1.0)
        """
        known = [each.name for each in cls.option_fields()]
        for name in options:
            if name not in known:
                has = f"its options: {', '.join(known)}" if known else "it has no options"
                hint = guess(name, known) or f"; {has}"
                raise ConfigError.about(name, more=f"{cls.name} has no such option{hint}")
        return cls(**options)

    @property
    def options(self) -> dict[str, Any]:
        """All options by name."""
        return {each.name: getattr(self, each.name) for each in self.option_fields()}

    @property
    def changed_steps(self) -> list[str]:
        """Heuristic changes of the algorithm in words; none where its guarantees are kept."""
        return []

    def radii(self, confidence: Confidence) -> Confidence:
        """The confidence as this learner uses it.

        Parameters
        ----------
        confidence : Confidence
            As given by the caller.

        Returns
        -------
        Confidence
            The same, or with other options.
        """
        return confidence

    def rescale(self, units: Sequence[Unit], horizon: int) -> Learner:
        """The learner with options that are in the units of the constraints on the model's scale.

        Parameters
        ----------
        units : sequence of Unit
            Of the constraints.
        horizon : int
            Number of steps H.

        Returns
        -------
        Learner
            The learner itself where no option has a unit.
        """
        return self

    def begin_earlier(self, task: Task) -> Learner:
        """The learner with options that fit the task with a stage before the start.

        Parameters
        ----------
        task : Task
            Without that stage.

        Returns
        -------
        Learner
            Itself, or one with other options.
        """
        return self

    def resolve(self, oracle: Oracle | None) -> Learner:
        """The learner with options that are numbers, where rules need the true model's oracle.

        Parameters
        ----------
        oracle : Oracle, optional
            Optimum, slack and multipliers of the true model; None outside simulations.

        Returns
        -------
        Learner
            The learner itself where no option is a rule.
        """
        return self

    def init(self, task: Task, problem: Problem) -> Any:
        """State before the first episode.

        Parameters
        ----------
        task : Task
            Sizes, budgets, start and allowed actions.
        problem : object
            What the belief makes of the task: arrays that the step reads.

        Returns
        -------
        object
            An instance of the class ``state``.
        """
        raise NotImplementedError

    def baseline_policy(self, task: Task) -> Floats | None:
        """The policy, (H, S, A), that it may play instead of its plan; None if there is none.

        Parameters
        ----------
        task : Task
            Sizes, budgets, start and allowed actions.

        Returns
        -------
        (H, S, A) array or None
            The policy.
        """
        return None

    def baseline_reason(self, task: Task, episode: int) -> str:
        """Why an episode plays the baseline with probability 1, in words.

        Parameters
        ----------
        task : Task
            Sizes, budgets, start and allowed actions.
        episode : int
            Number of the episode, from 1.

        Returns
        -------
        str
            The reason.
        """
        return f"{self.name} has found no other policy that keeps every budget for certain"

    @property
    def has_model(self) -> bool:
        """Whether it plans in a model of its own, which the audit compares with the true one."""
        return bool(self.belief.events())

    def is_due(self, is_fresh: bool) -> bool:
        """Whether the next episode needs a step.

        Parameters
        ----------
        is_fresh : bool
            Whether beliefs have changed since the last step.

        Returns
        -------
        bool
            Whether it does.
        """
        return True

    def prepare(self, agent: Agent) -> None:
        """Plan outside compiled code, where a step is due; the step hands the plan out.

        Parameters
        ----------
        agent : Agent
            The learner with its belief and state.
        """

    def episodes_per_call(self, n_episodes: int) -> int:
        """How many of the next episodes compiled code runs before it needs `prepare` again.

        Parameters
        ----------
        n_episodes : int
            How many there are to run.

        Returns
        -------
        int
            The number, at most ``n_episodes``.
        """
        return n_episodes

    def planned_occupancy(self, problem: Problem, state: Any, decision: Decision) -> Floats:
        """Occupancy (H, S, A) of the policy just planned, in the model that it was planned in.

        Parameters
        ----------
        problem : object
            The belief's arrays.
        state : object
            The learner's state.
        decision : Decision
            The plan.

        Returns
        -------
        (H, S, A) array
            The occupancy.
        """
        pi, S = decision.planned, problem.initial.size
        q, order, reach = np.empty_like(pi), np.zeros(S, dtype=np.uint32), np.empty((2, S))
        occupancy(problem.kernels, problem.initial, pi, q, reach, order, desk(S))
        return q

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check arrays of its state that were read from a file, by field; raises a `ModelError`.

        Types, shapes and finite values are checked for every learner; this is for the rest, such
        as indices that kernels follow.

        Parameters
        ----------
        arrays : dict of str to array
            Fields of the state.
        task : Task
            Sizes, budgets, start and allowed actions.
        """

    def clean_state(self, state: Any, arrays: dict[str, Any]) -> dict[str, Any]:
        """The arrays of its state that a file holds, by field, without what nothing reads again.

        Only those that the state class lists in ``stored()``, or all where it has no such list.

        Parameters
        ----------
        state : object
            The state.
        arrays : dict of str to array
            Its fields.

        Returns
        -------
        dict of str to array
            What to store.
        """
        return arrays


def _require_fields(kind: type[Learner]) -> None:
    """Raise where a class declares an option without being a dataclass."""
    for each in kind.__mro__:
        if "__dataclass_fields__" in vars(each) or not issubclass(each, Learner):
            continue
        for name, annotation in get_annotations(each).items():
            if "ClassVar" not in str(annotation):
                add = f"add @dataclass(frozen=True) above class {each.__name__}"
                raise ConfigError.about(
                    f"{each.__name__}.{name}", more=f"an option needs a dataclass; {add}"
                )


STEPS: dict[type, Callable[..., None]] = {}
READERS: dict[type | None, Callable[..., None] | None] = {}


def take_step(problem: Any, state: Any, rng: np.random.Generator, decision: Decision) -> None:
    """One step of the learner that the state belongs to."""
    STEPS[type(state)](problem, state, rng, decision)


def _choose_step(problem: Any, state: Any, rng: Any, decision: Any) -> Callable[..., None]:
    step = STEPS[state.instance_class]

    def call(problem: Any, state: Any, rng: Any, decision: Any) -> None:
        step(problem, state, rng, decision)

    return call


overload(take_step, jit_options=CALLEE, strict=False, inline="always")(_choose_step)


def has_reader(state: Any) -> bool:
    """Whether the learner that the state belongs to reads episodes."""
    return READERS[type(state)] is not None


def read_episode(state: Any, steps: Any) -> None:
    """Let the learner that the state belongs to read an episode, where it asks for it."""
    read = READERS[type(state)]
    if read is not None:
        read(state, steps)


def _find_reader(state: Any, steps: Any) -> Callable[..., None]:
    read = READERS[state.instance_class]
    if read is None:
        return lambda state, steps: None

    def call(state: Any, steps: Any) -> None:
        read(state, steps)

    return call


overload(read_episode, jit_options=CALLEE, strict=False, inline="always")(_find_reader)
