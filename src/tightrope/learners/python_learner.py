"""PythonLearner: a learner written in plain NumPy, for the same simulator and the same accounting.

Example: certainty equivalence that explores with probability epsilon::

    @dataclass(frozen=True)
    class Greedy(tr.PythonLearner):
        epsilon: float = 0.1

        def plan(self, data, rng):
            ...
            return policy
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts
from tightrope.belief.none import NoBelief
from tightrope.errors import ConfigError, ModelError
from tightrope.learners.held import PreparingLearner
from tightrope.model.draft import at_stages
from tightrope.model.task import Task
from tightrope.plan.evaluate import check_policy

if TYPE_CHECKING:
    from tightrope.learners.agent import Agent


class Data(NamedTuple):
    """What a learner has observed.

    Parameters
    ----------
    visits : (H, S, A) array
        Number of visits.
    transitions : (H, S, A, S) array
        Number of observed transitions.
    cost_sum : (H, S, A) array
        Sum of observed costs, each scaled to [0, 1], where 1 is the worst, whatever the units of
        the model.
    constraint_sum : (I, H, S, A) array
        Sums of observed constraint costs, scaled likewise.
    episode : int
        Number of episodes observed.
    state : dict of str to array
        Arrays that persist between plans; snapshots contain them.

    Examples
    --------
    >>> import tightrope as tr
    >>> class Counting(tr.PythonLearner):
    ...     def plan(self, data, rng):
    ...         assert data.visits.sum() == data.episode * self.task.horizon
    ...         return self.task.allowed / self.task.allowed.sum(axis=2, keepdims=True)
    >>> tr.learn("ring", Counting(), episodes=20).n_episodes
    20
    """

    visits: Ints
    transitions: Ints
    cost_sum: Floats
    constraint_sum: Floats
    episode: int
    state: dict[str, Any]


@dataclass(frozen=True, init=False)
class PythonLearner(PreparingLearner):
    """Base class of learners written in Python.

    Subclasses define ``plan(self, data, rng)``, which returns the policy of the next episode as an
    (H, S, A) or (S, A) array of probabilities or as (H, S) actions. Options are dataclass fields of
    numbers, strings or bools. ``self.task`` holds the sizes ``n_states``, ``n_actions``,
    ``horizon``, ``n_constraints`` and ``n_episodes``, the arrays ``budget`` (I,), ``initial`` (S,)
    and ``allowed`` (H, S, A), and ``delta``. Its budgets are scaled as the costs in ``data`` are:
    limits on sums of costs in [0, 1] per step, whatever the units of the model. Arrays in
    ``data.state`` are kept between plans and stored in snapshots; nothing else is, so that a
    resumed run equals one that never stopped.

    Parameters
    ----------
    **options
        Fields of the subclass.

    Examples
    --------
    >>> import numpy as np
    >>> import tightrope as tr
    >>> class Uniform(tr.PythonLearner):
    ...     def plan(self, data, rng):
    ...         return np.full((self.task.n_states, self.task.n_actions), 1 / self.task.n_actions)
    >>> run = tr.learn("ring", Uniform(), episodes=20)
    >>> run.algorithm, run.policy[0, 0]
    ('Uniform', array([0.5, 0.5]))
    """

    name: ClassVar[str] = ""
    belief: ClassVar[Any] = NoBelief

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def plan(self, data: Data, rng: np.random.Generator) -> Any:
        """Return the policy of the next episode.

        Parameters
        ----------
        data : Data
            All observations so far.
        rng : Generator
            The learner's own source of randomness.

        Returns
        -------
        (H, S, A) or (S, A) array, or (H, S) integers
            Probabilities of the actions, or the actions.
        """
        raise NotImplementedError(f"{type(self).__name__}.plan")

    @property
    def task(self) -> Task:
        """Sizes, budgets and start, as known before the first episode; ``allowed`` is (H, S, A).

        Budgets are scaled as costs are in `Data`: upper limits on sums of costs in [0, 1] per step.
        """
        found: Task | None = vars(self).get("_task")
        if found is None:
            raise ConfigError.about(
                f"{type(self).__name__}.task", shown="known only while plan() runs"
            )
        return found

    def radii(self, confidence: Confidence) -> Confidence:
        """Counts of single stages, whatever the confidence says."""
        return replace(confidence, pool=False)

    def prepare(self, agent: Agent) -> None:
        """Ask for the policy of the next episode.

        Parameters
        ----------
        agent : Agent
            The learner at work; its state gets the policy.
        """
        task, counts = agent.task, agent.beliefs.counts
        allowed = at_stages(task.allowed, task.horizon)
        data = dense_data(counts, task, agent.n_observed, agent.memory)
        object.__setattr__(self, "_task", replace(task, allowed=allowed))
        try:
            policy = self.plan(data, agent.rng)
        except Exception as error:
            plan, found = f"{type(self).__name__}.plan", type(error).__name__
            words = f"{_place(self, error)}: {found}: {error}"
            raise ConfigError(words, argument=plan, found=found) from error
        finally:
            object.__delattr__(self, "_task")
        try:
            pi = check_policy(policy, allowed)
        except ModelError as error:
            raise error.with_message(f"{type(self).__name__}.plan: {error}") from error
        for name, array in agent.memory.items():
            if not isinstance(array, np.ndarray) or array.dtype.hasobject:
                raise ConfigError.about(
                    f"data.state[{name!r}]",
                    verb="is",
                    shown="not an array of numbers",
                    where=self.name,
                )
        note = agent.state.note
        note.is_new = not np.array_equal(agent.state.pi, pi)
        agent.state.pi[:] = pi


def _place(learner: PythonLearner, error: Exception) -> str:
    """Class, file and line of an error: the innermost line in the file of ``plan``."""
    frames = extract_tb(error.__traceback__)[1:]  # without that of the call
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    name = f"{type(learner).__name__}.plan"
    return f"{name}, {own[-1].filename}:{own[-1].lineno}" if own else name


def dense_data(counts: Counts, task: Task, episode: int, memory: dict[str, Any]) -> Data:
    """Counts as dense arrays over (h, s, a, t)."""
    H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
    transitions = np.zeros((H, S * A, S), dtype=np.int64)
    for h, indptr in enumerate(counts.indptr):
        rows = np.repeat(np.arange(S * A), np.diff(indptr))
        used = int(indptr[-1])
        transitions[h, rows, counts.indices[h, :used]] = counts.successors[h, :used]
    return Data(
        visits=counts.visits.reshape(H, S, A).copy(),
        transitions=transitions.reshape(H, S, A, S),
        cost_sum=counts.cost_sum.reshape(H, S, A).copy(),
        constraint_sum=counts.constraint_sum.reshape(I, H, S, A).copy(),
        episode=episode,
        state=memory,
    )
