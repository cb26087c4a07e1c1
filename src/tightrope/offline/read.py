"""read_log: episodes from CSV, Parquet or JSON Lines, or the lines that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from tightrope.arrays import Ints, check_names, check_table, flag
from tightrope.belief.episode import End, Episodes
from tightrope.errors import LogError, ModelError
from tightrope.files import as_path
from tightrope.model.draft import required_horizon
from tightrope.model.files import in_file
from tightrope.model.units import Range
from tightrope.offline.log import Log
from tightrope.offline.steps import NEEDED, Fault, Steps, open_steps
from tightrope.offline.table import (
    Assembled,
    NameIndex,
    Quantity,
    assemble,
    build_table,
    find_quantities,
)

END = "(end)"  # name of the state of episodes that are over
SHOWN = 3  # faults in an error message
LONGEST = 300  # digits of a name that is sorted as a number


def read_log(
    path: str | PathLike[str],
    horizon: int | None = None,
    constraints: Sequence[str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    states: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    terminal: Sequence[str] = (),
    skip_bad: bool = False,
) -> Log:
    """Read logged episodes.

    One row is one step, with the columns ``episode``, ``step`` (from 0 or 1), ``state``,
    ``action``, ``next_state``, ``cost`` (or ``reward``, which is maximized), a column for each
    constraint, and optionally ``done``, true in the step after which the process is over.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.parquet``, ``.jsonl`` or ``.ndjson``.
    horizon : int, optional
        Number of steps H; when not given, the length of the longest episode without a gap, a
        repeated step or a jump.
    constraints : sequence of str, optional
        Names of the constraints: of ``risk``, the column is ``cost_risk`` or ``risk``. All columns
        that begin with ``cost_`` when not given.
    ranges : mapping of str to (float, float), optional
        Least and greatest value of one step, by ``"cost"`` (or ``"reward"``) and the constraints'
        names; (0, 1) for those not listed.
    states : sequence of str, optional
        Names of all states; those that the log has when not given.
    actions : sequence of str, optional
        The same for the actions.
    terminal : sequence of str
        States in which an episode is over, as if ``done`` were true.
    skip_bad : bool
        Leave out episodes that have a fault, and count them, instead of raising an error.

    Raises
    ------
    LogError
        When rows cannot be right: unknown names, costs outside their range, steps that are missing,
        episodes that break off. The message gives the first lines, ``faults`` has them all.
    ModelError
        When the file cannot be read, or a column is missing.
    """
    file = as_path("path", path)
    bounded = None if constraints is None else check_names("constraints", constraints)
    ends, skip_bad = check_names("terminal", terminal), flag("skip_bad", skip_bad)
    limits = check_table("ranges", ranges)
    indices = {
        "episode": NameIndex(),
        "state": NameIndex(None if states is None else check_names("states", states)),
        "action": NameIndex(None if actions is None else check_names("actions", actions)),
    }
    with in_file(file):
        steps = open_steps(file)
        quantities = find_quantities(steps, bounded, limits)
        wanted = [*NEEDED, *(["done"] if "done" in steps.columns else [])]
        wanted += [quantity.column for quantity in quantities]
        faults: list[Fault] = []
        table = build_table(steps.read(wanted), indices, quantities, set(ends), faults)
        H = None if horizon is None else required_horizon(horizon)
        whole = assemble(table, H, indices, steps.place, faults)
        if faults and not skip_bad:
            raise LogError(_describe(faults, steps.place), tuple(sorted(faults)))
        if not len(whole.states):
            raise ModelError("no whole episode")
        return _make_log(whole, indices, quantities, faults, steps)


def _describe(faults: list[Fault], word: str) -> str:
    first = sorted(faults)[:SHOWN]
    shown = "; ".join(
        f"{word} {fault.place}{f' (episode {fault.episode})' if fault.episode else ''}: "
        f"{fault.message}"
        for fault in first
    )
    more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return f"{len(faults)} faults: {shown}{more}" if len(faults) > 1 else shown


def _make_log(
    whole: Assembled,
    indices: dict[str, NameIndex],
    quantities: Sequence[Quantity],
    faults: list[Fault],
    steps: Steps,
) -> Log:
    H = whole.actions.shape[1]
    waits = np.arange(H) >= whole.n_steps[:, None]  # (K, H)
    after = np.hstack((waits, whole.states[:, H:] == 0))  # (K, H+1)
    action_names, number_of_action = _use(indices["action"], whole.actions[~waits])
    state_names, number_of_state = _use(indices["state"], whole.states[~after])
    end, cost = None, whole.cost
    if after.any():
        end_cost = np.array([_scale_zero(quantity) for quantity in quantities])
        end, end_name = End(len(state_names), end_cost), END
        while end_name in state_names:
            end_name = f"({end_name})"
        state_names = (*state_names, end_name)
        cost = np.where(waits[:, None, :], end_cost[:, None], cost)
    at = len(state_names) - 1
    return Log(
        episodes=Episodes(
            np.where(after, at, number_of_state[whole.states]),
            np.where(waits, 0, number_of_action[whole.actions]),
            np.ascontiguousarray(cost[:, 0]),
            np.ascontiguousarray(cost[:, 1:]),
        ),
        episode_names=tuple(whole.names),
        state_names=state_names,
        action_names=action_names,
        constraint_names=tuple(quantity.name for quantity in quantities[1:]),
        cost_unit=quantities[0].unit(H),
        constraint_units=tuple(quantity.unit(H) for quantity in quantities[1:]),
        end=end,
        faults=tuple(sorted(faults)),
        n_left_out=_count_left_out(faults, steps.layout),
        place=steps.place,
        layout=steps.layout,
    )


def _use(index: NameIndex, numbers: Ints) -> tuple[tuple[str, ...], Ints]:
    """Names in order and, by number in the index, their position."""
    known = list(index.numbers)
    used: Any = np.arange(1, len(known))
    if index.is_open:
        used = sorted(np.unique(numbers).tolist(), key=lambda number: _order(known[number]))
    place = np.zeros(len(known), dtype=np.int64)
    place[used] = np.arange(len(used))
    return tuple(known[number] for number in used), place


def _order(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, then words by alphabet."""
    is_number = name.isdecimal() and name.isascii() and len(name) <= LONGEST
    return not is_number, int(name) if is_number else 0, name


def _scale_zero(quantity: Quantity) -> float:
    """Where zero lies in a range: the cost of an episode after its end."""
    zero = quantity.scale(np.zeros(1))
    if not 0.0 <= zero[0] <= 1.0:
        raise ModelError(
            f"range of {quantity.name!r}: [{quantity.low:g}, {quantity.high:g}] does not hold 0, "
            "which episodes that are over go on with"
        )
    return float(zero[0])


def _count_left_out(faults: Iterable[Fault], layout: str) -> int:
    named = {fault.episode for fault in faults if fault.episode}
    nameless = sum(not fault.episode for fault in faults)
    return len(named) + (nameless if layout == "episodes" else 0)
