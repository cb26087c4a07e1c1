"""The frontier: optimal cost as a function of one budget, exact between its breakpoints.

The optimal cost is convex, non-increasing and piecewise linear in a budget, and its slope is minus
the price. Its breakpoints are the corners of the lower left hull of attainable pairs
(constraint value, cost), found by minimizing in the direction of each chord: a pair below the
chord is a new corner, otherwise the chord is an edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import Floats, Problem, as_floats, check_callback, share, whole
from tightrope.errors import ConfigError
from tightrope.kernels.scratch import repeated
from tightrope.model import Model, Unit
from tightrope.model.base import as_model, writable_problem
from tightrope.plan.classes import require_unichain
from tightrope.plan.feasibility import infeasible
from tightrope.plan.generate import Mixture, generate, require_attained, totals
from tightrope.text import counted

Point = tuple[float, float]
ROUNDING = 2.0**-46  # of a priced value, relative to the price and the budgets
MOST_DIGITS = 9  # of a number of a constraint
EPSILON = 2.0**-50  # rounding of a conversion of units, relative to the shift
SAME = 1e-9  # corners closer than this, relative to the frontier's extent, are one


@dataclass(frozen=True)
class Frontier:
    """Optimal cost against one budget, in the units of the model.

    Parameters
    ----------
    constraint : int
        Which budget varies; the others stay as they are.
    budget : (B,) array
        Breakpoints from the tightest feasible budget to the tightest one that does not bind:
        increasing, or decreasing for a floor.
    value : (B,) array
        Optimal cost (or reward) at each breakpoint.
    multiplier : (B - 1,) array
        Price of the budget between two breakpoints, never negative: the slope without its sign.
        Zero beyond the last.
    is_complete : bool
        Whether every breakpoint was found; False when ``most`` stopped the search.
    cost_unit, constraint_unit : Unit
        Units of the cost and of the constraint.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.frontier("ring")
    Frontier(moves: 2 breakpoints, budget 0 to 6, value 0 to 4)
    """

    constraint: int
    budget: Floats  # (B,)
    value: Floats  # (B,)
    multiplier: Floats  # (B - 1,)
    is_complete: bool = True
    cost_unit: Unit = field(default_factory=Unit)
    constraint_unit: Unit = field(default_factory=Unit)

    @overload
    def at(self, budget: float) -> float: ...

    @overload
    def at(self, budget: ArrayLike) -> Floats: ...

    def at(self, budget: Any) -> Any:
        """Return the optimal cost for a budget; inf (-inf for a reward) if infeasible.

        Parameters
        ----------
        budget : float or array_like
            Budgets, in the unit of the constraint.

        Returns
        -------
        float or array
            The optimal cost of each.

        Raises
        ------
        ConfigError
            If a budget is not a number.

        Examples
        --------
        >>> import tightrope as tr
        >>> tr.frontier("ring").at([3, 4.5]).round(6)
        array([2., 3.])
        """
        unit, first = self.constraint_unit, float(self.budget[0])
        budgets = as_floats("budget", budget, error=ConfigError)
        if np.isnan(budgets).any():
            raise ConfigError.about("budget", found=budget, expected="numbers that are not NaN")
        sign = -1.0 if unit.is_maximized else 1.0
        near = SAME * abs(first - unit.shift) + EPSILON * abs(unit.shift)
        none = -np.inf if self.cost_unit.is_maximized else np.inf
        found = np.interp(sign * budgets, sign * self.budget, self.value)
        found = np.where(sign * (budgets - first) < -near, none, found)
        return found if np.ndim(budget) else float(found[0])

    def __repr__(self) -> str:
        ends = (f"{each[0]:.6g} to {each[-1]:.6g}" for each in (self.budget, self.value))
        words = "budget {}, value {}".format(*ends)
        more = "" if self.is_complete else ", incomplete"
        count = counted(self.budget.size, "breakpoint")
        return f"Frontier({self.constraint_unit.name}: {count}, {words}{more})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import frontier_card

        return frontier_card(self)


def frontier(
    cmdp: Model | str,
    constraint: int | str = 0,
    tolerance: float = 1e-8,
    most: int = 10_000,
    progress: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Compute the optimal cost as a function of one budget, with its exact breakpoints.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog; the budgets of the other constraints are kept.
    constraint : int or str
        The constraint whose budget varies, by number or name.
    tolerance : float
        Corners that bend the frontier by less, relative to its height, are ignored.
    most : int
        Largest number of breakpoints.
    progress : callable, optional
        Called with the number of breakpoints found and of chords still to be tried.

    Returns
    -------
    Frontier
        Breakpoints of the budget, optimal costs there, and prices between them.

    Raises
    ------
    InfeasibleError
        If the other budgets are infeasible for every value of this one.

    Examples
    --------
    >>> import tightrope as tr
    >>> curve = tr.frontier("ring", "moves")
    >>> curve.budget, curve.value.round(6), curve.multiplier.round(3)
    (array([0., 6.]), array([0., 4.]), array([0.667]))
    """
    cmdp = as_model(cmdp)
    i = _index(cmdp, constraint)
    tolerance, most = share("tolerance", tolerance), whole("most", most, 2)
    check_callback("progress", progress)
    ask = _Oracle(cmdp, i)
    left, right = ask.leftmost(), ask.rightmost()
    corners, is_complete = _corners(ask, left, right, tolerance, most, progress)
    budget, value = (np.array(side) for side in zip(*corners, strict=True))
    cost, unit = cmdp.cost_unit, cmdp.constraint_units[i]
    prices = -np.diff(value) / np.diff(budget) * (cost.size / unit.size)
    return Frontier(i, unit.show(budget), cost.show(value), prices, is_complete, cost, unit)


def _corners(
    ask: _Oracle,
    left: Point,
    right: Point,
    tolerance: float,
    most: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Point], bool]:
    """Return the corners of the hull between two ends, and whether all were found."""
    width, height = right[0] - left[0], left[1] - right[1]
    size = max(abs(left[0]), abs(right[0]))
    if width <= SAME * size or height <= SAME * abs(left[1]):
        return [(left[0], min(left[1], right[1]))], True

    def bends(start: Point, point: Point, end: Point) -> bool:
        price = _price(start, end)
        below = start[1] + price * start[0] - (point[1] + price * point[0])
        return below > tolerance * height + ROUNDING * price * size

    found, chords = [left, right], [(left, right)]
    while chords and len(found) < most:
        start, end = chords.pop(0)
        corner = ask.best(_price(start, end))
        is_between = start[0] + SAME * width < corner[0] < end[0] - SAME * width
        if is_between and bends(start, corner, end):
            found.append(corner)
            chords += [(start, corner), (corner, end)]
        if progress is not None:
            progress(len(found), len(chords))
    # a point found among ties may lie inside an edge whose ends were found later
    corners = [left]
    for point, after in pairwise(sorted(found)[1:]):
        if bends(corners[-1], point, after):
            corners.append(point)
    return [*corners, right], not chords


def _price(start: Point, end: Point) -> float:
    """Price of the budget along a chord: minus its slope."""
    return (start[1] - end[1]) / (end[0] - start[0])


class _Oracle:
    """Best attainable pair (constraint value, cost) while the other budgets are kept."""

    def __init__(self, cmdp: Model, i: int) -> None:
        others = np.arange(cmdp.n_constraints) != i
        own = writable_problem(cmdp)
        require_unichain(own, cmdp.names)
        stages = max(own.cost.shape[0], own.constraint_cost.shape[1])
        self.cost = repeated(own.cost, stages)
        self.bounded = repeated(own.constraint_cost[i], stages)
        self.rest = own._replace(
            constraint_cost=np.ascontiguousarray(own.constraint_cost[others]),
            budget=own.budget[others],
        )
        self.pair = own._replace(
            cost=self.cost, constraint_cost=self.bounded[None], budget=own.budget[i : i + 1]
        )
        self.cmdp = cmdp
        # an added row is the last one
        self.numbers = [*(int(j) for j in np.flatnonzero(others)), i]
        self.prices = np.zeros(len(self.rest.budget))

    def best(self, price: float) -> Point:
        """Return the pair that minimizes cost + price * constraint value."""
        priced = self.rest._replace(cost=self.cost + price * self.bounded)
        mixture = self._solve(priced, self.prices)
        self.prices = mixture.lam
        cost, spent = totals(self.pair, mixture)
        return float(spent), float(cost)

    def leftmost(self) -> Point:
        """Return the least constraint value, and the least cost at it."""
        least = self._solve(self.rest._replace(cost=self.bounded)).value
        return least, self._solve(self._with_row(self.cost, self.bounded, least)).value

    def rightmost(self) -> Point:
        """Return the least cost, and the least constraint value at it."""
        least = self._solve(self.rest._replace(cost=self.cost)).value
        return self._solve(self._with_row(self.bounded, self.cost, least)).value, least

    def _with_row(self, cost: Floats, bounded: Floats, budget: float) -> Problem:
        rest = self.rest.constraint_cost
        old = np.broadcast_to(rest, (len(rest), *cost.shape))
        return self.rest._replace(
            cost=cost,
            constraint_cost=np.concatenate((old, bounded[None])),
            budget=np.append(self.rest.budget, budget),
        )

    def _solve(self, problem: Problem, start: Floats | None = None) -> Mixture:
        mixture = generate(problem, self.cmdp.n_stages, 1e-12, start=start, names=self.cmdp.names)
        if not mixture.is_feasible:
            raise infeasible(self.cmdp, problem, self.numbers[: len(problem.budget)])
        return require_attained(problem, mixture, self.cmdp.names)


def _index(cmdp: Model, constraint: int | str) -> int:
    names = cmdp.constraint_names
    if isinstance(constraint, str):
        if constraint in names:
            return names.index(constraint)
        if not constraint.isdecimal() or len(constraint) > MOST_DIGITS:
            raise ConfigError.about(
                "constraint", found=constraint, expected=f"one of {', '.join(map(repr, names))}"
            )
    number = int(constraint) if isinstance(constraint, str) else constraint
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool):
        raise ConfigError.about("constraint", found=constraint, expected="a whole number or a name")
    if not 0 <= number < len(names):
        if not names:
            more = "the model has none, so there is no frontier"
            raise ConfigError.about("constraint", more=more)
        wanted = f"a number from 0 to {len(names) - 1}"
        raise ConfigError.about("constraint", found=number, expected=wanted)
    return int(number)
