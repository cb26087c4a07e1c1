"""Models as arrays: the order of the axes, and rewards from and to costs and budgets.

The layout ``"sas"`` is over state, action, next state, as everywhere in this library; ``"ass"`` is
over action, state, next state, as in pymdptoolbox. The layout must be given, because shapes are
ambiguous if there are as many actions as states.

A tool for unconstrained problems has one reward and no budgets. A constrained model is converted
with a price for each constraint: the reward is then the negated Lagrangian, whose best policy at
the optimal prices is one of those that the constrained optimum mixes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from tightrope.arrays import (
    Bools,
    Floats,
    as_floats,
    check_choice,
    check_table,
    flag,
    require_entries,
)
from tightrope.errors import ModelError
from tightrope.model import CMDP, AverageCMDP, DiscountedCMDP, Model
from tightrope.model.base import as_model, writable_problem
from tightrope.model.csr import as_csr, is_sparse
from tightrope.model.draft import check_proper_discount, required_horizon, total_steps
from tightrope.model.units import Range

LAYOUTS = ("sas", "ass")


class Arrays(NamedTuple):
    """A model as plain arrays, in its units."""

    transition: Floats  # (S, A, S) or (A, S, S), with a leading (H,) when it depends on time
    cost: Floats  # (S, A) or (H, S, A)
    constraint_cost: Floats  # (I, S, A) or (I, H, S, A)
    budget: Floats  # (I,)
    initial: Floats  # (S,)
    allowed: Bools  # (S, A) or (H, S, A)

    def __repr__(self) -> str:
        shapes = (f"{name} {each.shape}" for name, each in self._asdict().items())
        return f"Arrays({', '.join(shapes)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        rows = [(name, str(each.shape)) for name, each in self._asdict().items()]
        return listing("Arrays", [], ["", "shape"], rows)


class Form(NamedTuple):
    """How the costs of steps add up in a model: over a horizon, discounted or averaged."""

    kind: Any  # CMDP, DiscountedCMDP or AverageCMDP, which are made from different arguments
    options: dict[str, Any]  # the argument that only this kind has
    steps: float  # largest possible total of a cost of one per step


def form_of(horizon: int | None, discount: float | None, average: bool) -> Form:
    """Return the form that the only one of three arguments selects."""
    is_given = {
        "horizon": horizon is not None,
        "discount": discount is not None,
        "average": flag("average", average),
    }
    words = [name for name, given in is_given.items() if given]
    if len(words) != 1:
        raise ModelError.about(
            words[0] if words else "horizon",
            shown=f"together with {words[1]}" if words else "missing",
            expected="one of horizon, discount and average=True",
        )
    if average:
        return Form(AverageCMDP, {}, 1.0)
    if discount is not None:
        discount = check_proper_discount(discount)
        return Form(DiscountedCMDP, {"discount": discount}, total_steps(1, discount))
    H = required_horizon(horizon)
    return Form(CMDP, {"horizon": H}, H)


def from_arrays(
    transition: Any,
    layout: str,
    cost: Any,
    *arguments: Any,
    discount: float | None = None,
    average: bool = False,
    **options: Any,
) -> Model:
    """Return a model from a kernel whose axes are in the given order.

    Parameters
    ----------
    transition : array or list of sparse matrices
        ``(S, A, S)`` or ``(A, S, S)``, each with a leading stage axis when it depends on time; for
        ``"ass"`` also a list of A sparse matrices ``(S, S)``.
    layout : {"sas", "ass"}
        Order of the axes: state, action, next state, or action, state, next state.
    cost : (S, A) or (H, S, A) array
        As for `CMDP`.
    *arguments
        The next arguments of the model: constraint costs, budgets and, of `CMDP`, the horizon.
    discount : float, optional
        Discount of a `DiscountedCMDP`.
    average : bool
        Whether to return an `AverageCMDP`.
    **options
        Arguments of the model by name.

    Returns
    -------
    CMDP, DiscountedCMDP or AverageCMDP
        The model; a `CMDP` without ``discount`` and ``average``.

    Examples
    --------
    >>> import tightrope as tr
    >>> kernel = [[[0.7, 0.3], [0.1, 0.9]], [[0.9, 0.1], [0.5, 0.5]]]  # action, state, next state
    >>> cmdp = tr.from_arrays(kernel, "ass", cost=[[0.0, 0.5], [0.3, 1.0]], horizon=12)
    >>> cmdp.transition[0, 1]
    array([0.9, 0.1])
    """
    kernel = rows_of(transition, layout)
    if discount is None and not flag("average", average):
        return CMDP(kernel, cost, *arguments, **options)
    form = form_of(options.pop("horizon", None), discount, average)
    made: Model = form.kind(kernel, cost, *arguments, **form.options, **options)
    return made


def to_arrays(cmdp: Model | str, layout: str) -> Arrays:
    """Return the arrays of a model, for other tools, in its units.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog; its kernel becomes dense.
    layout : {"sas", "ass"}
        Order of the axes of the kernel.

    Returns
    -------
    Arrays
        Kernel, costs, budgets and the rest, as plain arrays.

    Examples
    --------
    >>> import tightrope as tr
    >>> arrays = tr.to_arrays("ring", "ass")
    >>> arrays.transition.shape
    (2, 3, 3)
    """
    cmdp = as_model(cmdp)
    check_choice("layout", layout, LAYOUTS)
    kernel, problem = cmdp.transition, writable_problem(cmdp)
    return Arrays(
        kernel if layout == "sas" else np.ascontiguousarray(np.moveaxis(kernel, -2, -3)),
        _drop_stages(cmdp.cost, problem.cost.shape[0], 0),
        _drop_stages(cmdp.constraint_cost, problem.constraint_cost.shape[1], 1),
        cmdp.budget,
        cmdp.initial,
        _drop_stages(cmdp.allowed, problem.allowed.shape[0], 0),
    )


def rows_of(transition: Any, layout: str) -> Any:
    """Return the kernel in the order of this library: an array, or sparse with rows s*A + a."""
    check_choice("layout", layout, LAYOUTS)
    if is_sparse(transition):
        return transition if layout == "sas" else _interleave(transition)
    kernel = as_floats("transition", transition)
    if kernel.ndim not in (3, 4):
        raise ModelError.about(
            "transition", shape=kernel.shape, expected="three axes, or four with stages"
        )
    if layout == "sas":
        return kernel
    if kernel.shape[-1] != kernel.shape[-2]:
        raise ModelError.about(
            "transition",
            shape=kernel.shape,
            expected="(A, S, S) for the layout 'ass', or (H, A, S, S)",
        )
    return np.moveaxis(kernel, -3, -2)


def _interleave(matrices: Sequence[Any]) -> csr_array:
    """Return one matrix over rows s*A + a from one matrix (S, S) per action."""
    if not isinstance(matrices, (list, tuple)):
        raise ModelError.about(
            "transition", shown="sparse", expected="a list of A matrices for the layout 'ass'"
        )
    A, S = len(matrices), int(np.shape(matrices[0])[0]) if np.shape(matrices[0]) else 0
    checked = [as_csr(f"transition[{a}]", matrix, (S, S)) for a, matrix in enumerate(matrices)]
    stacked = csr_array(vstack(checked))
    return csr_array(stacked[np.arange(A * S).reshape(A, S).T.reshape(-1)])


def _drop_stages(values: Any, stages: int, axis: int) -> Any:
    return np.array(values if stages > 1 else values.take(0, axis=axis))


def model_of_rewards(
    transition: Any,
    reward: Floats,
    constraints: Mapping[str, Floats],
    budget: Mapping[str, float] | None,
    form: Form,
    allowed: Bools | None,
    options: dict[str, Any],
) -> Model:
    """Return a model that maximizes a reward under budgets by name; ranges are from the values."""
    limits = check_table("budget", budget)
    if set(limits) != set(constraints):
        raise ModelError.about(
            "budget",
            shown=f"for {sorted(limits)}",
            expected=f"one for each constraint: {sorted(constraints)}",
        )
    names = list(constraints)
    bounded = [constraints[name] for name in names]
    for word, values in (
        ("reward", reward),
        *((f"constraint_cost[{name!r}]", constraints[name]) for name in names),
    ):
        bad = ~np.isfinite(values) & (True if allowed is None else allowed)
        require_entries(word, values, bad, "hsa"[-values.ndim :], "a finite number")
    made: Model = form.kind.from_rewards(
        transition,
        reward,
        reward_range=_range_of(reward, allowed),
        constraint_cost=np.stack(bounded) if bounded else None,
        budget=[limits[name] for name in names] or None,
        constraint_range=[_range_of(values, allowed) for values in bounded] or None,
        constraint_names=names or None,
        allowed=allowed,
        **form.options,
        **options,
    )
    return made


def _range_of(values: Floats, allowed: Bools | None) -> Range:
    """Return the least and greatest value among existing actions; never a single point."""
    shown = values if allowed is None else values[..., allowed]
    low, high = float(shown.min()), float(shown.max())
    return (low, high) if low < high else (low, low + 1.0)


def depends_on_time(cmdp: Model) -> bool:
    """Whether kernel, costs or actions differ between stages."""
    problem = writable_problem(cmdp)
    stages = (problem.cost.shape[0], problem.constraint_cost.shape[1], problem.allowed.shape[0])
    return not cmdp.is_stationary or max(stages) > 1


def reward_of(cmdp: Model, multiplier: Any) -> Floats:
    """Return the reward, (S, A): reward or negated cost, minus priced constraints.

    Nothing in the model may depend on time. The multiplier is that of a plan. The price of a
    constraint applies to what a step adds above the best of its range.
    """
    if depends_on_time(cmdp):
        raise ModelError(
            "the model depends on time, which this format cannot represent",
            argument="cmdp",
            found="a model that depends on time",
            expected="a stationary model",
        )
    sign = 1.0 if cmdp.cost_unit.is_maximized else -1.0
    reward = sign * cmdp.cost[0]
    if cmdp.n_constraints == 0:
        return np.asarray(reward)
    if multiplier is None:
        raise ModelError.about(
            "multiplier",
            shown="missing",
            more=(
                "; this format has no budgets, so give each constraint a price "
                "(that of a plan, or zeros to leave the constraints out)"
            ),
        )
    prices = as_floats("multiplier", multiplier)
    if prices.shape != (cmdp.n_constraints,):
        raise ModelError.about("multiplier", shape=prices.shape, expected=(cmdp.n_constraints,))
    priced = np.tensordot(
        prices * cmdp.units.sizes, writable_problem(cmdp).constraint_cost[:, 0], 1
    )
    return np.asarray(reward - priced)
