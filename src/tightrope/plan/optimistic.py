"""Optimistic planning: the best policy together with the best kernel inside a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import (
    Bools,
    Box,
    Floats,
    Stationary,
    StationaryBox,
    Transitions,
    as_floats,
    entry,
    require_finite,
    row_sums,
)
from tightrope.errors import ModelError
from tightrope.kernels.scratch import repeated
from tightrope.model import Model, Plan
from tightrope.model.base import as_model, writable_problem
from tightrope.model.csr import (
    is_sparse,
    matrix_of,
    select_rows,
    stack_dense,
    stack_sparse,
    unstack_dense,
)
from tightrope.model.draft import at_stages
from tightrope.model.plan import changed, plan_in_units
from tightrope.plan.generate import Progress
from tightrope.plan.solve import Method, progress_in_units, solve_problem
from tightrope.text import number

ROW_TOLERANCE = 1e-9
HINT = "; over a box of kernels a chain may have several recurrent classes"


def solve_optimistic(
    cmdp: Model | str,
    lower: Any,
    upper: Any,
    cost: Any = None,
    constraint_cost: Any = None,
    method: Method = "columns",
    tolerance: float = 1e-8,
    progress: Progress | None = None,
) -> Plan:
    """Compute the best policy and the best kernel between two bounds, under the model's budgets.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        Gives horizon, start, budgets and allowed actions; its own kernel is not used. A string is a
        name of the catalog.
    lower, upper : arrays like ``transition``
        Bounds on each probability: dense over (S, A, S) or (H, S, A, S), or sparse (S*A, S) or a
        list of H of them. Entries that a sparse ``upper`` does not list are impossible.
    cost : (S, A) or (H, S, A) array, optional
        Costs to minimize (rewards, where the model has them) in the model's unit, signed and of any
        size; the model's own when not given.
    constraint_cost : (I, S, A) or (I, H, S, A) array, optional
        The same for the constraints.
    method : {"columns", "lp"}
        Column generation priced by extended value iteration, or the extended linear program.
    tolerance : float
        Relative duality gap at which the columns method stops.
    progress : callable, optional
        As for `solve`.

    Returns
    -------
    Plan
        Its ``transition`` is the kernel, (H, S, A, S) or a list of H sparse matrices as the bounds
        were given; it lies inside the box at every pair that exists, reached or not.

    Raises
    ------
    InfeasibleError
        If the budgets are infeasible for every kernel between the bounds.

    Examples
    --------
    >>> import tightrope as tr
    >>> ring = tr.envs.build("ring")
    >>> lower = (ring.transition - 0.1).clip(0.0, 1.0)
    >>> upper = (ring.transition + 0.1).clip(0.0, 1.0)
    >>> plan = tr.solve_optimistic(ring, lower, upper)
    >>> plan.value >= tr.solve(ring).value
    True
    >>> plan.transition.shape
    (6, 3, 2, 3)
    """
    cmdp = as_model(cmdp)
    H, S, A = cmdp.n_stages, cmdp.n_states, cmdp.n_actions
    own = writable_problem(cmdp)
    box = box_between(cmdp, lower, upper)
    kernels: Box | StationaryBox = box
    if isinstance(own.kernels, Stationary):
        if own.kernels.discount == 1.0:
            raise ModelError.about(
                "cmdp", shown=repr(cmdp), expected="a CMDP or DiscountedCMDP", more=HINT
            )
        kernels = StationaryBox(
            box.indptr, box.indices, box.lower, box.upper, box.rest, own.kernels.discount
        )
    problem = own._replace(
        kernels=kernels,
        cost=own.cost if cost is None else _losses(cmdp, "cost", cost, ()),
        constraint_cost=own.constraint_cost
        if constraint_cost is None
        else _losses(cmdp, "constraint_cost", constraint_cost, (cmdp.n_constraints,)),
    )
    shown = progress_in_units(progress, cmdp)
    plan = solve_problem(cmdp, problem, method, tolerance, shown)
    plan = plan_in_units(plan, cmdp.units)
    assert isinstance(plan.transition, Transitions)
    if isinstance(own.kernels, Stationary):
        if is_sparse(upper):
            return changed(plan, transition=matrix_of(plan.transition, 0, S))
        lasting = unstack_dense(plan.transition, S).reshape(S, A, S)
        return changed(plan, transition=lasting)
    if is_sparse(upper):
        sparse = [matrix_of(plan.transition, h, S) for h in range(H)]
        return changed(plan, transition=sparse)
    dense = unstack_dense(plan.transition, S).reshape(H, S, A, S)
    return changed(plan, transition=dense)


def box_between(cmdp: Model, lower: Any, upper: Any) -> Box:
    """Return the box between two bounds, checked; its entries are those of ``upper``."""
    dense = _dense_box(cmdp, lower, upper)
    if dense is not None:
        return dense
    low, high = (_bound(cmdp, "lower", lower), _bound(cmdp, "upper", upper))
    stages = max(low.indptr.shape[0], high.indptr.shape[0])
    box = Box(
        repeated(high.indptr, stages),
        repeated(high.indices, stages),
        np.zeros((stages, high.indices.shape[1])),
        repeated(high.data, stages),
        np.zeros((stages, 0)),
    )
    for g in range(stages):
        box.lower[g] = _lower_on_pattern(cmdp, low, box, g)
        _settle_rows(cmdp, box, g)
    return box


def _dense_box(cmdp: Model, lower: Any, upper: Any) -> Box | None:
    """`box_between` of dense bounds without zeros in ``upper``, all stages at once.

    None for other bounds, and for wrong ones: the general way finds their first wrong entry.
    """
    S, A = cmdp.n_states, cmdp.n_actions
    if is_sparse(lower) or is_sparse(upper) or len(writable_problem(cmdp).allowed):
        return None
    low, high = as_floats("lower", lower), as_floats("upper", upper)
    shapes = ((S, A, S), (1, S, A, S), (cmdp.n_stages, S, A, S))
    if low.shape not in shapes or high.shape not in shapes:
        return None
    low, high = low.reshape(-1, S * A, S), high.reshape(-1, S * A, S)
    if not (low.min() >= 0.0 and high.min() > 0.0 and high.max() <= 1.0 and (low <= high).all()):
        return None
    stages = max(len(low), len(high))
    low, high = repeated(low, stages), repeated(high, stages)
    starts = np.arange(0, S * A * S, S)
    box = Box(
        np.tile(np.arange(S * A + 1) * S, (stages, 1)),
        np.tile(np.arange(S, dtype=np.uint32), (stages, S * A)),
        low.reshape(stages, -1),
        high.reshape(stages, -1),
        np.zeros((stages, 0)),
    )
    lows = np.add.reduceat(box.lower, starts, axis=1)[:, :, None]
    highs = np.add.reduceat(box.upper, starts, axis=1)[:, :, None]
    if lows.max() > 1 + ROW_TOLERANCE or highs.min() < 1 - ROW_TOLERANCE:
        return None
    low /= np.maximum(lows, 1.0)
    high /= np.where(highs < 1.0, np.maximum(highs, 0.5), 1.0)
    return box


def _bound(cmdp: Model, name: str, value: Any) -> Transitions:
    """Return a bound by stage, checked except for actions that do not exist."""
    stack = _stack_sparse if is_sparse(value) else _stack_dense
    bound = stack(name, value, cmdp.n_stages, cmdp.n_states, cmdp.n_actions)
    mask = writable_problem(cmdp).allowed
    if mask.shape[0] > 0:
        stages = bound.indptr.shape[0]
        bound = select_rows(bound, at_stages(mask, stages).reshape(stages, -1))
    for g in range(bound.indptr.shape[0]):
        data = bound.data[g, : bound.indptr[g, -1]]
        bad = ~((data >= 0.0) & (data <= 1.0))
        if bad.any():
            e = int(np.argmax(bad))
            row = int(np.searchsorted(bound.indptr[g], e, side="right")) - 1
            where = _entry(cmdp, name, bound.indptr, g, row, int(bound.indices[g, e]))
            raise ModelError.about(
                where,
                verb="is",
                found=data[e],
                shown=number(data[e]),
                expected="a probability in [0, 1]",
            )
    return bound


def _stack_dense(name: str, value: Any, H: int, S: int, A: int) -> Transitions:
    dense = as_floats(name, value)
    if dense.shape not in ((S, A, S), (1, S, A, S), (H, S, A, S)):
        raise ModelError.about(
            name,
            shape=dense.shape,
            expected=f"{(S, A, S)} over (S, A, S) or {(H, S, A, S)} over (H, S, A, S)",
        )
    return stack_dense(dense)[0]


def _stack_sparse(name: str, value: Any, H: int, S: int, A: int) -> Transitions:
    matrices = list(value) if isinstance(value, (list, tuple)) else [value]
    for g, matrix in enumerate(matrices):
        if not hasattr(matrix, "tocsr") or matrix.shape != (S * A, S):
            found = f"shape {matrix.shape}" if hasattr(matrix, "shape") else type(matrix).__name__
            where = name if len(matrices) == 1 else f"{name}[{g}]"
            raise ModelError.about(
                where, shown=found, expected=f"a sparse matrix of shape {(S * A, S)}"
            )
    if len(matrices) not in (1, H):
        raise ModelError.about(name, shown=f"{len(matrices)} stages", expected=f"1 or {H}")
    return stack_sparse(matrices, name)[0]


def _lower_on_pattern(cmdp: Model, low: Transitions, box: Box, g: int) -> Floats:
    """Return lower bounds on the entries of the box; none may lie outside or above them."""
    S = cmdp.n_states
    own = min(g, low.indptr.shape[0] - 1)
    keys = _keys(low.indptr[own], low.indices[own], S)
    exists = _exists(cmdp, box, g)[keys // S]
    pattern = _keys(box.indptr[g], box.indices[g], S)
    spots = np.searchsorted(pattern, keys)
    values = np.zeros(box.lower.shape[1])
    listed = spots < pattern.size
    listed[listed] = pattern[spots[listed]] == keys[listed]
    data = low.data[own, : keys.size]
    values[spots[listed]] = data[listed]
    above = ~listed
    above[listed] = data[listed] > box.upper[g, spots[listed]]
    above &= exists
    if above.any():
        e = int(np.argmax(above))
        row, successor = divmod(int(keys[e]), S)
        where = _entry(cmdp, "lower", low.indptr, own, row, successor)
        limit = box.upper[g, spots[e]] if listed[e] else 0.0
        count = int(np.count_nonzero(above))
        more = "" if count == 1 else f"; {count} such entries"
        raise ModelError.about(
            where,
            verb="is",
            found=data[e],
            shown=f"{data[e]:.9g}",
            expected=f"at most upper = {limit:.9g}",
            more=more,
        )
    return values


def _settle_rows(cmdp: Model, box: Box, g: int) -> None:
    """Check that every row contains a distribution, and correct rounding."""
    lows, highs = row_sums(box.indptr[g], box.lower[g]), row_sums(box.indptr[g], box.upper[g])
    bad = (lows > 1 + ROW_TOLERANCE) | (highs < 1 - ROW_TOLERANCE)
    bad &= _exists(cmdp, box, g)
    if bad.any():
        row, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        more = "" if count == 1 else f"; {count} such rows"
        raise ModelError.about(
            _entry(cmdp, "lower and upper", box.indptr, g, row),
            verb="sum to",
            found=(lows[row], highs[row]),
            shown=f"{lows[row]:.9g} and {highs[row]:.9g}",
            expected="at most 1 and at least 1",
            more=more,
        )
    sizes, used = np.diff(box.indptr[g]), int(box.indptr[g, -1])
    box.lower[g, :used] /= np.repeat(np.maximum(lows, 1.0), sizes)
    box.upper[g, :used] /= np.repeat(np.where(highs < 1.0, np.maximum(highs, 0.5), 1.0), sizes)


def _exists(cmdp: Model, box: Box, g: int) -> Bools:
    """Return which rows of a stage belong to existing actions; one stage stands for all."""
    allowed = cmdp.allowed[g] if box.indptr.shape[0] > 1 else cmdp.allowed.any(axis=0)
    return np.asarray(allowed).ravel()


def _keys(indptr: Any, indices: Any, S: int) -> Any:
    """Return a sort key for each entry of a stage: its row, then its column."""
    rows = np.repeat(np.arange(indptr.size - 1, dtype=np.int64), np.diff(indptr))
    return rows * S + indices[: rows.size].astype(np.int64)


def _entry(
    cmdp: Model, name: str, indptr: Any, g: int, row: int, successor: int | None = None
) -> str:
    """Return the name of a row of a stage, or of one successor in it."""
    index, axes = [row // cmdp.n_actions, row % cmdp.n_actions], "sa"
    if successor is not None:
        index, axes = [*index, successor], "sat"
    if indptr.shape[0] > 1:
        index, axes = [g, *index], "h" + axes
    return entry(name, index, axes, cmdp.names)


def _losses(cmdp: Model, name: str, values: Any, lead: tuple[int, ...]) -> Floats:
    H, S, A = cmdp.n_stages, cmdp.n_states, cmdp.n_actions
    losses = as_floats(name, values)
    if losses.shape == (*lead, S, A):
        losses = losses.reshape(*lead, 1, S, A)
    if losses.shape not in ((*lead, 1, S, A), (*lead, H, S, A)):
        raise ModelError.about(
            name, shape=losses.shape, expected=f"{(*lead, S, A)} or {(*lead, H, S, A)}"
        )
    units = cmdp.constraint_units if lead else (cmdp.cost_unit,)
    blocks = list(losses) if lead else [losses]
    scaled = [unit.read_step(block, H) for unit, block in zip(units, blocks, strict=True)]
    found: Floats = np.array(scaled).reshape(losses.shape)
    mask = writable_problem(cmdp).allowed
    if len(mask):
        found = np.where(at_stages(mask, losses.shape[-3]), found, 0.0)
    require_finite(name, found, "ihsa" if lead else "hsa", cmdp.names)
    return found
