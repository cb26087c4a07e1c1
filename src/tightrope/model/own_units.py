"""Models given in their author's own units: costs on any range, rewards, floors (SPEC A1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from tightrope.model.face import Face
from tightrope.model.ranges import Rescaled, rescale_costs, rescale_rewards


class InOwnUnits(Face):
    """The constructors of a CMDP that scale to [0, 1] a step and remember the way back."""

    @classmethod
    def from_costs(
        cls,
        transition: Any,
        cost: Any,
        constraint_cost: Any = None,
        budget: Any = None,
        horizon: int | None = None,
        *,
        cost_range: tuple[float, float] | None = None,
        constraint_range: Sequence[tuple[float, float]] | None = None,
        cost_name: str = "cost",
        **options: Any,
    ) -> Self:
        """A CMDP from costs on any range, with budgets in the same units.

        The model itself is on the scale of [0, 1] a step, and so are the values of plans and the
        budgets of `with_budget`; ``cost_unit.show`` and ``constraint_units[i].show`` give sums in
        the user's units back, and the command line speaks in them.

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
            What the cost is called in tables and pictures.
        **options
            The remaining arguments of the constructor, but for the units, which the ranges give.
        """
        scaled = rescale_costs(
            transition,
            cost,
            constraint_cost,
            budget,
            horizon,
            cost_range,
            constraint_range,
            options.get("allowed"),
        )
        return cls._from_rescaled(transition, horizon, scaled, cost_name, options)

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
        reward_range: tuple[float, float] | None = None,
        utility_range: Sequence[tuple[float, float]] | None = None,
        constraint_range: Sequence[tuple[float, float]] | None = None,
        reward_name: str = "reward",
        **options: Any,
    ) -> Self:
        """A CMDP from rewards to maximise and utilities that must reach a floor (SPEC A1).

        A reward r on [lo, hi] becomes the cost (hi - r)/(hi - lo), a floor b on a utility over
        [lo, hi] the budget (H hi - b)/(hi - lo); floors come before budgets in the result.

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
            What the reward is called in tables and pictures.
        **options
            The remaining arguments of the constructor, but for the units, which the ranges give;
            constraint names cover floors, then budgets.
        """
        scaled = rescale_rewards(
            transition,
            reward,
            utility,
            floor,
            horizon,
            constraint_cost,
            budget,
            reward_range,
            utility_range,
            constraint_range,
            options.get("allowed"),
        )
        return cls._from_rescaled(transition, horizon, scaled, reward_name, options)

    @classmethod
    @abstractmethod
    def _from_rescaled(
        cls,
        transition: Any,
        horizon: int | None,
        scaled: Rescaled,
        cost_name: str,
        options: dict[str, Any],
    ) -> Self:
        """The model of what was scaled; the options are the constructor's."""
