"""CMDP: a finite-horizon constrained Markov decision process, checked once and then trusted.

::

    min over policies   E[ sum_h c_h(s_h, a_h) ]
    subject to          E[ sum_h d_{i,h}(s_h, a_h) ] <= budget_i     for every constraint i

Costs lie in [0, 1] a step and everything is minimised (SPEC A1); the constructors of `own_units`
take rewards, "at least" constraints and costs on any range and remember the way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, final

from tightrope.arrays import as_floats, check_kind, check_names
from tightrope.errors import ModelError
from tightrope.files import as_path
from tightrope.model.arguments import distinct_names
from tightrope.model.draft import Draft, draft, problem_of, settled, unnamed
from tightrope.model.faults import named_faults
from tightrope.model.files import in_file, read_model, write_model
from tightrope.model.layout import Layout
from tightrope.model.lint import Finding, lint
from tightrope.model.own_units import InOwnUnits
from tightrope.model.ranges import Rescaled
from tightrope.model.remedies import remedy
from tightrope.model.unit import Unit, check_units


@final
class CMDP(InOwnUnits):
    """A constrained MDP: minimise an expected cost while expected budgets are kept.

    Parameters
    ----------
    transition : array or sparse matrix
        ``(S, A, S)`` with ``horizon`` given, or ``(H, S, A, S)``; or a scipy sparse matrix
        ``(S*A, S)``, or a list of H of them. Rows sum to one.
    cost : (S, A) or (H, S, A) array
        Mean cost of each step, in [0, 1].
    constraint_cost : (I, S, A) or (I, H, S, A) array, optional
        Mean constraint costs of each step, in [0, 1]. None means no constraints.
    budget : (I,) array, optional
        Largest allowed expected sum of each constraint cost over the H steps, in [0, H].
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
        Names for errors, tables and pictures.
    cost_unit : Unit, optional
        How a total cost is shown to people.
    constraint_units : sequence of Unit, optional
        The same for each constraint.
    layout : Layout, optional
        Map of a grid world, for drawing.

    Raises
    ------
    ModelError
        When an argument has the wrong shape or a value that cannot be; it names the first
        offending entry and counts the others.
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
        self._settle(
            draft(
                transition,
                cost,
                constraint_cost,
                budget,
                horizon,
                initial,
                allowed,
                noise,
                state_names,
                action_names,
                constraint_names,
            ),
            cost_unit,
            constraint_units,
            layout,
        )

    @classmethod
    def from_draft(
        cls,
        model: Draft,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> CMDP:
        """The model of a draft, after the same checks as the constructor's.

        Parameters
        ----------
        model : Draft
            In canonical layout, values unchecked.
        cost_unit, constraint_units, layout
            As for the constructor.
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
            check_kind("layout", layout, Layout)
        for kind, fault in named_faults(model, cost_unit, constraint_units):
            advice = remedy(kind, model, cost_unit, constraint_units)
            raise ModelError(f"{fault}; {advice}" if advice else str(fault))
        self._draft = settled(model)
        self._problem = problem_of(self._draft)
        self._cost_unit = cost_unit or Unit("cost")
        units = map(Unit, self.constraint_names) if constraint_units is None else constraint_units
        self._constraint_units = tuple(units)
        if len(self._constraint_units) != self.n_constraints:
            raise ModelError(
                f"constraint_units: {len(self._constraint_units)}, expected {self.n_constraints}"
            )
        if layout is not None:
            layout.require_fit(self.n_states, self.n_actions)
        self._layout = layout

    @classmethod
    def _from_rescaled(
        cls,
        transition: Any,
        horizon: int | None,
        scaled: Rescaled,
        cost_name: str,
        options: dict[str, Any],
    ) -> CMDP:
        check_names("name of the objective", [cost_name])
        units = scaled.constraint_units
        names = distinct_names("constraint_names", options.get("constraint_names"), len(units))
        return cls(
            transition,
            scaled.cost,
            scaled.constraint_cost,
            scaled.budget,
            horizon,
            cost_unit=replace(scaled.cost_unit, name=cost_name),
            constraint_units=[
                replace(unit, name=name)
                for unit, name in zip(units, names or unnamed(len(units)), strict=True)
            ],
            **{**options, "constraint_names": names},
        )

    def with_budget(self, budget: Any) -> CMDP:
        """The same model under other budgets.

        Parameters
        ----------
        budget : (I,) array
            New budgets, in [0, H].
        """
        budgets = as_floats("budget", budget).reshape(-1).copy()
        if budgets.size != self.n_constraints:
            raise ModelError(f"budget: {budgets.size} numbers, expected {self.n_constraints}")
        return CMDP.from_draft(
            replace(self._draft, budget=budgets),
            self._cost_unit,
            self._constraint_units,
            self._layout,
        )

    def check(self) -> tuple[Finding, ...]:
        """What looks wrong with a valid model: unreachable states, budgets without effect.

        Returns
        -------
        tuple of Finding
            Warnings, worst first; empty when there is nothing to say. Budgets that clash only
            together are found by `feasibility`.
        """
        return lint(self._draft, self._cost_unit, self._constraint_units)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, whole or not at all.

        Parameters
        ----------
        path : path
            Ends in ``.npz`` (arrays, any size) or ``.toml`` (text to read and edit, small models).
        """
        write_model(
            as_path("path", path),
            self._draft,
            self._cost_unit,
            self._constraint_units,
            self._layout,
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CMDP:
        """Read a model that `save` or a person wrote.

        Parameters
        ----------
        path : path
            A ``.npz`` or ``.toml`` model file.

        Raises
        ------
        ModelError
            When the file is missing, truncated, of another kind, or holds a bad model.
        """
        file = as_path("path", path)
        contents = read_model(file)
        with in_file(file):
            return cls.from_draft(*contents)

    def _repr_html_(self) -> str:
        from tightrope.show.cards import model_card

        return model_card(self)
