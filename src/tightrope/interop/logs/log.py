"""Log: the episodes of a file, with the names and units that lead back to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from tightrope.arrays import Floats, Ints, check_table, is_number
from tightrope.errors import ModelError, describe
from tightrope.estimate.episode import End, Episodes
from tightrope.interop.logs.blocks import Fault
from tightrope.model.units import Unit, required_budget
from tightrope.text import guess


@final
@dataclass(frozen=True)
class Log:
    """Logged episodes, checked; costs are on [0, 1], units lead back.

    Parameters
    ----------
    episodes : Episodes
        The episodes that are whole, in the order in which they appear.
    episode_names : tuple of str
        What they are called.
    state_names, action_names, constraint_names : tuple of str
        What the numbers stand for.
    cost_unit : Unit
        How a total cost is shown.
    constraint_units : tuple of Unit
        The same for each constraint.
    end : End or None
        The last state, where episodes wait that are over.
    faults : tuple of Fault
        What was wrong with the rows and episodes that were left out.
    n_left_out : int
        Episodes that were left out.
    place : str
        What the places of faults count: ``"line"`` or ``"row"``.
    layout : str
        ``"rows"`` for one step a row, ``"episodes"`` for one episode a line.
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
        H, S, A = self.horizon, self.n_states, self.n_actions
        cells = self.episodes.states[:, :-1] * A + self.episodes.actions + np.arange(H) * S * A
        return np.bincount(cells.reshape(-1), minlength=H * S * A).reshape(H, S, A)

    def budget(self, bounds: Mapping[str, float]) -> Floats:
        """Budgets on the scale of the episodes, (I,).

        Parameters
        ----------
        bounds : mapping of str to float
            Largest expected total of an episode by name, in the log's units; one a constraint.
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
