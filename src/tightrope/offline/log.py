"""Log: the episodes of a file, what they cover, and the model of their averages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, Ints, check_table, is_number
from tightrope.belief.episode import End, Episodes
from tightrope.errors import ModelError, describe
from tightrope.model import CMDP
from tightrope.model.units import Unit, required_budget
from tightrope.offline.steps import Fault
from tightrope.text import guess


@final
@dataclass(frozen=True)
class Log:
    """Logged episodes, checked; costs are on [0, 1], units lead back.

    Parameters
    ----------
    episodes : Episodes
        The complete episodes, in the order in which they appear.
    episode_names : tuple of str
        Their names.
    state_names, action_names, constraint_names : tuple of str
        Names by number.
    cost_unit : Unit
        How a total cost is shown.
    constraint_units : tuple of Unit
        The same for each constraint.
    end : End or None
        The last state, in which episodes that are over stay.
    faults : tuple of Fault
        Why rows and episodes were left out.
    n_left_out : int
        Number of episodes that were left out.
    place : str
        What the places of faults count: ``"line"`` or ``"row"``.
    layout : str
        ``"rows"`` for one step per row, ``"episodes"`` for one episode per line.
    """

    episodes: Episodes
    episode_names: tuple[str, ...]
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    cost_unit: Unit
    constraint_units: tuple[Unit, ...]
    end: End | None
    faults: tuple[Fault, ...]
    n_left_out: int
    place: str
    layout: str

    @property
    def horizon(self) -> int:
        """Number of steps H of an episode."""
        return int(self.episodes.actions.shape[1])

    @property
    def n_states(self) -> int:
        """Number of states S, with the one of ended episodes where there is one."""
        return len(self.state_names)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return len(self.action_names)

    @property
    def starts(self) -> Floats:
        """Share of the episodes that begin in each state, (S,)."""
        first = np.bincount(self.episodes.states[:, 0], minlength=self.n_states)
        return np.asarray(first / len(self.episodes))

    @property
    def visits(self) -> Ints:
        """How often each action was taken in each state at each stage, (H, S, A)."""
        shape = self.horizon, self.n_states, self.n_actions
        cells = _cells(self, self.horizon).reshape(-1)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def budget(self, bounds: Mapping[str, float]) -> Floats:
        """Budgets on the scale of the episodes, (I,).

        Parameters
        ----------
        bounds : mapping of str to float
            Largest expected total of an episode by name, in the log's units; one per
            constraint.
        """
        bounds = check_table("budget", bounds)
        for name in bounds:
            if name not in self.constraint_names:
                hint = guess(name, self.constraint_names)
                raise ModelError(f"budget of {name!r}: no such constraint{hint}")
        missing = [name for name in self.constraint_names if name not in bounds]
        if missing:
            raise ModelError(f"budget of {missing[0]!r}: missing")
        own = np.empty(len(self.constraint_names))
        for i, (name, unit) in enumerate(
            zip(self.constraint_names, self.constraint_units, strict=True)
        ):
            if not is_number(bounds[name]):
                raise ModelError(f"budget of {name!r}: {describe(bounds[name])}, expected a number")
            bound = float(bounds[name])
            own[i] = required_budget(f"budget of {name!r}: {bound:g}", bound, unit, self.horizon)
        return own


@final
@dataclass(frozen=True)
class Coverage:
    """Where a log has data; the state of ended episodes is left out."""

    visits: Ints  # (H, S, A), how often each action was taken in each state at each stage
    exists: Bools  # (H, S, A), which of them could have been

    @property
    def states_seen(self) -> Ints:
        """Number of states that occurred at each stage, (H,)."""
        return np.asarray(self.visits.any(axis=2).sum(axis=1))

    @property
    def pairs_seen(self) -> Ints:
        """Number of pairs (state, action) that occurred at each stage, (H,)."""
        return np.asarray((self.visits > 0).sum(axis=(1, 2)))

    @property
    def untried(self) -> Ints:
        """Number of actions never taken in a state that occurred, by stage, (H,)."""
        occurred = self.visits.any(axis=2, keepdims=True)
        return np.asarray((occurred & self.exists & (self.visits == 0)).sum(axis=(1, 2)))

    @property
    def unseen_states(self) -> list[int]:
        """States in which no action was ever taken: unreachable, or missed."""
        is_possible = self.exists.any(axis=(0, 2))
        return [int(s) for s in np.flatnonzero(is_possible & ~self.visits.any(axis=(0, 2)))]

    @property
    def unseen_pairs(self) -> list[tuple[int, int]]:
        """Actions never taken, at any stage, in a state that occurred."""
        occurred: Bools = np.asarray(self.visits.any(axis=(0, 2)))
        never = occurred[:, None] & self.exists.any(axis=0) & ~self.visits.any(axis=0)
        return [(int(s), int(a)) for s, a in np.argwhere(never)]


def empirical_model(
    log: Log,
    budget: Floats,
    initial: Floats,
    allowed: Bools | None = None,
    stationary: bool = False,
) -> CMDP:
    """The averages of a log as a model; if stationary, stages are averaged together.

    Where a state was seen at a stage, only the actions that were tried there exist, so that a plan
    in this model only does what was done before. A state that was never acted in gets the worst:
    every step in it has the greatest cost, and it is never left.
    """
    H, S, A, I = log.horizon, log.n_states, log.n_actions, len(log.constraint_names)
    seen: Ints = log.visits.sum(axis=0, keepdims=True) if stationary else log.visits
    if log.end is not None:
        seen[:, log.end.state, 0] += 1
    exists = np.ones((H, S, A), dtype=np.bool_) if allowed is None else np.asarray(allowed)
    tried = exists & (seen > 0)
    stages = seen.shape[0]
    cells = _cells(log, stages)
    totals = _totals(log, cells, seen.shape)
    costs = np.where(seen > 0, totals / np.maximum(seen, 1), 1.0)
    kernels = [_kernel(log, cells, h, stages, seen[h], S, A) for h in range(stages)]
    return CMDP(
        kernels[0] if stationary else kernels,
        costs[0, 0] if stationary else costs[0],
        costs[1:, 0] if stationary else costs[1:],
        budget,
        H,
        initial,
        np.where(tried.any(axis=2, keepdims=True), tried, exists),
        state_names=log.state_names,
        action_names=log.action_names,
        constraint_names=log.constraint_names if I else None,
        cost_unit=log.cost_unit,
        constraint_units=log.constraint_units,
    )


def _cells(log: Log, stages: int) -> Ints:
    """Number of each step's (stage, state, action), (K, H); all at one stage when stages is 1."""
    stage = np.minimum(np.arange(log.horizon), stages - 1)
    rows = log.episodes.states[:, :-1] * log.n_actions + log.episodes.actions
    return np.asarray(stage * log.n_states * log.n_actions + rows)


def _totals(log: Log, cells: Ints, shape: tuple[int, ...]) -> Floats:
    """Sums of cost and constraint costs, (I+1, stages, S, A)."""
    size, episodes = int(np.prod(shape)), log.episodes
    each = [episodes.cost, *np.moveaxis(episodes.constraint_cost, 1, 0)]
    sums = [np.bincount(cells.reshape(-1), cost.reshape(-1), size).astype(float) for cost in each]
    totals: Floats = np.stack(sums).reshape(len(each), *shape)
    if log.end is not None:
        totals[:, :, log.end.state, 0] += log.end.cost[:, None]
    return totals


def _kernel(log: Log, cells: Ints, h: int, stages: int, seen: Ints, S: int, A: int) -> csr_array:
    """Shares of the successors at a stage; a pair that was never seen stays where it is."""
    here = slice(None) if stages == 1 else slice(h, h + 1)
    rows = (cells[:, here] - h * S * A).reshape(-1)
    successors = log.episodes.states[:, 1:][:, here].reshape(-1)
    unseen = np.flatnonzero(seen.reshape(-1) == 0)
    shares = np.concatenate((1.0 / seen.reshape(-1)[rows], np.ones(unseen.size)))
    rows = np.concatenate((rows, unseen))
    successors = np.concatenate((successors, unseen // A))
    if log.end is not None:
        row = log.end.state * A
        rows, successors = np.append(rows, row), np.append(successors, log.end.state)
        shares = np.append(shares, 1.0 / seen.reshape(-1)[row])
    return csr_array((shares, (rows, successors)), shape=(S * A, S))
