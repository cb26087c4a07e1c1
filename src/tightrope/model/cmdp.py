"""CMDP: a finite-horizon constrained Markov decision process, checked on construction.

::

    min over policies   E[ sum_h c_h(s_h, a_h) ]
    subject to          E[ sum_h d_{i,h}(s_h, a_h) ] <= budget_i     for every constraint i

Inside, costs lie in [0, 1] per step and everything is minimized. `CMDP.from_costs` and
`CMDP.from_rewards` take rewards, "at least" constraints and costs on any range. All public numbers
are in the units of the arguments: costs, budgets, and every result computed from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any, cast, final

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Names,
    Problem,
    Transitions,
    as_floats,
    check_kind,
    check_names,
    read_only,
)
from tightrope.errors import ConfigError, ModelError
from tightrope.files import as_path
from tightrope.model.csr import unstack_dense
from tightrope.model.draft import (
    Draft,
    at_stages,
    default_names,
    distinct_names,
    draft,
    find_horizon,
    read_units,
    settle,
)
from tightrope.model.files import in_file, read_model, write_model
from tightrope.model.layout import Layout
from tightrope.model.lint import Finding, find_faults, lint
from tightrope.model.units import (
    Bounded,
    Range,
    Unit,
    Units,
    check_units,
    join_bounded,
    onto_budget,
    read_named,
    rescale,
    rescale_bounded,
)
from tightrope.text import counted

CAPPED = ("constraint_cost", "budget", "constraint_range")
FLOORED = ("utility", "floor", "utility_range")


@final
class CMDP:
    """A constrained MDP: minimize an expected cost subject to expected budgets.

    Parameters
    ----------
    transition : array or sparse matrix
        ``(S, A, S)`` with ``horizon`` given, or ``(H, S, A, S)``; or a scipy sparse matrix
        ``(S*A, S)``, or a list of H of them. Rows sum to one.
    cost : (S, A) or (H, S, A) array
        Mean cost of each step, in [0, 1] or in the range of ``cost_unit``.
    constraint_cost : (I, S, A) or (I, H, S, A) array, optional
        Mean constraint costs of each step, likewise. None means no constraints.
    budget : (I,) array, optional
        Largest allowed expected sum of each constraint cost over the H steps; the least allowed
        sum where the unit is maximized.
    horizon : int, optional
        Number of steps H; needed when ``transition`` has no stage axis.
    initial : int, str or (S,) array
        Start state, its name, or a distribution over start states.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state. Forbidden ones never appear in a plan and their rows and
        costs are not read.
    noise : {"bernoulli", "none", "beta"}
        How observed costs are drawn around their means when episodes are simulated.
    state_names, action_names, constraint_names : sequence of str, optional
        Names for errors, tables and figures.
    cost_unit : Unit, optional
        Unit of the cost, with its range; `from_costs` makes it from a range.
    constraint_units : sequence of Unit, optional
        The same for each constraint.
    layout : Layout, optional
        Map of a grid world, for drawing.

    Raises
    ------
    ModelError
        If an argument has the wrong shape or an invalid value; it names the first bad entry.

    Examples
    --------
    One state, two actions and four steps: waiting costs 1, working uses 1 of a budget of 2.

    >>> import tightrope as tr
    >>> cmdp = tr.CMDP(
    ...     transition=[[[1.0], [1.0]]],
    ...     cost=[[1.0, 0.0]],
    ...     constraint_cost=[[[0.0, 1.0]]],
    ...     budget=[2.0],
    ...     horizon=4,
    ... )
    >>> cmdp
    CMDP(1 state, 2 actions, horizon 4, 1 constraint, stationary)
    >>> tr.solve(cmdp).value
    2.0
    """

    def __init__(
        self,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        horizon: int | None = None,
        initial: Any = 0,
        allowed: Any = None,
        noise: str = "bernoulli",
        *,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        constraint_names: Sequence[str] | None = None,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> None:
        names = state_names, action_names, constraint_names
        values = transition, cost, constraint_cost, budget, horizon, initial, allowed, noise
        units = check_units(cost_unit, constraint_units)
        self._settle(read_units(draft(*values, *names), *units), *units, layout)

    @classmethod
    def from_draft(
        cls,
        model: Draft,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> CMDP:
        """Return the model of a draft, after the same checks as in the constructor.

        Parameters
        ----------
        model : Draft
            In canonical layout and on the internal scale, values unchecked.
        cost_unit, constraint_units, layout
            As for the constructor.

        Returns
        -------
        CMDP
            The model.

        Examples
        --------
        >>> import tightrope as tr
        >>> from tightrope.model.draft import draft
        >>> tr.CMDP.from_draft(draft([[[1.0]]], [[0.5]], horizon=3))
        CMDP(1 state, 1 action, horizon 3, 0 constraints, stationary)
        """
        self = cls.__new__(cls)
        self._settle(model, cost_unit, constraint_units, layout)
        return self

    def _settle(
        self,
        model: Draft,
        cost_unit: Unit | None,
        constraint_units: Sequence[Unit] | None,
        layout: Layout | None,
    ) -> None:
        cost_unit, constraint_units = check_units(cost_unit, constraint_units)
        if layout is not None:
            check_kind("layout", layout, Layout, ModelError)
        for _, fault, remedy in find_faults(model, cost_unit, constraint_units):
            raise fault.with_message(f"{fault}; {remedy}") if remedy else fault
        self._draft = settle(model)
        units = map(Unit, self.constraint_names) if constraint_units is None else constraint_units
        self._units = Units(cost_unit or Unit("cost"), tuple(units))
        found = len(self._units.constraints)
        if found != self.n_constraints:
            raise ModelError.about("constraint_units", found=found, expected=self.n_constraints)
        if layout is not None:
            layout.require_fit(self.n_states, self.n_actions)
        self._layout = layout

    @classmethod
    def from_costs(
        cls,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        horizon: int | None = None,
        *,
        cost_range: Range | None = None,
        constraint_range: Sequence[Range] | None = None,
        cost_name: str = "cost",
        **options: Any,
    ) -> CMDP:
        """Return a CMDP from costs on any range, with budgets in the same units.

        Everything that is computed from the model is in these units: values of plans, prices (units
        of the cost per unit of the constraint), regrets, bounds, and the budgets of `with_budget`.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        cost : (S, A) or (H, S, A) array
            Mean cost of each step, inside ``cost_range``.
        constraint_cost : (I, S, A) or (I, H, S, A) array, optional
            Mean constraint costs, each inside its range.
        budget : (I,) array, optional
            Largest allowed expected sums, in the units of the constraint costs.
        horizon : int, optional
            As for the constructor.
        cost_range : (float, float), optional
            Least and greatest cost of one step; (0, 1) when not given.
        constraint_range : sequence of (float, float), optional
            The same for each constraint.
        cost_name : str
            Name of the cost in tables and figures.
        **options
            The remaining arguments of the constructor, except the units, which the ranges give.

        Returns
        -------
        CMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.CMDP.from_costs(
        ...     [[[1.0], [1.0]]],
        ...     cost=[[90.0, 20.0]],
        ...     constraint_cost=[[[0.0, 5.0]]],
        ...     budget=[10.0],
        ...     horizon=4,
        ...     cost_range=(0.0, 100.0),
        ...     constraint_range=[(0.0, 5.0)],
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.multiplier.round(6)
        (220.0, array([14.]))
        """
        H, mask = find_horizon(transition, horizon), options.get("allowed")
        scaled = rescale("cost", cost, cost_range, "cost_range", H, mask, False)
        capped = rescale_bounded(CAPPED, constraint_cost, budget, constraint_range, H, mask)
        return cls._from_rescaled(transition, horizon, *scaled, cost_name, capped, options)

    @classmethod
    def from_rewards(
        cls,
        transition: Any,
        reward: Any,
        utility: Any = None,
        floor: Any = None,
        horizon: int | None = None,
        *,
        constraint_cost: Any = None,
        budget: Any = None,
        reward_range: Range | None = None,
        utility_range: Sequence[Range] | None = None,
        constraint_range: Sequence[Range] | None = None,
        reward_name: str = "reward",
        **options: Any,
    ) -> CMDP:
        """Return a CMDP from rewards to maximize and utilities that must reach a floor.

        Values of plans are expected rewards, so larger is better; ``budget`` of the result has the
        floors first, then the budgets. Prices, gaps and regrets are still nonnegative: a
        price is the reward gained per unit by which a floor is lowered.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        reward : (S, A) or (H, S, A) array
            Mean reward of each step, inside ``reward_range``.
        utility : (J, S, A) or (J, H, S, A) array, optional
            Quantities whose expected sum must be at least ``floor``.
        floor : (J,) array, optional
            Least allowed expected sums, in the utilities' units.
        horizon : int, optional
            As for the constructor.
        constraint_cost : (I, S, A) or (I, H, S, A) array, optional
            Quantities whose expected sum must be at most ``budget``.
        budget : (I,) array, optional
            Largest allowed expected sums, in the constraint costs' units.
        reward_range : (float, float), optional
            Least and greatest reward of one step; (0, 1) when not given.
        utility_range : sequence of (float, float), optional
            The same for each utility.
        constraint_range : sequence of (float, float), optional
            The same for each constraint cost.
        reward_name : str
            Name of the reward in tables and figures.
        **options
            The remaining arguments of the constructor, except the units, which the ranges give;
            constraint names cover floors, then budgets.

        Returns
        -------
        CMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.CMDP.from_rewards(
        ...     [[[1.0], [1.0]]],
        ...     reward=[[0.0, 1.0]],
        ...     utility=[[[1.0, 0.0]]],
        ...     floor=[3.0],
        ...     horizon=4,
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.constraint_value.round(6)
        (1.0, array([3.]))
        """
        H, mask = find_horizon(transition, horizon), options.get("allowed")
        scaled = rescale("reward", reward, reward_range, "reward_range", H, mask, True)
        floored = rescale_bounded(FLOORED, utility, floor, utility_range, H, mask)
        capped = rescale_bounded(CAPPED, constraint_cost, budget, constraint_range, H, mask)
        bounded = join_bounded(floored, capped, H)
        return cls._from_rescaled(transition, horizon, *scaled, reward_name, bounded, options)

    @classmethod
    def _from_rescaled(
        cls,
        transition: Any,
        horizon: int | None,
        cost: Floats,
        unit: Unit,
        cost_name: str,
        bounded: Bounded,
        options: dict[str, Any],
    ) -> CMDP:
        check_names("name of the objective", [cost_name], ModelError)
        units = bounded[2]
        names = distinct_names("constraint_names", options.get("constraint_names"), len(units))
        shown = zip(units, names or default_names(len(units)), strict=True)
        values = transition, cost, *bounded[:2], horizon
        layout, options = options.pop("layout", None), {**options, "constraint_names": names}
        named = [replace(each, name=name) for each, name in shown]
        model = draft(*values, **options)
        return cls.from_draft(model, replace(unit, name=cost_name), named, layout)

    def with_budget(self, budget: Any) -> CMDP:
        """Return the same model with other budgets.

        Parameters
        ----------
        budget : (I,) array, or mapping of str to float
            New budgets in the units of the constraints; by name, or number as a string, for some.

        Returns
        -------
        CMDP
            The model with the new budgets.

        Examples
        --------
        >>> import tightrope as tr
        >>> ring = tr.envs.build("ring")
        >>> ring.constraint_names, ring.budget
        (('moves',), array([3.]))
        >>> ring.with_budget({"moves": 4}).budget
        array([4.])
        """
        if isinstance(budget, Mapping):
            given = read_named(budget, self.constraint_names)
        else:
            bounds, now = as_floats("budget", budget).reshape(-1), self.budget
            if bounds.size != now.size:
                raise ModelError.about("budget", shown=f"{bounds.size} numbers", expected=now.size)
            # a budget that stays is not rounded
            given = {i: b for i, b in enumerate(bounds.tolist()) if b != now[i]}
        new = self._draft.budget.copy()
        for i, bound in given.items():
            new[i] = onto_budget(bound, self.constraint_units[i], self.horizon)
        model = replace(self._draft, budget=new)
        return CMDP.from_draft(model, self.cost_unit, self.constraint_units, self._layout)

    def check(self) -> tuple[Finding, ...]:
        """Return likely mistakes in a valid model: unreachable states, budgets without effect.

        Returns
        -------
        tuple of Finding
            Warnings, worst first; empty if there are none. `feasibility` finds budgets that are
            infeasible only in combination.

        Examples
        --------
        >>> import tightrope as tr
        >>> for finding in tr.envs.build("ring").with_budget([6.0]).check():
        ...     print(finding.level, finding.subject)
        warning budget
        """
        return lint(self._draft, self.cost_unit, self.constraint_units)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file atomically.

        Parameters
        ----------
        path : path
            Ends in ``.npz`` (arrays, any size) or ``.toml`` (text to read and edit, small models).

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     tr.envs.build("ring").save(f"{folder}/ring.toml")
        ...     tr.CMDP.load(f"{folder}/ring.toml")
        CMDP(3 states, 2 actions, horizon 6, 1 constraint, stationary)
        """
        file = as_path("path", path)
        write_model(file, self._draft, self.cost_unit, self.constraint_units, self._layout)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CMDP:
        """Read a model file, written by `save` or by hand.

        Parameters
        ----------
        path : path
            A ``.npz`` or ``.toml`` model file.

        Returns
        -------
        CMDP
            The model, checked.

        Raises
        ------
        ModelError
            If the file is missing, truncated, of another kind, or contains an invalid model.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     tr.envs.build("queue").save(f"{folder}/queue.npz")
        ...     tr.CMDP.load(f"{folder}/queue.npz")
        CMDP(11 states, 4 actions, horizon 40, 2 constraints, stationary)
        """
        file = as_path("path", path)
        contents = read_model(file)
        with in_file(file):
            return cls.from_draft(*contents)

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
        """Whether all stages have the same kernel."""
        return len(self._draft.transitions.indptr) == 1

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
        """Mean costs or rewards, (H, S, A), read-only; zero for actions that do not exist."""
        return np.broadcast_to(self._show(self.cost_unit, self._draft.cost), self._draft.shape[1:])

    @property
    def constraint_cost(self) -> Floats:
        """Mean constraint costs in the units of the constraints, (I, H, S, A), read-only."""
        own = self._draft.constraint_cost
        shown = list(map(self._show, self.constraint_units, own))
        return np.broadcast_to(np.reshape(shown, own.shape), self._draft.shape)

    def _show(self, unit: Unit, cost: Floats) -> Floats:
        """Costs of one step, (G, S, A), in a unit."""
        exists = at_stages(self._draft.allowed, len(cost))
        return np.where(exists, unit.show_step(cost, self.horizon), 0.0)

    @property
    def budget(self) -> Floats:
        """Budgets, or floors, in the units of the constraints, (I,)."""
        return self.units.show_totals(self._draft.budget)

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
        return tuple(self.names["i"] or default_names(self.n_constraints))

    @property
    def units(self) -> Units:
        """Units of the cost and of the constraints."""
        return self._units

    @property
    def cost_unit(self) -> Unit:
        """Unit of the cost."""
        return self._units.cost

    @property
    def constraint_units(self) -> tuple[Unit, ...]:
        """Unit of each constraint."""
        return self._units.constraints

    @property
    def layout(self) -> Layout | None:
        """Map of a grid world; None for other models."""
        return self._layout

    def __repr__(self) -> str:
        I, H, S, A = self._draft.shape
        kind = "stationary" if self.is_stationary else "time-dependent"
        sizes = f"{counted(S, 'state')}, {counted(A, 'action')}, horizon {H}"
        return f"CMDP({sizes}, {counted(I, 'constraint')}, {kind})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import model_card

        return model_card(self)


def as_cmdp(given: Any) -> CMDP:
    """Return the model, built if its name in the catalog was given."""
    if isinstance(given, str):
        try:  # a later layer, which loads only when a name is given
            return cast(CMDP, import_module("tightrope.envs").build(given))
        except ModelError as error:
            raise ConfigError(f"cmdp: {error}", argument="cmdp", found=given) from error
    return check_kind("cmdp", given, CMDP, ModelError)


def writable_problem(cmdp: CMDP) -> Problem:
    """Return the model as kernels, planners and learners read it, on the internal scale.

    Not to be changed; writable because Numba compiles a kernel once more for read-only arrays.
    """
    return cmdp._draft.problem
