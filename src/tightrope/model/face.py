"""What a model says of itself: sizes, arrays, names and units, all read-only."""

from __future__ import annotations

from typing import cast

import numpy as np

from tightrope.arrays import Bools, Floats, Names, Problem, Transitions, read_only
from tightrope.model.csr import unstack_dense
from tightrope.model.draft import Draft, unnamed
from tightrope.model.layout import Layout
from tightrope.model.unit import Unit
from tightrope.text import counted


class Face:
    """The read-only side of a CMDP; whoever makes one sets the five fields."""

    _draft: Draft
    _problem: Problem
    _cost_unit: Unit
    _constraint_units: tuple[Unit, ...]
    _layout: Layout | None

    @property
    def n_states(self) -> int:
        """Number of states S."""
        return self._draft.shape[2]

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self._draft.shape[3]

    @property
    def horizon(self) -> int:
        """Number of steps H of an episode."""
        return self._draft.horizon

    @property
    def n_constraints(self) -> int:
        """Number of constraints I."""
        return self._draft.shape[0]

    @property
    def is_stationary(self) -> bool:
        """Whether one kernel serves every stage."""
        return len(self._draft.transitions.indptr) == 1

    @property
    def problem(self) -> Problem:
        """The model as the compiled planners read it, in read-only arrays."""
        return cast(Problem, read_only(self._problem))

    @property
    def transitions(self) -> Transitions:
        """Kernels by stage as CSR triples, in read-only arrays."""
        return cast(Transitions, read_only(self._draft.transitions))

    @property
    def transition(self) -> Floats:
        """Dense kernels, (S, A, S) when stationary and (H, S, A, S) otherwise."""
        _, _, S, A = self._draft.shape
        dense = unstack_dense(self._draft.transitions, S)
        return dense.reshape((S, A, S) if self.is_stationary else (self.horizon, S, A, S))

    @property
    def cost(self) -> Floats:
        """Mean costs, (H, S, A), read-only."""
        return np.broadcast_to(self._draft.cost, self._draft.shape[1:])

    @property
    def constraint_cost(self) -> Floats:
        """Mean constraint costs, (I, H, S, A), read-only."""
        return np.broadcast_to(self._draft.constraint_cost, self._draft.shape)

    @property
    def budget(self) -> Floats:
        """Budgets, (I,)."""
        return self._draft.budget.copy()

    @property
    def initial(self) -> Floats:
        """Distribution of the start state, (S,)."""
        return self._draft.initial.copy()

    @property
    def allowed(self) -> Bools:
        """Which actions exist, (H, S, A), read-only."""
        mask = self._draft.allowed
        return np.broadcast_to(mask if mask.shape[0] else np.True_, self._draft.shape[1:])

    @property
    def noise(self) -> str:
        """How observed costs are drawn around their means."""
        return self._draft.noise

    @property
    def names(self) -> Names:
        """Names by axis letter (``i``, ``s``, ``a``), None where none were given."""
        return self._draft.names

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states; their numbers where none were given."""
        return tuple(self.names["s"] or map(str, range(self.n_states)))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions; their numbers where none were given."""
        return tuple(self.names["a"] or map(str, range(self.n_actions)))

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints; ``constraint 0`` and so on where none were given."""
        return tuple(self.names["i"] or unnamed(self.n_constraints))

    @property
    def cost_unit(self) -> Unit:
        """How a total cost is shown to people."""
        return self._cost_unit

    @property
    def constraint_units(self) -> tuple[Unit, ...]:
        """How each constraint's total is shown to people."""
        return self._constraint_units

    @property
    def layout(self) -> Layout | None:
        """Map of a grid world; None for other models."""
        return self._layout

    def __repr__(self) -> str:
        I, H, S, A = self._draft.shape
        kind = "stationary" if self.is_stationary else "time-dependent"
        sizes = f"{counted(S, 'state')}, {counted(A, 'action')}, horizon {H}"
        return f"CMDP({sizes}, {counted(I, 'constraint')}, {kind})"


def writable_problem(cmdp: Face) -> Problem:
    """The model as kernels read it: the arrays behind `Face.problem`, for kernels only.

    Numba compiles a kernel once more for read-only arrays, so kernels get the writable ones.
    """
    return cmdp._problem
