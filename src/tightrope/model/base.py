"""Model: what finite-horizon, discounted and average-cost models share.

Inside, costs lie in [0, 1] per step and everything is minimized. All public numbers are in the
units of the arguments: costs, budgets, and every result computed from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import PurePath
from typing import Any, ClassVar, Self, cast

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
    find_steps,
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

READERS = {".npz": "tr.CMDP.load", ".toml": "tr.CMDP.load", ".drn": "tr.read_drn"}  # of files
CAPPED = ("constraint_cost", "budget", "constraint_range")
FLOORED = ("utility", "floor", "utility_range")


KINDS: dict[str, type[Model]] = {}  # by criterion


class Model:
    """Base of `CMDP`, `DiscountedCMDP` and `AverageCMDP`."""

    criterion: ClassVar[str]  # as in `Draft`
    measure: ClassVar[str]  # of costs, in words that stand before their name
    visits: ClassVar[str]  # what the occupancy is, in words

    def __init_subclass__(cls) -> None:
        KINDS[cls.criterion] = cls

    @classmethod
    def from_draft(
        cls,
        model: Draft,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> Self:
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
        kind = KINDS[model.criterion]
        if not issubclass(kind, cls):
            raise ModelError.about("model", shown=kind.__name__, expected=cls.__name__)
        self = cls.__new__(kind)
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
    def _scale_costs(
        cls,
        transition: Any,
        cost: Any,
        constraint_cost: Any,
        budget: Any,
        horizon: int | None,
        discount: float | None,
        cost_range: Range | None,
        constraint_range: Sequence[Range] | None,
        cost_name: str,
        options: dict[str, Any],
    ) -> Self:
        H, mask = find_steps(transition, horizon, discount), options.get("allowed")
        scaled = rescale("cost", cost, cost_range, "cost_range", H, mask, False)
        capped = rescale_bounded(CAPPED, constraint_cost, budget, constraint_range, H, mask)
        form = transition, horizon, discount
        return cls._from_rescaled(*form, *scaled, cost_name, capped, options)

    @classmethod
    def _scale_rewards(
        cls,
        transition: Any,
        reward: Any,
        utility: Any,
        floor: Any,
        horizon: int | None,
        discount: float | None,
        constraint_cost: Any,
        budget: Any,
        reward_range: Range | None,
        utility_range: Sequence[Range] | None,
        constraint_range: Sequence[Range] | None,
        reward_name: str,
        options: dict[str, Any],
    ) -> Self:
        H, mask = find_steps(transition, horizon, discount), options.get("allowed")
        scaled = rescale("reward", reward, reward_range, "reward_range", H, mask, True)
        floored = rescale_bounded(FLOORED, utility, floor, utility_range, H, mask)
        capped = rescale_bounded(CAPPED, constraint_cost, budget, constraint_range, H, mask)
        stages = 1 if discount is not None else int(H)
        form = transition, horizon, discount
        bounded = join_bounded(floored, capped, stages)
        return cls._from_rescaled(*form, *scaled, reward_name, bounded, options)

    @classmethod
    def _from_rescaled(
        cls,
        transition: Any,
        horizon: int | None,
        discount: float | None,
        cost: Floats,
        unit: Unit,
        cost_name: str,
        bounded: Bounded,
        options: dict[str, Any],
    ) -> Self:
        check_names("name of the objective", [cost_name], ModelError)
        units = bounded[2]
        names = distinct_names("constraint_names", options.get("constraint_names"), len(units))
        shown = zip(units, names or default_names(len(units)), strict=True)
        values = transition, cost, *bounded[:2], horizon
        layout, options = options.pop("layout", None), {**options, "constraint_names": names}
        if discount is not None:
            options |= {"discount": discount, "noise": "none"}
        named = [replace(each, name=name) for each, name in shown]
        model = draft(*values, **options)
        return cls.from_draft(model, replace(unit, name=cost_name), named, layout)

    def with_budget(self, budget: Any) -> Self:
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
                raise ModelError.about(
                    "budget", shown=counted(bounds.size, "number"), expected=now.size
                )
            # a budget that stays is not rounded
            given = {i: b for i, b in enumerate(bounds.tolist()) if b != now[i]}
        new = self._draft.budget.copy()
        for i, bound in given.items():
            new[i] = onto_budget(bound, self.constraint_units[i], self.n_steps)
        model = replace(self._draft, budget=new)
        return type(self).from_draft(model, self.cost_unit, self.constraint_units, self._layout)

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
    def load(cls, path: str | PathLike[str]) -> Self:
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
    def n_stages(self) -> int:
        """Number of stages of a policy: H, or 1 for an infinite horizon."""
        return self._draft.horizon

    @property
    def n_steps(self) -> float:
        """Largest possible total of a cost of one per step: H, 1 / (1 - discount), or 1."""
        return self._draft.steps

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
        return dense.reshape((S, A, S) if self.is_stationary else (self.n_stages, S, A, S))

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
        return np.where(exists, unit.show_step(cost, self.n_steps), 0.0)

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
        I, _, S, A = self._draft.shape
        words = list(self.criterion_in_words)
        words[1:1] = [counted(I, "constraint")]
        sizes = [counted(S, "state"), counted(A, "action"), *words]
        return f"{type(self).__name__}({', '.join(sizes)})"

    @property
    def criterion_in_words(self) -> tuple[str, ...]:
        """How costs of steps add up, and for a horizon whether it is stationary."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from tightrope.show.cards import model_card

        return model_card(self)


def as_model(given: Any) -> Model:
    """Return the model, built if its name in the catalog was given."""
    given = built(given)
    if not isinstance(given, Model):
        kinds = "an object of type CMDP, DiscountedCMDP or AverageCMDP"
        raise ModelError.about("cmdp", found=given, expected=kinds)
    return given


def built(given: Any) -> Any:
    """Return the model of the catalog whose name was given, or what was given."""
    if not isinstance(given, str):
        return given
    try:  # a later layer, which loads only when a name is given
        return import_module("tightrope.envs").build(given)
    except ModelError as error:
        reader = READERS.get(PurePath(given).suffix.lower())
        more = f"; for a file use {reader}" if reader else ""
        raise ConfigError(f"cmdp: {error}{more}", argument="cmdp", found=given) from error


def writable_problem(model: Model) -> Problem:
    """Return the model as kernels, planners and learners read it, on the internal scale.

    Not to be changed; writable because Numba compiles a kernel once more for read-only arrays.
    """
    return model._draft.problem
