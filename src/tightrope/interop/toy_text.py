"""What is known of Gymnasium's own small environments: their hazards, moves and maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tightrope.model import Layout

FALL, ILLEGAL = -100.0, -10.0  # rewards by which CliffWalking and Taxi mark a mishap
LEFT, DOWN, RIGHT, UP = (0, -1), (1, 0), (0, 1), (-1, 0)


class Known(NamedTuple):
    """An environment that we know more of than it says."""

    actions: tuple[str, ...]
    hazards: Callable[[Any], dict[str, Callable[[Any], float]]]
    layout: Callable[[Any], Layout | None]


def hazards_of(env: Any) -> dict[str, Callable[[Any], float]]:
    """Costs by the name of the hazard, each a function of a `Step`.

    ``holes`` of FrozenLake and ``cliff`` of CliffWalking cost 1 when one falls, ``illegal`` of Taxi
    1 for a passenger picked up or dropped where that is not possible.

    Parameters
    ----------
    env : gymnasium.Env
        Any environment; most have none.
    """
    known = KNOWN.get(type(env.unwrapped).__name__)
    return {} if known is None else known.hazards(env.unwrapped)


def move_names(env: Any) -> Sequence[str] | None:
    """Names of the actions where they are known.

    Parameters
    ----------
    env : gymnasium.Env
        Any environment.
    """
    known = KNOWN.get(type(env.unwrapped).__name__)
    return None if known is None else known.actions


def map_of(env: Any) -> Layout | None:
    """The map of a grid world where it is known.

    Parameters
    ----------
    env : gymnasium.Env
        Any environment.
    """
    known = KNOWN.get(type(env.unwrapped).__name__)
    return None if known is None else known.layout(env.unwrapped)


def _holes(lake: Any) -> dict[str, Callable[[Any], float]]:
    is_hole = np.asarray(lake.desc == b"H").ravel()
    return {"holes": lambda step: float(is_hole[step.next_state])}


def _lake(lake: Any) -> Layout:
    rows = tuple(b"".join(row).decode().replace("F", ".") for row in lake.desc)
    return Layout(rows, _cells(lake.desc.shape), (LEFT, DOWN, RIGHT, UP))


def _shore(walk: Any) -> Layout:
    letters = np.where(walk._cliff, "X", ".")
    letters.flat[int(walk.start_state_index)], letters.flat[-1] = "S", "G"
    return Layout(tuple(map("".join, letters)), _cells(walk.shape), (UP, RIGHT, DOWN, LEFT))


def _cells(shape: tuple[int, int]) -> Any:
    return np.argwhere(np.ones(shape, dtype=np.bool_))


KNOWN = {
    "FrozenLakeEnv": Known(("left", "down", "right", "up"), _holes, _lake),
    "CliffWalkingEnv": Known(
        ("up", "right", "down", "left"),
        lambda _: {"cliff": lambda step: float(step.reward <= FALL)},
        _shore,
    ),
    "TaxiEnv": Known(
        ("south", "north", "east", "west", "pick up", "drop off"),
        lambda _: {"illegal": lambda step: float(step.reward <= ILLEGAL)},
        lambda _: None,
    ),
}
