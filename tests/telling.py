"""A small process to study, and programs that tell its episodes and die doing so."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from sqlalchemy import Engine, event

import tightrope as tr

__all__ = ["TERMS", "as_line", "episode", "shape"]

TERMS = {
    "states": ["fine", "worn", "down"],
    "actions": ["hard", "gentle"],
    "horizon": 3,
    "budget": {"wear": 1.5, "noise": 1.0},
    "episodes": 1000,
    "confidence": {"mode": "tight", "scale": 0.05},
}


def shape(**more: Any) -> tr.Terms:
    """Terms of a study, some of them changed."""
    return tr.Terms(**(TERMS | more))


def episode(k: int, name: str | None = None, **more: Any) -> tr.Told:
    """The k-th of a fixed row of episodes that are all different."""
    s = [0, k % 3, (k // 3) % 3, (k // 9) % 3]
    a = [k % 2, (k // 2) % 2, (k // 4) % 2]
    cost = [(k % 7) / 7, (k % 11) / 11, (k % 13) / 13]
    wear, noise = [x / 2 for x in cost], [1 - x for x in cost]
    told = {
        "episode": name or f"day {k}",
        "states": s,
        "actions": a,
        "cost": cost,
        "constraint_cost": {"noise": noise, "wear": wear},
        "policy": None,
    }
    return tr.Told(**(told | more))


def as_line(told: tr.Told) -> dict[str, Any]:
    """An episode as the object of one line of JSON."""
    return {name: value for name, value in vars(told).items() if name != "place"}


def tell_on(where: str, name: str, prefix: str, size: int, n: int) -> None:
    """Tell n batches of episodes; a line for each batch, once it is acknowledged."""
    study = tr.Study(where, name)
    for first in range(0, n * size, size):
        batch = [episode(k, f"{prefix}{k}") for k in range(first, first + size)]
        study.tell(batch)
        sys.stdout.write(f"{' '.join(each.episode for each in batch)}\n")
        sys.stdout.flush()


def die_everywhere(where: str, name: str) -> None:
    """Children tell two episodes each; the k-th is killed at the k-th step of its database work.

    A line for each child: its episodes, and whether it lived to the end.
    """
    study = tr.Study(where, name)
    for k in range(100):
        child = os.fork()
        if child == 0:
            _die_at(k)
            study.tell([episode(2 * k, f"{k}a"), episode(2 * k + 1, f"{k}b")])
            os._exit(0)
        _, code = os.waitpid(child, 0)
        sys.stdout.write(f"{k}a {k}b {code}\n")
        if code == 0:
            return


def _die_at(k: int) -> None:
    left = k

    def step(*_: Any) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    for moment in ("before_cursor_execute", "after_cursor_execute", "begin", "commit"):
        event.listen(Engine, moment, step)


if __name__ == "__main__":
    if sys.argv[1] == "die":
        die_everywhere(*sys.argv[2:4])
    else:
        tell_on(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
