"""The table of a Gymnasium environment, read and put right.

``P[state][action]`` lists what may happen as ``(probability, next state, reward, terminated)``, or
with an ``info`` as fifth. The table does not say that an episode ends: in CliffWalking the goal's
own row goes on paying -1. Here a state in which episodes end becomes absorbing and free. A state
in which some end and others go on keeps its row, and those that end there go to a state of their
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Floats, as_floats
from tightrope.errors import ModelError

ROUNDING = 1e-6  # by which the probabilities of a row may miss one


class Outcome(NamedTuple):
    """One thing that may happen after an action."""

    chance: float
    next_state: int
    reward: float
    terminated: bool
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """What may happen after each action, where episodes start, and which states end them.

    Parameters
    ----------
    outcomes : tuple
        By state and action; those that never happen are left out.
    initial : (S,) array
        Distribution of the start.
    ends : frozenset of int
        States in which episodes only end: absorbing.
    mixed : frozenset of int
        States in which some end and others go on.
    """

    outcomes: tuple[tuple[tuple[Outcome, ...], ...], ...]
    initial: Floats  # (S,)
    ends: frozenset[int]
    mixed: frozenset[int]

    @property
    def n_states(self) -> int:
        """States of the environment itself."""
        return len(self.outcomes)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(self.outcomes[0])

    def steps(self) -> Iterator[tuple[int, int, Outcome]]:
        """Every state that is not absorbing, with each action and outcome."""
        for s, row in enumerate(self.outcomes):
            if s not in self.ends:
                for a, found in enumerate(row):
                    yield from ((s, a, outcome) for outcome in found)


def read_table(env: Any, initial: Any = None) -> Table:
    """The table of an environment, checked.

    Parameters
    ----------
    env : gymnasium.Env
        With ``env.unwrapped.P`` and Discrete spaces.
    initial : int or (S,) array, optional
        Start state or distribution; the environment's own when not given.
    """
    base = env.unwrapped
    S, A = (_size(env, space) for space in ("observation_space", "action_space"))
    if not hasattr(base, "P"):
        raise ModelError(
            f"{_name(env)}: the environment has no table P of what may happen; "
            "learn_gymnasium learns through its steps alone"
        )
    if getattr(base, "fickle_passenger", False):
        raise ModelError(f"{_name(env)}: with fickle_passenger the table P is not all that happens")
    outcomes = tuple(tuple(_row(_at(base.P, (s, a)), s, a, S) for a in range(A)) for s in range(S))
    start = _start(env, initial, S)
    going = _reached(outcomes, np.flatnonzero(start).tolist())
    ending = {o.next_state for row in outcomes for found in row for o in found if o.terminated}
    return Table(outcomes, start, frozenset(ending - going), frozenset(ending & going))


def _name(env: Any) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _size(env: Any, which: str) -> int:
    from gymnasium import spaces

    space = getattr(env.unwrapped, which)
    if not isinstance(space, spaces.Discrete) or space.start != 0:
        raise ModelError(f"{_name(env)}: {which} is {space}, expected Discrete(n) from 0")
    return int(space.n)


def _at(table: Any, place: tuple[int, int]) -> Any:
    try:
        return table[place[0]][place[1]]
    except (LookupError, TypeError):
        raise ModelError(f"P[{place[0]}][{place[1]}]: missing") from None


def _row(listed: Any, s: int, a: int, S: int) -> tuple[Outcome, ...]:
    if not isinstance(listed, Iterable):
        raise ModelError(f"P[{s}][{a}]: {listed!r}, expected a list of what may happen")
    found = [_outcome(given, f"P[{s}][{a}][{k}]", S) for k, given in enumerate(listed)]
    total = sum(outcome.chance for outcome in found)
    if not abs(total - 1.0) <= ROUNDING:
        raise ModelError(f"P[{s}][{a}]: probabilities add up to {total:.9g}, expected 1")
    return tuple(o._replace(chance=o.chance / total) for o in found if o.chance > 0.0)


def _outcome(given: Any, where: str, S: int) -> Outcome:
    try:
        chance, state, reward, terminated, *rest = given
        info = rest[0] if rest else {}
        outcome = Outcome(float(chance), int(state), float(reward), bool(terminated), info)
    except (TypeError, ValueError):
        rest, outcome, info = [None, None], None, {}
    if outcome is None or len(rest) > 1 or not isinstance(info, Mapping):
        raise ModelError(
            f"{where}: {given!r}, expected (probability, next state, reward, terminated), "
            "or these and an info"
        )
    if not 0.0 <= outcome.chance <= 1.0 + ROUNDING:
        raise ModelError(f"{where}: probability {outcome.chance:g}, expected a number in [0, 1]")
    if outcome.next_state != state or not 0 <= outcome.next_state < S:
        raise ModelError(f"{where}: next state {state}, expected 0 to {S - 1}")
    if not np.isfinite(outcome.reward):
        raise ModelError(f"{where}: reward {outcome.reward}, expected a finite number")
    return outcome


def _start(env: Any, initial: Any, S: int) -> Floats:
    if initial is None:
        for word in ("initial_state_distrib", "isd"):
            initial = getattr(env.unwrapped, word, initial) if initial is None else initial
    if initial is None:
        raise ModelError(
            f"initial: missing; {_name(env)} does not say where episodes start, "
            "so give a state or a distribution"
        )
    given = as_floats("initial", initial)
    if np.ndim(initial) == 0:
        if not (given[0].is_integer() and 0 <= given[0] < S):
            raise ModelError(f"initial: {initial!r}, expected a state from 0 to {S - 1}")
        given = np.where(np.arange(S) == given[0], 1.0, 0.0)
    if given.shape != (S,) or not (given >= 0).all() or not abs(given.sum() - 1) <= ROUNDING:
        raise ModelError(f"initial: expected {S} probabilities that add up to 1")
    return np.asarray(given / given.sum(), dtype=np.float64)


def _reached(outcomes: tuple[tuple[tuple[Outcome, ...], ...], ...], start: list[int]) -> set[int]:
    """States in which an episode may go on, from the start."""
    found, open_ends = set(start), list(start)
    while open_ends:
        for row in outcomes[open_ends.pop()]:
            for outcome in row:
                if not outcome.terminated and outcome.next_state not in found:
                    found.add(outcome.next_state)
                    open_ends.append(outcome.next_state)
    return found
