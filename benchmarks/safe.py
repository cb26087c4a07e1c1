"""Safe-OptCMDP and DOPE on the problems of DOPE's repository: violations, regret and time.

The baseline is the optimum with a fifth of the budgets, and its use is known exactly. All runs use
the tight radii, which keep the guarantees, and counts over all stages, because the models are
stationary. Regret is compared with a run of our DOPE of the same length: K0 episodes, the length of
its first phase, with the constants of the code (which knows costs and successors) and of the paper.

    python benchmarks/safe.py            20 seeds, a million episodes: about an hour on two cores
    python benchmarks/safe.py --quick    2 seeds, 20,000 episodes
    python benchmarks/safe.py --write    also writes docs/benchmarks/safe.md
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import tightrope as tr
from pages import parser, report, sections, setting, write
from tightrope.belief.confidence import as_confidence
from tightrope.envs import build
from tightrope.learners import DOPE, OptCMDP, SafeOptCMDP
from tightrope.learners.oracle import Oracle
from tightrope.model.task import simulated_task

PAGE = "safe.md"
PROBLEMS = ("media", "inventory", "ring")
BASELINE = "share:0.2"
UNKNOWN = {"mode": "tight", "pool": True}
KNOWN = UNKNOWN | {"known_costs": True, "known_support": True}
LONG, SEEDS = 1_000_000, 20
QUICK, FEW = 20_000, 2
TIMED = 20_000  # episodes of a time measurement
PROCESSES = 2
ROUNDING = 1e-12

Job = tuple[str, tr.learners.Learner, int, dict[str, Any], int]


def first_phase(name: str, constants: str) -> int:
    """Episodes for which DOPE plays its baseline."""
    cmdp = build(name)
    learner = DOPE(baseline=BASELINE, constants=constants).resolve(Oracle(cmdp))
    return learner.n_first(simulated_task(cmdp, 1, 0.1))


def run(job: Job) -> tr.Run:
    """One run of one learner."""
    name, learner, n_episodes, confidence, seed = job
    return tr.learn(build(name), learner, n_episodes, seed, confidence=confidence)


def run_seeds(pool: Any, name: str, learner: Any, n: int, confidence: Any, seeds: int) -> list[Any]:
    """Runs of one learner with all seeds, in the processes of a pool."""
    return list(pool.map(run, [(name, learner, n, confidence, seed) for seed in range(seeds)]))


def violations(pool: Any, n_episodes: int, seeds: int) -> list[dict[str, Any]]:
    """Long runs: violations, margins, and how long the baseline is needed."""
    rows = []
    for name in PROBLEMS:
        found = run_seeds(pool, name, SafeOptCMDP(baseline=BASELINE), n_episodes, UNKNOWN, seeds)
        budget = build(name).budget
        without = [free_of_baseline(each) for each in found]
        line = {
            "problem": name,
            "runs": len(found),
            "good event held": sum(bool(each.audit.good_event) for each in found),
            "episodes in violation": sum(each.n_violations for each in found),
            "failed upper bounds": sum(each.audit.bound_failures for each in found),
            "smallest margin, share of the budget": f"{margin(found, budget):.3f}",
            "first episode without baseline": quartiles(without, n_episodes),
            "baseline at the end": f"{np.median([each.baseline[-1] for each in found]):.3f}",
            "mean baseline": f"{np.median([mean_baseline(each) for each in found]):.3f}",
        }
        rows.append(line)
        report(line)
    return rows


def margin(runs: list[tr.Run], budget: Any) -> float:
    """Smallest distance of an episode's expected use from a budget, as a share of the budget."""
    found = min((-each.worst_violation / budget).min() for each in runs)
    return float(found) + 0.0 if abs(found) > ROUNDING else 0.0


def free_of_baseline(found: tr.Run) -> float:
    """First recorded episode whose plan needed no baseline; infinite without one."""
    free = found.episode[found.baseline == 0.0]
    return float(free[0]) if free.size else np.inf


def mean_baseline(found: tr.Run) -> float:
    """Share of the episodes that the baseline was given, from the recorded ones."""
    return float(np.trapezoid(found.baseline, found.episode) / np.ptp(found.episode))


def quartiles(values: list[float], most: int) -> str:
    """Median and quartiles of episodes."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], method="nearest")
    return " / ".join(
        f"{each:,.0f}" if each < np.inf else f"> {most:,}" for each in (low, middle, high)
    )


def regret(pool: Any, seeds: int) -> list[dict[str, Any]]:
    """Regret of both learners after the first phase of DOPE."""
    rows = []
    for constants, confidence in (("code", KNOWN), ("code", UNKNOWN), ("paper", UNKNOWN)):
        for name in PROBLEMS:
            n = first_phase(name, constants)
            dope = DOPE(baseline=BASELINE, constants=constants)
            theirs = run_seeds(pool, name, dope, n, confidence, seeds)
            safe = run_seeds(pool, name, SafeOptCMDP(baseline=BASELINE), n, confidence, seeds)
            before = np.array([each.regret["cost"][-1] for each in theirs])
            after = np.array([each.regret["cost"][-1] for each in safe])
            line = {
                "K0": constants,
                "costs and successors": "known" if confidence is KNOWN else "unknown",
                "problem": name,
                "episodes": f"{n:,}",
                "DOPE": f"{before.mean():,.0f}",
                "Safe-OptCMDP": f"{after.mean():,.0f}",
                "largest": f"{after.max():,.0f}",
                "DOPE / Safe-OptCMDP": f"{before.mean() / after.mean():.1f}"
                if after.mean()
                else "no regret",
                "episodes in violation": sum(each.n_violations for each in safe),
            }
            rows.append(line)
            report(line)
    return rows


def seconds(name: str, learner: Any) -> float:
    """CPU seconds of an episode, on average."""
    cmdp, confidence = build(name), as_confidence(UNKNOWN)
    start = time.process_time()
    tr.learn(cmdp, learner, TIMED, confidence=confidence)
    return (time.process_time() - start) / TIMED


def times() -> list[dict[str, Any]]:
    """Time per episode beside OptCMDP's, best of three alternating runs."""
    rows = []
    for name in PROBLEMS:
        learners = {"OptCMDP": OptCMDP(), "Safe-OptCMDP": SafeOptCMDP(baseline=BASELINE)}
        for each in learners.values():
            seconds(name, each)  # compile
        took = dict.fromkeys(learners, np.inf)
        for _ in range(3):
            for key, each in learners.items():
                took[key] = min(took[key], seconds(name, each))
        line: dict[str, Any] = {"problem": name}
        line |= {f"{key} us": f"{1e6 * value:.1f}" for key, value in took.items()}
        line["ratio"] = f"{took['Safe-OptCMDP'] / took['OptCMDP']:.2f}"
        rows.append(line)
        report(line)
    return rows


def page(parts: list[tuple[str, str, list[dict[str, Any]]]]) -> list[str]:
    """The page of the documentation."""
    return [
        "# Learning within budgets",
        "",
        "Written by `benchmarks/safe.py --write`, on one machine",
        setting("numpy", "numba"),
        "The problems are those of DOPE's repository. The baseline is the optimum with a fifth of",
        "the budgets. Radii are the tight ones, which keep the guarantees, with delta = 0.1;",
        "visits are counted over all stages together. Costs and successors are unknown unless",
        "said.",
        *sections(parts),
    ]


def main() -> None:
    """Run the tables."""
    chosen = parser(__doc__, PAGE, "2 seeds, 20,000 episodes").parse_args()
    n, seeds = (QUICK, FEW) if chosen.quick else (LONG, SEEDS)
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        parts = [
            (
                "Violations",
                f"Safe-OptCMDP, {seeds} runs of {n:,} episodes each. The expected use of the "
                "mixture is exact, so a violation is one of the policy, not of chance. The first "
                "episode without baseline is a median with quartiles, among about 2,000 recorded "
                "episodes; the last two columns are probabilities of playing the baseline, "
                "medians over the runs.",
                violations(pool, n, seeds),
            ),
            (
                "Regret",
                "Sum of the excess cost after the first phase of DOPE, in units of the model, "
                f"means over {seeds} runs. DOPE plays its baseline for K0 episodes: "
                "S^2 A H^3 / d^2 in its code, which knows costs and successors, S^2 A H^4 / d^2 in "
                "the paper.",
                regret(pool, seeds),
            ),
        ]
    parts.append(
        (
            "Time",
            f"CPU time per episode over {TIMED:,} episodes, exact regret and audit included.",
            times(),
        )
    )
    if chosen.write:
        write(PAGE, page(parts))


if __name__ == "__main__":
    main()
