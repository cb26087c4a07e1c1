"""Arrays with their axes in one order or the other, said in a word.

``"sas"`` is over state, action, next state, as everywhere in this library; ``"ass"`` over action,
state, next state, as pymdptoolbox and others have it. With as many actions as states an array does
not show which it is, so that the word has to be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from tightrope.arrays import Bools, Floats, as_floats, check_choice, check_kind
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.csr import as_csr, is_sparse

LAYOUTS = ("sas", "ass")


class Arrays(NamedTuple):
    """A model as plain arrays, on the scale of [0, 1] a step."""

    transition: Floats  # (S, A, S) or (A, S, S), with a leading (H,) when it depends on time
    cost: Floats  # (S, A) or (H, S, A)
    constraint_cost: Floats  # (I, S, A) or (I, H, S, A)
    budget: Floats  # (I,)
    initial: Floats  # (S,)
    allowed: Bools  # (S, A) or (H, S, A)


def from_arrays(transition: Any, layout: str, cost: Any, *arguments: Any, **options: Any) -> CMDP:
    """A model from a kernel whose axes are in the given order.

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
        The next arguments of `CMDP`: constraint costs, budgets, horizon and so on.
    **options
        Arguments of `CMDP` by name.
    """
    return CMDP(rows_of(transition, layout), cost, *arguments, **options)


def to_arrays(cmdp: CMDP, layout: str) -> Arrays:
    """The arrays of a model, for other tools.

    Parameters
    ----------
    cmdp : CMDP
        The model; its kernel becomes dense.
    layout : {"sas", "ass"}
        Order of the axes of the kernel.
    """
    check_kind("cmdp", cmdp, CMDP)
    check_choice("layout", layout, LAYOUTS)
    kernel = cmdp.transition
    return Arrays(
        kernel if layout == "sas" else np.ascontiguousarray(np.moveaxis(kernel, -2, -3)),
        _without_stages(cmdp.cost, cmdp.problem.cost.shape[0], 0),
        _without_stages(cmdp.constraint_cost, cmdp.problem.constraint_cost.shape[1], 1),
        cmdp.budget,
        cmdp.initial,
        _without_stages(cmdp.allowed, cmdp.problem.allowed.shape[0], 0),
    )


def rows_of(transition: Any, layout: str) -> Any:
    """The kernel in the order of this library: an array, or a sparse matrix over rows s*A + a."""
    check_choice("layout", layout, LAYOUTS)
    if is_sparse(transition):
        return transition if layout == "sas" else _interleaved(transition)
    kernel = as_floats("transition", transition)
    if kernel.ndim not in (3, 4):
        raise ModelError(
            f"transition: shape {kernel.shape}, expected three axes, or four with stages"
        )
    if layout == "sas":
        return kernel
    if kernel.shape[-1] != kernel.shape[-2]:
        raise ModelError(
            f"transition: shape {kernel.shape}, expected (A, S, S) for the layout 'ass', "
            "or (H, A, S, S)"
        )
    return np.moveaxis(kernel, -3, -2)


def _interleaved(matrices: Sequence[Any]) -> csr_array:
    """One matrix (S, S) an action as one over rows s*A + a."""
    if not isinstance(matrices, (list, tuple)):
        raise ModelError("transition: sparse, expected a list of A matrices for the layout 'ass'")
    A, S = len(matrices), int(np.shape(matrices[0])[0]) if np.shape(matrices[0]) else 0
    checked = []
    for a, matrix in enumerate(matrices):
        checked.append(as_csr(f"transition[{a}]", matrix, (S, S)))
    stacked = csr_array(vstack(checked))
    return csr_array(stacked[np.arange(A * S).reshape(A, S).T.reshape(-1)])


def _without_stages(values: Any, stages: int, axis: int) -> Any:
    return np.array(values if stages > 1 else values.take(0, axis=axis))
