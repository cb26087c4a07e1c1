"""Optimistic planning: the best policy together with the best kernel inside a box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import (
    Box,
    Floats,
    Ints,
    Stationary,
    StationaryBox,
    Transitions,
    as_floats,
    entry,
    require_finite,
    row_sums,
)
from tightrope.errors import ModelError
from tightrope.model import Model, Plan
from tightrope.model.base import as_model, writable_problem
from tightrope.model.csr import (
    is_sparse,
    list_entries,
    matrix_of,
    stack_rows,
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


class Bound(NamedTuple):
    """A bound on each probability of one stage or of all, entry by entry."""

    name: str
    stages: int
    keys: Ints  # (N,) ascending, ``((h*S + s)*A + a)*S + t``
    data: Floats  # (N,)


def box_between(cmdp: Model, lower: Any, upper: Any) -> Box:
    """Return the box between two bounds, checked; its entries are those of ``upper``."""
    S, rows = cmdp.n_states, cmdp.n_states * cmdp.n_actions
    bounds = _read(cmdp, "lower", lower), _read(cmdp, "upper", upper)
    stages = max(bound.stages for bound in bounds)
    low, high = (_repeat(cmdp, bound, stages) for bound in bounds)
    keys, both = high.keys, np.stack((_lower_on_pattern(cmdp, low, high), high.data))
    used = high.data > 0.0
    if not used.all():
        keys, both = keys[used], both[:, used]
    is_full = keys.size == stages * rows * S
    ends = np.arange(0, stages * rows * S + 1, S)
    ends = ends if is_full else np.searchsorted(keys, ends)
    columns = np.arange(S, dtype=np.uint32)
    columns = np.tile(columns, stages * rows) if is_full else columns[keys % S]
    both = _settle_rows(cmdp, stages, ends, both)
    indptr, indices, least, most = stack_rows(ends, rows, columns, *both)
    return Box(indptr, indices, least, most, np.zeros((stages, 0)))


def _read(cmdp: Model, name: str, value: Any) -> Bound:
    H, S, A = cmdp.n_stages, cmdp.n_states, cmdp.n_actions
    if is_sparse(value):
        matrices = list(value) if isinstance(value, (list, tuple)) else [value]
        for g, matrix in enumerate(matrices):
            if not hasattr(matrix, "tocsr") or matrix.shape != (S * A, S):
                is_matrix = hasattr(matrix, "shape")
                found = f"shape {matrix.shape}" if is_matrix else type(matrix).__name__
                where = name if len(matrices) == 1 else f"{name}[{g}]"
                raise ModelError.about(
                    where, shown=found, expected=f"a sparse matrix of shape {(S * A, S)}"
                )
        if len(matrices) not in (1, H):
            raise ModelError.about(name, shown=f"{len(matrices)} stages", expected=f"1 or {H}")
        return Bound(name, len(matrices), *list_entries(stack_sparse(matrices, name)[0], S))
    dense = as_floats(name, value)
    if dense.shape not in ((S, A, S), (1, S, A, S), (H, S, A, S)):
        raise ModelError.about(
            name,
            shape=dense.shape,
            expected=f"{(S, A, S)} over (S, A, S) or {(H, S, A, S)} over (H, S, A, S)",
        )
    return Bound(name, dense.size // (S * A * S), np.arange(dense.size), dense.reshape(-1))


def _repeat(cmdp: Model, bound: Bound, stages: int) -> Bound:
    """Return a bound for all stages, without actions that do not exist, checked."""
    S, (name, own, keys, data) = cmdp.n_states, bound
    if own < stages:
        firsts = np.arange(stages)[:, None] * (S * cmdp.n_actions * S)
        keys, data = (firsts + keys).reshape(-1), np.tile(data, stages)
    mask = writable_problem(cmdp).allowed
    if len(mask):
        exists = at_stages(mask, stages).reshape(-1)[keys // S]
        keys, data = keys[exists], data[exists]
    if data.size and not (data.min() >= 0.0 and data.max() <= 1.0):
        e = int(np.argmax(~((data >= 0.0) & (data <= 1.0))))
        raise ModelError.about(
            _entry(cmdp, name, own, *divmod(int(keys[e]), S)),
            verb="is",
            found=data[e],
            shown=number(data[e]),
            expected="a probability in [0, 1]",
        )
    return Bound(name, own, keys, data)


def _lower_on_pattern(cmdp: Model, low: Bound, high: Bound) -> Floats:
    """Return lower bounds on the entries of the upper; none may lie outside or above them."""
    values, limits = low.data, high.data
    if not np.array_equal(low.keys, high.keys):
        spots = np.searchsorted(high.keys, low.keys)
        listed = np.append(high.keys, -1)[spots] == low.keys
        limits = np.where(listed, np.append(high.data, 0.0)[spots], 0.0)
        values = np.zeros(high.data.size)
        values[spots[listed]] = low.data[listed]
    above = low.data > limits
    if above.any():
        e, count = int(np.argmax(above)), int(np.count_nonzero(above))
        raise ModelError.about(
            _entry(cmdp, low.name, low.stages, *divmod(int(low.keys[e]), cmdp.n_states)),
            verb="is",
            found=low.data[e],
            shown=f"{low.data[e]:.9g}",
            expected=f"at most upper = {limits[e]:.9g}",
            more="" if count == 1 else f"; {count} such entries",
        )
    return values


def _settle_rows(cmdp: Model, stages: int, ends: Ints, both: Floats) -> Floats:
    """Check that every row contains a distribution, and return both bounds without rounding."""
    lows, highs = sums = row_sums(ends, both)
    if lows.max() <= 1.0 <= highs.min():
        return both
    bad = (lows > 1 + ROW_TOLERANCE) | (highs < 1 - ROW_TOLERANCE)
    mask = writable_problem(cmdp).allowed
    if len(mask):
        bad &= at_stages(mask, stages).reshape(-1)
    if bad.any():
        row, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        raise ModelError.about(
            _entry(cmdp, "lower and upper", stages, row),
            verb="sum to",
            found=(lows[row], highs[row]),
            shown=f"{lows[row]:.9g} and {highs[row]:.9g}",
            expected="at most 1 and at least 1",
            more="" if count == 1 else f"; {count} such rows",
        )
    np.maximum(lows, 1.0, out=lows)
    highs[:] = np.where(highs < 1.0, np.maximum(highs, 0.5), 1.0)
    return both / np.repeat(sums, np.diff(ends), axis=1)


def _entry(cmdp: Model, name: str, stages: int, row: int, *successor: int) -> str:
    """Return the name of a row ``(h*S + s)*A + a``, or of one successor in it."""
    h, s, a = np.unravel_index(row, (cmdp.n_stages, cmdp.n_states, cmdp.n_actions))
    axes = "sat"[: 2 + len(successor)]
    if stages == 1:
        return entry(name, (int(s), int(a), *successor), axes, cmdp.names)
    return entry(name, (int(h), int(s), int(a), *successor), "h" + axes, cmdp.names)


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
