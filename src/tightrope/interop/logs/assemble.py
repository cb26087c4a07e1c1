"""Rows put together to episodes; an episode with a gap, a jump or a bad row is not used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.interop.logs.blocks import Fault
from tightrope.interop.logs.table import NameBook, Table

WORDS = {
    "late": "the episode begins with step {step}, expected {first}",
    "twice": "step {step} again, after {place}",
    "gap": "step {step} after step {before}: what lies between is missing",
    "goes on": "the episode goes on, but {place} said that it was over",
    "jump": "state {state!r}, but {place} went to {other!r}",
    "long": "step {step} is past the horizon of {horizon} steps",
    "short": "the episode ends after {length} of {horizon} steps and was not over",
}


class Assembled(NamedTuple):
    """Whole episodes in the numbers of the table; ``n_steps`` is below H where one was over."""

    states: Ints  # (K, H+1), 0 after the end
    actions: Ints  # (K, H), 0 after the end
    cost: Floats  # (K, I+1, H)
    n_steps: Ints  # (K,)
    names: list[str]  # K, of the episodes


def assembled(
    table: Table, horizon: int | None, books: dict[str, NameBook], word: str, faults: list[Fault]
) -> Assembled:
    """The episodes of a log, in the order in which they first appear.

    Parameters
    ----------
    table : Table
        All rows, in any order.
    horizon : int or None
        Number of steps H; when not given, of the longest episode that is sound as far as it goes.
    books : dict of str to NameBook
        Of episodes and states.
    word : str
        What places are: ``"line"`` or ``"row"``.
    faults : list of Fault
        Written: what is wrong with episodes.
    """
    kept = np.flatnonzero(_whole_ones(table))
    kept = kept[np.lexsort((table.step[kept], table.episode[kept]))]
    t = table.rows(kept)
    starts = np.flatnonzero(np.diff(t.episode, prepend=-1))
    lengths = np.diff(starts, append=t.episode.size)
    position = np.arange(t.episode.size) - np.repeat(starts, lengths)
    broken = np.zeros(starts.size, dtype=np.bool_)
    names, states = list(books["episode"].numbers), list(books["state"].numbers)
    first = int((t.step[starts] == 1).sum() > (t.step[starts] == 0).sum())
    unsound = _unsound(t, position, first)
    H = _longest(unsound, starts, lengths) if horizon is None else horizon
    for at, kind in _faulty(t, starts, lengths, position, unsound, H).items():
        message = WORDS[kind].format(
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
    return _filled(t, starts[~broken], lengths[~broken], called, H)


def _whole_ones(table: Table) -> Bools:
    """Rows whose episode has no bad row."""
    spoiled = np.zeros(int(table.episode.max(initial=0)) + 1, dtype=np.bool_)
    spoiled[table.episode[~table.is_good & (table.episode >= 0)]] = True
    return np.asarray(table.is_good & ~spoiled[np.maximum(table.episode, 0)])


def _unsound(t: Table, position: Ints, first: int) -> dict[str, Bools]:
    """By kind of fault the rows that do not follow from the row before, whatever the horizon."""
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
    """Number of rows of the longest sound episode, or of the longest when none is sound."""
    if not starts.size:
        return 1
    is_sound = ~np.logical_or.reduceat(np.any(list(unsound.values()), axis=0), starts)
    return int(lengths[is_sound if is_sound.any() else slice(None)].max())


def _faulty(
    t: Table, starts: Ints, lengths: Ints, position: Ints, unsound: dict[str, Bools], H: int
) -> dict[int, str]:
    """The first thing wrong with each episode that is not whole: row and kind."""
    last = np.zeros(t.episode.size, dtype=np.bool_)
    last[starts + lengths - 1] = True
    bad = {
        **unsound,
        "long": position == H,
        "short": last & ~t.is_over & (position + 1 < H),
    }
    episode = np.cumsum(position == 0) - 1
    found: dict[int, tuple[int, str]] = {}
    for kind, rows in bad.items():
        for at in np.flatnonzero(rows).tolist():
            k = int(episode[at])
            if k not in found or at < found[k][0]:
                found[k] = (at, kind)
    return dict(found.values())


def _filled(t: Table, starts: Ints, lengths: Ints, names: list[str], H: int) -> Assembled:
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
    if not (goes_on & t.is_over[ends]).all():  # were all over at H, no more than time would be out
        goes_on &= ~t.is_over[ends]
    states[goes_on, H] = t.next_state[ends[goes_on]]
    return Assembled(states, actions, cost, lengths, names)
