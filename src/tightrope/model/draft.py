"""A model in canonical layout whose values are not checked yet.

`draft` accepts every form of the arguments of `CMDP` and raises on wrong shapes; `faults` then
checks the values, and `settle` removes the rounding errors of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Names,
    Problem,
    Stationary,
    Transitions,
    as_floats,
    check_choice,
    is_number,
    row_sums,
    whole,
)
from tightrope.errors import ModelError, describe
from tightrope.model.csr import is_sparse, select_rows, send_unreached, stack_dense, stack_sparse
from tightrope.model.units import Unit, onto_budget
from tightrope.text import guess

NOISES = ("bernoulli", "none", "beta")
ROW_TOLERANCE = 1e-6  # rows off by less, as from float32 files, are renormalized
ROUNDING = 1e-12  # rows off by less are unchanged, so that a model read back equals the one written
MOST_ACTIONS = 32_767  # plans keep actions as 16-bit integers
MOST_STEPS = 2**31 - 1


@dataclass(frozen=True)
class Draft:
    """A CMDP in canonical layout, values unchecked."""

    transitions: Transitions
    cost: Floats  # (G', S, A)
    constraint_cost: Floats  # (I, G'', S, A)
    budget: Floats  # (I,)
    horizon: int
    initial: Floats  # (S,)
    allowed: Bools  # (0 or 1 or H, S, A)
    noise: str
    names: Names  # by axis letter
    discount: float | None = None  # None for episodes, 1 for long-run averages

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """I, H, S, A."""
        _, S, A = self.cost.shape
        return self.budget.size, self.horizon, S, A

    @property
    def criterion(self) -> str:
        """How costs of steps add up: "episodes", "discounted" or "average"."""
        if self.discount is None:
            return "episodes"
        return "discounted" if self.discount < 1.0 else "average"

    @property
    def steps(self) -> float:
        """Largest possible total of a cost of one per step."""
        return total_steps(self.horizon, self.discount)

    @cached_property
    def problem(self) -> Problem:
        """The arrays that compiled planners read."""
        losses = self.cost, self.constraint_cost, self.budget
        kernels: Transitions | Stationary = self.transitions
        if self.discount is not None:
            p = self.transitions
            if self.discount == 1.0:
                p = send_unreached(p, self.initial)
            kernels = Stationary(p.indptr, p.indices, p.data, self.discount)
        return Problem(kernels, self.initial, *losses, self.allowed)

    @property
    def row_sums(self) -> Floats:
        """Sum of each transition row, (G, S*A); bad entries make it infinite or NaN."""
        p = self.transitions
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack([row_sums(*stage) for stage in zip(p.indptr, p.data, strict=True)])


def draft(
    transition: Any,
    cost: Any,
    constraint_cost: Any = None,
    budget: Any = None,
    horizon: int | None = None,
    initial: Any = 0,
    allowed: Any = None,
    noise: str = "bernoulli",
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
    constraint_names: Sequence[str] | None = None,
    discount: float | None = None,
) -> Draft:
    """Bring the arguments of a model into canonical layout; shapes must fit, values may be bad.

    ``discount`` is 1 for long-run averages and None for episodes.
    """
    if is_sparse(transition):
        transitions, S, _ = stack_sparse(transition)
    else:
        transition = as_floats("transition", transition)
        transitions, S, _ = stack_dense(transition)
    by_stage = _has_stages(transition)
    stages = transitions.indptr.shape[0]
    if discount is not None:
        discount = check_discount(discount)
        if by_stage:
            raise ModelError.about(
                "transition",
                shown=f"{stages} stages",
                expected="(S, A, S) or a sparse matrix (S*A, S)",
                more="; an infinite-horizon model has no stages",
            )
        horizon = 1
    if horizon is None and not by_stage:
        raise ModelError.about(
            "horizon",
            shown="missing",
            more=(
                "; a stationary transition needs horizon=H, a time-dependent one "
                "has a leading stage axis (H, S, A, S)"
            ),
        )
    H = stages if horizon is None else required_horizon(horizon)
    if by_stage and stages != H:
        raise ModelError.about("horizon", found=H, more=f", but transition has {stages} stages")
    names = state_names, action_names, constraint_names
    losses = cost, constraint_cost, budget
    return assemble(transitions, S, H, *losses, initial, allowed, noise, *names, discount)


def assemble(
    transitions: Transitions,
    S: int,
    H: int,
    cost: Any,
    constraint_cost: Any,
    budget: Any,
    initial: Any,
    allowed: Any,
    noise: str,
    state_names: Sequence[str] | None,
    action_names: Sequence[str] | None,
    constraint_names: Sequence[str] | None,
    discount: float | None = None,
) -> Draft:
    """Return the draft of a kernel in CSR triples, with the other arguments as users give them."""
    A = (transitions.indptr.shape[1] - 1) // S
    if A > MOST_ACTIONS:
        raise ModelError.about(
            "transition", shown=f"{A} actions", expected=f"at most {MOST_ACTIONS}"
        )
    costs = _add_stages("cost", as_floats("cost", cost), (), H, S, A)
    budgets = as_floats("budget", [] if budget is None else budget)
    if budgets.ndim != 1:
        raise ModelError.about(
            "budget", shape=budgets.shape, expected="(I,), one number a constraint"
        )
    bounded = _read_constraint_costs(constraint_cost, budgets.size, H, S, A)
    names: Names = {
        "i": distinct_names("constraint_names", constraint_names, budgets.size),
        "s": distinct_names("state_names", state_names, S),
        "a": distinct_names("action_names", action_names, A),
    }
    check_choice("noise", noise, NOISES, ModelError)
    mask = _read_mask(allowed, H, S, A)
    start = start_distribution(initial, S, names["s"])
    if len(mask):  # empty the rows and zero the costs of actions that do not exist
        stages = len(transitions.indptr)
        transitions = select_rows(transitions, at_stages(mask, stages).reshape(stages, -1))
        costs = np.where(at_stages(mask, len(costs)), costs, 0.0)
        bounded = np.where(at_stages(mask, bounded.shape[1]), bounded, 0.0)
    return Draft(
        transitions, costs, bounded, budgets.copy(), H, start, mask, noise, names, discount
    )


def settle(model: Draft) -> Draft:
    """Return a draft without faults with its rows and its start distribution renormalized."""
    p = model.transitions
    data = p.data
    for g, (indptr, sums) in enumerate(zip(p.indptr, model.row_sums, strict=True)):
        sums[np.abs(sums - 1.0) <= ROUNDING] = 1.0
        if (sums != 1.0).any():
            data = data.copy() if data is p.data else data
            data[g, : indptr[-1]] /= np.repeat(sums, np.diff(indptr))
    total = model.initial.sum()
    initial = model.initial if abs(total - 1.0) <= ROUNDING else model.initial / total
    return replace(model, transitions=p._replace(data=data), initial=initial)


def read_units(model: Draft, cost_unit: Unit | None, units: Sequence[Unit] | None) -> Draft:
    """Return a draft whose values are in the user's units on the internal scale."""
    H, mask = model.steps, model.allowed

    def read(unit: Unit, values: Floats) -> Floats:
        exists = at_stages(mask, len(values))
        return values if unit.is_plain else np.where(exists, unit.read_step(values, H), 0.0)

    cost, bounded, budget = model.cost, model.constraint_cost, model.budget
    if cost_unit is not None:
        cost = read(cost_unit, cost)
    if units is not None and len(units) == len(budget) > 0:  # otherwise `CMDP` rejects them
        bounded = np.stack([read(*each) for each in zip(units, bounded, strict=True)])
        pairs = zip(budget.tolist(), units, strict=True)
        budget = np.array([onto_budget(bound, unit, H) for bound, unit in pairs])
    return replace(model, cost=cost, constraint_cost=bounded, budget=budget)


def default_names(n_constraints: int) -> list[str]:
    """Return default names of constraints."""
    return [f"constraint {i}" for i in range(n_constraints)]


def at_stages(allowed: Bools, stages: int) -> Bools:
    """Return the mask for an array with that many stages; for one, the union over stages."""
    if allowed.shape[0] == 0:
        return np.ones((stages, *allowed.shape[1:]), dtype=np.bool_)
    if stages == 1:
        return np.asarray(allowed.any(axis=0, keepdims=True))
    return np.broadcast_to(allowed, (stages, *allowed.shape[1:]))


def required_horizon(horizon: Any) -> int:
    """Return the horizon as an int, or raise a `ModelError`."""
    return whole("horizon", horizon, most=MOST_STEPS, error=ModelError)


def check_discount(discount: Any) -> float:
    """Return a discount above 0 and at most 1, which stands for averages."""
    if not is_number(discount) or not 0.0 < discount <= 1.0:
        raise ModelError.about("discount", found=discount, expected="a number in (0, 1)")
    return float(discount)


def check_proper_discount(discount: Any) -> float:
    """Return a discount below 1."""
    if check_discount(discount) < 1.0:
        return float(discount)
    raise ModelError.about(
        "discount", found=discount, expected="a number in (0, 1)", more="; see AverageCMDP"
    )


def total_steps(horizon: int, discount: float | None) -> float:
    """Return the largest possible total of a cost of one per step."""
    if discount is None:
        return horizon
    return 1.0 / (1.0 - discount) if discount < 1.0 else 1.0


def find_steps(transition: Any, horizon: int | None, discount: float | None) -> float:
    """Return `total_steps` before there is a draft.

    The horizon is the given one, or the number of stages of the transitions.
    """
    if discount is not None:
        return total_steps(1, check_discount(discount))
    if horizon is not None:
        return required_horizon(horizon)
    if not is_sparse(transition):
        transition = as_floats("transition", transition)
    if not _has_stages(transition):
        raise ModelError.about(
            "horizon", shown="missing", more="; a stationary transition needs horizon=H"
        )
    return len(transition)


def _has_stages(transition: Any) -> bool:
    if isinstance(transition, np.ndarray):
        return transition.ndim == 4
    return isinstance(transition, (list, tuple))


def _add_stages(name: str, values: Floats, lead: tuple[int, ...], H: int, S: int, A: int) -> Floats:
    """Copy values over (s, a) or (h, s, a), after the axes in ``lead``, with a stage axis."""
    if values.shape == (*lead, S, A):
        return values.reshape(*lead, 1, S, A).copy()
    if values.shape == (*lead, H, S, A):
        return values.copy()
    axes = "I, " * len(lead)
    raise ModelError.about(
        name,
        shape=values.shape,
        expected=f"{(*lead, S, A)} over ({axes}S, A)"
        + (f" or {(*lead, H, S, A)} over ({axes}H, S, A)" if H > 1 else ""),
    )


def _read_constraint_costs(constraint_cost: Any, I: int, H: int, S: int, A: int) -> Floats:
    """Return the costs of the I constraints, (I, 1 or H, S, A)."""
    if constraint_cost is None and I:
        raise ModelError.about(
            "constraint_cost", shown="missing", expected=f"costs for {I} budgets"
        )
    values = as_floats("constraint_cost", [] if constraint_cost is None else constraint_cost)
    if I:
        return _add_stages("constraint_cost", values, (I,), H, S, A)
    if values.size:
        raise ModelError.about(
            "budget", shown="missing", expected="one number for each constraint cost"
        )
    return np.zeros((0, 1, S, A))


def distinct_names(name: str, given: Iterable[str] | None, size: int) -> tuple[str, ...] | None:
    """Return ``size`` names, none of them twice; None when none were given."""
    if given is None:
        return None
    if not isinstance(given, Iterable):
        raise ModelError.about(name, found=given, expected=f"a list of {size} names")
    try:
        names = tuple(str(word) for word in given)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ModelError.about(name, found=error, expected=f"a list of {size} names") from error
    if len(names) != size:
        raise ModelError.about(name, shown=f"{len(names)} names", expected=size)
    twice = [word for word, count in Counter(names).items() if count > 1]
    if twice:
        raise ModelError.about(
            name, shown=f"{twice[0]!r} appears more than once", expected="distinct names"
        )
    return names or None


def _read_mask(allowed: Any, H: int, S: int, A: int) -> Bools:
    """Return the mask with as few stages as it needs: none when every action exists everywhere."""
    if allowed is None:
        return np.ones((0, S, A), dtype=np.bool_)
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        mask = allowed.copy()
    else:
        values = as_floats("allowed", allowed)
        mask = values == 1.0
        if (~mask & (values != 0.0)).any():
            raise ModelError.about(
                "allowed", shown="has values other than True and False", expected="booleans"
            )
    mask = mask.reshape(1, S, A) if mask.shape == (S, A) else mask
    if mask.shape not in ((1, S, A), (H, S, A)):
        raise ModelError.about(
            "allowed",
            shape=mask.shape,
            expected=f"{(S, A)} over (S, A) or {(H, S, A)} over (H, S, A)",
        )
    if mask.all():
        return np.ones((0, S, A), dtype=np.bool_)
    return mask[:1].copy() if (mask == mask[0]).all() else mask


def start_distribution(initial: Any, S: int, state_names: Sequence[str] | None) -> Floats:
    """Return the distribution that a start state, its name or a distribution gives."""
    if isinstance(initial, str):
        if state_names is None or initial not in state_names:
            hint = guess(initial, state_names or ())
            raise ModelError.about("initial", more=f"no state is named {initial!r}{hint}")
        initial = state_names.index(initial)
    if initial is None or np.isscalar(initial):
        if isinstance(initial, (bool, np.bool_)) or not isinstance(initial, (int, np.integer)):
            raise ModelError.about(
                "initial", found=initial, expected="a state or a distribution over states"
            )
        if not 0 <= initial < S:
            raise ModelError.about(
                "initial",
                found=initial,
                shown=f"state {describe(initial)}",
                expected=f"a state from 0 to {S - 1}",
            )
        start = np.zeros(S)
        start[initial] = 1.0
        return start
    start = as_floats("initial", initial)
    if start.shape != (S,):
        raise ModelError.about("initial", shape=start.shape, expected=f"a state or shape {(S,)}")
    return start.copy()
