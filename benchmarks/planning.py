"""The planner against linear programming, in one run.

Columns and HiGHS solve the same problems on the same machine in the same run, and the tables give
ratios: the best HiGHS method's time over ours. Times are CPU seconds and wall seconds, the best of
several tries for the short ones, without the one-off compilation (which is reported openly). Sizes
grow until HiGHS takes too long; columns then goes on alone. Peak memory is that of a fresh process.

    python benchmarks/planning.py            all tables
    python benchmarks/planning.py --quick    the small sizes only
    python benchmarks/planning.py --write    also writes docs/benchmarks/planning.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tightrope as tr
from pages import parser, processor, report, sections, setting, write
from tightrope.arrays import Problem
from tightrope.envs import build
from tightrope.kernels.bellman import evaluate_all
from tightrope.kernels.columns import advance, columns, constraint_sizes, largest
from tightrope.kernels.scratch import desk
from tightrope.model.base import writable_problem
from tightrope.plan.generate import budget_units
from tightrope.plan.lp import LPAnswer, extended_lp, occupancy_lp
from tightrope.plan.optimistic import box_between
from tightrope.plan.solve import solve_problem

PAGE = "planning.md"
SOLVERS = ("simplex", "ipm", "interior")
PATIENCE = 60.0  # seconds; a HiGHS method slower than this is not tried on the next size

KNOWN = [
    (10, 4, 10, 1),
    (50, 4, 20, 1),
    (50, 4, 20, 3),
    (50, 4, 20, 10),
    (50, 4, 20, 20),
    (50, 4, 20, 50),
    (100, 5, 30, 1),
    (100, 5, 30, 3),
]
BOXES = [
    (5, 3, 5, 1),
    (10, 4, 10, 1),
    (20, 4, 10, 1),
    (20, 4, 10, 3),
    (20, 4, 10, 10),
    (30, 4, 20, 1),
]
CAPPED = [(6, 3, 12), (6, 3, 52), (50, 4, 52)]
ALONE = [
    (300, 5, 50, 1),
    (300, 5, 50, 3),
    (1_000, 5, 50, 1),
    (1_000, 5, 50, 3),
    (10_000, 5, 50, 1),
    (10_000, 5, 50, 3),
    (100_000, 5, 50, 1),
    (100_000, 5, 50, 3),
]
QUICK = 3  # sizes of each table that --quick keeps


@dataclass(frozen=True)
class Timing:
    """Seconds of one computation, best of several tries, and its result."""

    cpu: float
    wall: float
    result: Any


def timed(work: Callable[[], Any], least: float = 1.0, most_tries: int = 5_000) -> Timing:
    """Best CPU and wall time over tries that together last at least ``least`` seconds."""
    cpu, wall, spent, result = np.inf, np.inf, 0.0, None
    for _ in range(most_tries):
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        result = work()
        took = time.perf_counter() - wall_start
        cpu, wall = min(cpu, time.process_time() - cpu_start), min(wall, took)
        spent += took
        if spent >= least:
            break
    return Timing(cpu, wall, result)


def instance(S: int, A: int, H: int, I: int) -> tr.CMDP:
    """A random model with five successors a pair and budgets half way to the tightest."""
    return build("random", n_states=S, n_actions=A, horizon=H, n_constraints=I, branching=min(5, S))


def box_around(cmdp: tr.CMDP) -> tuple[np.ndarray, np.ndarray]:
    """Bounds as after some hundred visits: wider where the probability is larger, never zero."""
    p = cmdp.transition
    radius = 0.5 * np.sqrt(p * (1 - p) / 10) + 0.05
    return np.clip(p - radius, 0, 1), np.clip(p + radius, 0, 1)


def best_lp(
    program: Callable[..., LPAnswer | None], problem: Problem, H: int, slow: set[str]
) -> dict[str, Timing]:
    """Times of the HiGHS methods that are not yet too slow for this series."""
    times = {}
    for solver in SOLVERS:
        if solver not in slow:
            times[solver] = timed(lambda s=solver: program(problem, H, s), most_tries=5)
            if times[solver].wall > PATIENCE:
                slow.add(solver)
    return times


def ratio(value: float) -> str:
    """A ratio in words; small ones with two digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def row(size: tuple[int, ...], ours: Timing, theirs: dict[str, Timing]) -> dict[str, Any]:
    """One line of a table."""
    plan: tr.Plan = ours.result
    line: dict[str, Any] = {
        "S,A,H": ",".join(map(str, size[:3])),
        "I": size[3],
        "processor": processor(),
        "sweeps": plan.sweeps,
        "columns s": f"{ours.wall:.2g}",
        "gap": f"{max(plan.gap, 0) / abs(plan.value):.0e}",
    }
    for solver in SOLVERS:
        line[f"{solver} s"] = f"{theirs[solver].wall:.2g}" if solver in theirs else "-"
    if theirs:
        line["ratio, wall"] = ratio(min(t.wall for t in theirs.values()) / ours.wall)
        line["ratio, CPU"] = ratio(min(t.cpu for t in theirs.values()) / ours.cpu)
        off = max(abs(t.result.objective - plan.value) for t in theirs.values())
        line["difference"] = f"{off:.0e}"
    return line


def known_rows(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Columns against the occupancy program."""
    rows, slow = [], set()
    for size in sizes:
        cmdp = instance(*size)
        tr.solve(cmdp)
        ours = timed(lambda cmdp=cmdp: tr.solve(cmdp))
        rows.append(
            row(size, ours, best_lp(occupancy_lp, writable_problem(cmdp), cmdp.horizon, slow))
        )
        report(rows[-1])
    return rows


def box_rows(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Columns against the extended program; the box is made ready before either starts."""
    rows, slow = [], set()
    for size in sizes:
        cmdp = instance(*size)
        lower, upper = box_around(cmdp)
        problem = writable_problem(cmdp)._replace(kernels=box_between(cmdp, lower, upper))
        solve = lambda c=cmdp, p=problem: solve_problem(c, p, "columns", 1e-8)  # noqa: E731
        call = lambda c=cmdp, lo=lower, up=upper: tr.solve_optimistic(c, lo, up)  # noqa: E731
        solve(), call()
        rows.append(row(size, timed(solve), best_lp(extended_lp, problem, cmdp.horizon, slow)))
        rows[-1]["with dense arrays in and out s"] = f"{timed(call).wall:.2g}"
        report(rows[-1])
    return rows


def capped(S: int, A: int, H: int) -> tr.CMDP:
    """A random model with one budget per stage: the chance of a risky pair at that stage."""
    base = instance(S, A, H, 1)
    risk = np.random.default_rng(0).random((S, A))
    caps = np.zeros((H, H, S, A))
    caps[np.arange(H), np.arange(H)] = risk
    free = tr.CMDP(base.transition, base.cost, caps, np.ones(H), horizon=H)
    safest = tr.solve(tr.CMDP(base.transition, np.tile(risk, (H, 1, 1)), horizon=H))
    least = tr.evaluate(free, safest.policy).constraint_value
    return free.with_budget((tr.solve(free).constraint_value + least) / 2)


def capped_rows(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Columns against the occupancy program, one budget per stage."""
    rows, slow = [], set()
    for size in sizes:
        cmdp = capped(*size)
        ours = timed(lambda cmdp=cmdp: tr.solve(cmdp))
        theirs = best_lp(occupancy_lp, writable_problem(cmdp), cmdp.horizon, slow)
        rows.append(row((*size, cmdp.n_constraints), ours, theirs))
        report(rows[-1])
    return rows


def call_rows() -> list[dict[str, Any]]:
    """Whole calls and the compiled part of each, at 10 states, 4 actions and 10 steps."""
    cmdp = instance(10, 4, 10, 1)
    S, A, H = 10, 4, 10
    lower, upper = (np.tile(b, (H, 1, 1, 1)) for b in box_around(cmdp))
    problem, plan = writable_problem(cmdp), tr.solve(cmdp)
    boxed = problem._replace(kernels=box_between(cmdp, lower, upper))
    tr.solve_optimistic(cmdp, lower, upper)
    V, order, totals = np.empty((H + 1, S)), np.zeros(S, dtype=np.uint32), np.empty(2)
    spent = {
        "solve": (timed(lambda: tr.solve(cmdp)).cpu, columns_seconds(problem, H)),
        "solve_optimistic, dense by stage": (
            timed(lambda: tr.solve_optimistic(cmdp, lower, upper)).cpu,
            columns_seconds(boxed, H),
        ),
        "evaluate": (
            timed(lambda: tr.evaluate(cmdp, plan)).cpu,
            timed(
                lambda: evaluate_all(
                    problem.kernels, problem, plan.policy, V, order, desk(S), totals
                )
            ).cpu,
        ),
    }
    spent |= learner_seconds(cmdp)
    best = min(t.cpu for t in best_lp(extended_lp, boxed, H, set()).values())
    rows = []
    for name, (whole, kernel) in spent.items():
        line = {
            "S,A,H": f"{S},{A},{H}",
            "I": 1,
            "processor": processor(),
            "call": name,
            "CPU us": f"{whole * 1e6:,.0f}",
            "inside us": f"{kernel * 1e6:,.0f}",
            "call / inside": f"{whole / kernel:.1f}",
            "best HiGHS / call": f"{best / whole:,.0f}" if "optimistic" in name else "-",
        }
        rows.append(line)
        report(line)
    return rows


def columns_seconds(problem: Problem, H: int) -> float:
    """CPU seconds of the compiled loop of a solve."""
    best, sizes = np.inf, (constraint_sizes(problem), budget_units(problem, H))
    for _ in range(200):
        state = columns(problem, H, 40, *sizes)
        state.lam[:] = largest(problem.cost) / (state.lam.size * state.master.size)
        start = time.process_time()
        advance(problem, state, 1e-8, 0.0, 1_000)
        best = min(best, time.process_time() - start)
    return best


def learner_seconds(cmdp: tr.CMDP, n: int = 400) -> dict[str, tuple[float, float]]:
    """Mean CPU seconds of `plan` and `observe` of a learner, and of what they compute."""
    learner = tr.learner(
        "OptCMDP",
        n_states=cmdp.n_states,
        n_actions=cmdp.n_actions,
        horizon=cmdp.horizon,
        budget=cmdp.budget,
        episodes=10_000,
    )
    rng, agent = np.random.default_rng(0), learner._agent
    inner = {"decide": 0.0, "observe": 0.0}

    def clocked(name: str) -> Callable[..., Any]:
        work = getattr(agent, name)

        def run(*given: Any) -> Any:
            start = time.process_time()
            result = work(*given)
            inner[name] += time.process_time() - start
            return result

        return run

    agent.decide, agent.observe = clocked("decide"), clocked("observe")
    whole = {"plan": 0.0, "observe": 0.0}
    for k in range(2 * n):
        if k == n:  # the first half warms up
            whole = dict.fromkeys(whole, 0.0)
            inner.update(dict.fromkeys(inner, 0.0))
        start = time.process_time()
        plan = learner.plan()
        whole["plan"] += time.process_time() - start
        episode = sample(cmdp, plan.policy, rng)
        start = time.process_time()
        learner.observe(episode)
        whole["observe"] += time.process_time() - start
    return {
        "learner.plan, OptCMDP": (whole["plan"] / n, inner["decide"] / n),
        "learner.observe": (whole["observe"] / n, inner["observe"] / n),
    }


def sample(cmdp: tr.CMDP, policy: np.ndarray, rng: np.random.Generator) -> tr.Episode:
    """One episode of a policy, with Bernoulli costs."""
    H, P = cmdp.horizon, cmdp.transition.reshape(-1, *cmdp.transition.shape[-3:])
    state = int(rng.choice(cmdp.n_states, p=cmdp.initial))
    states, actions, cost, used = [state], [], [], []
    for h in range(H):
        a = int(rng.choice(cmdp.n_actions, p=policy[h, state]))
        actions.append(a)
        c = cmdp.cost[min(h, len(cmdp.cost) - 1), state, a]
        d = cmdp.constraint_cost[:, min(h, cmdp.constraint_cost.shape[1] - 1), state, a]
        cost.append(float(rng.random() < c))
        used.append((rng.random(d.size) < d).astype(float))
        state = int(rng.choice(cmdp.n_states, p=P[min(h, len(P) - 1), state, a]))
        states.append(state)
    return tr.Episode(states, actions, cost, np.array(used).T)


def alone_rows(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Columns alone, each size in a process of its own so that its peak memory is its own."""
    rows = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", ",".join(map(str, size))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
        report(rows[-1])
    return rows


def one(size: tuple[int, ...]) -> dict[str, Any]:
    """Solve one size and say what it took."""
    tr.solve(instance(10, 2, 5, size[3]))
    cmdp = instance(*size)
    before = peak()
    ours = timed(lambda: tr.solve(cmdp), most_tries=3)
    line = row(size, ours, {})
    return {
        "S,A,H": line["S,A,H"],
        "I": size[3],
        "processor": line["processor"],
        "sweeps": line["sweeps"],
        "wall s": line["columns s"],
        "CPU s": f"{ours.cpu:.2g}",
        "gap": line["gap"],
        "peak GB": f"{peak():.2f}",
        "before solving GB": f"{before:.2f}",
    }


def peak() -> float:
    """Peak memory of this process in GB; the usual call also counts what ran before an exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def page(compile_seconds: float, parts: list[tuple[str, str, list[dict[str, Any]]]]) -> list[str]:
    """The benchmark page of the documentation."""
    return [
        "# Planning: columns against linear programming",
        "",
        "Written by `benchmarks/planning.py --write`. All figures of a table come from one run on",
        f"one machine {setting('numpy', 'numba', 'highspy')}",
        "Times are the best of several tries and exclude the one-off compilation, which is kept on",
        f"disk ({compile_seconds:.0f} s; zero if it was there already).",
        "",
        "A ratio is the best HiGHS method's time over ours: dual simplex, interior point with",
        "crossover (ipm) and without (interior, which does not end in a vertex). HiGHS's time",
        "includes building its matrices, a small part; ours includes the final policy, its exact",
        "evaluation and its certificate.",
        *sections(parts),
    ]


def main() -> None:
    """Run the tables."""
    options = parser(__doc__, PAGE, "the small sizes only")
    options.add_argument("--one", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(one(tuple(int(n) for n in chosen.one.split(",")))))
        return
    keep = QUICK if chosen.quick else None
    start = time.perf_counter()
    tiny = instance(5, 2, 3, 1)
    tr.solve(tiny)
    tr.solve_optimistic(tiny, *box_around(tiny))
    compile_seconds = time.perf_counter() - start
    parts = [
        (
            "Known model",
            "Random models with five successors a pair.",
            known_rows(KNOWN[:keep]),
        ),
        (
            "Boxes of kernels",
            "The optimistic problem: every successor possible, radii as after some hundred visits.",
            box_rows(BOXES[:keep]),
        ),
        (
            "One budget for each stage",
            "Weekly caps: as many constraints as stages.",
            capped_rows(CAPPED[:keep]),
        ),
        (
            "Calls",
            "CPU time of whole calls from Python and of what they compute: compiled code, and for "
            "the learner its step without checks, units and results. Bounds are dense arrays by "
            "stage; the learner's times are means over 400 episodes.",
            call_rows(),
        ),
        (
            "Columns alone",
            "Each line in a fresh process, whose peak memory includes libraries and the model.",
            alone_rows(ALONE[:keep]),
        ),
    ]
    if chosen.write:
        write(PAGE, page(compile_seconds, parts))


if __name__ == "__main__":
    main()
