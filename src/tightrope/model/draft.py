"""A model in canonical layout whose values nobody has trusted yet.

`draft` understands every form a user may give and fails on wrong shapes; `faults` then decides
whether the values can be, and `settled` removes the rounding that rows may carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Floats,
    Names,
    Problem,
    Transitions,
    as_floats,
    check_choice,
    row_sums,
)
from tightrope.errors import ModelError
from tightrope.model.arguments import (
    action_mask,
    constraint_costs,
    distinct_names,
    required_horizon,
    staged,
    start_distribution,
)
from tightrope.model.csr import is_sparse, selected, stack_dense, stack_sparse

NOISES = ("bernoulli", "none", "beta")
ROW_TOLERANCE = 1e-6  # rows off by less, as from float32 files, are renormalised
ROUNDING = 1e-12  # rows off by less are left alone, so that a model read back is the one written
MOST_ACTIONS = 32_767  # plans keep actions as 16-bit integers


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

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """I, H, S, A."""
        _, S, A = self.cost.shape
        return self.budget.size, self.horizon, S, A

    def axes(self, array: Any, letters: str) -> str:
        """The axis letters of an array whose stage axis is shown only when it has several."""
        return letters if array.shape[letters.index("h")] > 1 else letters.replace("h", "")

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
) -> Draft:
    """Bring the arguments of `CMDP` into canonical layout; shapes must fit, values may be bad."""
    if is_sparse(transition):
        transitions, S, _ = stack_sparse(transition)
        by_stage = isinstance(transition, (list, tuple))
    else:
        dense = as_floats("transition", transition)
        transitions, S, _ = stack_dense(dense)
        by_stage = dense.ndim == 4
    stages = transitions.indptr.shape[0]
    if horizon is None and not by_stage:
        raise ModelError(
            "horizon: missing; a stationary transition needs horizon=H, "
            "a time-dependent one has a leading stage axis (H, S, A, S)"
        )
    H = stages if horizon is None else required_horizon(horizon)
    if by_stage and stages != H:
        raise ModelError(f"horizon: {horizon}, but transition has {stages} stages")
    return assembled(
        transitions,
        S,
        H,
        cost,
        constraint_cost,
        budget,
        initial,
        allowed,
        noise,
        state_names,
        action_names,
        constraint_names,
    )


def assembled(
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
) -> Draft:
    """The draft of a kernel in CSR triples, with everything else as users give it."""
    A = (transitions.indptr.shape[1] - 1) // S
    if A > MOST_ACTIONS:
        raise ModelError(f"transition: {A} actions, expected at most {MOST_ACTIONS}")
    costs = staged("cost", as_floats("cost", cost), (), H, S, A)
    budgets = as_floats("budget", [] if budget is None else budget)
    if budgets.ndim != 1:
        raise ModelError(f"budget: shape {budgets.shape}, expected (I,), one number a constraint")
    bounded = constraint_costs(constraint_cost, budgets.size, H, S, A)
    names: Names = {
        "i": distinct_names("constraint_names", constraint_names, budgets.size),
        "s": distinct_names("state_names", state_names, S),
        "a": distinct_names("action_names", action_names, A),
    }
    check_choice("noise", noise, NOISES)
    mask = action_mask(allowed, H, S, A)
    start = start_distribution(initial, S, names["s"])
    return _without_forbidden(
        Draft(transitions, costs, bounded, budgets.copy(), H, start, mask, noise, names)
    )


def settled(model: Draft) -> Draft:
    """The draft with rows and start renormalised; only for one without faults."""
    p = model.transitions
    data = p.data
    for g, (indptr, sums) in enumerate(zip(p.indptr, model.row_sums, strict=True)):
        sums[np.abs(sums - 1.0) <= ROUNDING] = 1.0
        if (sums != 1.0).any():
            data = data.copy() if data is p.data else data
            data[g, : indptr[-1]] /= np.repeat(sums, np.diff(indptr))
    total = model.initial.sum()
    return replace(
        model,
        transitions=p._replace(data=data),
        initial=model.initial if abs(total - 1.0) <= ROUNDING else model.initial / total,
    )


def problem_of(model: Draft) -> Problem:
    """The arrays that compiled planners read."""
    return Problem(
        model.transitions,
        model.initial,
        model.cost,
        model.constraint_cost,
        model.budget,
        model.allowed,
    )


def unnamed(n_constraints: int) -> list[str]:
    """Names for constraints whose author gave none."""
    return [f"constraint {i}" for i in range(n_constraints)]


def at_stages(allowed: Bools, stages: int) -> Bools:
    """The mask for an array with that many stages: one stage serves all, so any of them counts."""
    if allowed.shape[0] == 0:
        return np.ones((stages, *allowed.shape[1:]), dtype=np.bool_)
    if stages == 1:
        return np.asarray(allowed.any(axis=0, keepdims=True))
    return np.broadcast_to(allowed, (stages, *allowed.shape[1:]))


def _without_forbidden(model: Draft) -> Draft:
    """Empty the rows and zero the costs of actions that do not exist: nothing reads them."""
    if model.allowed.shape[0] == 0:
        return model
    p, mask = model.transitions, model.allowed
    keep = at_stages(mask, p.indptr.shape[0]).reshape(p.indptr.shape[0], -1)
    cost = np.where(at_stages(mask, model.cost.shape[0]), model.cost, 0.0)
    stages = model.constraint_cost.shape[1]
    bounded = np.where(at_stages(mask, stages), model.constraint_cost, 0.0)
    return replace(model, transitions=selected(p, keep), cost=cost, constraint_cost=bounded)
