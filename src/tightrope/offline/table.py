"""Assembly of rows into episodes.

Names become numbers and costs are scaled to [0, 1]; an invalid row is a `Fault`. Rows are then
assembled into episodes; an episode with a bad row, a gap or a jump is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.offline.quantities import Extent, Quantity, numbers_of, require_ranges
from tightrope.offline.steps import NAMES, NEXT, Block, Fault
from tightrope.text import guess

MISSING = 0  # number of the empty name
UNKNOWN = -1
NO_STEP = np.iinfo(np.int64).min
TRUE, FALSE = {"true", "1", "yes", "t", "y"}, {"", "false", "0", "no", "f", "n"}
MESSAGES = {
    "late": "the episode begins with step {step}, expected {first}",
    "twice": "step {step} again, after {place}",
    "gap": "step {step} after step {before}: the steps between are missing",
    "goes on": "the episode continues, but it had ended at {place}",
    "jump": "state {state!r}, but {place} went to {other!r}",
    "long": "step {step} is past the horizon of {horizon} steps",
    "open": "next_state is missing in the last step: give the state after it, or done as true",
    "short": "the episode ends after {length} of {horizon} steps without done or a terminal state",
}


@final
class NameIndex:
    """Names and their numbers, from 1; open to new names unless a list of names was given."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.is_open = names is None
        self.numbers = {"": MISSING}
        for name in names or ():
            self.numbers.setdefault(name, len(self.numbers))

    def enter(self, values: Sequence[str]) -> Ints:
        """Return the numbers of some names."""
        numbers = self.numbers
        if self.is_open:
            found = [numbers.setdefault(value, len(numbers)) for value in values]
        else:
            found = [numbers.get(value, UNKNOWN) for value in values]
        return np.array(found, dtype=np.int32)

    def complain(self, column: str, value: str) -> str:
        """Return why a name is invalid."""
        if not value:
            return f"{column} is missing"
        return f"{column} {value!r} is unknown{guess(value, self.numbers)}"


class Table(NamedTuple):
    """The rows of a log; numbers of names begin at 1, rows with faults are not good."""

    place: Ints  # (N,)
    episode: Ints  # (N,)
    step: Ints  # (N,)
    state: Ints  # (N,)
    action: Ints  # (N,)
    next_state: Ints  # (N,), 0 after the last step of an episode, and if not given
    is_over: Bools  # (N,)
    cost: Floats  # (N, I+1) on [0, 1]
    is_good: Bools  # (N,)

    def rows(self, which: Ints) -> Table:
        """Return some of the rows."""
        columns: Any = (column[which] for column in self)
        return Table(*columns)


def build_table(
    blocks: Iterable[Block],
    indices: Mapping[str, NameIndex],
    quantities: Sequence[Quantity],
    terminal: Collection[str],
    faults: list[Fault],
) -> Table:
    """Return all rows of a log; faults of rows are added to ``faults``.

    ``indices`` of episodes, states and actions get new names if they are open; ``terminal`` lists
    the states in which an episode ends. If most values of a quantity are none or lie outside its
    range, a `LogError` names the cause.
    """
    extents = [Extent() for _ in quantities]
    parts = [_build_part(block, indices, quantities, extents, terminal, faults) for block in blocks]
    for quantity, extent in zip(quantities, extents, strict=True):
        extent.require_decimal(quantity, faults)
    require_ranges(extents, quantities, faults)
    return Table(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _build_part(
    block: Block,
    indices: Mapping[str, NameIndex],
    quantities: Sequence[Quantity],
    extents: Sequence[Extent],
    terminal: Collection[str],
    faults: list[Fault],
) -> Table:
    columns, n = block.columns, len(block.places)
    faults.extend(block.faults)
    is_good = np.ones(n, dtype=np.bool_)

    def refuse(column: str, bad: Bools, complain: Callable[[Any], str]) -> None:
        """Report faults of rows without earlier faults."""
        for at in np.flatnonzero(bad & is_good).tolist():
            message = complain(columns[column][at])
            faults.append(Fault(block.places[at], columns["episode"][at], message))
        is_good[bad] = False

    columns = {NEXT: [""] * n, **columns}
    is_last = np.array([name in terminal for name in columns[NEXT]], dtype=np.bool_)
    over = is_last
    if "done" in columns:
        done, bad = _flags(columns["done"])
        refuse("done", bad, "done {!r}, expected true or false".format)
        over = is_last | done
    numbers = {}
    for column in NAMES:
        index = indices["state" if column == NEXT else column]
        numbers[column] = index.enter(columns[column])
        # the next row has a missing next state, and the last step may need none
        bad = numbers[column] < MISSING + (column != NEXT)
        refuse(column, bad, partial(index.complain, column))
    numbers[NEXT][is_last] = MISSING
    step = _whole(columns["step"])
    refuse("step", step == NO_STEP, "step {!r}, expected a whole number".format)
    cost = np.empty((n, len(quantities)))
    for i, quantity in enumerate(quantities):
        values = quantity.read(columns[quantity.column])
        extents[i].add(values, columns[quantity.column], quantity)
        cost[:, i] = quantity.scale(values)
        bad = ~((cost[:, i] >= 0.0) & (cost[:, i] <= 1.0))
        refuse(quantity.column, bad, quantity.complain)
    places = np.array(block.places, dtype=np.int32)
    return Table(place=places, step=step, is_over=over, cost=cost, is_good=is_good, **numbers)


def _flags(values: Sequence[Any]) -> tuple[Bools, Bools]:
    words = {value: str(value).strip().lower().removesuffix(".0") for value in set(values)}
    over = [words[value] in TRUE for value in values]
    bad = [words[value] not in TRUE | FALSE for value in values]
    return np.array(over, dtype=np.bool_), np.array(bad, dtype=np.bool_)


def _whole(values: Sequence[Any]) -> Ints:
    numbers = numbers_of(values)
    is_whole = (np.abs(numbers) < 2**53) & (numbers == np.rint(numbers))
    return np.where(is_whole, np.where(is_whole, numbers, 0.0).astype(np.int64), NO_STEP)


class Assembled(NamedTuple):
    """Complete episodes in the numbers of the table; ``n_steps`` is below H if one ended early."""

    states: Ints  # (K, H+1), 0 after the end
    actions: Ints  # (K, H), 0 after the end
    cost: Floats  # (K, I+1, H)
    n_steps: Ints  # (K,)
    names: list[str]  # K, of the episodes
    first_step: int  # number of the first step of an episode, 0 or 1


def assemble(
    table: Table,
    horizon: int | None,
    indices: Mapping[str, NameIndex],
    terminal: Collection[str],
    word: str,
    faults: list[Fault],
) -> Assembled:
    """Return the episodes of a log, in the order in which they first appear.

    Without ``horizon``, H is the length of the longest valid episode. ``word`` is the unit of
    places, ``"line"`` or ``"row"``; faults of episodes are added to ``faults``.
    """
    kept = np.flatnonzero(_in_good_episodes(table))
    kept = kept[np.lexsort((table.step[kept], table.episode[kept]))]
    t = table.rows(kept)
    starts = np.flatnonzero(np.diff(t.episode, prepend=-1))
    t = _derive_next(t, starts, {indices["state"].numbers.get(name, UNKNOWN) for name in terminal})
    lengths = np.diff(starts, append=t.episode.size)
    position = np.arange(t.episode.size) - np.repeat(starts, lengths)
    broken = np.zeros(starts.size, dtype=np.bool_)
    names, states = list(indices["episode"].numbers), list(indices["state"].numbers)
    first = int((t.step[starts] == 1).sum() > (t.step[starts] == 0).sum())
    unsound = _find_unsound(t, position, first)
    H = _longest(unsound, starts, lengths) if horizon is None else horizon
    for at, kind in _first_faults(t, starts, lengths, position, unsound, H).items():
        message = MESSAGES[kind].format(
            step=t.step[at],
            first=first,
            before=t.step[at - 1],
            place=f"{word} {t.place[at - 1]}",
            state=states[t.state[at]],
            other=states[t.next_state[at - 1]],
            length=position[at] + 1,
            horizon=H,
        )
        faults.append(Fault(int(t.place[at]), names[t.episode[at]], message))
        broken[np.searchsorted(starts, at, side="right") - 1] = True
    called = [names[number] for number in t.episode[starts[~broken]].tolist()]
    return _fill(t, starts[~broken], lengths[~broken], called, first, H)


def _in_good_episodes(table: Table) -> Bools:
    """Return which rows belong to episodes without bad rows."""
    spoiled = np.zeros(int(table.episode.max(initial=0)) + 1, dtype=np.bool_)
    spoiled[table.episode[~table.is_good & (table.episode >= 0)]] = True
    return np.asarray(table.is_good & ~spoiled[np.maximum(table.episode, 0)])


def _derive_next(t: Table, starts: Ints, terminal: Collection[int]) -> Table:
    """Return the rows, in order, with the state of the next row where a next state is missing."""
    is_within = np.ones(t.episode.size, dtype=np.bool_)
    is_within[starts[1:] - 1] = is_within[-1:] = False  # not in the last row of an episode
    open_rows = is_within & ~t.is_over & (t.next_state == MISSING)
    next_state = np.where(open_rows, np.roll(t.state, -1), t.next_state)
    ends = open_rows & np.isin(next_state, list(terminal))
    return t._replace(next_state=next_state, is_over=t.is_over | ends)


def _find_unsound(t: Table, position: Ints, first: int) -> dict[str, Bools]:
    """Return, by kind of fault, rows that do not follow from the row before."""
    is_first = position == 0
    before = np.roll(t.step, 1)
    return {
        "late": is_first & (t.step != first),
        "twice": ~is_first & (t.step == before),
        "gap": ~is_first & (t.step > before + 1),
        "goes on": ~is_first & np.roll(t.is_over, 1),
        "jump": ~is_first & (np.roll(t.next_state, 1) != t.state),
    }


def _longest(unsound: dict[str, Bools], starts: Ints, lengths: Ints) -> int:
    """Return the length of the longest valid episode, or of the longest if none is valid."""
    if not starts.size:
        return 1
    is_sound = ~np.logical_or.reduceat(np.any(list(unsound.values()), axis=0), starts)
    return int(lengths[is_sound if is_sound.any() else slice(None)].max())


def _first_faults(
    t: Table, starts: Ints, lengths: Ints, position: Ints, unsound: dict[str, Bools], H: int
) -> dict[int, str]:
    """Return row and kind of the first fault of each incomplete episode."""
    last = np.zeros(t.episode.size, dtype=np.bool_)
    last[starts + lengths - 1] = True
    short = last & ~t.is_over & (position + 1 < H)
    is_open = last & ~t.is_over & (t.next_state == MISSING)
    episode = np.cumsum(position == 0) - 1
    found: dict[int, tuple[int, str]] = {}
    for kind, rows in {**unsound, "long": position == H, "open": is_open, "short": short}.items():
        for at in np.flatnonzero(rows).tolist():
            k = int(episode[at])
            if k not in found or at < found[k][0]:
                found[k] = (at, kind)
    return dict(found.values())


def _fill(t: Table, starts: Ints, lengths: Ints, names: list[str], first: int, H: int) -> Assembled:
    K, quantities = starts.size, t.cost.shape[1]
    states = np.zeros((K, H + 1), dtype=np.int64)
    actions = np.zeros((K, H), dtype=np.int64)
    cost = np.zeros((K, quantities, H))
    k = np.repeat(np.arange(K), lengths)
    h = np.arange(k.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(starts, lengths) + h
    states[k, h], actions[k, h] = t.state[rows], t.action[rows]
    cost[k, :, h] = t.cost[rows]
    ends = starts + lengths - 1
    goes_on = lengths == H
    if not (goes_on & t.is_over[ends]).all():  # if all are over at H, only the time is out
        goes_on &= ~t.is_over[ends]
    states[goes_on, H] = t.next_state[ends[goes_on]]
    return Assembled(states, actions, cost, lengths, names, first)
