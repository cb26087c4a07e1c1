"""The learners against the least they could cost, in one run.

The reference time of an episode is I+1 plain sparse evaluations of a policy in the estimated model
plus one in the true model: no learner that evaluates its policy, and is told its exact regret, can
do with less. The tables give each learner's episode as a multiple of it, OptCMDP by column
generation over OptCMDP by HiGHS, OptCMDP over OptDual, growth with the sizes, and the memory that a
run holds.

Times are CPU seconds without the one-off compilation: the best of several slices for the reference,
whose work is always the same, and the mean over many episodes for the learners, whose is not.

    python benchmarks/learning.py            all tables
    python benchmarks/learning.py --quick    the small sizes only
    python benchmarks/learning.py --write    also writes docs/benchmarks/learning.md
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

import tightrope as tr
from pages import parser, report, sections, setting, write
from tightrope.belief.confidence import as_confidence
from tightrope.envs import build
from tightrope.experiments.simulate import Simulation
from tightrope.experiments.snapshot import parts_of
from tightrope.kernels.bellman import evaluate
from tightrope.kernels.scratch import desk
from tightrope.learners import LEARNERS, PAPER
from tightrope.learners.opt_cmdp_lp import plan_by_lp
from tightrope.learners.oracle import Oracle

PAGE = "learning.md"
# small enough that after the warm-up constraints bind and policies move, as late in a long run
CONFIDENCE = {"scale": 0.01, "scale_bonus": 0.001}
SIZES = [(3, 2, 3, 1, 3), (10, 4, 10, 1, 4), (20, 4, 10, 1, 5), (50, 4, 20, 1, 5)]
GROWTH = [
    (25, 4, 10, 1, 5),
    (50, 4, 10, 1, 5),
    (100, 4, 10, 1, 5),
    (1000, 4, 10, 1, 5),
    (50, 4, 20, 1, 5),
    (50, 4, 10, 3, 5),
]
MANY = [(20, 4, 10, I, 5) for I in (1, 3, 5, 10, 20)]
QUICK = 2
WARM_UP = 2000  # episodes
LEAST = 0.6  # CPU seconds of a measurement


def instance(S: int, A: int, H: int, I: int, N: int) -> tr.CMDP:
    """A random model with budgets half way to the tightest."""
    return build(
        "random", n_states=S, n_actions=A, horizon=H, n_constraints=I, branching=N, tightness=0.5
    )


def simulation(cmdp: tr.CMDP, name: str, n_episodes: int) -> Simulation:
    """A run before its first episode."""
    oracle, rng = Oracle(cmdp), np.random.default_rng(0)
    learner, radii = LEARNERS[name]().resolve(oracle), as_confidence(CONFIDENCE)
    return Simulation(cmdp, learner, n_episodes, oracle.optimum, rng, 0.1, radii)


def cpu_per_call(work: Callable[[int], None], first: int) -> float:
    """Best CPU seconds of one unit of work, over slices that together last long enough."""
    best, spent, size = np.inf, 0.0, first
    while spent < LEAST:
        start = time.process_time()
        work(size)
        took = time.process_time() - start
        best, spent = min(best, took / size), spent + took
        if took < LEAST / 8:
            size *= 2
    return best


@njit
def plain(estimate, truth, pi, V, order, work, n):
    """The reference: every value in the estimated model, and one in the true model, n times."""
    for _ in range(n):
        evaluate(estimate.kernels, estimate.cost, pi, 1.0, V, order, work)
        for i in range(estimate.budget.size):
            evaluate(estimate.kernels, estimate.constraint_cost[i], pi, 1.0, V, order, work)
        evaluate(truth.kernels, truth.cost, pi, 1.0, V, order, work)


def floor_of(cmdp: tr.CMDP) -> float:
    """CPU seconds of the reference after some episodes of exploration, under the uniform policy."""
    warm = simulation(cmdp, "OptPrimalDual", 10_000)
    warm.advance(WARM_UP)
    S, H = cmdp.n_states, cmdp.horizon
    pi = np.full((H, S, cmdp.n_actions), 1.0 / cmdp.n_actions)
    V, order = np.empty((H + 1, S)), np.zeros(S, dtype=np.uint32)
    estimate, truth, work = warm.agent.problem, warm.world.watch.truth, desk(S)
    plain(estimate, truth, pi, V, order, work, 1)
    return cpu_per_call(lambda n: plain(estimate, truth, pi, V, order, work, n), 10)


def episode_of(cmdp: tr.CMDP, name: str) -> tuple[float, float]:
    """CPU seconds and sweeps of one of the learner's episodes, exact regret and audit included."""
    run = simulation(cmdp, name, 10_000_000)
    run.advance(WARM_UP)
    totals = run.world.watch.audit.plans
    plans, sweeps = int(totals.plans), int(totals.sweeps)
    n, size, spent = 0, 50, 0.0
    while spent < LEAST:
        start = time.process_time()
        run.advance(size)
        took = time.process_time() - start
        n, spent = n + size, spent + took
        if took < LEAST / 8:
            size *= 2
    return spent / n, (totals.sweeps - sweeps) / (totals.plans - plans)


def held(record: Any) -> dict[int, int]:
    """Bytes of every array in a record of records, by address, so that shared ones count once."""
    if isinstance(record, np.record):
        record = record.base
    if isinstance(record, np.ndarray):
        return {record.__array_interface__["data"][0]: record.nbytes}
    found: dict[int, int] = {}
    for part in record if isinstance(record, tuple) else ():
        found |= held(part)
    return found


def memory_of(cmdp: tr.CMDP) -> dict[str, Any]:
    """Arrays of a run, learner by learner: the model, counts, beliefs, record, audit, scratch."""
    line: dict[str, Any] = {}
    for name in PAPER:
        run = simulation(cmdp, name, 10_000_000)
        arrays = held((run.world, run.agent.problem, *parts_of(run).values()))
        line[f"{name} KB"] = f"{sum(arrays.values()) / 1e3:,.0f}"
    return line


def memory(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Kilobytes of each learner's run."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        line = {"S,A,H,I,N": ",".join(map(str, size))} | memory_of(cmdp)
        rows.append(line)
        report(line)
    return rows


def over_the_floor(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Each learner's episode as a multiple of the reference."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        floor = floor_of(cmdp)
        line: dict[str, Any] = {"S,A,H,I,N": ",".join(map(str, size)), "reference us": us(floor)}
        seconds = {}
        for name in PAPER:
            took, sweeps = episode_of(cmdp, name)
            line[f"{name} us"] = us(took)
            line[f"{name} x"] = f"{took / floor:.1f}"
            if not LEARNERS[name]().is_due(is_fresh=False):
                line[f"{name} sweeps"] = f"{sweeps:.1f}"
            seconds[name] = took
        line["OptCMDP / OptDual"] = f"{seconds['OptCMDP'] / seconds['OptDual']:.1f}"
        rows.append(line)
        report(line)
    return rows


def every_learner(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Each learner's episode, the successors as well as the paper's."""
    rows = []
    for name, kind in LEARNERS.items():
        if kind.group == "reference" or kind.plans_as:  # `against_highs` measures linear programs
            continue
        line: dict[str, Any] = {"learner": name}
        for size in sizes:
            took, _ = episode_of(instance(*size), name)
            line[",".join(map(str, size))] = us(took)
        rows.append(line)
        report(line)
    return rows


def against_highs(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """OptCMDP's episode by column generation and by the extended linear program."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        run = simulation(cmdp, "OptCMDP", 10_000_000)
        run.advance(WARM_UP)
        spent = []
        for _ in range(5):  # the same problems that column generation meets, some episodes apart
            start = time.process_time()
            plan_by_lp(run.agent.problem, cmdp.horizon)
            spent.append(time.process_time() - start)
            run.advance(20)
        theirs = float(np.median(spent))
        ours, sweeps = episode_of(cmdp, "OptCMDP")
        line = {
            "S,A,H,I,N": ",".join(map(str, size)),
            "columns us": us(ours),
            "sweeps": f"{sweeps:.1f}",
            "HiGHS us": us(theirs),
            "HiGHS / columns": f"{theirs / ours:,.0f}",
        }
        rows.append(line)
        report(line)
    return rows


def by_constraints(sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """OptCMDP's episode as the number of constraints grows."""
    rows = []
    for size in sizes:
        cmdp = instance(*size)
        took, sweeps = episode_of(cmdp, "OptCMDP")
        line = {
            "S,A,H,I,N": ",".join(map(str, size)),
            "reference us": us(floor_of(cmdp)),
            "OptCMDP us": us(took),
            "us / I": us(took / size[3]),
            "sweeps": f"{sweeps:.1f}",
            "sweeps / I": f"{sweeps / size[3]:.1f}",
        }
        rows.append(line)
        report(line)
    return rows


def us(seconds: float) -> str:
    """Microseconds in three digits."""
    value = float(f"{seconds * 1e6:.3g}")
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def page(parts: list[tuple[str, str, list[dict[str, Any]]]]) -> list[str]:
    """The benchmark page of the documentation."""
    return [
        "# Learning: time per episode relative to policy evaluation",
        "",
        "Written by `benchmarks/learning.py --write`. All figures of a table come from one run on",
        f"one machine {setting('numpy', 'numba', 'highspy')}",
        "Times are CPU microseconds per episode on average, without compilation; they",
        f"include planning, play, counting, exact regret and audit. After {WARM_UP} episodes with",
        f"radii scaled by {CONFIDENCE['scale']} (bonuses by another {CONFIDENCE['scale_bonus']}) "
        "constraints bind and policies change, as late in a long run.",
        *sections(parts),
    ]


def main() -> None:
    """Run the tables."""
    chosen = parser(__doc__, PAGE, "the small sizes only").parse_args()
    keep = QUICK if chosen.quick else None
    parts = [
        (
            "Relative to plain evaluations",
            "The reference is I+1 plain evaluations of the estimated model and one of the true "
            "model.",
            over_the_floor(SIZES[:keep]),
        ),
        (
            "All learners",
            "Microseconds per episode by S,A,H,I,N, as above. DOPE, except at the smallest size, "
            "and OptPess-LP while its baseline is uncertain play the baseline, which needs no "
            "plan. The safe learners' baseline is the policy of least use. OptCMDP-lp is in the "
            "next table.",
            every_learner(SIZES[:keep]),
        ),
        (
            "OptCMDP",
            "Episodes by column generation against plans of the same problems by the paper's "
            "extended linear program (HiGHS, median of five).",
            against_highs([size for size in SIZES[:keep] if size[0] <= 20]),
        ),
        (
            "Growth",
            "With the number of states, stages and constraints.",
            over_the_floor(GROWTH[:keep]),
        ),
        (
            "Many constraints",
            "OptCMDP's episode with more and more budgets.",
            by_constraints(MANY[:keep]),
        ),
        (
            "Memory",
            "Kilobytes of all arrays of a run: model, counts, beliefs, 2,000 recorded episodes, "
            "scratch. A dense kernel alone would take 8 S A S bytes, and H times as much by stage.",
            memory(GROWTH[:keep]),
        ),
    ]
    if chosen.write:
        write(PAGE, page(parts))


if __name__ == "__main__":
    main()
