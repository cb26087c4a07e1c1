"""read_log: the episodes of a file or DataFrame, or its faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.arrays import Ints, check_names, check_table, flag
from tightrope.belief.episode import End, Episodes
from tightrope.errors import ConfigError, DataError, LogError
from tightrope.files import as_path
from tightrope.model.draft import required_horizon
from tightrope.model.files import in_file
from tightrope.model.units import Range
from tightrope.offline.log import Log
from tightrope.offline.quantities import COMMA, POINT, Quantity, find_quantities
from tightrope.offline.steps import (
    NEEDED,
    UTF8,
    Fault,
    Steps,
    open_steps,
    rename_columns,
    steps_of_frame,
)
from tightrope.offline.table import Assembled, NameIndex, assemble, build_table

END = "(end)"  # name of the state of finished episodes
SHOWN = 3  # faults in an error message
LONGEST = 300  # most digits of a name sorted as a number


def read_log(
    source: str | PathLike[str] | Any,
    horizon: int | None = None,
    constraints: Sequence[str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    states: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    terminal: Sequence[str] = (),
    skip_bad: bool = False,
    columns: Mapping[str, str] | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Log:
    r"""Read logged episodes.

    One row is one step, with the columns ``episode``, ``step`` (from 0 or 1), ``state``,
    ``action``, ``next_state``, ``cost`` (or ``reward``, which is maximized), a column for each
    constraint, and optionally ``done``, true in the last step of an episode. Upper and lower case
    in these names are the same. An empty ``next_state`` is the state of the next row; in the last
    row of an episode it may be empty if ``done`` is true, and then the column may be left out.

    Parameters
    ----------
    source : path or DataFrame
        A file whose name ends in ``.csv``, ``.tsv``, ``.xlsx`` (the first sheet), ``.parquet``,
        ``.jsonl`` or ``.ndjson``, or a pandas DataFrame with one step per row.
    horizon : int, optional
        Number of steps H; by default the length of the longest episode without a gap, a repeated
        step or a jump.
    constraints : sequence of str, optional
        Names of the constraints: the column of ``risk`` is ``cost_risk`` or ``risk``. By default
        all columns that begin with ``cost_``.
    ranges : mapping of str to (float, float), optional
        Least and greatest value of one step, by ``"cost"`` (or ``"reward"``) and the constraints'
        names; (0, 1) by default.
    states : sequence of str, optional
        Names of all states; by default those in the log.
    actions : sequence of str, optional
        The same for the actions.
    terminal : sequence of str
        States in which an episode ends, as if ``done`` were true.
    skip_bad : bool
        Exclude and count episodes with faults instead of raising an error.
    columns : mapping of str to str, optional
        The column of the log by the name that it has above: ``{"state": "machine"}``.
    decimal : str, optional
        How numbers in text are written: ``","`` for ``1.234,5``, ``"."`` for ``1,234.5``. By
        default ``1234.5``, and other forms are errors.
    encoding : str, optional
        Encoding of a text file; UTF-8 by default.

    Returns
    -------
    Log
        The episodes, checked.

    Raises
    ------
    LogError
        If rows are invalid: unknown names, costs outside their range, missing steps, incomplete
        episodes. The message has the first faults, ``faults`` all of them.
    ModelError
        If the file cannot be read, or a column is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> rows = ["episode,step,state,action,next_state,cost,cost_wear"]
    >>> rows += ["1,0,new,run,worn,0,0.5", "1,1,worn,stop,worn,1,0", "2,0,new,stop,new,1,0"]
    >>> rows += ["2,1,new,run,new,0,0.5"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     log = tr.read_log(path)
    >>> log
    Log(2 episodes of 2 steps, 2 states, 2 actions)
    >>> log.state_names, log.action_names
    (('new', 'worn'), ('run', 'stop'))
    """
    renamed = check_table("columns", columns)
    for name, column in renamed.items():
        if not isinstance(column, str):
            raise ConfigError.about(f"column of {name!r}", found=column, expected="a name")
    if decimal not in (None, POINT, COMMA):
        raise ConfigError.about("decimal", found=decimal, expected="',' or '.'")
    is_frame = hasattr(source, "columns") and hasattr(source, "iloc")
    file = Path("DataFrame") if is_frame else as_path("source", source)
    bounded = None if constraints is None else check_names("constraints", constraints)
    ends, skip_bad = check_names("terminal", terminal), flag("skip_bad", skip_bad)
    limits = check_table("ranges", ranges)
    indices = {
        "episode": NameIndex(),
        "state": NameIndex(None if states is None else check_names("states", states)),
        "action": NameIndex(None if actions is None else check_names("actions", actions)),
    }
    with in_file(file):
        steps = steps_of_frame(source) if is_frame else open_steps(file, encoding or UTF8)
        steps = rename_columns(steps, renamed)
        quantities = find_quantities(steps, bounded, limits, decimal)
        wanted = [name for name in (*NEEDED, "done") if name in steps.columns]
        wanted += [quantity.column for quantity in quantities]
        faults: list[Fault] = []
        table = build_table(steps.read(wanted), indices, quantities, set(ends), faults)
        H = None if horizon is None else required_horizon(horizon)
        whole = assemble(table, H, indices, set(ends), steps.place, faults)
        if faults and not skip_bad:
            n_episodes = len(indices["episode"].numbers) - 1
            raise LogError(_describe(faults, steps.place), tuple(sorted(faults)), n_episodes)
        if not len(whole.states):
            raise DataError("no whole episode")
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
    named = {fault.episode for fault in faults if fault.episode}
    nameless = sum(not fault.episode for fault in faults)
    return Log(
        _scaled=Episodes(
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
        _end=end,
        faults=tuple(sorted(faults)),
        n_left_out=len(named) + (nameless if steps.layout == "episodes" else 0),
        place=steps.place,
        layout=steps.layout,
        first_step=whole.first_step,
    )


def _use(index: NameIndex, numbers: Ints) -> tuple[tuple[str, ...], Ints]:
    """Return names in order and, by number in the index, their position."""
    known = list(index.numbers)
    used: Any = np.arange(1, len(known))
    if index.is_open:
        used = sorted(np.unique(numbers).tolist(), key=lambda number: _order(known[number]))
    place = np.zeros(len(known), dtype=np.int64)
    place[used] = np.arange(len(used))
    return tuple(known[number] for number in used), place


def _order(name: str) -> tuple[bool, int, str]:
    """Return a sort key: integers by size, then other names alphabetically."""
    is_number = name.isdecimal() and name.isascii() and len(name) <= LONGEST
    return not is_number, int(name) if is_number else 0, name


def _scale_zero(quantity: Quantity) -> float:
    """Return zero on the internal scale: the cost of an episode after its end."""
    zero = quantity.scale(np.zeros(1))
    if not 0.0 <= zero[0] <= 1.0:
        raise ConfigError.about(
            f"range of {quantity.name!r}",
            shown=f"[{quantity.low:g}, {quantity.high:g}]",
            more=" does not hold 0, the cost of steps after the end",
        )
    return float(zero[0])
