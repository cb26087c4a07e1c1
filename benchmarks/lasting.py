"""Infinite-horizon models: columns against linear programming and Storm, in one run.

Discounted models against the methods of HiGHS, long-run averages also against Storm's
multi-objective engine. Times are the best of several tries, without the one-off compilation.

    python benchmarks/lasting.py            all tables
    python benchmarks/lasting.py --quick    the small sizes only
    python benchmarks/lasting.py --write    also writes docs/benchmarks/lasting.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from planning import Timing, best_lp, peak, ratio, row, timed
from scipy.sparse import csr_array

import tightrope as tr
from pages import parser, processor, report, sections, setting, write
from tightrope.model import Model
from tightrope.model.base import writable_problem
from tightrope.plan.lp import occupancy_lp

PAGE = "lasting.md"
DISCOUNT = 0.99
SIZES = [(100, 5, 1), (1_000, 5, 1), (1_000, 5, 3)]
AVERAGE = [(100, 5, 1), (1_000, 5, 1)]
LARGE = [(100_000, 5, 1)]
QUICK = 1
PRECISIONS = {"1/1000000": "1e-6", "1/100000000": "1e-8"}


def instance(S: int, A: int, I: int, discount: float | None) -> Model:
    """A random model with five successors a pair and budgets half way to the tightest."""
    rng = np.random.default_rng(0)
    n = S * A
    successors = rng.integers(0, S, (n, 5))
    shares = rng.dirichlet(np.ones(5), n)
    spots = np.arange(0, 5 * n + 1, 5)
    P = csr_array((shares.ravel(), successors.ravel(), spots), shape=(n, S))
    P.sum_duplicates()
    cost, use = rng.random((S, A)), rng.random((I, S, A))
    if discount is None:
        free: Model = tr.AverageCMDP(P, cost, use, np.ones(I))
    else:
        free = tr.DiscountedCMDP(P, cost, use, np.full(I, 1 / (1 - discount)), discount)
    least = tr.slater(free).constraint_value
    return free.with_budget((least + tr.solve(free).constraint_value) / 2)


def line_of(size: tuple[int, int, int], ours: Timing, theirs: dict[str, Timing]) -> dict[str, Any]:
    """One line of a table."""
    line = row((*size[:2], 0, size[2]), ours, theirs)
    del line["S,A,H"]
    return {"S,A": f"{size[0]},{size[1]}"} | line


def discounted_rows(sizes: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Columns against the occupancy program."""
    rows, slow = [], set()
    for size in sizes:
        model = instance(*size, DISCOUNT)
        ours = timed(lambda model=model: tr.solve(model))
        theirs = best_lp(occupancy_lp, writable_problem(model), 1, slow)
        rows.append(line_of(size, ours, theirs))
        report(rows[-1])
    return rows


def drn_of(model: Model) -> str:
    """The model as text for Storm, with the structures cost and use."""
    S, A = model.n_states, model.n_actions
    p, cost = writable_problem(model).kernels, model.cost.reshape(S, A)
    use = model.constraint_cost.reshape(-1, S, A)
    lines = ["@type: MDP", "@parameters", "", "@reward_models"]
    names = ["cost", *(f"use{i}" for i in range(len(use)))]
    lines += [" ".join(names), "@nr_states", str(S), "@nr_choices", str(S * A), "@model"]
    for s in range(S):
        lines.append(f"state {s} [{', '.join(['0'] * len(names))}]" + (" init" if s == 0 else ""))
        for a in range(A):
            paid = [float(cost[s, a]), *(float(d[s, a]) for d in use)]
            lines.append(f"\taction {a} [{', '.join(map(repr, paid))}]")
            first, last = p.indptr[0, s * A + a], p.indptr[0, s * A + a + 1]
            lines += [
                f"\t\t{p.indices[0, e]} : {float(p.data[0, e])!r}" for e in range(first, last)
            ]
    return "\n".join(lines) + "\n"


def by_storm(model: Model, precision: str) -> Timing:
    """Storm's multi-objective long-run average, without reading the file."""
    import stormpy
    import stormpy.environments

    with TemporaryDirectory() as folder:
        path = Path(folder, "model.drn")
        path.write_text(drn_of(model))
        built = stormpy.build_model_from_drn(str(path))
    limits = [f'R{{"use{i}"}}<={b!r} [LRA]' for i, b in enumerate(model.budget.tolist())]
    query = f'multi(R{{"cost"}}min=? [LRA], {", ".join(limits)})'
    asked = stormpy.parse_properties(query)[0]
    environment = stormpy.environments.default(built)
    environment.modelchecker().multi().precision = stormpy.Rational(precision)
    start = built.initial_states[0]
    return timed(
        lambda: float(
            stormpy.model_checking(built, asked, environment=environment).get_value(start)
        ),
        most_tries=3,
    )


def average_rows(sizes: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Columns against the occupancy program and Storm."""
    rows, slow = [], set()
    for size in sizes:
        model = instance(*size, None)
        ours = timed(lambda model=model: tr.solve(model))
        theirs = best_lp(occupancy_lp, writable_problem(model), 1, slow)
        line = line_of(size, ours, theirs)
        if find_spec("stormpy") is not None:
            for precision, words in PRECISIONS.items():
                storm = by_storm(model, precision)
                line[f"Storm to {words} s"] = f"{storm.wall:.2g}"
                line[f"Storm to {words} / columns, CPU"] = ratio(storm.cpu / ours.cpu)
                line[f"difference to {words}"] = f"{abs(storm.result - ours.result.value):.0e}"
        rows.append(line)
        report(line)
    return rows


def large_rows(sizes: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Columns alone, each size in a process of its own so that its peak memory is its own."""
    rows = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", ",".join(map(str, size))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
        report(rows[-1])
    return rows


def one(size: tuple[int, int, int]) -> dict[str, Any]:
    """Solve one size and say what it took."""
    tr.solve(instance(10, 2, size[2], DISCOUNT))
    model = instance(*size, DISCOUNT)
    ours = timed(lambda: tr.solve(model), most_tries=1)
    plan: tr.Plan = ours.result
    return {
        "S,A": f"{size[0]},{size[1]}",
        "I": size[2],
        "processor": processor(),
        "sweeps": plan.sweeps,
        "wall s": f"{ours.wall:.2g}",
        "CPU s": f"{ours.cpu:.2g}",
        "gap": f"{max(plan.gap, 0) / abs(plan.value):.0e}",
        "peak GB": f"{peak():.2f}",
    }


def main() -> None:
    """Run the tables."""
    options = parser(__doc__, PAGE, "the small sizes only")
    options.add_argument("--one", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        S, A, I = (int(n) for n in chosen.one.split(","))
        print(json.dumps(one((S, A, I))))
        return
    keep = QUICK if chosen.quick else None
    for discount in (DISCOUNT, None):
        tr.solve(instance(10, 2, 1, discount))
    parts = [
        (
            f"Discounted, {DISCOUNT}",
            "Random models with five successors of each state and action.",
            discounted_rows(SIZES[:keep]),
        ),
        (
            "Long-run average",
            "The same with averaged costs. Storm is asked for a precision of 1e-6, its default, "
            "and of 1e-8, that of columns; reading the model is not counted. It returns no policy "
            "here. Differences are those of values.",
            average_rows(AVERAGE[:keep]),
        ),
        (
            "Large models",
            f"Discounted with {DISCOUNT}, columns alone, each line in a fresh process, whose peak "
            "memory includes libraries and the model.",
            large_rows(LARGE[:keep]),
        ),
    ]
    if chosen.write:
        used = ["numpy", "numba", "highspy"] + ["stormpy"] * (find_spec("stormpy") is not None)
        head = [
            "# Infinite-horizon models: columns against linear programming and Storm",
            "",
            "Written by `benchmarks/lasting.py --write`. All figures of a table come from one run",
            f"on one machine {setting(*used)}",
            "Times are the best of several tries. A ratio is the best HiGHS method's time over",
            "ours.",
        ]
        write(PAGE, [*head, *sections(parts)])


if __name__ == "__main__":
    main()
