"""The learners against the least they could cost, in one run.

The floor of an episode is I+1 plain sparse evaluations of a policy in the estimated model plus one
in the true model: no learner that evaluates its policy, and is told its exact regret, can do with
less. The tables give each learner's episode over that floor, OptCMDP by column generation over
OptCMDP by HiGHS, OptCMDP over OptDual, and growth with the sizes. Times are CPU seconds, the best
of several slices after a warm-up, without the one-off compilation.

    python benchmarks/learning.py            all tables
    python benchmarks/learning.py --quick    the small sizes only
    python benchmarks/learning.py --write    also writes docs/benchmarks/learning.md
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import tightrope as tr
from tightrope.envs import build
from tightrope.estimate.confidence import as_confidence
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.desk import desk
from tightrope.learners.algorithms import LEARNERS, Options
from tightrope.run.simulation import Simulation, begin

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "learning.md"
CONFIDENCE = {"scale": 0.05}  # small enough that constraints bind early, as in a long run
SIZES = [(3, 2, 3, 1, 3), (10, 4, 10, 1, 4), (20, 4, 10, 1, 5), (50, 4, 20, 1, 5)]
GROWTH = [
    (25, 4, 10, 1, 5),
    (50, 4, 10, 1, 5),
    (100, 4, 10, 1, 5),
    (50, 4, 20, 1, 5),
    (50, 4, 10, 3, 5),
]
QUICK = 2


def instance(S: int, A: int, H: int, I: int, N: int) -> tr.CMDP:
    """A random model with budgets half way to the tightest."""
    return build(
        "random", n_states=S, n_actions=A, horizon=H, n_constraints=I, branching=N, tightness=0.5
    )


def simulation(cmdp: tr.CMDP, name: str, n_episodes: int, method: str = "columns") -> Simulation:
    """A run before its first episode."""
    rho = 2 * tr.slater(cmdp).rho["paper"]
    return begin(
        cmdp,
        LEARNERS[name],
        n_episodes,
        np.random.default_rng(0),
        0.1,
        as_confidence(CONFIDENCE),
        Options(rho=rho, method=method),
        tr.solve(cmdp).value,
    )


def cpu_per_call(work: Callable[[int], None], first: int, least: float = 0.4) -> float:
    """Best CPU seconds of one unit of work, over slices that together last long enough."""
    best, spent, size = np.inf, 0.0, first
    while spent < least:
        start = time.process_time()
        work(size)
        took = time.process_time() - start
        best, spent = min(best, took / size), spent + took
        if took < least / 8:
            size *= 2
    return best


@njit
def plain(estimate, truth, pi, V, order, work, n):
    """The floor: every value in the estimated model, and one in the true model, n times over."""
    for _ in range(n):
        evaluate(estimate.kernels, estimate.cost, pi, 1.0, V, order, work)
        for i in range(estimate.budget.size):
            evaluate(estimate.kernels, estimate.constraint_cost[i], pi, 1.0, V, order, work)
        evaluate(truth.kernels, truth.cost, pi, 1.0, V, order, work)


def floor_of(cmdp: tr.CMDP) -> float:
    """CPU seconds of the floor after some episodes of exploration, under the uniform policy."""
    warm = simulation(cmdp, "OptPrimalDual", 10_000)
    warm.advance(500)
    S, H = cmdp.n_states, cmdp.horizon
    pi = np.full((H, S, cmdp.n_actions), 1.0 / cmdp.n_actions)
    V, order = np.empty((H + 1, S)), np.zeros(S, dtype=np.uint32)
    estimate, truth, work = warm.world.problem, warm.world.truth, desk(S)
    plain(estimate, truth, pi, V, order, work, 1)
    return cpu_per_call(lambda n: plain(estimate, truth, pi, V, order, work, n), 10)


def episode_of(cmdp: tr.CMDP, name: str, warm_up: int = 500) -> float:
    """CPU seconds of one of the learner's episodes, exact regret and audit included."""
    run = simulation(cmdp, name, 10_000_000)
    run.advance(warm_up)
    return cpu_per_call(run.advance, 10)


def over_the_floor(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Each learner's episode as a multiple of the floor."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        floor = floor_of(cmdp)
        line: dict[str, Any] = {"S,A,H,I,N": ",".join(map(str, size)), "floor us": us(floor)}
        for name in LEARNERS:
            took = episode_of(cmdp, name)
            line[f"{name} us"] = us(took)
            line[f"{name} x"] = f"{took / floor:.1f}"
        rows.append(line)
        report(line)
    return rows


def against_highs(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """OptCMDP's episode by column generation and by the extended linear programme."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        ours = episode_of(cmdp, "OptCMDP")
        slow = simulation(cmdp, "OptCMDP", 10_000_000, "lp")
        slow.advance(1)
        start = time.process_time()
        slow.advance(3)
        theirs = (time.process_time() - start) / 3
        dual = episode_of(cmdp, "OptDual")
        line = {
            "S,A,H,I,N": ",".join(map(str, size)),
            "columns us": us(ours),
            "HiGHS us": us(theirs),
            "HiGHS / columns": f"{theirs / ours:,.0f}",
            "OptCMDP / OptDual": f"{ours / dual:.1f}",
        }
        rows.append(line)
        report(line)
    return rows


def us(seconds: float) -> str:
    """Microseconds in three digits."""
    return f"{seconds * 1e6:.3g}"


def report(line: dict[str, Any]) -> None:
    """Show a finished line while the others run."""
    print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    lines += ["| " + " | ".join(str(line[h]) for h in heads) + " |" for line in rows]
    return "\n".join(lines)


def page(parts: list[tuple[str, str, list[dict[str, Any]]]]) -> str:
    """The benchmark page of the documentation."""
    used = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "highspy"))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, shared and busy"
    text = [
        "# Learning: an episode over its floor",
        "",
        "Written by `benchmarks/learning.py --write`. All figures of a table come from one run on",
        f"one machine ({machine}), with {used}.",
        "Times are CPU microseconds an episode, best of several slices, without compilation; they",
        "include planning, play, counting, exact regret and audit. Radii are scaled by "
        f"{CONFIDENCE['scale']}, so that constraints bind as in a long run.",
    ]
    for title, words, rows in parts:
        text += ["", f"## {title}", "", words, "", table(rows)]
    return "\n".join(text) + "\n"


def main() -> None:
    """Run the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the small sizes only")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} into docs")
    chosen = parser.parse_args()
    keep = QUICK if chosen.quick else None
    parts = [
        (
            "Over the floor",
            "The floor is I+1 plain evaluations of the estimated model and one of the true model.",
            over_the_floor(SIZES[:keep]),
        ),
        (
            "OptCMDP",
            "Column generation against the paper's extended linear programme, and against OptDual.",
            against_highs([size for size in SIZES[:keep] if size[0] <= 20]),
        ),
        (
            "Growth",
            "With the number of states, stages and constraints.",
            over_the_floor(GROWTH[:keep]),
        ),
    ]
    if chosen.write:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(parts))


if __name__ == "__main__":
    main()
