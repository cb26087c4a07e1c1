"""The model linter: likely mistakes in a model, worst first.

Two backward sweeps give the range of attainable totals of a constraint::

    least_h(s) = min_a d_h(s,a) + sum_t p_h(t|s,a) least_{h+1}(t)        (and max for the most)

A budget below the least is infeasible, one above the most never binds.

`find_faults` finds the faults in the values of a draft, with remedies. The constructor of `CMDP`
raises the first one, the linter lists them all. Entries are named with the user's own names, and
values also in the user's own units where a unit is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tightrope.arrays import Bools, Floats, entry, find_first, require_finite, require_range
from tightrope.errors import ModelError
from tightrope.model.csr import find_reached, matrix_of
from tightrope.model.draft import ROUNDING, ROW_TOLERANCE, Draft, at_stages, default_names, settle
from tightrope.model.units import Unit, units_or_plain
from tightrope.text import digits, number, round_up

LEVELS = ("error", "warning", "note")
CLOSE = 1e-9  # totals within this of a budget, relative to it, count as equal
LEAST = 1e-5  # of the largest possible total: scale of smaller budgets
AGREED = 1e-12  # changes of totals over a step that differ by less count as equal
ROUNDED = 1e-15  # rounding error of such a change, for each step before it
LOOK = 16  # steps between two comparisons of the changes
MOST_WORK = 2e8  # entries visited, after which budgets are not compared
MOST_SWEPT = 100_000 // LOOK * LOOK  # steps after which budgets are not compared
SHOWN = 5  # names listed before "and n more"
DUST = 1e-6  # negative values of this size are rounding
WEIGHTS = 0.05  # rows off by less count as rounded
ALLOW = "allow an action there; where everything ends, one that stays with probability 1"


@dataclass(frozen=True)
class Finding:
    """One likely mistake.

    Parameters
    ----------
    level : {"error", "warning", "note"}
        An error makes the model unusable, a warning is likely a mistake, a note is worth knowing.
    subject : str
        What it is about, for example ``"budget"``.
    message : str
        What was found.
    remedy : str
        What to do about it; empty if only the author can know.

    Examples
    --------
    >>> import tightrope as tr
    >>> (finding,) = tr.envs.build("ring").with_budget([6.0]).check()
    >>> finding.level, finding.subject
    ('warning', 'budget')
    """

    level: Literal["error", "warning", "note"]
    subject: str
    message: str
    remedy: str = ""

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        remedy = [f"remedy: {self.remedy}"] if self.remedy else []
        return listing(self.level, [f"{self.subject}: {self.message}", *remedy])


def lint(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> tuple[Finding, ...]:
    """Return likely mistakes in a settled draft, worst first, in the given units."""
    bounds = _bounds(model, cost_unit or Unit(), constraint_units)
    found = *_unreachable(model), *bounds, *_find_repeated(model)
    return tuple(sorted(found, key=lambda finding: LEVELS.index(finding.level)))


def lint_draft(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> tuple[Finding, ...]:
    """Return all faults of an unchecked draft, or else what `lint` finds."""
    faults = tuple(
        Finding("error", kind, str(fault), remedy)
        for kind, fault, remedy in find_faults(model, cost_unit, constraint_units)
    )
    if faults:
        return faults
    return (*lint(settle(model), cost_unit, constraint_units), *_note_rows(model))


def _note_rows(model: Draft) -> Iterator[Finding]:
    off = np.abs(model.row_sums - 1.0)[np.diff(model.transitions.indptr) > 0]
    count = int(np.count_nonzero(off > ROUNDING))
    if count:
        message = f"{count} transition rows sum to 1 only within {off.max():.2g}"
        yield Finding("note", "row", f"{message} and are divided by their sums")


def _unreachable(model: Draft) -> Iterator[Finding]:
    reached = _find_reached(model)
    missing = np.flatnonzero(~reached)
    if missing.size:
        names = model.names["s"]
        first = [repr(names[s]) if names else str(s) for s in missing[:SHOWN]]
        more = f" and {missing.size - SHOWN} more" if missing.size > SHOWN else ""
        yield Finding(
            "warning",
            "states",
            f"{missing.size} of {reached.size} states are never reached: {', '.join(first)}{more}",
            "check the start and the transitions into them, or leave them out",
        )


def _find_reached(model: Draft) -> Bools:
    """States that some policy reaches at some stage, the arrival after the last step included."""
    p, mask = model.transitions, model.allowed
    here = model.initial > 0
    if model.discount is not None:
        n, S = p.indptr[0, -1], here.size
        source = np.repeat(np.arange(S), np.diff(p.indptr[0]).reshape(S, -1).sum(axis=1))
        used = p.data[0, :n] > 0
        return find_reached(source[used], p.indices[0, :n][used], here)
    ever = here.copy()
    for h in range(model.horizon):
        indptr, indices, data = (part[min(h, len(part) - 1)] for part in p)
        exists = mask[min(h, len(mask) - 1)] if len(mask) else np.True_
        leaving = np.broadcast_to(here[:, None], model.cost.shape[1:]) & exists
        entered = np.repeat(leaving.reshape(-1), np.diff(indptr)) & (data[: indptr[-1]] > 0)
        there = np.zeros_like(here)
        there[indices[: indptr[-1]][entered]] = True
        if len(p.indptr) == 1 and len(mask) <= 1 and not (there & ~ever).any():
            break  # successors of states reached before are reached already
        ever |= there
        here = there
    return ever


def _bounds(
    model: Draft, cost_unit: Unit, constraint_units: Sequence[Unit] | None
) -> Iterator[Finding]:
    extremes = _extremes(model)
    if extremes is None:
        length = f"the horizon {model.horizon} is too long"
        if model.discount is not None:
            length = "costs settle too slowly"
        words = "to compare budgets with what is attainable"
        yield Finding("note", "horizon", f"{length} {words}")
        return
    least, most = extremes
    if most[0] - least[0] <= CLOSE * most[0]:
        shown = digits(cost_unit.show(float(least[0])))
        message = f"every policy has the same expected {cost_unit.name}, {shown}"
        yield Finding("note", "objective", message)
    names = model.names["i"] or default_names(model.budget.size)
    for i, unit in enumerate(units_or_plain(constraint_units, model.budget.size)):
        ends = float(least[i + 1]), float(most[i + 1])
        is_zero = not model.constraint_cost[i].any()
        yield from _check_bound(repr(names[i]), unit, float(model.budget[i]), ends, is_zero)


def _check_bound(
    name: str, unit: Unit, budget: float, ends: tuple[float, float], is_zero: bool
) -> Iterator[Finding]:
    """Compare a budget or floor with the least and largest attainable totals."""
    least, most = ends
    near = CLOSE * max(abs(budget), LEAST * most)
    shown, low, high = unit.show(budget), unit.show(least), unit.show(most)
    gain = unit.is_maximized
    word = "floor" if gain else "budget"
    if least > budget + near:
        verb, end = ("reaches", "most") if gain else ("keeps", "least")
        message = (
            f"no policy {verb} the {word} of {name}: "
            f"the {end} attainable is {low:.6g}, the {word} is {shown:.6g}"
        )
        size = low - unit.shift  # without the shift, for rounding
        remedy = f"a budget of {round_up(low, size, low)} can be kept"
        if gain:
            reachable = digits(-float(round_up(-low, size, low)))
            remedy = f"a floor of {reachable} can be reached"
        yield Finding("error", "budget", message, remedy)
    elif is_zero:
        what = "at its best" if gain else "zero"
        message = f"constraint {name} is {what} for every state and action, it never binds"
        yield Finding("warning", "constraint", message, "leave it out, or check its values")
    elif most <= budget + near:
        limit = "every policy reaches" if gain else "no policy exceeds"
        message = f"the {word} of {name} never binds: {limit} {high:.6g}, the {word} is {shown:.6g}"
        yield Finding("warning", "budget", message, "tighten it, or leave the constraint out")
    elif least >= budget - near:
        message = f"the {word} of {name}, {shown:.6g}, leaves no slack: none does better"
        yield Finding("warning", "budget", message, "learning by prices needs some slack")


def _extremes(model: Draft) -> tuple[Floats, Floats] | None:
    """Least and most expected total of the cost and of each constraint, (I+1,) each.

    In a stationary model the smallest and the largest change of a total over one step bracket
    every change over the steps that remain. Once the two agree, those steps are added at once;
    None if they do not agree after many steps.
    """
    if model.discount is not None:
        return _lasting_extremes(model)
    I, H, S, A = model.shape
    mask, losses = model.allowed, (model.cost[None], model.constraint_cost)
    low, high = np.zeros((S, I + 1)), np.zeros((S, I + 1))
    n_layers = (len(model.transitions.indptr), len(mask), *(x.shape[1] for x in losses))
    is_stationary = max(n_layers) == 1
    kernel: Any = None
    last = -1
    for h in reversed(range(H)):
        g = min(h, len(model.transitions.indptr) - 1)
        if g != last:
            kernel, last = matrix_of(model.transitions, g, S), g
        loss = np.concatenate([x[:, min(h, x.shape[1] - 1)] for x in losses])
        Q = (kernel @ np.hstack((low, high))).reshape(S, A, 2, I + 1)
        Q += loss.transpose(1, 2, 0)[:, :, None]
        if len(mask):
            missing = ~mask[min(h, len(mask) - 1)]
            Q[missing, 0], Q[missing, 1] = np.inf, -np.inf
        before = np.hstack((low, high))
        low, high = Q[:, :, 0].min(axis=1), Q[:, :, 1].max(axis=1)
        done = H - h
        if is_stationary and done % LOOK == 0:
            change = np.hstack((low, high)) - before
            if (np.ptp(change, axis=0) <= AGREED + ROUNDED * done).all():
                per_step = change.mean(axis=0)
                low, high = low + h * per_step[: I + 1], high + h * per_step[I + 1 :]
                break
            if done >= MOST_SWEPT:
                return None
    return model.initial @ low, model.initial @ high


def _lasting_extremes(model: Draft) -> tuple[Floats, Floats] | None:
    """`_extremes` of an infinite-horizon model, by value iteration with the same brackets.

    Averages move by half a step, so that periodic chains settle too.
    """
    assert model.discount is not None
    I, _, S, A = model.shape
    discount, is_average = model.discount, model.discount == 1.0
    kernel = matrix_of(model.transitions, 0, S)
    losses = np.concatenate([model.cost[None], model.constraint_cost])[:, 0].transpose(1, 2, 0)
    both = np.zeros((S, 2 * (I + 1)))
    for done in range(1, MOST_SWEPT + 1):
        Q = discount * (kernel @ both).reshape(S, A, 2, I + 1) + losses[:, :, None]
        if len(model.allowed):
            Q[~model.allowed[0], 0], Q[~model.allowed[0], 1] = np.inf, -np.inf
        after = np.hstack((Q[:, :, 0].min(axis=1), Q[:, :, 1].max(axis=1)))
        change = after - both
        size = float(np.abs(both).max())
        if (np.ptp(change, axis=0) <= AGREED + ROUNDED * size).all():
            per_step = change.mean(axis=0)
            last = per_step if is_average else per_step / (1.0 - discount)
            totals = last if is_average else model.initial @ both + last
            return totals[: I + 1], totals[I + 1 :]
        both = both + 0.5 * (change - change[:1]) if is_average else after
        if done * kernel.nnz > MOST_WORK:
            return None
    return None


def _find_repeated(model: Draft) -> Iterator[Finding]:
    names = model.names["i"] or default_names(model.budget.size)
    first: dict[bytes, int] = {}
    for i, costs in enumerate(model.constraint_cost):
        j = first.setdefault(costs.tobytes(), i)
        if j != i:
            kept = j if model.budget[j] <= model.budget[i] else i
            yield Finding(
                "warning",
                "constraint",
                f"constraint {names[i]!r} has the same costs as {names[j]!r}; "
                f"only the smaller budget matters, that of {names[kept]!r}",
                f"leave out {names[i + j - kept]!r}",
            )


def find_faults(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> Iterator[tuple[str, ModelError, str]]:
    """Yield every kind of fault: a word for it, an error for the first bad entry, a remedy.

    The remedy is empty if only the author can know it.
    """
    own, units = [cost_unit or Unit()], units_or_plain(constraint_units, model.budget.size)
    costs, bounded = model.cost[None], model.constraint_cost
    checks: tuple[tuple[str, Callable[[], None], Callable[[], str]], ...] = (
        ("actions", lambda: _check_allowed(model), lambda: ALLOW),
        ("probability", lambda: _check_probabilities(model), lambda: _mend_probabilities(model)),
        ("row", lambda: _check_rows(model), lambda: _mend_rows(model)),
        (
            "cost",
            lambda: _check_costs(model, "cost", costs, own),
            lambda: _mend_costs(model, "cost", costs, own),
        ),
        (
            "constraint cost",
            lambda: _check_costs(model, "constraint_cost", bounded, units),
            lambda: _mend_costs(model, "constraint_cost", bounded, units),
        ),
        (
            "budget",
            lambda: _check_range(model, "budget", model.budget, "i", _most(model), units),
            lambda: (
                f"a budget bounds {_bounded(model)}; leave out a constraint that may have any sum"
            ),
        ),
        ("start", lambda: _check_initial(model), lambda: _mend_initial(model)),
    )
    for kind, check, mend in checks:
        try:
            check()
        except ModelError as fault:
            yield kind, fault, mend()


def _most(model: Draft) -> float:
    """Return the largest budget; 1 / (1 - discount) is rounded, so that 20 is one for 0.95."""
    return model.steps if model.discount is None else model.steps * (1.0 + ROUNDING)


def _bounded(model: Draft) -> str:
    """Return what a budget bounds, in words."""
    if model.criterion == "average":
        return "the average per step in the long run"
    if model.criterion == "discounted":
        return f"the expected discounted sum, at most 1 / (1 - discount) = {model.steps:.9g}"
    return f"the expected sum over all {model.steps:.9g} steps"


def _check_allowed(model: Draft) -> None:
    found = find_first(~model.allowed.any(axis=2), "states")
    if found is not None:
        index, axes = (found[0], "hs") if model.allowed.shape[0] > 1 else (found[0][1:], "s")
        where = entry("allowed", index, axes, model.names)
        raise ModelError.about(
            where, verb="allows", shown="no action", expected="at least one", more=found[1]
        )


def _check_probabilities(model: Draft) -> None:
    p = model.transitions
    inside = np.arange(p.data.shape[1]) < p.indptr[:, -1:]
    for bad, expected in (
        (~np.isfinite(p.data), "a finite number"),
        (p.data < 0, "a probability of at least 0"),
    ):
        found = find_first(bad & inside)
        if found is not None:
            (g, e), more = found
            row = int(np.searchsorted(p.indptr[g], e, side="right")) - 1
            where = _pair(model, g, row, int(p.indices[g, e]))
            raise ModelError.about(
                where,
                verb="is",
                found=p.data[g, e],
                shown=number(p.data[g, e]),
                expected=expected,
                more=more,
            )


def _check_rows(model: Draft) -> None:
    sums = model.row_sums
    needed = at_stages(model.allowed, len(sums)).reshape(sums.shape) & ~np.isnan(sums)
    found = find_first(needed & ~(np.abs(sums - 1.0) <= ROW_TOLERANCE), "rows")
    if found is not None:
        where, total = _pair(model, *found[0]), float(sums[found[0]])
        raise ModelError.about(
            where,
            verb="sums to",
            found=total,
            shown=f"{total:.9g}",
            expected=f"1 within {ROW_TOLERANCE:g}",
            more=found[1],
        )


def _pair(model: Draft, g: int, row: int, t: int | None = None) -> str:
    A = model.shape[3]
    index, axes = [row // A, row % A], "sa"
    if model.transitions.indptr.shape[0] > 1:
        index, axes = [g, *index], "h" + axes
    if t is not None:
        index, axes = [*index, t], axes + "t"
    return entry("transition", index, axes, model.names)


def _check_costs(model: Draft, name: str, values: Floats, units: Sequence[Unit]) -> None:
    """Check costs (I, G, S, A); axes of length one that the user did not give are not named."""
    axes = "ihsa" if name == "constraint_cost" else "hsa"
    shown = values if len(axes) == 4 else values[0]
    if values.shape[1] == 1:
        axes, shown = axes.replace("h", ""), shown.squeeze(axes.index("h"))
    _check_range(model, name, shown, axes, 1, units)


def _check_range(
    model: Draft, name: str, values: Floats, axes: str, most: float, units: Sequence[Unit]
) -> None:
    """Raise unless all values lie in ``[0, most]``; the error gives them in their units."""
    require_finite(name, values, axes, model.names)
    found = find_first(~((values >= 0) & (values <= most)))
    if found is None:
        return
    index, more = found
    unit = units[index[0] if axes[0] == "i" else 0]
    shift = unit.shift * most / model.steps
    low, high = sorted((shift, shift + unit.factor * most))
    value = float(values[index]) if unit.is_plain else shift + unit.factor * float(values[index])
    shown = number(value) if unit.is_plain else f"{value:.9g}"
    where = entry(name, index, axes, model.names)
    raise ModelError.about(
        where,
        verb="is",
        found=value,
        shown=shown,
        expected=f"a number in [{low:g}, {high:g}]",
        more=more,
    )


def _check_initial(model: Draft) -> None:
    require_finite("initial", model.initial, "s", model.names)
    require_range("initial", model.initial, 0.0, 1.0 + ROW_TOLERANCE, "s", model.names)
    total = float(model.initial.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise ModelError.about(
            "initial",
            verb="sums to",
            found=total,
            shown=f"{total:.9g}",
            expected=f"1 within {ROW_TOLERANCE:g}",
        )


def _mend_probabilities(model: Draft) -> str:
    p = model.transitions.data
    small = np.isfinite(p).all() and p.min() > -DUST
    return "set them to 0 and divide each row by its sum" if small else ""


def _mend_initial(model: Draft) -> str:
    total = model.initial.sum()
    positive = np.isfinite(total) and total > 0 and (model.initial >= 0).all()
    return f"divide it by its sum, {total:.6g}" if positive else ""


def _mend_rows(model: Draft) -> str:
    sums = model.row_sums
    needed = at_stages(model.allowed, len(sums)).reshape(sums.shape)
    empty = needed & (np.diff(model.transitions.indptr) == 0)
    off = np.where(needed & np.isfinite(sums), np.abs(sums - 1.0), 0.0)
    if empty.any():
        count = int(np.count_nonzero(empty))
        return f"{count} rows are empty: fill them, or forbid those actions with allowed="
    worst = float(sums.flat[int(np.argmax(off))])
    if off.max() <= WEIGHTS:
        return f"divide each row by its sum; the worst is off by {abs(worst - 1.0):.3g}"
    short = f"misses {1.0 - worst:.6g}" if worst < 1.0 else f"has {worst - 1.0:.6g} too much"
    count = int(np.count_nonzero(off > ROW_TOLERANCE))
    return (
        f"the worst of {count} rows {short}: correct it, "
        "or divide each row by its sum if these are weights"
    )


def _mend_costs(model: Draft, word: str, values: Floats, units: Sequence[Unit]) -> str:
    """Return the rescaling that brings costs (I, G, S, A) into [0, 1]."""
    if not np.isfinite(values).all():
        return "give a number, or forbid actions that do not exist with allowed="
    ranges = []
    for block, unit in zip(values, units, strict=True):
        low, high = float(block.min()), float(block.max())
        is_inside = low >= 0.0 and high <= 1.0
        if not is_inside and not unit.is_plain:
            ends = (unit.shift / model.steps + unit.factor * x for x in (min(low, 0), max(high, 1)))
            least, most = sorted(ends)
            return f"widen the range of {unit.name!r} to [{least:.6g}, {most:.6g}]"
        ranges.append((0.0, 1.0) if is_inside else (min(low, 0.0), max(high, 0.0)))
    low, high = next((ends for ends in ranges if ends != (0.0, 1.0)), ranges[0])
    numerator = word if low == 0.0 else f"({word} + {-low:.6g})"
    pairs = [f"({low:.6g}, {high:.6g})" for low, high in ranges]
    is_cost = word == "cost"
    option = f"cost_range={pairs[0]}" if is_cost else f"constraint_range=[{', '.join(pairs)}]"
    kinds = {"episodes": "CMDP", "discounted": "DiscountedCMDP", "average": "AverageCMDP"}
    return (
        f"rescale: {numerator}/{high - low:.6g}; "
        f"{kinds[model.criterion]}.from_costs(..., {option}) does it "
        f"and keeps your units, as does range = [{low:.6g}, {high:.6g}] in a TOML file"
    )
