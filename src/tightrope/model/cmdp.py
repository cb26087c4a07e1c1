"""CMDP: a finite-horizon constrained Markov decision process, checked on construction.

::

    min over policies   E[ sum_h c_h(s_h, a_h) ]
    subject to          E[ sum_h d_{i,h}(s_h, a_h) ] <= budget_i     for every constraint i

Inside, costs lie in [0, 1] per step and everything is minimized. `CMDP.from_costs` and
`CMDP.from_rewards` take rewards, "at least" constraints and costs on any range. All public numbers
are in the units of the arguments: costs, budgets, and every result computed from the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from tightrope.arrays import check_kind
from tightrope.errors import ModelError
from tightrope.model.base import Model, built
from tightrope.model.draft import draft, read_units
from tightrope.model.layout import Layout
from tightrope.model.units import Range, Unit, check_units


@final
class CMDP(Model):
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

    criterion = "episodes"
    measure, visits = "expected", "expected visits"

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
        form = transition, cost, constraint_cost, budget, horizon, None
        return cls._scale_costs(*form, cost_range, constraint_range, cost_name, options)

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
        form = transition, reward, utility, floor, horizon, None, constraint_cost, budget
        ranges = reward_range, utility_range, constraint_range
        return cls._scale_rewards(*form, *ranges, reward_name, options)

    @property
    def horizon(self) -> int:
        """Number of steps H of an episode."""
        return self._draft.horizon

    @property
    def criterion_in_words(self) -> tuple[str, ...]:
        """Horizon, and whether stages are alike."""
        kind = "stationary" if self.is_stationary else "time-dependent"
        return f"horizon {self.horizon}", kind


def as_cmdp(given: Any) -> CMDP:
    """Return the model with a horizon, built if its name in the catalog was given."""
    model = built(given)
    if isinstance(model, Model) and not isinstance(model, CMDP):
        raise ModelError.about("cmdp", found=model, expected="a model with a horizon, tr.CMDP")
    return check_kind("cmdp", model, CMDP, ModelError)
