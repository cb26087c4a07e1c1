"""A policy as a table: which action to take in which state, for the stages that reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, check_choice
from tightrope.cli.screen import percent, say, table
from tightrope.model.choices import Choices

MOST_ROWS = 24  # without ``--policy full``
SAME = 1e-9  # probabilities that differ by less are shown as equal


class Runs(NamedTuple):
    """Consecutive stages in which a state is reached and has the same actions."""

    state: Ints
    first: Ints
    last: Ints
    visits: Floats  # expected number, over these stages


def find_runs(policy: Choices, reached: Floats, undecided: Bools | None = None) -> Runs:
    """Return the policy in the states that it reaches, by state and stage.

    ``reached`` (H, S) are probabilities, or other weights; ``undecided`` marks stages and states in
    which no action is preferred, (H, S).
    """
    H, S, _ = policy.shape
    is_reached = reached > 0
    is_same = is_reached[1:] & is_reached[:-1] & (policy.actions[1:] == policy.actions[:-1])
    for place in policy.mixed.tolist():  # few
        stage, s = divmod(place, S)
        for h in range(max(stage, 1), min(stage + 2, H)):
            change = np.abs(policy.row(h, s) - policy.row(h - 1, s)).max()
            is_same[h - 1, s] = is_reached[h - 1 : h + 1, s].all() and change <= SAME
    if undecided is not None:
        is_same &= undecided[1:] == undecided[:-1]
    is_first = is_reached.copy()
    is_first[1:] &= ~is_same
    starts = np.flatnonzero(is_first.T)
    state, first = np.divmod(starts, H)
    if not starts.size:
        return Runs(state, first, first, np.zeros(0))
    lengths = np.add.reduceat(is_reached.T.ravel(), starts, dtype=np.int64)
    return Runs(state, first, first + lengths - 1, np.add.reduceat(reached.T.ravel(), starts))


def check_policy_words(words: str) -> bool:
    """Whether ``--policy`` asks for the whole policy."""
    return check_choice("--policy", words, ("compact", "full")) == "full"


def show_policy(
    policy: Choices,
    reached: Floats | None,
    states: Sequence[str],
    actions: Sequence[str],
    is_full: bool = False,
    first: int = 0,
    undecided: Bools | None = None,
    visits: str = "expected visits",
    has_stages: bool = True,
) -> None:
    """Print the reached part of a policy; only the most visited rows unless all are requested.

    ``reached`` and ``undecided`` are as for `find_runs`, ``first`` the number of the first stage,
    ``visits`` what is reached. Without it all states count as reached, at all stages.
    """
    which = "" if reached is None else " in the states that it reaches"
    stages = f" (stages count from {first})" if has_stages else ""
    say(f"\nPolicy{which}{stages}:")
    everywhere = np.ones(policy.actions.shape) if reached is None else reached
    runs = find_runs(policy, everywhere, undecided)
    shown = np.arange(runs.state.size)
    if not is_full:
        shown = np.sort(np.argsort(-runs.visits, kind="stable")[:MOST_ROWS])
    columns = ["state", *(["stages"] if has_stages else []), "action", visits]
    cells = []
    is_open = False
    for s, start, end, n in zip(*(each[shown].tolist() for each in runs), strict=True):
        is_undecided = undecided is not None and bool(undecided[start, s])
        is_open = is_open or is_undecided
        action = f"{mixture(policy.row(start, s), actions)}{' (or any)' if is_undecided else ''}"
        stage = [_stages(start + first, end + first)] if has_stages else []
        cells.append([states[s], *stage, action, f"{n:.3g}"])
    if reached is None:
        table(columns[:-1], [row[:-1] for row in cells])
    else:
        table(columns, cells, numbers=columns[-1:])
    if is_open:
        say("(or any): no action is preferred there yet, by what was told so far", style="dim")
    if len(shown) < runs.state.size:
        most = "" if reached is None else ", the most visited"
        say(
            f"({len(shown)} of {runs.state.size} rows{most}; --policy full shows all)",
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
