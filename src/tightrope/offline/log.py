"""Log: episodes that were logged, their totals, and bounds on policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tightrope.arrays import Floats, Ints, check_table, is_number, require_finite, require_range
from tightrope.belief.episode import End, Episodes
from tightrope.errors import ConfigError, DataError
from tightrope.model.draft import ROW_TOLERANCE, start_distribution
from tightrope.model.units import Unit, required_budget
from tightrope.offline.steps import Fault
from tightrope.text import counted, guess

if TYPE_CHECKING:
    from tightrope.plan.bound import Bounds


@final
@dataclass(frozen=True)
class Log:
    r"""Logged episodes, checked.

    Parameters
    ----------
    episode_names : tuple of str
        Their names.
    state_names, action_names, constraint_names : tuple of str
        Names by number.
    cost_unit : Unit
        Unit of the cost.
    constraint_units : tuple of Unit
        The same for each constraint.
    faults : tuple of Fault
        Why rows and episodes were excluded.
    n_left_out : int
        Number of excluded episodes.
    place : str
        What the places of faults count: ``"line"`` or ``"row"``.
    layout : str
        ``"rows"`` for one step per row, ``"episodes"`` for one episode per line.
    first_step : int
        Number of the first step of an episode in the log: 0 or 1.
    seed : int, optional
        Of simulated episodes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("episode,step,state,action,next_state,cost\n1,0,a,go,b,0.5\n")
    ...     log = tr.read_log(path)
    >>> log.horizon, log.n_states, log.starts
    (1, 2, array([1., 0.]))
    """

    _scaled: Episodes  # costs in [0, 1]; `episodes` has them in the log's units
    episode_names: tuple[str, ...]
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    cost_unit: Unit
    constraint_units: tuple[Unit, ...]
    _end: End | None
    faults: tuple[Fault, ...]
    n_left_out: int
    place: str
    layout: str
    first_step: int = 0
    seed: int | None = None

    @property
    def episodes(self) -> Episodes:
        """The complete episodes, in the order in which they appear, in the log's units."""
        H, units = self.horizon, self.constraint_units
        bounded = np.array(self._scaled.constraint_cost)
        for i, unit in enumerate(units):
            bounded[:, i] = unit.show_step(bounded[:, i], H)
        cost = self.cost_unit.show_step(self._scaled.cost, H)
        return replace(self._scaled, cost=cost, constraint_cost=bounded)

    @property
    def end(self) -> End | None:
        """The absorbing last state of finished episodes, with the costs of a step in it, if any."""
        if self._end is None:
            return None
        units = zip((self.cost_unit, *self.constraint_units), self._end.cost, strict=True)
        shown = [unit.show_step(cost, self.horizon) for unit, cost in units]
        return End(self._end.state, np.array(shown))

    @property
    def n_episodes(self) -> int:
        """Number of complete episodes K."""
        return len(self._scaled)

    def __repr__(self) -> str:
        count = counted(self.n_episodes, "episode")
        sizes = counted(self.n_states, "state"), counted(self.n_actions, "action")
        left_out = f", {self.n_left_out} excluded" if self.n_left_out else ""
        return f"Log({count} of {counted(self.horizon, 'step')}, {', '.join(sizes)}{left_out})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import log_card

        return log_card(self)

    @property
    def horizon(self) -> int:
        """Number of steps H of an episode."""
        return int(self._scaled.actions.shape[1])

    @property
    def n_states(self) -> int:
        """Number of states S, including the state of finished episodes if any."""
        return len(self.state_names)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return len(self.action_names)

    @property
    def starts(self) -> Floats:
        """Share of the episodes that begin in each state, (S,)."""
        first = np.bincount(self._scaled.states[:, 0], minlength=self.n_states)
        return np.asarray(first / self.n_episodes)

    @property
    def visits(self) -> Ints:
        """How often each action was taken in each state at each stage, (H, S, A)."""
        shape = self.horizon, self.n_states, self.n_actions
        cells = cells_of(self, self.horizon).reshape(-1)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def part(self, first: int, last: int) -> Log:
        """Return the log of episodes ``first`` to ``last - 1``, with the same names and units.

        Parameters
        ----------
        first, last : int
            Numbers of episodes, from 0.

        Returns
        -------
        Log
            The episodes, as a log.

        Examples
        --------
        >>> import tightrope as tr
        >>> log = tr.simulate("ring", [[0.0, 1.0]] * 3, episodes=5, seed=0)
        >>> log.part(0, 2).n_episodes
        2
        """
        one = self._scaled
        some = Episodes(
            one.states[first:last],
            one.actions[first:last],
            one.cost[first:last],
            one.constraint_cost[first:last],
        )
        return replace(self, _scaled=some, episode_names=self.episode_names[first:last])

    @property
    def totals(self) -> Floats:
        """Totals of cost and constraint costs by episode in the log's units, (K, I+1)."""
        units = (self.cost_unit, *self.constraint_units)
        shown = [u.show(each) for u, each in zip(units, scaled_totals(self).T, strict=True)]
        return np.column_stack(shown)

    def to_pandas(self) -> Any:
        """Return the steps as a DataFrame, with one row per step, as `read_log` reads it.

        Returns
        -------
        DataFrame
            Columns ``episode``, ``step``, ``state``, ``action``, ``next_state``, ``cost`` or
            ``reward``, and one for each constraint. Steps of finished episodes are left out.

        Raises
        ------
        DependencyError
            If pandas is not installed.

        Examples
        --------
        >>> import tightrope as tr
        >>> log = tr.simulate("ring", [[0.0, 1.0]] * 3, episodes=1, seed=0)
        >>> print(log.to_pandas().head(2).to_string(index=False))
        episode  step state action next_state  reward  moves
              0     0     0   move          1     0.0    1.0
              0     1     1   move          2     1.0    1.0
        """
        import pyarrow as pa

        from tightrope.experiments.run_files import as_pandas

        one, (K, H) = self.episodes, self._scaled.actions.shape
        names, actions = np.array(self.state_names), np.array(self.action_names)
        columns = {
            "episode": np.repeat(np.array(self.episode_names), H),
            "step": np.tile(np.arange(H) + self.first_step, K),
            "state": names[one.states[:, :-1]].reshape(-1),
            "action": actions[one.actions].reshape(-1),
            "next_state": names[one.states[:, 1:]].reshape(-1),
            "reward" if self.cost_unit.is_maximized else "cost": one.cost.reshape(-1),
        }
        for i, name in enumerate(self.constraint_names):
            columns[name] = one.constraint_cost[:, i].reshape(-1)
        if self.end is not None:
            columns["done"] = (one.states[:, 1:] == self.end.state).reshape(-1)
            goes_on = (one.states[:, :-1] != self.end.state).reshape(-1)
            columns = {name: column[goes_on] for name, column in columns.items()}
        return as_pandas(pa.table(columns))

    @property
    def mean_totals(self) -> Floats:
        """Mean totals of the episodes, of the cost and of each constraint, (I+1,)."""
        units = (self.cost_unit, *self.constraint_units)
        means = scaled_totals(self).mean(axis=0).tolist()
        return np.array([unit.show(mean) for unit, mean in zip(units, means, strict=True)])

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of states and actions by the letter of their axis."""
        return {"s": self.state_names, "a": self.action_names}

    def bound(
        self,
        policy: Any,
        budget: Mapping[str, float] | None = None,
        delta: float = 0.1,
        initial: Any = None,
        stationary: bool = False,
        seed: int = 0,
    ) -> Bounds:
        """Compute bounds on the values of one policy that was chosen without these episodes.

        Episodes of the policy are put together from the logged steps, each used once
        (`tightrope.offline.replay`). The bounds hold for this policy with probability
        ``1 - delta``, whatever policies made the log. They do not hold for a policy that
        was planned from the same episodes; for those, see ``hold_out`` of `fit`.

        Parameters
        ----------
        policy : Plan, (H, S, A) or (S, A) array, or (H, S) integers
            As for `evaluate`; states and actions in the order of `state_names` and
            `action_names`. A row for the state of finished episodes may be missing.
        budget : mapping of str to float, optional
            Largest expected total of each constraint, in the log's units.
        delta : float
            Probability that some bound fails.
        initial : int, str or (S,) array, optional
            Start state, its name, or a distribution, if known. By default episodes start
            as those of the log.
        stationary : bool
            Whether the process is the same at every stage.
        seed : int
            Seed of the draws of actions, for policies that draw them.

        Returns
        -------
        Bounds
            Lower and upper bounds in the log's units, and whether each budget is kept.

        Examples
        --------
        The second action was taken in half of the episodes, and cost nothing:

        >>> import pandas as pd
        >>> import tightrope as tr
        >>> rows = pd.DataFrame({"episode": range(400), "step": 0, "state": "on"})
        >>> rows["action"] = rows["episode"] % 2
        >>> rows["next_state"] = "on"
        >>> rows["cost"] = 1 - rows["action"]
        >>> log = tr.read_log(rows)
        >>> log.bound([[0.0, 1.0]]).cost.round(3)
        array([0.   , 0.018])
        """
        from tightrope.offline.replay import bound_by_replay

        return bound_by_replay(self, policy, budget, delta, initial, stationary, seed)

    def bound_average(
        self, budget: Mapping[str, float] | None = None, delta: float = 0.1
    ) -> Bounds:
        """Compute bounds on the average values of the policies that made this log.

        The bounds hold however the policies were chosen and whenever the collection of
        episodes stopped, and need no Markov property.

        Parameters
        ----------
        budget : mapping of str to float, optional
            As for `bound`.
        delta : float
            As for `bound`.

        Returns
        -------
        Bounds
            Lower and upper bounds in the log's units, and whether each budget is kept.

        Examples
        --------
        >>> import pandas as pd
        >>> import tightrope as tr
        >>> rows = pd.DataFrame({"episode": range(400), "step": 0, "state": "on"})
        >>> rows["action"] = rows["episode"] % 2
        >>> rows["next_state"] = "on"
        >>> rows["cost"] = 1 - rows["action"]
        >>> tr.read_log(rows).bound_average().cost.round(2)
        array([0.41, 0.59])
        """
        from tightrope.offline.replay import bound_average

        return bound_average(self, budget, delta)


def scaled_episodes(log: Log) -> Episodes:
    """Return the episodes with costs scaled to [0, 1] per step."""
    return log._scaled


def scaled_end(log: Log) -> End | None:
    """Return the state of finished episodes with its costs scaled to [0, 1] per step."""
    return log._end


def scaled_totals(log: Log) -> Floats:
    """Return totals of cost and constraint costs by episode on the internal scale, (K, I+1)."""
    episodes = scaled_episodes(log)
    bounded = episodes.constraint_cost.sum(axis=2)
    return np.column_stack((episodes.cost.sum(axis=1), bounded))


def scale_budget(log: Log, bounds: Mapping[str, float] | None) -> Floats:
    """Convert budgets by name in the log's units to the internal scale, (I,)."""
    bounds = check_table("budget", bounds)
    for name in bounds:
        if name not in log.constraint_names:
            hint = guess(name, log.constraint_names)
            raise ConfigError.about(f"budget of {name!r}", more=f"no such constraint{hint}")
    missing = [name for name in log.constraint_names if name not in bounds]
    if missing:
        raise ConfigError.about(f"budget of {missing[0]!r}", shown="missing")
    own = []
    for name, unit in zip(log.constraint_names, log.constraint_units, strict=True):
        if not is_number(bounds[name]):
            raise ConfigError.about(f"budget of {name!r}", found=bounds[name], expected="a number")
        where, bound = f"budget of {name!r}", float(bounds[name])
        own.append(required_budget(where, bound, unit, log.horizon))
    return np.array(own, dtype=np.float64)


def cells_of(log: Log, stages: int) -> Ints:
    """Return the cell number of each step's (stage, state, action), (K, H)."""
    stage = np.minimum(np.arange(log.horizon), stages - 1)
    rows = scaled_episodes(log).states[:, :-1] * log.n_actions + scaled_episodes(log).actions
    return np.asarray(stage * log.n_states * log.n_actions + rows)


def start_of(log: Log, initial: Any) -> Floats:
    """Return the distribution of a start state, its name or a distribution, checked."""
    start = start_distribution(initial, log.n_states, log.state_names)
    require_finite("initial", start, "s", log.names)
    require_range("initial", start, 0.0, 1.0 + ROW_TOLERANCE, "s", log.names)
    if abs(start.sum() - 1.0) > ROW_TOLERANCE:
        raise ConfigError.about("initial", verb="sums to", found=start.sum(), expected="1")
    first = scaled_episodes(log).states[:, 0]
    if not (start[first] > 0).all():
        k = int((start[first] > 0).argmin())
        name = log.state_names[first[k]]
        raise DataError.about(
            "initial",
            found=name,
            shown=f"an episode begins in {name!r}",
            more=", which is no start state",
        )
    return np.asarray(start / start.sum())
