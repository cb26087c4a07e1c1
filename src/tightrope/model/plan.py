"""Plan: a policy with its exact values, prices and certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any, final

import numpy as np

from tightrope.arrays import MOST, Floats, whole
from tightrope.errors import ConfigError
from tightrope.files import as_path
from tightrope.model.base import Model
from tightrope.model.choices import Choices, Product
from tightrope.model.plan_files import AxisNames, check_suffix, names_of, read_plan, save_plan
from tightrope.model.units import Units
from tightrope.text import counted


@final
@dataclass(frozen=True)
class Plan:
    """Result of planning, in the units of the model.

    Parameters
    ----------
    policy : (H, S, A) or (S, A) array
        Probability of each action; rows sum to one. Without stages for an infinite horizon.
        A plan of `solve` keeps actions, and makes this array and ``occupancy`` when they are first
        asked for; `action`, `sparse_policy` and `save` do without them.
    value : float
        Expected cost of the policy, or its expected reward where the model has rewards.
    constraint_value : (I,) array
        Expected sum of each constraint cost.
    multiplier : (I,) array
        Prices: Lagrange multipliers of the budgets, in units of the cost per unit of the
        constraint, never negative, which certify the gap. Each is the cost saved by one more unit
        of its budget, unless several budgets bind together; see ``saving``.
    gap : float
        Largest possible gain of another feasible policy: ``value`` minus a proven
        lower bound on their cost, or an upper bound on their reward minus ``value``, rounding error
        included. At most the tolerance of the solve times the cost on the scale [0, 1] per step
        plus that rounding error, which is about 2e-16 H times the sum of the priced budgets.
    occupancy : (H, S, A) or (S, A) array
        Probability of being in a state and taking an action, by stage; the expected discounted
        number of times, or the long-run share of time, for an infinite horizon.
    method : str
        The planning method.
    sweeps : int
        Dynamic programming sweeps (or solver iterations) it took.
    transition : (H, S, A, S) array or list of sparse matrices, optional
        The kernel chosen inside the box; only for optimistic plans.
    saving : (I,) array, optional
        Cost saved by one more unit of each budget alone; ``multiplier`` by default. It is less
        where budgets share a price: of two constraints that coincide, more of one saves nothing.
    is_feasible : bool
        False for a learner's plan if the budgets were infeasible in its whole confidence set, so
        that the violation was minimized.
    model : CMDP, DiscountedCMDP or AverageCMDP, optional
        The model of the plan, for names and units in notebooks.
    constraint_names : tuple of str
        Names of the constraints of a plan without a model, where they are known.

    Examples
    --------
    >>> import tightrope as tr
    >>> plan = tr.solve("ring")
    >>> plan.policy.shape
    (6, 3, 2)
    >>> round(plan.value, 6), plan.constraint_value.round(6), plan.multiplier.round(3)
    (2.0, array([3.]), array([0.667]))
    """

    policy: Floats  # (H, S, A) or (S, A)
    value: float
    constraint_value: Floats  # (I,)
    multiplier: Floats  # (I,)
    gap: float
    occupancy: Floats  # (H, S, A) or (S, A)
    method: str
    sweeps: int
    transition: object | None = None
    saving: Floats = None  # type: ignore[assignment]  # (I,), set below
    is_feasible: bool = True
    model: Model | None = field(default=None, repr=False)
    constraint_names: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.saving is None:
            object.__setattr__(self, "saving", self.multiplier)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the policy, (H, S, A) or (S, A)."""
        return self.choices.shape if self.has_stages else self.choices.shape[1:]

    @property
    def has_stages(self) -> bool:
        """Whether the policy depends on the stage, (H, S, A); it is (S, A) otherwise."""
        made = vars(self).get("_policy_made")
        return made is None or made.ndim == 3

    @property
    def is_in_short(self) -> bool:
        """Whether policy and occupancy are arrays only when asked for."""
        return "_occupancy" in vars(self)

    @property
    def choices(self) -> Choices:
        """The policy in short, by stage; one stage for an infinite horizon."""
        short = vars(self).get("_policy")
        if not isinstance(short, Choices):
            short = Choices.of(self.policies)
            vars(self)["_policy"] = short
        return short

    @property
    def reached(self) -> Floats:
        """Sums of the occupancy over actions, (H, S); one stage for an infinite horizon."""
        if not self.is_in_short:
            return np.asarray(self.occupancies.sum(axis=2))
        short = vars(self)["_occupancy"]
        found: Floats = short.states()
        vars(self)["_occupancy"] = Product(self.choices, found)
        return found

    def action(self, stage: int, state: int, rng: np.random.Generator | None = None) -> int:
        """Return the action of the policy in a state.

        Parameters
        ----------
        stage : int
            The stage; ignored for an infinite horizon.
        state : int
            The state.
        rng : Generator, optional
            Draws the action where the policy randomizes.

        Returns
        -------
        int
            The action.

        Raises
        ------
        ConfigError
            If the policy randomizes there and there is no generator, or for a stage or a state that
            does not exist.

        Examples
        --------
        >>> import numpy as np
        >>> import tightrope as tr
        >>> plan = tr.solve("ring")
        >>> plan.action(0, 0)
        0
        >>> plan.action(0, 1, np.random.default_rng(0)) in (0, 1)
        True
        """
        H, S, A = self.choices.shape
        s = whole("state", state, 0, S - 1)
        h = whole("stage", stage, 0, H - 1 if self.has_stages else MOST)
        shares = self.choices.row(h if self.has_stages else 0, s)
        taken = np.flatnonzero(shares)
        if len(taken) == 1:
            return int(taken[0])
        if rng is None:
            raise ConfigError.about(
                "rng",
                found=None,
                expected=f"a generator: the policy randomizes in state {s}"
                + (f" at stage {h}" if self.has_stages else ""),
            )
        return int(rng.choice(A, p=shares))

    def sparse_policy(self) -> Any:
        """Return the policy as a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_array
            Probabilities (H*S, A) with row h*S + s for stage h and state s; (S, A) for an
            infinite horizon.

        Examples
        --------
        >>> import tightrope as tr
        >>> plan = tr.solve("ring")
        >>> sparse = plan.sparse_policy()
        >>> sparse.shape, bool((sparse.toarray().reshape(plan.policy.shape) == plan.policy).all())
        ((18, 2), True)
        """
        return self.choices.sparse()

    @property
    def policies(self) -> Floats:
        """The policy by stage, (H, S, A); one stage for an infinite horizon."""
        return self.policy.reshape(-1, *self.policy.shape[-2:])

    @property
    def occupancies(self) -> Floats:
        """The occupancy by stage, (H, S, A); one stage for an infinite horizon."""
        return self.occupancy.reshape(-1, *self.occupancy.shape[-2:])

    @property
    def n_randomized(self) -> int:
        """Number of reached (stage, state) pairs in which the policy randomizes."""
        mixed = self.choices.mixed
        return int((self.reached.flat[mixed] > 0).sum()) if mixed.size else 0

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to a file, with the names of its model.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.npz`` for plain arrays, which `load` reads; in ``.csv`` for a table with a
            row for each action that the policy takes in a reached state; or in ``.json`` for that
            and the values of the plan.

        Raises
        ------
        StoreError
            When the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> plan = tr.solve("ring")
        >>> with TemporaryDirectory() as folder:
        ...     plan.save(f"{folder}/plan.csv")
        ...     print(Path(folder, "plan.csv").read_text().splitlines()[:2])
        ['stage,state,action,probability,reached', '0,0,stay,1,1']
        """
        file, model = as_path("path", path), self.model
        check_suffix(file)
        budget = np.full(self.multiplier.size, np.nan) if model is None else model.budget
        save_plan(file, self, budget, AxisNames((), (), ()) if model is None else names_of(model))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Plan:
        """Read a plan from a file that `save` wrote.

        The file holds the arrays of the plan; ``method`` is ``"file"`` and ``model`` is None. Files
        of the first format have values on the scale [0, 1] per step.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        StoreError
            When the file cannot be read or is not a plan.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> plan = tr.solve("ring")
        >>> with TemporaryDirectory() as folder:
        ...     plan.save(f"{folder}/plan.npz")
        ...     loaded = tr.Plan.load(f"{folder}/plan.npz")
        >>> bool((loaded.policy == plan.policy).all())
        True
        >>> loaded.method
        'file'
        """
        return cls(**read_plan(as_path("path", path)))

    def __repr__(self) -> str:
        H, S, A = self.choices.shape
        sizes = [counted(H, "stage")] if self.has_stages else []
        used, prices = (
            np.array2string(each, precision=6, threshold=6)
            for each in (self.constraint_value, self.multiplier)
        )
        return (
            f"Plan({', '.join([*sizes, counted(S, 'state'), counted(A, 'action')])}, "
            f"value {self.value:.6g}, "
            f"constraint_value {used}, multiplier {prices}, gap {self.gap:.2g}, by {self.method})"
        )

    def _repr_html_(self) -> str:
        from tightrope.show.cards import plan_card

        return plan_card(self, self.constraint_names)


class Lazy:
    """Field of a plan that may be given in short: ``dense`` makes its array when first read."""

    def __init__(self, name: str) -> None:
        self.short, self.made = f"_{name}", f"_{name}_made"

    def __get__(self, plan: Any, owner: type | None = None) -> Any:
        if plan is None:
            return self
        held = vars(plan)
        if self.made not in held:
            held[self.made] = held[self.short].dense()
        return held[self.made]

    def __set__(self, plan: Any, value: Any) -> None:
        held = vars(plan)
        held.pop(self.made, None)
        held[self.short if hasattr(value, "dense") else self.made] = value


for name in ("policy", "occupancy"):
    setattr(Plan, name, Lazy(name))


def changed(plan: Plan, **fields: Any) -> Plan:
    """Return a plan with some fields changed; what is in short stays so, unlike with `replace`."""
    made = object.__new__(Plan)
    vars(made).update(vars(plan))
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def plan_in_units(plan: Plan, units: Units) -> Plan:
    """Convert a plan on the internal scale to the user's units.

    For an infinite horizon, policy and occupancy lose their axis of stages.
    """
    if plan.model is not None and plan.model.criterion != "episodes":
        plan = changed(plan, policy=plan.policy[0], occupancy=plan.occupancy[0])
    return changed(
        plan,
        value=float(units.cost.show(plan.value)),
        constraint_value=units.show_totals(plan.constraint_value),
        multiplier=units.show_prices(plan.multiplier),
        gap=units.cost.size * plan.gap,
        saving=units.show_prices(plan.saving),
    )
