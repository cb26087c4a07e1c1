"""Run a learner, or a given policy, in a Gymnasium environment known only through its steps.

Regret needs the true model. Without it, the record has the realized sums of rewards and of each
cost by episode, with confidence bands on their means.

The bands are valid while the policy changes (`tightrope.belief.intervals`): each contains the
average, over the episodes so far, of the expected totals of their policies.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, as_floats, share, whole
from tightrope.belief.confidence import Confidence
from tightrope.belief.intervals import average_band
from tightrope.errors import ModelError
from tightrope.files import put
from tightrope.interop.gym.process import REWARD_RANGE, Process, open_process
from tightrope.model import Plan
from tightrope.model.units import Range, required_range
from tightrope.text import escape_table, guess

if TYPE_CHECKING:
    from tightrope.learners.base import Learner
    from tightrope.learners.interactive import InteractiveLearner

ROUNDING = 1e-9
BAND_WORDS = "empirical Bernstein for martingales (Howard et al. 2021, theorem 4)"
TAKEN = ("algorithm", "seed", "episode", "steps", "is_feasible", "reward")  # columns of a record


class Band(NamedTuple):
    """Means of realized sums by number of episodes, and bands of their expectations."""

    mean: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True)
class Realized:
    """Episodes in an environment, in its units.

    Parameters
    ----------
    algorithm : str
        Name of the learner.
    seed : int
        Seed of the randomness.
    names : tuple of str
        ``"reward"``, then the constraints.
    totals : (K, 1+I) array
        Realized sums of each episode.
    ranges : (1+I, 2) array
        Least and greatest possible sum.
    budget : (I,) array
        Largest allowed expected sums.
    steps : (K,) array
        Steps until an episode ended; the horizon if it did not end early.
    planned : (K, 1+I) array
        Sums that the learner planned for each episode; NaN for a fixed policy.
    is_feasible : (K,) booleans
        Whether the learner's plan kept the budgets.
    policy : (H, S, A) array
        The last policy, over the observations of the environment.
    delta : float
        Probability that some band of any quantity fails.
    confidence : str
        Description of the radii of the learner.

    Examples
    --------
    >>> import tightrope as tr
    >>> policy = tr.learn("ring", "uniform", episodes=1).policy
    >>> record = tr.rehearse(tr.to_gymnasium("ring"), policy, budget=[3.0], episodes=50)
    >>> record.band(record.names[1]).mean.shape
    (50,)
    """

    algorithm: str
    seed: int
    names: tuple[str, ...]
    totals: Floats  # (K, 1+I)
    ranges: Floats  # (1+I, 2)
    budget: Floats  # (I,)
    steps: Ints  # (K,)
    planned: Floats  # (K, 1+I)
    is_feasible: Bools  # (K,)
    policy: Floats  # (H, S, A)
    delta: float
    confidence: str

    def __repr__(self) -> str:
        means = (f"{n} {m:.6g}" for n, m in zip(self.names, self.totals.mean(axis=0), strict=True))
        return f"Realized({self.algorithm}, {self.n_episodes} episodes, means: {', '.join(means)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import realized_card

        return realized_card(self)

    @property
    def n_episodes(self) -> int:
        """Number of episodes K."""
        return len(self.totals)

    def band(self, name: str, last: int | None = None, delta: float | None = None) -> Band:
        """Return means of the first n episodes with their bands, for every n.

        The bands of all quantities and all n hold jointly with probability ``1 - delta``: each
        contains the average, over these episodes, of the expected values of their policies.

        Parameters
        ----------
        name : str
            ``"reward"`` or a constraint.
        last : int, optional
            Number of last episodes to use; all by default.
        delta : float, optional
            Failure probability of the bands; by default that of the record.

        Returns
        -------
        Band
            Arrays ``mean``, ``low`` and ``high``.
        """
        if name not in self.names:
            raise ModelError.about(
                "name", more=f"{name!r} is unknown; there are {', '.join(self.names)}"
            )
        j = self.names.index(name)
        low, high = self.ranges[j].tolist()
        values = self.totals[:, j]
        if last is not None:
            values = values[-whole("last", last) :]
        chance = share("delta", self.delta if delta is None else delta) / len(self.names)
        mean, radius = average_band(values, low, high, chance)
        return Band(mean, np.maximum(mean - radius, low), np.minimum(mean + radius, high))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the episodes to a file, one row each.

        Parameters
        ----------
        path : path
            Ends in ``.csv`` or ``.parquet``.
        """
        save_episodes([self], path)


def save_episodes(records: list[Realized], path: str | PathLike[str]) -> None:
    """Write the episodes of several records to one file, ``.csv`` or ``.parquet``."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    content, file = io.BytesIO(), Path(path)
    kind = require_kind(file)
    table = pa.concat_tables([pa.table(_columns(record)) for record in records])
    if kind == ".csv":
        pyarrow.csv.write_csv(escape_table(table), content)
    else:
        pyarrow.parquet.write_table(table, content)
    put(file, content.getvalue())


def require_kind(path: Path) -> str:
    """Return the format given by a file name, or raise a `ModelError`."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        words = f"{path}: expected a name that ends in .csv or .parquet"
        raise ModelError(words, argument=str(path))
    return kind


def _columns(record: Realized) -> dict[str, object]:
    K = record.n_episodes
    columns: dict[str, object] = {
        "algorithm": [record.algorithm] * K,
        "seed": np.full(K, record.seed),
        "episode": np.arange(1, K + 1),
        "steps": record.steps,
        "is_feasible": record.is_feasible,
    }
    for j, name in enumerate(record.names):
        columns[name] = record.totals[:, j]
        columns[f"{name}, planned"] = record.planned[:, j]
    return columns


def learn_gymnasium(
    env: Any,
    algorithm: str | Learner = "OptCMDP",
    *,
    horizon: int,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    reward_range: Range = REWARD_RANGE,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Realized:
    """Run a learner in a Gymnasium environment that is known only through ``step``.

    Observations and actions are Discrete, MultiDiscrete or a Tuple of Discretes. Every
    observation, reward and cost is checked against its range; an episode that terminates early
    continues without reward and cost until the horizon.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    algorithm : str or Learner
        A learner, or its name.
    horizon : int
        Steps per episode.
    budget : float, sequence or mapping, optional
        Largest allowed expected sum of each cost over an episode: a number for the only one, one
        each, or by name. None means no constraints.
    costs : callable, array, str, or mapping of these, optional
        Cost of a step, as for `from_gymnasium`; ``info["cost"]`` by default.
    episodes : int
        Number of episodes K.
    seed : int
        Seed of all randomness, including the environment's.
    delta : float
        Probability with which the learner's guarantees, and the bands, may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options.
    reward_range : (float, float)
        Least and greatest reward of a step.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) by default.
    total_range : mapping of str to (float, float), optional
        Least and greatest sum over an episode of ``"reward"`` or a constraint, if narrower than the
        horizon times the range of a step; it makes the bands narrower, and is checked.
    initial : int or (n,) array, optional
        Number of the first observation, or a distribution; learned by default.
    allowed : (n, A) or (H, n, A) booleans, optional
        Actions that exist; by default all, or those of the model for environments made from one.
    stationary : bool
        Whether the environment is the same at every step, so that counts may be pooled (with
        ``pool`` in the confidence).
    progress : callable, optional
        Called after each episode with the number done.
    **options
        Options of the learner by name: OptDual and OptPrimalDual need ``rho``.

    Returns
    -------
    Realized
        Realized sums of rewards and costs by episode, with confidence bands.

    Examples
    --------
    >>> import tightrope as tr
    >>> record = tr.learn_gymnasium(
    ...     tr.to_gymnasium("ring"), "OptCMDP", horizon=6, budget=[3.0], episodes=20
    ... )
    >>> record.names, record.totals.shape
    (('reward', 'cost'), (20, 2))
    """
    from tightrope.learners.files import Labels
    from tightrope.learners.interactive import learner

    seed, K = whole("seed", seed, 0), whole("episodes", episodes)
    process = open_process(env, horizon, budget, costs, reward_range, cost_range, initial, allowed)
    student = learner(
        algorithm,
        n_states=process.n_states,
        n_actions=process.n_actions,
        horizon=process.n_steps,
        budget=process.budget,
        episodes=K,
        delta=delta,
        confidence=confidence,
        initial=process.initial,
        allowed=process.allowed,
        stationary=stationary,
        seed=seed,
        **options,
    )
    student.labels = Labels((), (), process.units)
    words = student.algorithm, seed, delta, student.confidence.words
    return _run(process, student, K, total_range, progress, *words)


def rehearse(
    env: Any,
    policy: Any,
    *,
    budget: Any = None,
    costs: Any = None,
    episodes: int = 1000,
    seed: int = 0,
    delta: float = 0.1,
    reward_range: Range = REWARD_RANGE,
    cost_range: Any = None,
    total_range: Mapping[str, Range] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Realized:
    """Run a given policy in a Gymnasium environment, to compare its sums with expectations.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment, or its id.
    policy : Plan or (H, S, A) array
        Probability of each action, by step and observation; H is the horizon.
    budget : float, sequence or mapping, optional
        As for `learn_gymnasium`.
    costs : callable, array, str, or mapping of these, optional
        As for `learn_gymnasium`.
    episodes : int
        Number of episodes.
    seed : int
        Seed of all randomness, including the environment's.
    delta : float
        Probability with which the bands may fail.
    reward_range : (float, float)
        Least and greatest reward of a step.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) by default.
    total_range : mapping of str to (float, float), optional
        As for `learn_gymnasium`.
    progress : callable, optional
        Called after each episode with the number done.

    Returns
    -------
    Realized
        Realized sums of rewards and costs by episode, with confidence bands.

    Examples
    --------
    >>> import tightrope as tr
    >>> ring = tr.envs.build("ring")
    >>> plan = tr.solve(ring)
    >>> record = tr.rehearse(tr.to_gymnasium(ring), plan, budget=[3.0], episodes=50)
    >>> record.n_episodes, record.policy.shape
    (50, (6, 3, 2))
    """
    seed, K, delta = whole("seed", seed, 0), whole("episodes", episodes), share("delta", delta)
    pi = as_floats("policy", policy.policy if isinstance(policy, Plan) else policy)
    if pi.ndim != 3:
        raise ModelError.about("policy", shape=pi.shape, expected="(H, S, A)")
    process = open_process(env, len(pi), budget, costs, reward_range, cost_range, None, None)
    known = (len(pi), process.over, process.n_actions)
    if pi.shape[1] < process.over or pi.shape[2] != process.n_actions:
        raise ModelError.about(
            "policy", shape=pi.shape, expected=f"{known}, further states ignored"
        )
    if not ((pi >= 0).all() and np.allclose(pi.sum(axis=2), 1.0)):
        raise ModelError.about(
            "policy", more="rows over the actions must be probabilities that add up to 1"
        )
    words = "given policy", seed, delta, "none"
    return _run(process, pi, K, total_range, progress, *words)


def _run(
    process: Process,
    agent: InteractiveLearner | Floats,
    K: int,
    total_range: Mapping[str, Range] | None,
    progress: Callable[[int], None] | None,
    algorithm: str,
    seed: int,
    delta: float,
    confidence: str,
) -> Realized:
    """Run a learner, or a policy over the process, for K episodes and record their sums."""
    names = tuple(name for name, _, _ in process.quantities)
    ranges = _find_ranges(process, names, total_range)
    totals, planned = np.zeros((K, len(names))), np.full((K, len(names)), np.nan)
    steps, is_feasible = np.zeros(K, dtype=np.int64), np.ones(K, dtype=np.bool_)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for k in range(K):
        if isinstance(agent, np.ndarray):
            policy = agent
            played = process.play(policy, rng)
        else:
            plan = agent.plan()
            policy = plan.policy
            played = process.play(policy, rng)
            agent.observe_scaled(played.episode)
            planned[k] = plan.value, *plan.constraint_value
            is_feasible[k] = plan.is_feasible
        totals[k], steps[k] = np.append(played.reward, played.costs), played.steps
        for name, total, (low, high) in zip(names, totals[k], ranges, strict=True):
            slack = ROUNDING * (1.0 + abs(low) + abs(high))
            if not low - slack <= total <= high + slack:
                raise ModelError.about(
                    name,
                    where=f"episode {k + 1}",
                    verb="adds up to",
                    found=total,
                    shown=f"{total:g}",
                    expected=f"a number in total_range=({low:g}, {high:g})",
                )
        if progress is not None:
            progress(k + 1)
    return Realized(
        algorithm=algorithm,
        seed=seed,
        names=names,
        totals=totals,
        ranges=ranges,
        budget=np.array([rule.budget for rule in process.rules], dtype=np.float64),
        steps=steps,
        planned=planned,
        is_feasible=is_feasible,
        policy=policy[:, : process.over],
        delta=delta,
        confidence=confidence,
    )


def _find_ranges(
    process: Process, names: tuple[str, ...], total_range: Mapping[str, Range] | None
) -> Floats:
    """Return the least and greatest sum of each quantity over an episode, (1+I, 2)."""
    for name in names[1:]:
        if name in TAKEN:
            raise ModelError.about(
                "costs", more=f"{name!r} is a column of the record; call it otherwise"
            )
    ranges = process.n_steps * np.array([each[1:] for each in process.quantities], dtype=np.float64)
    for name, given in (total_range or {}).items():
        if name not in names:
            raise ModelError.about(
                "total_range",
                more=f"{name!r} is unknown{guess(name, names)}; there are {', '.join(names)}",
            )
        ranges[names.index(name)] = required_range(f"total_range[{name!r}]", given)
    return ranges
