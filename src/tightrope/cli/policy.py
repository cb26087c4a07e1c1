"""A policy as a table: which action to take in which state, for the stages that reach it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.cli.screen import percent, say, table
from tightrope.errors import ConfigError

MOST_ROWS = 24  # without ``--policy full``
SAME = 1e-9  # probabilities that differ by less are shown as equal


class Row(NamedTuple):
    """Consecutive stages in which a state is reached and has the same actions."""

    state: int
    first: int
    last: int
    visits: float  # expected number, over these stages
    shares: Floats  # (A,) probabilities of the actions
    is_undecided: bool = False  # no action is preferred there


def rows_of(policy: Floats, occupancy: Floats, undecided: Bools | None = None) -> Iterator[Row]:
    """Return the policy in the states that it reaches, by state and stage.

    ``undecided`` marks stages and states in which no action is preferred, (H, S).
    """
    reached = occupancy.sum(axis=2)
    for s in np.flatnonzero((reached > 0).any(axis=0)).tolist():
        row: Row | None = None
        for h in np.flatnonzero(reached[:, s] > 0).tolist():
            shares, visits = policy[h, s], float(reached[h, s])
            is_undecided = undecided is not None and bool(undecided[h, s])
            is_same = row and row.last == h - 1 and row.is_undecided == is_undecided
            if row and is_same and np.abs(row.shares - shares).max() <= SAME:
                row = row._replace(last=h, visits=row.visits + visits)
                continue
            if row:
                yield row
            row = Row(s, h, h, visits, shares, is_undecided)
        if row:
            yield row


def check_policy_words(words: str) -> bool:
    """Whether ``--policy`` asks for the whole policy."""
    if words not in ("compact", "full"):
        raise ConfigError(f"--policy {words}: expected compact or full")
    return words == "full"


def show_policy(
    policy: Floats,
    occupancy: Floats | None,
    states: Sequence[str],
    actions: Sequence[str],
    is_full: bool = False,
    first: int = 0,
    undecided: Bools | None = None,
    visits: str = "expected visits",
    has_stages: bool = True,
) -> None:
    """Print the reached part of a policy; only the most visited rows unless all are requested.

    ``first`` is the number of the first stage. Without an occupancy all states count as reached,
    at all stages. ``undecided`` is as for `rows_of`, ``visits`` what the occupancy is.
    """
    which = "" if occupancy is None else " in the states that it reaches"
    stages = f" (stages count from {first})" if has_stages else ""
    say(f"\nPolicy{which}{stages}:")
    reached = np.ones_like(policy) if occupancy is None else occupancy
    rows = list(rows_of(policy, reached, undecided))
    shown = rows if is_full else sorted(rows, key=lambda row: -row.visits)[:MOST_ROWS]
    columns = ["state", *(["stages"] if has_stages else []), "action", visits]
    cells = [
        [
            states[row.state],
            *([_stages(row.first + first, row.last + first)] if has_stages else []),
            f"{mixture(row.shares, actions)}{' (or any)' if row.is_undecided else ''}",
            f"{row.visits:.3g}",
        ]
        for row in sorted(shown)
    ]
    if occupancy is None:
        table(columns[:-1], [row[:-1] for row in cells])
    else:
        table(columns, cells, numbers=columns[-1:])
    if any(row.is_undecided for row in shown):
        say("(or any): no action is preferred there yet, by what was told so far", style="dim")
    if len(shown) < len(rows):
        most = "" if occupancy is None else ", the most visited"
        say(
            f"({len(shown)} of {len(rows)} rows{most}; --policy full shows all)",
            style="dim",
        )


def _stages(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def mixture(shares: Floats, actions: Sequence[str]) -> str:
    """Return an action, or a mixture such as "go 25% / stay 75%"."""
    used = np.flatnonzero(shares > 0).tolist()
    if len(used) == 1:
        return actions[used[0]]
    return " / ".join(f"{actions[a]} {percent(float(shares[a]))}" for a in used)
