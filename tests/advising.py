"""Safe studies to ask, a process to simulate, and a program that asks and waits to be killed."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np

import tightrope as tr
from telling import shape

__all__ = ["OWN", "machine", "safe", "shape", "simulate", "terms_of"]

OWN = np.tile([0.0, 1.0], (3, 3, 1))  # of three stages, three states and two actions


def safe(**more: Any) -> tr.Terms:
    """Terms of a study with a safe learner, some of them changed."""
    options = {"baseline": OWN, "bound": {"wear": 0.5, "noise": 0.25}}
    return shape(**({"algorithm": "Safe-OptCMDP", "options": options} | more))


def machine() -> tr.CMDP:
    """Two states and actions: hard work is cheap, wears and is loud; costs in their own units."""
    transition = [[[0.5, 0.5], [0.9, 0.1]], [[0.1, 0.9], [0.6, 0.4]]]
    cost = [[4.0, 20.0], [10.0, 24.0]]
    wear, noise = [[1.6, 0.4], [2.0, 0.6]], [[0.7, 0.1], [0.8, 0.2]]
    ranges = [(0.0, 2.0), (0.0, 1.0)]
    return tr.CMDP.from_costs(
        transition,
        cost,
        [wear, noise],
        [6.0, 3.0],
        3,
        cost_range=(0.0, 40.0),
        constraint_range=ranges,
    )


def terms_of(cmdp: tr.CMDP, budget: dict[str, float], episodes: int) -> tr.Terms:
    """Terms of a study of `machine`."""
    return tr.Terms(
        states=["fine", "worn"],
        actions=["hard", "gentle"],
        horizon=3,
        budget=budget,
        ranges={"wear": (0.0, 2.0), "cost": (0.0, 40.0)},
        episodes=episodes,
        stationary=True,
    )


def simulate(cmdp: tr.CMDP, policy: Any, name: str, rng: Any, terms: tr.Terms) -> tr.Told:
    """One episode of a policy in `machine`, in its units, with costs of nothing or all."""
    transition = np.array([[[0.5, 0.5], [0.9, 0.1]], [[0.1, 0.9], [0.6, 0.4]]])
    cost = np.array([[4.0, 20.0], [10.0, 24.0]])
    bounded = {
        "wear": np.array([[1.6, 0.4], [2.0, 0.6]]),
        "noise": np.array([[0.7, 0.1], [0.8, 0.2]]),
    }
    states, actions, paid = [0], [], []
    spent: dict[str, list[float]] = {each: [] for each in bounded}
    for h in range(3):
        s = states[-1]
        a = int(rng.choice(2, p=policy[h, s]))
        actions.append(a)
        paid.append(40.0 * float(rng.random() < cost[s, a] / 40.0))
        for each, mean in bounded.items():
            top = terms.range_of(each)[1]
            spent[each].append(top * float(rng.random() < mean[s, a] / top))
        states.append(int(rng.choice(2, p=transition[s, a])))
    return tr.Told(name, states, actions, paid, spent)


if __name__ == "__main__":
    answer = tr.Study(*sys.argv[1:3]).ask()
    assert answer.advice is not None
    said = {"advice": asdict(answer.advice), "policy": answer.plan.policy.tolist()}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    while True:  # until it is killed
        time.sleep(60)
