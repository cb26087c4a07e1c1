"""DiscountedCMDP and AverageCMDP: infinite-horizon constrained MDPs.

::

    min over policies   E[ sum_t discount^t c(s_t, a_t) ]     or the long-run average of c
    subject to          E[ sum_t discount^t d_i(s_t, a_t) ] <= budget_i    or the same of d_i

Both are stationary, and so is a best policy: probabilities of actions over (S, A).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from tightrope.model.base import Model
from tightrope.model.draft import check_proper_discount, draft, read_units
from tightrope.model.layout import Layout
from tightrope.model.units import Range, Unit, check_units


@final
class DiscountedCMDP(Model):
    """An infinite-horizon constrained MDP with discounted costs and budgets.

    Totals are not normalized: a cost of one per step has the total 1 / (1 - discount).

    Parameters
    ----------
    transition : array or sparse matrix
        ``(S, A, S)``, or a scipy sparse matrix ``(S*A, S)``. Rows sum to one.
    cost : (S, A) array
        Mean cost of each step, in [0, 1] or in the range of ``cost_unit``.
    constraint_cost : (I, S, A) array, optional
        Mean constraint costs of each step, likewise. None means no constraints.
    budget : (I,) array, optional
        Largest allowed expected discounted sum of each constraint cost.
    discount : float
        Weight of the next step relative to this one, in (0, 1).
    initial : int, str or (S,) array
        Start state, its name, or a distribution over start states.
    allowed : (S, A) booleans, optional
        Actions that exist in a state.
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
    >>> import numpy as np, tightrope as tr
    >>> stay, go = np.eye(2), np.eye(2)[::-1]
    >>> move = np.stack([stay, go], axis=1)
    >>> cost = np.array([[1.0, 1.0], [0.0, 0.0]])
    >>> wear = np.array([[[0.0, 0.0], [1.0, 1.0]]])
    >>> cmdp = tr.DiscountedCMDP(move, cost, wear, [5.0], discount=0.9)
    >>> round(tr.solve(cmdp).value, 6)
    5.0
    """

    criterion = "discounted"
    measure, visits = "expected discounted", "discounted visits"

    def __init__(
        self,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        discount: float | None = None,
        initial: Any = 0,
        allowed: Any = None,
        *,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        constraint_names: Sequence[str] | None = None,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> None:
        names = state_names, action_names, constraint_names
        values = transition, cost, constraint_cost, budget, None, initial, allowed, "none"
        units = check_units(cost_unit, constraint_units)
        model = draft(*values, *names, check_proper_discount(discount))
        self._settle(read_units(model, *units), *units, layout)

    @classmethod
    def from_costs(
        cls,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        discount: float | None = None,
        *,
        cost_range: Range | None = None,
        constraint_range: Sequence[Range] | None = None,
        cost_name: str = "cost",
        **options: Any,
    ) -> DiscountedCMDP:
        """Return a model from costs on any range, with budgets in the same units.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        cost : (S, A) array
            Mean cost of each step, inside ``cost_range``.
        constraint_cost : (I, S, A) array, optional
            Mean constraint costs, each inside its range.
        budget : (I,) array, optional
            Largest allowed expected discounted sums, in the units of the constraint costs.
        discount : float
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
        DiscountedCMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.DiscountedCMDP.from_costs(
        ...     [[[1.0], [1.0]]],
        ...     cost=[[90.0, 20.0]],
        ...     constraint_cost=[[[0.0, 5.0]]],
        ...     budget=[10.0],
        ...     discount=0.75,
        ...     cost_range=(0.0, 100.0),
        ...     constraint_range=[(0.0, 5.0)],
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.multiplier.round(6)
        (220.0, array([14.]))
        """
        form = transition, cost, constraint_cost, budget, None, check_proper_discount(discount)
        return cls._scale_costs(*form, cost_range, constraint_range, cost_name, options)

    @classmethod
    def from_rewards(
        cls,
        transition: Any,
        reward: Any,
        utility: Any = None,
        floor: Any = None,
        discount: float | None = None,
        *,
        constraint_cost: Any = None,
        budget: Any = None,
        reward_range: Range | None = None,
        utility_range: Sequence[Range] | None = None,
        constraint_range: Sequence[Range] | None = None,
        reward_name: str = "reward",
        **options: Any,
    ) -> DiscountedCMDP:
        """Return a model from rewards to maximize and utilities that must reach a floor.

        Values and prices are as for `CMDP.from_rewards`.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        reward : (S, A) array
            Mean reward of each step, inside ``reward_range``.
        utility : (J, S, A) array, optional
            Quantities that must be at least ``floor``.
        floor : (J,) array, optional
            Least allowed expected discounted sums, in the utilities' units.
        discount : float
            As for the constructor.
        constraint_cost : (I, S, A) array, optional
            Quantities that must be at most ``budget``.
        budget : (I,) array, optional
            Largest allowed expected discounted sums, in the constraint costs' units.
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
        DiscountedCMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.DiscountedCMDP.from_rewards(
        ...     [[[1.0], [1.0]]],
        ...     reward=[[0.0, 1.0]],
        ...     utility=[[[1.0, 0.0]]],
        ...     floor=[3.0],
        ...     discount=0.75,
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.constraint_value.round(6)
        (1.0, array([3.]))
        """
        known = None, check_proper_discount(discount)
        form = transition, reward, utility, floor, *known, constraint_cost, budget
        ranges = reward_range, utility_range, constraint_range
        return cls._scale_rewards(*form, *ranges, reward_name, options)

    @property
    def discount(self) -> float:
        """Weight of the next step relative to this one."""
        assert self._draft.discount is not None
        return self._draft.discount

    @property
    def criterion_in_words(self) -> tuple[str, ...]:
        """Discount."""
        return (f"discount {self.discount:g}",)


@final
class AverageCMDP(Model):
    """An infinite-horizon constrained MDP with long-run averages per step.

    Under the policies that matter, the process must return to one set of states forever, wherever
    it is; `solve` and `evaluate` say which states do not, if so.

    Parameters
    ----------
    transition : array or sparse matrix
        ``(S, A, S)``, or a scipy sparse matrix ``(S*A, S)``. Rows sum to one.
    cost : (S, A) array
        Mean cost of each step, in [0, 1] or in the range of ``cost_unit``.
    constraint_cost : (I, S, A) array, optional
        Mean constraint costs of each step, likewise. None means no constraints.
    budget : (I,) array, optional
        Largest allowed long-run average of each constraint cost per step.
    initial : int, str or (S,) array
        Start state, its name, or a distribution over start states.
    allowed : (S, A) booleans, optional
        Actions that exist in a state.
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
    >>> import numpy as np, tightrope as tr
    >>> stay, go = np.eye(2), np.eye(2)[::-1]
    >>> move = 0.9 * np.stack([stay, go], axis=1) + 0.05
    >>> cost = np.array([[1.0, 1.0], [0.0, 0.0]])
    >>> wear = np.array([[[0.0, 0.0], [1.0, 1.0]]])
    >>> round(tr.solve(tr.AverageCMDP(move, cost, wear, [0.5])).value, 6)
    0.5
    """

    criterion = "average"
    measure, visits = "average", "share of time"

    def __init__(
        self,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        initial: Any = 0,
        allowed: Any = None,
        *,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        constraint_names: Sequence[str] | None = None,
        cost_unit: Unit | None = None,
        constraint_units: Sequence[Unit] | None = None,
        layout: Layout | None = None,
    ) -> None:
        names = state_names, action_names, constraint_names
        values = transition, cost, constraint_cost, budget, None, initial, allowed, "none"
        units = check_units(cost_unit, constraint_units)
        model = draft(*values, *names, 1.0)
        self._settle(read_units(model, *units), *units, layout)

    @classmethod
    def from_costs(
        cls,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        *,
        cost_range: Range | None = None,
        constraint_range: Sequence[Range] | None = None,
        cost_name: str = "cost",
        **options: Any,
    ) -> AverageCMDP:
        """Return a model from costs on any range, with budgets in the same units.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        cost : (S, A) array
            Mean cost of each step, inside ``cost_range``.
        constraint_cost : (I, S, A) array, optional
            Mean constraint costs, each inside its range.
        budget : (I,) array, optional
            Largest allowed long-run averages, in the units of the constraint costs.
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
        AverageCMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.AverageCMDP.from_costs(
        ...     [[[1.0], [1.0]]],
        ...     cost=[[90.0, 20.0]],
        ...     constraint_cost=[[[0.0, 5.0]]],
        ...     budget=[2.5],
        ...     cost_range=(0.0, 100.0),
        ...     constraint_range=[(0.0, 5.0)],
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.multiplier.round(6)
        (55.0, array([14.]))
        """
        form = transition, cost, constraint_cost, budget, None, 1.0
        return cls._scale_costs(*form, cost_range, constraint_range, cost_name, options)

    @classmethod
    def from_rewards(
        cls,
        transition: Any,
        reward: Any,
        utility: Any = None,
        floor: Any = None,
        *,
        constraint_cost: Any = None,
        budget: Any = None,
        reward_range: Range | None = None,
        utility_range: Sequence[Range] | None = None,
        constraint_range: Sequence[Range] | None = None,
        reward_name: str = "reward",
        **options: Any,
    ) -> AverageCMDP:
        """Return a model from rewards to maximize and utilities that must reach a floor.

        Values and prices are as for `CMDP.from_rewards`.

        Parameters
        ----------
        transition : array or sparse matrix
            As for the constructor.
        reward : (S, A) array
            Mean reward of each step, inside ``reward_range``.
        utility : (J, S, A) array, optional
            Quantities that must be at least ``floor``.
        floor : (J,) array, optional
            Least allowed long-run averages, in the utilities' units.
        constraint_cost : (I, S, A) array, optional
            Quantities that must be at most ``budget``.
        budget : (I,) array, optional
            Largest allowed long-run averages, in the constraint costs' units.
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
        AverageCMDP
            The model; its results are in the units of the arguments.

        Examples
        --------
        >>> import tightrope as tr
        >>> cmdp = tr.AverageCMDP.from_rewards(
        ...     [[[1.0], [1.0]]],
        ...     reward=[[0.0, 1.0]],
        ...     utility=[[[1.0, 0.0]]],
        ...     floor=[0.75],
        ... )
        >>> plan = tr.solve(cmdp)
        >>> round(plan.value, 6), plan.constraint_value.round(6)
        (0.25, array([0.75]))
        """
        form = transition, reward, utility, floor, None, 1.0, constraint_cost, budget
        ranges = reward_range, utility_range, constraint_range
        return cls._scale_rewards(*form, *ranges, reward_name, options)

    @property
    def criterion_in_words(self) -> tuple[str, ...]:
        """Long-run averages."""
        return ("long-run averages",)
