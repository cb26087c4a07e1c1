"""Models of pymdptoolbox: transitions by action, and rewards in its three forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tightrope.arrays import Floats, as_floats, check_table
from tightrope.errors import ModelError
from tightrope.interop.arrays import form_of, model_of_rewards, reward_of, rows_of
from tightrope.model import Model
from tightrope.model.base import as_model
from tightrope.model.csr import as_csr, matrix_of


def from_toolbox(
    transition: Any,
    reward: Any,
    horizon: int | None = None,
    constraint_cost: Mapping[str, Any] | None = None,
    budget: Mapping[str, float] | None = None,
    *,
    discount: float | None = None,
    average: bool = False,
    **options: Any,
) -> Model:
    """Return a model from the arguments P and R of pymdptoolbox, whose reward is maximized.

    Parameters
    ----------
    transition : (A, S, S) array, or A matrices (S, S), dense or sparse
        The toolbox's P.
    reward : (S,), (S, A) or (A, S, S) array, or A matrices (S, S)
        The toolbox's R: by state, by state and action, or by transition.
    horizon : int, optional
        Number of steps H. One of ``horizon``, ``discount`` and ``average`` is given.
    constraint_cost : mapping of str to array, optional
        Quantities with a budget, by name, each in one of the forms of R.
    budget : mapping of str to float, optional
        Largest expected sum of each; discounted or averaged as rewards are.
    discount : float, optional
        The toolbox's discount, for an infinite horizon.
    average : bool
        Whether rewards are averaged in the long run, as by the toolbox's RelativeValueIteration.
    **options
        The remaining arguments of ``from_rewards`` of the model: initial, names and so on.

    Returns
    -------
    CMDP, DiscountedCMDP or AverageCMDP
        The model; its results are rewards.

    Examples
    --------
    >>> import tightrope as tr
    >>> P = [[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]
    >>> R = [[4.0, 2.0], [1.0, 0.0]]
    >>> repairs = [[0.0, 1.0], [0.0, 1.0]]
    >>> cmdp = tr.from_toolbox(P, R, 3, {"repairs": repairs}, {"repairs": 0.5})
    >>> round(tr.solve(cmdp).value, 6)
    9.25
    """
    form = form_of(horizon, discount, average)
    matrices = _by_action("transition", transition)
    kernel = rows_of(matrices, "ass")
    S, A = matrices[0].shape[0], len(matrices)
    bounded = {
        name: _by_pair(f"constraint_cost[{name!r}]", values, matrices, S, A)
        for name, values in check_table("constraint_cost", constraint_cost).items()
    }
    values = _by_pair("reward", reward, matrices, S, A)
    return model_of_rewards(kernel, values, bounded, budget, form, None, options)


def to_toolbox(cmdp: Model | str, multiplier: Any = None) -> tuple[list[csr_array], Floats]:
    """Return P and R for pymdptoolbox, sparse matrices (S, S) by action and an array (S, A).

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog; every action must exist everywhere, and nothing may
        depend on time.
    multiplier : (I,) array, optional
        Price of each constraint, see `Plan.multiplier`; required if there are any, because the
        toolbox has no budgets.

    Returns
    -------
    tuple
        The list of matrices P, and R.

    Examples
    --------
    >>> import tightrope as tr
    >>> P, R = tr.to_toolbox("ring", multiplier=[0.0])
    >>> len(P), P[0].shape, R.shape
    (2, (3, 3), (3, 2))
    """
    cmdp = as_model(cmdp)
    reward = reward_of(cmdp, multiplier)
    if not cmdp.allowed.all():
        raise ModelError.about(
            "allowed", more="some actions do not exist, which pymdptoolbox cannot represent"
        )
    S, A = cmdp.n_states, cmdp.n_actions
    rows = matrix_of(cmdp.transitions, 0, S)
    return [csr_array(rows[np.arange(a, S * A, A)]) for a in range(A)], reward


def _by_action(name: str, matrices: Any) -> list[Any]:
    """Return one sparse matrix (S, S) for each action."""
    if isinstance(matrices, np.ndarray) and matrices.dtype != object:
        if matrices.ndim != 3:
            raise ModelError.about(name, shape=matrices.shape, expected="(A, S, S)")
    elif not isinstance(matrices, (list, tuple, np.ndarray)) or len(matrices) == 0:
        raise ModelError.about(name, shown=type(matrices).__name__, expected="A matrices (S, S)")
    found = []
    for a, matrix in enumerate(matrices):
        where = f"{name}[{a}]"
        given = matrix if issparse(matrix) else as_floats(where, matrix)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ModelError.about(where, shape=given.shape, expected="(S, S)")
        found.append(csr_array(as_csr(where, given, given.shape) if issparse(matrix) else given))
    return found


def _is_sparse_or_object(values: Any) -> bool:
    """Whether these matrices do not form one array of numbers."""
    if isinstance(values, (list, tuple)):
        return any(issparse(value) for value in values)
    return isinstance(values, np.ndarray) and values.dtype == object


def _by_pair(name: str, values: Any, matrices: list[Any], S: int, A: int) -> Floats:
    """Return a reward in any of the three forms as means over (S, A)."""
    if not _is_sparse_or_object(values):
        dense = as_floats(name, values)
        if dense.shape == (S, A):
            return dense
        if dense.shape == (S,):
            return np.repeat(dense[:, None], A, axis=1)
        if dense.shape != (A, S, S):
            raise ModelError.about(
                name, shape=dense.shape, expected=f"{(S,)}, {(S, A)} or {(A, S, S)}"
            )
    by_transition = _by_action(name, values)
    if [matrix.shape for matrix in by_transition] != [(S, S)] * A:
        raise ModelError.about(
            name, shown=f"{len(by_transition)} matrices", expected=f"{A} of shape {(S, S)}"
        )
    means = [p.multiply(r).sum(axis=1) for p, r in zip(matrices, by_transition, strict=True)]
    return np.stack([np.asarray(mean).reshape(-1) for mean in means], axis=1)
