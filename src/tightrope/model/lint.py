"""The model linter: what looks wrong with a model, worst first.

What policies can make of a constraint is bracketed by two backward sweeps::

    least_h(s) = min_a d_h(s,a) + sum_t p_h(t|s,a) least_{h+1}(t)        (and max for the most)

A budget below the least can be kept by no policy, one above the most binds none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.model.csr import matrix_of
from tightrope.model.draft import ROUNDING, Draft, settle, unnamed
from tightrope.model.faults import named_faults
from tightrope.model.units import Unit, units_or_plain
from tightrope.text import digits, round_up

LEVELS = ("error", "warning", "note")
CLOSE = 1e-9  # totals nearer than this to a budget, relative to it, count as equal to it
LEAST = 1e-5  # of the largest possible total: what smaller budgets are measured by
AGREED = 1e-12  # changes of totals over a step that differ by less count as equal
ROUNDED = 1e-15  # rounding error of such a change, for each step before it
LOOK = 16  # steps between two comparisons of the changes
MOST_SWEPT = 100_000 // LOOK * LOOK  # steps after which budgets are not compared
SHOWN = 5  # names listed before "and n more"


@dataclass(frozen=True)
class Finding:
    """One thing that looks wrong.

    Parameters
    ----------
    level : {"error", "warning", "note"}
        An error makes the model unusable, a warning is likely a mistake, a note is worth knowing.
    subject : str
        What it is about, for example ``"budget"``.
    message : str
        What was found.
    remedy : str
        What to do about it; empty when that is up to the author.
    """

    level: Literal["error", "warning", "note"]
    subject: str
    message: str
    remedy: str = ""


def lint(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> tuple[Finding, ...]:
    """Return what looks wrong with a settled draft, worst first, in the units given."""
    bounds = _bounds(model, cost_unit or Unit(), constraint_units)
    found = *_unreachable(model), *bounds, *_repeated(model)
    return tuple(sorted(found, key=lambda finding: LEVELS.index(finding.level)))


def lint_draft(
    model: Draft, cost_unit: Unit | None = None, constraint_units: Sequence[Unit] | None = None
) -> tuple[Finding, ...]:
    """Return all faults of an unchecked draft, or else what `lint` finds."""
    faults = tuple(
        Finding("error", kind, str(fault), remedy)
        for kind, fault, remedy in named_faults(model, cost_unit, constraint_units)
    )
    if faults:
        return faults
    return (*lint(settle(model), cost_unit, constraint_units), *_check_rows(model))


def _check_rows(model: Draft) -> Iterator[Finding]:
    off = np.abs(model.row_sums - 1.0)[np.diff(model.transitions.indptr) > 0]
    count = int(np.count_nonzero(off > ROUNDING))
    if count:
        message = f"{count} transition rows sum to 1 only within {off.max():.2g}"
        yield Finding("note", "row", f"{message} and are divided by their sums")


def _unreachable(model: Draft) -> Iterator[Finding]:
    reached = _reached(model)
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


def _reached(model: Draft) -> Bools:
    """States that some policy reaches at some stage, the arrival after the last step included."""
    p, mask = model.transitions, model.allowed
    here = model.initial > 0
    ever = here.copy()
    for h in range(model.horizon):
        indptr, indices, data = (part[min(h, len(part) - 1)] for part in p)
        exists = mask[min(h, len(mask) - 1)] if len(mask) else np.True_
        leaving = np.broadcast_to(here[:, None], model.cost.shape[1:]) & exists
        entered = np.repeat(leaving.reshape(-1), np.diff(indptr)) & (data[: indptr[-1]] > 0)
        there = np.zeros_like(here)
        there[indices[: indptr[-1]][entered]] = True
        if len(p.indptr) == 1 and len(mask) <= 1 and not (there & ~ever).any():
            break  # what is entered from states reached before is reached already
        ever |= there
        here = there
    return ever


def _bounds(
    model: Draft, cost_unit: Unit, constraint_units: Sequence[Unit] | None
) -> Iterator[Finding]:
    extremes = _extremes(model)
    if extremes is None:
        words = "is too long to compare budgets with what is attainable"
        yield Finding("note", "horizon", f"the horizon {model.horizon} {words}")
        return
    least, most = extremes
    if most[0] - least[0] <= CLOSE * most[0]:
        shown = digits(cost_unit.show(float(least[0])))
        message = f"every policy has the same expected {cost_unit.name}, {shown}"
        yield Finding("note", "objective", message)
    names = model.names["i"] or unnamed(model.budget.size)
    for i, unit in enumerate(units_or_plain(constraint_units, model.budget.size)):
        ends = float(least[i + 1]), float(most[i + 1])
        is_zero = not model.constraint_cost[i].any()
        yield from _check_bound(repr(names[i]), unit, float(model.budget[i]), ends, is_zero)


def _check_bound(
    name: str, unit: Unit, budget: float, ends: tuple[float, float], is_zero: bool
) -> Iterator[Finding]:
    """Compare a budget, or a floor, with the least and the most that policies attain."""
    least, most = ends
    near = CLOSE * max(abs(budget), LEAST * most)
    shown, low, high = unit.show(budget), unit.show(least), unit.show(most)
    gain = unit.is_maximised
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


def _repeated(model: Draft) -> Iterator[Finding]:
    names = model.names["i"] or unnamed(model.budget.size)
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
